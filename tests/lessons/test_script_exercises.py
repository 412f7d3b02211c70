"""Exercises whose answers are scripts: they run in several processes, and are judged by what they did there.

`test_exercises` has what is the same for all exercises: the solution, the stub, wrong answers, and what is shown.
"""

import re
import sys
from pathlib import Path

import pytest
from script_answers import EXERCISES, JUDGES, RIGHT, SOLUTIONS, STUBS, marks
from tabled import tables

from course_utils.exercise_hints import HINTS
from course_utils.exercises import Answer, Mistake, examine
from notebook_torchrun.result import Failure, Run
from shared import observed_script, script_exercise
from shared.script_exercise import LIMIT_SECONDS, Facts, Outcome, close, numbers
from tools.wrong_answers import wrong_answers

each = pytest.mark.parametrize("key", EXERCISES)
NOTHING = {"samples": [[]], "forwards": [[0, 0]], "gradients": [], "start": [], "end": [], "resumed": False,
           "epochs": [], "at_epoch": [], "collectives": [], "wrapped": 0, "initialized": 1, "saved": [],
           "loaded": [], "moved": [], "open": False}  # fmt: skip


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


@each
def test_stub_and_solution_fit_into_a_cell_and_need_pytorch_only(key: str) -> None:
    for script in STUBS[key], SOLUTIONS[key]:
        lines = script.splitlines()
        assert len(lines) <= 44 and max(map(len, lines)) <= 88, "with the line %%writefile, 45"
        modules = {name for line in lines for name in re.findall(r"^(?:from|import) (\w+)", line)}
        assert modules <= {"torch", *sys.stdlib_module_names}


@pytest.mark.nightly
@pytest.mark.parametrize("way", [f"{key}-{way}" for way, (key, _) in RIGHT.items()])
def test_other_right_scripts_pass(way: str) -> None:
    key, script = RIGHT[way.partition("-")[2]]
    found = check(key, script)
    assert found.state == "solved", found.message.en


TESTED_ELSEWHERE = {  # tests/unit/test_examine.py, test_returned.py
    "solved", "not_yet", "too_long", "interrupted", "recursion", "raised", "cannot_be_used", "returned_none", "no_number",
    "no_tensor", "no_whole_numbers", "no_dictionary", "line_missing", "line_empty",
}  # fmt: skip


def test_each_hint_of_any_script_is_reached(own_folder: Path) -> None:
    (own_folder / "mine" / "binary.py").write_bytes(bytes(range(256)))
    (own_folder / "mine" / "folder.py").mkdir()
    stub = STUBS["06/distribute"]
    given = {
        "no_name": ["script", "\0.py", "x" * 500 + ".py", print],
        "no_file": ["mine/none.py", "mine/folder.py"],
        "no_python": ["mine/binary.py", answer("def f(:", "bad")],
        "blank": [answer(STUBS["07/resume"], "blank")],
        "unchanged": [answer(text, f"same{n}") for n, text in enumerate([stub, f"{stub}\n# more\n", "", "\n", "# no\n"])],
    }  # fmt: skip
    for key, values in given.items():
        for value in values:
            found = examine(EXERCISES["06/distribute"], value)
            state = "wrong" if key in ("no_name", "no_python") else "notyet"
            assert (found.key, found.state) == (key, state), value
    plan = JUDGES["06/distribute"].plan
    for key, record in ("no_end", None), ("not_alone", {"start 0": NOTHING}):
        script_exercise.outcomes[key, plan] = Outcome([record, record, None], [[]] * 3, {})
        assert check("06/distribute", key).key == key
    reached = {*given, "no_end", "not_alone"}.union(*(wrong_answers(*key.split("/")) for key in EXERCISES))
    assert set(HINTS) - TESTED_ELSEWHERE <= reached


@pytest.mark.parametrize("key, mistake, words", [
    pytest.param(*row, marks=marks(*row[:2])) for row in tables("script_answers")["hints"]
])  # fmt: skip
def test_hints_have_the_numbers_of_the_script(key: str, mistake: str, words: str) -> None:
    assert words in check(key, wrong_answers(*key.split("/"))[mistake][0]).message.en


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
    assert found.key == "no_end" and "rank 0 is in line 11, rank 1 is in line 10" in found.message.en
    assert not any(text == "while True: pass" for text, _ in script_exercise.outcomes), (
        "the machine may have been busy"
    )


@pytest.mark.nightly  # it takes its time limit
def test_a_script_that_hangs_is_ended(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Really launched; beside the learner's file lies one that it imports."""
    Path("mine/beside.py").write_text("value = 7\n")
    monkeypatch.setattr(script_exercise, "LIMIT_SECONDS", 20.0)
    found = check("06/together", HOSTILE)
    assert found.state == "wrong"
    assert "line 11" in found.message.en and "rank 1 is in line 10" in found.message.en
    assert "rank 1 在第 10 行" in found.message.zh
    left = {path.name for path in (own_folder / "mine").iterdir()}
    assert left - {"__pycache__"} == {"beside.py", "script.py"}


def test_a_script_is_launched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real thing: two processes and one alone."""
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


WAITS = {
    "raised": "RuntimeError: Timed out",
    "line": 7,
    "collectives": [("barrier", 7)],
    "gradients": [[0.0]],
}


@pytest.mark.parametrize("records, stuck, words", [
    ([NOTHING, WAITS], {}, "rank 0 has reached its end, rank 1 waits in line 7 (`barrier`) after 1 steps"),
    ([WAITS, None], {1: 9}, "rank 1 is in line 9"),
    ([None, NOTHING], {}, "rank 0 was ended, rank 1 has reached its end"),
])  # fmt: skip
def test_where_each_rank_is(records: list, stuck: dict[int, int], words: str) -> None:
    with pytest.raises(Mistake) as mistake:
        script_exercise._check_steps(records, stuck)
    assert words in mistake.value.values["where"].en
    script_exercise._check_steps([NOTHING, NOTHING], {})


def test_numbers_and_closeness() -> None:
    assert numbers(["rank 1: 0.5, -2", "1e-3"]) == [1, 0.5, -2, 0.001]
    assert close([1.0], [1.00001]) and not close([1.0], [1.1]) and not close([1.0], [])
    assert Facts("x = 1  # DistributedSampler", [], []).has("x") and not Facts("x  # y", [], []).has("y")
