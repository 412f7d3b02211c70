"""How much longer the first use of a GPU takes than a later one."""

from course_utils import run_fresh

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


def first_over_later() -> float:
    """Return how many times as long as a later one the first small matrix product takes on the GPU, in a fresh process.

    Raises:
        RuntimeError: The program fails, for example because there is no GPU.
    """
    return float(run_fresh(PROGRAM).split()[-1])
