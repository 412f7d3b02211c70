"""What every page must fulfil, whether it was opened or run."""

import contextlib
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from bilingual import plain
from tools.labpage import REPOSITORY, NotebookPage

LESSONS = sorted((REPOSITORY / "notebooks").glob("[0-9][0-9]_*.ipynb"))
CHOICES = ("en", "zh", "both")
NARROW = 1024  # CSS pixels of the smallest supported window


def assert_language(page: NotebookPage, choice: str) -> None:
    """Switch to `choice` and assert that only its texts are displayed, and nothing is wider than its cell.

    Called for each of CHOICES in turn, so that each click changes something.
    """
    page.switch_language(choice)
    found = page.wrongly_shown(choice)
    assert found["wrong"] == []
    assert found["looked"] > 0
    # Found without the lang attributes: a text that nobody marked is reported here only.
    assert page.page.evaluate("choice => window.course.in_another_language(choice)", choice) == []
    html = "() => [document.documentElement.lang, getComputedStyle(document.documentElement).display]"
    assert page.page.evaluate(html) == ["en", "block"], "the rule for English texts also hides JupyterLab"
    assert page.overflow(NARROW) == []


def assert_no_raw_markup(page: NotebookPage) -> None:
    """Assert that no Markdown or HTML is displayed as text."""
    assert page.page.evaluate("() => window.course.raw_markup()") == []


def assert_ran(page: NotebookPage, complete: bool) -> None:
    """Assert that "run all" ran every cell in order without an error of a cell or of the page."""
    assert page.errors() == []
    assert complete
    counts = page.page.evaluate("() => window.course.execution_counts()")
    assert counts == list(range(1, len(counts) + 1))
    assert page.page_errors == []
    assert page.console_errors == []
    assert page.widgets()["failed"] == []


def small_notebook(path: Path, *sources: str, cells: Any = None) -> None:
    """Write a notebook with a title in both languages, and code cells of these sources or these cells."""
    title = (
        '# Small · 小\n\n<div lang="en">\n\nEnglish.\n\n</div>\n\n<div lang="zh-Hant">\n\n中文。\n\n</div>'
    )
    made = [new_markdown_cell(title), *(cells or map(new_code_cell, sources))]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(new_notebook(cells=made, metadata={"kernelspec": kernel}), path)


def squeezed(text: str) -> str:
    """Return `text` without markup and white space, which differ between a text's source and the page."""
    return re.sub(r"\s", "", plain(text))


def wait_until(holds: Callable[[], Any], what: str, seconds: float = 60) -> None:
    """Poll `holds` until it returns something true; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError, ValueError, KeyError):  # a file that is not there yet
            if holds():
                return
        assert time.monotonic() < deadline, f"waited {seconds:g} s in vain for {what}"
        time.sleep(0.05)
