"""Lesson 03: number formats, rooflines and batch sizes against numbers by hand, and its histogram."""

import ast
import itertools
import math
from fractions import Fraction
from operator import attrgetter
from typing import Any

import numpy as np
import pytest
import torch
from html_nesting import assert_nested
from lesson_cells import calls
from unmarked import unmarked

from course_utils import lesson
from course_utils.explorer import Explorer
from course_utils.lesson_gpus import ready
from course_utils.tables import value
from lesson_03 import batch_size, float_formats, memory, number_formats, roofline_model, training
from lesson_03.float_formats import FORMATS
from lesson_03.magnitudes import histogram
from shared.charts import caption_and_parts
from shared.gpu_ratings import ratings

pytestmark = pytest.mark.usefixtures("no_warnings")


def texts(explorer: Explorer, **choices: Any) -> str:
    """Return all texts of the picture for `choices` (else the default ones); measured parts are in ⟨ ⟩."""
    picture = explorer.render(explorer.compute(**explorer.defaults() | choices))
    return "\n".join(
        str(text) for both in (picture.caption, picture.alternative) for text in (both.en, both.zh)
    )


# --- number formats ------------------------------------------------------------------------------------------

FACTS = {
    # name: (bytes, exponent, fraction, largest, smallest normal, smallest, eps), from the formats' definitions
    "float64": (8, 11, 52, (2 - 2.0**-52) * 2.0**1023, 2.0**-1022, 2.0**-1074, 2.0**-52),
    "float32": (4, 8, 23, (2 - 2.0**-23) * 2.0**127, 2.0**-126, 2.0**-149, 2.0**-23),
    "tf32": (4, 8, 10, (2 - 2.0**-10) * 2.0**127, 2.0**-126, 2.0**-136, 2.0**-10),
    "bfloat16": (2, 8, 7, (2 - 2.0**-7) * 2.0**127, 2.0**-126, 2.0**-133, 2.0**-7),
    "float16": (2, 5, 10, 65504.0, 2.0**-14, 2.0**-24, 2.0**-10),
    "float8_e5m2": (1, 5, 2, 57344.0, 2.0**-14, 2.0**-16, 2.0**-2),
    "float8_e4m3fn": (1, 4, 3, 448.0, 2.0**-6, 2.0**-9, 2.0**-3),
}


def stored(format: str, value: str) -> float_formats.Stored:
    return float_formats.compute(format=format, value=value)


@pytest.mark.parametrize("name", FORMATS)
def test_what_a_format_holds(name: str) -> None:
    kind = FORMATS[name]
    parts = attrgetter("bytes", "exponent", "fraction", "largest", "smallest_normal", "smallest", "eps")
    assert parts(kind) == FACTS[name] and set(FACTS) == set(FORMATS)
    assert 1 + kind.exponent + kind.fraction + kind.unused == 8 * kind.bytes
    assert kind.number(kind.pattern(1.0) + 1) - 1.0 == kind.eps
    assert kind.number(1) == kind.smallest and kind.number(kind.pattern(kind.largest)) == kind.largest
    assert not math.isfinite(kind.number(kind.pattern(kind.largest) + 1))


# The rest of the explorer's choices is compared with fractions below.
BY_HAND = [
    # format, value, stored, spacing, outcome
    ("float16", "0.1", 0.0999755859375, 2.0**-14, "rounded"),
    ("float16", "2048", 2048.0, 2.0, "exact"),
    ("float16", "65504", 65504.0, 32.0, "exact"),
    ("float16", "65519", 65504.0, 32.0, "rounded"),
    ("float16", "65520", math.inf, 32.0, "inf"),
    ("bfloat16", "65520", 65536.0, 512.0, "rounded"),
    ("float16", "1e-8", 0.0, 2.0**-24, "zero"),
    ("float16", "1e-5", 168 * 2.0**-24, 2.0**-24, "subnormal"),
    ("float32", "1e39", math.inf, 2.0**104, "inf"),
    # Ties go to the even fraction: 2049 lies between 2048 (even) and 2050, 2051 between 2050 and 2052 (even).
    ("tf32", "2049", 2048.0, 2.0, "rounded"),
    ("tf32", "2051", 2052.0, 2.0, "rounded"),
    ("tf32", "2047.5", 2048.0, 2.0, "rounded"),  # the carry reaches the exponent
    ("float64", "0.1", 0.1, 2.0**-56, "rounded"),
    ("float16", "1/16384", 2.0**-14, 2.0**-24, "exact"),
    ("float16", "1/32768", 2.0**-15, 2.0**-24, "subnormal"),
    ("float8_e5m2", "65504", math.inf, 8192.0, "inf"),
    ("float8_e4m3fn", "300", 288.0, 32.0, "rounded"),
    ("float8_e4m3fn", "1e-5", 0.0, 2.0**-9, "zero"),
]


@pytest.mark.parametrize("format, value, result, spacing, outcome", BY_HAND)
def test_numbers_by_hand(format: str, value: str, result: float, spacing: float, outcome: str) -> None:
    found = stored(format, value)
    assert (found.stored, found.spacing, found.outcome) == (result, spacing, outcome)


@pytest.mark.parametrize("format, value, place", [
    ("bfloat16", "257", 0.5), ("float16", "65520", 0.5), ("float16", "1e-8", 1e-8 * 2**24),
])  # fmt: skip
def test_the_position_between_two_numbers(format: str, value: str, place: float) -> None:
    assert stored(format, value).position == pytest.approx(place)


@pytest.mark.parametrize("value", ["465", "1e38"])
def test_overflow_of_e4m3fn_is_that_of_this_release(value: str) -> None:
    """PyTorch stored nan up to 2.11 or so; since then, the largest number."""
    found = stored("float8_e4m3fn", value)
    direct = torch.tensor(float(value)).to(torch.float8_e4m3fn).float().item()
    if math.isnan(direct):
        assert math.isnan(found.stored) and found.outcome == "nan"
    else:
        assert found.stored == direct == 448.0 and found.outcome == "saturated"
    assert found.centre == 448.0 and found.above is None and found.below == 416.0
    assert stored("float8_e4m3fn", "464").stored == 448.0, "a tie goes to the even number"
    assert stored("float8_e4m3fn", "464").outcome == "rounded"


def test_every_number_is_the_nearest_one() -> None:
    """The bits give the number, it is between its neighbours, and none of them is nearer."""
    for choices in number_formats.EXPLORER.grid():
        found, true = float_formats.compute(**choices), Fraction(choices["value"])
        kind = found.format
        assert found.sign == "0" and len(found.exponent) == kind.exponent
        assert len(found.fraction) == kind.fraction
        if not math.isfinite(found.stored):
            assert true > kind.largest and str(found.error) == str(found.stored) and found.above is None
            continue
        exponent, fraction = int(found.exponent, 2), Fraction(int(found.fraction, 2), 2**kind.fraction)
        bias = 2 ** (kind.exponent - 1) - 1
        made = (min(exponent, 1) + fraction) * Fraction(2) ** (max(exponent, 1) - bias)
        assert found.stored == made, choices
        distance = abs(Fraction(found.stored) - true)
        assert found.error == float(distance / true)
        if found.above is not None:
            assert found.stored < found.above == found.stored + found.spacing
            assert distance <= Fraction(found.spacing) / 2
        if found.below is not None:
            assert found.below < found.stored and distance <= abs(Fraction(found.below) - true)
        normal = found.outcome in ("exact", "rounded")
        assert normal == (found.stored >= kind.smallest_normal and found.outcome != "saturated")
        assert found.error <= kind.eps / 2 or not normal


def test_how_the_bits_give_the_number() -> None:
    normal, small = stored("float16", "0.1"), stored("float16", "1e-5")
    assert number_formats._formula(normal) == "= (1 + 614/1024) × 2⁻⁴ = 0.09997558594"
    assert number_formats._formula(small) == "= (0 + 168/1024) × 2⁻¹⁴ = 1.001358032e-05"
    assert "inf" in number_formats._formula(stored("float16", "65520"))


# --- roofline -----------------------------------------------------------------------------------------

FLOPS, BANDWIDTH = 70e9, 10e9
LAYER = {"operation": "x @ w", "batch": 1, "width": 1024, "dtype": "float32"}
HERE = LAYER | {"machine": roofline_model.MEASURED}


def roof(half: float | None = None, **choices: Any) -> roofline_model.Roofline:
    return roofline_model.compute(FLOPS, BANDWIDTH, half=half, **HERE | choices)


def test_a_linear_layer_by_hand() -> None:
    """2·1024² operations on 4·(1024² + 2·1024) bytes: a half per byte, so a fourteenth of the peak of 70 GFLOP/s."""
    result = roof()
    assert result.flops == 2_097_152 and result.bytes == 4_202_496
    assert result.intensity == pytest.approx(0.499, abs=1e-3) and result.ridge == 7.0
    assert result.attainable == pytest.approx(4.99e9, rel=1e-3) and result.bound == "memory"
    assert result.share == pytest.approx(0.499 / 7, rel=1e-3)
    assert result.seconds == pytest.approx(4_202_496 / 10e9), "the bytes alone decide"
    large = roof(batch=1024)
    assert large.flops == 2 * 1024**3 and large.bytes == 12 * 1024**2
    assert large.bound == "compute" and large.share == 1.0
    assert large.seconds == pytest.approx(2 * 1024**3 / 70e9)


@pytest.mark.parametrize(
    "operation, flops, size, intensity", [("x + y", 1, 12, 1 / 12), ("gelu(x)", 5, 8, 5 / 8)]
)
def test_elementwise_by_hand(operation: str, flops: int, size: int, intensity: float) -> None:
    for batch in (1, 64):
        result = roof(operation=operation, batch=batch)
        assert (result.flops, result.bytes) == (flops * batch * 1024, size * batch * 1024)
        assert result.intensity == pytest.approx(intensity) and result.compute_bound_from is None
        half = roof(operation=operation, batch=batch, dtype="bfloat16")
        assert half.intensity == pytest.approx(2 * intensity) and half.seconds == result.seconds / 2


def test_a_point_is_never_above_the_roofline() -> None:
    for choices in roofline_model.explorer(FLOPS, BANDWIDTH).grid():
        result = roofline_model.compute(FLOPS, BANDWIDTH, **choices)
        line = result.intensity * result.bandwidth
        assert result.attainable <= line and result.seconds >= result.bytes / result.bandwidth * (1 - 1e-12)
        assert (result.intensity, result.attainable) in result.sweep
        assert [y for _, y in result.sweep] == sorted(y for _, y in result.sweep)
        xs = [x for x, _ in result.sweep]
        assert xs == sorted(set(xs)) or choices["operation"] != "x @ w", "grows with the batch"
        assert result.attainable == min(result.peak, line) and 0 < result.share <= 1
        assert (result.bound == "compute") == (result.share == 1.0)


def test_from_which_batch_on_a_layer_is_bound_by_arithmetic() -> None:
    for width, dtype in itertools.product((16, 27, 29, 256, 1024, 4096), ("float32", "bfloat16")):
        first = roof(width=width, dtype=dtype).compute_bound_from
        if first is None:
            assert roof(width=width, dtype=dtype, batch=10**9).bound == "memory"
        else:
            assert roof(width=width, dtype=dtype, batch=first).bound == "compute"
            assert first == 1 or roof(width=width, dtype=dtype, batch=first - 1).bound == "memory"
    assert roof(width=27).compute_bound_from is None, "27 / 4 operations per byte are fewer than 7"
    assert roof().compute_bound_from == 15  # 4·7·1024 / (2·(1024 − 28)) = 14.4
    slow = roofline_model.compute(1e9, 1e10, **HERE | {"operation": "gelu(x)"})
    assert slow.compute_bound_from == 1 and slow.bound == "compute"


def test_half_precision_doubles_the_intensity_and_has_its_own_peak() -> None:
    single, same, own = roof(), roof(dtype="bfloat16"), roof(half=280e9, dtype="bfloat16")
    assert same.bytes == own.bytes == single.bytes / 2
    assert (single.peak, same.peak, own.peak) == (FLOPS, FLOPS, 280e9)
    assert (single.assumed, same.assumed, own.assumed) == (False, True, False)
    assert roof(half=280e9).peak == FLOPS
    choices = roofline_model.explorer(FLOPS, BANDWIDTH).defaults() | {"dtype": "bfloat16"}
    assert roofline_model.explorer(FLOPS, BANDWIDTH, 280e9).compute(**choices).peak == 280e9


def test_published_machines_have_their_published_figures() -> None:
    for name, row in ratings().items():
        result = roof(machine=name, dtype="bfloat16", half=1.0)
        assert (result.peak, result.bandwidth, result.assumed) == (row["half"], row["bandwidth"], False)
    assert roof(machine="NVIDIA H200", batch=8192).peak == 67e12


def test_the_roofline_marks_what_depends_on_the_machine() -> None:
    """Also the words: on another machine the other limit may apply, or half precision was measured."""
    explorer = roofline_model.explorer(FLOPS, BANDWIDTH)
    mine, fast = texts(explorer), texts(roofline_model.explorer(1000 * FLOPS, BANDWIDTH))
    assert mine != fast and unmarked(mine) == unmarked(fast)
    assert "33.6 MFLOP / 4.33 MB = 7.76 FLOP/B" in unmarked(mine)
    half, measured = (
        texts(roofline_model.explorer(FLOPS, BANDWIDTH, h), dtype="bfloat16") for h in (None, FLOPS)
    )
    assert half != measured and unmarked(half) == unmarked(measured)
    assert "⟨" not in texts(explorer, machine="NVIDIA L4"), "published figures are the same everywhere"


# --- batch size --------------------------------------------------------------------------------------------

SIZES = [2**k for k in range(13)]
STEPS = (SIZES, [1e-3 + 1e-5 * b for b in SIZES])  # 1 ms, and 10 µs for every example
BYTES = ([16, 64, 256, 1024], [10e6 + 5e4 * b for b in (16, 64, 256, 1024)])
CHOICES = {"batch": 64, "accumulate": 1, "examples": 1437, "memory": 100e6}


def batch(points: Any = STEPS, bytes_points: Any = BYTES, **choices: Any) -> batch_size.Batch:
    return batch_size.compute(points, bytes_points, **CHOICES | choices)


def test_a_batch_by_hand() -> None:
    """64 examples take 1.64 ms: 39,024 per second; 1437 examples are 23 steps, the last one not full."""
    result = batch()
    assert result.seconds == pytest.approx(1.64e-3) and result.throughput == pytest.approx(39_024, abs=1)
    assert result.effective == 64 and result.updates == 23
    four = batch(accumulate=4)
    assert (four.effective, four.updates) == (256, 6)
    assert (four.epoch_seconds, four.memory.used) == (result.epoch_seconds, result.memory.used)
    assert result.epoch_seconds == pytest.approx(23 * 1.64e-3)
    assert result.memory.fixed == pytest.approx(10e6) and result.memory.per_example == pytest.approx(5e4)
    assert result.memory.used == pytest.approx(13.2e6) and result.memory.fits
    assert result.memory.largest == 1024, "90 MB are left for 50 kB each: 1800"


def test_the_knee_by_hand() -> None:
    """4096 examples in 41.96 ms are 97,617 per second; four fifths of that are reached from 357 examples on."""
    assert batch().knee == 512
    assert batch(points=([1, 2, 4], [1.0, 1.0, 4.0])).knee == 2, "of the best, not of the last"
    assert np.allclose(batch().throughputs, [b / s for b, s in zip(*STEPS, strict=True)])


def test_a_smaller_batch_than_the_smallest_measured_one_is_not_quicker() -> None:
    assert batch(([2, 8, 32], [1e-3, 2e-3, 5e-3]), batch=1).seconds == pytest.approx(1e-3)


def test_what_fits() -> None:
    assert batch(memory=10.05e6).memory.largest == 1
    tight = batch(memory=10.04e6).memory
    assert tight.largest is None and not tight.fits
    found = [batch(memory=m).memory.largest or 0 for m in (1e6, 1e7, 2e7, 1e8, 1e9, 8e9)]
    assert found == sorted(found) and found[-1] == 2**17
    for budget, size in itertools.product((11e6, 50e6, 100e6), SIZES):
        room = batch(memory=budget, batch=size).memory
        assert room.fits == (size <= room.largest)


def test_memory_that_a_line_cannot_explain() -> None:
    for noise in (0, 0.4):  # an example cannot cost a part of a byte
        flat = batch(bytes_points=([1, 2, 4], [8e6, 8e6 + noise, 8e6 + 3 * noise])).memory
        assert flat.per_example == 0 and flat.fixed == pytest.approx(8e6)
        assert flat.largest == math.inf
    falling = batch(bytes_points=([1, 2], [9e6, 8e6])).memory
    assert falling.per_example == 0 and falling.used == pytest.approx(8.5e6)
    steep = batch(bytes_points=([1, 2], [1e6, 3e6])).memory  # the line would start below zero
    assert steep.fixed == 0 and steep.per_example == pytest.approx(7e6 / 5)


def test_without_measured_memory_there_is_no_memory() -> None:
    explorer = batch_size.explorer(STEPS)
    assert [control.name for control in explorer.controls] == ["batch", "accumulate", "examples"]
    assert explorer.compute(**explorer.defaults()).memory is None
    assert "emory" not in texts(explorer) and "emory" in texts(batch_size.explorer(STEPS, BYTES))


@pytest.mark.parametrize("points", [
    ([1], [1.0]), ([2, 1], [1.0, 1.0]), ([1, 2], [1.0]), ([0, 1], [1.0, 1.0]), ([1, 2], [1.0, 0.0]),
])  # fmt: skip
def test_too_few_or_unordered_points_are_refused(points: Any) -> None:
    for name in ("points", "bytes_points"):
        with pytest.raises(ValueError, match="at least two batch sizes"):
            batch(**{name: points})


# --- histogram ----------------------------------------------------------------------------------------


def test_a_histogram_counts_powers_of_two_and_no_zeros(shown: list[Any]) -> None:
    lesson.use("03")
    groups = {"raw": [0.0, 2**-20, -(2**-18)], "scaled": torch.tensor([0.5, 2.0])}
    marks = {"zero": 2**-25, "digits": 2**-14, "inf": 65504}
    histogram("gradients", groups, marks=marks)
    assert_nested(shown[0].html(small=False))
    drawn = shown[0].figure.axes[0]
    filled = {(round(bar.get_x()), round(bar.get_height())) for bar in drawn.patches if bar.get_height()}
    assert filled == {(-20, 50), (-18, 50), (-1, 50), (1, 50)}
    assert [2 ** line.get_xdata()[0] for line in drawn.lines] == pytest.approx([*marks.values()])
    _, parts = caption_and_parts("gradients")
    assert [text.get_text() for text in drawn.texts] == [f"{parts[m].en}\n{parts[m].zh}" for m in marks]
    assert [text.get_text() for text in drawn.get_legend().get_texts()] == [parts[g].label for g in groups]
    with pytest.raises(ValueError, match="has texts for"):
        histogram("gradients", groups, marks={})


# --- TF32, memory, training ---------------------------------------------------------------------------


def test_a_tensor_rounded_to_tf32_is_what_the_format_stores() -> None:
    values = [0.1, 1 / 3, 1.0, -3.14159265, 257.0, 2047.5, 1e-30, 1e38]
    rounded = float_formats.as_tf32(torch.tensor(values, dtype=torch.float32))
    kind = FORMATS["tf32"]
    assert rounded.tolist() == [math.copysign(kind.number(kind.pattern(abs(v))), v) for v in values]


def test_a_cpus_float64_may_cost_two_as_in_vector_units_or_four_as_in_an_apple_chip() -> None:
    """Published for an M2 Max and n = 256: 889 and 251 GFLOP/s (AppleAccelerate.jl, docs/src/benchmarks.md)."""
    ((_, call),) = [found for found in calls("claim") if ast.literal_eval(found[1].args[0]) == "3.4-cpu"]
    limits = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
    assert all(1.2 * limits["at_least"] < ratio < limits["at_most"] / 1.2 for ratio in (2.0, 889 / 251, 4.0))


def test_bytes_kept_for_the_backward_pass_by_hand() -> None:
    """A linear layer keeps its input; the ReLU its output, which is the input of the next layer; the loss its
    log-probabilities and the labels. The sum of the loss's weights (4 bytes) is kept as well."""
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    x, y = torch.rand(32, 8), torch.zeros(32).long()
    kept = memory.kept_for_backward(model, x, y)
    expected = 32 * (4 * 8 + 4 * 16 + 4 * 4 + 8)
    assert expected <= kept <= expected + 4
    assert memory.kept_for_backward(model, x, y, torch.float32) == kept
    half = memory.kept_for_backward(model, x, y, torch.bfloat16)
    copies = 2 * (8 * 16 + 16 * 4)  # of the weights, in 16 bits
    assert half < kept + copies and half != kept


def test_bytes_of_a_training_step_by_hand() -> None:
    def step(optimizer: Any) -> dict[str, int]:
        model = torch.nn.Linear(8, 4)
        return memory.training_bytes(model, torch.rand(32, 8), torch.zeros(32).long(), optimizer)

    weights = 4 * (8 * 4 + 4)
    plain, adam = step(torch.optim.SGD), step(torch.optim.Adam)
    assert plain["weights"] == plain["gradients"] == weights and plain["optimizer"] == 0
    assert adam["optimizer"] == 2 * weights + 2 * 4  # two averages, and each parameter's number of steps
    assert plain["activations"] == adam["activations"] > 32 * 4 * 8


def test_the_limit_of_memory_is_put_back() -> None:
    (card,) = ready(1)
    held = torch.empty(2**20, dtype=torch.uint8, device=card)
    with pytest.raises(torch.OutOfMemoryError), memory.at_most(2**20, card) as allowed:
        assert allowed == torch.get_device_module(card).memory_reserved(card) + 2**20
        torch.empty(2**20, dtype=torch.uint8, device=card)  # fits, and is given back
        torch.empty(2**21, dtype=torch.uint8, device=card)
    assert torch.empty(2**21, dtype=torch.uint8, device=card).nbytes == 2 * held.nbytes


@pytest.mark.parametrize("dtype, out", [
    (None, torch.float32), (torch.float32, torch.float32), (torch.bfloat16, torch.bfloat16),
])  # fmt: skip
def test_only_a_short_type_switches_autocast_on(dtype: torch.dtype | None, out: torch.dtype) -> None:
    layer, device = torch.nn.Linear(2, 2), torch.device("cpu")
    with training.mixed(device, dtype):
        assert torch.is_autocast_enabled("cpu") == (out is torch.bfloat16)
        assert layer(torch.ones(1, 2)).dtype == out


# --- tables of what an answer did ---------------------------------------------------------------------


def test_values_are_short() -> None:
    assert [value(found) for found in (1234567, 0.1234567, True)] == ["1,234,567", "0.123457", "`True`"]
    assert len(value("x" * 60)) <= 42
