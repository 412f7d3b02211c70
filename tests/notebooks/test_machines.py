"""Staged machines: what is staged, that a stage without effect is noticed, and what the results say."""

from __future__ import annotations

import json
import math
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from tools.machines import __main__ as command
from tools.machines import environments, probe, results, staging
from tools.machines.__main__ import check_staging, files_of, missing, run_file, run_machine
from tools.machines.catalogue import ALL, MACHINES, Machine
from tools.machines.results import MachineResults, Result, from_files, margin, narrow, worst_margins
from tools.machines.staging import ROOT, NotStaged, Run, StagingError

BY_NAME = {machine.name: machine for machine in MACHINES}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    made = Run(tmp_path)
    made.environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "notebooks")])
    return made


def measured(value: float, low: float | None = None, high: float | None = None) -> dict[str, Any]:
    return {"verdict": "holds", "value": value, "at_least": low, "at_most": high}


# --- the catalogue -------------------------------------------------------------------------------------------


def test_every_machine_is_checked_and_runs_files_that_exist() -> None:
    assert len(BY_NAME) == len(MACHINES)
    assert {path.name[:2] for path in (ROOT / "notebooks").glob("[0-9]*.ipynb")} == set(ALL)
    unchecked = {machine.name for machine in MACHINES if not machine.expected}
    assert unchecked == {
        "as-it-is",
        "many-notebooks",
    }  # nothing to ask: the second is how the tool itself runs
    for machine in MACHINES:
        assert set(machine.expected) <= set(probe.FACTS)
        files = files_of(machine)
        assert len(files) == len(machine.lessons) + len(machine.tests)
        assert all((ROOT / file).is_file() for file in files)


def test_the_oldest_torch_and_the_pinned_one_are_those_of_the_files() -> None:
    oldest = environments.oldest_torch().removesuffix(".0")
    assert f'"torch>={oldest}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f"\ntorch=={environments.pinned_torch()}\n" in (ROOT / "constraints.txt").read_text(
        encoding="utf-8"
    )


# --- staging -------------------------------------------------------------------------------------------------


def test_a_machine_that_is_what_it_should_be_passes(run: Run) -> None:
    stage = staging.threads(1)
    with stage(run):
        check_staging(
            Machine("x", "", (stage,), {"threads": 1, "folder is plain": " " not in str(ROOT)}), run
        )


@pytest.mark.parametrize("name", ["no-fonts", "oldest-cpu", "no-compiler", "oldest-torch"])
def test_a_stage_without_effect_is_noticed(run: Run, name: str) -> None:
    """The machine as it is answers instead of the staged one."""
    if name == "no-compiler" and not any(map(shutil.which, ("gcc", "cc", "clang"))):
        pytest.skip("there is no compiler here anyway")
    run.environment |= {"ATEN_CPU_CAPABILITY": "avx2", "MPLCONFIGDIR": str(run.scratch)}
    with pytest.raises(StagingError, match="the stage has no effect"):
        check_staging(BY_NAME[name], run)


def test_a_stage_without_effect_fails_the_command_and_what_cannot_be_staged_does_not(tmp_path: Path) -> None:
    wrong = run_machine(Machine("wrong", "", (), {"folder is plain": 1.5}), [], folder=tmp_path)
    assert wrong.failed and "no effect" in str(results.failures({"wrong": wrong}))

    @contextmanager
    def impossible(run: Run) -> Iterator[None]:
        raise NotStaged("no such thing here")
        yield

    none = run_machine(Machine("none", "", (impossible,)), [], folder=tmp_path)
    assert not none.failed and "not staged here: no such thing here" in results.table({"none": none}, {})[-1]


def test_a_machine_on_which_python_does_not_start_is_not_staged(run: Run) -> None:
    run.prefix = [sys.executable, "-c", "import sys; sys.exit('no such library')"]
    with pytest.raises(StagingError, match="does not answer: no such library"):
        check_staging(BY_NAME["threads-1"], run)


@pytest.mark.skipif(sys.platform != "linux", reason="what Linux lets be staged")
@pytest.mark.parametrize(
    "name", ["no-fonts", "no-compiler", "ascii", "read-only-home", "strange-path", "one-core"]
)
def test_it_is_staged_and_verified_here(run: Run, name: str) -> None:
    with ExitStack() as stack:
        for stage in BY_NAME[name].stages:
            stack.enter_context(stage(run))
        run.environment["PYTHONPATH"] = str(run.checkout)
        check_staging(BY_NAME[name], run)


@pytest.mark.skipif(sys.platform != "linux", reason="what Linux lets be staged")
def test_fonts_are_hidden_where_nothing_may_be_mounted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging.shutil, "which", lambda name: None)
    with staging.empty_home(run), staging.no_fonts(run):
        assert run.prefix == []
        check_staging(Machine("x", "", (), {"system fonts": 0}), run)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("gcc", True), ("x86_64-linux-gnu-g++-13", True), ("clang++", True), ("cc", True)]
    + [
        ("python3", False),
        ("gccgo-notes", False),
        ("cat", False),
        ("ccache-stats", False),
        ("clangd", False),
    ],
)
def test_compilers_are_known_by_their_names(name: str, is_one: bool) -> None:
    assert bool(staging.COMPILER.fullmatch(name)) == is_one


def test_what_is_not_there_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotStaged, match="no python3.99"):
        environments.find_python("3.99")
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    with (
        pytest.raises(NotStaged, match="not an x86"),
        staging.instructions("default", "SSE41", "SSE4_2")(run),
    ):
        pass
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    with (
        pytest.raises(NotStaged, match="lacks|no /proc/cpuinfo"),
        staging.instructions("a", "b", "c", "avx9000")(run),
    ):
        pass
    monkeypatch.setattr(psutil, "virtual_memory", lambda: type("Memory", (), {"available": 2**30}))
    with pytest.raises(NotStaged, match="6 GiB are free"), staging.memory(4)(run):
        pass


def test_an_environment_is_made_once_and_a_failed_installation_says_why(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    commands: list[list[str]] = []
    status = 1

    def pretend(command: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        return subprocess.CompletedProcess(command, status, "", "a\nno such release\n")

    monkeypatch.setattr(environments, "FOLDER", tmp_path)
    monkeypatch.setattr(environments, "find_python", lambda version: sys.executable)
    monkeypatch.setattr(environments.subprocess, "run", pretend)
    with pytest.raises(StagingError, match="no such release"):
        environments.make_environment("3.11", "0.0")
    assert not (tmp_path / "python3.11-torch0.0" / "complete").exists()
    status = 0
    commands.clear()
    environments.make_environment("3.11", "0.0")
    environments.make_environment("3.11", "0.0")
    assert [command[2] for command in commands] == ["venv", "pip"]
    assert "torch==0.0" in commands[1] and not any(text.startswith("torch>") for text in commands[1])
    pins = (tmp_path / "python3.11-torch0.0" / "constraints.txt").read_text(encoding="utf-8")
    assert "numpy==" in pins and "\ntorch==" not in pins
    monkeypatch.setattr(environments, "dependencies", lambda: ["another"])
    environments.make_environment("3.11", "0.0")
    assert [command[2] for command in commands] == ["venv", "pip", "pip"] and "another" in commands[2]


@pytest.mark.skipif(os.name != "posix", reason="HOME is what names the home on POSIX")
def test_importing_the_figures_writes_nothing_where_there_is_no_home(run: Run) -> None:
    file = run.scratch / "file"
    file.touch()
    for name in ("MPLCONFIGDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        run.environment.pop(name, None)
    program = "from course_utils import figures; import logging; "
    program += (
        "logging.getLogger('matplotlib.font_manager').warning('Matplotlib is building the font cache; wait')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=run.environment | {"HOME": str(file)}, capture_output=True, check=True, text=True,
    )  # fmt: skip
    assert done.stderr == ""


# --- margins and results -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        (measured(3.0, low=2), 1.5),
        (measured(3.0, high=6), 2.0),
        (measured(3.0, low=2, high=3.3), 1.1),
        (measured(1.0, low=2), 0.5),
        (measured(0.0, high=0.02), math.inf),
        (measured(0.0, high=0), None),
        (measured(True), None),
        ({"verdict": "needs", "value": None, "at_least": 2, "at_most": None}, None),
    ],
)
def test_the_margin_of_a_claim(claim: dict[str, Any], expected: float | None) -> None:
    found = margin(claim)
    assert found == expected or found == pytest.approx(expected)


def test_the_smallest_margin_of_all_machines_is_kept_and_a_narrow_one_reported() -> None:
    machines = {
        "a": MachineResults(
            files={"n": Result("", claims={"1.1": measured(9, low=3), "1.2": measured(4, low=4)})}
        ),
        "b": MachineResults(
            files={"n": Result("", claims={"1.1": measured(3.6, low=3), "1.2": measured(4, low=4)})}
        ),
    }
    worst = worst_margins(machines)
    assert (worst["1.1"]["machine"], worst["1.1"]["machines"]) == ("b", 2)
    assert worst["1.1"]["margin"] == pytest.approx(1.2)
    lines = narrow(worst)
    assert [line.split(":")[0] for line in lines] == ["claim 1.2", "claim 1.1"]
    assert ["same on every machine" in line for line in lines] == [True, False]


def test_a_run_that_ended_early_is_a_failure_with_what_it_printed(tmp_path: Path) -> None:
    reports, journal = tmp_path / "reports", tmp_path / "journal"
    killed = from_files("README.md", 1, -9, "one\ntwo", reports, journal)
    assert "status -9" in killed.failed["(run)"] and killed.failed["(run)"].endswith("two")
    reports.write_text('{"test": "n::Cell 1", "outcome": "passed"}\n{"test": "n::Ce', encoding="utf-8")
    assert set(from_files("README.md", 1, 137, "", reports, journal).failed) == {"(run)"}
    assert from_files("README.md", 1, 0, "", reports, journal).failed == {}
    assert set(from_files("README.md", 1, 0, "", tmp_path / "none", journal).failed) == {"(run)"}


def test_what_failed_or_changed_runs_again() -> None:
    good = results.digest("README.md")
    stored = MachineResults(files={"README.md": Result(good), "Makefile": Result("old")})
    stored.files["LICENSE"] = Result(results.digest("LICENSE"), failed={"x": "y"})
    files = ["README.md", "Makefile", "LICENSE", "pyproject.toml"]
    assert missing(files, stored) == ["Makefile", "LICENSE", "pyproject.toml"]


def test_a_failed_test_is_stored_with_its_text_and_fails_the_command(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "test_small.py"
    file.write_text("def test_right(): pass\ndef test_wrong(): assert 'this' == 'that'\n", encoding="utf-8")
    result = run_file(str(file), run)
    ((name, text),) = result.failed.items()
    assert result.passed == 1 and name.endswith("test_wrong") and "assert 'this' == 'that'" in text
    result.claims["1.1"] = measured(2.2, low=2) | {"verdict": "unclear"}
    results.write("as-it-is", MachineResults(files={"f": result}), tmp_path)
    assert command.main(["as-it-is", "--table", f"--results={tmp_path}"]) == 1
    shown = capsys.readouterr().out
    assert (
        "assert 'this' == 'that'" in shown
        and "claim 1.1 unclear" in shown
        and f"{len(ALL)} files did not run" in shown
    )
    assert "claim 1.1: 1.10 on as-it-is" in shown
    assert json.loads((tmp_path / "margins.json").read_text(encoding="utf-8"))["1.1"]["machine"] == "as-it-is"


# --- a part of it, on every change ---------------------------------------------------------------------------


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="the machine is staged on Linux on x86"
)
def test_an_old_machine_without_fonts_runs_two_lessons(tmp_path: Path) -> None:
    stages = (*BY_NAME["oldest-cpu"].stages, *BY_NAME["no-fonts"].stages)
    expected = {**BY_NAME["oldest-cpu"].expected, **BY_NAME["no-fonts"].expected}
    machine = Machine("old", "", stages, expected, lessons=("00", "09"))
    found = run_machine(machine, files_of(machine), folder=tmp_path)
    assert found.not_staged == ""
    assert not found.failed, "\n".join(results.failures({"old": found}))
    assert found.files["notebooks/00_start_here.ipynb"].claims["0.1"]["verdict"] in ("holds", "unclear")
    assert results.read("old", tmp_path) == found
