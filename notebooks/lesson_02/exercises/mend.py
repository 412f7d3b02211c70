"""Exercise ``loss_of(model, images, labels) -> Tensor``: a loss whose parts are in two places."""

from contextlib import suppress
from typing import Any

import torch
from torch import nn

from bilingual import Block
from course_utils.exercises import Mistake, Mistakes, NotYet
from course_utils.lesson_gpus import ready
from lesson_02.places import below, or_error, places, traffic_table
from lesson_02.traffic import Traffic


def _loss(answer: Any, labels_on: str | torch.device = "cpu") -> tuple[Any, nn.Module, Traffic]:
    """Return the loss for a model on a GPU and images on the CPU, the model, and what was moved."""
    torch.manual_seed(0)
    model = nn.Linear(8, 10).to(*ready())
    images, labels = torch.rand(6, 8), torch.arange(6).to(labels_on)
    with Traffic() as traffic:
        return answer(model, images, labels), model, traffic


def _computed(answer: Any) -> tuple[Any, nn.Module, Traffic]:
    """Return the same, or raise for what `answer` leaves on the CPU."""
    try:
        return _loss(answer)
    except RuntimeError as error:
        if "same device" not in str(error):
            raise
    try:
        _loss(answer, labels_on=ready()[0])
    except RuntimeError:
        model, labels = nn.Linear(8, 10).to(*ready()), torch.arange(6)
        with Traffic() as traffic, suppress(RuntimeError):
            answer(model, torch.rand(6, 8), labels)
        if labels.nbytes not in [one.bytes for one in traffic.transfers]:
            raise NotYet from None
        raise Mistake("weight_left") from None
    raise Mistake("labels_left")


def judge(answer: Any) -> Mistakes:
    """Compare with the loss that is computed on the CPU."""
    loss, model, traffic = _computed(answer)
    yield loss is None, "returned_none"
    (gpu,) = ready()
    on_gpu = isinstance(loss, torch.Tensor) and loss.device == gpu
    yield not on_gpu or next(model.parameters()).device != gpu, "all_on_the_cpu"
    torch.manual_seed(0)
    scores, labels = nn.Linear(8, 10)(torch.rand(6, 8)), torch.arange(6)
    right = nn.functional.cross_entropy(scores, labels, weight=torch.linspace(0.5, 1.5, 10))
    got = loss.detach().cpu()
    yield torch.allclose(got, nn.functional.cross_entropy(scores, labels)), "no_weight"
    yield not torch.allclose(got, right), "other"
    moved = [one.bytes for one in traffic.transfers if one.target == str(gpu)]
    yield loss.nbytes in moved, "loss_moved"


@or_error
def show(answer: Any) -> Block:
    """Return where the loss is and what was moved."""
    loss, model, traffic = _loss(answer)
    return below(places(model=model, loss=loss), traffic_table(traffic))
