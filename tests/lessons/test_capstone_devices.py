"""What the capstone's program says about devices: NVML is a made-up module with the answers that its documentation gives."""

import importlib
import json
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import plots


class NVMLError(Exception):
    """As pynvml's errors."""


NOT_SUPPORTED, LOST = NVMLError("Not Supported"), NVMLError("GPU is lost")


def nvml_of(cards: dict[str, tuple[Any, Any, int]], start: Any = None) -> Any:
    """Return NVML for some cards: UUID → (load in % or an error, used bytes or an error, all bytes)."""

    def handle(uuid: str) -> str:
        if uuid not in cards:
            raise NVMLError("Not Found")
        return uuid

    return SimpleNamespace(
        NVMLError=NVMLError,
        nvmlInit=lambda: told(start),
        nvmlDeviceGetHandleByUUID=handle,
        nvmlDeviceGetUtilizationRates=lambda handle: SimpleNamespace(gpu=told(cards[handle][0])),
        nvmlDeviceGetMemoryInfo=lambda handle: SimpleNamespace(
            used=told(cards[handle][1]), total=cards[handle][2]
        ),
    )


def told(answer: Any) -> Any:
    """Return an answer of NVML, or raise it."""
    if isinstance(answer, Exception):
        raise answer
    return answer


@pytest.fixture
def devices(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the module, freshly imported: it remembers what it has found."""
    importlib.import_module("devices")  # which is put back afterwards
    monkeypatch.delitem(sys.modules, "devices")
    return importlib.import_module("devices")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that gives this machine CUDA devices (name, UUID), and NVML."""

    def give(cards: list[tuple[str, str]], nvml: Any) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: bool(cards))
        monkeypatch.setattr(torch.cuda, "device_count", lambda: len(cards))
        made = [SimpleNamespace(name=name, uuid=uuid) for name, uuid in cards]
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda number: made[number])
        monkeypatch.setitem(sys.modules, "pynvml", nvml)

    return give


H100, T4 = ("NVIDIA H100 80GB HBM3", "11111111-aaaa"), ("Tesla T4", "22222222-bbbb")
CARDS = {"GPU-22222222-bbbb": (3, 1_000, 15_000), "GPU-11111111-aaaa": (97, 60_000, 80_000)}


def test_without_a_gpu_there_is_the_processor(devices: Any, machine: Any, capsys: Any) -> None:
    machine([], None)
    (name,) = devices.names()
    assert name == devices.cpu() and name
    (line,) = devices.sample()
    assert (line["device"], line["name"]) == ("cpu", name)
    assert 0 < line["memory"] < line["total"]
    assert 0 < line["job_memory"] < line["total"]
    assert capsys.readouterr().out == "", "nothing is missing, so nothing is to be said"


def test_each_gpu_is_found_by_its_uuid(devices: Any, machine: Any) -> None:
    """CUDA numbers them in another order than NVML, and CUDA_VISIBLE_DEVICES hides some: the third is not told."""
    machine([H100, T4], nvml_of(CARDS | {"GPU-3": (50, 1, 2)}))
    assert devices.names()[:2] == [H100[0], T4[0]]
    first, second, _ = devices.sample()
    assert first == {"device": "cuda:0", "name": H100[0], "busy": 97, "memory": 60_000, "total": 80_000}
    assert second == {"device": "cuda:1", "name": T4[0], "busy": 3, "memory": 1_000, "total": 15_000}


def test_a_slice_of_a_gpu_has_memory_but_no_load(devices: Any, machine: Any, capsys: Any) -> None:
    machine([("NVIDIA H100 MIG 1g.10gb", "33-cc")], nvml_of({"MIG-33-cc": (NOT_SUPPORTED, 500, 10_000)}))
    for _ in range(3):
        line = devices.sample()[0]
        assert (line["busy"], line["memory"], line["total"]) == (None, 500, 10_000)
    assert capsys.readouterr().out == "devices: NVML cannot tell UtilizationRates (Not Supported)\n"


def test_a_lost_gpu_does_not_end_the_watch(devices: Any, machine: Any, capsys: Any) -> None:
    cards = dict(CARDS)
    machine([H100, T4], nvml_of(cards))
    assert devices.sample()[0]["busy"] == 97
    cards["GPU-11111111-aaaa"] = (LOST, LOST, 80_000)
    for _ in range(3):
        lost, other, _ = devices.sample()
        assert (lost["name"], lost["busy"], lost["memory"], lost["total"]) == (H100[0], None, None, None)
        assert other["busy"] == 3
    assert capsys.readouterr().out.count("GPU is lost") == 2  # its load, and its memory, each once


@pytest.mark.parametrize(
    ("nvml", "said"),
    [
        (None, "devices: for the load of GPUs: pip install nvidia-ml-py\n"),
        (nvml_of({}, LOST), "devices: NVML does not start (GPU is lost)\n"),
        (nvml_of({}), ""),  # it knows no such card: its name is CUDA's
    ],
)
def test_names_need_no_nvml(nvml: Any, said: str, devices: Any, machine: Any, capsys: Any) -> None:
    machine([H100], nvml)  # None in sys.modules: the import fails
    for _ in range(2):
        assert devices.names()[0] == H100[0]
        line = devices.sample()[0]
        assert (line["busy"], line["memory"], line["total"]) == (None, None, None)
    assert capsys.readouterr().out == said


def test_without_psutil_a_line_says_so(
    devices: Any, machine: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine([], None)
    monkeypatch.setitem(sys.modules, "psutil", None)
    for _ in range(2):
        (line,) = devices.sample()
        assert (line["busy"], line["memory"]) == (None, None)
    assert capsys.readouterr().out == "devices: for the load of the CPU: pip install psutil\n"


def test_the_sampler_writes_until_it_is_stopped(devices: Any, machine: Any, tmp_path: Path) -> None:
    machine([T4], nvml_of(CARDS))
    path = tmp_path / "devices.jsonl"
    with devices.Sampler(path, every=0.02) as sampler:
        assert sampler.thread.daemon  # a program that fails must not wait for it
        while sampler.thread.is_alive() and not (path.exists() and path.read_text().count("\n") >= 4):
            time.sleep(0.01)
    assert not sampler.thread.is_alive()
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line["device"] for line in found[:4]] == ["cuda:0", "cpu"] * 2
    seconds, cost = ([line[key] for line in found] for key in ("seconds", "cost"))
    assert seconds == sorted(seconds) and cost == sorted(cost) and 0 < cost[-1] < 60
    assert seconds[0] >= 0.02, "the first look has nothing to compare with"


def test_a_sampler_that_fails_lets_the_training_go_on(devices: Any, tmp_path: Path, capsys: Any) -> None:
    with devices.Sampler(tmp_path / "no such folder" / "devices.jsonl", every=0.01) as sampler:
        sampler.thread.join(60)
    assert "devices: not watched any more (FileNotFoundError" in capsys.readouterr().out


def test_the_load_of_the_job_counts_its_processes(devices: Any) -> None:
    """A child that computes belongs to the job."""
    job = devices.Job()
    code = "print(1, flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout.readline()
            job.load()
            assert child.pid in job.known
            seen = job.psutil.Process(child.pid)
            before = seen.cpu_times().user
            while seen.cpu_times().user < before + 0.2:
                time.sleep(0.01)
            assert job.load()["job_busy"] > 0
        finally:
            child.kill()
    assert job.load()["job_memory"] > 0  # and its end is no fault


def test_the_picture_of_a_resumed_run_goes_on_in_time() -> None:
    """Each start of the program counts its seconds from 0."""
    lines = [{"seconds": seconds} for seconds in (1, 2, 3, 0.5, 1.5, 1, 2)]
    assert plots.elapsed(lines) == [1, 2, 3, 3.5, 4.5, 5.5, 6.5]


def test_pictures_are_drawn_of_any_run(tmp_path: Path) -> None:
    """Also of a run without validation errors, and of devices that tell nothing."""
    window = {"past": [0.0] * 96, "truth": [1.0] * 24, "forecast": [0.5] * 24, "column": "load"}
    metrics = {"examples": [window], "test": {"informer": {"per_horizon": [0.1] * 24}}}
    nothing = {"device": "cuda:0", "name": "T4", "seconds": 1, "busy": None, "memory": None}
    for log, devices in (([], []), ([{"step": 1, "loss": 1.0}, {"step": 2, "loss": 0.5}], [nothing])):
        for name in ("loss", "forecast", "devices"):
            path = tmp_path / f"{name}-{len(log)}.png"
            getattr(plots, f"plot_{name}")(SimpleNamespace(log=log, metrics=metrics, devices=devices), path)
            assert path.read_bytes().startswith(b"\x89PNG")
