"""The report as JSON: it has the form that its schema describes, and contains no private data."""

import json
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from fake_machines import CUDA_BUILD, Machine
from made_up_evidence import NO_GPU, healthy

from torch_doctor import __version__
from torch_doctor.diagnosis import QUESTIONS, cuda_tables, privacy
from torch_doctor.diagnosis.causes import Cause, catalogue
from torch_doctor.diagnosis.diagnose import Diagnosis, Verdict, diagnose
from torch_doctor.diagnosis.evidence import PROBES, Evidence
from torch_doctor.diagnosis.privacy import clean, publishable, without_folders
from torch_doctor.diagnosis.report import SCHEMA, Report
from torch_doctor.errors.catalogue import entries, errors_of

ROOT = Path(__file__).parents[2]
FORM = json.loads((ROOT / "torch_doctor/diagnosis/report.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(FORM)
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the made-up machines are Linux machines")


def told(found: dict[str, dict[str, Any]], question: str = "cuda") -> str:
    """Return the JSON of the diagnosis for `found`, after it was compared with its schema."""
    text = Report(diagnose(found, question)).json()
    VALIDATOR.validate(json.loads(text))
    return text


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], None]]:
    """Return a function that gives the user and the host of this process other names."""

    def call(user: str, host: str) -> None:
        for name, value in {"HOME": f"/home/{user}", "USER": user, "LOGNAME": user, "HOSTNAME": host}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(privacy.platform, "node", lambda: host)
        privacy._private.cache_clear()

    yield call
    privacy._private.cache_clear()


@pytest.fixture
def alice(names: Callable[[str, str], None]) -> None:
    names("alice", "gpu07.lab.example")


# --- its form -----------------------------------------------------------------------------------------


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(FORM)
    assert FORM["properties"]["schema"]["const"] == SCHEMA
    assert FORM["properties"]["evidence"]["propertyNames"]["enum"] == list(PROBES)


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_report_has_the_form_of_the_schema(question: str) -> None:
    machines = (healthy(), healthy(**NO_GPU), {}, healthy(bus__os="windows"), healthy(caller__notebook=True))
    for found in machines:
        data = json.loads(told(found, question))
        assert data["question"] == question and data["version"] == __version__
        assert data["tables"] == cuda_tables.AS_OF and data["verdicts"]
    for probe in PROBES:
        for ended in ("slow", "stuck", "failed", "absent"):
            told({**healthy(), probe: {"ended": ended, "seconds": 6.0}}, question)


def test_every_cause_has_the_form_of_the_schema() -> None:
    e = Evidence(healthy())
    for name in catalogue():
        verdict = Verdict(Cause.of(name, e), 2, ())
        data = Report(Diagnosis("cuda", (verdict,), (verdict,), e)).data()
        kind = data["kind"]
        VALIDATOR.validate({**data, "kind": "fine" if kind == "remark" else kind})
        assert data["verdicts"] == data["remarks"] and data["verdicts"][0]["cause"] == name


def test_it_is_plain_ascii_and_has_what_the_screen_has() -> None:
    diagnosis = diagnose(healthy(**NO_GPU))
    text = Report(diagnosis).json()
    assert text.isascii()
    first = json.loads(text)["verdicts"][0]
    cause = diagnosis.first.cause
    assert (first["cause"], first["title"]) == (cause.name, cause.title.en)
    assert [step["text"] for step in first["steps"]] == [step.text.en for step in cause.steps]
    assert [line["fact"] for line in first["evidence"]] == [line.fact for line in diagnosis.first.lines]
    assert "releases" not in json.loads(told(healthy(pytorch__releases={"13.0": {}})))["evidence"]["pytorch"]


# --- the errors that belong to a cause ----------------------------------------------------------------


def test_causes_and_errors_know_of_each_other() -> None:
    named = [cause for entry in entries().values() for cause in entry.causes]
    assert len(set(named)) >= 60 and set(named) <= set(catalogue()), set(named) - set(catalogue())
    for entry in entries().values():
        assert all(entry in errors_of(cause) for cause in entry.causes)
    without_gpu = diagnose(
        healthy(pytorch__cuda=None, pytorch__available=False, pytorch__count=0, usable__devices={})
    )
    assert without_gpu.first.cause.name == "cpu-build"
    errors = Report(without_gpu).data()["verdicts"][0]["errors"]
    assert errors[0] == "no-cuda-build" and "load-no-cuda" in errors


# --- private data -------------------------------------------------------------------------------------

PRIVATE = tomllib.loads(Path(__file__).with_name("private.toml").read_text(encoding="utf-8"))
SECRETS, TEXTS, PATHS = PRIVATE["secrets"], PRIVATE["texts"], PRIVATE["paths"]


def leaks(text: str) -> list[str]:
    plain = text.lower().replace("\\\\", "\\")
    return [kind for kind, secret in SECRETS.items() if secret.lower() in plain]


def hostile(value: Any, texts: Iterator[str]) -> Any:
    """Return `value` with another text in place of each text in it, but for what a probe chooses from its own words."""
    if isinstance(value, dict):
        fixed = ("ended", "os", "arch", "version", "cuda", "named_by", "how")
        return {key: inner if key in fixed else hostile(inner, texts) for key, inner in value.items()}
    if isinstance(value, list):
        return [hostile(inner, texts) for inner in value]
    return next(texts) if isinstance(value, str) else value


def endless(*texts: str) -> Iterator[str]:
    while True:
        yield from texts


@pytest.mark.usefixtures("alice")
@pytest.mark.parametrize("number, text", list(enumerate([*TEXTS, *PATHS])))
def test_nothing_private_is_told_whatever_the_probes_read(number: int, text: str) -> None:
    question = QUESTIONS[number % 3]  # the probes and their fields are the same for all three
    extra = {
        "interpreter__others": [{"named_by": "VIRTUAL_ENV", "prefix": "x", "torch": "2.13.0"}],
        "interpreter__torch_file": "x", "interpreter__prefix": "x", "pytorch__warnings": ["x"], "pytorch__file": "x",
        "pytorch__foreign": ["x"], "job__resolves": "x", "driver__error": "x", "smi__text": "x", "bus__jetson": "",
        "interpreter__environment": {"LD_LIBRARY_PATH": "x", "CUDA_VISIBLE_DEVICES": "x", "NCCL_SOCKET_IFNAME": "x",
                                     "TORCHELASTIC_RUN_ID": "x"},
        "caller__command": ["x", "--python", "x"], "caller__examined": "x", "caller__visible_now": "x",
        "pytorch__hides": [{"file": "x", "line": 3, "value": "x"}],
    }  # fmt: skip
    broken = {"pytorch": {"ended": "answered", "seconds": 1.0, "error": "x", "missing": False}}
    for found in (healthy(**extra), healthy(**{**NO_GPU, **extra}), {**healthy(**extra), **broken}):
        said = told(hostile(found, endless(text)), question)
        assert not leaks(said), (leaks(said), said[:300])


@LINUX
@pytest.mark.usefixtures("alice")
def test_a_hostile_machine_tells_nothing_private(machine: Machine) -> None:
    """The real probes on a machine whose names, folders and variables are all private."""
    machine.gpus(1, {**CUDA_BUILD, "use_error": TEXTS[0]}, FAKE_CUINIT=0).smi(f"{TEXTS[-1]}\n{TEXTS[3]}")
    folder = machine.folder / "acme-merger" / "Secret Project"
    (folder / "lib/python3.12/site-packages/torch").mkdir(parents=True)
    (folder / "lib/python3.12/site-packages/torch/version.py").write_text("__version__ = '2.13.0+cu130'\n")
    libraries = f"{machine.environment['LD_LIBRARY_PATH']}:{folder}/lib:/home/mallory/lib"
    machine.set(VIRTUAL_ENV=folder, LD_LIBRARY_PATH=libraries, HF_TOKEN=SECRETS["token"], USER="mallory",
                CUDA_VISIBLE_DEVICES="GPU-8f2a0c31-aaaa-bbbb", TORCHELASTIC_RUN_ID="merger_run", MASTER_PORT="29511",
                NCCL_SOCKET_IFNAME="eth0", WANDB_API_KEY=SECRETS["key"], SLURM_JOB_ID="4711",
                PYTORCH_ALLOC_CONF="max_split_size_mb:128,expandable_segments:True")  # fmt: skip
    found = machine.found()
    said = told(found)
    assert not leaks(said), leaks(said)
    variables = json.loads(said)["evidence"]["interpreter"]["environment"]
    assert variables["PYTORCH_ALLOC_CONF"] == "max_split_size_mb:128,expandable_segments:True"
    assert variables["CUDA_VISIBLE_DEVICES"] == "GPU-<id>" and variables["TORCHELASTIC_RUN_ID"] == "<set>"
    assert str(machine.folder) not in said


@pytest.mark.usefixtures("alice")
def test_names_of_people_hosts_and_cards_are_not_shown_either() -> None:
    secret = {
        "interpreter__executable": "/home/alice/envs/dl/bin/python",
        "interpreter__environment": {"CUDA_VISIBLE_DEVICES": "GPU-8f2a0c31-aaaa-bbbb-cccc-0123456789ab"},
        "job__resolves": "10.20.30.40",
        "smi__text": "connected to gpu07.lab.example",
        "pytorch__warnings": ["cuda: see /home/alice/.cache on gpu07"],
    }
    for question in QUESTIONS:
        made = Report(diagnose(healthy(**secret), question))
        for shown in (made.json(), made.text(), made.html()):
            for name in ("alice", "gpu07", "8f2a0c31", "10.20.30.40"):
                assert name not in shown, name
    data = Report(diagnose(healthy(**secret))).data()
    assert data["evidence"]["interpreter"]["executable"] == "~/envs/<folder>/bin/python"


def test_a_variable_tells_only_what_such_variables_usually_hold() -> None:
    usual = {"CUDA_VISIBLE_DEVICES": "0,-1,GPU-<id>", "NCCL_SOCKET_IFNAME": "eth0,ib1", "MASTER_PORT": "29500",
             "PYTORCH_ALLOC_CONF": "max_split_size_mb:128,expandable_segments:True", "OMP_NUM_THREADS": "",
             "LD_LIBRARY_PATH": "/usr/lib:<folder>/lib:", "SLURM_JOB_ID": "4711"}  # fmt: skip
    odd = {
        "MASTER_PORT": "correct-horse9battery",
        "TORCHELASTIC_RUN_ID": "merger_run",
        "NCCL_DEBUG": "I N 4x7Zk9",
    }
    for variables, shown in ((usual, usual), (odd, dict.fromkeys(odd, "<set>"))):
        data = json.loads(told(healthy(interpreter__environment=variables)))
        assert data["evidence"]["interpreter"]["environment"] == shown


@pytest.mark.parametrize("user", ["sure", "fault", "linux", "cuda-fan", "answered", "driver", "Is"])
def test_a_name_that_is_also_a_word_breaks_nothing(user: str, names: Callable[[str, str], None]) -> None:
    names(user, "answered")
    assert json.loads(told(healthy()))["verdicts"][0]["cause"] == "healthy"
    assert json.loads(told(healthy()))["evidence"]["bus"]["ended"] == "answered"


def test_an_account_called_ubuntu_breaks_no_command(names: Callable[[str, str], None]) -> None:
    names("ubuntu", "nvidia")
    assert clean("sudo ubuntu-drivers install && sudo modprobe nvidia") == (
        "sudo ubuntu-drivers install && sudo modprobe nvidia"
    )
    assert clean("/home/ubuntu/env") == "~/env"


@pytest.mark.usefixtures("alice")
@pytest.mark.parametrize("text", PRIVATE["says_nothing"])
def test_what_only_looks_private_stays(text: str) -> None:
    assert publishable(text) == text


@pytest.mark.parametrize("path, shown", PRIVATE["shown"].items())
def test_a_path_keeps_what_every_machine_has(path: str, shown: str) -> None:
    assert without_folders(path) == shown
