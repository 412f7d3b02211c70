"""A real JupyterLab in a headless Chromium: used by the browser tests and by `python -m tools.look`.

`Lab` serves a COPY of a folder of notebooks, with every configuration, data and workspace folder in a
temporary place, so that neither the repository nor the user's home is touched. Whoever has the server's random
token may run code as this user, so the token is on no command line. `NotebookPage` is one opened notebook;
`labpage.js` is the part of it that runs in the page.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil

from tools.written import LEARNERS

REPOSITORY = Path(__file__).resolve().parents[1]

# What Chromium would otherwise fetch by itself; the resolver rule keeps a test from depending on the network.
CHROMIUM_ARGS = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-first-run",
    "--no-pings",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]


# Chinese text has glyphs, and its true width, also on a machine without a Chinese font.
FONTS = f"""<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir>{REPOSITORY / "course_utils" / "figures" / "fonts"}</dir>
</fontconfig>
"""


class Unavailable(RuntimeError):
    """The browser or its driver is not installed here; the message says what to install."""


def find_chromium() -> str:
    """Path of the Chromium to drive: `CHROMIUM` if set, otherwise the first one found. Raises Unavailable."""
    named = os.environ.get("CHROMIUM")
    if named:
        if shutil.which(named) is None:
            raise Unavailable(f"CHROMIUM={named!r} is not a program that can be run; correct or unset it")
        return named
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        if (path := shutil.which(name)) is not None:
            return path
    raise Unavailable("no Chromium on PATH: install Debian's `chromium`, or set CHROMIUM to its path")


@contextlib.contextmanager
def browser() -> Iterator[Any]:
    """A headless Chromium driven by Playwright, closed at the end. Raises Unavailable."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise Unavailable("the package `playwright` is not installed: run `make test`") from error
    path = find_chromium()
    args = [*CHROMIUM_ARGS, *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else [])]
    with tempfile.TemporaryDirectory(prefix="fonts-") as folder, sync_playwright() as playwright:
        fonts = Path(folder) / "fonts.conf"
        fonts.write_text(FONTS, encoding="utf-8")
        environment = {**os.environ, "FONTCONFIG_FILE": str(fonts)}
        chromium = playwright.chromium.launch(executable_path=path, args=args, env=environment)
        try:
            yield chromium
        finally:
            chromium.close()


# JupyterLab asks the kernel about its debugger, and says this when the notebook is left before the answer has come.
LEFT_TOO_SOON = "Could not restore the debugger state: Canceled future for debug_request"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Lab:
    """A JupyterLab server of this environment over a copy of `source`; use as a context manager.

    Args:
        source: a folder of notebooks (copied), by default the repository's.
        settings: JupyterLab settings, {plugin id: {key: value}}, on top of the course's own defaults.
        environment: further environment variables of the server and its kernels.
    """

    def __init__(
        self,
        source: Path = REPOSITORY / "notebooks",
        settings: dict[str, dict[str, Any]] | None = None,
        environment: dict[str, str] | None = None,
    ) -> None:
        self.source = source
        defaults = json.loads(
            (Path(__file__).parent / "jupyterlab_defaults.json").read_text(encoding="utf-8")
        )
        self.settings = {**defaults, **(settings or {})}
        self.environment = environment or {}
        self._temporary = tempfile.TemporaryDirectory(prefix="lab-", ignore_cleanup_errors=True)
        self.home = Path(self._temporary.name)
        self.notebooks = self.home / "course" / "notebooks"
        self.data = self.home / "progress"
        self.url = ""
        self.token = secrets.token_urlsafe(32)
        self._process: subprocess.Popen[bytes] | None = None
        self._opened = 0
        self._idle: Any = None  # a window that nobody uses any more

    def __enter__(self) -> Lab:
        shutil.copytree(
            self.source,
            self.notebooks,
            ignore=shutil.ignore_patterns(".ipynb_checkpoints", "__pycache__", *LEARNERS),
        )
        for plugin, values in self.settings.items():
            path = self.home / "settings" / (plugin.replace(":", "/") + ".jupyterlab-settings")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(values), encoding="utf-8")
        for attempt in range(3):  # another program may take the free port in between
            try:
                self._start()
                return self
            except RuntimeError:
                self._stop()
                if attempt == 2:
                    self._temporary.cleanup()
                    raise
        raise AssertionError("unreachable")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()
        self._temporary.cleanup()

    def _start(self) -> None:
        port = _free_port()
        self.url = f"http://127.0.0.1:{port}"
        environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "PYTEST_"))},
            "JUPYTER_CONFIG_DIR": str(self.home / "config"),
            "JUPYTER_DATA_DIR": str(self.home / "data"),
            "JUPYTER_RUNTIME_DIR": str(self.home / "runtime"),
            "JUPYTERLAB_SETTINGS_DIR": str(self.home / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(self.home / "workspaces"),
            "JUPYTER_TOKEN": self.token,  # other users can read a command line, but not the environment
            "IPYTHONDIR": str(self.home / "ipython"),
            "COURSE_DATA_DIR": str(self.data),
            "PYTHONPATH": os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH", "")])),
            **self.environment,
        }
        command = [
            sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", f"--port={port}",
            "--ServerApp.port_retries=0",  # or a busy port makes us talk to somebody else's server
            f"--ServerApp.root_dir={self.notebooks.parent}",
            "--LabApp.expose_app_in_browser=True", "--LabApp.extension_manager=readonly",
        ]  # fmt: skip
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.append("--allow-root")
        with open(self.home / "server.log", "ab") as log:
            self._process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=self.home)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and self._process.poll() is None:
            with contextlib.suppress(OSError):
                self._ask("/api/status", timeout=5)
                return
            time.sleep(0.1)
        raise RuntimeError("JupyterLab did not start within 120 s; its log ends with:\n" + self.log()[-2000:])

    def _stop(self) -> None:
        if self._process is None:
            return
        ours: list[psutil.Process] = []
        with contextlib.suppress(psutil.NoSuchProcess):
            ours = psutil.Process(self._process.pid).children(recursive=True)
        if self._process.poll() is None:
            self._process.terminate()  # the server shuts its kernels down by itself …
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=5)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for child in ours:  # … and what it left (a kernel in a long cell) is killed here
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        psutil.wait_procs(ours, timeout=10)
        self._process = None

    def log(self) -> str:
        """What the server has written so far."""
        path = self.home / "server.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def open_notebook(self, chromium: Any, name: str, width: int = 1280, height: int = 900) -> NotebookPage:
        """Open `name` (a file of the served folder) alone in a browser window; returns once it is ready.

        A window that was left is used again: to load JupyterLab costs ten processor seconds.

        Args:
            chromium: what `browser()` yields.
            name: file name, for instance "01_cuda_check.ipynb".
            width: width of the window in CSS pixels.
            height: height of the window in CSS pixels.
        """
        if self._idle:
            page, self._idle = self._idle, None
            page.set_viewport_size({"width": width, "height": height})
            notebook = NotebookPage(self, page, name)
            notebook.open_alone(name)
            return notebook
        self._opened += 1
        page = chromium.new_page(viewport={"width": width, "height": height})
        page.set_default_timeout(60_000)  # a busy machine takes seconds to answer
        page.add_init_script(path=SCRIPT)
        notebook = NotebookPage(self, page, name)
        # The token in the address logs the window in; a cookie keeps it logged in.
        notebook.load(
            f"{self.url}/lab/workspaces/w{self._opened}/tree/notebooks/{name}?reset&token={self.token}"
        )
        return notebook

    def shut_kernels_down(self) -> None:
        """Stop every kernel of this server, so that opened notebooks do not pile up in memory."""
        for kernel in json.loads(self._ask("/api/kernels")):
            self._ask(f"/api/kernels/{kernel['id']}", method="DELETE")

    def _ask(self, path: str, method: str = "GET", timeout: float = 30) -> bytes:
        headers = {"Authorization": f"token {self.token}"}
        request = urllib.request.Request(self.url + path, method=method, headers=headers)
        direct = urllib.request.build_opener(
            urllib.request.ProxyHandler({})
        )  # a proxy must not see the token
        with direct.open(request, timeout=timeout) as answer:
            return answer.read()


SCRIPT = Path(__file__).with_suffix(".js")


class NotebookPage:
    """One notebook in one browser window. `page` is Playwright's page, for what the methods do not cover."""

    def __init__(self, lab: Lab, page: Any, name: str) -> None:
        self.lab = lab
        self.page = page
        self.name = name
        self.page_errors: list[str] = []
        self.console_errors: list[str] = []
        page.on("pageerror", self._error)
        page.on("console", self._console)

    def _error(self, error: Any) -> None:
        self.page_errors.append(str(error))

    def _console(self, message: Any) -> None:
        if message.type == "error" and not message.text.startswith(LEFT_TOO_SOON):
            self.console_errors.append(message.text)

    def __enter__(self) -> NotebookPage:
        return self

    def __exit__(self, *ignored: object) -> None:
        self.page.remove_listener("pageerror", self._error)
        self.page.remove_listener("console", self._console)
        if self.lab._idle or self.page.is_closed() or self.page.locator(".jp-Dialog").count():
            self.page.close()
        else:
            self.lab._idle = self.page

    def load(self, url: str) -> None:
        """Go to `url` and wait until the notebook is drawn and its kernel is idle."""
        self.page.goto(url)
        self.page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=60_000)
        self.page.wait_for_function("() => window.course.ready()", timeout=60_000)

    def open_beside(self, name: str) -> None:
        """Open another notebook of the same folder at the right of this one; it is then the one in front."""
        self.page.evaluate("path => window.course.open_beside(path)", f"{self.lab.notebooks.name}/{name}")
        self.page.wait_for_function("() => window.course.ready()", timeout=60_000)

    def open_alone(self, name: str) -> None:
        """Close all that is open, unsaved, and open a notebook of the same folder with a kernel of its own."""
        self.page.evaluate("path => window.course.open_alone(path)", f"{self.lab.notebooks.name}/{name}")
        self.page.wait_for_function("() => window.course.ready()", timeout=60_000)

    def trust(self) -> None:
        """Show the stored outputs as in a trusted notebook."""
        self.page.evaluate("() => window.course.trust()")
        self.settle()

    def bring_to_front(self, name: str) -> None:
        """Activate an opened notebook; the other methods then act on it."""
        self.page.evaluate("path => window.course.bring_to_front(path)", f"{self.lab.notebooks.name}/{name}")

    def reload(self) -> None:
        """Reload the page as F5 does; the kernel stays alive."""
        self.load(self.page.url)

    def panel(self) -> Any:
        """Playwright's locator of the notebook that is in front."""
        return self.page.locator(f"[id='{self.page.evaluate('() => window.course.panel().id')}']")

    def cell(self, index: int) -> Any:
        """Playwright's locator of one cell, counted from 0."""
        return self.panel().locator(".jp-Cell").nth(index)

    # ------------------------------------------------------------------ running

    def command(self, name: str, timeout: float = 300, **arguments: Any) -> bool:
        """Run a JupyterLab command; False when it answers false or fails. `timeout` in seconds."""
        self.page.evaluate("([name, args]) => window.course.run(name, args)", [name, arguments])
        self.page.wait_for_function("() => window.course.ran !== null", timeout=timeout * 1000, polling=100)
        return self.page.evaluate("() => window.course.ran.ok")

    def run_all(self, timeout: float = 300) -> bool:
        """Run all cells, as the menu does; False when a cell raised. `timeout` in seconds."""
        complete = self.command("notebook:run-all-cells", timeout)
        self.page.wait_for_function("() => window.course.ready()")
        self.settle()
        return complete

    def run_cell(self, index: int, source: str | None = None, timeout: float = 120) -> bool:
        """Run one cell (of the whole notebook, from 0), with `source` typed into it if given."""
        self.page.evaluate(
            """([index, source]) => {
              const content = window.course.widget().content;
              content.activeCellIndex = index;
              content.deselectAll();
              if (source !== null) content.activeCell.model.sharedModel.setSource(source);
            }""",
            [index, source],
        )
        complete = self.command("notebook:run-cell", timeout)
        self.settle()
        return complete

    def type_and_run(self, index: int, source: str, timeout: float = 60) -> None:
        """Replace a code cell's text with the keyboard and run it, as a learner does who does an exercise."""
        before = self.page.evaluate(
            """index => {
              const content = window.course.widget().content;
              content.activeCellIndex = index;
              content.deselectAll();
              content.mode = 'command';
              content.node.focus();
              return content.activeCell.model.executionCount;
            }""",
            index,
        )
        keyboard = self.page.keyboard
        keyboard.press("Enter")
        keyboard.press("ControlOrMeta+A")
        keyboard.insert_text(source)
        keyboard.press("Shift+Enter")
        self.page.wait_for_function(
            """([index, before]) => {
              const count = window.course.widget().content.model.cells.get(index).executionCount;
              return count !== null && count !== before;
            }""",
            arg=[index, before],
            timeout=timeout * 1000,
        )
        self.settle()

    def settle(self) -> None:
        """Wait until no widget is still loading, and pictures and fonts are there."""
        with contextlib.suppress(Exception):  # what stays "Loading" is reported by widgets(), not here
            self.page.wait_for_function("() => !window.course.loading()", timeout=30_000)
        self.page.evaluate("() => window.course.pictures()")
        self.page.evaluate("() => window.course.frame()")

    # ------------------------------------------------------------------ what is there

    def outputs(self) -> list[dict[str, Any]]:
        """All outputs in the notebook's model (nbformat dictionaries with `cell` and `id` added)."""
        return self.page.evaluate("() => window.course.outputs()")

    def errors(self) -> list[str]:
        """Exceptions in the notebook's model, one line each, with the cell's number."""
        return self.page.evaluate("() => window.course.errors()")

    def widgets(self) -> dict[str, Any]:
        """How many widget outputs are drawn (`count`), and which are not (`failed`, one line each)."""
        return self.page.evaluate("() => window.course.widgets()")

    def wrongly_shown(self, choice: str) -> dict[str, Any]:
        """Elements that `choice` should show or hide and does not: {"wrong": [lines], "looked": number}."""
        return self.page.evaluate("choice => window.course.wrongly_shown(choice)", choice)

    def overflow(self, width: int | None = None) -> list[str]:
        """What is wider than its cell at a window `width` (CSS pixels; as it is now, if not given)."""
        if width is not None and width != self.page.viewport_size["width"]:
            self.page.set_viewport_size({"width": width, "height": self.page.viewport_size["height"]})
            self.page.wait_for_timeout(300)  # JupyterLab resizes its panels after a pause
        return self.page.evaluate("() => window.course.overflow()")

    # ------------------------------------------------------------------ the language

    def language_buttons(self) -> Any:
        """Playwright's locator of the three buttons of the language switch: English, 中文, both."""
        return self.panel().locator(".course-switch").first.locator("button")

    def switch_language(self, choice: str) -> None:
        """Click the button of `choice` ("en", "zh" or "both") and wait until it is applied."""
        button = self.language_buttons().nth(["en", "zh", "both"].index(choice))
        button.scroll_into_view_if_needed()
        button.click()
        self.page.wait_for_function("e => e.classList.contains('mod-active')", arg=button.element_handle())
        self.page.evaluate("() => window.course.frame()")

    # ------------------------------------------------------------------ pictures

    def screenshots(self, folder: Path, prefix: str = "screen") -> list[Path]:
        """Scroll through the whole notebook and save one numbered PNG per screen; returns their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        paths: list[Path] = []
        wanted = 0
        while len(paths) < 200:
            top, step, height = self.page.evaluate("top => window.course.scroll(top)", wanted)
            self.settle()
            if paths and top < wanted - step:  # the page became shorter while it was drawn: this was the end
                break
            paths.append(folder / f"{prefix}_{len(paths) + 1:02d}.png")
            self.page.screenshot(path=paths[-1])
            if top + step >= height - 2:
                break
            wanted = top + step - 60  # a little overlap, so that no line is cut in both
        return paths
