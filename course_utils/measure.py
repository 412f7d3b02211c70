"""Measuring: which of two ways is faster, how long one takes, and what the machine can do at best.

Machines are noisy: other programs take the processor away for milliseconds. Two habits make a comparison
stand nevertheless. The two ways take turns (A B B A …), so that both meet the same noise; and each is judged by
its *fastest* sample, since noise only ever adds time. Lesson 04 builds these habits in the open.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch

Action = Callable[[], Any]

SAMPLE_SECONDS = 1e-3  # short enough that some samples escape being interrupted, long enough for the clock
WARM_UP_SECONDS = 0.05  # a GPU needs work before it raises its clock
DEFAULT_PAIRS = 15


@dataclass(frozen=True)
class Comparison:
    """How long `a` takes, measured in turns with `b`.

    Attributes:
        ratio: Fastest time of `a` / fastest time of `b` (2.0 = `a` takes twice as long). What claims judge.
        quartile_ratio: Lower quartile of the times of `a` / lower quartile of those of `b`. The second opinion of
            claims: it does not hang on single samples, as `ratio` does.
        paired_median: Median of the ratios of neighbouring samples; far from `ratio` on a restless machine.
        quartiles: The middle half of those ratios.
        a_seconds: Fastest time of one call of `a`, in seconds.
        b_seconds: The same for `b`.
        pairs: How many samples each got.
        a: What was measured, so that it can be measured again.
        b: What it was compared with.
        threads: CPU threads while measuring; ``None`` means as many as are set.
    """

    ratio: float
    quartile_ratio: float
    paired_median: float
    quartiles: tuple[float, float]
    a_seconds: float
    b_seconds: float
    pairs: int
    a: Action = field(repr=False, compare=False)
    b: Action = field(repr=False, compare=False)
    threads: int | None = 1

    def again(self, pairs: int) -> Comparison:
        """Measure the same two callables once more with `pairs` samples each."""
        return compare(self.a, self.b, pairs=pairs, threads=self.threads)


def synchronize() -> None:
    """Wait until the current GPU has done its queued work; without a GPU there is nothing to wait for."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


_PRECISION_OWNERS = (
    "",
    "cudnn",
    "mkldnn",
    "cuda.matmul",
    "cudnn.conv",
    "cudnn.rnn",
    "mkldnn.matmul",
    "mkldnn.conv",
    "mkldnn.rnn",
)


def _precision_switches() -> list[tuple[Any, str]]:
    """Return (owner, attribute) of every switch of float32 precision; general ones before special ones."""
    found: list[tuple[Any, str]] = []
    for path in _PRECISION_OWNERS:
        owner: Any = torch.backends
        for part in filter(None, path.split(".")):
            owner = getattr(owner, part, None)
        if hasattr(owner, "fp32_precision"):
            found.append((owner, "fp32_precision"))
    # torch before 2.9 has only the older switches, and newer releases warn when both families are mixed.
    return found or [(torch.backends.cuda.matmul, "allow_tf32"), (torch.backends.cudnn, "allow_tf32")]


def _legacy_precision() -> str | None:
    try:
        return torch.get_float32_matmul_precision()
    except RuntimeError:  # newer releases refuse to answer once the switches above were used
        return None


def _default_device() -> torch.device | None:
    """Return the default device, or None where one is set that this machine does not have."""
    try:
        return torch.get_default_device()
    except (AssertionError, RuntimeError):
        return None


@contextmanager
def preserved_state(threads: int | None = 1) -> Iterator[None]:
    """Run measurements with `threads` CPU threads, then put back whatever they or the measured code changed.

    Restored: thread count, float32 precision, the cuDNN switches, default dtype, default device, gradient mode.
    One thread is the default because threads that wait for each other turn a busy neighbour into a result a
    hundred times off. ``None`` leaves the thread count alone.
    """
    cudnn = torch.backends.cudnn
    saved_precision = [(owner, name, getattr(owner, name)) for owner, name in _precision_switches()]
    saved_legacy = _legacy_precision()
    saved_cudnn = cudnn.benchmark, cudnn.deterministic, cudnn.enabled
    saved_threads, saved_grad = torch.get_num_threads(), torch.is_grad_enabled()
    saved_dtype, saved_device = torch.get_default_dtype(), _default_device()
    try:
        if threads is not None:
            torch.set_num_threads(threads)
        yield
    finally:
        torch.set_num_threads(saved_threads)
        torch.set_grad_enabled(saved_grad)
        torch.set_default_dtype(saved_dtype)
        if _default_device() != saved_device:
            # "cpu" set as the default would slow down every later call; None means the same, for nothing.
            torch.set_default_device(None if saved_device == torch.device("cpu") else saved_device)
        cudnn.benchmark, cudnn.deterministic, cudnn.enabled = saved_cudnn
        if saved_legacy is not None and _legacy_precision() != saved_legacy:
            torch.set_float32_matmul_precision(saved_legacy)  # first, since it also sets some of those below
        for owner, name, value in saved_precision:
            if getattr(owner, name) != value:
                setattr(owner, name, value)


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
    fastest, begin, calls = float("inf"), time.perf_counter(), 0
    enough = WARM_UP_SECONDS if torch.cuda.is_available() else 0.0
    while calls < 3 or time.perf_counter() - begin < enough:
        fastest = min(fastest, _sample(action, 1))
        calls += 1
    return max(1, round(SAMPLE_SECONDS / max(fastest, 1e-8)))


def _lower_quartile(times: list[float]) -> float:
    return statistics.quantiles(times, n=4, method="inclusive")[0]


def compare(a: Action, b: Action, *, pairs: int = DEFAULT_PAIRS, threads: int | None = 1) -> Comparison:
    """Measure how much longer `a` takes than `b`, in turns, and judge each by its fastest sample.

    Args:
        a: Called without arguments; its result is thrown away. What it queues on the GPU is waited for.
        b: The same, for what `a` is compared with.
        pairs: Samples of each, at least 3. A sample repeats a quick callable until it fills a millisecond.
        threads: CPU threads while measuring; ``None`` leaves them as they are.

    Returns:
        A :class:`Comparison`; its ``ratio`` says how many times longer `a` takes.

    Raises:
        TypeError: `a` or `b` cannot be called.
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
            f"compare(pairs={pairs}): at least 3 pairs are needed for a median; the default is 15."
        )
    with preserved_state(threads):
        calls_a, calls_b = _warm_up(a), _warm_up(b)
        times_a, times_b = [], []
        for turn in range(pairs):
            order = ((a, calls_a, times_a), (b, calls_b, times_b))
            for action, calls, times in order if turn % 2 == 0 else reversed(order):
                times.append(_sample(action, calls))
    ratios = [x / y for x, y in zip(times_a, times_b, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return Comparison(
        ratio=min(times_a) / min(times_b),
        # Not the medians: where two others compete for each processor, most samples of some milliseconds are
        # interrupted, and short ones are not, which put the median of a ratio of 48 at up to 500. The quarter that
        # escaped stayed within 45 to 60 (50 measurements, two processors, two to five competing processes).
        quartile_ratio=_lower_quartile(times_a) / _lower_quartile(times_b),
        paired_median=middle,
        quartiles=(low, high),
        a_seconds=min(times_a),
        b_seconds=min(times_b),
        pairs=pairs,
        a=a,
        b=b,
        threads=threads,
    )


def best_time(action: Action, *, samples: int = 7, seconds: float = 0.5, threads: int | None = 1) -> float:
    """Return the fastest time of one call of `action`, in seconds, the device's work included.

    For points of a curve. To say that one thing is faster than another, use :func:`compare`.

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
    with preserved_state(threads):
        calls, times, begin = _warm_up(action), [], time.perf_counter()
        while len(times) < samples and (len(times) < 3 or time.perf_counter() - begin < seconds):
            times.append(_sample(action, calls))
    return min(times)


@cache
def ceilings() -> dict[str, float]:
    """Measure once per session what this machine's default device reaches at best.

    Returns:
        ``copy``: bytes per second read plus written by a large copy inside the device's memory (both
        directions counted, as in NVIDIA's and STREAM's convention);
        ``matmul``: float32 operations per second of a large matrix product (2·n³ operations);
        with CUDA also ``host_copy`` (a copy in the host's memory), ``half`` (bfloat16 or float16 product),
        ``to_device`` and ``from_device`` (pinned copies, bytes per second) and ``launch`` (seconds to queue one
        tiny operation).
    """
    result = _measure_ceilings()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()  # or the learner's next nvidia-smi shows a gigabyte that nobody uses
    return result


def _quickest(action: Action) -> float:
    """Return the fastest time with one CPU thread or with all: on a busy machine all are slower than one."""
    return min(best_time(action, threads=1), best_time(action, threads=None))


def _measure_ceilings() -> dict[str, float]:
    cuda = torch.cuda.is_available()
    device = torch.device("cuda" if cuda else "cpu")
    length = 2**26 if cuda else 2**24  # 256 MiB or 64 MiB of float32: far more than any cache
    source, target = torch.randn(length, device=device), torch.empty(length, device=device)
    result = {"copy": 2 * source.nbytes / _quickest(lambda: target.copy_(source))}

    def rate(size: int, dtype: torch.dtype) -> float:
        left, right = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
        return 2 * size**3 / _quickest(lambda: left @ right)

    sizes = (2048, 4096, 8192) if cuda else (1024,)
    result["matmul"] = max(rate(size, torch.float32) for size in sizes)
    if cuda:
        host, other = torch.randn(2**24), torch.empty(2**24)
        result["host_copy"] = 2 * host.nbytes / _quickest(lambda: other.copy_(host))
        half = torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16
        result["half"] = max(rate(size, half) for size in sizes)
        pinned = torch.empty(length).pin_memory()
        result["to_device"] = pinned.nbytes / best_time(lambda: target.copy_(pinned, non_blocking=True))
        result["from_device"] = pinned.nbytes / best_time(lambda: pinned.copy_(target, non_blocking=True))
        one = torch.zeros(1, device=device)
        result["launch"] = best_time(lambda: [one.add_(1) for _ in range(1000)]) / 1000
    return result
