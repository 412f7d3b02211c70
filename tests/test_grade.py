"""``python -m tools.grade``: exact points for right, wrong and edited submissions; nothing harms, and everything is reported."""

import ast
import csv
import json
import os
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from grade_submissions import handed_in, hostile
from published import PUBLISHED
from tabled import tabled

from tools.grade import __main__ as command
from tools.grade import code, course, grading, submission
from tools.grade.sandbox import Limits
from tools.grade.submission import open_submission
from tools.grade.texts import visible

ROOT = Path(__file__).parents[1]


# A cell has three seconds instead of ten.
_GRADE = (
    "from tools.grade import __main__ as it, judge; judge.CELL_SECONDS = 3.0; raise SystemExit(it.main())"
)


def graded(folder: Path, *options: str) -> dict[str, Any]:
    """Grade a folder of submissions, which stay as they are; return the JSON, with the table and the terminal's text."""
    target = folder.parent / f"{folder.name}-results"
    target.mkdir()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = subprocess.run(
        [sys.executable, "-c", _GRADE, str(folder), "--json", str(target / "a.json"), "--csv",
         str(target / "a.csv"), "--memory", "1", *options],
        cwd=ROOT, capture_output=True, encoding="utf-8",
        env=os.environ | {"PYTHONIOENCODING": "utf-8", "GITHUB_TOKEN": "my-token"},
    )  # fmt: skip
    if done.returncode == 2 and "shut answers off" in done.stderr:
        pytest.skip(done.stderr.splitlines()[0])
    assert done.returncode == 0, done.stderr
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    texts = [(target / name).read_text(encoding="utf-8-sig") for name in ("a.csv", "a.json")]
    for text in (done.stdout, done.stderr, *texts):
        assert {one for one in text if unicodedata.category(one)[0] == "C"} <= {"\n"}
    table, found = list(csv.DictReader(texts[0].splitlines())), json.loads(texts[1])
    return found | {"table": table, "terminal": done.stdout}


def states(one: dict[str, Any]) -> dict[str, str]:
    return {exercise["name"]: exercise["state"] for exercise in one["exercises"]}


def kinds(thing: dict[str, Any]) -> set[str]:
    return {remark["kind"] for remark in thing["remarks"]}


Expected = dict[str, tuple[str, dict[str, str]]]  # lesson and right verdicts, by file


def write_class(folder: Path, count: int, lessons: tuple[str, ...]) -> Expected:
    """Write submissions, `count` of each kind."""
    expected = {}
    for kind in ("right", "wrong", "edited"):
        for number, (book, lesson, verdicts) in enumerate(handed_in.class_of(kind, count, lessons)):
            handed_in.write(book, folder / f"{kind} {number}" / "lesson.ipynb")
            expected[f"{kind} {number}/lesson.ipynb"] = lesson, verdicts
    return expected


def assert_exact(found: dict[str, Any], expected: Expected) -> None:
    """Every verdict and every sum of points is right, also where a lesson's practice GPU replaces parts of PyTorch."""
    assert found["protected"]
    pairs = [*zip(found["submissions"], found["table"], strict=True)]
    graded_of_class = [pair for pair in pairs if pair[0]["file"] in expected]
    assert len(graded_of_class) == len(expected) > 0
    for one, row in graded_of_class:
        lesson, verdicts = expected[one["file"]]
        assert states(one) == verdicts, one["file"]
        solved = [name for name, state in verdicts.items() if state == "solved"]
        assert one["lesson"] == lesson and one["points"] == handed_in.worth(lesson, solved)
        assert one["possible"] == handed_in.worth(lesson, list(verdicts))
        assert (row["points"], row["solved"]) == (str(one["points"]), str(len(solved)))
        assert {row[f"{lesson}/{name}"] for name in solved} <= {"solved"}
        for exercise in one["exercises"]:
            assert exercise["state"] != "wrong" or {*exercise["hint"]} == {"en", "zh"}
            assert kinds(exercise) <= {"published", "alike"}, "a false alarm"


def assert_harmless(found: dict[str, Any], answers: dict[str, hostile.Hostile]) -> None:
    """Each hostile answer is reported, and every other answer in the class keeps its points."""
    submissions = {one["file"].removesuffix(".ipynb"): one for one in found["submissions"]}
    for place, (key, expected) in enumerate(answers.items()):
        name = visible(key)
        given = {exercise["name"]: exercise for exercise in submissions[name]["exercises"]}
        answer = given["on_gpu"]
        assert answer["state"] in expected.states, f"{name}: {answer}"
        assert {*expected.remarks} <= kinds(answer), f"{name}: {answer}"
        assert expected.says in answer["hint"]["en"], f"{name}: {answer}"
        assert given["intensity"]["state"] == ("not_tried" if place % 5 else "solved"), name
        if answer["state"] == "error":
            assert f"{name}.ipynb" in found["terminal"] and answer["hint"]["zh"] != answer["hint"]["en"]
    for name, (_, status) in hostile.UNREADABLE.items():
        assert submissions[name]["status"] == status and submissions[name]["points"] == 0, name
    pretending = submissions["pretending"]
    assert kinds(pretending) == {"overwritten"} and pretending["points"] == 0
    stored = {e["name"]: (e["state"], kinds(e)) for e in pretending["exercises"]}
    assert stored["on_gpu"] == ("wrong", {"stored"}) and stored["intensity"] == ("not_tried", {"stored"})


def test_a_class_is_graded_exactly_and_no_answer_harms(tmp_path: Path) -> None:
    """One process for both: its start costs more than thirty answers."""
    folder = tmp_path / "class"
    expected = write_class(folder, 1, ("01",))
    hostile.write_all(folder, hostile.SAMPLE)
    handed_in.write(
        handed_in.answered("08", {"gather": PUBLISHED["08/gather"].solution}), folder / "gpus.ipynb"
    )
    expected["gpus.ipynb"] = "08", dict.fromkeys(course.tasks("08"), "not_tried") | {"gather": "solved"}
    found = graded(folder)
    assert_exact(found, expected)
    assert_harmless(found, hostile.SAMPLE)


@pytest.mark.nightly
def test_scores_of_seventy_five_submissions_are_exact(tmp_path: Path) -> None:
    expected = write_class(tmp_path / "class", 25, tuple(sorted({key[:2] for key in PUBLISHED})))
    assert_exact(graded(tmp_path / "class"), expected)


@pytest.mark.nightly
def test_all_hostile_answers_are_reported_and_harm_nothing(tmp_path: Path) -> None:
    hostile.write_all(tmp_path / "class", answers := hostile.SAMPLE | hostile.OTHERS)
    assert_harmless(found := graded(tmp_path / "class", "--lesson", "01"), answers)
    assert [one["status"] for one in found["submissions"] if one["lesson"] == "02"] == ["other_lesson"]


@pytest.mark.nightly
def test_scripts_are_examined(tmp_path: Path) -> None:
    entry = {name: PUBLISHED[f"06/{name}"] for name in ("together", "average")}
    answers = {"together": entry["together"].solution, "average": entry["average"].wrong[0][0]}
    handed_in.write(handed_in.answered("06", answers), tmp_path / "class" / "a.ipynb")
    one = graded(tmp_path / "class")["submissions"][0]
    expected = dict.fromkeys(course.tasks("06"), "not_tried")
    assert states(one) == expected | {"together": "solved", "average": "wrong"}


# --- without executing anything ---------------------------------------------------------------------------


def test_each_exercise_is_checked_once_at_the_end_of_its_cell_and_its_solution_is_an_ordinary_answer() -> (
    None
):
    found = []
    for number in course.lessons():
        trees = [ast.parse(cell.source) for cell in course.cells(number) if cell.code]
        found += [f"{number}/{name}" for tree in trees for name in code.checks(tree)]
        assert all(code.is_check(tree.body[-1]) for tree in trees if code.checks(tree))
    assert found == list(PUBLISHED)
    assert not [key for key, entry in PUBLISHED.items() if code.unusual(entry.solution)]


@pytest.mark.parametrize("number", sorted(course.lessons()))
def test_a_fresh_notebook_has_no_answers(number: str, tmp_path: Path) -> None:
    found = open_submission(handed_in.write(handed_in.notebook(number), tmp_path / "a.ipynb"))
    assert found.lesson == number and not found.stored and not found.overwrites
    assert not [name for name in found.answers if name in handed_in.cells_only(number)]


def test_an_answer_brings_what_it_uses() -> None:
    course_cells = code.parsed("import math\nsize = math.pi\nother = size\n1 / 0")
    learners = code.parsed("def helper(x):\n    return size * x")
    cell = code.parsed("def answer(size):\n    return helper(size)")
    assert course_cells and learners and cell
    found = code.definitions(cell, course_cells.body + learners.body)
    assert found == ["import math", "size = math.pi", "def helper(x):\n    return size * x"]


def test_an_answer_in_another_cell_wins_over_the_course(tmp_path: Path) -> None:
    """Lesson 04 has a function `train` above the exercise that asks for another one."""
    book = handed_in.answered("04", {"stalls": PUBLISHED["04/stalls"].solution})
    handed_in.through_helpers(book)
    (answer,) = open_submission(handed_in.write(book, tmp_path / "a.ipynb")).answers["stalls"]
    assert code.normal(answer.before[-1]) == code.normal(PUBLISHED["04/stalls"].solution)


def test_the_last_three_tries_of_an_exercise_are_examined(tmp_path: Path) -> None:
    book = handed_in.answered("01", {"on_gpu": PUBLISHED["01/on_gpu"].solution})
    cell = handed_in.cell_of(book, "01", "on_gpu")
    place = book["cells"].index(cell)
    book["cells"][place:place] = [
        cell | {"id": f"try-{n}", "source": f"# {n}\n{cell['source']}"} for n in range(4)
    ]
    tries = open_submission(handed_in.write(book, tmp_path / "a.ipynb")).answers["on_gpu"]
    assert [one.source[:3] for one in tries] == ["# 2", "# 3", cell["source"][:3]]


def test_what_the_course_calls_as_an_answer_is_no_answer(tmp_path: Path) -> None:
    """The figure in lesson 01 whose measurement is called `on_gpu` takes seconds."""
    book = handed_in.answered("01", {"on_gpu": "x = sizes"})
    (answer,) = open_submission(handed_in.write(book, tmp_path / "a.ipynb")).answers["on_gpu"]
    assert any(line.startswith("sizes =") for line in answer.before)
    assert not [line for line in answer.before if "on_gpu" in line]


def test_another_lesson_is_left_out(tmp_path: Path) -> None:
    path = handed_in.write(handed_in.notebook("02"), tmp_path / "a.ipynb")
    found = grading.grade(path, "a", Limits(), protected=True, lesson="01")
    assert (found.status, found.lesson, found.marks) == ("other_lesson", "02", {})


def mark(key: str, source: str, state: str = "solved") -> grading.Mark:
    task = course.tasks(key[:2])[key[3:]]
    return grading.Mark(task, state, answer=submission.Answer(task, source, [], {}, task.expression))


def test_alike_answers_are_reported_and_not_judged() -> None:
    long = "def crossover(sizes, cpu, gpu):\n    a = 1\n    b = 2\n    return sizes[a + b]"
    commented = long.replace("    a = 1", '    """Mine."""\n\n    a = 1  # one')
    grades = [
        grading.Grade("a", marks={"crossover": mark("01/crossover", long)}),
        grading.Grade("b", marks={"crossover": mark("01/crossover", commented, "wrong")}),
        grading.Grade("c", marks={"crossover": mark("01/crossover", long.replace("b = 2", "b = 3"))}),
        grading.Grade("d", marks={"crossover": mark("01/crossover", PUBLISHED["01/crossover"].solution)}),
        grading.Grade("e", marks={"crossover": mark("01/crossover", PUBLISHED["01/crossover"].solution)}),
    ]
    assert grading.compare(grades) == [("01/crossover", ["a", "b"])]
    assert [one.marks["crossover"].remarks.get("alike") for one in grades] == [["b"], ["a"], None, None, None]
    worth = handed_in.worth("01", ["crossover"])
    assert [one.points()[0] for one in grades] == [worth, 0, worth, worth, worth]


def test_points_follow_the_level() -> None:
    marks = {name: grading.Mark(task, "solved") for name, task in course.tasks("01").items()}
    first, second, *others = marks.values()
    first.state, second.state = "not_tried", "error"
    rates = {"easy": 10, "medium": 100, "hard": 1000}
    assert grading.Grade("a", marks=marks).points(rates)[0] == sum(rates[mark.level] for mark in others)


@tabled
def test_bad_options_are_refused_before_the_work(
    options: str,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COURSE_GRADING", "1")  # otherwise the command would start itself again
    monkeypatch.setattr(command.importlib, "import_module", lambda _: pytest.fail("it began to work"))
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.ipynb").touch()
    assert command.main(options.format(tmp_path).split()) == 2
    said = capsys.readouterr()
    assert words.format(tmp_path) in said.err and "。" in said.err and not said.out
