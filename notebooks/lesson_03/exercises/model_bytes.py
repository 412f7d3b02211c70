"""Exercise ``model_bytes(model)``: the bytes of all parameters and of their gradients."""

from typing import Any

import torch
from torch import nn

from bilingual import Bilingual, Block
from course_utils.exercises import Mistakes
from course_utils.tables import YOURS, table, value


def _trained() -> nn.Sequential:
    """Return a model after a backward pass, one layer of which is in float64."""
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10).double())
    model[2](model[:2](torch.ones(1, 64)).double()).sum().backward()
    return model


def judge(answer: Any) -> Mistakes:
    """Compare with twice the bytes of the parameters: a gradient has the type of its parameter."""
    model = _trained()
    got = answer(model)
    count = sum(p.numel() for p in model.parameters())
    weights = sum(p.nbytes for p in model.parameters())
    yield got is None, "returned_none"
    yield got == weights, "no_gradients"
    yield got in (count, 2 * count), "numbers"
    yield got in (4 * count, 8 * count), "all_float32"
    yield got != 2 * weights, "other", {"got": value(got)}


def show(answer: Any) -> Block:
    """Return the bytes of each parameter and gradient of the model, and the answer's sum."""
    model = _trained()
    rows: list[tuple[Any, ...]] = [
        (f"`{name}`", f"`{p.dtype}`", value(p.nbytes), value(p.grad.nbytes))
        for name, p in model.named_parameters()
    ]
    rows.append((YOURS, "", "", value(answer(model))))
    names = Bilingual("parameter", "參數"), Bilingual("data type", "資料型別"), Bilingual("bytes", "位元組")
    return table((*names, Bilingual("gradient", "梯度")), rows)
