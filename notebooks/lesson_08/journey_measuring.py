"""What a step of the journey is measured by: windows per second, the error, waits in a step, and what limits.

The CPU computes with one thread, as on the scoreboard of lessons 00 to 06.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
from IPython import get_ipython
from IPython.display import display
from torch import nn

from bilingual import Block
from course_utils.lesson_gpus import ready
from course_utils.measure import synchronize
from course_utils.torch_state import preserved_state
from lesson_08 import programs
from lesson_08.words import WORDS
from shared import timeline
from shared.waiting import Waits

LEARN = 1024  # windows after which the error is compared
# After the first run, so many more are timed, each for about so long: some escape what else the machine does.
RUNS, SECONDS = 2, 0.15
FEWEST, MOST = 32, 8192  # windows in a timed run
BUSY, WAITING, OVERHEAD = 0.6, 0.2, 0.5  # shares from which on something limits

Train = Callable[..., tuple[nn.Module, Any]]
_MEASURING = WORDS["journey"]["measuring"]


@contextmanager
def clock() -> Iterator[Callable[[], None]]:
    """Show for how long a cell has been measuring, whenever what is yielded is called; like a launch's box, empty at the end."""

    def box(text: str = "") -> Block:
        return Block(f'<div class="course-launch-live">{text}</div>', "launch")

    def tick() -> None:
        if shown:
            seconds = _MEASURING.format(seconds=f"{time.monotonic() - began:.0f}")
            shown.update(box(f'<p class="course-small">{seconds.html()}</p>'))

    began, shown = time.monotonic(), display(box(), display_id=True) if get_ipython() else None
    tick()
    try:
        yield tick
    finally:
        if shown:
            shown.update(box())


def timed(train: Train, device: torch.device, count: int, **part: Any) -> tuple[nn.Module, float]:
    """Return the model that ``train(device, order, **part)`` returns for `count` windows, and the seconds it takes."""
    found = programs.order(count)
    synchronize()
    start = time.perf_counter()
    model, _ = train(device, found, **part)
    synchronize()
    return model, time.perf_counter() - start


def rate(train: Train, device: torch.device, learn: bool = True, **part: Any) -> tuple[float, float | None]:
    """Return windows per second, the best of several runs, and the error after 1,024 windows (None if not `learn`).

    A first call of two steps is not counted: it chooses algorithms, fills caches, or compiles. What has learned once is only
    timed again, since it would learn the same.
    """
    batch, key = part.get("batch", 8), (train, device, *sorted(part.items()))
    with preserved_state(threads=1), clock() as tick:
        timed(train, device, 2 * batch, **part)
        tick()
        count = LEARN if learn and key not in _errors else FEWEST
        model, seconds = timed(train, device, count, **part)
        best = count / seconds
        if count == LEARN:
            _errors[key] = programs.error(model)
        again = min(max(round(best * SECONDS / batch) * batch, FEWEST, batch), MOST)
        for _ in range(RUNS):
            tick()
            best = max(best, again / timed(train, device, again, **part)[1])
        return best, _errors[key] if learn else None


_errors: dict[tuple[Any, ...], float] = {}  # by program, device and parts


def counted_on() -> torch.device:
    """Return where waits are counted: on a GPU, or on a practice GPU where there is none."""
    return ready()[0]


@cache
def waits(loop: Callable[..., Any], steps: int = 4) -> float:
    """Return how often the host waits for a value in each step of `loop`; a wait after the last step counts as well.

    Which lines wait does not depend on how fast they are.
    """
    device = counted_on()
    found = list(programs.from_device(programs.ready(), programs.order(8 * steps), 8, device, torch.float32))
    torch.manual_seed(0)
    model = programs.Informer(len(programs.ready().columns), **programs.SMALL).to(device)
    optimizer = torch.optim.Adam(model.parameters())
    with preserved_state(threads=1), Waits() as waited:
        loop(model, optimizer, found)
    return sum(waited.lines.values()) / steps


def _marked(batches: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """Return `batches` whose work on each batch is a span "data" of the timeline."""

    def marked(*given: Any) -> Iterator[Any]:
        source = iter(batches(*given))
        while True:
            with timeline.mark("data"):
                batch = next(source, None)
            if batch is None:
                return
            yield batch

    return marked


def limit(train: Train, device: torch.device, speed: float, wrap_alone: Any = None, **part: Any) -> str:
    """Return what limits a program now: "data", "compute" or "launch" (Python and the launches).

    A timeline of four steps says for which share of its time the loop waits for data, and the GPU computes. Without a GPU, a
    step with one window says what a step costs that hardly computes anything.

    Args:
        train: The program.
        device: Where it trains.
        speed: Its windows per second, as :func:`rate` has measured them.
        wrap_alone: The `wrap` of the step with one window, since to compile again for another size would take as long as the
            first time.
        part: As in :func:`rate`.
    """
    batch, batches = part.get("batch", 8), part.get("batches", programs.from_table)
    part = part | {"batches": _marked(batches)}
    found = programs.order(4 * batch)
    with preserved_state(threads=1):
        recorded = timeline.record(lambda: train(device, found, **part), warm_up=0)  # it has just run
        whole = recorded.seconds()  # the loop: it begins and ends with a span "data"
        host = [s for s in recorded.spans if s.lane.startswith("host") and s.name == "data"]
        share = sum(s.end - s.start for s in host) / whole
        if any(lane.startswith("GPU") and lane.endswith("work") for lane in recorded.lanes()):
            computing = recorded.busy("GPU work") / whole >= BUSY
        else:
            alone = part | {"batch": 1} | ({"wrap": wrap_alone} if wrap_alone else {})
            small = min(timed(train, device, 4, **alone)[1] for _ in range(2))
            computing = small * speed / (4 * batch) < OVERHEAD
    return "data" if share >= WAITING else "compute" if computing else "launch"
