"""Exercise ``quiet(model, optimizer, batches) -> losses``: the journey's loop, which may wait once, after the last step."""

from typing import Any

import torch
from torch import Tensor, nn

from bilingual import Block
from course_utils.exercises import Mistakes, NotYet
from course_utils.lesson_gpus import ready
from course_utils.torch_state import preserved_state
from lesson_08.programs import report_each
from shared.waiting import Waits

STEPS = 12


class _Small(nn.Module):
    """Forecasts as the Informer does, from three tensors, in one layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 4)

    def forward(self, past: Tensor, past_marks: Tensor, future_marks: Tensor) -> Tensor:
        return self.layer(torch.cat([past, past_marks, future_marks], -1))


def given() -> tuple[nn.Module, torch.optim.Optimizer, list[list[Tensor]]]:
    """Return the same untrained model, its optimizer and the same batches in each call."""
    (device,) = ready()
    chance = torch.Generator().manual_seed(0)
    batches = [
        [torch.rand(8, n, generator=chance, dtype=torch.float64).to(device) for n in (2, 2, 2, 4)]
        for _ in range(STEPS)
    ]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = _Small().to(device, torch.float64)
    return model, torch.optim.SGD(model.parameters(), lr=0.1), batches


def trained(answer: Any) -> tuple[Any, Waits]:
    """Return the losses of the answer's loop, and where it waited."""
    with preserved_state():
        model, optimizer, batches = given()
        with Waits() as waits:
            return answer(model, optimizer, iter(batches)), waits


def judge(answer: Any) -> Mistakes:
    """Compare the losses, then count the waits."""
    with preserved_state():
        right = report_each(*given())
    got, waited = trained(answer)
    yield got is None, "returned_none"
    yield not isinstance(got, list), "no_list", {"kind": type(got).__name__}
    kinds = [type(loss).__name__ for loss in got]
    yield not all(isinstance(loss, float) for loss in got), "no_floats", {"kind": (kinds or [""])[0]}
    yield len(got) != STEPS, "too_few", {"steps": STEPS, "got": len(got)}
    far = [a for a, b in zip(got, right, strict=True) if not abs(a - b) <= 1e-9]  # NaN, too
    yield bool(far), "other_losses"
    waits = sum(waited.lines.values())
    if waits >= 2 * STEPS:
        raise NotYet("as_before", steps=STEPS, waits=waits)
    yield waits > 1, "waits", {"steps": STEPS, "waits": waits}


def show(answer: Any) -> Block:
    """Return a table of the lines of the learner's loop in which the host waited."""
    return trained(answer)[1].table()
