"""Which devices there are: on this machine, and on machines with no, one or four GPUs."""

import html.parser
import os
import platform
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from bilingual import Block
from course_utils import machine, needs, recordings, try_gpu
from course_utils.gpu_ratings import rated_bandwidth, ratings
from course_utils.machine import badge, machine_facts, smi_query
from course_utils.needs import missing

H200 = {
    "name": "NVIDIA H200",
    "major": 9,
    "minor": 0,
    "total_memory": 150_000_000_000,
    "multi_processor_count": 132,
    "memory_clock_rate": 3_201_000,
    "memory_bus_width": 6144,
}


def pretend(monkeypatch: pytest.MonkeyPatch, count: int, bf16: str = "native", **properties: Any) -> None:
    """Let torch report `count` GPUs; bf16 is "native", "emulated" or "none"."""
    gpu = SimpleNamespace(**(H200 | properties))

    def supported(including_emulation: bool = True) -> bool:
        return bf16 == "native" or (bf16 == "emulated" and including_emulation)

    for name, value in {
        "is_available": lambda: count > 0,
        "device_count": lambda: count,
        "current_device": lambda: 0,
        "get_device_properties": lambda _: gpu,
        "get_device_capability": lambda *_: (gpu.major, gpu.minor),
        "get_device_name": lambda *_: gpu.name,
        "is_bf16_supported": supported,
    }.items():
        monkeypatch.setattr(torch.cuda, name, value)
    driver = "\n".join(["580.65.06"] * count) or None
    monkeypatch.setattr(machine, "smi_query", lambda _: driver)
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: count > 0)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cuda"))


# --- choosing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("count, index, name", [
    (0, 0, "cpu"), (0, 3, "cpu"), (1, 0, "cuda:0"), (1, 1, "cpu"), (4, 0, "cuda:0"), (4, 3, "cuda:3"), (4, 4, "cpu"),
])  # fmt: skip
def test_try_gpu(count: int, index: int, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, count)
    assert try_gpu(index) == torch.device(name)
    assert try_gpu() == torch.device("cuda:0" if count else "cpu")


@pytest.mark.parametrize("count", [0, 1, 4])
@pytest.mark.parametrize("index", [-1, -4])
def test_a_negative_number_is_refused(index: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, count)
    with pytest.raises(ValueError, match=rf"try_gpu\({index}\).*from 0"):
        try_gpu(index)


def test_the_chosen_device_can_be_used() -> None:
    assert torch.ones(2, device=try_gpu()).sum().item() == 2


# --- the badge ----------------------------------------------------------------------------------------


class Text(html.parser.HTMLParser):
    def __init__(self, source: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.feed(source)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def badge_text(badge: Block) -> str:
    return " ".join(Text(badge.html).words)


def test_this_machines_badge() -> None:
    facts = machine_facts()
    assert facts["cores"] >= 1 and facts["memory"] > 1e8 and facts["cpu"].strip()
    assert facts["torch"] == torch.__version__ and facts["python"] == platform.python_version()
    assert len(facts["gpus"]) == torch.cuda.device_count()
    text = badge_text(badge())
    for expected in (facts["cpu"], f"PyTorch {torch.__version__}", "在本課程", "In this course"):
        assert expected in text


@pytest.mark.parametrize("count, en, zh", [
    (0, "Everything runs on the CPU", "全部在 CPU 上"),
    (1, "practice GPUs show it", "改用練習用 GPU"),
    (4, "Everything is measured on your GPUs", "全部在你的 GPU 上量"),
])  # fmt: skip
def test_the_badge_says_what_will_be_measured(
    count: int, en: str, zh: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, count)
    text = badge_text(badge())
    assert en in text and zh in text
    assert text.count("NVIDIA H200 (140 GiB, sm_90)") == count
    assert ("driver 580.65.06" in text) == (count > 0)
    assert ("CUDA GPU 0" in text) == (count == 0)
    assert count == 0 or machine.other_accelerator() is None


def test_a_gpu_that_hides_its_clock_has_a_badge_too(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, 1)
    hidden = ("memory_clock_rate", "memory_bus_width")
    old = SimpleNamespace(**{name: value for name, value in H200.items() if name not in hidden})
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: old)
    assert machine_facts()["gpus"][0]["rated_bandwidth"] is None
    assert "NVIDIA H200" in badge_text(badge())


@pytest.mark.parametrize("kind", ["mps", "xpu"])
def test_another_makers_accelerator_is_named(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, 0)
    assert not re.search(kind, badge_text(badge()))
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device(kind))
    text = badge_text(badge())
    assert f"The {kind} accelerator here is not used" in text and f"還有 {kind} 加速器" in text


@pytest.mark.parametrize("gpus, en, zh", [
    ([], "a published value stands beside it, with its source", "旁邊會列出公開數據，並註明出處"),
    ([{"name": "T4"}], "a recorded or published value", "旁邊會列出先前在 GPU 上測得的參考紀錄或公開數據"),
])  # fmt: skip
def test_only_recordings_that_exist_are_promised(
    gpus: list[dict[str, str]], en: str, zh: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, 0)
    monkeypatch.setattr(recordings, "runs", lambda: [{"machine": {"gpus": gpus}}])
    text = badge_text(badge())
    assert en in text and zh in text


def test_every_machine_has_the_same_badge_but_for_the_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notebooks recorded without a GPU are compared on machines with one."""
    forms = set()
    for count, kind in ((0, None), (0, "mps"), (1, None), (4, None)):
        pretend(monkeypatch, count)
        if kind:
            monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
            monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("mps"))
        html_form = re.sub('<span class="measured">[^<]*</span>', "@", badge().html)
        forms.add((html_form, re.sub("⟨[^⟨⟩]*⟩", "@", badge().text)))
    assert len(forms) == 1


def test_the_badge_for_a_bug_report_is_plain_text() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-m", "course_utils"],
        capture_output=True,
        encoding="utf-8",
        timeout=400,
    )
    assert done.returncode == 0, done.stderr
    assert f"PyTorch {torch.__version__}" in done.stdout and "在本課程" in done.stdout
    assert not re.search("[⟨⟩<>`]", done.stdout)


# --- what a machine lacks -----------------------------------------------------------------------------

NEEDS = {
    # need: which machines have it
    "cuda": {"one", "four", "t4", "arm", "unknown"},
    "two_gpus": {"four"},
    "tensor_cores": {"one", "four", "t4", "arm", "unknown"},
    "tf32": {"one", "four", "arm", "unknown"},
    "matrix_units": {"one", "four", "t4", "arm", "unknown"},
    "vectors": {"one", "four", "t4", "arm", "unknown"},
    "shared_gpu": {"one", "four", "arm", "unknown"},
    "compiler": {"one", "four", "arm"},
}
NO_CLOCK = {"memory_clock_rate": 0, "memory_bus_width": 0}
MACHINES: dict[str, tuple[int, str, str, dict[str, Any]]] = {
    "none": (0, "none", "x86_64", {}),
    "one": (1, "native", "x86_64", {}),
    "four": (4, "native", "AMD64", {}),
    "t4": (1, "emulated", "x86_64", {"name": "Tesla T4", "major": 7, "minor": 5} | NO_CLOCK),
    "arm": (1, "native", "aarch64", {}),
    "unknown": (1, "native", "x86_64", {"name": "NVIDIA Something New", "major": 12} | NO_CLOCK),
}


def test_every_need_is_tested() -> None:
    assert set(NEEDS) == set(needs.NEEDS) == set(needs.names())


def test_a_need_reads_well_in_the_cards_sentence() -> None:
    """ "With …, this cell would measure" and 「若有…，這一格會量測」: a comma inside would cut it in two."""
    for name in needs.names().values():
        assert re.match(r"(a|an|two) ", name.en) and not re.search(r"\.$", name.en)
        outside = re.sub("（[^）]*）", "", name.zh)
        assert not re.search("[，；。]", outside)


@pytest.mark.parametrize("where", MACHINES)
@pytest.mark.parametrize("need", NEEDS)
def test_missing(need: str, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    count, bf16, processor, properties = MACHINES[where]
    pretend(monkeypatch, count, bf16, **properties)
    monkeypatch.setattr(platform, "machine", lambda: processor)
    monkeypatch.setattr(needs, "has_amx", lambda: False)
    monkeypatch.setattr(needs, "can_compile", lambda: where in NEEDS["compiler"])
    monkeypatch.setattr(torch.Tensor, "cuda", lambda _: types.SimpleNamespace(is_cuda=True))
    monkeypatch.setattr(needs, "works", lambda program: "cuda" in program and where != "t4")
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "DEFAULT")
    lacking = missing(need)
    if where in NEEDS[need]:
        assert lacking is None
    else:
        assert lacking is not None and lacking.en and lacking.zh


def test_an_unknown_need_is_answered_with_the_list() -> None:
    assert missing(None) is None
    with pytest.raises(ValueError, match="'gpu' is not known.*cuda.*two_gpus"):
        missing("gpu")


@pytest.mark.parametrize("there", [True, False])
def test_amx_is_what_torch_says(there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"):
        monkeypatch.delenv(name, raising=False)
    told = {"avx2": True, "amx_bf16": there, "cpu_name": "A CPU"}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: told, raising=False)
    assert needs.has_amx() == there
    monkeypatch.delattr(torch.cpu, "get_capabilities")
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: there, raising=False)
    assert needs.has_amx() == there


@pytest.mark.parametrize("limit, left", [
    ("ALL", True), ("avx512_core_amx", True), ("sse41", False), ("AVX2", False), ("AVX512_CORE_BF16", False),
])  # fmt: skip
def test_units_that_onednn_may_not_use_are_none(
    limit: str, left: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": True}, raising=False)
    for name in ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"):
        monkeypatch.setenv(name, limit)
        assert needs.has_amx() == left
        monkeypatch.delenv(name)


@pytest.mark.parametrize("processor, capability, gpus, answer", [
    ("x86_64", "DEFAULT", 0, False), ("x86_64", "AVX2", 0, True), ("AMD64", "AVX512", 0, True),
    ("arm64", "DEFAULT", 0, True), ("x86_64", "DEFAULT", 1, True),
])  # fmt: skip
def test_only_an_old_x86_cpu_has_no_vectors(
    processor: str, capability: str, gpus: int, answer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, gpus)
    monkeypatch.setattr(platform, "machine", lambda: processor)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    assert needs.uses_vectors() is answer


@pytest.mark.parametrize("found, vectors, compiles, answer, asked", [
    ({"g++"}, True, True, True, 1), ({"clang++"}, True, False, False, 1), (set(), True, True, False, 0),
    ({"g++"}, False, True, False, 0),
])  # fmt: skip
def test_what_compiling_needs(
    found: set[str], vectors: bool, compiles: bool, answer: bool, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs: list[str] = []
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(os, "name", "posix")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(shutil, "which", lambda name: name if name in found else None)
    monkeypatch.setattr(needs, "uses_vectors", lambda: vectors)
    monkeypatch.setattr(needs, "works", lambda program: bool(programs.append(program)) or compiles)
    assert needs.can_compile() is answer
    assert len(programs) == asked, "what is plainly missing is not tried"


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
def test_torch_compile_says_nothing_about_small_gpus() -> None:
    """A GPU of 24 multiprocessors; without the filter, PyTorch writes "Not enough SMs" to stderr."""
    code = """
import types
from unittest.mock import patch
import torch
from torch._inductor import utils
from course_utils import needs
{prepare}
small = types.SimpleNamespace(multi_processor_count=24, major=8, minor=9)
with (patch.object(utils.DeviceProperties, "create", lambda device: small),
      patch.object(torch.cuda, "get_device_properties", lambda device: small)):
    print(utils.is_big_gpu(torch.device("cuda", 0)))
"""
    prepare = """
needs.uses_vectors, needs.works, needs.shutil.which = (lambda: True), (lambda program: True), (lambda name: name)
needs.can_compile()
"""
    loud, quiet = (
        subprocess.run([sys.executable, "-c", code.format(prepare=line)], capture_output=True, text=True)
        for line in ("", prepare)
    )
    assert loud.stdout.strip() == quiet.stdout.strip() == "False", loud.stderr + quiet.stderr
    assert "Not enough SMs" in loud.stderr and quiet.stderr == ""


def test_a_quiet_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    speaker = "import logging, sys\nprint('a warning', file=sys.stderr)\nlogging.getLogger('x').warning('another')\n"
    (tmp_path / "speaking_module.py").write_text(speaker, encoding="utf-8")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{{}}\nimport logging; print(logging.root.manager.disable)"
    loud, quiet = (
        subprocess.run([sys.executable, "-c", code.format(line)], capture_output=True, text=True)
        for line in (
            "import speaking_module",
            "from course_utils.machine import _import_quietly; _import_quietly('speaking_module')",
        )
    )
    assert "a warning" in loud.stderr and "another" in loud.stderr
    assert (quiet.stderr, quiet.stdout.strip()) == ("", "0")


@pytest.mark.parametrize("cuda, gpus, imported", [(None, 0, 0), ("13.0", 0, 1), ("13.0", 1, 0)])
def test_the_toolkit_warning_is_silenced_where_there_is_no_gpu(
    cuda: str | None, gpus: int, imported: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, gpus)
    monkeypatch.setattr(torch.version, "cuda", cuda)
    asked: list[str] = []
    monkeypatch.setattr(machine, "_import_quietly", asked.append)
    machine.silence_cuda_toolkit_warning()
    assert len(asked) == imported


@pytest.mark.parametrize("status", [0, 2])
def test_a_mac_needs_the_command_line_tools(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, 0)
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(shutil, "which", lambda name: name)
    monkeypatch.setattr(needs, "works", lambda _: True)
    monkeypatch.setattr(needs, "uses_vectors", lambda: True)
    done = subprocess.CompletedProcess([], status)
    monkeypatch.setattr(
        subprocess, "run", lambda command, **_: done if command[0] == "xcode-select" else None
    )
    assert needs.can_compile() is (status == 0)


@pytest.mark.parametrize("name, capability, there", [
    ("Tesla P100-PCIE-16GB", (6, 0), False), ("Tesla V100-SXM2-16GB", (7, 0), True), ("Tesla T4", (7, 5), True),
    ("NVIDIA T4G", (7, 5), True), ("NVIDIA GeForce GTX 1660", (7, 5), False), ("NVIDIA T400 4GB", (7, 5), False), ("NVIDIA T1200", (7, 5), False),
    ("NVIDIA GeForce RTX 2070", (7, 5), True), ("NVIDIA TITAN RTX", (7, 5), True), ("NVIDIA H200", (9, 0), True),
])  # fmt: skip
def test_which_gpus_have_tensor_cores(
    name: str, capability: tuple[int, int], there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, 1, name=name, major=capability[0], minor=capability[1])
    assert needs.has_tensor_cores() is there


# --- ratings ------------------------------------------------------------------------------------------


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


# --- asking the driver --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "status, output, answer", [(0, "580.65\n", "580.65"), (0, " \n", None), (9, "failed", None)]
)
def test_smi_query(status: int, output: str, answer: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    done = subprocess.CompletedProcess([], status, output, "")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    assert smi_query("driver_version") == answer


@pytest.mark.parametrize(
    "error", [FileNotFoundError(), PermissionError(), subprocess.TimeoutExpired("nvidia-smi", 5)]
)
def test_a_driver_that_does_not_answer(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **options: Any) -> None:
        assert options["timeout"] <= 5
        raise error

    monkeypatch.setattr(subprocess, "run", fail)
    assert smi_query("driver_version") is None
