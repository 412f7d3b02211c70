"""What the edition for instructors has besides: minutes and speaker notes by section, answers, hints, wrong answers."""

import difflib
import re
from functools import cache
from textwrap import dedent, indent

import nbformat
from nbformat import NotebookNode

from bilingual import Bilingual, pair, toml_of
from course_utils import lesson
from course_utils.exercises import Exercise, exercises_of
from course_utils.questions import parsed
from tools.grade.course import make_importable, tasks
from tools.minutes import by_section
from tools.notebook_file import NOTEBOOKS, lessons
from tools.wrong_answers import wrong_answers

from .one_language import TEXTS, words

_CALL = re.compile(r'^(predict|check)\("(\w+)"', re.M)
_SECTION = re.compile(r"^## (\d+\.\d+) ", re.M)
_BLANK = re.compile(r"(?<!\{)\{\w[^{}]*\}")
WRONG_ANSWERS = 5  # that are shown of an exercise
_LONGEST, _WIDEST = 4, 88  # lines of one, and characters of a line

SAY = TEXTS["instructor"]


def add(notebook: NotebookNode, language: str) -> None:
    """Add to an edition what instructors want at hand, as a slide show's notes, and open its solutions."""
    number = notebook.metadata.course.lesson
    minutes = _minutes(number)  # first: it also makes the room's modules importable
    made: list[NotebookNode] = []
    for at, cell in enumerate(notebook.cells):
        made.append(cell)
        if cell.cell_type == "markdown":
            cell.source = cell.source.replace("<details>", "<details open>")
            found = _SECTION.search(cell.source)
            if at == 0:
                made.append(_cell(cell, "minutes", _table(minutes, notebook, language)))
            elif found:
                made.append(_cell(cell, "notes", _notes(number, found[1], minutes, language)))
        elif cell.cell_type == "code":
            for kind, name in _CALL.findall(cell.source):
                text = (_question if kind == "predict" else _exercise)(number, name, language)
                made.append(_cell(cell, f"{kind}-{name}"[:30], text))
    notebook.cells = [cell for cell in made if cell.source]


def _cell(after: NotebookNode, what: str, source: str) -> NotebookNode:
    """Return a cell to stand after another; it is empty where there is nothing to say."""
    cell = nbformat.v4.new_markdown_cell(source, id=f"{after.id}-for-{what}"[:64].replace("_", "-"))
    cell.metadata = nbformat.from_dict(
        {"course": {"for": "instructor"}, "slideshow": {"slide_type": "notes"}}
    )
    return cell


def _one(text: Bilingual, language: str) -> str:
    return re.sub("[⟨⟩]", "", words(text.en, text.zh, language))


def _quoted(parts: list[str]) -> str:
    """Return paragraphs as a block quotation, which tells them from the lesson's own text."""
    return "\n>\n".join("> " + part.replace("\n", "\n> ") for part in parts)


def _minutes(number: str) -> dict[str, dict[str, int]]:
    """Return the minutes of each section of a lesson: to read, and for its exercises."""
    found = {name: amount for name, amount in by_section(lessons()[number]).items() if name}
    return {name: {"reading": max(1, round(a.minutes)), "exercises": a.solving} for name, a in found.items()}


def _table(minutes: dict[str, dict[str, int]], notebook: NotebookNode, language: str) -> str:
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    titles = dict(re.findall(r"^## (\d+\.\d+) (.+)$", text, re.M))
    lines = [
        f"| {section} {titles.get(section, '')} | {both['reading']} + {both['exercises']} |"
        for section, both in minutes.items()
    ]
    rows = "\n".join(["| | |", "|---|--:|", *lines])
    return _quoted([f"**{_one(SAY['lesson'], language)}**", rows])


@cache
def notes(number: str) -> dict[str, dict[str, Bilingual]]:
    """Return a lesson's speaker notes by section ("1.2") and part ("say": ``say_en``, ``say_zh`` in notes.toml)."""
    return {
        section: {part: pair(given, f"{part}_") for part in TEXTS["note"] if f"{part}_en" in given}
        for section, given in toml_of(NOTEBOOKS / f"lesson_{number}" / "notes").items()
    }


def _notes(number: str, section: str, minutes: dict[str, dict[str, int]], language: str) -> str:
    both, said_of = minutes[section], notes(number).get(section, {})
    parts = [
        f"**{_one(TEXTS['note'][name], language)}** {_one(text, language)}" for name, text in said_of.items()
    ]
    said = SAY["minutes" if both["exercises"] else "reading"].format(**both)
    return _quoted([f"**{section}** · {_one(said, language)}", *parts])


def _question(number: str, name: str, language: str) -> str:
    asked = parsed(name, lesson.all_texts(number)["question"][name])
    title = f"**{_one(SAY['answer'], language)}**"
    if asked.number:
        return _quoted([f"{title} {_one(asked.number.reason, language)}"])
    colon = words(": ", "：", language)
    rows = [
        f"- {'✓' if choice.right else '✗'} {_one(choice.text, language)}{colon}{_one(choice.reason, language)}"
        for choice in sorted(asked.choices, key=lambda choice: not choice.right)
    ]
    return _quoted([title, "\n".join(rows)])


def _exercise(number: str, name: str, language: str) -> str:
    make_importable()  # those of lesson 08 import its project
    exercise = exercises_of(number)[name]
    hints = [f"{at}. {_one(hint, language)}" for at, hint in enumerate(exercise.hints, 1)]
    made, wrong = wrong_answers(number, name), []
    for key, source in ((key, source) for key, sources in made.items() for source in sources):
        lines = _other_lines(source, tasks(number)[name].solution)
        short = 0 < len(lines) <= _LONGEST and max(map(len, lines)) <= _WIDEST
        if short and key != "returned_none":  # a forgotten `return` teaches nothing about the exercise
            said = words("“{}”: ", "「{}」：", language).format(_one(_words_of(exercise, key), language))
            fence = "\n" + indent("\n".join(("```python", *lines, "```")), "  ")
            wrong.append(f"- {said}{fence if len(lines) > 1 else f'`{lines[0]}`'}")
    parts = [f"**{_one(SAY['hints'], language)}**", "\n".join(hints)]
    if wrong:
        parts += [f"**{_one(SAY['wrong'], language)}**", "\n".join(wrong[:WRONG_ANSWERS])]
    return _quoted(parts)


def _words_of(exercise: Exercise, key: str) -> Bilingual:
    """Return the hint for a mistake, with an ellipsis for what an answer would fill in."""
    text = exercise.text(key)
    return Bilingual(
        *(_BLANK.sub("…", words).replace("{{", "{").replace("}}", "}") for words in (text.en, text.zh))
    )


def _other_lines(source: str, solution: str) -> list[str]:
    """Return the lines of a wrong answer that the solution has not."""
    other = difflib.ndiff(solution.splitlines(), source.splitlines())
    lines = [line[2:] for line in other if line.startswith("+ ") and line[2:].strip()]
    return dedent("\n".join(lines)).splitlines()
