"""Work of a known length for tests of measuring."""

import time
from collections.abc import Callable


def spin(seconds: float) -> Callable[[], None]:
    """Return work that takes exactly this long, whatever the machine."""

    def work() -> None:
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            pass

    return work
