"""Class mode in a real JupyterLab: type for the last row, folded code, no answer before its click, keyboard only.

Lesson 00 on each change, every lesson nightly.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from sample import lessons

from tests.browser.promises import CHOICES, LESSONS, NARROW
from tools.labpage import REPOSITORY, Lab, NotebookPage

pytestmark = pytest.mark.browser

SIZES = [(NARROW, 768), (1280, 720)]
SMALLEST = 20  # CSS pixels

# Displayed texts of the notebook below `smallest` pixels, each kind once.
SMALL = """smallest => {
  const walker = document.createTreeWalker(window.course.scroller(), NodeFilter.SHOW_TEXT);
  const found = new Map();
  let looked = 0;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || element.closest('style, script') || !window.course.shown(element)) continue;
    const size = parseFloat(getComputedStyle(element).fontSize);
    looked++;
    if (size < smallest) found.set(`${size} px <${element.tagName} class="${element.className}">`, node.data.slice(0, 60));
  }
  const tables = [...window.course.panel().querySelectorAll('pre.course-console:not(.course-card *)')];
  return {looked, small: [...found].map(([kind, text]) => `${kind}: ${text}`),
    cut: tables.filter(window.course.shown).filter(box => box.scrollWidth > box.clientWidth).length};
}"""
# For each cell: whether code or prose and outputs are displayed, whether it is a question, a section's beginning, its code's height.
CELLS = """() => window.course.widget().content.widgets.map(cell => {
  const shown = part => [...cell.node.querySelectorAll(part)].some(window.course.shown);
  return {
    question: /^(predict|self_test)\\(/m.test(cell.model.sharedModel.getSource()),
    section: cell.model.type === 'markdown' && cell.node.querySelector('h1, h2') !== null,
    shown: shown('.jp-InputArea, .jp-OutputArea-output'),
    answers: shown('.course-question details'),
    height: cell.node.getBoundingClientRect().height,
    code: (cell.model.type === 'code' && cell.node.querySelector('.jp-InputArea-editor')?.clientHeight) || 0,  // 0 if folded
  };
})"""
# As if the class had answered every question: nothing is hidden then.
ANSWER_ALL = """() => document.querySelectorAll('.course-question').forEach(e => e.firstElementChild.classList.add('course-chosen'))"""
# The active cell, whether the keyboard acts on it, and how many pixels of it are in the window.
ACTIVE = """() => {
  const content = window.course.widget().content;
  const box = content.activeCell.node.getBoundingClientRect();
  const window_ = window.course.scroller().getBoundingClientRect();
  return [content.activeCellIndex, content.activeCell.node.contains(document.activeElement),
    Math.min(box.bottom, window_.bottom) - Math.max(box.top, window_.top)];
}"""


@dataclass
class Class:
    """A lesson in class mode; its set-up cell is run, or all of it."""

    cells: list[Any]
    page: NotebookPage

    def seen(self) -> list[dict[str, Any]]:
        """Return what is displayed of each cell, none of them being selected but the first."""
        self.page.select(0)
        return self.page.page.evaluate(CELLS)

    def questions(self) -> list[int]:
        """Return the indices of the cells that ask a question, at their beginning or at their end."""
        code = ((i, c.source) for i, c in enumerate(self.cells) if c.cell_type == "code")
        return [i for i, source in code if re.search(r"^predict\(", source, re.M)]

    def first(self, pattern: str) -> int:
        """Return the index of the first code cell that contains `pattern`."""
        return next(
            i
            for i, c in enumerate(self.cells)
            if c.cell_type == "code" and re.search(pattern, c.source, re.M)
        )


@pytest.fixture(scope="module", params=lessons(LESSONS, "00"))
def lesson(request: pytest.FixtureRequest, lab: Lab, chromium: Any) -> Iterator[Class]:
    path: Path = request.param
    cells = nbformat.read(lab.notebooks / path.name, as_version=4).cells
    with lab.open_notebook(chromium, path.name, width=NARROW, height=768) as page:
        page.page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
        page.trust()
        opened = Class(cells, page)
        setup = opened.first(r"^setup\(")
        source = re.sub(r"setup\((.+)\)", r"setup(\1, present=True)", cells[setup].source)
        assert page.run_cell(setup, source.replace("setup()", "setup(present=True)"))
        yield opened
    lab.shut_kernels_down()


def test_no_answer_is_displayed_before_the_question_is_answered(lesson: Class) -> None:
    """Opened with all its outputs, as the repository holds them. What is hidden takes no room: no dots and no white."""
    is_open, hidden = False, 0
    for number, cell in enumerate(lesson.seen()):
        is_open = is_open and not cell["section"] and not cell["question"]
        assert cell["shown"] != is_open, f"cell {number}"
        assert not cell["answers"], f"cell {number}: the answers can be unfolded"
        assert cell["shown"] or not cell["height"], f"cell {number}"
        hidden += is_open
        is_open = is_open or cell["question"]
    assert hidden > 3 or not lesson.questions()


def test_a_question_is_answered_with_the_keyboard_and_what_follows_appears(lesson: Class) -> None:
    questions = lesson.questions()
    if not questions:
        pytest.skip("this lesson has no question")
    page, keyboard = lesson.page.page, lesson.page.page.keyboard
    lesson.page.switch_language("en")
    lesson.page.select(questions[0])
    keyboard.press("Control+Enter")
    box = lesson.page.cell(questions[0]).locator(".course-question.widget-box")
    box.wait_for()
    keyboard.press("Tab")
    if page.evaluate("() => document.activeElement.matches('.noUi-handle')"):
        readout = box.locator(".course-only-en .widget-readout")
        before = readout.inner_text()
        keyboard.press("ArrowRight")
        assert readout.inner_text() != before
        keyboard.press("Tab")  # to the readout, in which one may type
        keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.tagName") == "BUTTON"
    keyboard.press("Space")
    box.locator(".course-chosen").first.wait_for(state="attached")
    after = lesson.seen()
    assert after[questions[0] + 1]["shown"], "the next cell stays hidden"
    assert not any(
        after[i + 1]["shown"] for i in questions[1:] if not after[i + 1]["section"] and i + 1 not in questions
    )


def test_code_is_one_line_until_its_cell_is_selected(lesson: Class) -> None:
    page = lesson.page.page
    page.evaluate(ANSWER_ALL)
    folded = [cell["code"] for cell in lesson.seen()]
    assert 0 < max(folded) <= 42
    long = next(
        i for i, cell in enumerate(lesson.cells) if cell.cell_type == "code" and cell.source.count("\n") > 3
    )
    lesson.page.select(long)
    assert page.evaluate(CELLS)[long]["code"] > 3 * folded[long]
    assert lesson.seen()[long]["code"] == folded[long]


def test_a_click_reaches_its_button_while_code_folds(lesson: Class) -> None:
    """Pressing it selects the cell of the button: its code unfolds above the button."""
    lesson.page.select(len(lesson.cells) - 1)
    for choice in ("zh", "both", "en"):
        lesson.page.switch_language(choice)
        lesson.page.select(len(lesson.cells) - 1)


def test_the_down_arrow_reaches_every_cell(lesson: Class, request: pytest.FixtureRequest) -> None:
    page = lesson.page.page
    lesson.page.select(0)
    most = len(lesson.cells) if request.node.get_closest_marker("nightly") else 12
    # JupyterLab passes over a cell whose code is folded.
    folded = [cell.metadata.get("jupyter", {}).get("source_hidden", False) for cell in lesson.cells]
    for index in (index for index in range(1, most) if not folded[index]):
        page.keyboard.press("ArrowDown")
        active, focused, pixels = page.evaluate(ACTIVE)
        assert (active, focused) == (index, True)
        assert pixels >= 8, f"cell {index} is selected, but {pixels:.0f} pixels of it can be seen"


# The label of each entry of the main menu, with those of its menus: "View → Appearance → Simple Interface".
MENUS = """() => {
  const entries = [];
  const walk = (menu, path) => menu.items.forEach(item => item.type === 'submenu'
    ? walk(item.submenu, [...path, item.submenu.title.label]) : entries.push([...path, item.label].join(' → ')));
  const bar = [...window.jupyterapp.shell.widgets('menu')].find(widget => widget.menus);
  for (const menu of bar.menus) walk(menu, [menu.title.label]);
  return entries;
}"""
SHELL = "() => [window.jupyterapp.shell.leftCollapsed, window.jupyterapp.shell.mode]"
HEADINGS = "() => [...window.course.panel().querySelectorAll('.jp-Cell')].filter(window.course.shown).map(c => c.querySelector('h1, h2')?.tagName ?? '')"


def test_the_keys_and_menus_of_the_guide(lesson: Class) -> None:
    page, keyboard = lesson.page.page, lesson.page.page.keyboard
    lesson.page.select(0)
    before = page.evaluate(SHELL)
    for keys in ("Control+B", "Control+Shift+D"):
        keyboard.press(keys)
    assert page.evaluate(SHELL) == [not before[0], "single-document"]
    for keys in ("Control+B", "Control+Shift+D"):
        keyboard.press(keys)
    assert page.evaluate(SHELL) == before
    keyboard.press("Control+Shift+ArrowLeft")
    assert page.evaluate(HEADINGS) == ["H1"]
    keyboard.press("ArrowRight")
    outline = page.evaluate(HEADINGS)
    assert outline.count("H2") == sum(c.source.startswith("## ") for c in lesson.cells)
    keyboard.press("Control+Shift+ArrowRight")
    assert len(page.evaluate(HEADINGS)) == len(lesson.cells)
    setup = lesson.first(r"^setup\(")
    for choice in (1, 0):  # one language: Tab from the set-up cell to its button
        lesson.page.select(setup)
        for _ in range(choice + 1):
            keyboard.press("Tab")
        keyboard.press("Space")
        lesson.page.panel().locator(
            ".course-switch button.mod-active", has_text=["English", "中文"][choice]
        ).wait_for()
    guide = REPOSITORY / "TEACHING.md"
    named = (
        set(re.findall(r"\*(\w+ → [^*]+)\*", guide.read_text(encoding="utf-8"))) if guide.exists() else set()
    )
    assert named | {"Run → Run All Above Selected Cell"} <= set(page.evaluate(MENUS))


@pytest.mark.parametrize("size", SIZES, ids=["1024x768", "1280x720"])
def test_everything_is_large_and_nothing_too_wide(
    lesson: Class, size: tuple[int, int], request: pytest.FixtureRequest
) -> None:
    if request.node.get_closest_marker("nightly") and size == SIZES[0]:
        assert lesson.page.run_all(timeout=600)  # from here on with all widgets
    lesson.page.resize(*size)
    lesson.page.page.evaluate(ANSWER_ALL)
    for choice in CHOICES:
        lesson.page.switch_language(choice)
        found = lesson.page.page.evaluate(SMALL, SMALLEST)
        assert found["small"] == [] and found["cut"] == 0 and found["looked"] > 100
        assert lesson.page.overflow() == []
