"""Running a learner's code so that nothing it does ends or floods the lesson: limits of time, output and state."""

import io
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

import torch

from course_utils.torch_state import preserved_state

PRINTED_MOST = 10_000  # characters of an answer's own output


class TimeUp(BaseException):
    """Raised inside the answer when the time is up; no ``except Exception`` catches it."""


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise :class:`TimeUp` in the block after `seconds`, and again every second if the block catches it.

    Unlike an exception sent to a thread, a signal also ends ``time.sleep`` and waiting for a lock. Windows has no such
    timer, and Python handles signals in the main thread only: there the learner presses the stop button.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise TimeUp

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)  # first: a timer that fires here must not raise
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class _Limited(io.TextIOBase):
    """Passes on what an answer prints, up to a limit: a print in an endless loop would flood the notebook."""

    def __init__(self, target: Any, most: int) -> None:
        self.target, self.left = target, most

    def write(self, text: str) -> int:
        """Pass on as much of `text` as is allowed."""
        if self.left > 0:
            self.target.write(text[: self.left] if len(text) < self.left else f"{text[: self.left]}\n…\n")
            self.left -= len(text)
        return len(text)

    def flush(self) -> None:
        """Flush the target."""
        self.target.flush()


@contextmanager
def limited(seconds: float, printed: int = PRINTED_MOST) -> Iterator[None]:
    """Run the block with limits of time and output, and restore PyTorch's global state and random numbers after it."""
    out, err = _Limited(sys.stdout, printed), _Limited(sys.stderr, printed)
    state, random = preserved_state(threads=None), torch.random.fork_rng(devices=[])
    with state, random, redirect_stdout(out), redirect_stderr(err), _time_limit(seconds):
        yield
