"""Colab, Kaggle and VS Code: one language, styles in every output, which GPU was given; and what can be staged of Colab."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tabled import tabled

from bilingual import Bilingual, Shown, plain
from course_utils import front_end, language, lesson, predict, setup
from course_utils.front_end import given
from tools import links
from tools.colab import requirements
from tools.editions.first_cell import first_cell
from torch_doctor.diagnosis.probes.place import place

HAN = re.compile("[一-鿿]")
VARIABLES = ("KAGGLE_KERNEL_RUN_TYPE", "COLAB_RELEASE_TAG", "VSCODE_PID", "VSCODE_CWD", "JPY_PARENT_PID")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, no front end, and everything as before afterwards."""
    for name in (*VARIABLES, "COURSE_LANGUAGE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "content").mkdir()
    monkeypatch.chdir(tmp_path / "content")
    monkeypatch.setattr(sys, "path", list(sys.path))
    front_end._style_every_output.cache_clear()
    yield tmp_path / "content"
    language.use(None)
    front_end._style_every_output.cache_clear()


def colab(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.colab", SimpleNamespace())


# --- where the notebook is shown ----------------------------------------------------------------------


@tabled
def test_the_front_end_is_recognized(
    variables: list[str], module: bool, found: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in variables:
        monkeypatch.setenv(name, "1")
    if module:
        colab(monkeypatch)
    assert front_end.front_end() == found


def test_the_doctor_does_not_take_kaggle_for_colab(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLAB_RELEASE_TAG", "release")
    monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Interactive")
    found = place("/", lambda *_: "")
    assert (found["colab"], found["kaggle"]) == (False, True)


# --- the set-up cell and what follows -----------------------------------------------------------------


@pytest.mark.parametrize("asked", ["en", "zh-TW", None])
def test_a_lesson_in_colab_is_in_one_language(
    asked: str | None, shown: list[Any], elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    colab(monkeypatch)
    setup("01", language=asked)
    page = "".join(child.value for child in shown[-1].widget.children)
    text = re.sub("<style>.*?</style>", "", page, flags=re.S)
    assert "<style>" in page and " lang=" not in text
    assert ("no GPU" in text) == (asked != "zh-TW") and ("沒有分配到 GPU" in text) == (asked == "zh-TW")
    assert ('language="zh-TW"' in text) == (asked is None), "who did not choose is told how to"
    assert bool(HAN.search(text)) == (asked == "zh-TW")
    assert (elsewhere / "workers" / "train.py").exists(), "lessons 06 to 08 start them by their path"
    predict("cuda_vs_cuda0")
    rows = shown[-1].widget.children[1:-1]
    assert [len(row.children) for row in rows] == [3], "three choices, once"


def test_in_jupyterlab_nothing_changes(shown: list[Any], elsewhere: Path) -> None:
    setup("01")
    assert shown[-1].widget.children[0].children[0].options, "the language switch"
    assert not list(elsewhere.iterdir())
    predict("cuda_vs_cuda0")
    assert len(shown[-1].widget.children[1:-1]) == 3, "a row for each choice of language"


def test_styles_come_with_every_cell_once(shown: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    registered: list[tuple[str, Any]] = []
    shell = SimpleNamespace(events=SimpleNamespace(register=lambda *pair: registered.append(pair)))
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)
    for _ in range(2):  # the set-up cell is run again
        front_end.notes("vscode", "en")
    ((event, show),) = registered
    show(SimpleNamespace())
    assert event == "pre_run_cell" and shown[-1].data.startswith(language.style())


def test_a_widget_of_ipywidgets_7_is_shown() -> None:
    """It has no ``_repr_mimebundle_`` (Colab: 7.7.1)."""
    bundle = Shown(SimpleNamespace(model_id="abc"), "<p>", "text")._repr_mimebundle_()
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == "abc"
    assert bundle["text/plain"] == "text" and "text/html" not in bundle


def test_a_notebook_in_english_may_leave_chinese_out() -> None:
    with pytest.raises(ValueError, match="zh=''"):
        Bilingual("before")
    language.use("en")
    assert Bilingual("before").html() == "before" == str(Bilingual("before"))
    language.use("zh-TW")
    with pytest.raises(ValueError, match="zh=''"):
        Bilingual("before")


# --- which GPU was given ------------------------------------------------------------------------------


@tabled
def test_what_was_given_is_said(
    place: str, names: list[str], capability: list[int], en: str, zh: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(names))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda i=0: names[i])
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda *_: tuple(capability))
    monkeypatch.setattr(torch.cuda, "get_arch_list", lambda: ["sm_75", "sm_80", "sm_90", "compute_120"])
    text = given(place)
    assert re.search(en, plain(text.en)) and not HAN.search(text.en)
    assert re.search(zh, plain(text.zh))


# --- the first cell -----------------------------------------------------------------------------------


def run_first_cell(
    monkeypatch: pytest.MonkeyPatch, edition: str = "en", repo: str = "a/b"
) -> list[list[str]]:
    """Execute the first cell without pip; return the commands that it would have run."""
    commands: list[list[str]] = []
    monkeypatch.setattr(subprocess, "run", lambda command, **_: commands.append(command[1:]))
    exec(compile(first_cell(edition, repo=repo), "<first cell>", "exec"), {})
    return commands


def test_the_first_cell_does_nothing_in_jupyterlab(monkeypatch: pytest.MonkeyPatch, elsewhere: Path) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)  # not even where the course is missing
    assert run_first_cell(monkeypatch) == [] and not list(elsewhere.iterdir())


def test_in_colab_it_installs_the_course_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    colab(monkeypatch)
    assert run_first_cell(monkeypatch) == [], "the course is there: nothing to install again"
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    listed, (*install, course) = run_first_cell(monkeypatch)
    assert listed[3:] == ["list", "--format=freeze"]
    assert install[3:] == ["install", "--quiet", "--constraint=installed.txt"]
    assert course == "pytorch-gpu-course @ git+https://github.com/a/b"


@pytest.mark.parametrize(
    "edition, words",
    [("en", "without the course's public address"), ("zh-TW", "公開網址"), ("zh-CN", "公开网址")],
)
def test_without_the_courses_address_it_stops_and_says_why(
    edition: str, words: str, monkeypatch: pytest.MonkeyPatch, elsewhere: Path
) -> None:
    assert run_first_cell(monkeypatch, edition, links.UNKNOWN) == [], "nothing outside of Colab and Kaggle"
    monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Interactive")
    assert run_first_cell(monkeypatch, edition, links.UNKNOWN) == [], "nothing where the course is installed"
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(RuntimeError, match=words):
        run_first_cell(monkeypatch, edition, links.UNKNOWN)
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize("repo", ["a/b", links.UNKNOWN])
@pytest.mark.parametrize("edition", language.EDITIONS)
def test_the_first_cell_is_in_one_language(edition: str, repo: str) -> None:
    source = first_cell(edition, repo=repo)
    compile(source, "first cell", "exec")
    assert bool(HAN.search(source)) == (edition != "en")
    assert ("安装" in source, "安裝" in source) == (edition == "zh-CN", edition == "zh-TW")
    if repo == links.UNKNOWN:
        return
    assert ("[zh-cn]" in source) == (edition == "zh-CN"), "only Simplified Chinese needs OpenCC"


# --- what Colab has installed -------------------------------------------------------------------------


def test_colab_meets_every_requirement() -> None:
    """With Colab's list of the date that stands in the file; ``python -m tools.colab`` compares with today's."""
    text = requirements.STORED.read_text(encoding="utf-8")
    assert re.match(r"# https://\S+, read 20\d\d-\d\d-\d\d", text)
    installed = requirements.parsed(text)
    assert requirements.unmet(installed) == []
    assert requirements.unmet(installed | {"ipywidgets": "7.6.5"}) == ["ipywidgets>=7.7 is not met by 7.6.5"]
    del installed["psutil"]
    assert requirements.unmet(installed) == ["psutil>=5.9 is not met by nothing"]


@pytest.mark.nightly
@pytest.mark.skipif(os.name == "nt", reason="Colab runs Linux")
@tabled
def test_a_lesson_runs_with_colabs_versions(name: str, edition: str, where: str, tmp_path: Path) -> None:
    from tools.colab.stage import errors, executed
    from tools.editions import lesson as made
    from tools.machines.staging import NotStaged

    try:
        notebook = made(name, edition, "student")
        (work := tmp_path / "machine").mkdir()
        done, changed = executed(notebook, edition, work, place=where)
    except NotStaged as reason:
        pytest.skip(str(reason))
    assert errors(done) == []
    assert set(changed) - {"opencc"} == {"pytorch-gpu-course"}, "what was there stays"
    assert (work / "content" / "workers").is_dir() and not (work / "content" / "notebooks").exists()
    code = [cell for cell in done.cells if cell.cell_type == "code"]
    pages = ["".join(o.get("data", {}).get("text/html", "") for o in cell.outputs) for cell in code]
    assert not [text[:200] for text in pages if re.search(r'<(span|p|div|li|td)[^>]* lang="', text)]
    setup = next(at for at, cell in enumerate(code) if "setup(" in cell.source)
    assert all("<style>" in text for text in pages[setup + 1 :]), "every cell brings its styles"


def test_the_rooms_are_found_without_a_folder_beside_the_notebook(elsewhere: Path) -> None:
    assert lesson.notebooks().name == "notebooks" and not list(elsewhere.iterdir())
