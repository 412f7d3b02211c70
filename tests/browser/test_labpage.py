"""Plant each fault that the browser checks look for once, and assert that it is reported."""

import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import psutil
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output

from tests.browser.conftest import unavailable
from tests.browser.promises import small_notebook
from tools import labpage

pytestmark = pytest.mark.browser

PLANTED = [
    new_code_cell("from course_utils import setup\n\nsetup()"),
    new_markdown_cell("An English sentence that nobody marked with its language."),
    new_markdown_cell("一句沒有標示語言的中文。"),
    new_markdown_cell(
        '<article lang="en">\n\nMarked, but the style sheet does not know articles.\n\n</article>'
    ),
    new_markdown_cell('<div lang="en">\n\nOuter. <span lang="zh-Hant">在英文裡面。</span>\n\n</div>'),
    new_markdown_cell('<div lang="en">\nNo blank line, so **this** stays raw.\n</div>'),
    new_markdown_cell(f"| wide | table |\n|---|---|\n| {'W' * 300} | x |"),
    new_code_cell(
        "",
        outputs=[
            new_output("display_data", {"text/html": '<img alt="broken" src="data:image/png;base64,AAAA">'})
        ],
    ),
    new_code_cell(
        'from IPython.display import display\n\nview = {"model_id": "0" * 32, "version_major": 2, "version_minor": 0}\n'
        'display({"application/vnd.jupyter.widget-view+json": view, "text/plain": "gone"}, raw=True)'
    ),
    new_code_cell(
        'import ipywidgets\n\nipywidgets.HTML(\'<img src="x:" onerror="throw new Error(`planted in the page`)">\')'
    ),
    new_code_cell('raise ValueError("planted in a cell")'),
]


@pytest.fixture(scope="module")
def faults(lab: labpage.Lab, chromium: Any) -> Iterator[labpage.NotebookPage]:
    small_notebook(lab.notebooks / "faults.ipynb", cells=PLANTED)
    with lab.open_notebook(chromium, "faults.ipynb") as page:
        page.settle()
        first_look = page.page.evaluate("() => window.course.first_look()")
        assert [image["width"] for image in first_look["images"]] == [0], "a broken stored picture"
        assert not page.run_all()
        yield page


def some(lines: list[str], *parts: str) -> bool:
    return any(all(part in line for part in parts) for line in lines)


def test_what_breaks_is_reported(faults: labpage.NotebookPage) -> None:
    assert faults.errors() == [f"cell {len(PLANTED)} ({PLANTED[-1].id}): ValueError: planted in a cell"]
    (failed,) = faults.widgets()["failed"]
    assert failed.startswith("cell 9 output 0")
    assert some(faults.page_errors, "planted in the page")
    assert some(faults.overflow(1024), "WWWW")
    assert some(faults.page.evaluate("() => window.course.raw_markup()"), "**this**")


def test_texts_of_the_wrong_language(faults: labpage.NotebookPage) -> None:
    faults.switch_language("zh")
    assert some(faults.wrongly_shown("zh")["wrong"], "article", "is shown")
    assert some(faults.wrongly_shown("zh")["wrong"], "inside lang=")
    unmarked = faults.page.evaluate("() => window.course.in_another_language('zh')")
    assert some(unmarked, "An English sentence that nobody marked")
    assert not some(unmarked, "English.")
    # With another choice than the one that is set, everything is reported.
    assert some(faults.wrongly_shown("en")["wrong"], "English.", "is hidden")
    faults.switch_language("en")
    assert faults.page.evaluate("() => window.course.in_another_language('en')") == [
        "一句沒有標示語言的中文。"
    ]


def test_the_server_is_for_who_has_the_token_which_is_on_no_command_line(lab: labpage.Lab) -> None:
    """Any user of this machine could reach the port; a terminal or a kernel would run as the tester."""
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(f"{lab.url}/api/terminals", data=b"{}", timeout=30)
    server = psutil.Process(lab.process.pid)
    listening = [c.laddr.ip for c in server.net_connections("inet") if c.status == psutil.CONN_LISTEN]
    assert set(listening) == {"127.0.0.1"}
    words = [word for process in [server, *server.children(True)] for word in process.cmdline()]
    assert not any(lab.token in word for word in words) and lab.token not in lab.log()


def test_no_chromium_is_a_skip_for_a_student_and_a_failure_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHROMIUM", "/nowhere/chromium")
    with pytest.raises(labpage.Unavailable, match="/nowhere/chromium"):
        labpage.find_chromium()
    monkeypatch.delenv("CHROMIUM")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(labpage.Unavailable, match="install"):
        labpage.find_chromium()
    for variable, outcome in (("", pytest.skip.Exception), ("true", pytest.fail.Exception)):
        monkeypatch.setenv("CI", variable)
        with pytest.raises(outcome, match="no Chromium here"):
            unavailable("no Chromium here")
