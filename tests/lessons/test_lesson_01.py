"""Lesson 01: its explorers against numbers by hand, nvidia-smi with and without a driver, and the processors."""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import subprocess
from typing import Any

import numpy as np
import pytest
import torch
from html_nesting import assert_nested

from course_utils import recordings, run_mode
from course_utils.fresh_process import run_fresh
from course_utils.gpu_ratings import ratings
from lesson_01 import answers, checks, first_use, matmul_crossover, nvidia_smi, processors, visible_devices
from lesson_01.processors import Processor

pytestmark = pytest.mark.usefixtures("no_warnings")

SIZES = [16, 32, 64, 128, 256, 512, 1024, 2048]
CURVE = (SIZES, [2e-6 + 2 * n**3 / 60e9 for n in SIZES])  # a processor with 60 GFLOP/s


# --- crossover ----------------------------------------------------------------------------------------


def wins(**choices: Any) -> float:
    found = matmul_crossover.compute(CURVE, **choices).wins_from
    return math.inf if found is None else found


def test_crossover_by_hand() -> None:
    """At n = 1000: 10 µs to launch, 2e9 operations at 8e12/s, 12e6 bytes over 12e9 B/s."""
    result = matmul_crossover.compute(([100, 1000], [1e-4, 1e-1]), launch=10e-6, speed=8e12, link=12e9)
    place = int(np.argmin(np.abs(result.sizes - 1000)))
    n = int(result.sizes[place])
    assert result.gpu[place] == pytest.approx(10e-6 + 2 * n**3 / 8e12 + 12 * n**2 / 12e9)
    assert result.cpu[place] == pytest.approx(1e-1 * (n / 1000) ** 3, rel=1e-6)


def test_small_products_are_bound_by_memory_and_large_ones_by_arithmetic() -> None:
    result = matmul_crossover.compute(CURVE, launch=0.0, speed=50e12, link=None)
    turning = 6 * 50e12 / matmul_crossover.MEMORY  # 2 n³ / speed = 12 n² / memory
    small, large = result.sizes < 0.9 * turning, result.sizes > 1.1 * turning
    assert np.allclose(
        result.gpu[small], 12.0 * result.sizes[small].astype(float) ** 2 / matmul_crossover.MEMORY
    )
    assert np.allclose(result.gpu[large], 2.0 * result.sizes[large].astype(float) ** 3 / 50e12)
    assert small.any() and large.any()


def test_the_measured_points_are_on_the_line() -> None:
    result = matmul_crossover.compute(CURVE, launch=1e-5, speed=8e12, link=None)
    for size, seconds in zip(*CURVE, strict=True):
        nearest = int(np.argmin(np.abs(result.sizes - size)))
        n = result.sizes[nearest]
        assert result.cpu[nearest] == pytest.approx(2e-6 + 2 * n**3 / 60e9, rel=0.35)
        assert seconds in result.cpu_points[1]
    assert np.all(np.diff(result.cpu) > 0), "time grows with size"


def test_the_gpu_is_ahead_from_the_crossover_on_and_not_just_before() -> None:
    for choices in matmul_crossover.explorer(CURVE).grid():
        result = matmul_crossover.compute(CURVE, **choices)
        ahead = result.gpu < result.cpu
        if result.wins_from is None:
            assert not ahead[-1]
        else:
            place = int(np.flatnonzero(result.sizes == result.wins_from)[0])
            assert ahead[place:].all() and (place == 0 or not ahead[place - 1])


@pytest.mark.parametrize("name, worse_last", [("launch", True), ("speed", False)])
def test_a_worse_gpu_never_wins_earlier(name: str, worse_last: bool) -> None:
    explorer = matmul_crossover.explorer(CURVE)
    values = [value for _, value in next(c for c in explorer.controls if c.name == name).options]
    others = [c for c in explorer.controls if c.name != name]
    for rest in itertools.product(*([value for _, value in c.options] for c in others)):
        fixed = dict(zip((c.name for c in others), rest, strict=True))
        found = [wins(**fixed, **{name: value}) for value in values]
        assert found == sorted(found, reverse=not worse_last)


def test_a_slower_link_never_wins_earlier_and_none_is_best() -> None:
    for launch, speed in itertools.product((2e-6, 10e-6, 50e-6), (0.5e12, 8e12, 50e12)):
        found = [wins(launch=launch, speed=speed, link=link) for link in (None, 55e9, 25e9, 12e9, 6e9)]
        assert found == sorted(found)


def test_the_choices_matter() -> None:
    """What the lesson asks the learner to try has an effect on an ordinary processor."""
    usual = {"launch": 10e-6, "speed": 8e12, "link": None}
    assert wins(**usual | {"launch": 50e-6}) > wins(**usual)
    assert wins(**usual | {"link": 6e9}) > wins(**usual)


@pytest.mark.parametrize("gflops", [5, 60, 200, 1500])
def test_a_faster_gpu_hardly_moves_the_crossover(gflops: float) -> None:
    """The lesson says so for 50 instead of 8 TFLOP/s, whatever the CPU: at the crossover the launch takes longer."""
    curve = (SIZES, [2e-6 + 2 * n**3 / (gflops * 1e9) for n in SIZES])
    slow, fast = (
        matmul_crossover.compute(curve, launch=10e-6, speed=speed, link=None).wins_from
        for speed in (8e12, 50e12)
    )
    assert slow is not None and fast is not None and fast <= slow <= 1.15 * fast
    assert 2 * slow**3 / 8e12 < 10e-6


@pytest.mark.parametrize(
    "curve", [([16], [1e-6]), ([32, 16], [1e-6, 1e-6]), ([16, 16], [1e-6, 1e-6]), ([], [])]
)
def test_too_few_or_unordered_sizes_are_refused(curve: Any) -> None:
    with pytest.raises(ValueError, match="two ascending sizes"):
        matmul_crossover.compute(curve, launch=1e-5, speed=1e12, link=None)


def test_the_model_in_the_lesson_is_the_one_in_the_explorer() -> None:
    explorer = matmul_crossover.explorer(CURVE)
    result = matmul_crossover.compute(CURVE, **explorer.defaults())
    assert matmul_crossover.model_gpu(result.sizes.tolist()) == pytest.approx(result.gpu.tolist())
    found = matmul_crossover.wins_from(CURVE, (SIZES, matmul_crossover.model_gpu(SIZES)))
    assert found == pytest.approx(result.wins_from, rel=0.1)


@pytest.mark.parametrize(
    "gpu, first",
    [
        pytest.param([1, 1, 1], 10, id="always"),
        pytest.param([20, 200, 2000], math.inf, id="never"),
        pytest.param([100, 100, 100], 101, id="from 100 on"),
        pytest.param([5, 200, 300], 233, id="for good only the second time"),
    ],
)
def test_where_a_measured_gpu_begins_to_win(gpu: list[float], first: int) -> None:
    """The CPU takes n seconds for size n. In the last case the GPU takes 200 (n / 100)^0.176 from 100 on."""
    found = matmul_crossover.wins_from(([10, 100, 1000], [10, 100, 1000]), ([10, 100, 1000], gpu))
    assert found == pytest.approx(first, rel=0.015)


# --- visibility ---------------------------------------------------------------------------------------

BY_HAND = {
    # value: what a program sees on a machine with 1, 2, 3 and 4 GPUs
    "—": [(0,), (0, 1), (0, 1, 2), (0, 1, 2, 3)],
    "0": [(0,)] * 4,
    "1": [(), (1,), (1,), (1,)],
    "1,0": [(), (1, 0), (1, 0), (1, 0)],
    "2,0": [(), (), (2, 0), (2, 0)],
    "0,-1,1": [(0,)] * 4,
    "0,0": [()] * 4,
    "3": [(), (), (), (3,)],
    "-1": [()] * 4,
    "all": [()] * 4,
    '""': [()] * 4,
}


def test_visibility_by_hand() -> None:
    assert set(BY_HAND) == set(visible_devices.VALUES)
    for value, rows in BY_HAND.items():
        for count, visible in enumerate(rows, start=1):
            assert visible_devices.compute(value=value, count=count).visible == visible, (value, count)


def test_visibility_is_that_of_pytorchs_parser_in_a_fresh_process() -> None:
    """The variable is set before the process starts, as the lesson says it must be."""
    code = "import json, torch; print(json.dumps(torch.cuda._parse_visible_devices()))"
    parsed = json.loads(run_fresh(code, CUDA_VISIBLE_DEVICES="2,0,-1,1"))
    seen = tuple(index for index in parsed if index >= 0)
    assert visible_devices.compute(value="2,0,-1,1", count=4).visible == seen == (2, 0)


@pytest.mark.parametrize("mine", [None, "1,2", ""])
def test_the_learners_own_variable_is_kept(mine: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if mine is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", mine)
    for value in visible_devices.VALUES:
        visible_devices.compute(value=value, count=2)
        assert os.environ.get("CUDA_VISIBLE_DEVICES") == mine


def test_the_variable_is_restored_when_the_parser_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")

    def broken() -> None:
        raise RuntimeError("on purpose")

    monkeypatch.setattr(torch.cuda, "_parse_visible_devices", broken)
    with pytest.raises(RuntimeError):
        visible_devices.compute(value="0", count=1)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "7"


def test_the_picture_names_the_physical_gpus() -> None:
    picture = visible_devices.render(visible_devices.compute(value="2,0", count=3))
    assert "cuda:0 = GPU 2, cuda:1 = GPU 0" in picture.alternative.en
    assert "cuda:0 = GPU 2、cuda:1 = GPU 0" in picture.alternative.zh
    for caption in (picture.caption.en, picture.caption.zh):
        assert "`CUDA_VISIBLE_DEVICES=2,0`" in caption
    unset = visible_devices.render(visible_devices.compute(value="—", count=3))
    assert "is not set" in unset.caption.en and "沒有設定" in unset.caption.zh


# --- nvidia_smi ---------------------------------------------------------------------------------------


def without_marks(html: str) -> str:
    return re.sub(r'<(span|pre) class="(?:[\w-]+ )*measured">[^<]*</\1>', "@", html)


@pytest.fixture
def smi(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Set what nvidia-smi does on this machine, and what is recorded of another."""
    noted: list[Any] = []

    def set_up(result: Any, recorded: dict[str, str] | None) -> list[Any]:
        def run(*_: object, **options: Any) -> Any:
            assert options["timeout"] <= 30
            if isinstance(result, Exception):
                raise result
            return subprocess.CompletedProcess([], *result)

        monkeypatch.setattr(subprocess, "run", run)
        monkeypatch.setattr(recordings, "recorded", lambda _: recorded)
        monkeypatch.setattr(run_mode, "note", lambda *what: noted.append(what))
        return noted

    return set_up


def test_nvidia_smi_is_live_where_there_is_a_driver(smi: Any) -> None:
    noted = smi((0, "| live <output> |", ""), {"text": "recorded", "run": "an H200"})
    assert "| live &lt;output&gt; |" in nvidia_smi.nvidia_smi().html
    assert noted == [("curve", "nvidia-smi", {"text": "| live <output> |"})]


@pytest.mark.parametrize(
    "result", [FileNotFoundError(), (9, "", "failed"), subprocess.TimeoutExpired("nvidia-smi", 20)]
)
def test_without_a_driver_a_recording_is_shown_and_named(result: Any, smi: Any) -> None:
    noted = smi(result, {"text": "| recorded output |", "run": "an H200, 2026"})
    block = nvidia_smi.nvidia_smi()
    assert "| recorded output |" in block.html and block.html.count("an H200, 2026") == 2 and not noted
    assert "Processes:" in block.html, "a recording has no list of processes"


def test_without_any_recording_a_published_example_is_shown(smi: Any) -> None:
    smi(FileNotFoundError(), None)
    block = nvidia_smi.nvidia_smi()
    assert "A100-SXM-64GB" in block.html and nvidia_smi._PUBLISHED_BY in block.html
    lines = [*nvidia_smi.PUBLISHED_SMI.splitlines(), *nvidia_smi.PUBLISHED_PROCESSES.splitlines()]
    assert len({len(line) for line in lines}) == 1, "the frames are straight"
    for words in ("33254MiB / 65536MiB", "33246MiB", "Driver Version", "Pwr:Usage/Cap", "GPU-Util"):
        assert words in block.html, "the lesson's text is about it"


def test_every_machine_shows_the_same_but_for_the_marks(smi: Any) -> None:
    forms = set()
    for result, recorded in (
        ((0, "live", ""), None),
        (FileNotFoundError(), {"text": "t", "run": "r"}),
        (FileNotFoundError(), None),
    ):
        smi(result, recorded)
        block = nvidia_smi.nvidia_smi()
        assert_nested(block.html)
        forms.add((without_marks(block.html), re.sub("⟨[^⟨⟩]*⟩", "@", block.text)))
    assert len(forms) == 1


def test_the_list_of_processes_is_not_recorded(smi: Any) -> None:
    """On a shared server it names other people's jobs."""
    box = "+---+\n| GPU 0 |\n+---+"
    noted = smi((0, f"{box}\n\n+---+\n| Processes:    |\n| 0  a secret job |\n+---+", ""), None)
    assert "a secret job" in nvidia_smi.nvidia_smi().html
    assert noted == [("curve", "nvidia-smi", {"text": box})]


# --- processors ---------------------------------------------------------------------------------------

CPU = Processor("A CPU", False, 4, 8, 16e9, 2e10, True)
YOUR_GPU = Processor("A GPU of an unknown kind with a long name", True, 30, 64, 8e9, 3e11, True)


@pytest.mark.parametrize("name", ratings())
def test_the_cuda_cores_of_a_multiprocessor_follow_from_its_compute_capability(name: str) -> None:
    capabilities = {
        "T4": (7, 5),
        "V100": (7, 0),
        "A100": (8, 0),
        "H100": (9, 0),
        "H200": (9, 0),
        "50": (12, 0),
    }
    capability = next((found for key, found in capabilities.items() if key in name), (8, 9))
    assert (
        processors.cuda_cores(capability)
        == ratings()[name]["cuda_cores"] / ratings()[name]["multiprocessors"]
    )


@pytest.mark.parametrize("pair", [[CPU, processors.published()], [CPU, YOUR_GPU], [YOUR_GPU]])
def test_processors_are_drawn_in_both_languages(pair: list[Processor]) -> None:
    picture = processors.picture(pair)
    assert_nested(picture.html(small=False))
    assert len(picture.figure.axes) == len(pair)
    assert "times as many bytes" in picture.caption.en and "倍" in picture.caption.zh


def test_the_picture_counts_the_numbers_of_one_step_on_both_sides() -> None:
    cpu, gpu = processors.picture([CPU, processors.published()]).figure.axes
    assert (len(cpu.patches), len(gpu.patches)) == (4, 132)
    assert [len(dots.get_offsets()) for dots in gpu.collections] == [128] * 132
    assert [len(dots.get_offsets()) for dots in cpu.collections] == [8] * 4
    assert (
        cpu.get_title().startswith("A CPU\n4 × 8: cores") and "132 × 128: SMs × CUDA cores" in gpu.get_title()
    )
    (long,) = processors.picture([YOUR_GPU]).figure.axes
    assert long.get_title().startswith("A GPU of an unknown kind with a …\n30 × 64")


def test_the_caption_says_whose_numbers_they_are() -> None:
    known, yours = (processors._caption(CPU, gpu) for gpu in (processors.published(), YOUR_GPU))
    assert "your CPU has 32 dots" in known.en and "16,896" in known.en and "published figures" in known.en
    assert "240 times" in known.en and "240 倍" in known.zh
    assert "your GPU 1,920" in yours.en and "15 times" in yours.en
    # What depends on the machine is inside of one mark, so every machine has the same caption.
    for language in ("en", "zh"):
        assert len({re.sub("⟨[^⟩]*⟩", "@", getattr(text, language)) for text in (known, yours)}) == 1


def test_a_bandwidth_that_may_be_that_of_caches_is_not_called_measured() -> None:
    picture = processors.picture([Processor("A CPU", False, 4, 8, 16e9, 2e10, True, cached=True), YOUR_GPU])
    cpu, gpu = (axes.texts[0].get_text() for axes in picture.figure.axes)
    assert "may be cache" in cpu and "measured" not in cpu and "measured" in gpu
    assert (
        "at least 15 times" in picture.caption.en
        and "至少是這台機器上 CPU 記憶體的 15 倍" in picture.caption.zh
    )


@pytest.mark.parametrize("capability, width", [("AVX512", 16), ("AVX2", 8), ("DEFAULT", 4), ("NEW", 4)])
def test_this_machines_processors_are_shown(
    capability: str, width: int, shown: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"copy": 2e10, "host_copy": 2e10, "matmul": 1e11}
    monkeypatch.setattr(processors, "ceilings", lambda: known)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    processors.show_processors()
    assert len(shown[0].figure.axes) == 2
    assert f" × {width}: cores" in shown[0].figure.axes[0].get_title()


def test_published_figures() -> None:
    known = processors.published("NVIDIA H200")
    assert known.blocks == 132 and known.units == 128 and not known.measured
    with pytest.raises(KeyError):
        processors.published("a GPU that nobody built")


# --- what answers mean --------------------------------------------------------------------------------

NOTHING = {
    "torch.cuda.is_available()": False,
    "torch.cuda.device_count()": 0,
    "torch.cuda.get_device_name(i)": [],
    "torch.accelerator.is_available()": False,
    "torch.version.cuda": None,
    "driver_version": None,
    "torch.cuda.get_arch_list()": [],
    "torch.cuda.get_device_capability(i)": [],
    'shutil.which("nvcc") is not None': False,
    '"cuda" in LD_LIBRARY_PATH': False,
}
TWO_GPUS = {
    "torch.cuda.is_available()": True,
    "torch.cuda.device_count()": 2,
    "torch.cuda.get_device_name(i)": ["NVIDIA A", "NVIDIA B"],
    "torch.accelerator.is_available()": True,
    "torch.version.cuda": "13.0",
    "driver_version": "580.65.06",
    "torch.cuda.get_arch_list()": ["sm_80"],
    "torch.cuda.get_device_capability(i)": [(8, 6), (6, 1)],
    'shutil.which("nvcc") is not None': True,
    '"cuda" in LD_LIBRARY_PATH': True,
}


def test_answers_are_explained_alike_on_every_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_arch_list", lambda: ["sm_80"])
    nothing, two = answers.explained(NOTHING), answers.explained(TWO_GPUS)
    assert set(NOTHING) == set(TWO_GPUS) == set(answers.MEANINGS)
    for block in (nothing, two):
        assert_nested(block.html)
    assert without_marks(nothing.html) == without_marks(two.html), "only marked texts differ"
    for key, value in NOTHING.items():
        assert answers.MEANINGS[key](value) != answers.MEANINGS[key](TWO_GPUS[key]), key


def test_what_versions_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_arch_list", lambda: ["sm_80"])
    meaning = answers.MEANINGS
    assert (
        "580" in meaning["torch.version.cuda"]("13.0").en
        and "525" in meaning["torch.version.cuda"]("12.8").zh
    )
    assert meaning["driver_version"]("535.129.03").en == "runs programs built with CUDA 11, 12"
    assert "older than 11" in meaning["driver_version"]("440.1").en
    assert meaning["driver_version"]("[N/A]") == meaning["driver_version"](None)
    capabilities = meaning["torch.cuda.get_device_capability(i)"]
    assert (
        "no code for 6.1" in capabilities([(8, 6), (6, 1)]).en and "every card" in capabilities([(8, 6)]).en
    )
    assert "one device, cuda:0" in meaning["torch.cuda.device_count()"](1).en
    assert "cuda:0 to cuda:3" in meaning["torch.cuda.device_count()"](4).zh.replace(" 到 ", " to ")
    with pytest.raises(KeyError):
        answers.explained({"torch.cuda.is_there()": True})


def test_the_first_use_is_compared_with_the_quickest_later_one(monkeypatch: pytest.MonkeyPatch) -> None:
    programs: list[str] = []

    def run(program: str) -> str:
        programs.append(program)
        return "a line that a library printed\n250.5"

    monkeypatch.setattr(first_use, "run_fresh", run)
    assert first_use.first_over_later() == 250.5
    assert programs == [first_use.PROGRAM] and "cuda" in programs[0]


def test_the_first_use_needs_a_gpu() -> None:
    """On a CPU the ratio varies a thousandfold from run to run, so it is not measured there."""
    with pytest.raises(RuntimeError):
        run_fresh(first_use.PROGRAM, CUDA_VISIBLE_DEVICES="-1")


# --- what exercises show ------------------------------------------------------------------------------


def test_exercises_show_what_the_answer_did() -> None:
    table = checks.show_device_of(lambda job, devices: devices[job % len(devices)])
    assert "cuda:0 | 0, 3, 6" in table.text and "cuda:2 | 2, 5" in table.text
    assert "IndexError | 3, 4, 5, 6" in checks.show_device_of(lambda job, devices: devices[job]).text
    assert "cpu | False | False" in checks.show_on_gpu(lambda tensor: tensor.device.type == "cuda").text
    assert "cuda:1 | None | 0" in checks.show_physical(lambda visible, i: None).text
    rows = checks.show_intensity(lambda n: n / 6).text.splitlines()
    assert all("arithmetic" in row for row in rows[1:]), "an H200 does 14 float32 operations per byte"
    assert "memory" in checks.show_intensity(lambda n: 6 / n).text.splitlines()[1]


def test_the_picture_marks_the_chosen_gpu_and_the_answered_size() -> None:
    axes = checks.show_freest(lambda gpus: 1).figure.axes[0]
    free = axes.containers[1]
    assert [bar.get_facecolor() for bar in free].count(free[1].get_facecolor()) == 1
    assert len(checks.show_crossover(lambda *_: 256).figure.axes[0].lines) == 3
    assert len(checks.show_crossover(lambda *_: None).figure.axes[0].lines) == 2


@pytest.mark.parametrize("answer", [lambda *_: object(), lambda *_: "x" * 5000, lambda *_: 1 / 0])
def test_nonsense_is_shown_shortly(answer: Any) -> None:
    for show in (checks.show_on_gpu, checks.show_device_of, checks.show_intensity, checks.show_physical):
        block = show(answer)
        assert_nested(block.html)
        assert len(block.html) < 8000
