"""Exercise ``train(model, optimizer, batches) -> (losses, right, worst)``: a training loop that waits only at the end."""

from copy import deepcopy
from functools import cache
from typing import Any

import torch
from torch import nn

from bilingual import Block
from course_utils.exercises import Mistakes, NotYet
from course_utils.lesson_gpus import ready
from course_utils.torch_state import preserved_state
from shared.waiting import Waits

STEPS, BATCH = 20, 8
WAITS_ALLOWED = 3
Batches = list[tuple[torch.Tensor, torch.Tensor]]


def _start() -> tuple[nn.Module, torch.optim.Optimizer, Batches]:
    """Return the same in each call: an untrained model, its optimizer, and batches of images (8, 64) and labels (8,)."""
    (device,) = ready()
    make = torch.Generator().manual_seed(0)
    batches = [
        (
            torch.rand(BATCH, 64, generator=make).to(device),
            torch.randint(10, (BATCH,), generator=make).to(device),
        )
        for _ in range(STEPS)
    ]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = nn.Linear(64, 10).to(device)
    return model, torch.optim.SGD(model.parameters(), lr=0.1), batches


def _without_waits(
    model: nn.Module, optimizer: torch.optim.Optimizer, batches: Batches
) -> tuple[list[float], int, float]:
    """Train as the lesson's loop does, without its waits."""
    losses, right = [], 0
    for images, labels in batches:
        scores = model(images)
        loss = nn.functional.cross_entropy(scores, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        right = right + (scores.argmax(1) == labels).sum()
    numbers = torch.stack(losses).tolist()
    return numbers, int(right), max(numbers)


@cache
def _expected() -> tuple[list[float], int, float]:
    with preserved_state():
        return _without_waits(*_start())


def _run(answer: Any) -> tuple[Any, Waits]:
    """Train with the answer's loop; return its results and where the host waited."""
    with preserved_state():  # several threads would only wait for each other in a model this small
        given = _start()
        with Waits() as waits:
            return answer(*given), waits


def judge(answer: Any) -> Mistakes:
    """Compare results and waits with those of the loop without waits, from the same start."""
    losses, right, worst = _expected()
    got, waited = _run(answer)
    yield not isinstance(got, tuple) or len(got) != 3, "three_things", {"kind": type(got).__name__}
    kept, counted, largest = got
    yield not isinstance(kept, list) or not all(isinstance(loss, float) for loss in kept), "no_floats"
    for name, found in (("right", counted), ("worst", largest)):
        kind = {"name": name, "kind": type(found).__name__}
        yield isinstance(found, bool) or not isinstance(found, (int, float)), "no_python_number", kind
    yield len(kept) != STEPS, "not_every_loss", {"steps": STEPS, "count": len(kept)}
    far = [a for a, b in zip(kept, losses, strict=True) if not abs(a - b) <= 1e-3]  # NaN, too
    yield bool(far), "other_training"
    yield counted != right, "right", {"images": BATCH * STEPS, "right": right, "got": counted}
    yield not abs(largest - worst) <= 1e-3, "worst", {"worst": worst, "got": largest}
    waits = waited.lines.total()
    each = round(waits / STEPS)
    if waits > WAITS_ALLOWED and each >= 4:
        raise NotYet("as_before", steps=STEPS, waits=waits, each=each)
    yield waits > WAITS_ALLOWED, "waits", {"steps": STEPS, "waits": waits, "allowed": WAITS_ALLOWED}
    yield not _notices_nan(answer), "nan"


def _notices_nan(answer: Any) -> bool:
    """Return whether a NaN in the second batch still raises ValueError."""
    with preserved_state():
        model, optimizer, batches = _start()
        with_nan = deepcopy(batches[:3])
        with_nan[1][0].fill_(float("nan"))
        try:
            answer(model, optimizer, with_nan)
        except ValueError:
            return True
    return False


def show(answer: Any) -> Block:
    """Return a table of the lines of the learner's loop in which the host waited, in a run of all steps."""
    return _run(answer)[1].table()
