"""The command that verifies the course on a GPU, as far as a machine without one can show it."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course_utils import recordings
from tools import take_evidence
from tools.claim_summary import Declared, claims_in
from tools.evidence import FOLDER
from tools.verify_gpu import __main__ as command
from tools.verify_gpu import archive, findings, ranks, steps, unverified
from tools.verify_gpu.archive import Refused, check, fingerprints, pack, unpack
from tools.verify_gpu.findings import link, shares, spreads, summary
from tools.verify_gpu.session import ROOT, Failed, Outcome, Remark, Session
from torch_doctor.diagnosis import privacy
from torch_doctor.errors import provoke
from torch_doctor.errors.catalogue import entries

H200 = {
    "cpu": "Xeon", "cores": 16, "memory": 2**37, "driver": "580.1", "torch": "2.11.0+cu130", "cuda": "13.0",
    "gpus": [{"name": "NVIDIA H200", "capability": "9.0", "memory": 2**37, "multiprocessors": 132}],
    "python": "3.12.3", "system": "Linux x86_64",
}  # fmt: skip
WITHOUT = H200 | {"gpus": [], "cuda": None, "driver": None}


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path / "run", rehearsal=True, minutes=1, notebooks=[], machine=dict(WITHOUT))


def journal(path: Path, *lines: tuple[str, str, dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(
        json.dumps(dict(zip(("kind", "key", "values"), line, strict=True))) + "\n" for line in lines
    )
    path.write_text(text, encoding="utf-8")


def claim(
    verdict: str, value: Any = None, low: float | None = None, high: float | None = None, **more: Any
) -> dict:
    return {"verdict": verdict, "value": value, "at_least": low, "at_most": high, **more}


# --- processes -----------------------------------------------------------------------------------------


def test_a_process_gets_its_variables_and_its_output_is_kept(session: Session) -> None:
    code = "import os, sys; print(os.environ['COURSE_STRICT']); print('also this', file=sys.stderr)"
    assert session.python("one", ["-c", code], 30, COURSE_STRICT="7").split() == ["7", "also", "this"]
    assert (session.folder / "logs" / "one.log").read_text(encoding="utf-8") == "7\nalso this\n"


def test_only_the_whole_run_writes_into_the_summary_of_a_job(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    assert (
        session.python("one", ["-c", "import os; print('GITHUB_STEP_SUMMARY' in os.environ)"], 30)
        == "False\n"
    )
    monkeypatch.setattr(command, "STEPS", {"a": lambda _: "fine"})
    monkeypatch.setattr(sys, "argv", ["verify_gpu", "--rehearse", "--out", str(tmp_path / "runs")])
    monkeypatch.setattr(command, "store", lambda *_: None)
    assert command.main() == 0
    assert (
        "REHEARSAL" in (text := page.read_text(encoding="utf-8")) and "fine" in text and "```text\n" in text
    )


def test_a_process_that_fails_says_so_with_its_last_line(session: Session) -> None:
    with pytest.raises(Failed, match=r"^status 3: the last words; logs/one.log$"):
        session.python("one", ["-c", "import sys; print('first\\nthe last words'); sys.exit(3)"], 30)
    assert session.python("one", ["-c", "import sys; sys.exit(3)"], 30, statuses=(0, 3)) == ""


def running(process: int) -> bool:
    """Return whether a process runs; one whose parent was killed as well may stay as a zombie for a while."""
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("minutes", [1, 0.1], ids=["its own limit", "the end of the run"])
def test_a_process_is_killed_in_time_with_all_that_it_started(session: Session, minutes: float) -> None:
    session.minutes = minutes
    code = (
        "import subprocess, sys, time\n"
        "print(subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)']).pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    began = time.monotonic()
    with pytest.raises(Failed, match=r"^still ran after \d s and was killed: \d+; logs"):
        session.python("one", ["-c", code], 6 if minutes == 1 else 60)
    assert time.monotonic() - began < 50
    child = int((session.folder / "logs" / "one.log").read_text(encoding="utf-8"))
    end = time.monotonic() + 60  # a killed process is gone a moment later
    while running(child) and time.monotonic() < end:
        time.sleep(0.05)
    assert not running(child)


# --- steps ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("machine", "sum_", "rehearsal", "words"),
    [
        (H200, 8.0, False, None),
        (H200, 7.0, False, "computes on no CUDA GPU"),
        (H200, None, False, "computes on no CUDA GPU"),
        (WITHOUT, None, False, "computes on no CUDA GPU"),
        (H200 | {"cuda": None}, 8.0, False, "computes on no CUDA GPU"),  # another maker's GPU
        (H200 | {"torch": "2.9.1+cu128"}, 8.0, False, "too old; it takes 2.11"),
        (H200 | {"torch": "2.13.0"}, 8.0, False, None),
        (WITHOUT, None, True, None),
    ],
)
def test_only_a_gpu_that_computes_is_verified(
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    machine: dict,
    sum_: Any,
    rehearsal: bool,
    words: str | None,
) -> None:
    session.rehearsal = rehearsal
    message = json.dumps(machine | ({"sum": sum_} if sum_ else {}))
    monkeypatch.setattr(Session, "python", lambda *_, **__: f"a warning\n{message}\n")
    if words:
        with pytest.raises(steps.NotCuda, match=words):
            steps.machine(session)
    else:
        assert machine["torch"] in steps.machine(session)
        assert session.machine == machine and session.cuda == bool(machine["gpus"])


def test_only_the_lesson_that_measures_nothing_runs_beside_the_others_where_there_are_cores() -> None:
    paths = [Path(f"{n}_x.ipynb") for n in ("09", "01", "00", "07", "06", "04", "05")]
    names = [[path.name[:2] for path in row] for row in steps.lanes(paths, 16)]
    assert names == [["00", "01", "04", "05", "06", "07"], ["09"]]
    beside = [path for path in command.choose([]) if path.name.startswith(steps.BESIDE)]
    assert beside and not any(claims_in(path) for path in beside)
    assert [[p.name[:2] for p in row] for row in steps.lanes(paths, 2)] == [
        ["00", "01", "04", "05", "06", "07", "09"]
    ]
    assert steps.lanes(paths[:1], 16) == [paths[:1]]


def test_three_calls_have_every_lesson_and_every_step_once(
    session: Session, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    done: list[str] = []
    every = {name: lambda _, name=name: done.append(name) or name for name in steps.STEPS}
    monkeypatch.setattr(command, "STEPS", every)
    for lessons in steps.CALLS:
        session.notebooks = command.choose(list(lessons))
        assert command.minutes(session.notebooks) < 10
        command.run(session)
    assert sorted(number for call in steps.CALLS for number in call) == [
        p.name[:2] for p in command.choose([])
    ]
    assert {name: done.count(name) for name in every} == {
        name: 1 if name in steps.WITH else 3 for name in every
    }
    monkeypatch.setattr(sys, "argv", ["verify_gpu", "--help"])
    capsys.readouterr()
    with pytest.raises(SystemExit):
        command.main()
    words = capsys.readouterr().out
    assert all(f"python -m tools.verify_gpu {' '.join(lessons)}\n" in words for lessons in steps.CALLS)


@pytest.mark.parametrize("given, minutes", [([], 26.4), (["06", "08"], 8.8), (["--minutes", "2"], 2.0)])
def test_all_lessons_get_the_time_of_three_calls(
    given: list[str], minutes: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    class Begun(Exception):
        pass

    def begin(session: Session) -> None:
        raise Begun(session.minutes)

    monkeypatch.setattr(command, "run", begin)
    monkeypatch.setattr(sys, "argv", ["verify_gpu", *given, "--out", str(tmp_path)])
    with pytest.raises(Begun) as begun:
        command.main()
    assert begun.value.args[0] == pytest.approx(minutes)
    assert ("tools.verify_gpu 04 05 09" in capsys.readouterr().out) == (not given), "the plan"


def test_one_lesson_that_fails_or_comes_too_late_leaves_the_others(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "usable_cores", lambda: 2)
    session.notebooks = [Path(f"0{n}_x.ipynb") for n in range(4)]
    programs = {"00_x": "pass", "01_x": "1 / 0", "02_x": "import time; time.sleep(60)", "03_x": "pass"}
    wrong = steps.run_lessons(session, lambda path: steps.Way(path.stem, ["-c", programs[path.stem]], {}), 6)
    assert wrong["00_x"] is None and "ZeroDivisionError" in wrong["01_x"]
    assert "was killed" in wrong["02_x"] and wrong["03_x"] == "the time was up before it began"
    with pytest.raises(Failed, match=r"^01: .*; 02: .*; 03: "):
        steps._lessons_that_ran(wrong)


@pytest.mark.parametrize("change, ok", [(1.1, True), (0.8, False), (1.2, False)])
def test_a_disturbed_machine_is_noticed(
    session: Session, monkeypatch: pytest.MonkeyPatch, change: float, ok: bool
) -> None:
    values = iter([1.0, change])
    monkeypatch.setattr(
        Session, "python", lambda *_, **__: json.dumps({"ceilings": {"copy": next(values), "matmul": 5.0}})
    )
    session.rehearsal = False
    steps.limits(session)
    if ok:
        assert "+10%" in steps.quiet(session)
    else:
        with pytest.raises(Remark, match="disturbed: copy [+-]20%"):
            steps.quiet(session)


@pytest.mark.parametrize("cause", ["healthy", "nvml-only"])
def test_what_the_doctor_finds_on_a_gpu_that_computes_is_a_remark(
    session: Session, monkeypatch: pytest.MonkeyPatch, cause: str
) -> None:
    session.rehearsal, session.machine = False, dict(H200)
    monkeypatch.setattr(Session, "python", lambda *_, **__: json.dumps({"verdicts": [{"cause": cause}]}))
    if cause == "healthy":
        assert steps.doctor(session).startswith("cuda: healthy")
    else:
        with pytest.raises(Remark, match="^cuda: nvml-only, slow: "):
            steps.doctor(session)


def test_what_the_clinic_does_not_know_fails_the_step(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.machine = dict(H200)
    names = [n for n, e in entries().items() if e.requires == "cuda"]
    message = dict.fromkeys(names, "")

    def run(code: str, **_: Any) -> str:
        (name,) = [n for n in names if provoke.program(entries()[n], cuda=True) == code] or ["?"]
        message[name] = name
        return "pin" if name == "?" else entries()[name].samples[0]

    monkeypatch.setattr(provoke, "run", run)
    with pytest.raises(Failed, match=r"recognised; not .*dev-mismatch \(taken for None\)"):
        steps.clinic(session)  # the samples are known; "pin" is no error
    assert all(message[name] == name for name in names), "every entry that one GPU can provoke was run"
    known = json.loads((session.folder / "clinic.json").read_text(encoding="utf-8"))
    assert {name: known[name] for name in names} == dict(zip(names, names, strict=True))
    assert not {n for n, e in entries().items() if e.requires == "two_gpus"} & set(known)


def test_cases_with_ranks_need_the_gpus_they_say() -> None:
    counts = {gpus: list(ranks.cases(gpus)) for gpus in (0, 1, 2, 8)}
    assert [len(counts[gpus]) for gpus in counts] == [1, 4, 7, 7]
    assert "NCCL refuses two ranks on one GPU" in counts[1] and "SyncBatchNorm" in counts[2]
    assert ranks.cases(8)["SyncBatchNorm"].processes == 8
    for case in ranks.cases(2).values():
        assert case.script.is_file()


# --- findings ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("smi", "expected"),
    [
        ("5, 16, 1980 MHz, 1980 MHz, 700.00 W", 63.0e9),
        ("4, 8", 15.75e9),
        ("3, 16\n3, 16", 15.76e9),
        ("[N/A], [N/A]", None),
        (None, None),
        ("", None),
        ("9, 16", None),
    ],
)
def test_what_a_link_can_carry(smi: str | None, expected: float | None) -> None:
    assert link(smi) == (None if expected is None else pytest.approx(expected, rel=1e-3))


def test_shares_of_the_limits(session: Session) -> None:
    found = {
        "ceilings": {"copy": 4.0e12, "half": 600e12, "to_device": 50e9, "from_device": 55e9, "launch": 5e-6},
        "rated": {"bandwidth": 4.8e12, "half": None},
        "smi": "5, 16",
    }
    table = shares(found)
    assert table["copy"]["share"] == pytest.approx(4 / 4.8) and table["half"]["share"] is None
    assert table["to_device"]["share"] == pytest.approx(50 / 63.0, rel=1e-3) and "launch" not in table
    session.keep("limits.json", found)
    journal(
        session.folder / "recorded" / "04.jsonl",
        ("claim", "4.4", claim("holds", 0.9)),
        ("claim", "1.3", claim("holds", 4.0)),
    )
    message = findings.judge_shares(session)
    assert message == (
        "to_device 79% (explain), copy 83% (explain), from_device 87%, overlap (of the ideal) 90%, half: rating unknown"
    )


def test_the_spread_of_a_claim_over_all_passes() -> None:
    recorded = [
        {"kind": "claim", "key": "1.3", "values": claim("holds", 4.0, 3, again=[3.5, 5.0])},
        {"kind": "claim", "key": "1.1", "values": claim("holds", 0.9, 0.5, 1.1, again=[0.4, 0.9])},
        {"kind": "claim", "key": "1.5", "values": claim("holds", True, again=[True, True])},
        {"kind": "claim", "key": "2.9", "values": claim("holds", 4.0, 3)},
        {"kind": "claim", "key": "5.4", "values": claim("needs")},
        {"kind": "curve", "key": "crossover", "values": {"points": []}},
    ]
    compared = [
        {"kind": "claim", "key": "1.3", "values": claim("holds", 6.0, 3)},
        {"kind": "claim", "key": "2.9", "values": claim("unclear", 3.0, 3)},
        {"kind": "claim", "key": "5.4", "values": claim("needs")},
    ]
    found = {row.id: row for row in spreads(recorded, compared)}
    assert list(found) == ["1.1", "1.3", "1.5", "2.9", "5.4"]
    assert (found["1.3"].samples, found["1.3"].lowest, found["1.3"].highest) == (4, 3.5, 6.0)
    assert {name: row.steady for name, row in found.items()} == {
        "1.1": False,  # one sample is below the bound
        "1.3": True,
        "1.5": True,
        "2.9": False,  # not the same verdict twice
        "5.4": True,  # nothing to tell here
    }
    text = findings.claims_table(list(found.values()))
    assert [line.split()[0] for line in text.splitlines() if "look" in line] == ["1.1", "2.9"]


def test_a_journal_that_was_cut_off_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    journal(path, ("claim", "1.3", claim("holds", 4.0, 3)))
    path.write_text(path.read_text(encoding="utf-8") + '{"kind": "cla', encoding="utf-8")
    assert [line["key"] for line in findings.read_journals([path])] == ["1.3"]


def test_the_table_at_the_end_is_short_and_says_what_failed() -> None:
    outcomes = [Outcome("machine", "ok", 2.0, "one"), Outcome("strict", "failed", 100.0, "x" * 1000)]
    lines = summary(outcomes, rehearsal=False).splitlines()
    assert lines[-1].split() == ["in", "all", "failed", "102.0", "strict"] and max(map(len, lines)) < 280
    assert "no figure here is evidence" in summary(outcomes, rehearsal=True).splitlines()[0]


# --- the run -------------------------------------------------------------------------------------------


def broken(session: Session) -> str:
    raise RuntimeError("a defect")


def not_as_expected(session: Session) -> str:
    raise Failed("not as expected")


def remarkable(session: Session) -> str:
    raise Remark("disturbed")


def test_a_remark_is_shown_and_fails_nothing(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "STEPS", {"a": remarkable})
    outcomes = command.run(session)
    assert (outcomes[0].status, outcomes[0].message) == ("remark", "disturbed")
    assert all(one.fine for one in outcomes)
    assert "disturbed" in (table := summary(outcomes, rehearsal=False))
    assert table.splitlines()[-1].split()[:3] == ["in", "all", "ok"]


def test_a_run_goes_on_after_a_failure(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        command, "STEPS", {"a": broken, "b": not_as_expected, "c": lambda _: "fine"}, raising=True
    )
    found = {one.step: (one.status, one.message) for one in command.run(session)}
    assert found["a"] == ("failed", "RuntimeError: a defect") and found["b"] == ("failed", "not as expected")
    assert found["c"] == ("ok", "fine") and "claims" in found and "shares" in found


def test_what_there_is_no_time_for_is_said(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.minutes = 0.05
    monkeypatch.setattr(command, "STEPS", {"a": lambda _: pytest.fail("it was run")})
    assert command.run(session)[0].status == "not run"


def test_without_cuda_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(Session, "python", lambda self, *_, **__: self.keep("x", 1) or json.dumps(WITHOUT))
    monkeypatch.setattr(sys, "argv", ["verify_gpu", "--out", str(tmp_path / "runs")])
    assert command.main() == 2
    assert list(tmp_path.iterdir()) == []
    words = capsys.readouterr().err
    assert "computes on no CUDA GPU" in words and "--rehearse" in words and "沒有留下任何紀錄" in words


def test_a_lesson_that_does_not_exist_is_refused(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["verify_gpu", "99"])
    with pytest.raises(SystemExit):
        command.main()
    assert "no notebook begins with 99; there are 00_start_here" in capsys.readouterr().err


# --- archives ------------------------------------------------------------------------------------------


def lesson(*sources: str, prose: str = "words") -> str:
    cells = [new_code_cell(source, id=f"cell-{n}") for n, source in enumerate(sources)]
    return nbformat.writes(new_notebook(cells=[*cells, new_markdown_cell(prose, id="prose")]))


LESSONS = {
    "01_a.ipynb": lesson("x = 1", "print(x)"),
    "workers/w.py": "print(1)\n",
    "workers/p/m.py": "A = 1\n",
}


def test_only_code_decides_whether_lessons_are_the_same() -> None:
    prints = fingerprints(LESSONS)
    assert fingerprints(LESSONS | {"01_a.ipynb": lesson("x = 1", "print(x)", prose="other")}) == prints
    executed = json.loads(LESSONS["01_a.ipynb"])
    executed["cells"][0]["execution_count"] = 7
    assert fingerprints(LESSONS | {"01_a.ipynb": json.dumps(executed)}) == prints
    assert fingerprints(LESSONS | {"01_a.ipynb": lesson("x = 2", "print(x)")}) != prints
    assert fingerprints(LESSONS | {"workers/w.py": "print(2)\n"}) != prints


def evidence_of(machine: dict[str, Any], **more: Any) -> dict[str, Any]:
    claims = {"1.3": claim("holds", 12.5, 3, quartile_ratio=12.0)}
    return {"machine": machine, "date": "2026-11-22", "claims": claims, "curves": {}, **more}


def manifest_of(machine: dict[str, Any], kind: str = "gpu", **lessons: str) -> dict[str, Any]:
    prints = fingerprints(LESSONS | lessons)
    return {
        "format": 1,
        "kind": kind,
        "date": "2026-11-22",
        "machine": machine,
        "lessons": prints,
        "outcomes": [],
    }


@pytest.mark.parametrize(
    ("manifest", "found", "words"),
    [
        (manifest_of(H200), evidence_of(H200), None),
        (manifest_of(H200, "rehearsal"), evidence_of(H200), "^a.tar.gz is a rehearsal"),
        (manifest_of(H200), evidence_of(H200, rehearsal=True), "is a rehearsal"),
        (manifest_of(WITHOUT), evidence_of(WITHOUT), "without a CUDA GPU"),
        (manifest_of(H200), evidence_of(WITHOUT), "without a CUDA GPU"),
        (manifest_of(H200 | {"cuda": None}), evidence_of(H200), "without a CUDA GPU"),
        (manifest_of(H200 | {"gpus": []}), evidence_of(H200), "without a CUDA GPU"),  # a CUDA build
        (manifest_of(H200), evidence_of(H200 | {"torch": "2.12.0"}), "two different machines"),
        (
            manifest_of(H200, **{"01_a.ipynb": lesson("x = 2", "print(x)")}),
            evidence_of(H200),
            r"01_a.ipynb \(cell-0\)\.",
        ),
        (manifest_of(H200, **{"01_a.ipynb": lesson("x = 1")}), evidence_of(H200), r"01_a.ipynb \(cell-1\)"),
        (manifest_of(H200, **{"workers/w.py": "x\n"}), evidence_of(H200), r"workers/w.py\."),
        (manifest_of(H200, **{"02_new.ipynb": lesson("1")}), evidence_of(H200), r"02_new.ipynb\."),
    ],
)
def test_only_what_was_measured_on_cuda_with_these_lessons_is_evidence(
    manifest: dict[str, Any], found: dict[str, Any], words: str | None
) -> None:
    if words is None:
        check("a.tar.gz", manifest, found, fingerprints(LESSONS))
    else:
        with pytest.raises(Refused, match=words):
            check("a.tar.gz", manifest, found, fingerprints(LESSONS))


@pytest.fixture
def packed(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that makes an archive."""

    def make(manifest: dict[str, Any], found: dict[str, Any] | None, name: str = "course-run") -> Path:
        folder = tmp_path / name
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "evidence").mkdir(parents=True)
        (folder / archive.MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
        (folder / "summary.txt").write_text(f"table of {name}\n", encoding="utf-8")
        if found:
            (folder / "evidence" / "nvidia-h200.json").write_text(json.dumps(found), encoding="utf-8")
        return pack(folder)

    return make


def committed_repository(folder: Path) -> Path:
    for name, text in LESSONS.items():
        path = folder / "notebooks" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "lessons"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


needs_git = pytest.mark.skipif(not shutil.which("git"), reason="needs git")


@needs_git
def test_what_is_committed_counts_not_what_lies_there(tmp_path: Path) -> None:
    root = committed_repository(tmp_path / "course")
    (root / "notebooks" / "01_a.ipynb").write_text(lesson("something else"), encoding="utf-8")
    subprocess.run(["git", "add", "."], cwd=root, check=True)
    assert archive.committed(root) == fingerprints(LESSONS) != archive.on_disk(root / "notebooks")
    (tmp_path / "no-git").mkdir()
    with pytest.raises(Refused, match="Take the archive in a clone"):
        archive.committed(tmp_path / "no-git")


@needs_git
def test_taking_evidence(
    tmp_path: Path, packed: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    prints = archive.committed(committed_repository(tmp_path / "course"))
    monkeypatch.setattr(take_evidence, "committed", lambda: prints)
    folder = tmp_path / "evidence"
    folder.mkdir()
    calls = [
        packed(manifest_of(H200), evidence_of(H200, date=date, claims={id_: claim("holds", value)}), name)
        for name, date, id_, value in (
            ("c", "2026-11-24", "1.3", 3.0),
            ("a", "2026-11-22", "1.3", 1.0),
            ("b", "2026-11-23", "6.1", 2.0),
        )
    ]
    other = H200 | {"torch": "2.12.0"}
    for manifest, found, words in (
        (manifest_of(H200, "rehearsal"), evidence_of(H200), "rehearsal"),
        (manifest_of(H200), None, "holds no recorded run"),
        (manifest_of(H200) | {"format": 2}, evidence_of(H200), "format 2"),
        (manifest_of(other), evidence_of(other), "different machines .*2.11.0.*; .*2.12.0"),
    ):
        with pytest.raises(Refused, match=words):
            take_evidence.take([*calls, packed(manifest, found)], folder)
        assert not list(folder.iterdir()), "refused, so nothing is changed"
    written, tables = take_evidence.take(calls, folder)
    assert (written.name, tables) == ("nvidia-h200.json", "table of a\n\ntable of b\n\ntable of c\n")
    (run,) = recordings.read(folder)
    assert run["machine"] == H200 and run["date"] == "2026-11-24"
    assert {key: values["value"] for key, values in run["claims"].items()} == {"1.3": 3.0, "6.1": 2.0}


def test_no_archive_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    with pytest.raises(Refused, match="FileNotFoundError"):
        unpack(path, tmp_path / "x")
    path.write_bytes(b"no archive")
    with pytest.raises(Refused, match="no archive of"):
        unpack(path, tmp_path / "x")
    with tarfile.open(path, "w:gz") as tar:
        tar.addfile(tarfile.TarInfo("a/nothing"), io.BytesIO())
    with pytest.raises(Refused, match="no archive of"):
        unpack(path, tmp_path / "y")


@pytest.mark.parametrize("name, kind", [("../outside", tarfile.REGTYPE), ("inside/link", tarfile.SYMTYPE)])
def test_an_archive_cannot_write_elsewhere(tmp_path: Path, name: str, kind: bytes) -> None:
    path = tmp_path / "a.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        info = tarfile.TarInfo(name)
        info.type, info.linkname, info.size = kind, str(tmp_path / "outside"), 4
        tar.addfile(info, io.BytesIO(b"evil"))
    with pytest.raises(Refused, match="no plain file below its folder"):
        unpack(path, tmp_path / "inside")
    assert not (tmp_path / "outside").exists() and not (tmp_path / "inside").exists()


SMI = """\
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|=========================================================================================|
|    0   N/A  N/A            4242      C   /home/lovelace/secret/train.py          400MiB |
|    1     3    0         3141592    C+G   ...ecret project --token=1               12MiB |
+-----------------------------------------------------------------------------------------+
"""


def test_an_archive_has_no_private_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a shared server, nvidia-smi shows other people's jobs, and a public repository's artifacts are public."""
    monkeypatch.setenv("HOME", "/home/lovelace")
    monkeypatch.setattr(privacy.platform, "node", lambda: "gpu07.lab.example")
    privacy._private.cache_clear()
    folder = tmp_path / "course-run"
    picture = "data:image/png;base64,QUFB/lovelace/QUFB"
    output = new_output(
        "display_data", {"text/html": f'<pre class="measured">{SMI}</pre><img src="{picture}">'}
    )
    texts = {
        "notebooks/01_a.ipynb": nbformat.writes(new_notebook(cells=[new_code_cell("1", outputs=[output])])),
        "logs/one.log": f"{sys.prefix}/bin/python {archive.ROOT}/x.py on gpu07.lab.example\n{SMI}",
        "doctor/cuda.json": json.dumps({"python": f"{sys.prefix}/bin/python", "by": ["lovelace"]}),
        "doctor/cut.json": '{"at": "/home/lovelace/course',
        "evidence/gpu.json": json.dumps({"claims": {"1.1": 0.25}}),
        archive.MANIFEST: json.dumps({"kind": "gpu"}),
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "timelines").mkdir()
    (folder / "timelines" / "a.json.gz").write_bytes(gzip.compress(b'{"traceName": "/home/lovelace/x.json"}'))
    with tarfile.open(archive.pack(folder)) as tar:
        found = {m.name.partition("/")[2]: tar.extractfile(m).read() for m in tar if m.isfile()}
    privacy._private.cache_clear()
    found["timelines/a.json.gz"] = gzip.decompress(found["timelines/a.json.gz"])
    for name, raw in found.items():
        text = raw.decode("utf-8").replace(picture, "")
        for private in ("lovelace", "secret", "4242", "3141592", "gpu07", sys.prefix, str(archive.ROOT)):
            assert private not in text, (name, private, text)
    assert b"<process>" in found["notebooks/01_a.ipynb"] and picture.encode() in found["notebooks/01_a.ipynb"]
    assert nbformat.reads(found["notebooks/01_a.ipynb"].decode(), 4).cells[0].source == "1"
    assert b"400MiB" in found["logs/one.log"], "what a job takes from the GPU stays"
    assert found["evidence/gpu.json"].decode() == texts["evidence/gpu.json"]


def test_a_rehearsal_is_never_shown_as_evidence(tmp_path: Path) -> None:
    for name, found in (("real", evidence_of(H200)), ("rehearsal", evidence_of(H200, rehearsal=True))):
        (tmp_path / f"{name}.json").write_text(json.dumps(found), encoding="utf-8")
    assert recordings.read(tmp_path) == [evidence_of(H200)]
    assert not [file for file in FOLDER.glob("*.json") if "rehearsal" in file.read_text(encoding="utf-8")]


def test_what_no_gpu_has_confirmed_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        unverified,
        "claims",
        lambda: {"1.3": {"en": "a GPU wins"}, "1.9": {"en": "a | b"}, "2.0": {"en": "CPU"}},
    )
    needs = {"1.3": "cuda", "1.9": "two_gpus", "2.0": "cpu_only"}
    declared = {id: Declared(need, (3 if id == "1.3" else None, None)) for id, need in needs.items()}
    monkeypatch.setattr(unverified, "claims_of_today", lambda: declared)
    none = unverified.table(None, {}, {})
    assert (
        "| claim 1.3 | a GPU wins | not yet run |" in none and "| a \\| b | not yet run (two GPUs) |" in none
    )
    assert "claim 2.0" not in none and "| ranks | NCCL with one rank | not yet run |" in none
    some = unverified.table(evidence_of(H200), {"oom": "oom"}, {"NCCL with one rank": {"wrong": ""}})
    assert "| claim 1.3 | a GPU wins | holds: 12.5 |" in some and "recognised as oom |" in some
    assert "| NCCL with one rank | as expected |" in some

    def open_(text: str) -> int:
        return int(text.split(" statements, ")[1].split()[0])

    assert open_(none) - open_(some) == 3


# --- all of it, once -----------------------------------------------------------------------------------


@pytest.mark.nightly
def test_a_rehearsal_from_end_to_end(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tools.verify_gpu", "00", "09", "--rehearse", "--out", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout + run.stderr
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("course-rehearsal-") and "REHEARSAL" in run.stdout
    with tarfile.open(path) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    assert names >= {
        "manifest.json", "summary.txt", "settled.md", "claims.txt", "limits.json", "evidence/rehearsal.json",
        "notebooks/00_start_here.ipynb", "recorded/00_start_here.jsonl", "doctor/cuda.json", "ranks.json", "clinic.json",
        "logs/strict-00_start_here.log",
    }  # fmt: skip
    manifest, files = unpack(path, tmp_path / "files")
    log = (files / "logs" / "strict-00_start_here.log").read_text(encoding="utf-8")
    assert log.count("00_start_here.ipynb::ipynb::Cell") >= len(
        read_cells(ROOT / "notebooks" / "00_start_here.ipynb")
    )
    assert manifest["kind"] == "rehearsal" and {one["status"] for one in manifest["outcomes"]} == {"ok"}
    assert read_cells(files / "notebooks" / "00_start_here.ipynb") == read_cells(
        ROOT / "notebooks" / "00_start_here.ipynb"
    )
    taken = subprocess.run(
        [sys.executable, "-m", "tools.take_evidence", str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert taken.returncode == 1
    assert "is a rehearsal" in taken.stderr and "Nothing was changed" in taken.stderr


def read_cells(path: Path) -> list[str]:
    return [cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
