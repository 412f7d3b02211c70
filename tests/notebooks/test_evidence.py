"""Recorded runs: what the tools write, and what the lessons then show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from course_utils import recordings
from course_utils.recordings import label, recorded
from course_utils.run_mode import note
from tools import evidence
from tools.evidence import slug, write

FACTS: dict[str, Any] = {
    "cpu": "AMD EPYC(TM) 9R14 @ 2.6GHz",
    "cores": 4,
    "memory": 10**10,
    "gpus": [],
    "driver": None,
    "torch": "2.13.0+cpu",
    "cuda": None,
    "python": "3.11.7",
    "system": "Linux x86_64",
}
GPU = {
    "name": "NVIDIA H200",
    "capability": "9.0",
    "memory": 10**11,
    "multiprocessors": 132,
    "rated_bandwidth": 4e12,
}
ON_GPU = FACTS | {"gpus": [GPU], "torch": "2.13.0+cu130", "cuda": "13.0"}


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that sets the facts of this machine."""
    return lambda facts: monkeypatch.setattr(evidence, "machine_facts", lambda: facts)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder of recorded runs, which ``recorded`` reads."""
    place = tmp_path / "recordings"
    # No cache: it would hide later writes.
    monkeypatch.setattr(recordings, "runs", lambda: recordings.read(place))
    return place


def claim_line(key: str, value: float, kind: str = "claim") -> dict[str, Any]:
    return {"kind": kind, "key": key, "values": {"verdict": "holds", "value": value}}


# --- noting -------------------------------------------------------------------------------------------


def test_notes_are_lines_of_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = tmp_path / "journal.jsonl"
    note("claim", "2.2", {"value": 1})
    assert not journal.exists(), "without COURSE_RECORD nothing is written"
    monkeypatch.setenv("COURSE_RECORD", str(journal))
    note("claim", "2.2", {"value": 12.5, "verdict": "holds"})
    note("curve", "時間", {"lines": {"CPU": [[1.0], [2.0]]}})
    lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    assert lines == [
        {"kind": "claim", "key": "2.2", "values": {"value": 12.5, "verdict": "holds"}},
        {"kind": "curve", "key": "時間", "values": {"lines": {"CPU": [[1.0], [2.0]]}}},
    ]


# --- writing and reading ------------------------------------------------------------------------------


def test_what_is_written_is_recorded(folder: Path, machine: Any) -> None:
    machine(ON_GPU)
    lines = [claim_line("2.2", 12.5), {"kind": "curve", "key": "crossover", "values": {"lines": {}}}]
    path = write(lines, folder, date="2026-01-02")
    assert path == folder / "nvidia-h200.json"
    run = "NVIDIA H200, PyTorch 2.13.0, 2026-01-02"
    assert recorded("2.2") == {"verdict": "holds", "value": 12.5, "run": run}
    assert recorded("crossover") == {"lines": {}, "run": run}
    assert recorded("9.9") is None
    assert json.loads(path.read_text(encoding="utf-8"))["machine"] == ON_GPU


def test_without_a_recorded_gpu_nothing_is_shown(folder: Path, machine: Any) -> None:
    assert recorded("2.2") is None, "no file at all"
    machine(FACTS)
    write([claim_line("2.2", 3.0)], folder)
    assert recorded("2.2") is None, "a run without a GPU is no GPU's record"


def test_the_newest_gpu_counts(folder: Path, machine: Any) -> None:
    for name, date, value in (
        ("Tesla T4", "2026-03-01", 1.0),
        ("NVIDIA H200", "2026-05-01", 2.0),
        ("NVIDIA L4", "2025-12-31", 3.0),
    ):
        machine(ON_GPU | {"gpus": [GPU | {"name": name}]})
        write([claim_line("2.2", value)], folder, date=date)
    machine(FACTS)
    write([claim_line("2.2", 4.0)], folder, date="2026-06-01")
    assert len(list(folder.glob("*.json"))) == 4
    found = recorded("2.2")
    assert found is not None and found["value"] == 2.0 and found["run"].startswith("NVIDIA H200")


def test_lessons_that_were_not_run_keep_their_values(folder: Path, machine: Any) -> None:
    machine(ON_GPU)
    write([claim_line("1.1", 1.0), claim_line("2.2", 2.0), claim_line("old", 9.0, "curve")], folder)
    write([claim_line("2.2", 3.0), claim_line("2.2", 4.0), claim_line("3.1", 5.0)], folder)
    values = {key: (recorded(key) or {}).get("value") for key in ("1.1", "2.2", "3.1", "old")}
    assert values == {"1.1": 1.0, "2.2": 4.0, "3.1": 5.0, "old": 9.0}


def test_another_pytorch_drops_the_old_values(folder: Path, machine: Any) -> None:
    machine(ON_GPU)
    write([claim_line("1.1", 1.0), claim_line("curve", 1.0, "curve")], folder)
    machine(ON_GPU | {"torch": "2.14.0+cu130"})
    write([claim_line("2.2", 2.0)], folder)
    assert recorded("1.1") is None and recorded("curve") is None and recorded("2.2") is not None


def test_nothing_to_write_is_refused(folder: Path) -> None:
    with pytest.raises(ValueError, match="COURSE_RECORD"):
        write([], folder)
    assert not folder.exists()


def test_the_same_run_gives_the_same_file(folder: Path, machine: Any) -> None:
    machine(ON_GPU)
    lines = [claim_line("b", 1.0), claim_line("a", 2.0)]
    first = write(lines, folder, date="2026-01-02").read_bytes()
    assert write(lines[::-1], folder, date="2026-01-02").read_bytes() == first


@pytest.mark.parametrize("facts, name", [
    (FACTS, "cpu-amd-epyc-9r14"),
    (FACTS | {"cpu": "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz"}, "cpu-intel-xeon-platinum-8375c-cpu"),
    (ON_GPU, "nvidia-h200"),
    (FACTS | {"gpus": [GPU | {"name": "Tesla T4"}] * 2}, "2x-tesla-t4"),
    (FACTS | {"cpu": "../../etc/passwd"}, "cpu-etc-passwd"),
])  # fmt: skip
def test_file_names(facts: dict[str, Any], name: str) -> None:
    assert slug(facts) == name


def test_labels_name_device_pytorch_and_date() -> None:
    assert (
        label({"machine": FACTS, "date": "2026-01-02"})
        == "AMD EPYC(TM) 9R14 @ 2.6GHz, PyTorch 2.13.0, 2026-01-02"
    )


def test_the_shipped_runs_are_complete() -> None:
    for run in recordings.runs():
        assert {"machine", "date", "claims", "curves"} <= set(run)
        assert set(run["machine"]) >= {"cpu", "gpus", "torch"} and label(run)
        for key, values in run["claims"].items():
            assert values["verdict"] in ("holds", "fails", "unclear", "needs"), key
