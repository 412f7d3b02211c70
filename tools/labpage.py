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
import re
import secrets
import shutil
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from tools.written import LEARNERS

REPOSITORY = Path(__file__).resolve().parents[1]
SCRIPT = Path(__file__).with_suffix(".js")

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

# JupyterLab asks the kernel about its debugger and for a subshell. If the notebook is left before the answer has come,
# the browser's console says so.
LEFT_TOO_SOON = re.compile("Canceled future for (debug|create_subshell)_request")
AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


class Unavailable(RuntimeError):
    """The browser or its driver is not installed here; the message says what to install."""


def find_chromium() -> str:
    """Path of the Chromium to drive: `CHROMIUM` if set, otherwise the first one found. Raises Unavailable."""
    named = os.environ.get("CHROMIUM")
    if named and shutil.which(named) is None:
        raise Unavailable(f"CHROMIUM={named!r} is not a program that can be run; correct or unset it")
    names = [named] if named else ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
    if path := next(filter(None, map(shutil.which, names)), None):
        return path
    raise Unavailable("no Chromium on PATH: install Debian's `chromium`, or set CHROMIUM to its path")


@contextlib.contextmanager
def browser() -> Iterator[Any]:
    """A headless Chromium driven by Playwright, closed at the end. Raises Unavailable."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise Unavailable("the package `playwright` is not installed: run `make test`") from error
    path, args = find_chromium(), [*CHROMIUM_ARGS, *["--no-sandbox"] * AS_ROOT]
    with tempfile.TemporaryDirectory(prefix="fonts-") as folder, sync_playwright() as playwright:
        fonts = Path(folder) / "fonts.conf"
        fonts.write_text(FONTS, encoding="utf-8")
        environment = {**os.environ, "FONTCONFIG_FILE": str(fonts)}
        chromium = playwright.chromium.launch(executable_path=path, args=args, env=environment)
        try:
            yield chromium
        finally:
            chromium.close()


class Lab:
    """A JupyterLab of this environment over a copy of a folder of notebooks and the recorded runs; use it in `with`."""

    def __init__(self, source: Path = REPOSITORY / "notebooks") -> None:
        self.source = source
        self._temporary = tempfile.TemporaryDirectory(prefix="lab-", ignore_cleanup_errors=True)
        self.home = Path(self._temporary.name)
        self.notebooks = self.home / "course" / "notebooks"
        self.data = self.home / "progress"
        self.url = ""
        self.token = secrets.token_urlsafe(32)
        self._opened = 0
        self._idle: Any = None  # a window that nobody uses any more

    def __enter__(self) -> Lab:
        ignored = shutil.ignore_patterns(".ipynb_checkpoints", "__pycache__", *LEARNERS)
        shutil.copytree(self.source, self.notebooks, ignore=ignored)
        if (recorded := self.source.resolve().parent / "recordings").is_dir():  # the pictures show them
            shutil.copytree(recorded, self.notebooks.parent / recorded.name)
        defaults = json.loads((REPOSITORY / "tools" / "jupyterlab_defaults.json").read_text(encoding="utf-8"))
        for plugin, values in defaults.items():
            path = self.home / "settings" / (plugin.replace(":", "/") + ".jupyterlab-settings")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(values), encoding="utf-8")
        try:
            self._start()
        except RuntimeError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        # The server shuts its kernels down by itself; what it left (a kernel in a long cell) is killed here.
        ours = self.process.children(recursive=True) if self.process.is_running() else []
        self.process.terminate()
        psutil.wait_procs([self.process], timeout=5)
        for left in (self.process, *ours):
            with contextlib.suppress(psutil.NoSuchProcess):
                left.kill()
        psutil.wait_procs([self.process, *ours], timeout=10)
        self._temporary.cleanup()

    def _start(self) -> None:
        folders = {
            name: str(self.home / name.lower())
            for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
        }
        environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "PYTEST_"))},
            **folders,
            "JUPYTERLAB_SETTINGS_DIR": str(self.home / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(self.home / "workspaces"),
            "JUPYTER_TOKEN": self.token,  # other users can read a command line, but not the environment
            "COURSE_DATA_DIR": str(self.data),
            "PYTHONPATH": os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH", "")])),
        }
        command = [
            sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", "--ServerApp.port=0",
            f"--ServerApp.root_dir={self.notebooks.parent}",
            "--LabApp.expose_app_in_browser=True", "--LabApp.extension_manager=readonly", *["--allow-root"] * AS_ROOT,
        ]  # fmt: skip
        with open(self.home / "server.log", "ab") as log:
            self.process = psutil.Popen(command, env=environment, stdout=log, stderr=log, cwd=self.home)
        # The system chooses the port; the server writes down which.
        running = Path(folders["JUPYTER_RUNTIME_DIR"], f"jpserver-{self.process.pid}.json")
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and self.process.poll() is None:
            with contextlib.suppress(OSError, ValueError):
                self.url = f"http://127.0.0.1:{json.loads(running.read_text(encoding='utf-8'))['port']}"
                self._ask("/api/status")
                return
            time.sleep(0.1)
        raise RuntimeError("JupyterLab did not start within 120 s; its log ends with:\n" + self.log()[-2000:])

    def log(self) -> str:
        """What the server has written so far."""
        return (self.home / "server.log").read_text(encoding="utf-8", errors="replace")

    def open_notebook(self, chromium: Any, name: str, width: int = 1280, height: int = 900) -> NotebookPage:
        """Open a served file alone in a browser window of `width` × `height` CSS pixels, and wait until it is ready.

        A window that was left is used again: to load JupyterLab costs ten processor seconds.
        """
        if self._idle:
            page, self._idle = self._idle, None
            page.set_viewport_size({"width": width, "height": height})
            notebook = NotebookPage(self, page)
            notebook.open_alone(name)
            return notebook
        self._opened += 1
        page = chromium.new_page(viewport={"width": width, "height": height})
        page.set_default_timeout(60_000)  # a busy machine takes seconds to answer
        page.add_init_script(path=SCRIPT)
        notebook = NotebookPage(self, page)
        # The token in the address logs the window in; a cookie keeps it logged in.
        notebook.load(
            f"{self.url}/lab/workspaces/w{self._opened}/tree/notebooks/{name}?reset&token={self.token}"
        )
        return notebook

    def shut_kernels_down(self) -> None:
        """Stop every kernel of this server, so that opened notebooks do not pile up in memory."""
        for kernel in json.loads(self._ask("/api/kernels")):
            self._ask(f"/api/kernels/{kernel['id']}", method="DELETE")

    def _ask(self, path: str, method: str = "GET") -> bytes:
        headers = {"Authorization": f"token {self.token}"}
        request = urllib.request.Request(self.url + path, method=method, headers=headers)
        no_proxy = urllib.request.ProxyHandler({})  # which must not see the token
        with urllib.request.build_opener(no_proxy).open(request, timeout=30) as answer:
            return answer.read()


class NotebookPage:
    """One notebook in one browser window. `page` is Playwright's page, for what the methods do not cover."""

    def __init__(self, lab: Lab, page: Any) -> None:
        self.lab = lab
        self.page = page
        self.page_errors: list[str] = []
        self.console_errors: list[str] = []
        page.on("pageerror", self._error)
        page.on("console", self._console)

    def _error(self, error: Any) -> None:
        self.page_errors.append(str(error))

    def _console(self, message: Any) -> None:
        if message.type == "error" and not LEFT_TOO_SOON.search(message.text):
            self.console_errors.append(message.text)

    def __enter__(self) -> NotebookPage:
        return self

    def __exit__(self, *_: object) -> None:
        self.page.remove_listener("pageerror", self._error)
        self.page.remove_listener("console", self._console)
        if self.lab._idle or self.page.is_closed() or self.page.locator(".jp-Dialog").count():
            self.page.close()
        else:
            self.lab._idle = self.page

    def load(self, url: str) -> None:
        """Go to `url` and wait until the notebook is drawn and its kernel is idle."""
        self.page.goto(url)
        self.page.wait_for_selector(".jp-NotebookPanel .jp-Cell")
        self._wait("() => window.course.ready()")

    def open_beside(self, name: str) -> None:
        """Open another notebook of the same folder at the right of this one; it is then the one in front."""
        self._act("open_beside", name)

    def open_alone(self, name: str) -> None:
        """Close all that is open, unsaved, and open a notebook of the same folder with a kernel of its own."""
        self._act("open_alone", name)

    def bring_to_front(self, name: str) -> None:
        """Activate an opened notebook; the other methods then act on it."""
        self._act("bring_to_front", name)

    def _act(self, action: str, name: str) -> None:
        self.page.evaluate(f"path => window.course.{action}(path)", f"{self.lab.notebooks.name}/{name}")
        self._wait("() => window.course.ready()")

    def _wait(self, holds: str, seconds: float | None = None) -> None:
        """Wait until `holds`, which is asked ten times a second and not in every frame."""
        timeout = None if seconds is None else 1000 * seconds
        self.page.wait_for_function(holds, timeout=timeout, polling=100)

    def trust(self) -> None:
        """Show the stored outputs as in a trusted notebook."""
        self.page.evaluate("() => window.course.trust()")
        self.settle()

    def panel(self) -> Any:
        """Playwright's locator of the notebook that is in front."""
        return self.page.locator(f"[id='{self.page.evaluate('() => window.course.panel().id')}']")

    def cell(self, index: int) -> Any:
        """Playwright's locator of one cell, counted from 0."""
        return self.panel().locator(".jp-Cell").nth(index)

    # ------------------------------------------------------------------ running

    def start(self, name: str) -> None:
        """Begin a JupyterLab command without waiting for its end."""
        self.page.evaluate("name => window.course.run(name)", name)

    def command(self, name: str, timeout: float = 300) -> bool:
        """Run a JupyterLab command; False when it answers false or fails. `timeout` in seconds."""
        self.start(name)
        self._wait("() => window.course.ran !== null", timeout)
        return self.page.evaluate("() => window.course.ran.ok")

    def run_all(self, timeout: float = 300) -> bool:
        """Run all cells, as the menu does; False when a cell raised. `timeout` in seconds."""
        complete = self.command("notebook:run-all-cells", timeout)
        self._wait("() => window.course.ready()")
        self.settle()
        return complete

    def select(self, index: int, source: str | None = None) -> None:
        """Make a cell (of the whole notebook, from 0) the active one, with `source` typed into it if given."""
        self.page.evaluate("([index, source]) => window.course.select(index, source)", [index, source])

    def run_cell(self, index: int, source: str | None = None, timeout: float = 120) -> bool:
        """Run one cell, with `source` typed into it if given; False when it raised. `timeout` in seconds."""
        self.select(index, source)
        complete = self.command("notebook:run-cell", timeout)
        self.settle()
        return complete

    def settle(self) -> None:
        """Wait until no widget is still loading, and pictures and fonts are there."""
        with contextlib.suppress(Exception):  # what stays "Loading" is reported by widgets(), not here
            self._wait("() => !window.course.loading()", 30)
        self.page.evaluate("() => window.course.pictures()")
        self.page.evaluate("() => window.course.frame()")

    # ------------------------------------------------------------------ what is there

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
            self.resize(width, self.page.viewport_size["height"])
        return self.page.evaluate("() => window.course.overflow()")

    def resize(self, width: int, height: int) -> None:
        """Make the window so many CSS pixels large."""
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.wait_for_timeout(300)  # JupyterLab resizes its panels after a pause

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
