"""Exercises whose answers are scripts: they run in several processes, and are judged by what they did there."""

from __future__ import annotations

import ast
import sys
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hostile_answers import VALUES
from html_nesting import assert_nested
from script_answers import EXERCISES, MODULES, RIGHT, SOLUTIONS, STUBS, WRONG, plan

from course_utils.exercises import Answer, Wrong, examine, seen
from notebook_torchrun.result import Failure, Run
from shared import observed_script, script_exercise
from shared.script_exercise import LIMIT_SECONDS, Facts, Outcome, close, numbers

each = pytest.mark.parametrize("key", EXERCISES)


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    return tmp_path


def answer(script: str, name: str = "script") -> str:
    Path(f"mine/{name}.py").write_text(script, encoding="utf-8")
    return f"mine/{name}.py"


def check(key: str, script: str) -> Answer:
    return examine(EXERCISES[key], answer(script))


def test_every_exercise_has_wrong_answers() -> None:
    assert set(WRONG) == set(EXERCISES) and all(len(rows) >= 3 for rows in WRONG.values())


@each
def test_the_solution_passes_and_fits_into_a_cell(key: str) -> None:
    assert check(key, SOLUTIONS[key]).state == "solved"
    for script in STUBS[key], SOLUTIONS[key]:
        lines = script.splitlines()
        assert len(lines) <= 44 and max(map(len, lines)) <= 88, "with the line %%writefile, 45"
        assert {name.split(".")[0] for name in imported(script)} <= {"torch", *sys.stdlib_module_names}


def imported(script: str) -> list[str]:
    nodes = list(ast.walk(ast.parse(script)))
    froms = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return froms + [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]


@each
def test_stub_and_missing_file_are_not_yet(key: str) -> None:
    missing = examine(EXERCISES[key], "mine/none.py")
    assert missing.state == "notyet" and "%%writefile mine/none.py" in missing.message.en
    for script in STUBS[key], STUBS[key] + "\n# a comment\n", "", "\n\n", "# nothing\n":
        found = check(key, script)
        assert found.state == "notyet" and "writes the file again" in found.message.en
        assert "寫入檔案" in found.message.zh


@pytest.mark.parametrize("way", [f"{key}-{way}" for way, (key, _) in RIGHT.items()])
def test_other_right_scripts_pass(way: str) -> None:
    key, script = RIGHT[way.partition("-")[2]]
    found = check(key, script)
    assert found.state == "solved", found.message.en


@pytest.mark.parametrize(
    "key, script, en, zh",
    [pytest.param(k, *row, id=f"{k}-{row[1][:40]}") for k, rows in WRONG.items() for row in rows],
)
def test_a_wrong_script_gets_its_own_hint(key: str, script: str, en: str, zh: str) -> None:
    found = check(key, script)
    assert found.state == "wrong" and en in found.message.en and zh in found.message.zh, found.message
    assert "check cannot use" not in found.message.en


@pytest.mark.parametrize("number", MODULES)
def test_every_hint_can_be_reached(number: str) -> None:
    texts = Path(str(MODULES[number].__file__)).with_suffix(".toml").read_text(encoding="utf-8")
    reached = set()
    for key, rows in WRONG.items():
        judge, stub, plan, _ = EXERCISES[key].examine.args  # type: ignore[attr-defined]
        for script, _, _ in rows if key.startswith(number) else ():
            with suppress(Wrong):  # what every script is told
                found = script_exercise.facts(answer(script), stub, plan)
                reached.add(next(name for made, name, *_ in judge(found) if made))
    assert set(tomllib.loads(texts)["wrong"]) == reached


@each
def test_what_is_shown_tells_right_from_wrong(key: str) -> None:
    page, text = seen(EXERCISES[key], answer(SOLUTIONS[key]))
    assert text.splitlines()[1].startswith("0 | ") and text.splitlines()[2].startswith("1 | ")
    assert "processes on the CPU" in page and "給 GPU 用的程式碼並沒有執行到" in page
    assert_nested(f"<div>{page}</div>")
    shown = {seen(EXERCISES[key], answer(script))[0] for script, _, _ in WRONG[key]}
    assert shown - {"", page}


@each
def test_bad_input_is_explained(key: str, own_folder: Path) -> None:
    (own_folder / "mine" / "binary.py").write_bytes(bytes(range(256)))
    (own_folder / "mine" / "folder.py").mkdir()
    bad: list[Any] = [
        "mine/binary.py",
        "mine/folder.py",
        "script",
        "\0.py",
        "x" * 500 + ".py",
        answer("def f(:", "bad"),
        print,
    ]
    for value in bad:
        found = examine(EXERCISES[key], value)
        assert found.state in ("wrong", "notyet") and "check cannot use" not in found.message.en, value
    for value in VALUES.values():
        assert examine(EXERCISES[key], value).state in ("wrong", "notyet")


# --- how a script is run -------------------------------------------------------------------------------

HOSTILE = """
import os, sys, time, torch.distributed as dist
import beside
assert __name__ == "__main__" and os.path.basename(__file__) == "script.py" and beside.value == 7
open("mine/written", "w").close()
dist.init_process_group("gloo")
if dist.get_rank() == 1:
    print("y" * 100_000)
    while True:
        time.sleep(0.1)
dist.barrier()
"""


def test_the_hint_for_a_script_that_hangs_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run("torchrun", 2, 45.0, seconds=46.0)
    places = {
        0: 'File "a/observed_script.py", line 99\n  File "a/mine/script.py", line 11',
        1: 'File "mine/script.py", line 10',
    }
    run.failures = [Failure(rank, "hangs", text, None) for rank, text in places.items()]
    monkeypatch.setattr(script_exercise, "launch", lambda *_, **__: run)
    found = check("06/together", "while True: pass")
    assert found.state == "wrong" and "rank 0 is in line 11, rank 1 is in line 10" in found.message.en
    assert not any(text == "while True: pass" for text, _ in script_exercise.outcomes), (
        "the machine may have been busy"
    )


@pytest.mark.nightly  # it takes its time limit
def test_a_script_that_hangs_is_ended(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Really launched; beside the learner's file lies one that it imports."""
    Path("mine/beside.py").write_text("value = 7\n")
    monkeypatch.setattr(script_exercise, "LIMIT_SECONDS", 20.0)
    found = check("06/together", HOSTILE)
    assert (
        found.state == "wrong"
        and "line 11" in found.message.en
        and "rank 1 is in line 10" in found.message.en
    )
    assert "rank 1 在第 10 行" in found.message.zh
    assert sorted(path.name for path in (own_folder / "mine").iterdir()) == ["beside.py", "script.py"]


def test_a_script_is_launched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real thing: two processes and one alone, and a job that is stopped and goes on."""
    monkeypatch.setattr(script_exercise, "outcomes", {})
    assert check("06/distribute", SOLUTIONS["06/distribute"]).state == "solved"
    (found,) = script_exercise.outcomes.values()
    assert [len(record["start 0"]["gradients"]) for record in found.records if record] == [30, 30, 30]
    assert [len(lines) for lines in found.printed] == [3, 0, 3]
    monkeypatch.setattr(script_exercise, "launch", None)
    assert check("06/distribute", SOLUTIONS["06/distribute"]).state == "solved", "from the cache"


@pytest.mark.nightly
def test_a_job_is_really_stopped_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script_exercise, "outcomes", {})
    assert check("07/resume", SOLUTIONS["07/resume"]).state == "solved"


@each
def test_the_launch_ends_before_the_time_limit_of_the_answer(key: str) -> None:
    """Otherwise the learner would get the hint of an endless answer, not that of a script."""
    assert EXERCISES[key].seconds >= LIMIT_SECONDS + 15 and observed_script.WAIT_SECONDS < LIMIT_SECONDS / 2


def test_where_each_rank_is() -> None:
    ended = {"collectives": [], "gradients": []}
    waits = {
        "raised": "RuntimeError: Timed out",
        "line": 7,
        "collectives": [("barrier", 7)],
        "gradients": [[0.0]],
    }
    for records, stuck, words in (
        ([ended, waits], {}, "rank 0 has reached its end, rank 1 waits in line 7 (`barrier`) after 1 steps"),
        ([waits, None], {1: 9}, "rank 1 is in line 9"),
        ([None, ended], {}, "rank 0 was ended, rank 1 has reached its end"),
    ):
        with pytest.raises(Wrong) as wrong:
            script_exercise._check_steps(records, stuck)
        assert words in wrong.value.hint.en
    script_exercise._check_steps([ended, ended], {})


def test_numbers_and_closeness() -> None:
    assert numbers(["rank 1: 0.5, -2", "1e-3"]) == [1, 0.5, -2, 0.001]
    assert close([1.0], [1.00001]) and not close([1.0], [1.1]) and not close([1.0], [])
    assert Facts("x = 1  # DistributedSampler", [], []).has("x") and not Facts("x  # y", [], []).has("y")


def test_the_tests_can_fail() -> None:
    """Ranks that did nothing solve nothing."""
    nothing = {"samples": [[]], "forwards": [[0, 0]], "gradients": [], "start": [], "end": [], "resumed": False,
               "epochs": [], "at_epoch": [], "collectives": [], "wrapped": 0, "initialized": 1, "saved": [],
               "loaded": [], "moved": [], "open": False}  # fmt: skip
    for key, exercise in EXERCISES.items():
        script = f"print({key!r})"
        record = {"start 0": nothing, "start 1": nothing}
        script_exercise.outcomes[script, plan(key)] = Outcome([record] * sum(plan(key).worlds), [[]] * 3, {})
        assert examine(exercise, answer(script)).state == "wrong"
