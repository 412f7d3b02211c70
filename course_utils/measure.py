"""Measuring: which of two ways is faster, and how long one takes.

Machines are noisy: other programs take the processor away for milliseconds. Two habits make a comparison
reliable all the same. The two ways take turns (A B B A …), so that both meet the same noise; and each is judged by
its *fastest* sample, since noise only ever adds time. Lesson 04 builds these habits in the open.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from course_utils import lesson_gpus, run_mode
from course_utils.torch_state import preserved_state

Action = Callable[[], Any]

SAMPLE_SECONDS = 1e-3  # short enough that some samples escape being interrupted, long enough for the clock
WARM_UP_SECONDS = 0.05  # a GPU needs work before it raises its clock
DEFAULT_PAIRS = 15


@dataclass(frozen=True)
class Comparison:
    """How long `a` takes, measured in turns with `b`.

    Attributes:
        ratio: Fastest time of `a` / fastest time of `b` (2.0 = `a` takes twice as long). What claims judge.
        quartile_ratio: Lower quartile of the times of `a` / lower quartile of those of `b`. The second estimate of
            claims: it does not depend on single samples, as `ratio` does.
        a_seconds: Fastest time of one call of `a`, in seconds.
        b_seconds: The same for `b`.
        pairs: How many samples each got.
        a: What was measured, so that it can be measured again.
        b: What it was compared with.
    """

    ratio: float
    quartile_ratio: float
    a_seconds: float
    b_seconds: float
    pairs: int
    a: Action = field(repr=False, compare=False)
    b: Action = field(repr=False, compare=False)

    def again(self, pairs: int) -> "Comparison":
        """Measure the same two callables once more with `pairs` samples each."""
        return compare(self.a, self.b, pairs=pairs)


def synchronize() -> None:
    """Wait until the current GPU has done its queued work; without a GPU there is nothing to wait for."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _sample(action: Action, calls: int) -> float:
    """Return the seconds per call over `calls` calls, the device's work included."""
    synchronize()
    start = time.perf_counter()
    for _ in range(calls):
        action()
    synchronize()
    return (time.perf_counter() - start) / calls


def _warm_up(action: Action) -> int:
    """Warm `action` up and return how many calls make one sample of about a millisecond."""
    if run_mode.on("recorded"):
        return 1  # what is shown was recorded: one call has the effects that the next cells need
    fastest, begin, calls = float("inf"), time.perf_counter(), 0
    enough = WARM_UP_SECONDS if torch.cuda.is_available() else 0.0
    while calls < 3 or time.perf_counter() - begin < enough:
        fastest = min(fastest, _sample(action, 1))
        calls += 1
    return max(1, round(SAMPLE_SECONDS / max(fastest, 1e-8)))


def is_modelled(value: object) -> bool:
    """Return whether `value`, or a number in it, comes from the clock of a practice GPU."""
    if isinstance(value, (dict, list, tuple)):
        return any(map(is_modelled, value.values() if isinstance(value, dict) else value))
    return type(value).__module__.startswith("practice_gpu")


def _modelled(action: Action) -> float | None:
    """Return what `action` takes by the clock of the practice GPUs; None if it does not use them.

    Of two calls the second counts: the first one may prepare something. The model gives the same each time.
    """
    if (before := lesson_gpus.clock(wait=False)) is None:
        return None
    action()
    if lesson_gpus.clock(wait=False) == before:
        return None
    begin = lesson_gpus.clock()
    action()
    return lesson_gpus.clock() - begin


def compare(a: Action, b: Action, *, pairs: int = DEFAULT_PAIRS) -> Comparison:
    """Measure how much longer `a` takes than `b`, in turns, on one CPU thread, and judge each by its fastest sample.

    With ``COURSE_MODE=recorded``, each is called once. What runs on a practice GPU takes the time of its clock: the ratio
    is modelled, and carries the word.

    Args:
        a: Called without arguments; its result is thrown away. What it queues on the GPU is waited for.
        b: The same, for what `a` is compared with.
        pairs: Samples of each, at least 3. A sample repeats a quick callable until it fills a millisecond.

    Returns:
        A :class:`Comparison`; its ``ratio`` says how many times longer `a` takes.

    Raises:
        TypeError: `a` or `b` cannot be called, or only one of them runs on a practice GPU.
        ValueError: Fewer than 3 pairs.
    """
    for name, action in (("a", a), ("b", b)):
        if not callable(action):
            raise TypeError(
                f"compare() needs two functions to call, but {name} is {type(action).__name__}. "
                "Write it as `lambda: …`, so that compare can run it again and again."
            )
    if pairs < 3:
        raise ValueError(
            f"compare(pairs={pairs}): at least 3 pairs are needed for quartiles; the default is {DEFAULT_PAIRS}."
        )
    on_model = _modelled(a), _modelled(b)
    if None not in on_model:
        ratio = on_model[0] / on_model[1]
        return Comparison(ratio, ratio, *on_model, pairs, a, b)
    if on_model != (None, None):
        raise TypeError(
            "compare(): one of the two runs on a practice GPU, whose times are modelled, and the other on the CPU, whose "
            "times are measured. Run both on the same device."
        )
    with preserved_state():
        calls_a, calls_b = _warm_up(a), _warm_up(b)
        times_a, times_b = [], []
        for turn in range(1 if run_mode.on("recorded") else pairs):
            order = ((a, calls_a, times_a), (b, calls_b, times_b))
            for action, calls, times in order if turn % 2 == 0 else reversed(order):
                times.append(_sample(action, calls))
    fastest_a, fastest_b = min(times_a), min(times_b)
    # Not the medians: where two others compete for each processor, most samples of some milliseconds are
    # interrupted, and short ones are not, which put the median of a ratio of 48 at up to 500. The quarter that
    # escaped stayed within 45 to 60 (50 measurements, two processors, two to five competing processes).
    by_quartiles = float(np.quantile(times_a, 0.25) / np.quantile(times_b, 0.25))
    return Comparison(fastest_a / fastest_b, by_quartiles, fastest_a, fastest_b, len(times_a), a, b)


def best_time(action: Action, *, samples: int = 7, seconds: float = 0.5, threads: int | None = 1) -> float:
    """Return the fastest time of one call of `action`, in seconds, the device's work included.

    For points of a curve. To say that one thing is faster than another, use :func:`compare`. On a practice GPU it is the
    time of its clock, and modelled. With ``COURSE_MODE=recorded``, the faster of two calls: the first one often prepares
    something.

    Args:
        action: Called without arguments.
        samples: How many samples to take at most.
        seconds: Stop early (after 3 samples) once this much time is spent.
        threads: CPU threads while measuring; ``None`` leaves them as they are.

    Returns:
        Seconds per call.

    Raises:
        TypeError: `action` cannot be called.
    """
    if not callable(action):
        raise TypeError(
            f"best_time() needs a function to call, but got {type(action).__name__}; write `lambda: …`."
        )
    if (on_model := _modelled(action)) is not None:
        return on_model
    with preserved_state(threads):
        calls, times, begin = _warm_up(action), [], time.perf_counter()
        samples = 2 if run_mode.on("recorded") else samples
        while len(times) < samples and (len(times) < 3 or time.perf_counter() - begin < seconds):
            times.append(_sample(action, calls))
    return min(times)
