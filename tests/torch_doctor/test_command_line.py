"""The command line: its commands, options and exit status, both languages, and another Python with --python."""

import io
import json
import os
import re
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_machines import CUDA_BUILD, Machine
from made_up_evidence import healthy
from other_pythons import MINORS, python
from sample import sample

from torch_doctor import __main__ as command_line
from torch_doctor import doctor
from torch_doctor.diagnosis import other_python, run_probes, this_process
from torch_doctor.diagnosis.diagnose import diagnose
from torch_doctor.diagnosis.report import Report
from torch_doctor.terminal import language

ROOT = Path(__file__).parents[2]
POSIX = pytest.mark.skipif(os.name != "posix", reason="scripts of the shell stand in for a Python")


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Return a function that runs the command line on a made-up diagnosis, and returns what it prints."""
    monkeypatch.setattr(
        command_line, "doctor", lambda question, patience, python: Report(diagnose(healthy(), question))
    )

    def run(*arguments: str, encoding: str = "utf-8") -> str:
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr(sys, "stdout", stream)
        command_line.main(list(arguments))
        stream.flush()
        return stream.buffer.getvalue().decode(encoding)

    return run


# --- commands and options -----------------------------------------------------------------------------


def test_the_command_line_speaks_the_language_that_is_asked_for(
    printed: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    english, chinese = printed("--language", "en"), printed("--language", "zh")
    assert "CUDA works" in english and not re.search(r"[\u4e00-\u9fff]", english)
    assert "CUDA works" not in chinese and re.search(r"[\u4e00-\u9fff]", chinese)
    assert "\x1b" not in english + chinese, "colours in a file"
    both = printed("--language", "both")
    assert "CUDA works" in both and re.search(r"[\u4e00-\u9fff]", both)
    monkeypatch.setenv("TORCH_DOCTOR_LANGUAGE", "zh")
    assert printed() == chinese and printed("--language", "en") == english


def test_the_language_is_that_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    for variables, spoken in (
        ({}, "en"), ({"LANG": "de_DE.UTF-8"}, "en"), ({"LANG": "zh_TW.UTF-8"}, "zh"),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "zh_TW.UTF-8"}, "zh"),
        ({"LANG": "zh_TW.UTF-8", "TORCH_DOCTOR_LANGUAGE": "both"}, "both"),
    ):  # fmt: skip
        monkeypatch.setattr(os, "environ", variables)
        assert language() == spoken, variables


WRONG = [["fast"], ["explain", "no_such_file.txt"], ["--patience", "0"], ["--patience", "inf"], ["slow", "train.log"], ["explain", "--json"], ["errors", "--details"],
         ["explain", "--python", "x"], ["explain", "a", "b"], ["--python", "/no/such"],
         ["--language", "fr"], ["--no-such-option"]]  # fmt: skip


@pytest.mark.parametrize("arguments", [["--help"], *WRONG], ids=" ".join)
def test_help_and_errors_of_the_command_line_are_in_both_languages(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for encoding in ("utf-8", "cp1252"):  # an old Windows console gets question marks, not a traceback
        shown = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr(sys, "stdout", shown)
        monkeypatch.setattr(sys, "stderr", shown)
        with pytest.raises(SystemExit) as end:
            command_line.main(arguments)
        shown.flush()
        text = shown.buffer.getvalue().decode(encoding)
        assert end.value.code == (0 if arguments == ["--help"] else 2) and "usage:" in text
        chinese = encoding == "utf-8" and arguments not in WRONG[-2:]  # argparse's own errors are in English
        assert "torch_doctor" in text and bool(re.search(r"[\u4e00-\u9fff]", text)) == chinese


@pytest.mark.parametrize("order", [["--json", "slow"], ["slow", "--json"], ["--json", "--details", "slow"]])
def test_options_stand_before_or_behind_the_question(order: list[str], printed: Callable[..., str]) -> None:
    assert json.loads(printed(*order))["question"] == "slow"
    assert "oom " in printed("errors", "--language", "en", "out", "of", "memory")


@pytest.mark.parametrize("kind, status", {"fine": 0, "fault": 1, "unknown": 3}.items())
def test_the_exit_status_tells_a_fault_from_what_is_not_known(
    kind: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Report, "text", lambda *_: "")
    monkeypatch.setattr(command_line, "doctor", lambda *_, **__: Report(type("Made", (), {"kind": kind})()))
    assert command_line.main([]) == status
    assert f"{status} " in command_line._FOOT


def test_the_help_has_a_line_for_each_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command_line.main(["--help"])
    out = capsys.readouterr().out
    assert all(re.search(rf"^  .*torch.doctor {name}\b", out, re.M) for name in command_line.COMMANDS[1:])
    assert "{" not in out.replace("{en,zh,both}", "")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
def test_an_output_is_read_as_a_windows_console_writes_it(encoding: str, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    # the others write their mark themselves, or have none
    begin = "\ufeff" if encoding == "utf-16-be" else ""
    log.write_text(f"{begin}CUDA out of memory. Tried to allocate 1 GiB", encoding=encoding)
    assert command_line.main(["explain", str(log)]) == 0


def test_errors_are_listed_or_one_is_shown(printed: Callable[..., str]) -> None:
    from torch_doctor.errors.catalogue import messages

    every = printed("errors").splitlines()
    assert [line.split()[0] for line in every] == list(messages())
    assert printed("errors", "no-gpus", "--language", "en").startswith(
        "Error clinic: No CUDA GPUs are available\n"
    )
    assert len(printed("errors", "forked", "subprocess").splitlines()) > 1
    assert command_line.main(["errors", "no", "kernel", "image"]) == 0
    assert command_line.main(["errors", "zyxw"]) == 3
    assert "No known error" in printed("errors", "zyxw", "--language", "en")


@POSIX
def test_nobody_has_to_read_to_the_end() -> None:
    shell = f"'{sys.executable}' -m torch_doctor errors | head -n 1"
    done = subprocess.run(["sh", "-c", shell], cwd=ROOT, capture_output=True, text=True, timeout=400)
    assert done.stdout.startswith("no-cuda-build ") and not done.stderr


# --- how it was started -------------------------------------------------------------------------------


def script(folder: Path, name: str, text: str = "exit 0") -> Path:
    """Write an executable script of the shell."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


@POSIX
def test_the_doctor_knows_how_it_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [str(ROOT / "torch_doctor/__main__.py"), "slow"])
    assert this_process.command() == [sys.executable, "-m", "torch_doctor"]
    file = script(tmp_path, "torch-doctor")
    monkeypatch.setattr(sys, "argv", [str(file)])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert this_process.command() == ["torch-doctor"]
    monkeypatch.setenv("PATH", str(script(tmp_path / "other", "torch-doctor").parent))
    assert this_process.command() == [str(file)], "the name alone would start another one"


# --- another Python -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of another environment (with a space in its name), which has no torch."""
    folder = tmp_path_factory.mktemp("other") / "an environment"
    venv.create(folder, symlinks=os.name == "posix")
    return folder


def inside(folder: Path) -> str:
    return str(folder / ("bin/python" if os.name == "posix" else "Scripts/python.exe"))


def test_another_python_is_examined_and_nothing_is_installed_there(
    other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)  # the doctor's own
    before = sorted(other.rglob("*"))
    e = doctor(python=str(other)).diagnosis.evidence
    assert Path(e.get("interpreter.prefix")).samefile(other)
    assert e.get("pytorch.missing") is True, "the torch of the doctor's own Python says nothing"
    assert e.get("caller.examined") == inside(other)
    assert e.get("caller.command")[-2:] == ["--python", inside(other)]
    assert e.environment("VIRTUAL_ENV") is None and not e.get("interpreter.others")
    assert sorted(other.rglob("*")) == before


def test_the_state_of_this_process_says_nothing_about_another_python(
    other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(this_process, "state", lambda: {"bad_fork": True, "notebook": True})
    elsewhere = doctor(python=str(other)).diagnosis
    assert elsewhere.first.cause.name == "no-torch"
    install = elsewhere.first.cause.steps[0].run
    assert "sys.executable" not in install and str(other) in install, "not into the notebook's own Python"
    monkeypatch.setattr(run_probes, "run_probes", lambda *_, caller, **__: healthy(caller=caller))
    assert doctor(python=sys.executable).diagnosis.evidence.get("caller.bad_fork") is True


def test_a_python_is_found_by_its_file_its_folder_or_its_name(
    other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = inside(other)
    assert other_python.find(file) == other_python.find(str(other)) == file
    monkeypatch.setenv("PATH", os.path.dirname(file))
    assert Path(other_python.find("python")).parent == Path(file).parent
    monkeypatch.chdir(other.parent)
    assert other_python.find(os.path.relpath(file)) == file
    monkeypatch.setenv("HOME", str(other))
    monkeypatch.setenv("USERPROFILE", str(other))
    assert other_python.find("~") == file


@POSIX
def test_what_is_no_python_is_refused_with_the_reason(tmp_path: Path) -> None:
    broken = script(
        tmp_path, "broken", "echo 'libpython3.12.so.1.0: cannot open shared object file' >&2; exit 127"
    )
    for given, why in {
        str(tmp_path / "missing"): "no Python is there",
        str(tmp_path): "no Python is there",
        str(broken): "does not start: libpython3.12.so.1.0: cannot open",
        str(script(tmp_path, "tool", "echo usage")): "does not start: usage",
        str(script(tmp_path, "echo", 'echo "$@"')): "this is no Python",
        str(script(tmp_path, "python2", "echo 207")): "Python 2.7; 3.8 or newer",
        str(script(tmp_path, "python3.7", "echo 307")): "這是 Python 3.7",
    }.items():
        with pytest.raises(ValueError, match=re.escape(why)):
            other_python.find(given)
    assert other_python.find(str(script(tmp_path, "python3.8", "echo 308"))).endswith("3.8")


@POSIX
def test_a_python_that_hangs_is_examined_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(other_python, "_LIMIT", 0.2)
    hanging = str(script(tmp_path, "python3.12", "exec sleep 300"))
    assert other_python.find(hanging) == hanging
    assert doctor(python=hanging, patience=0.1).diagnosis.kind == "unknown"


@pytest.mark.parametrize("minor", sample(MINORS, ["8", "13"]))
def test_the_probes_run_in_every_python(minor: int, machine: Machine) -> None:
    file = python(minor)
    if file is None or sys.platform != "linux":
        pytest.skip(f"needs Python 3.{minor} on Linux")
    machine.gpus(2, CUDA_BUILD)
    found = run_probes.run_probes(
        "cuda", root=str(machine.root), environment=machine.environment, patience=6, python=file
    )
    how = {name: (told["ended"], told.get("exit")) for name, told in found.items() if name != "caller"}
    assert set(how.values()) == {("answered", None)}, how
    assert found["interpreter"]["python"].startswith(f"3.{minor}.")
    assert diagnose(found).first.cause.name == "healthy"
