"""What each GPU does and when, and what GPUs send each other: by the log of practice GPUs; on real ones, by the profiler."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from bilingual import Bilingual, joined
from course_utils import lesson_gpus
from lesson_05.by_hand import gather, parallel_apply, scatter
from shared import timeline
from shared.timeline import Span, Timeline
from shared.timeline.practice import log_of

_CHINESE = {
    "work": "運算", "copy": "複製", "scatter": "分散", "gather": "收集", "loss": "損失", "backward": "反向傳播", "step": "更新",
}  # fmt: skip
Part = tuple[str, float]  # its name, and when it was over: modelled seconds


def busy(action: Callable[[], object], parts: list[Part] | None = None) -> Timeline:
    """Run `action` twice, and return when each GPU computed and copied in the second run; a row for each.

    Args:
        action: Called without arguments.
        parts: What `action` consists of, if its parts shall give the names; it fills in the list.
    """
    action()
    (parts or []).clear()
    if (watched := log_of(action)) is None:
        found = timeline.record(action, warm_up=0)
        spans = [s for s in found.spans if s.lane.startswith("GPU")] or found.spans
        device = [re.search(r":(\d)", s.lane) for s in spans]
        names = [s.name if parts is not None else s.lane.split()[-1] for s in spans]
        times = [(s.start, s.end) for s in spans]
        rows = [f"GPU {d[1] if d else 0}" for d in device]
    else:
        begin, log = watched
        log = [entry for entry in log if entry.device >= 0]
        times = [(float(e.start - begin), float(e.end - begin)) for e in log]
        names = ["copy" if e.kind == "copy" else "work" for e in log]
        if parts:
            names = [next(name for name, over in parts if e.end <= over + 1e-12) for e in log]
        rows = [f"GPU {e.device}" for e in log]
    both = [joined(name, _CHINESE.get(name.split()[0], name)) for name in names]
    spans = [Span(row, name, *time) for row, name, time in zip(rows, both, times, strict=True)]
    if parts is not None:  # a bar for each
        whole: dict[tuple[str, str], Span] = {}
        for span in spans:
            known = whole.setdefault((span.lane, span.name), span)
            start, end = min(known.start, span.start), max(known.end, span.end)
            whole[span.lane, span.name] = Span(span.lane, span.name, start, end)
        spans = list(whole.values())
    return Timeline(spans, modelled=watched is not None)


def record_step(net: Any, x: torch.Tensor, y: torch.Tensor) -> Timeline:
    """Return when each GPU did what in one training step, of which each part is waited for before the next begins.

    Args:
        net: A ``ByHand`` model.
        x: The batch, on the first device.
        y: Its labels, there as well.
    """
    optimizer, parts = torch.optim.SGD(net.parameters(), lr=0.1), list[Part]()
    module = torch.get_device_module(x.device)

    @contextmanager
    def part(name: str) -> Iterator[None]:
        with timeline.mark(name):
            yield
            for device in net.devices:
                module.synchronize(device)
        parts.append((name, lesson_gpus.clock() or 0.0))

    def step() -> None:
        optimizer.zero_grad()
        with part("scatter"):
            pieces = scatter(x, net.devices)
        with part("copy"):
            copies = list(net.copies(len(pieces)))
        with part("work"):
            outputs = parallel_apply(copies, pieces)
        with part("gather"):
            output = gather(outputs, net.devices[0])
        with part("loss"):
            loss = nn.functional.cross_entropy(output, y)
        with part("backward"):
            loss.backward()
        with part("step"):
            optimizer.step()

    return busy(step, parts)


def sent(action: Callable[[], object]) -> dict[str | Bilingual, object]:
    """Return what GPUs send each other while `action` runs: from where to where, how often, how many bytes.

    NCCL's transfers between real GPUs are parts of its kernels, which no log counts in bytes: then there is a word instead.
    """
    if (watched := log_of(action)) is None:
        unknown = Bilingual("not counted", "沒有計數")
        return {"GPU 0 → GPU 1": unknown, "GPU 1 → GPU 0": unknown}
    moved: dict[str, list[int]] = {}
    for entry in watched[1]:
        if entry.kind == "copy" and " to GPU " in entry.name and entry.name.startswith("GPU"):
            moved.setdefault(entry.name.replace("to", "→"), []).append(entry.bytes)
    return {
        way: Bilingual(
            f"{sum(sizes):,} bytes (copies: {len(sizes)})", f"{sum(sizes):,} 個位元組（複製 {len(sizes)} 次）"
        )
        for way, sizes in sorted(moved.items())
    }
