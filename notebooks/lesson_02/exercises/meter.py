"""Exercise ``Meter``: the mean of a loss; ``add(loss)`` must not wait, ``mean()`` fetches once."""

from typing import Any

import torch

from bilingual import Bilingual, Block
from course_utils.exercises import Mistakes, NotYet
from course_utils.lesson_gpus import ready
from course_utils.tables import table
from lesson_02.places import below, or_error, tensors_in, traffic_table
from lesson_02.traffic import Traffic

LOSSES = range(50)


def _metered(answer: Any) -> tuple[Any, Any, Traffic, int]:
    """Return the learner's meter after all losses, its mean, what was moved, and how often `add` fetched."""
    parameter = torch.ones((), requires_grad=True)
    losses = [(parameter * number).to(*ready()) for number in LOSSES]
    with Traffic() as traffic:
        meter = answer()
        for loss in losses:
            meter.add(loss)
        waits = traffic.fetches
        return meter, meter.mean(), traffic, waits


def judge(answer: Any) -> Mistakes:
    """Look at what `add` fetches and the meter keeps, then at the mean, and at the mean after one more loss."""
    yield not isinstance(answer, type), "no_class"
    meter, mean, traffic, waits = _metered(answer)
    if mean is None and not vars(meter):
        raise NotYet
    yield waits, "add_waits", {"waits": waits}
    kept = tensors_in(vars(meter))
    yield any(tensor.requires_grad for tensor in kept), "keeps_graphs"
    yield len(kept) > 2, "keeps_losses", {"count": len(kept)}
    yield mean is None, "returned_none"
    yield not isinstance(mean, float), "no_float", {"kind": type(mean).__name__}
    yield abs(mean - sum(LOSSES)) < 1e-3, "sum"
    yield not abs(mean - 24.5) < 1e-3, "other", {"mean": mean}
    yield traffic.fetches > 1, "mean_waits", {"waits": traffic.fetches}
    meter.add(torch.tensor(75.5, device=ready()[0]))
    yield not abs(meter.mean() - (sum(LOSSES) + 75.5) / 51) < 1e-3, "mean_changes"


@or_error
def show(answer: Any) -> Block:
    """Return how often the learner's meter fetches, and how many tensors it keeps."""
    meter, _, traffic, waits = _metered(answer)
    rows = [
        (Bilingual("fetches in 50 × `add`", "50 次 `add` 的取值次數"), str(waits)),
        (Bilingual("fetches in `mean`", "`mean` 的取值次數"), str(traffic.fetches - waits)),
        (Bilingual("tensors kept", "留著幾個張量"), str(len(tensors_in(vars(meter))))),
    ]
    head = (Bilingual("your `Meter`", "你的 `Meter`"), Bilingual("number", "數量"))
    return below(table(head, rows), traffic_table(traffic))
