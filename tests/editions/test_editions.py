"""The editions: every lesson in one language, for students and for instructors."""

import ast
import json
import os
import re
import shutil
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import nbformat
import pytest
from drawn_words import noted, other_language
from IPython.core.inputtransformer2 import TransformerManager
from ipywidgets.widgets.widget import _instances as every_widget
from room_explorers import explorers
from sample import sample

from course_utils import lesson, predict
from course_utils.exercise_hints import HINTS
from course_utils.explorer import _widget as control_panel
from course_utils.language import use
from course_utils.simplified import simplified
from tools.editions import AUDIENCES, EDITIONS, edition, lessons
from tools.editions.check import problems
from tools.editions.code import code_in, remarks
from tools.editions.one_language import html_in, markdown_in
from tools.written import script_in

ROOT = Path(__file__).parents[2]
LESSONS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def test_html_in_one_language() -> None:
    markup = (
        '<p class="a" lang="en">One <code>x</code>.</p><p class="a" lang="zh-Hant">一個 <code>x</code>。</p>'
        '<b><span lang="en">yes<br><i>no</i></span><span lang="zh-Hant">是<i>否</i></span></b>'
        '<img alt="curve · 曲線" src="data:image/png;base64,AAAA">'
    )
    picture = 'src="data:image/png;base64,AAAA">'
    assert html_in(markup, "en") == (
        f'<p class="a">One <code>x</code>.</p><b>yes<br><i>no</i></b><img alt="curve" {picture}'
    )
    assert html_in(markup, "zh-TW") == (
        f'<p class="a">一個 <code>x</code>。</p><b>是<i>否</i></b><img alt="曲線" {picture}'
    )
    assert html_in(markup, "zh-CN").startswith('<p class="a">一个 <code>x</code>。</p>')


def test_markdown_in_one_language() -> None:
    source = (
        "## 1.2 A loop · 迴圈\n\n"
        '<div lang="en">\n\nOne `<span lang="zh">`.\n\n</div>\n<div lang="zh-Hant">\n\n一個。\n\n</div>\n\n'
        '```python\n# a · 註\n```\n\n<details><summary><span lang="en">Solution</span>'
        '<span lang="zh-Hant">解答</span></summary>\n\nx\n\n</details>'
    )
    rest = "```python\n# a · 註\n```\n\n<details><summary>{}</summary>\n\nx\n\n</details>"
    assert markdown_in(source, "en") == (
        '## 1.2 A loop\n\nOne `<span lang="zh">`.\n\n' + rest.format("Solution")
    )
    assert markdown_in(source, "zh-TW") == "## 1.2 迴圈\n\n一個。\n\n" + rest.format("解答")


def test_remarks_of_a_cell() -> None:
    source = '%%writefile mine/a.py\ndef f():\n    """What it does."""\n    return "# no"  # why\n\n\nx = """no"""\n'
    assert [(text, source[start:end]) for start, end, text in remarks(source)] == [
        ("What it does.", "What it does."),
        ("why", "why"),
    ]


def test_setup_names_the_language() -> None:
    assert code_in('setup("01")', "01", "zh-CN") == 'setup("01", language="zh-CN")'
    assert code_in('setup("01", clinic=False)', "01", "en") == 'setup("01", language="en", clinic=False)'


# --- whole lessons ------------------------------------------------------------------------------------

EVERY = [*product(LESSONS, EDITIONS, AUDIENCES)]


def name_of(case: tuple) -> str:
    """Return what a case is called: "01-en-student"."""
    return "-".join((case[0].name[:2], *case[1:]))


# By day English of every lesson, and the other editions of one in three.
DAY = [
    name_of(case)
    for number, case in enumerate(EVERY)
    if case[1:] == ("en", "student") or number % 18 in (3, 4)
]


@pytest.mark.parametrize(("path", "language", "audience"), sample(EVERY, DAY, name_of))
def test_an_edition_is_in_one_language(path: Path, language: str, audience: str) -> None:
    """Prose, code, stored outputs: one language, right terms, links that lead somewhere, code that compiles."""
    made = edition(nbformat.read(path, 4), language, audience, outputs=audience == "student")
    nbformat.validate(made)
    assert problems(made, path.parent) == []


class Bare(ast.NodeTransformer):
    """Takes away what an edition may change: words in strings, the language that `setup` gets, half of a pair."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if getattr(node.func, "id", "") == "Bilingual":
            return ast.Constant("")
        node.keywords = [keyword for keyword in node.keywords if keyword.arg != "language"]
        return self.generic_visit(node)


def bare(source: str) -> str:
    script = script_in(source)
    code = script.text if script else TransformerManager().transform_cell(source)
    return ast.dump(Bare().visit(ast.parse(code)))


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_an_edition_runs_the_same_code(path: Path) -> None:
    notebook = nbformat.read(path, 4)
    before = nbformat.writes(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for language in ("en", "zh-CN"):
        made = edition(notebook, language, "student")
        first, *others = [cell for cell in made.cells if cell.cell_type == "code"]
        assert first.id == "course-first" and [cell.id for cell in others] == [cell.id for cell in cells]
        for cell, other in zip(cells, others, strict=True):
            assert bare(cell.source) == bare(other.source), cell.id
            assert not other.outputs
    assert nbformat.writes(notebook) == before, "the notebook itself was changed"


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_labels_in_code_are_converted_once(path: Path) -> None:
    """In an edition in Simplified Chinese `Bilingual` gets a text that is simplified already, and converts it again."""
    for cell in nbformat.read(path, 4).cells:
        for text in re.findall(r'\bzh="([^"]*)"', cell.source) if cell.cell_type == "code" else ():
            assert simplified(simplified(text)) == simplified(text)


# --- each check, broken once --------------------------------------------------------------------------


def small(*cells: nbformat.NotebookNode, language: str) -> nbformat.NotebookNode:
    setup = nbformat.v4.new_code_cell(f'setup("09", language="{language}")')
    made = nbformat.v4.new_notebook(cells=[setup, *cells])
    made.metadata.course = {"lesson": "09", "edition": {"language": language, "audience": "student"}}
    return nbformat.from_dict(made)


text, code = nbformat.v4.new_markdown_cell, nbformat.v4.new_code_cell


def shown(markup: str) -> nbformat.NotebookNode:
    return code("1", outputs=[nbformat.v4.new_output("display_data", {"text/html": markup})])


@pytest.mark.parametrize(
    "language, cell, problem",
    [
        ("en", text("One 一。"), "Chinese"),
        ("en", shown('<img alt="圖" src="data:image/png;base64,AAAA">'), "Chinese"),
        ("en", code("x = 1  # 一"), "Chinese"),
        ("zh-TW", text("The answer is not in here."), "English"),
        ("zh-TW", shown("<p>The answer is not in here.</p>"), "English"),
        ("zh-TW", shown('<p lang="zh-Hant">一</p>'), "an element with a language"),
        ("zh-TW", code("x = 1  # the first one"), "comment in English"),
        ("zh-CN", text("裝置"), "a Traditional character"),
        ("zh-CN", text("这个函式"), "a Taiwanese term: 函式"),
        ("en", text("[next](10_nothing.ipynb)"), "leads nowhere"),
        ("en", code("x = ("), "does not compile"),
        ("en", code('setup("09", language="en")'), "not one cell"),
    ],
)
def test_a_problem_is_found(language: str, cell: nbformat.NotebookNode, problem: str) -> None:
    (found,) = problems(small(cell, language=language), ROOT / "notebooks")
    assert problem in found


def test_an_unknown_edition_is_refused() -> None:
    with pytest.raises(ValueError, match="'zh'"):
        edition(nbformat.v4.new_notebook(), "zh", "student")


# --- for instructors ----------------------------------------------------------------------------------


def test_the_edition_for_instructors_has_answers_and_notes() -> None:
    made = edition(nbformat.read(LESSONS[1], 4), "en", "instructor")
    added = {cell.id: cell for cell in made.cells if "for" in cell.metadata.get("course", {})}
    student = edition(nbformat.read(LESSONS[1], 4), "en", "student")
    assert [cell.id for cell in made.cells if cell.id not in added] == [cell.id for cell in student.cells]
    assert re.search(r"\| 1.1 Is there one\? \| \d+ \+ 8 \|", added["title-for-minutes"].source)
    assert "**Say**" in added["there-for-notes"].source
    assert "✓ `False`" in added["there-predict-for-predict-cuda-vs-cuda0"].source
    wrong = added["ex-on-gpu-try-for-check-on-gpu"].source
    hint = "“You also say yes for a tensor on the CPU. Ask the tensor that was passed in.”: `return True`"
    assert "**Hints**" in wrong and hint in wrong
    forgotten = HINTS["returned_none"].en.partition("`")[0]  # teaches nothing
    assert forgotten and not [cell.id for cell in added.values() if forgotten in cell.source]
    assert all(cell.metadata.slideshow.slide_type == "notes" for cell in added.values())
    assert any("<details open>" in cell.source for cell in made.cells)
    assert not any("<details open>" in cell.source for cell in student.cells)


# --- executed, and what figures draw ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "which"),
    sample(product(("en", "zh-TW"), range(3)), ["en-0", "zh-TW-1"], lambda case: f"{case[0]}-{case[1]}"),
)
def test_explorers_draw_one_language(language: str, which: int) -> None:
    """By day every third one in each language."""
    try:
        use(language)
        words: list[str] = []
        with noted(words.append):
            for name, explorer in [*explorers().items()][which::3]:
                lesson.use(name[7:9])
                explorer.html(small=False, **explorer.defaults())
    finally:
        use(None)
    assert len(words) > 40
    assert other_language(words, language[:2]) == []


@pytest.mark.parametrize("language", ["en", "zh-TW"])
def test_widgets_speak_one_language(language: str, shown: list) -> None:
    """The questions of all lessons and the controls of all explorers."""
    before = set(every_widget)
    try:
        use(language)
        for path in LESSONS[:-1]:
            lesson.use(path.name[:2])
            for name in lesson.all_texts(path.name[:2])["question"]:
                predict(name)
        for name, explorer in explorers().items():
            lesson.use(name[7:9])
            control_panel(explorer, "")
    finally:
        use(None)
    new = [widget for key, widget in every_widget.items() if key not in before]
    values = [getattr(widget, name, None) for widget in new for name in widget.keys]
    words = {text for value in values for text in strings(value)}
    assert len(words) > 200 and len(shown) > 60
    other = re.compile("[\u3400-\u9fff]| lang=" if language == "en" else " lang=")
    assert [text for text in words if other.search(text)] == []


def strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from strings(item)


@pytest.mark.parametrize(
    "path, language",
    sample(product(LESSONS, EDITIONS), ["09-zh-CN"], lambda case: f"{case[0].name[:2]}-{case[1]}"),
)
def test_an_executed_edition_is_in_one_language(
    path: Path, language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every cell runs, and outputs and figures are in one language."""
    monkeypatch.setattr(lessons, "EXECUTED", tmp_path)
    words = tmp_path / "words"
    shutil.copy(Path(__file__).with_name("drawn_words.py"), tmp_path / "drawn_words.py")
    start = "import drawn_words; drawn_words.noted(drawn_words.into_file).start()\n"
    (tmp_path / "sitecustomize.py").write_text(start)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("DRAWN_WORDS", str(words))
    assert lessons.run(path.name, language) is not None
    assert lessons.run(path.name, language) is None, "nothing has changed since"
    made = lessons.lesson(path.name, language, "student", outputs=True)
    assert problems(made, path.parent) == []
    seen = json.loads(f"[{words.read_text(encoding='utf-8').rstrip(',')}]") if words.exists() else []
    # The project of lesson 08 works without the course, in English; its names of methods come back in the lesson's figure.
    project = "".join(file.read_text(encoding="utf-8") for file in path.parent.glob("workers/forecast/*.py"))
    assert [text for text in other_language(seen, language[:2]) if text not in project] == []
