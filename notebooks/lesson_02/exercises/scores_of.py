"""Exercise ``scores_of(model, batch) -> Tensor``: the batch goes where the model is."""

from typing import Any

import torch
from torch import nn

from bilingual import Block
from course_utils.exercises import Mistakes
from course_utils.lesson_gpus import ready
from course_utils.returned import tensor
from lesson_02.places import below, name_is, or_error, places, refusal_is, traffic_table
from lesson_02.traffic import Traffic


def _asked(answer: Any, device: torch.device) -> tuple[Any, nn.Module, torch.Tensor, Traffic]:
    torch.manual_seed(0)
    model, batch = nn.Linear(8, 3).to(device), torch.rand(5, 8)
    with Traffic() as traffic:
        return answer(model, batch), model, batch, traffic


def judge(answer: Any) -> Mistakes:
    """Ask for the scores of a model on a GPU, then of one on the CPU."""
    (gpu,) = ready()
    with refusal_is("batch_left_behind", "same device"), name_is("name_written"):
        got, model, batch, _ = _asked(answer, gpu)
    scores = tensor(got)
    yield model.weight.device != gpu, "model_moved"
    with torch.no_grad():
        right = model(batch.to(gpu)).cpu()
    same = scores.shape == right.shape and torch.equal(scores.cpu(), right)
    yield not same, "other"
    yield scores.device != gpu, "scores_moved"
    with refusal_is("name_written", ""):
        _asked(answer, torch.device("cpu"))


@or_error
def show(answer: Any) -> Block:
    """Return where model, batch and scores are, and what was moved."""
    scores, model, batch, traffic = _asked(answer, *ready())
    return below(places(model=model, batch=batch, scores=scores), traffic_table(traffic))
