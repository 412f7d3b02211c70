"""Plant each fault that the browser checks look for once, and assert that it is reported."""

import hashlib
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from tests.browser.conftest import unavailable
from tools import labpage

pytestmark = pytest.mark.browser

SETUP = "from course_utils import Bilingual, setup\n\nsetup()"
PLANTED = [
    new_markdown_cell(
        '# Faults · 錯誤\n\n<div lang="en">\n\nA good English text.\n\n</div>\n\n'
        '<div lang="zh-Hant">\n\n一段好的中文。\n\n</div>'
    ),
    new_code_cell(SETUP),
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


METADATA = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}


def fingerprints(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notebooks"
    folder.mkdir()
    nbformat.write(new_notebook(cells=[new_code_cell("print(1)")], metadata=METADATA), folder / "good.ipynb")
    return folder


@pytest.fixture(scope="module")
def faults(lab: labpage.Lab, chromium: Any) -> Iterator[labpage.NotebookPage]:
    nbformat.write(new_notebook(cells=PLANTED, metadata=METADATA), lab.notebooks / "faults.ipynb")
    with lab.open_notebook(chromium, "faults.ipynb") as page:
        page.settle()
        page.first_look = page.page.evaluate("() => window.course.first_look()")
        page.complete = page.run_all()
        yield page


def some(lines: list[str], *parts: str) -> bool:
    return any(all(part in line for part in parts) for line in lines)


def test_a_cell_that_raises(faults: Any) -> None:
    assert not faults.complete
    assert faults.errors() == [f"cell {len(PLANTED) - 1} ({PLANTED[-1].id}): ValueError: planted in a cell"]


def test_a_broken_stored_picture(faults: Any) -> None:
    assert [image["width"] for image in faults.first_look["images"]] == [0]


def test_a_widget_that_fell_back(faults: Any) -> None:
    failed = faults.widgets()["failed"]
    assert len(failed) == 1 and failed[0].startswith("cell 9 output 0")


def test_an_error_of_the_page(faults: Any) -> None:
    assert some(faults.page_errors, "planted in the page")


def test_an_overflow(faults: Any) -> None:
    assert some(faults.overflow(1024), "WWWW")


def test_raw_markup(faults: Any) -> None:
    assert some(faults.page.evaluate("() => window.course.raw_markup()"), "**this**")


def test_texts_of_the_wrong_language(faults: Any) -> None:
    faults.switch_language("zh")
    assert some(faults.wrongly_shown("zh")["wrong"], "article", "is shown")
    assert some(faults.wrongly_shown("zh")["wrong"], "inside lang=")
    unmarked = faults.page.evaluate("() => window.course.in_another_language('zh')")
    assert some(unmarked, "An English sentence that nobody marked")
    assert not some(unmarked, "A good English text.")
    # With another choice than the one that is set, everything is reported.
    assert some(faults.wrongly_shown("en")["wrong"], "A good English text.", "is hidden")
    assert some(faults.wrongly_shown("both")["wrong"], 'variant for "both"') == bool(
        faults.page.locator(".course-only-both").count()
    )
    faults.switch_language("en")
    assert faults.page.evaluate("() => window.course.in_another_language('en')") == [
        "一句沒有標示語言的中文。"
    ]


@pytest.mark.nightly
def test_nothing_is_left_behind(chromium: Any, folder: Path) -> None:
    """Neither processes (with a cell still running) nor changes in the folder that is shown."""
    before = fingerprints(folder)
    with labpage.Lab(folder) as lab:
        page = lab.open_notebook(chromium, "good.ipynb")
        assert page.run_all()
        page.command("docmanager:save")
        page.page.evaluate(
            """() => {
              const content = window.course.widget().content;
              content.activeCellIndex = 0;
              content.activeCell.model.sharedModel.setSource('import time\\ntime.sleep(1000)');
              window.course.run('notebook:run-cell');
            }"""
        )
        page.page.wait_for_selector(".jp-Notebook-ExecutionIndicator[data-status=busy]")
        assert lab._process is not None
        server = psutil.Process(lab._process.pid)
        processes = [server, *server.children(recursive=True)]
        assert len(processes) >= 2, "no kernel below the server"
        assert (lab.notebooks / "good.ipynb").read_bytes() != (folder / "good.ipynb").read_bytes()
        page.page.close()
    assert [process for process in processes if process.is_running()] == []
    assert not lab.home.exists()
    assert fingerprints(folder) == before


@pytest.mark.parametrize("way", ["GET", "POST"])
@pytest.mark.parametrize("what", ["terminals", "kernels", "contents", "sessions"])
def test_the_server_refuses_who_has_no_token(way: str, what: str, lab: labpage.Lab) -> None:
    """Any user of this machine can reach the port; a terminal or a kernel would run as the tester."""
    data = b"{}" if way == "POST" else None
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(urllib.request.Request(f"{lab.url}/api/{what}", data, method=way), timeout=30)


@pytest.mark.nightly
def test_a_page_of_another_site_cannot_use_the_login(lab: labpage.Lab, chromium: Any, folder: Path) -> None:
    """With the cookie of a window that is logged in, but without its XSRF token, nothing can be changed."""
    shutil.copy(folder / "good.ipynb", lab.notebooks / "login.ipynb")
    with lab.open_notebook(chromium, "login.ipynb") as notebook:
        assert notebook.run_all(), "the page itself works"
        status = "([method, path]) => fetch(path, {method}).then(answer => answer.status)"
        assert notebook.page.evaluate(status, ["GET", "/api/kernels"]) == 200
        assert notebook.page.evaluate(status, ["POST", "/api/kernels"]) == 403


def test_the_server_is_on_this_machine_only_and_its_token_is_on_no_command_line(lab: labpage.Lab) -> None:
    assert lab._process is not None
    server = psutil.Process(lab._process.pid)
    listening = [c.laddr.ip for c in server.net_connections("inet") if c.status == psutil.CONN_LISTEN]
    assert set(listening) == {"127.0.0.1"}
    assert not any(
        lab.token in part for process in [server, *server.children(True)] for part in process.cmdline()
    )
    assert len(lab.token) >= 32 and lab.token not in lab.log()


# --- without a browser ------------------------------------------------------------------------------------


def test_no_chromium_is_a_skip_for_a_student_and_a_failure_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHROMIUM", "/nowhere/chromium")
    with pytest.raises(labpage.Unavailable, match="/nowhere/chromium"):
        labpage.find_chromium()
    monkeypatch.delenv("CHROMIUM")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(labpage.Unavailable, match="install"):
        labpage.find_chromium()
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no Chromium here"):
        unavailable("no Chromium here")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no Chromium here"):
        unavailable("no Chromium here")
