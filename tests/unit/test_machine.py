"""Which devices there are: on this machine, and on machines with no, one or four GPUs."""

import importlib
import logging
import os
import platform
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tabled import tabled

from course_utils import machine, needs, recordings, try_gpu
from course_utils.machine import badge, machine_facts, smi_query
from course_utils.needs import missing
from shared.gpu_ratings import rated_bandwidth, ratings

H200 = {
    "name": "NVIDIA H200", "major": 9, "minor": 0, "total_memory": 150_000_000_000, "multi_processor_count": 132,
    "memory_clock_rate": 3_201_000, "memory_bus_width": 6144,
}  # fmt: skip


def pretend(monkeypatch: pytest.MonkeyPatch, count: int, other: str = "cuda", **properties: Any) -> None:
    """Let torch report `count` GPUs, or an `other` accelerator."""
    gpu = SimpleNamespace(**(H200 | properties))
    for name, value in {
        "is_available": lambda: count > 0,
        "device_count": lambda: count,
        "current_device": lambda: 0,
        "get_device_properties": lambda _: gpu,
        "get_device_capability": lambda *_: (gpu.major, gpu.minor),
        "get_device_name": lambda *_: gpu.name,
    }.items():
        monkeypatch.setattr(torch.cuda, name, value)
    driver = "\n".join(["580.65.06"] * count) or None
    monkeypatch.setattr(machine, "smi_query", lambda _: driver)
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: count > 0 or other != "cuda")
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device(other))


@tabled
def test_try_gpu(count: int, index: int, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, count)
    assert try_gpu(index) == torch.device(name)
    assert try_gpu() == torch.device("cuda:0" if count else "cpu")
    with pytest.raises(ValueError, match=r"try_gpu\(-1\).*from 0"):
        try_gpu(-1)


# --- the badge ----------------------------------------------------------------------------------------


def badge_text() -> str:
    return re.sub("<[^>]*>", " ", badge().html)


def test_this_machines_badge() -> None:
    facts = machine_facts()
    assert facts["cores"] >= 1 and facts["memory"] > 1e8 and facts["cpu"].strip()
    assert facts["torch"] == torch.__version__ and facts["python"] == platform.python_version()
    assert len(facts["gpus"]) == torch.cuda.device_count()
    for expected in (facts["cpu"], f"PyTorch {torch.__version__}", "在本課程", "In this course"):
        assert expected in badge_text()


@pytest.mark.parametrize("count, recorded, en, zh", [
    (0, None, "Everything runs on the CPU", "全部在 CPU 上"), (1, None, "practice GPUs show it", "改用練習用 GPU"),
    (4, None, "Everything is measured on your GPUs", "全部在你的 GPU 上量"),
    # only recordings that exist are promised
    (0, [], "a published value stands beside it, with its source", "旁邊會列出公開數據，並註明出處"),
    (0, [{"name": "T4"}], "a recorded or published value", "旁邊會列出先前在 GPU 上測得的參考紀錄或公開數據"),
])  # fmt: skip
def test_the_badge_says_what_will_be_measured(
    count: int, recorded: list[dict[str, str]] | None, en: str, zh: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, count)
    if recorded is not None:
        monkeypatch.setattr(recordings, "runs", lambda: [{"machine": {"gpus": recorded}}])
    text = badge_text()
    assert en in text and zh in text and "accelerator here is not used" not in text
    assert text.count("NVIDIA H200 (140 GiB, sm_90)") == count
    assert ("driver 580.65.06" in text) == (count > 0)
    assert bool(re.search(r"CUDA GPU\s+0\s", text)) == (count == 0)


def test_every_machine_has_the_same_badge_but_for_the_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notebooks recorded without a GPU are compared on machines with one."""
    forms = set()
    for count, other in ((0, "cuda"), (0, "mps"), (0, "xpu"), (1, "cuda"), (4, "cuda")):
        pretend(monkeypatch, count, other)
        html_form = re.sub('<span class="measured">[^<]*</span>', "@", badge().html)
        forms.add((html_form, re.sub("⟨[^⟨⟩]*⟩", "@", badge().text)))
        if other != "cuda":
            text = badge_text()
            assert f"The {other} accelerator here is not used" in text and f"還有 {other} 加速器" in text
    assert len(forms) == 1


def test_the_badge_for_a_bug_report_is_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_module("course_utils", run_name="__main__")
    printed = capsys.readouterr().out
    assert f"PyTorch {torch.__version__}" in printed and "在本課程" in printed
    assert not re.search("[⟨⟩<>`]", printed)


# --- what a machine lacks -----------------------------------------------------------------------------

GPUS = {"one", "four", "t4", "arm", "unknown"}
HAVE = {  # need: which machines have it
    "cuda": GPUS, "two_gpus": {"four"}, "tensor_cores": GPUS, "tf32": GPUS - {"t4"}, "matrix_units": GPUS,
    "vectors": GPUS, "shared_gpu": GPUS - {"t4"}, "compiler": {"one", "four", "arm"},
}  # fmt: skip
MACHINES: dict[str, tuple[int, str, dict[str, Any]]] = {
    "none": (0, "x86_64", {}),
    "one": (1, "x86_64", {}),
    "four": (4, "AMD64", {}),
    "t4": (1, "x86_64", {"name": "Tesla T4", "major": 7, "minor": 5}),
    "arm": (1, "aarch64", {}),
    "unknown": (1, "x86_64", {"name": "NVIDIA Something New", "major": 12}),
}


@pytest.mark.parametrize("where", MACHINES)
def test_missing(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    count, processor, properties = MACHINES[where]
    pretend(monkeypatch, count, **properties)
    monkeypatch.setattr(platform, "machine", lambda: processor)
    monkeypatch.setattr(needs, "has_amx", lambda: False)
    monkeypatch.setattr(needs, "can_compile", lambda: where in HAVE["compiler"])
    monkeypatch.setattr(torch.Tensor, "cuda", lambda _: SimpleNamespace(is_cuda=True))
    monkeypatch.setattr(needs, "works", lambda program: "cuda" in program and where != "t4")
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "DEFAULT")
    assert set(HAVE) == set(needs.NEEDS) == set(needs.NAMES)
    assert {need: missing(need) for need in HAVE} == {
        need: None if where in machines else needs.NAMES[need] for need, machines in HAVE.items()
    }


def test_an_unknown_need_is_answered_with_the_list() -> None:
    assert missing(None) is None
    with pytest.raises(ValueError, match="'gpu' is not known.*cuda.*two_gpus"):
        missing("gpu")


@tabled
def test_amx_is_what_torch_says_and_onednn_may_use(
    told: bool, limit: str | None, there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    capabilities = {"avx2": True, "amx_bf16": told, "cpu_name": "A CPU"}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: capabilities, raising=False)
    for name in ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"):
        for other in ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"):
            monkeypatch.delenv(other, raising=False)
        if limit:
            monkeypatch.setenv(name, limit)
        assert needs.has_amx() == there
    monkeypatch.delattr(torch.cpu, "get_capabilities")
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: told, raising=False)
    assert needs.has_amx() == there


@tabled
def test_only_an_old_x86_cpu_has_no_vectors(
    processor: str, capability: str, gpus: int, answer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, gpus)
    monkeypatch.setattr(platform, "machine", lambda: processor)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    assert needs.uses_vectors() is answer


@tabled
def test_what_compiling_needs(
    system: str,
    found: list[str],
    vectors: bool,
    tools: int,
    compiles: list[bool],
    answer: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On a CPU it is tried with the best vector instructions, then with those that PyTorch finds to work."""
    pretend(monkeypatch, 0)
    trusted, config = compiles[:1] == [True], torch._inductor.config
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(os, "name", "posix")
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(shutil, "which", lambda name: name if name in found else None)
    monkeypatch.setattr(
        subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, tools, "", "")
    )
    monkeypatch.setattr(needs, "uses_vectors", lambda: vectors)
    monkeypatch.setattr(needs, "works", lambda program, **_: compiles.pop(0))
    with config.patch({"cpp.vec_isa_ok": None}):
        assert needs.can_compile() is answer
        assert not compiles and config.cpp.vec_isa_ok is (trusted or None)


@pytest.mark.nightly
def test_compiling_is_tried_and_the_answer_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A compiler that is there and broken: its name alone says nothing."""
    broken = tmp_path / "c++"
    broken.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    broken.chmod(0o755)
    monkeypatch.setenv("CXX", str(broken))
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(needs, "uses_vectors", lambda: True)
    needs.works.cache_clear()
    try:
        assert needs.can_compile() is False
        monkeypatch.setattr(needs, "run_fresh", lambda *_, **__: pytest.fail("asked once per session"))
        assert needs.can_compile() is False
    finally:
        needs.works.cache_clear()


@pytest.mark.nightly
def test_torch_compile_says_nothing_about_small_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU of 24 multiprocessors; without the filter, PyTorch writes "Not enough SMs" to stderr."""
    from torch._inductor import utils

    small, seen = SimpleNamespace(multi_processor_count=24, major=8, minor=9), []
    monkeypatch.setattr(utils.DeviceProperties, "create", lambda device: small)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: small)
    monkeypatch.setattr(needs, "uses_vectors", lambda: True)
    monkeypatch.setattr(needs, "works", lambda program, **_: True)
    monkeypatch.setattr(shutil, "which", lambda name: name)
    monkeypatch.setattr(utils.log, "filters", [])
    monkeypatch.setattr(utils.log, "handle", lambda record: seen.append(utils.log.filter(record)))
    for prepare in (lambda: None, needs.can_compile):
        prepare()
        utils.is_big_gpu.cache_clear()
        assert not utils.is_big_gpu(torch.device("cuda", 0))
    assert [*map(bool, seen)] == [True, False]


@pytest.mark.parametrize("cuda, gpus, imported", [(None, 0, 0), ("13.0", 0, 1), ("13.0", 1, 0)])
def test_the_toolkit_warning_is_silenced_where_there_is_no_gpu(
    cuda: str | None,
    gpus: int,
    imported: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    pretend(monkeypatch, gpus)
    monkeypatch.setattr(torch.version, "cuda", cuda)
    asked: list[str] = []

    def speak(name: str) -> None:
        asked.append(name)
        print("a warning", file=sys.stderr)
        logging.getLogger("x").warning("another")

    monkeypatch.setattr(importlib, "import_module", speak)
    machine.silence_cuda_toolkit_warning()
    assert asked == ["torch.utils.cpp_extension"] * imported
    assert not caplog.records and capsys.readouterr().err == ""
    logging.getLogger("x").warning("a later one")
    assert len(caplog.records) == 1


@tabled
def test_which_gpus_have_tensor_cores(
    name: str, capability: list[int], there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, 1, name=name, major=capability[0], minor=capability[1])
    assert needs.has_tensor_cores() is there


# --- ratings, and asking the driver -------------------------------------------------------------------


def test_rated_bandwidth_by_hand() -> None:
    # An H200's 6144-bit bus at 3201 MHz, two words per clock: 4.92 TB/s.
    assert rated_bandwidth(SimpleNamespace(**H200)) == pytest.approx(3201e6 * 6144 / 8 * 2)
    assert rated_bandwidth(SimpleNamespace()) is None
    assert rated_bandwidth(SimpleNamespace(memory_clock_rate=0, memory_bus_width=384)) is None


def test_the_table_is_plausible() -> None:
    for name, row in ratings().items():
        assert set(row) == {"multiprocessors", "cuda_cores", "memory", "bandwidth", "single", "half"}, name
        assert row["cuda_cores"] / row["multiprocessors"] in (64, 128), name
        assert 4e9 <= row["memory"] <= 1e12 and 1e11 <= row["bandwidth"] <= 1e13, name
        assert 1e13 <= row["half"] <= 5e15 and 1.9 <= row["half"] / row["single"] <= 29, name
        # Each lane multiplies and adds once per clock; boost clocks lie between 1.2 and 2.7 GHz.
        assert 1.2e9 <= row["single"] / row["cuda_cores"] / 2 <= 2.7e9, name


@pytest.mark.parametrize("came, answer", [
    ((0, "580.65\n"), "580.65"), ((0, " \n"), None), ((9, "failed"), None), (FileNotFoundError(), None),
    (PermissionError(), None), (subprocess.TimeoutExpired("nvidia-smi", 5), None),
])  # fmt: skip
def test_smi_query(came: Any, answer: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object, **options: Any) -> subprocess.CompletedProcess[str]:
        assert options["timeout"] <= 5, "a driver in trouble does not answer"
        if isinstance(came, Exception):
            raise came
        return subprocess.CompletedProcess([], *came, "")

    monkeypatch.setattr(subprocess, "run", run)
    assert smi_query("driver_version") == answer
