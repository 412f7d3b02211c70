"""Lesson 01: its explorers against numbers by hand, nvidia-smi with and without a driver, and the processors."""

import math
import os
import re
import subprocess
from typing import Any

import numpy as np
import pytest
import torch
from html_nesting import assert_nested
from tabled import tabled
from unmarked import unmarked

from course_utils import lesson_gpus, recordings, run_mode
from course_utils.exercises import exercises_of
from course_utils.measure import is_modelled
from lesson_01 import answers, matmul_crossover, nvidia_smi, processors, timing, visible_devices
from lesson_01.processors import Processor
from shared import host_clock
from shared.gpu_ratings import ratings
from shared.measured_curve import loglog_interpolate

pytestmark = pytest.mark.usefixtures("no_warnings")

# --- crossover ----------------------------------------------------------------------------------------

SIZES = [16, 32, 64, 128, 256, 512, 1024, 2048]


def curve(gflops: float = 60) -> tuple[list[int], list[float]]:
    """Return the curve of a CPU core with so many GFLOP/s."""
    return SIZES, [2e-6 + 2 * n**3 / (gflops * 1e9) for n in SIZES]


def test_crossover_by_hand() -> None:
    """The GPU does 8e12 operations, or moves 500e9 bytes, a second: the bytes take longer below n = 96."""
    result = matmul_crossover.compute(([10, 1000], [1e-6, 1e-1]), launch=1e-6, speed=8e12, link=12e9)
    for about, seconds in ((10, lambda n: 12 * n**2 / 500e9), (1000, lambda n: 2 * n**3 / 8e12)):
        place = int(np.argmin(np.abs(result.sizes - about)))
        n = float(result.sizes[place])
        assert result.gpu[place] == pytest.approx(1e-6 + 12 * n**2 / 12e9 + seconds(n), rel=1e-9)
    assert result.cpu[[0, -1]] == pytest.approx([1e-6, 1e-1 * (result.sizes[-1] / 1000) ** 3])


def test_the_gpu_is_ahead_from_the_crossover_on_and_not_just_before() -> None:
    for choices in matmul_crossover.explorer(curve()).grid():
        result = matmul_crossover.compute(curve(), **choices)
        ahead = result.gpu < result.cpu
        if result.wins_from is None:
            assert not ahead[-1]
        else:
            place = int(np.flatnonzero(result.sizes == result.wins_from)[0])
            assert ahead[place:].all() and (place == 0 or not ahead[place - 1])


@pytest.mark.parametrize("gflops", [5, 60, 200, 1500])
def test_a_faster_gpu_hardly_moves_the_crossover(gflops: float) -> None:
    """The lesson says so for 50 instead of 8 TFLOP/s, whatever the CPU: at the crossover the launch takes longer."""
    slow, fast = (
        matmul_crossover.compute(curve(gflops), launch=10e-6, speed=speed, link=None).wins_from
        for speed in (8e12, 50e12)
    )
    assert slow is not None and fast is not None and fast <= slow <= 1.15 * fast
    assert 2 * slow**3 / 8e12 < 10e-6


@pytest.mark.parametrize("gpu, first", [
    ([1, 1, 1], 10), ([20, 200, 2000], math.inf), ([100, 100, 100], 101),
    ([5, 200, 300], 233),  # for good only the second time
])  # fmt: skip
def test_where_a_measured_gpu_begins_to_win(gpu: list[float], first: int) -> None:
    """The CPU takes n seconds for size n. In the last case the GPU takes 200 (n / 100)^0.176 from 100 on."""
    found = matmul_crossover.wins_from(([10, 100, 1000], [10, 100, 1000]), ([10, 100, 1000], gpu))
    assert found == pytest.approx(first, rel=0.015)


@pytest.mark.parametrize("power", [1, 3])
def test_a_curve_is_linear_in_log_log_space_and_a_power_law_beyond(power: int) -> None:
    points = np.array([1.0, 100.0]), np.array([10.0, 1000.0])
    found = loglog_interpolate(points, np.array([0.5, 1.0, 10.0, 100.0, 200.0]), power)
    assert found == pytest.approx([10, 10, 100, 1000, 1000 * 2**power])


# --- visibility ---------------------------------------------------------------------------------------


@tabled
def test_visibility_by_hand(value: str, rows: list[list[int]]) -> None:
    for count, visible in enumerate(rows, start=1):
        assert list(visible_devices.compute(value=value, count=count).visible) == visible, count


@pytest.mark.parametrize("mine", [None, "1,2", ""])
def test_the_learners_own_variable_is_kept(mine: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if mine is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", mine)
    visible_devices.compute(value="1", count=2)
    assert os.environ.get("CUDA_VISIBLE_DEVICES") == mine
    monkeypatch.setattr(torch.cuda, "_parse_visible_devices", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        visible_devices.compute(value="0", count=1)
    assert os.environ.get("CUDA_VISIBLE_DEVICES") == mine, "the parser failed"


# --- nvidia_smi ---------------------------------------------------------------------------------------


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


def test_where_there_is_a_driver_its_output_is_shown_and_noted_without_other_peoples_jobs(smi: Any) -> None:
    box = "+---+\n| <GPU 0> |\n+---+"
    live = f"{box}\n\n+---+\n| Processes:    |\n| 0  a secret job |\n+---+"
    noted = smi((0, live, ""), {"text": "recorded", "run": "an H200"})
    shown = nvidia_smi.nvidia_smi().html
    assert "&lt;GPU 0&gt;" in shown and "a secret job" in shown
    assert noted == [("curve", "nvidia-smi", {"text": box})]


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
        forms.add((unmarked(block.html), unmarked(block.text)))
    assert len(forms) == 1


# --- processors ---------------------------------------------------------------------------------------

CPU = Processor("A CPU", False, 4, 8, 16e9, 2e10, True)
YOUR_GPU = Processor("A GPU of an unknown kind with a long name", True, 30, 64, 8e9, 3e11, True)
CAPABILITIES = {"T4": (7, 5), "V100": (7, 0), "A100": (8, 0), "H": (9, 0), "B200": (10, 0), "50": (12, 0)}


@pytest.mark.parametrize("name", ratings())
def test_the_cuda_cores_of_a_multiprocessor_follow_from_its_compute_capability(name: str) -> None:
    capability = next((found for part, found in CAPABILITIES.items() if part in name), (8, 9))
    rated = ratings()[name]
    assert processors.cuda_cores(capability) == rated["cuda_cores"] / rated["multiprocessors"]


def test_the_picture_counts_the_numbers_of_one_step_on_both_sides() -> None:
    picture = processors.picture([CPU, processors.published()])
    cpu, gpu = picture.figure.axes
    assert (len(cpu.patches), len(gpu.patches)) == (4, 132)
    assert [len(dots.get_offsets()) for dots in gpu.collections] == [128] * 132
    assert [len(dots.get_offsets()) for dots in cpu.collections] == [8] * 4
    assert "4 × 8: cores" in cpu.get_title() and "132 × 128: SMs × CUDA cores" in gpu.get_title()
    (long,) = processors.picture([YOUR_GPU]).figure.axes
    assert long.get_title().startswith("A GPU of an unknown kind with a …\n30 × 64")


def test_the_caption_counts_by_hand_and_is_the_same_everywhere_but_for_its_marks() -> None:
    """4 · 8 numbers on the CPU; 132 · 128 and 30 · 64 on the GPUs, with 240 and 15 times the bandwidth."""
    known, yours = (processors._caption(CPU, gpu) for gpu in (processors.published(), YOUR_GPU))
    for text, numbers in ((known, ("32", "16,896", "240")), (yours, ("32", "1,920", "15"))):
        assert all(re.search(rf"\b{number}\b", text.en) for number in numbers)
    for language in ("en", "zh"):
        assert len({unmarked(getattr(text, language)) for text in (known, yours)}) == 1


def test_a_bandwidth_that_may_be_that_of_caches_is_not_called_measured() -> None:
    picture = processors.picture([Processor("A CPU", False, 4, 8, 16e9, 2e10, True, cached=True), YOUR_GPU])
    cpu, gpu = (axes.texts[0].get_text() for axes in picture.figure.axes)
    assert "may be cache" in cpu and "measured" not in cpu and "measured" in gpu
    assert "at least 15 times" in picture.caption.en and "至少" in picture.caption.zh


@pytest.mark.parametrize("capability, width", [("AVX512", 16), ("AVX2", 8), ("NEW", 4)])
def test_the_width_of_this_machines_vectors(
    capability: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processors, "ceilings", lambda: {"copy": 2e10, "host_copy": 2e10})
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    assert processors.here()[0].units == width


# --- what answers mean --------------------------------------------------------------------------------

ANSWERS: dict[str, tuple[Any, Any]] = {  # without a GPU, and with two
    "torch.cuda.is_available()": (False, True),
    "torch.cuda.device_count()": (0, 2),
    "torch.cuda.get_device_name(i)": ([], ["NVIDIA A", "NVIDIA B"]),
    "torch.accelerator.is_available()": (False, True),
    "torch.version.cuda": (None, "13.0"),
    "driver_version": (None, "580.65.06"),
    "torch.cuda.get_arch_list()": ([], ["sm_80"]),
    "torch.cuda.get_device_capability(i)": ([], [(8, 6), (6, 1)]),
    'shutil.which("nvcc") is not None': (False, True),
    '"cuda" in LD_LIBRARY_PATH': (False, True),
}


def test_answers_are_explained_alike_on_every_machine() -> None:
    nothing, two = (answers.explained({key: both[i] for key, both in ANSWERS.items()}) for i in (0, 1))
    assert set(ANSWERS) == set(answers.TEXTS)
    for block in (nothing, two):
        assert_nested(block.html)
    assert unmarked(nothing.html) == unmarked(two.html), "only marked texts differ"
    for key, (without, with_two) in ANSWERS.items():
        assert answers.meaning(key, without) != answers.meaning(key, with_two)


@tabled
def test_what_an_answer_means(key: str, value: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_arch_list", lambda: ["sm_80"])
    assert words in answers.meaning(key, value).en


def test_amd_gpus_whose_code_has_other_names_are_not_said_to_have_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.version, "hip", "7.0")
    monkeypatch.setattr(torch.cuda, "get_arch_list", lambda: ["gfx942"])
    assert "every card" in answers.meaning("torch.cuda.get_device_capability(i)", [(9, 4)]).en


def test_beside_a_practice_gpu_the_clock_is_modelled_and_the_answer_names_it() -> None:
    assert not is_modelled(host_clock.clock())
    lesson_gpus.ready()
    assert is_modelled(host_clock.clock())
    assert "the practice GPU" in answers.meaning("torch.accelerator.is_available()", True).en


def test_the_first_use_is_compared_with_the_quickest_later_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "run_fresh", {timing.PROGRAM: "what a library printed\n250.5"}.get)
    assert timing.first_over_later() == 250.5


# --- what exercises show ------------------------------------------------------------------------------


@pytest.mark.parametrize("name, answer, line", [
    ("device_of", lambda job, devices: devices[job % len(devices)], "cuda:0 | 0, 3, 6"),
    ("device_of", lambda job, devices: devices[job], "IndexError | 3, 4, 5, 6"),
    ("on_gpu", lambda tensor: tensor.device.type == "cuda", "cpu | False | False"),
    ("on_gpu", lambda tensor: "x" * 5000, f"cpu | {'x' * 39}… | False"),
    ("physical", lambda visible, i: None, "cuda:1 | None | 0"),
    # an H200 does 14 float32 operations per byte
    ("intensity", lambda n: n / 6, "1,024 | 170.667 | arithmetic · 運算"),
    ("intensity", lambda n: 6 / n, "1,024 | 0.00585938 | memory · 記憶體"),
])  # fmt: skip
def test_tables_show_what_the_answer_did(name: str, answer: Any, line: str) -> None:
    assert line in exercises_of("01")[name].show(answer).text.splitlines()
