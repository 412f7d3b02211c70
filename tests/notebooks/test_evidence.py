"""Recorded runs: what the tools write, and what the lessons then show."""

import json
from pathlib import Path
from typing import Any

import pytest

from course_utils import lesson, recordings
from course_utils.recordings import label, recorded
from course_utils.run_mode import note
from tools import evidence
from tools.claim_summary import Declared
from tools.evidence import claims_of_today, counts, slug, write
from tools.markdown_text import between
from tools.notebook_file import lessons
from tools.record import ROOT, table

FACTS: dict[str, Any] = {
    "cpu": "AMD EPYC(TM) 9R14 @ 2.6GHz", "cores": 4, "memory": 10**10, "gpus": [], "driver": None,
    "torch": "2.13.0+cpu", "cuda": None, "python": "3.11.7", "system": "Linux x86_64",
}  # fmt: skip
NO_LIMITS = (None, None)
ANY = Declared(None, NO_LIMITS)
GPU = {"name": "NVIDIA H200", "capability": "9.0", "memory": 10**11, "multiprocessors": 132}
ON_GPU = FACTS | {"gpus": [GPU], "torch": "2.13.0+cu130", "cuda": "13.0"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder of recorded runs, which ``recorded`` reads."""
    place = tmp_path / "recordings"
    # No cache: it would hide later writes.
    monkeypatch.setattr(recordings, "runs", lambda: recordings.read(place))
    monkeypatch.setattr(evidence, "claims_of_today", lambda: {"1.1": ANY, "2.2": ANY, "3.1": ANY})
    return place


def claim_line(key: str, value: float, kind: str = "claim") -> dict[str, Any]:
    return {"kind": kind, "key": key, "values": {"verdict": "holds", "value": value}, "lesson": key[:2]}


# --- noting -------------------------------------------------------------------------------------------


def test_notes_are_lines_of_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = tmp_path / "journal.jsonl"
    note("claim", "2.2", {"value": 1})
    assert not journal.exists(), "without COURSE_RECORD nothing is written"
    monkeypatch.setenv("COURSE_RECORD", str(journal))
    note("claim", "2.2", {"value": 12.5, "verdict": "holds"})
    lesson.use("02")
    note("curve", "時間", {"lines": {"CPU": [[1.0], [2.0]]}})
    lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    assert lines == [
        {"kind": "claim", "key": "2.2", "values": {"value": 12.5, "verdict": "holds"}, "lesson": None},
        {"kind": "curve", "key": "時間", "values": {"lines": {"CPU": [[1.0], [2.0]]}}, "lesson": "02"},
    ]


# --- writing and reading ------------------------------------------------------------------------------


def test_what_is_written_is_recorded(folder: Path) -> None:
    assert recorded("2.2", NO_LIMITS) is None, "no file at all"
    lines = [claim_line("2.2", 12.5), {"kind": "curve", "key": "crossover", "values": {"lines": {}}}]
    path = write(lines, folder, date="2026-01-02", facts=ON_GPU)
    first = path.read_bytes()
    assert path == folder / "nvidia-h200.json"
    run = "NVIDIA H200, PyTorch 2.13.0, 2026-01-02"
    assert recorded("2.2", NO_LIMITS) == {"verdict": "holds", "value": 12.5, "run": run}
    assert recorded("2.2", (10, None)) is None, "measured under other limits"
    assert recorded("crossover") == {"lines": {}, "run": run}
    assert recorded("9.9") is None and recorded("9.9", NO_LIMITS) is None
    assert json.loads(first)["machine"] == ON_GPU
    assert write(lines[::-1], folder, date="2026-01-02", facts=ON_GPU).read_bytes() == first


def test_the_newest_gpu_counts(folder: Path) -> None:
    write([claim_line("2.2", 4.0)], folder, date="2026-06-01", facts=FACTS)
    assert recorded("2.2", NO_LIMITS) is None, "a run without a GPU is no GPU's record"
    for name, date, value in (
        ("Tesla T4", "2026-03-01", 1.0),
        ("NVIDIA H200", "2026-05-01", 2.0),
        ("NVIDIA L4", "2025-12-31", 3.0),
    ):
        write([claim_line("2.2", value)], folder, date=date, facts=ON_GPU | {"gpus": [GPU | {"name": name}]})
    assert len(list(folder.glob("*.json"))) == 4
    found = recorded("2.2", NO_LIMITS)
    assert found is not None and found["value"] == 2.0 and found["run"].startswith("NVIDIA H200")


def test_lessons_that_were_not_run_keep_their_values_while_pytorch_is_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "machine_facts", lambda: ON_GPU)

    def written(*lines: dict[str, Any], **options: Any) -> dict[str, float]:
        run = json.loads(write(list(lines), folder, **options).read_text(encoding="utf-8"))
        return {key: entry["value"] for key, entry in (run["claims"] | run["curves"]).items()}

    old = (claim_line("1.1", 1.0), claim_line("2.2", 2.0), claim_line("1. curve", 9.0, "curve"))
    old += (claim_line("2. a curve that is no longer drawn", 8.0, "curve"),)
    new = (claim_line("2.2", 3.0), claim_line("2.2", 4.0), claim_line("3.1", 5.0))
    written(*old, claim_line("no longer made", 2.0))
    assert written(*new) == {"1.1": 1.0, "2.2": 4.0, "3.1": 5.0, "1. curve": 9.0}
    assert written(*new[:1], anew=True) == {"2.2": 3.0}
    written(*old)
    assert written(*new[:1], facts=ON_GPU | {"torch": "2.14.0+cu130"}) == {"2.2": 3.0}


@pytest.mark.parametrize("facts, name", [
    (FACTS, "cpu-amd-epyc-9r14"),
    (FACTS | {"cpu": "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz"}, "cpu-intel-xeon-platinum-8375c-cpu"),
    (FACTS | {"gpus": [GPU | {"name": "Tesla T4"}] * 2}, "2x-tesla-t4"),
    (FACTS | {"cpu": "../../etc/passwd"}, "cpu-etc-passwd"),
])  # fmt: skip
def test_file_names(facts: dict[str, Any], name: str) -> None:
    assert slug(facts) == name


def test_labels_name_device_pytorch_and_date() -> None:
    found = label({"machine": FACTS, "date": "2026-01-02"})
    assert found == "AMD EPYC(TM) 9R14 @ 2.6GHz, PyTorch 2.13.0, 2026-01-02"


# --- what the repository holds ------------------------------------------------------------------------


def test_what_is_counted_are_the_claims_as_they_are_now() -> None:
    claims = {"a": Declared(None, (2, None)), "b": ANY, "c": Declared("cuda", (None, 1)), "d": ANY}
    values = {"verdict": "holds", "at_least": 2, "at_most": None}
    run = {"claims": {
        "a": values, "b": values | {"at_least": None, "verdict": "fails"}, "c": values, "e": values,
        "d": {"verdict": "needs", "at_least": None, "at_most": None},
    }}  # fmt: skip
    assert counts(run, claims) == {"holds": 1, "unclear": 0, "fails": 1, "model": 0, "other": 2}


def test_the_shipped_runs_say_what_the_lessons_claim_today() -> None:
    """After a claim has changed: ``make record``."""
    claims = claims_of_today()
    assert recordings.runs()
    for run in recordings.runs():
        assert {"machine", "date", "claims", "curves"} <= set(run)
        assert set(run["machine"]) >= {"cpu", "gpus", "torch"} and label(run)
        assert set(run["claims"]) <= set(claims), "claims that no lesson makes any more"
        if run["machine"]["gpus"]:  # who changes a claim need not have that GPU; the counts leave it out
            continue
        recorded_limits = {
            id: (values["at_least"], values["at_most"]) for id, values in run["claims"].items()
        }
        assert recorded_limits == {id: claim.limits for id, claim in claims.items()}
        for path in lessons().values():
            of_lesson = claims_of_today([path])
            assert not of_lesson or counts(run, of_lesson)["holds"], f"nothing of {path.name} holds"


def test_readme_shows_what_is_recorded() -> None:
    """After a run has been recorded: ``python -m tools.record --table``."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert between(readme, "evidence", table()) == readme
