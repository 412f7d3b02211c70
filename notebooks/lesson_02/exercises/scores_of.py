"""Exercise ``scores_of(model, batch) -> Tensor``: the batch goes where the model is."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from bilingual import Block
from course_utils.exercises import Mistakes
from course_utils.returned import tensor
from lesson_02.places import GPU, below, mixing_is, or_error, places, traffic_table
from shared.pretended_gpus import Traffic, place_of, pretended_gpus


def _asked(answer: Any, device: str) -> tuple[Any, nn.Module, torch.Tensor, Traffic]:
    torch.manual_seed(0)
    with pretended_gpus() as traffic:
        model, batch = nn.Linear(8, 3).to(device), torch.rand(5, 8)
        traffic.transfers.clear()
        return answer(model, batch), model, batch, traffic


def judge(answer: Any) -> Mistakes:
    """Ask for the scores of a model on a GPU, then of one on the CPU."""
    with mixing_is("batch_left_behind"):
        got, model, batch, _ = _asked(answer, "cuda:0")
    scores = tensor(got)
    yield place_of(next(model.parameters())) != GPU, "model_moved"
    with torch.no_grad(), pretended_gpus():
        right = model(batch.to("cuda:0"))
        same = scores.shape == right.shape and torch.equal(scores.to("cpu"), right.to("cpu"))
    yield not same, "other"
    yield place_of(scores) != GPU, "scores_moved"
    with mixing_is("name_written", ""):
        _asked(answer, "cpu")


@or_error
def show(answer: Any) -> Block:
    """Return where model, batch and scores are, and what was moved."""
    scores, model, batch, traffic = _asked(answer, "cuda:0")
    return below(places(model=model, batch=batch, scores=scores), traffic_table(traffic))


_HEAD = "def scores_of(model, batch):\n    "
WRONG = {
    "returned_none": f"{_HEAD}model(batch.to(next(model.parameters()).device))",
    "batch_left_behind": (
        f"{_HEAD}return model(batch)",
        f"{_HEAD}batch.to(next(model.parameters()).device)\n    return model(batch)",
    ),
    "model_moved": f"{_HEAD}return model.to('cpu')(batch)",
    "other": f"{_HEAD}return batch.to(next(model.parameters()).device)",
    "scores_moved": f"{_HEAD}return model(batch.to(next(model.parameters()).device)).cpu()",
    "name_written": f"{_HEAD}return model(batch.to('cuda'))",
}
