"""The easy exercises "bytes" and "model_bytes" of lesson 03: counting bytes before they are taken."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from bilingual import Bilingual, Block
from course_utils.exercises import NO_RETURN, Wrong
from course_utils.tables import YOURS, table, value

_TENSORS = (
    ((3, 5), torch.float32, torch.float16),
    ((1437, 8, 8), torch.float32, torch.bfloat16),
    ((4,), torch.float16, torch.float64),
)


def examine_bytes(answer: Any) -> None:
    """Examine ``bytes_in(x, dtype)``, the bytes that `x` takes up as `dtype`.

    Raises:
        Wrong: With a hint about the mistake.
    """
    for shape, now, wanted in _TENSORS:
        x = torch.ones(shape, dtype=now)
        found = answer(x, wanted)
        if found is None:
            raise Wrong(**NO_RETURN)
        if found == x.numel() * wanted.itemsize:
            continue
        if found == x.nbytes:
            raise Wrong(
                en="That is what `x` takes up now. The question is what it would take up as `dtype`.",
                zh="這是 `x` 現在占的大小；題目問的是換成 `dtype` 之後的大小。",
            )
        if found == wanted.itemsize:
            raise Wrong(
                en="That is one number. How many numbers are there in `x`?",
                zh="這是一個數的大小。`x` 裡面有幾個數？",
            )
        if found == len(x) * wanted.itemsize:
            raise Wrong(
                en="`len(x)` counts rows only; `x.numel()` counts all numbers.",
                zh="`len(x)` 只算列數；`x.numel()` 才是所有數字的個數。",
            )
        if found == x.numel() * wanted.itemsize * 8:
            raise Wrong(
                en="Eight times the right number: `finfo(…).bits` counts bits, and a byte has eight of them.",
                zh="這是正確值的 8 倍，因為 `finfo(…).bits` 算的是位元，而 1 個位元組有 8 個位元。",
            )
        raise Wrong(
            en=f"For shape {shape} as {wanted} your function returns `{value(found)}`. It is the number of numbers "
            "times the bytes of each.",
            zh=f"形狀 {shape}、型別 {wanted} 時，你的函式傳回 `{value(found)}`。應該傳回數字的個數乘上每個數的位元組數。",
        )


def show_bytes(answer: Any) -> Block:
    """Return what the answer says about three tensors, beside what PyTorch says after the conversion."""
    rows = []
    for shape, now, wanted in _TENSORS:
        x = torch.ones(shape, dtype=now)
        rows.append(
            (f"`{shape}`", f"`{now}`", f"`{wanted}`", value(answer(x, wanted)), value(x.to(wanted).nbytes))
        )
    shape, now, then = Bilingual("shape", "形狀"), Bilingual("now", "現在"), Bilingual("then", "換成")
    return table((shape, now, then, YOURS, "`.to(dtype).nbytes`"), rows)


def _trained() -> nn.Sequential:
    """Return a model after a backward pass, one layer of which is in float64."""
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10).double())
    model[2](model[:2](torch.ones(1, 64)).double()).sum().backward()
    return model


def examine_model_bytes(answer: Any) -> None:
    """Examine ``model_bytes(model)``, the bytes of all parameters and of their gradients.

    Raises:
        Wrong: With a hint about the mistake.
    """
    model = _trained()
    found = answer(model)
    count = sum(p.numel() for p in model.parameters())
    weights = sum(p.nbytes for p in model.parameters())
    if found is None:
        raise Wrong(**NO_RETURN)
    if found == 2 * weights:
        return
    if found == weights:
        raise Wrong(
            en="Those are the parameters alone. The gradient of a parameter `p` is `p.grad`.",
            zh="這裡只有參數，還沒有梯度。參數 `p` 的梯度是 `p.grad`。",
        )
    if found in (count, 2 * count):
        raise Wrong(
            en="You count numbers; each takes several bytes. `p.nbytes` knows how many.",
            zh="你算的是數字的個數，但每個數占好幾個位元組。`p.nbytes` 就是張量 `p` 占的位元組數。",
        )
    if found in (4 * count, 8 * count):
        raise Wrong(
            en="Not every parameter here is a float32: one layer is in float64. Add up what each takes itself.",
            zh="這裡的參數不全是 float32，有一層是 float64。請把每個參數實際占的位元組加起來。",
        )
    raise Wrong(
        en=f"Your function returns `{value(found)}`. For each parameter: its own bytes plus those of its gradient.",
        zh=f"你的函式傳回 `{value(found)}`。每個參數要算兩份：參數本身的位元組，加上梯度的位元組。",
    )


def show_model_bytes(answer: Any) -> Block:
    """Return the bytes of each parameter and gradient of the model, and the answer's sum."""
    model = _trained()
    rows = [
        (f"`{name}`", f"`{p.dtype}`", value(p.nbytes), value(p.grad.nbytes))
        for name, p in model.named_parameters()
    ]
    rows.append((YOURS, "", "", value(answer(model))))
    names = Bilingual("parameter", "參數"), Bilingual("data type", "資料型別"), Bilingual("bytes", "位元組")
    return table((*names, Bilingual("gradient", "梯度")), rows)
