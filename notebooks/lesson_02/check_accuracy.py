"""The exercise "accuracy" of lesson 02: evaluate a model on batches."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from bilingual import Bilingual, Block
from course_utils.exercises import NO_RETURN, Wrong
from lesson_02.places import below, kind, table, traffic_table
from shared.pretended_gpus import Traffic, place_of, pretended_gpus

GPU = torch.device("cuda", 0)
SIZES = (64, 64, 8)
RIGHT = (64, 64, 0)  # how many of each batch the model gets right


class _Observed(nn.Module):
    """A model that is right exactly where it should be, wrong in training mode, and notes how it is called."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))
        self.modes: list[bool] = []
        self.gradients: list[bool] = []
        self.places: list[torch.device] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return scores for images of shape (n, 3): as they are, or, in training mode, mirrored."""
        self.modes.append(self.training)
        self.gradients.append(torch.is_grad_enabled())
        self.places.append(place_of(self.scale))
        return (x.flip(1) if self.training else x) * self.scale


def _batches() -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Return batches whose images are one-hot: the model's answer is the place of the 1."""
    found = []
    for size, right in zip(SIZES, RIGHT, strict=True):
        labels = torch.zeros(size, dtype=torch.long)
        images = torch.eye(3)[torch.where(torch.arange(size) < right, 0, 1)]
        found.append((images, labels))
    return found


def _evaluated(answer: Any) -> tuple[Any, _Observed, Traffic]:
    with pretended_gpus() as traffic:
        model = _Observed().to("cuda:0")
        traffic.transfers.clear()
        return answer(model, _batches()), model, traffic


def examine_accuracy(answer: Any) -> None:
    """Examine ``accuracy(model, batches)``, for a model on a GPU, in training mode, and batches on the CPU."""
    try:
        got, model, traffic = _evaluated(answer)
    except RuntimeError as error:
        if "devices" not in str(error):
            raise
        raise Wrong(
            en="The model is on `cuda:0`; both images and labels have to go there.",
            zh="模型在 `cuda:0` 上，影像和標籤都要搬過去。",
        ) from None
    if got is None:
        raise Wrong(**NO_RETURN)
    if isinstance(got, torch.Tensor) or not isinstance(got, (int, float)):
        raise Wrong(
            en=f"Return a Python `float`, not a `{kind(got)}`.",
            zh=f"請傳回 Python 的 `float`，而不是 `{kind(got)}`。",
        )
    if not model.modes:
        raise Wrong(
            en="The model was never called: its scores for each batch are needed.",
            zh="你的函式一次也沒有呼叫模型，但每個批次的分數都要由模型算出來。",
        )
    if {*model.places, place_of(model.scale)} != {GPU}:
        raise Wrong(
            en="You moved the model away from `cuda:0`. Leave it there, and bring images and labels to it.",
            zh="你把模型從 `cuda:0` 搬走了。模型要留在原地，請把影像和標籤搬過去。",
        )
    if any(model.modes):
        raise Wrong(
            en="The model was evaluated in training mode, with dropout and the statistics of each batch: `model.eval()`.",
            zh="評估時，模型還在訓練模式，dropout 和每個批次的統計量都會影響結果。請先呼叫 `model.eval()`。",
        )
    _check_number(got)
    if any(model.gradients):
        raise Wrong(
            en="The number is right, but each batch builds a graph for gradients that nobody needs: `torch.no_grad()`.",
            zh="數字對了，但每個批次都建立了計算梯度用的計算圖，這裡卻用不到。請用 `torch.no_grad()` 關掉。",
        )
    if traffic.waits > 1:
        raise Wrong(
            en=f"The number is right, but the host fetches {traffic.waits} times. Add up on the device, fetch at the end.",
            zh=f"數字對了，但主機取值了 {traffic.waits} 次。請在裝置上累加，最後才取值。",
        )
    if not model.training:
        raise Wrong(
            en="All right, except that the model stays in evaluation mode: call `model.train()` before you return.",
            zh="都對了，只差模型還停在評估模式。請在 `return` 之前呼叫 `model.train()`。",
        )


def _check_number(got: float) -> None:
    """Check the share of right answers."""
    if abs(got - 128 / 136) < 1e-4:
        return
    if abs(got - 2 / 3) < 1e-3:
        raise Wrong(
            en="That is the mean of the batches' accuracies: the last batch has 8 images and counts as much as 64. Count images.",
            zh="你算的是各批次準確率的平均，所以最後一批只有 8 張，分量卻和 64 張一樣。請改以影像的張數來計算。",
        )
    if abs(got - 128) < 1e-3:
        raise Wrong(
            en="That is how many are right; divide by the number of images.",
            zh="你算的是答對的張數，還要除以總張數。",
        )
    raise Wrong(
        en=f"128 of 136 images are right, {128 / 136:.4f}, but you get {got:.4f}.",
        zh=f"136 張影像裡對了 128 張，準確率是 {128 / 136:.4f}，你算出的卻是 {got:.4f}。",
    )


def show_accuracy(answer: Any) -> Block:
    """Return how the learner's function calls the model, and what it moves."""
    _, model, traffic = _evaluated(answer)
    yes, no = Bilingual("yes", "是"), Bilingual("no", "否")
    rows = [
        (number, yes if mode else no, yes if gradients else no)
        for number, (mode, gradients) in enumerate(zip(model.modes, model.gradients, strict=True), start=1)
    ]
    header = (
        Bilingual("call of the model", "第幾次呼叫模型"),
        Bilingual("training mode", "訓練模式"),
        Bilingual("builds a graph", "建立計算圖"),
    )
    return below(table(header, rows), traffic_table(traffic))
