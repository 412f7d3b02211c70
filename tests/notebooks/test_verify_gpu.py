"""The command that verifies the course on a GPU, as far as a machine without one can show it."""

import gzip
import io
import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from course_utils import recordings
from tools import take_evidence
from tools.claim_summary import Declared, claims_in
from tools.evidence import FOLDER
from tools.verify_gpu import __main__ as command
from tools.verify_gpu import archive, findings, steps, unverified
from tools.verify_gpu.archive import Refused, check, fingerprints, pack, unpack
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


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Return a function that runs the command with arguments."""

    def run(*arguments: object) -> int:
        monkeypatch.setattr(sys, "argv", ["verify_gpu", *map(str, arguments)])
        return command.main()

    return run


def refused(error: type[Exception], words: str | None) -> AbstractContextManager[Any]:
    return pytest.raises(error, match=words) if words else nullcontext()


def line(key: str, verdict: str, value: Any = None, low: float | None = None, **more: Any) -> dict[str, Any]:
    """Return a note of a journal about a claim."""
    values = {"verdict": verdict, "value": value, "at_least": low, "at_most": None, **more}
    return {"kind": "claim", "key": key, "values": values}


# --- processes -----------------------------------------------------------------------------------------


def test_what_a_process_prints_is_kept_and_only_the_whole_run_writes_a_jobs_summary(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Callable[..., int]
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page := tmp_path / "page"))
    code = (
        "import os, sys; print(os.environ['COURSE_STRICT'], 'GITHUB_STEP_SUMMARY' in os.environ)\n"
        "print('also this', file=sys.stderr); sys.exit(3)"
    )
    kept = "7 False\nalso this\n"
    assert session.python("one", ["-c", code], 30, statuses=(0, 3), COURSE_STRICT="7") == kept
    assert (session.folder / "logs" / "one.log").read_text(encoding="utf-8") == kept
    with pytest.raises(Failed, match=r"^status 3: also this; logs/one.log$"):
        session.python("one", ["-c", code], 30, COURSE_STRICT="7")
    session.minutes = 0.0
    with pytest.raises(Failed, match="^still ran after 0 s and was killed: "):
        session.python("one", ["-c", "import time; time.sleep(60)"], 30)
    monkeypatch.setattr(command, "STEPS", {"a": lambda _: "fine"})
    monkeypatch.setattr(command, "store", lambda *_: None)
    assert call("--rehearse", "--out", tmp_path / "runs") == 0
    text = page.read_text(encoding="utf-8")
    assert "REHEARSAL" in text and "fine" in text and text.count("```") == 2


# --- steps ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("machine", "sum_", "rehearsal", "words"),
    [
        (H200, 8.0, False, None),
        (H200, 7.0, False, "computes on no CUDA GPU"),
        (WITHOUT, None, False, "computes on no CUDA GPU"),
        (H200 | {"cuda": None}, 8.0, False, "computes on no CUDA GPU"),  # another maker's GPU
        (H200 | {"torch": "2.9.1+cu128"}, 8.0, False, "too old; it takes 2.11"),
        (WITHOUT, None, True, None),
    ],
)
def test_only_a_gpu_that_computes_is_verified(
    session: Session, monkeypatch: pytest.MonkeyPatch, machine: dict, sum_: Any, rehearsal: bool, words: Any
) -> None:
    session.rehearsal = rehearsal
    message = json.dumps(machine | ({"sum": sum_} if sum_ else {}))
    monkeypatch.setattr(Session, "python", lambda *_, **__: f"a warning\n{message}\n")
    with refused(steps.NotCuda, words):
        assert machine["torch"] in steps.machine(session)
        assert session.machine == machine and session.cuda == bool(machine["gpus"])


def test_only_the_lesson_that_measures_nothing_runs_beside_the_others_where_there_are_cores() -> None:
    paths = command.choose([])
    several, beside = steps.lanes(paths[::-1], 16)
    assert several + beside == paths and len(beside) == 1 and not claims_in(beside[0])
    assert steps.lanes(paths, 2) == [paths] and steps.lanes(paths[:1], 16) == [paths[:1]]


def test_three_calls_have_every_lesson_every_step_and_all_the_time_once(
    session: Session, monkeypatch: pytest.MonkeyPatch, capsys: Any, call: Callable[..., int], tmp_path: Path
) -> None:
    done: list[str] = []
    every = {name: lambda _, name=name: done.append(name) or name for name in steps.STEPS}
    monkeypatch.setattr(command, "STEPS", every)
    for lessons in steps.CALLS:
        session.notebooks = command.choose(list(lessons))
        assert command.minutes(session.notebooks) < 10
        command.run(session)
    numbers = [path.name[:2] for path in command.choose([])]
    assert sorted(number for lessons in steps.CALLS for number in lessons) == numbers
    assert {name: done.count(name) for name in every} == {n: 1 if n in steps.WITH else 3 for n in every}
    capsys.readouterr()
    got: list[float] = []
    monkeypatch.setattr(command, "run", lambda session: got.append(session.minutes) or sys.exit())
    plan = [f"python -m tools.verify_gpu {' '.join(lessons)}\n" for lessons in steps.CALLS]
    for given, planned in (["--help"], True), ([], True), (["06", "08"], False), (["--minutes", "2"], False):
        with pytest.raises(SystemExit):
            call(*given, "--out", tmp_path)
        words = capsys.readouterr().out
        assert [line in words for line in plan] == [planned] * 3
    assert got == pytest.approx([26.4, 8.8, 2.0])


def test_one_lesson_that_fails_or_comes_too_late_leaves_the_others(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "usable_cores", lambda: 2)
    session.notebooks = [Path(f"0{n}_x.ipynb") for n in range(4)]
    programs = {"00_x": "pass", "01_x": "1 / 0", "02_x": "import time; time.sleep(60)", "03_x": "pass"}
    wrong = steps.run_lessons(session, lambda path: (path.stem, ["-c", programs[path.stem]], {}), 3)
    assert wrong["00_x"] is None and "ZeroDivisionError" in wrong["01_x"]
    assert "was killed" in wrong["02_x"] and wrong["03_x"] == "the time was up before it began"
    with pytest.raises(Failed, match=r"^01: .*; 02: .*; 03: "):
        steps._lessons_that_ran(wrong)


@pytest.mark.parametrize("change, words", [(1.1, None), (0.8, "-20%"), (1.2, r"\+20%")])
def test_a_disturbed_machine_is_noticed(
    session: Session, monkeypatch: pytest.MonkeyPatch, change: float, words: str | None
) -> None:
    found = iter([json.dumps({"ceilings": {"copy": copy, "matmul": 5.0}}) for copy in (1.0, change)])
    monkeypatch.setattr(Session, "python", lambda *_, **__: next(found))
    session.rehearsal = False
    steps.limits(session)
    with refused(Remark, words and f"disturbed: copy {words}"):
        assert "+10%" in steps.quiet(session)


@pytest.mark.parametrize("cause, words", [("healthy", None), ("nvml-only", "^cuda: nvml-only, slow: ")])
def test_what_the_doctor_finds_on_a_gpu_that_computes_is_a_remark(
    session: Session, monkeypatch: pytest.MonkeyPatch, cause: str, words: str | None
) -> None:
    session.rehearsal, session.machine = False, dict(H200)
    monkeypatch.setattr(Session, "python", lambda *_, **__: json.dumps({"verdicts": [{"cause": cause}]}))
    with refused(Remark, words):
        assert steps.doctor(session).startswith("cuda: healthy")


def test_what_the_clinic_does_not_know_fails_the_step(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.machine = dict(H200)
    names = {provoke.program(e, cuda=True): n for n, e in entries().items() if e.requires == "cuda"}
    # The samples are known; "pin", of what a GPU provokes beside, is no error.
    says = {code: entries()[name].samples[0] for code, name in names.items()}
    monkeypatch.setattr(provoke, "run", lambda code, **_: says.get(code, "pin"))
    with pytest.raises(Failed, match=r"recognised; not .*dev-mismatch \(taken for None\)"):
        steps.clinic(session)
    known = json.loads((session.folder / "clinic.json").read_text(encoding="utf-8"))
    assert {name: known[name] for name in names.values()} == {name: name for name in names.values()}
    assert not {n for n, e in entries().items() if e.requires == "two_gpus"} & set(known)


# --- findings ------------------------------------------------------------------------------------------


def test_shares_of_the_limits(session: Session) -> None:
    found = {
        "ceilings": {"copy": 4.0e12, "half": 600e12, "to_device": 50e9, "from_device": 55e9, "launch": 5e-6},
        "rated": {"bandwidth": 4.8e12, "half": None},
        "smi": "5, 16",
    }
    session.keep("limits.json", found)
    noted = "".join(json.dumps(line(key, "holds", 0.9)) + "\n" for key in ("4.4", "1.3"))
    session.file("recorded/04.jsonl").write_text(noted + '{"kind": "cla', encoding="utf-8")  # cut off
    assert findings.link("3, 16\n3, 16") == pytest.approx(15.76e9, rel=1e-3)
    assert [findings.link(unknown) for unknown in ("[N/A], [N/A]", None, "", "9, 16")] == [None] * 4
    assert findings.judge_shares(session) == (
        "to_device 79% (explain), copy 83% (explain), from_device 87%, overlap (of the ideal) 90%, half: rating unknown"
    )


def test_the_spread_of_a_claim_over_all_passes() -> None:
    recorded = [
        line("1.3", "holds", 4.0, 3, again=[3.5, 5.0]),
        line("1.1", "holds", 0.9, 0.5, again=[0.4, 0.9]),  # one sample is below the bound
        line("1.5", "holds", True, again=[True, True]),
        line("2.9", "holds", 4.0, 3),  # not the same verdict twice
        line("5.4", "needs"),  # nothing to tell here
        {"kind": "curve", "key": "crossover", "values": {"points": []}},
    ]
    compared = [line("1.3", "holds", 6.0, 3), line("2.9", "unclear", 3.0, 3), line("5.4", "needs")]
    found = {row.id: row for row in findings.spreads(recorded, compared)}
    assert found["1.3"].samples == [4.0, 3.5, 5.0, 6.0]
    steady = {"1.1": False, "1.3": True, "1.5": True, "2.9": False, "5.4": True}
    assert {name: row.steady for name, row in found.items()} == steady
    text = findings.claims_table(list(found.values()))
    assert [row.split()[0] for row in text.splitlines() if "look" in row] == ["1.1", "2.9"]


# --- the run -------------------------------------------------------------------------------------------


def test_a_run_goes_on_after_a_failure_and_its_table_says_what_failed(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def step(error: Exception) -> Callable[[Session], str]:
        def run(session: Session) -> str:
            raise error

        return run

    def last(session: Session) -> str:
        session.minutes = 0.0
        return "fine"

    errors = {"a": Remark("disturbed"), "b": RuntimeError("a defect"), "c": Failed("x" * 1000)}
    every = {name: step(error) for name, error in errors.items()} | {"d": last, "e": pytest.fail}
    monkeypatch.setattr(command, "STEPS", every)
    outcomes = command.run(session)
    assert {one.step: (one.status, one.fine) for one in outcomes} == {
        "a": ("remark", True), "b": ("failed", False), "c": ("failed", False), "d": ("ok", True),
        "e": ("not run", False), "claims": ("ok", True), "shares": ("ok", True),
    }  # fmt: skip
    assert [one.message for one in outcomes[:2]] == ["disturbed", "RuntimeError: a defect"]
    rows = findings.summary(outcomes, rehearsal=False).splitlines()
    assert rows[-1].split()[:3] + rows[-1].split()[4:] == ["in", "all", "failed", "b,", "c,", "e"]
    assert max(map(len, rows)) < 280
    assert "no figure here is evidence" in findings.summary(outcomes, rehearsal=True).splitlines()[0]
    fine = [Outcome("a", "remark", 2.0, "disturbed"), Outcome("b", "ok", 3.0, "")]
    assert findings.summary(fine, rehearsal=False).splitlines()[-1].split() == ["in", "all", "ok", "5.0"]


def test_without_cuda_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, call: Callable[..., int]
) -> None:
    monkeypatch.setattr(Session, "python", lambda self, *_, **__: self.keep("x", 1) or json.dumps(WITHOUT))
    assert call("--out", tmp_path / "runs") == 2
    assert list(tmp_path.iterdir()) == []
    words = capsys.readouterr().err
    assert "computes on no CUDA GPU" in words and "--rehearse" in words and "沒有留下任何紀錄" in words
    with pytest.raises(SystemExit):
        call("99")
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


def evidence_of(machine: dict[str, Any], **more: Any) -> dict[str, Any]:
    claims = {"1.3": line("1.3", "holds", 12.5, 3)["values"]}
    return {"machine": machine, "date": "2026-11-22", "claims": claims, "curves": {}, **more}


def manifest_of(machine: dict[str, Any], kind: str = "gpu", **lessons: str) -> dict[str, Any]:
    return {"format": 1, "kind": kind, "machine": machine, "lessons": fingerprints(LESSONS | lessons)}


@pytest.mark.parametrize(
    ("manifest", "found", "words"),
    [
        (manifest_of(H200), evidence_of(H200), None),
        (manifest_of(H200, "rehearsal"), evidence_of(H200), "^a.tar.gz is a rehearsal"),
        (manifest_of(H200), evidence_of(H200, rehearsal=True), "is a rehearsal"),
        (manifest_of(H200), evidence_of(WITHOUT), "without a CUDA GPU"),
        (manifest_of(H200 | {"cuda": None}), evidence_of(H200), "without a CUDA GPU"),
        (manifest_of(H200 | {"gpus": []}), evidence_of(H200), "without a CUDA GPU"),  # a CUDA build
        (manifest_of(H200), evidence_of(H200 | {"torch": "2.12.0"}), "two different machines"),
        *(
            (manifest_of(H200, **{file: text}), evidence_of(H200), words)
            for file, text, words in (
                ("01_a.ipynb", lesson("x = 1", "print(x)", prose="other"), None),
                ("01_a.ipynb", LESSONS["01_a.ipynb"].replace('"execution_count": null', '"execution_count": 7'), None),
                ("01_a.ipynb", lesson("x = 2", "print(x)"), r"01_a.ipynb \(cell-0\)\."),
                ("01_a.ipynb", lesson("x = 1"), r"01_a.ipynb \(cell-1\)\."),
                ("01_a.ipynb", lesson(*"abcdefg"), r"01_a.ipynb \(cell-0, .*cell-5, …\)\."),
                ("workers/w.py", "x\n", r"workers/w.py\."),
                ("02_new.ipynb", lesson("1"), r"02_new.ipynb\."),
            )
        ),
    ],
)  # fmt: skip
def test_only_what_was_measured_on_cuda_with_the_code_of_these_lessons_is_evidence(
    manifest: dict[str, Any], found: dict[str, Any], words: str | None
) -> None:
    with refused(Refused, words):
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


@pytest.mark.skipif(not shutil.which("git"), reason="needs git")
def test_what_is_committed_counts_not_what_lies_there(tmp_path: Path) -> None:
    root = tmp_path / "course"
    for name, text in LESSONS.items():
        path = root / "notebooks" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "lessons"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    (root / "notebooks" / "01_a.ipynb").write_text(lesson("something else"), encoding="utf-8")
    subprocess.run(["git", "add", "."], cwd=root, check=True)
    assert archive.committed(root) == fingerprints(LESSONS) != archive.on_disk(root / "notebooks")
    (tmp_path / "no-git").mkdir()
    with pytest.raises(Refused, match="Take the archive in a clone"):
        archive.committed(tmp_path / "no-git")


def test_taking_evidence(
    tmp_path: Path, packed: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(take_evidence, "committed", lambda: fingerprints(LESSONS))
    folder = tmp_path / "evidence"
    folder.mkdir()
    calls = [
        packed(manifest_of(H200), evidence_of(H200, date=date, claims={key: {"value": value}}), name)
        for name, date, key, value in (
            ("c", "2026-11-22", "1.3", 1.0),
            ("a", "2026-11-24", "1.3", 3.0),
            ("b", "2026-11-22", "6.1", 2.0),
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
    assert (written.name, tables) == ("nvidia-h200.json", "table of b\n\ntable of c\n\ntable of a\n")
    (run,) = recordings.read(folder)
    assert run["machine"] == H200 and run["date"] == "2026-11-24"
    assert {key: values["value"] for key, values in run["claims"].items()} == {"1.3": 3.0, "6.1": 2.0}


@pytest.mark.parametrize("name, kind, words", [
    (None, None, "FileNotFoundError"),
    ("", None, "no archive of"),
    ("a/nothing", tarfile.REGTYPE, "no archive of"),
    ("../outside", tarfile.REGTYPE, "no plain file below its folder"),
    ("inside/link", tarfile.SYMTYPE, "no plain file below its folder"),
])  # fmt: skip
def test_what_is_no_archive_or_writes_elsewhere_is_refused(
    tmp_path: Path, name: str | None, kind: bytes | None, words: str
) -> None:
    path = tmp_path / "a.tar.gz"
    if kind:
        with tarfile.open(path, "w:gz") as tar:
            info = tarfile.TarInfo(str(name))
            info.type, info.linkname, info.size = kind, str(tmp_path / "outside"), 4
            tar.addfile(info, io.BytesIO(b"evil"))
    elif name is not None:
        path.write_bytes(b"no archive")
    with pytest.raises(Refused, match=words):
        unpack(path, tmp_path / "inside")
    assert not (tmp_path / "outside").exists() and not (tmp_path / "inside" / "inside").exists()


SMI = """\
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
    picture = "data:image/png;base64,QUFB/lovelace/QUFB"
    page = {"text/html": f'<pre class="measured">{SMI}</pre><img src="{picture}">'}
    cell = new_code_cell("1", outputs=[new_output("display_data", page)])
    texts = {
        "notebooks/01_a.ipynb": nbformat.writes(new_notebook(cells=[cell])),
        "logs/one.log": f"{sys.prefix}/bin/python {archive.ROOT}/x.py on gpu07.lab.example\n{SMI}",
        "doctor/cuda.json": json.dumps({"python": f"{sys.prefix}/bin/python", "by": ["lovelace"]}),
        "doctor/cut.json": '{"at": "/home/lovelace/course',
        "evidence/gpu.json": json.dumps({"claims": {"1.1": 0.25}}),
        "timelines/a.json.gz": '{"traceName": "/home/lovelace/x.json"}',
        archive.MANIFEST: json.dumps({"kind": "gpu"}),
    }
    for name, text in texts.items():
        path = tmp_path / "course-run" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    with tarfile.open(archive.pack(tmp_path / "course-run")) as tar:
        found = {m.name.partition("/")[2]: tar.extractfile(m).read() for m in tar if m.isfile()}
    privacy._private.cache_clear()
    assert found.keys() == texts.keys()
    for name, raw in found.items():
        text = (gzip.decompress(raw) if name.endswith(".gz") else raw).decode().replace(picture, "")
        for private in ("lovelace", "secret", "4242", "3141592", "gpu07", sys.prefix, str(archive.ROOT)):
            assert private not in text, (name, private, text)
    notebook = found["notebooks/01_a.ipynb"].decode()
    assert (
        "<process>" in notebook and picture in notebook and nbformat.reads(notebook, 4).cells[0].source == "1"
    )
    assert b"400MiB" in found["logs/one.log"], "what a job takes from the GPU stays"
    assert found["evidence/gpu.json"].decode() == texts["evidence/gpu.json"]


def test_a_rehearsal_is_never_shown_as_evidence(tmp_path: Path) -> None:
    for name, found in (("real", evidence_of(H200)), ("rehearsal", evidence_of(H200, rehearsal=True))):
        (tmp_path / f"{name}.json").write_text(json.dumps(found), encoding="utf-8")
    assert recordings.read(tmp_path) == [evidence_of(H200)]
    assert not [file for file in FOLDER.glob("*.json") if "rehearsal" in file.read_text(encoding="utf-8")]


def test_what_no_gpu_has_confirmed_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = {"1.3": "a GPU wins", "1.9": "a | b", "2.0": "CPU"}
    needs = {"1.3": "cuda", "1.9": "two_gpus", "2.0": "two_gpus"}
    declared = {key: Declared(need, (3 if key == "1.3" else None, None)) for key, need in needs.items()}
    monkeypatch.setattr(unverified, "sentences", lambda: sentences)
    monkeypatch.setattr(unverified, "claims_of_today", lambda: declared)
    open_ = []
    for run, seen in ((None, "not yet run"), (evidence_of(H200), "holds: 12.5")):
        text = unverified.table(run)
        for row in (
            f"| claim 1.3 | a GPU wins | {seen} |",
            "| a \\| b | not yet run (two GPUs) |",
            "one rank | not yet run |",
        ):
            assert row in text
        open_.append(int(text.split(" statements, ")[1].split()[0]))
    assert open_[0] - open_[1] == 1


# --- all of it, once -----------------------------------------------------------------------------------


def read_cells(path: Path) -> list[str]:
    return [cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]


@pytest.mark.nightly
def test_a_rehearsal_from_end_to_end(tmp_path: Path) -> None:
    def start(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", *map(str, arguments)]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)

    run = start("tools.verify_gpu", "00", "09", "--rehearse", "--out", tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("course-rehearsal-") and "REHEARSAL" in run.stdout
    manifest, files = unpack(path, tmp_path / "files")
    names = {file.relative_to(files).as_posix() for file in files.rglob("*")}
    assert names >= {
        "manifest.json", "summary.txt", "claims.txt", "limits.json", "evidence/rehearsal.json",
        "recorded/00_start_here.jsonl", "doctor/cuda.json", "ranks.json", "clinic.json",
    }  # fmt: skip
    cells = read_cells(ROOT / "notebooks" / "00_start_here.ipynb")
    log = (files / "logs" / "strict-00_start_here.log").read_text(encoding="utf-8")
    assert f" {len(cells)} passed in " in log
    assert manifest["kind"] == "rehearsal" and {one["status"] for one in manifest["outcomes"]} == {"ok"}
    assert read_cells(files / "notebooks" / "00_start_here.ipynb") == cells
    taken = start("tools.take_evidence", path)
    assert taken.returncode == 1
    assert "is a rehearsal" in taken.stderr and "Nothing was changed" in taken.stderr
