"""Measuring: right against PyTorch's own timer and a planted ratio, and without a trace in PyTorch's state."""

import itertools
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.utils.benchmark
from torch.overrides import _get_current_function_mode_stack

from course_utils import measure, run_fresh, torch_state
from course_utils.measure import best_time, compare
from course_utils.torch_state import preserved_state


def spin(seconds: float) -> Callable[[], None]:
    """Return work that takes exactly this long, whatever the machine."""

    def work() -> None:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass

    return work


# --- right --------------------------------------------------------------------------------------------


def work_of(kind: str, size: int) -> Callable[[], Any]:
    """Return something to do, of a `kind` and a `size`; on the GPU where there is one."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if kind == "one matrix product":
        square = torch.randn(64 * size, 64 * size, device=device)
        return lambda: square @ square
    one = torch.zeros(1, device=device)
    return lambda: [one.add_(1) for _ in range(100 * size)]


def of_some_milliseconds(kind: str) -> Callable[[], Any]:
    """Return work of `kind` that takes 2 ms or a little more here, on however fast a processor."""
    size = 1
    while min(best_time(work := work_of(kind, size)) for _ in range(2)) < 2.2e-3:
        size += 1 + size // 8
    return work


def agree(work: Callable[[], Any], theirs: Callable[[], float]) -> None:
    """Compare the fastest times of both until they agree within 10 %: those of a round, or those of all rounds.

    A machine can be faster for a moment, and slower for some seconds. Only clocks that measure something else never agree.
    """
    we = they = float("inf")
    for _ in range(20):
        they_now, we_now = theirs(), best_time(work)
        they, we = min(they, they_now), min(we, we_now)
        if abs(we / they - 1) <= 0.1 or abs(we_now / they_now - 1) <= 0.1:
            return
    pytest.fail(f"best_time says {we} seconds, the other one {they}")


@pytest.mark.parametrize("kind", ["one matrix product", "many small operations"])
def test_agrees_with_pytorchs_own_timer(kind: str) -> None:
    work = of_some_milliseconds(kind)
    timer = torch.utils.benchmark.Timer("work()", globals={"work": work}, num_threads=1)
    agree(work, lambda: min(timer.timeit(1).mean for _ in range(15)))


@pytest.mark.cuda
def test_agrees_with_tritons_timer() -> None:
    """Triton's events do not see the host, so small operations are left out."""
    testing, work = pytest.importorskip("triton.testing"), of_some_milliseconds("one matrix product")
    agree(work, lambda: testing.do_bench(work, return_mode="min") / 1e3)


@pytest.mark.parametrize("a, b", [(1e-3, 1e-5), (1e-4, 1e-4), (1e-4, 2e-4)])
def test_planted_seconds_of_one_call_and_their_ratio_are_found(a: float, b: float) -> None:
    """In one of ten tries: a neighbour now and then slows all samples of one side down; a wrong clock is wrong each time."""
    planted, tried = (a, b, a / b), []
    for _ in range(10):
        found = compare(spin(a), spin(b))
        tried.append((found.a_seconds, found.b_seconds, found.ratio))
        if tried[-1] == pytest.approx(planted, rel=0.2):
            return
    pytest.fail(f"{planted} was planted, compare says {tried}")


def test_the_two_take_turns_also_when_they_are_measured_again() -> None:
    calls: list[str] = []

    def slow(name: str) -> Callable[[], None]:
        return lambda: (calls.append(name), time.sleep(2e-3))

    first = compare(slow("a"), slow("b"), pairs=4)
    assert "".join(calls) == "aaabbb" + "abbaabba" and first.pairs == 4
    calls.clear()
    longer = first.again(9)
    assert longer.pairs == 9
    assert "".join(calls) == "aaabbb" + "abba" * 4 + "ab"


def test_neither_estimate_follows_a_restless_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the samples of one side are interrupted: neither the fastest sample nor the lower quartile follows."""
    a_times = itertools.cycle([4.0, 0.002, 6.0, 0.0021])
    monkeypatch.setattr(measure, "_sample", lambda action, calls: action())
    monkeypatch.setattr(measure, "_warm_up", lambda action: 1)
    comparison = compare(lambda: next(a_times), lambda: 0.001, pairs=15)
    assert (comparison.ratio, comparison.quartile_ratio) == pytest.approx((2, 2.05))


def test_a_gpus_work_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that is only queued: without waiting for the device it would look free."""
    queue: list[float] = []

    def finish() -> None:
        while queue:
            spin(queue.pop())()

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", finish)
    assert best_time(lambda: queue.append(2e-3)) == pytest.approx(2e-3, rel=0.1)


def test_samples_last_about_a_millisecond() -> None:
    calls: list[None] = []
    best_time(lambda: calls.append(spin(1e-5)()), samples=3)
    assert 3 + 3 * 40 <= len(calls) <= 3 + 3 * 110


def test_best_time_stops_early() -> None:
    calls: list[None] = []
    best_time(lambda: calls.append(time.sleep(0.05)), samples=100, seconds=0.1)
    assert len(calls) == 6  # three to warm up, three samples


# --- state --------------------------------------------------------------------------------------------


def snapshot() -> dict[str, Any]:
    cudnn = torch.backends.cudnn
    return {
        "threads": torch.get_num_threads(),
        "precision": [owner.fp32_precision for owner in torch_state._precision_owners()],
        "legacy precision": torch_state.answered(torch.get_float32_matmul_precision),
        "cudnn": (cudnn.benchmark, cudnn.deterministic, cudnn.enabled),
        "dtype": torch.get_default_dtype(),
        "device": torch_state.answered(torch.get_default_device),
        "gradients": torch.is_grad_enabled(),
    }


def set_attribute(owner: Any, name: str, value: object) -> Callable[[], object]:
    return lambda: setattr(owner, name, value)


CHANGES: dict[str, Callable[[], object]] = {
    "threads": lambda: torch.set_num_threads(torch.get_num_threads() + 2),
    "precision medium": lambda: torch.set_float32_matmul_precision("medium"),
    "precision high": lambda: torch.set_float32_matmul_precision("high"),
    "cudnn benchmark": set_attribute(torch.backends.cudnn, "benchmark", True),
    "cudnn deterministic": set_attribute(torch.backends.cudnn, "deterministic", True),
    "cudnn disabled": set_attribute(torch.backends.cudnn, "enabled", False),
    "dtype": lambda: torch.set_default_dtype(torch.float64),
    "device": lambda: torch.set_default_device("meta"),
    "a device that is not there": lambda: torch.set_default_device("cuda:7"),
    "a kind of device that is not there": lambda: torch.set_default_device("cuda"),
    "gradients": lambda: torch.set_grad_enabled(False),
} | {
    f"switch {number}": set_attribute(
        owner, "fp32_precision", "tf32" if owner.fp32_precision == "ieee" else "ieee"
    )
    for number, owner in enumerate(torch_state._precision_owners())
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_the_measured_code_changes_is_put_back(name: str) -> None:
    before = snapshot()
    with preserved_state():
        CHANGES[name]()
        assert snapshot() != before, "this change cannot be seen, so the test would prove nothing"
    assert snapshot() == before


def matmul_precision() -> object:
    matmul = torch.backends.cuda.matmul
    return getattr(matmul, "fp32_precision", None) or ("tf32" if matmul.allow_tf32 else "ieee")


def test_tf32_from_outside_is_off_while_measuring() -> None:
    with preserved_state():
        torch.set_float32_matmul_precision("high")
        high = snapshot()
        assert matmul_precision() == "tf32"
        seen = []
        best_time(lambda: seen.append(matmul_precision()), samples=3)
        assert set(seen) == {"ieee"}
        assert snapshot() == high, "afterwards it is as the user wants it"


def test_tf32_from_the_environment_is_off_while_measuring() -> None:
    """Some container images set the variable for everybody."""
    code = (
        "import warnings; warnings.simplefilter('error')\n"
        "import torch; from course_utils.torch_state import preserved_state\n"
        "m = torch.backends.cuda.matmul\n"
        "tf32 = lambda: (getattr(m, 'fp32_precision', None) or m.allow_tf32) in ('tf32', True)\n"
        "seen = [tf32()]\n"
        "with preserved_state(): seen.append(tf32())\n"
        "print(*seen, tf32(), torch.get_float32_matmul_precision())"
    )
    assert run_fresh(code, TORCH_ALLOW_TF32_CUBLAS_OVERRIDE="1") == "True False True high"


@pytest.mark.parametrize("use", [lambda f: compare(f, f), best_time], ids=["compare", "best_time"])
def test_put_back_also_when_the_measured_code_raises(use: Callable[[Any], object]) -> None:
    def broken() -> None:
        for change in CHANGES.values():
            change()
        raise RuntimeError("on purpose")

    before = snapshot()
    with pytest.raises(RuntimeError, match="on purpose"):
        use(broken)
    assert snapshot() == before


def test_a_default_device_is_put_back_and_none_left_behind() -> None:
    """Setting "cpu" would look the same, but it slows down every later call that makes a tensor."""
    best_time(lambda: torch.set_default_device("meta"), samples=3)
    assert not _get_current_function_mode_stack()
    torch.set_default_device("meta")
    try:
        best_time(lambda: torch.set_default_device("cpu"), samples=3)
        assert torch.get_default_device() == torch.device("meta")
    finally:
        torch.set_default_device(None)


@pytest.mark.parametrize("options, seen", [({}, 1), ({"threads": None}, 2), ({"threads": 2}, 2)])
def test_threads_while_measuring(options: dict[str, Any], seen: int) -> None:
    """One, if nothing else is asked for."""
    inside: list[int] = []
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        best_time(lambda: inside.append(torch.get_num_threads()), samples=3, **options)
        assert set(inside) == {seen} and torch.get_num_threads() == 2
        compare(lambda: inside.append(torch.get_num_threads()), lambda: None, pairs=3)
        assert inside[-1] == 1 and torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


# --- errors -------------------------------------------------------------------------------------------


def test_what_cannot_be_measured_is_refused_before_anything_runs() -> None:
    for call, words in (
        (lambda: compare(3, pytest.fail), "a is int.*lambda"), (lambda: compare(pytest.fail, torch.ones(1)), "b is Tensor.*lambda"),
        (lambda: best_time(3), "best_time.*lambda"),
    ):  # fmt: skip
        with pytest.raises(TypeError, match=words):
            call()
    for pairs in (2, 0, -1):
        with pytest.raises(ValueError, match="at least 3"):
            compare(pytest.fail, pytest.fail, pairs=pairs)
