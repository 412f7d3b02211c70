"""A test run says what became of the claims, and fails if it measured less than its machine can."""

import json
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from test_planted_faults import run_nbval

from tools import record
from tools.claim_summary import Declared, Summary, claims_in, machine_class
from tools.notebook_file import lessons

SOURCES = (
    "%matplotlib inline\nclaim('9.1', True)",
    "for _ in range(2):\n    claim('9.2', 3, at_least=2, needs=\"cuda\")",
    "claim('9.3', both, needs='two_gpus')\nclaim('9.4', 1, at_most=2, needs=units)",
)


def write(path: Path, *sources: str) -> Path:
    cells = [new_code_cell(source, execution_count=n) for n, source in enumerate(sources, 1)]
    nbformat.write(new_notebook(cells=cells), path)
    return path


def test_claims_are_found_in_the_code(tmp_path: Path) -> None:
    found = claims_in(write(tmp_path / "a.ipynb", *SOURCES))
    assert found == {
        "9.1": Declared(None, (None, None)),
        "9.2": Declared("cuda", (2, None)),
        "9.3": Declared("two_gpus", (None, None)),
        "9.4": Declared("units", (None, 2)),
    }
    assert [*claims_in(write(tmp_path / "a.ipynb", "%%bash\necho 'claim", "!ls\nclaim('9.1', x)"))] == ["9.1"]
    for source in ("claim(name, True)", "claim(id='9.1')"):
        with pytest.raises(ValueError, match="a.ipynb: claim.. takes its id"):
            claims_in(write(tmp_path / "a.ipynb", source))


def test_every_lesson_but_the_clinic_has_claims() -> None:
    counts = {number: len(claims_in(path)) for number, path in lessons().items()}
    assert counts.pop("09") == 0
    assert min(counts.values()) > 0 and sum(counts.values()) > 80


@pytest.mark.parametrize("gpus, missed", [(0, []), (1, ["9.2"]), (2, ["9.2", "9.3"]), (8, ["9.2", "9.3"])])
def test_what_the_machine_can_measure_must_be_measured(gpus: int, missed: list[str], tmp_path: Path) -> None:
    paths = [write(tmp_path / name, *SOURCES) for name in ("a.ipynb", "b.ipynb")]
    summary = Summary(gpus=gpus)
    summary.add(paths[0], [("9.1", "holds"), ("9.2", "needs"), ("9.3", "needs"), ("9.4", "needs")])
    summary.add(paths[1], [(key, "holds") for key in ("9.1", "9.2", "9.3")])
    summary.check(paths)
    *unmeasured, unreached = summary.problems
    assert [problem.split()[2] for problem in unmeasured] == missed
    assert all(f"“{machine_class(gpus)}”" in problem for problem in unmeasured)
    assert unreached == "b.ipynb: claim 9.4 was never reached"


def test_verdicts_are_counted_per_lesson(tmp_path: Path) -> None:
    summary = Summary()
    summary.add(tmp_path / "a.ipynb", [("9.1", "unclear"), ("9.2", "needs")])
    summary.add(tmp_path / "a.ipynb", [("9.1", "holds")])  # the cell ran twice: the last verdict counts
    summary.add(tmp_path / "b.ipynb", [("9.3", "unclear"), ("9.4", "fails"), ("9.5", "model")])
    assert [row.split()[-5:] for row in summary.table()[1:]] == [list("10001"), list("01110"), list("11111")]
    assert [row.split()[0] for row in summary.table()] == ["CPU", "a.ipynb", "b.ipynb", "total"]


@pytest.mark.parametrize("again, strict, failed", [
    ("holds", True, False), ("unclear", True, True), ("unclear", False, False), (None, True, True),
])  # fmt: skip
def test_an_unclear_claim_is_measured_once_more(
    again: str | None, strict: bool, failed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executed: list[Path] = []

    def execute(path: Path, journal: Path, target: Path) -> None:
        executed.append(path)
        assert target.parent == journal.parent != path.parent, "the course's notebook is not touched"
        notes = {"9.1": "fails"} | ({"9.3": again} if again else {})
        lines = [{"kind": "claim", "key": key, "values": {"verdict": v}} for key, v in notes.items()]
        journal.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")

    monkeypatch.setattr(record, "execute", execute)
    summary = Summary()
    summary.add(tmp_path / "a.ipynb", [("9.1", "holds"), ("9.3", "unclear")])
    summary.add(tmp_path / "b.ipynb", [("9.5", "holds")])
    summary.repeat_unclear(strict=strict)
    assert executed == [tmp_path / "a.ipynb"]
    assert (len(summary.problems), len(summary.remarks)) == (failed, not failed)
    assert summary.verdicts[tmp_path / "a.ipynb"] == {"9.1": "holds", "9.3": again or "unclear"}


@pytest.mark.nightly
def test_a_run_with_a_claim_that_stays_unclear_fails_in_ci(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pytestconfig: pytest.Config,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """From end to end: the claim's two estimates disagree whenever it is measured."""
    (tmp_path / "lesson_01").mkdir()
    texts = '[claim."9.1"]\nen = "A."\nzh = "甲。"\n'
    (tmp_path / "lesson_01" / "texts.toml").write_text(texts, encoding="utf-8")
    path = write(
        tmp_path / "01_a.ipynb",
        "from course_utils import claim, lesson_setup\nfrom course_utils import lesson\nlesson.use('01')",
        "from course_utils.measure import Comparison\nresult = Comparison(3.0, 1.0, 1, 1, 15, None, None)\n"
        "type(result).again = lambda self, pairs: self\nclaim('9.1', result, at_least=2)",
    )
    record.execute(path, tmp_path / "journal.jsonl")
    monkeypatch.setenv("CI", "1")
    failed, printed = run_nbval([path], pytestconfig, capsys)
    assert failed == {}, printed
    assert "FAILED 01_a.ipynb: claim 9.1 was unclear; measured again, it is: unclear" in printed
