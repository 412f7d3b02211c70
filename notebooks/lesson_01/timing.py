"""The host's clock, and how much longer the first use of a GPU takes than a later one."""

import time

from course_utils import lesson_gpus, run_fresh

PROGRAM = """
import time, torch

def seconds():
    start = time.perf_counter()
    x = torch.ones(32, 32, device="cuda")
    (x @ x).sum().item()
    return time.perf_counter() - start

first = seconds()
print(first / min(seconds() for _ in range(99)))
"""


def clock() -> float:
    """Return the host's time in seconds; where the lesson uses a practice GPU, by its modelled clock."""
    modelled = lesson_gpus.clock(wait=False)
    return time.perf_counter() if modelled is None else modelled


def first_over_later() -> float:
    """Return how many times as long as a later one the first small matrix product takes on the GPU, in a fresh process.

    Raises:
        RuntimeError: The program fails, for example because there is no GPU.
    """
    return float(run_fresh(PROGRAM).split()[-1])
