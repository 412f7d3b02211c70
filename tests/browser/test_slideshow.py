"""jupyterlab-slideshow, which shows a running notebook as slides: every cell appears once, in order."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tools import labpage

VERSION = "0.3.4"

# The cells that are on the screen, and the step to the next slide: right, or down where the slide goes on below.
_SHOWN = """() => [...document.querySelectorAll('.jp-NotebookPanel .jp-Notebook .jp-Cell')]
  .map((cell, at) => [at, cell.classList.contains('jp-deck-mod-visible') || cell.classList.contains('jp-deck-mod-onscreen')])
  .filter(([, shown]) => shown).map(([at]) => at)"""


@pytest.fixture(scope="module")
def showing(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[labpage.Lab]:
    """Return a JupyterLab with the extension, which is installed apart, since it draws on every notebook's page."""
    folder = tmp_path_factory.mktemp("extension")
    packages = [f"jupyterlab-slideshow=={VERSION}", "jupyterlab-fonts"]
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--target",
        str(folder),
        *packages,
    ]
    subprocess.run(command, check=True, timeout=300)
    with labpage.Lab(environment={"JUPYTER_PATH": os.fspath(Path(folder, "share", "jupyter"))}) as lab:
        yield lab


def _moved(page: Any, step: str, before: list[int]) -> bool:
    """Return whether a step of the slide show leads to other cells within a second."""
    page.evaluate("step => window.jupyterapp.commands.execute(step)", step)
    for _ in range(10):
        page.wait_for_timeout(100)
        if (now := page.evaluate(_SHOWN)) and now != before:
            return True
    return False


@pytest.mark.nightly
@pytest.mark.browser
@pytest.mark.parametrize(
    "name", sorted(path.name for path in (labpage.REPOSITORY / "notebooks").glob("[0-9][0-9]_*.ipynb"))
)
def test_every_cell_is_on_one_slide(showing: labpage.Lab, chromium: Any, name: str) -> None:
    with showing.open_notebook(chromium, name, width=1024, height=768) as notebook:
        page = notebook.page
        count = page.locator(".jp-NotebookPanel .jp-Notebook .jp-Cell").count()
        page.evaluate("() => window.jupyterapp.commands.execute('deck:start')")
        page.wait_for_function(
            f"() => {{ const shown = ({_SHOWN})(); return shown.length > 0 && shown.length < 30; }}"
        )
        seen = page.evaluate(_SHOWN)
        while seen[-1] < count - 1:
            before = page.evaluate(_SHOWN)
            # A step first scrolls where a slide is longer than the screen, so several lead down, before some lead on.
            steps = ["deck:down"] * 6 + ["deck:forward"] * 6
            assert any(_moved(page, step, before) for step in steps), f"stuck at cell {seen[-1]}"
            seen += page.evaluate(_SHOWN)
        assert seen == list(range(count))
        page.evaluate("() => window.jupyterapp.commands.execute('deck:stop')")
