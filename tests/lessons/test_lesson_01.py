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
from course_utils.gpu_ratings import cuda_cores, ratings
from lesson_01 import matmul_crossover, nvidia_smi, processors, visible_devices
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


@pytest.mark.parametrize(
    "curve", [([16], [1e-6]), ([32, 16], [1e-6, 1e-6]), ([16, 16], [1e-6, 1e-6]), ([], [])]
)
def test_too_few_or_unordered_sizes_are_refused(curve: Any) -> None:
    with pytest.raises(ValueError, match="two ascending sizes"):
        matmul_crossover.compute(curve, launch=1e-5, speed=1e12, link=None)


# --- visibility ---------------------------------------------------------------------------------------

BY_HAND = {
    # value: what a program sees on a machine with 1, 2, 3 and 4 GPUs
    "(unset)": [(0,), (0, 1), (0, 1, 2), (0, 1, 2, 3)],
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


def test_visibility_properties() -> None:
    for value in visible_devices.VALUES:
        before: tuple[int, ...] = ()
        for count in (1, 2, 3, 4):
            visible = visible_devices.compute(value=value, count=count).visible
            assert len(set(visible)) == len(visible) and all(0 <= index < count for index in visible)
            assert visible[: len(before)] == before, "another GPU in the machine takes nothing away"
            before = visible


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
    unset = visible_devices.render(visible_devices.compute(value="(unset)", count=3))
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
    noted = smi((0, "| live output |", ""), {"text": "recorded", "run": "an H200"})
    assert "| live output |" in nvidia_smi.nvidia_smi().html
    assert noted == [("curve", "nvidia-smi", {"text": "| live output |"})]


@pytest.mark.parametrize(
    "result", [FileNotFoundError(), (9, "", "failed"), subprocess.TimeoutExpired("nvidia-smi", 20)]
)
def test_without_a_driver_a_recording_is_shown_and_named(result: Any, smi: Any) -> None:
    noted = smi(result, {"text": "| recorded output |", "run": "an H200, 2026"})
    block = nvidia_smi.nvidia_smi()
    assert "| recorded output |" in block.html and block.html.count("an H200, 2026") == 2 and not noted


def test_without_any_recording_a_published_example_is_shown(smi: Any) -> None:
    smi(FileNotFoundError(), None)
    block = nvidia_smi.nvidia_smi()
    assert "H100 80GB" in block.html and nvidia_smi._PUBLISHED_BY in block.html
    assert len({len(line) for line in nvidia_smi.PUBLISHED_SMI.splitlines()}) == 1, "the frame is straight"


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

CPU = Processor("A CPU", False, 4, None, 16e9, 2e10, True)


@pytest.mark.parametrize("name", ratings())
def test_the_lanes_of_a_multiprocessor_follow_from_its_compute_capability(name: str) -> None:
    capabilities = {
        "T4": (7, 5),
        "V100": (7, 0),
        "A100": (8, 0),
        "H100": (9, 0),
        "H200": (9, 0),
        "50": (12, 0),
    }
    capability = next((found for key, found in capabilities.items() if key in name), (8, 9))
    assert cuda_cores(capability) == ratings()[name]["cuda_cores"] / ratings()[name]["multiprocessors"]


YOUR_GPU = Processor("A GPU of an unknown kind with a long name", True, 30, None, 8e9, 3e11, True)


@pytest.mark.parametrize("pair", [[CPU, processors.published()], [CPU, YOUR_GPU], [YOUR_GPU]])
def test_processors_are_drawn_in_both_languages(pair: list[Processor]) -> None:
    picture = processors.picture(pair)
    assert_nested(picture.html(small=False))
    assert len(picture.figure.axes) == len(pair)
    assert "times as many bytes" in picture.caption.en and "倍" in picture.caption.zh


def test_the_picture_counts_cores_and_cuda_cores() -> None:
    cpu, gpu = processors.picture([CPU, processors.published()]).figure.axes
    assert (len(cpu.patches), len(gpu.patches)) == (4, 132)
    assert [len(dots.get_offsets()) for dots in gpu.collections] == [128] * 132 and not cpu.collections
    assert cpu.get_title() == "A CPU\n4 cores · 核心" and gpu.get_title().endswith(
        "132 × 128 lanes · 運算單元"
    )
    (unknown,) = processors.picture([YOUR_GPU]).figure.axes
    assert unknown.get_title() == "A GPU of an unknown kind with a …\n30 multiprocessors · 多處理器"
    assert not unknown.collections, "the number of CUDA cores is not known"


def test_the_caption_says_whose_numbers_they_are() -> None:
    known, yours = (processors._caption(CPU, gpu) for gpu in (processors.published(), YOUR_GPU))
    assert "NVIDIA H200 (published figures" in known.en and "16,896 in all" in known.en
    assert "240 times" in known.en and "240 倍" in known.zh
    assert "your GPU. The" in yours.en and "15 times" in yours.en
    # What depends on the GPU is inside of one mark, so every machine has the same caption.
    for language in ("en", "zh"):
        assert len({re.sub("⟨[^⟩]*⟩", "@", getattr(text, language)) for text in (known, yours)}) == 1


def test_this_machines_processors_are_shown(shown: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"copy": 2e10, "host_copy": 2e10, "matmul": 1e11}
    monkeypatch.setattr(processors, "ceilings", lambda: known)
    processors.show_processors()
    assert len(shown[0].figure.axes) == 2


def test_published_figures() -> None:
    known = processors.published("NVIDIA H200")
    assert known.blocks == 132 and known.cuda_cores == 128 and not known.measured
    with pytest.raises(KeyError):
        processors.published("a GPU that nobody built")


def test_the_share_of_the_rating(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processors, "ceilings", lambda: {"copy": 4e12, "half": 7e14})
    monkeypatch.setattr(processors, "rating", lambda quantity: {"bandwidth": 5e12, "half": 1e15}[quantity])
    assert math.isclose(processors.share_of_rating("copy"), 0.8)
    assert math.isclose(processors.share_of_rating("half"), 0.7)
    monkeypatch.setattr(processors, "rating", lambda _: None)
    with pytest.raises(LookupError, match="no rating for 'copy'"):
        processors.share_of_rating("copy")
