"""One step of DDP as PyTorch's profiler saw it on each rank: the passes of the model, and its all-reduces."""

from typing import Any

from notebook_torchrun.result import Run
from shared import timeline
from shared.timeline import Span, Timeline
from shared.timeline_rows import timelines

KINDS = {
    "forward": "DistributedDataParallel.forward",
    "backward": "AddmmBackward0",
    "all-reduce": "all_reduce",
}


def seen(trace: list[dict[str, Any]], backend: str) -> Timeline:
    """Return a rank's step; with gloo, what is neither a pass nor an all-reduce is left out.

    Args:
        trace: The profiler's events.
        backend: What the ranks talked through; NCCL's lanes are streams, which speak for themselves.
    """
    recorded = timeline.from_trace({"traceEvents": trace})
    if backend == "nccl":
        return recorded
    rows = {lane: f"gloo {n}" if n else "Python" for n, lane in enumerate(recorded.lanes())}
    spans = [
        Span(rows[span.lane], kind, span.start, span.end)
        for kind, part in KINDS.items()  # in this order, so that each has the same colour in all rows
        for span in recorded.spans
        if part in span.name
    ]
    return Timeline(spans)


def draw(run: Run) -> None:
    """Show the step of every rank that ``workers/overlap.py`` reported."""
    steps = {f"rank {rank}": seen(result["trace"], run.backend) for rank, result in enumerate(run.results)}
    timelines("ddp_overlap", steps)
