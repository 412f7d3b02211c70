"""Record one training step of the lesson's DataParallel, part by part."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import nn

from bilingual import joined
from lesson_05.by_hand import gather, parallel_apply, scatter
from shared import timeline
from shared.timeline import Timeline

_CHINESE = {"copy": "複製", "work": "計算", "backward": "反向傳播"}  # the profiler knows ASCII names only


def _both(name: str) -> str:
    """Return a part's name in both languages, where there is room for it."""
    chinese = _CHINESE.get(name.split()[0])
    return joined(name, chinese or name)


def _marked(name: str, action: Callable[..., Any], *arguments: Any) -> Any:
    """Return ``action(*arguments)``, noted in the recording under `name`."""
    with timeline.mark(name):
        return action(*arguments)


def record_step(net: Any, x: torch.Tensor, y: torch.Tensor, times: int = 5) -> Timeline:
    """Return when each thread did what in one training step, the fastest of several.

    Args:
        net: A ``ByHand`` model.
        x: The batch, on the first device.
        y: Its labels, there as well.
        times: How many steps to record.
    """
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def step() -> None:
        optimizer.zero_grad()
        pieces = _marked("scatter", scatter, x, net.devices)
        copies = _marked("copy", lambda: list(net.copies(len(pieces))))
        workers = [partial(_marked, f"work {i}", model) for i, model in enumerate(copies)]
        outputs = parallel_apply(workers, pieces)
        output = _marked("gather", gather, outputs, net.devices[0])
        loss = _marked("loss", nn.functional.cross_entropy, output, y)
        _marked("backward", loss.backward)
        _marked("step", optimizer.step)

    fastest = min((timeline.record(step) for _ in range(times)), key=Timeline.seconds)
    return replace(fastest, spans=[replace(span, name=_both(span.name)) for span in fastest.spans])
