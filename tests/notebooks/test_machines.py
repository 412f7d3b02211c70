"""Staged machines: what is staged, that a stage without effect is noticed, and what the results say."""

import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tabled import tabled

from tools.machines import __main__ as command
from tools.machines import probe, results, staging
from tools.machines.__main__ import check_staging, files_of, run_file, run_machine
from tools.machines.catalogue import ALL, MACHINES, Machine
from tools.machines.results import MachineResults, Result, narrow, result
from tools.machines.staging import ROOT, NotStaged, Run, StagingError
from tools.notebook_file import lessons

BY_NAME = {machine.name: machine for machine in MACHINES}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    made = Run(tmp_path)
    made.environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "notebooks")])
    return made


def nightly(value: Any) -> Any:
    return pytest.param(value, marks=pytest.mark.nightly)


def measured(value: float | None, low: float | None = None, high: float | None = None) -> dict[str, Any]:
    return {"verdict": "holds", "value": value, "at_least": low, "at_most": high}


# --- the catalogue -------------------------------------------------------------------------------------------


def test_every_machine_is_checked_and_runs_files_that_exist(run: Run) -> None:
    assert tuple(lessons()) == ALL
    unchecked = {machine.name for machine in MACHINES if not machine.expected}
    # Nothing to ask: the second is how the tool itself runs.
    assert unchecked == {"as-it-is", "many-notebooks"}
    for machine in MACHINES:
        assert len(machine.staged(run)) == len(machine.stages) and set(machine.expected) <= set(probe.FACTS)
        files = files_of(machine)
        assert len(files) == len(machine.lessons) + len(machine.tests)
        assert all((ROOT / file).is_file() for file in files)


# --- staging -------------------------------------------------------------------------------------------------


def test_a_stage_without_effect_fails_the_command_and_what_cannot_be_staged_does_not(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = run_machine(Machine("wrong", "", (), {"folder is plain": 1.5}), [])
    assert wrong.failed and "no effect" in str(results.failures({"wrong": wrong}))

    @contextmanager
    def impossible(run: Run) -> Iterator[None]:
        raise NotStaged("no such thing here")
        yield

    monkeypatch.setattr(staging, "impossible", impossible, raising=False)
    none = run_machine(Machine("none", "", (("impossible",),)), [])
    assert not none.failed and "not staged here: no such thing here" in results.table({"none": none}, {})[-1]


def test_a_machine_on_which_python_does_not_start_is_not_staged(run: Run) -> None:
    run.prefix = [sys.executable, "-c", "import sys; sys.exit('no such library')"]
    with pytest.raises(StagingError, match="does not answer: no such library"):
        check_staging(BY_NAME["threads-1"], run)


@pytest.mark.skipif(sys.platform != "linux", reason="what Linux lets be staged")
@pytest.mark.parametrize(
    "name",
    ["no-compiler", "strange-path"]
    + [*map(nightly, ["ascii", "read-only-home", "one-core", "loaded", "no-fonts", "threads-1"])],
)
def test_it_is_staged_and_verified_here(run: Run, name: str) -> None:
    if name in ("strange-path", "read-only-home", "threads-1"):  # surely not so without the stage
        run.environment |= {"OMP_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
        with pytest.raises(StagingError, match="the stage has no effect"):
            check_staging(BY_NAME[name], run)
    with ExitStack() as stack:
        for stage in BY_NAME[name].staged(run):
            stack.enter_context(stage)
        run.environment["PYTHONPATH"] = str(run.checkout)
        check_staging(BY_NAME[name], run)


@pytest.mark.skipif(sys.platform != "linux", reason="what Linux lets be staged")
def test_fonts_are_hidden_where_nothing_may_be_mounted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging.shutil, "which", lambda name: None)
    with staging.empty_home(run), staging.no_fonts(run):
        assert run.prefix == []
        check_staging(Machine("x", "", (), {"system fonts": 0}), run)


def test_compilers_are_known_by_their_names() -> None:
    names = "gcc x86_64-linux-gnu-g++-13 clang++ cc python3 gccgo-notes cat ccache-stats clangd".split()
    assert [name for name in names if staging.COMPILER.fullmatch(name)] == names[:4]


@pytest.mark.skipif(os.name != "posix", reason="HOME is what names the home on POSIX")
def test_importing_the_figures_writes_nothing_where_there_is_no_home(run: Run) -> None:
    file = run.scratch / "file"
    file.touch()
    for name in ("MPLCONFIGDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        run.environment.pop(name, None)
    warning = "warning('Matplotlib is building the font cache; wait')"
    program = "from course_utils import figures; import logging; "
    program += f"logging.getLogger('matplotlib.font_manager').{warning}"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=run.environment | {"HOME": str(file)}, capture_output=True, check=True, text=True,
    )  # fmt: skip
    assert done.stderr == ""


# --- margins and results -------------------------------------------------------------------------------------


def test_narrow_margins_are_reported_with_the_machine_that_has_the_smallest() -> None:
    same = {"1.2": measured(4, 4), "1.3": measured(3.0, 2, 3.3)}
    wide = {
        "1.4": measured(0.0, high=0.02),
        "1.5": measured(1.0, high=0),
        "1.6": measured(True),
        "1.7": measured(None, 2),
    }
    machines = {
        name: MachineResults(files={"n": Result(claims={"1.1": measured(value, 3)} | same | wide)})
        for name, value in (("a", 9), ("b", 2.7))
    }
    assert narrow(machines) == [
        "claim 1.1: 0.90 on b (2.7, at_least 3; 2 machines)",
        "claim 1.2: 1.00 on a (4, at_least 4; 2 machines, the same on every machine)",
        "claim 1.3: 1.10 on a (3, at_least 2, at_most 3.3; 2 machines, the same on every machine)",
    ]


@tabled
def test_what_a_run_gave(status: int, printed: str, passed: int, failed: int, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    journal.write_text('{"kind": "claim", "key": "1.1", "values": {"value": 2}}\n{"kind": "cla', "utf-8")
    found = result(1.23, status, printed, journal)
    assert (found.passed, found.failed, found.claims) == (passed, failed, {"1.1": {"value": 2}})
    assert bool(found.text) == bool(failed) and (not failed or found.text.endswith(printed))


def test_a_failed_test_is_stored_with_its_text_and_fails_the_command(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "test_small.py"
    file.write_text("def test_right(): pass\ndef test_wrong(): assert 'this' == 'that'\n", encoding="utf-8")
    found = run_file(str(file), run)
    assert (found.passed, found.failed) == (1, 1)
    with monkeypatch.context() as patch:
        patch.setattr(command, "run_file", lambda *_: found)
        machine = run_machine(Machine("plain", "", ()), [str(file)])
    assert machine.files == {str(file): found} and results.read("plain") == machine
    found.claims["1.1"] = measured(2.2, low=2) | {"verdict": "unclear"}
    results.write("as-it-is", MachineResults(files={files_of(BY_NAME["as-it-is"])[0]: found}))
    assert command.main(["as-it-is", "--table"]) == 1
    shown = capsys.readouterr().out
    for words in ("test_wrong", "'this' == 'that'", "claim 1.1 unclear", f"{len(ALL) - 1} files did not run"):
        assert words in shown, shown
    assert "claim 1.1: 1.10 on as-it-is" in shown
    ran: list[list[str]] = []
    monkeypatch.setattr(command, "run_machine", lambda machine, files: ran.append(files))
    command.main(["as-it-is", "--only-missing"])
    found.failed = 0
    results.write("as-it-is", MachineResults(files={ran[0][0]: found}))
    command.main(["as-it-is", "--only-missing"])
    files = files_of(BY_NAME["as-it-is"])
    assert ran == [files, files[1:]], "what has failed runs again"


# --- lessons, every night --------------------------------------------------------------------------------------


@pytest.mark.nightly
@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="the machine is staged on Linux on x86"
)
@pytest.mark.parametrize("lesson", ["00", "09"])
def test_an_old_machine_without_fonts_runs_a_lesson(lesson: str, run: Run) -> None:
    stages = (*BY_NAME["oldest-cpu"].stages, *BY_NAME["no-fonts"].stages)
    expected = {**BY_NAME["oldest-cpu"].expected, **BY_NAME["no-fonts"].expected}
    machine = Machine("old", "", stages, expected, lessons=(lesson,))
    found = run_machine(machine, files_of(machine))
    assert not found.not_staged and not found.failed, "\n".join(results.failures({"old": found}))
    verdicts = {claim["verdict"] for result in found.files.values() for claim in result.claims.values()}
    assert verdicts <= {"holds", "unclear", "needs"} and bool(verdicts) == (lesson == "00")
