"""A desk: a device with a queue of its own that notes when it was busy, for the picture of three ways to split work."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import torch
from torch import nn

from bilingual import joined
from shared.timeline import Span, Timeline

SECONDS_PER_ROW = 0.001


class Desk:
    """A device with one worker, who computes a layer and then waits one millisecond per row.

    Args:
        number: Which device it is, in the picture.
        device: Where it computes.
    """

    def __init__(self, number: int, device: torch.device) -> None:
        self.name, self.device = joined(f"device {number}", f"裝置 {number}", "\n"), device
        self.spans: list[Span] = []
        self.worker = ThreadPoolExecutor(max_workers=1)

    def submit(self, name: str, layer: nn.Module, rows: torch.Tensor | Future) -> Future:
        """Put a layer into the queue; return the promise of its result.

        Args:
            name: What the picture writes.
            layer: What to compute; it must be on the desk's device.
            rows: The input, or the promise of it by another desk.
        """
        return self.worker.submit(self._work, name, layer, rows)

    def _work(self, name: str, layer: nn.Module, rows: torch.Tensor | Future) -> torch.Tensor:
        if isinstance(rows, Future):
            rows = rows.result()
        start = time.perf_counter()
        result = layer(rows.to(self.device))
        time.sleep(SECONDS_PER_ROW * len(rows))
        self.spans.append(Span(self.name, name, start, time.perf_counter()))
        return result


def watch(desks: list[Desk], action: Callable[..., object], *arguments: object) -> Timeline:
    """Call ``action(*arguments)`` twice and return when the desks were busy in the second call."""
    for _ in range(2):
        for desk in desks:
            desk.spans.clear()
        action(*arguments)
    return Timeline([span for desk in desks for span in desk.spans])
