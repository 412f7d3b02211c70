"""Exercise ``accuracy(model, batches) -> float``: evaluate a model on a GPU, in training mode, on batches on the CPU."""

from typing import Any

import torch
from torch import nn

from bilingual import Bilingual, Block, texts
from course_utils.exercises import Mistakes
from course_utils.lesson_gpus import ready
from course_utils.tables import table
from lesson_02.places import below, or_error, refusal_is, traffic_table
from lesson_02.traffic import Traffic

SIZES = (64, 64, 8)
RIGHT = (64, 64, 0)  # how many of each batch the model gets right


class _Observed(nn.Module):
    """A model that is right exactly where it should be, wrong in training mode, and notes how it is called."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))
        self.calls: list[tuple[bool, bool, torch.device]] = []  # training mode, builds a graph, where

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return scores for images of shape (n, 3): as they are, or, in training mode, mirrored."""
        self.calls.append((self.training, torch.is_grad_enabled(), self.scale.device))
        return (x.flip(1) if self.training else x) * self.scale


def _batches() -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Return batches whose images are one-hot: the model's answer is the place of the 1."""
    return [
        (torch.eye(3)[torch.where(torch.arange(size) < right, 0, 1)], torch.zeros(size, dtype=torch.long))
        for size, right in zip(SIZES, RIGHT, strict=True)
    ]


def _evaluated(answer: Any) -> tuple[Any, _Observed, Traffic]:
    model = _Observed().to(*ready())
    with Traffic() as traffic:
        return answer(model, _batches()), model, traffic


def judge(answer: Any) -> Mistakes:
    """Look at how the model was called, then at the number, and at what it cost."""
    with refusal_is("batch_left_behind", "same device"):
        got, model, traffic = _evaluated(answer)
    right = sum(RIGHT) / sum(SIZES)
    yield got is None, "returned_none"
    yield not isinstance(got, (int, float)), "no_float", {"kind": type(got).__name__}
    yield not model.calls, "never_called"
    yield {model.scale.device, *(place for *_, place in model.calls)} != {*ready()}, "model_moved"
    yield any(training for training, *_ in model.calls), "training_mode"
    yield abs(got - 2 / 3) < 1e-3, "mean_of_batches"
    yield abs(got - sum(RIGHT)) < 1e-3, "count"
    yield not abs(got - right) < 1e-4, "other", {"right": right, "got": got}
    yield any(graph for _, graph, _ in model.calls), "builds_graphs"
    yield traffic.fetches > 1, "many_fetches", {"waits": traffic.fetches}
    yield not model.training, "stays_in_eval"


@or_error
def show(answer: Any) -> Block:
    """Return how the learner's function calls the model, and what it moves."""
    _, model, traffic = _evaluated(answer)
    word = {True: Bilingual("yes", "是"), False: Bilingual("no", "否")}
    rows = [(str(n), word[mode], word[graph]) for n, (mode, graph, _) in enumerate(model.calls, start=1)]
    return below(table(tuple(texts(__file__).values()), rows), traffic_table(traffic))
