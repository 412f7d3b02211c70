"""The exercises of lesson 03, data types and batch size."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from course_utils.exercises import Exercise, Wrong
from course_utils.exercises.dictionary import filled_in
from course_utils.language import Bilingual

_ROUNDED: dict[str, tuple[float, Bilingual]] = {
    "float16: 4096 + 1": (
        4096.0,
        Bilingual(
            "Between 4096 and 8192, float16 knows only every fourth number.",
            "在 4096 到 8192 之間，float16 每隔 4 才有一個數。",
        ),
    ),
    "float16: 4096 + 3": (
        4100.0,
        Bilingual(
            "The spacing is 4 there, so 4099 lies between 4096 and 4100. Which one is nearer?",
            "這裡的間隔是 4，所以 4099 落在 4096 和 4100 之間。離哪一個近？",
        ),
    ),
    "bfloat16: 1001": (
        1000.0,
        Bilingual(
            "bfloat16 has 7 fraction bits: between 512 and 1024 the spacing is 512 / 128.",
            "bfloat16 的尾數有 7 個位元：512 到 1024 之間的間隔是 512 / 128。",
        ),
    ),
    "float16: 70000": (
        math.inf,
        Bilingual(
            "float16 ends at 65504. What comes after the end?", "float16 最大只到 65504。超過之後會變成什麼？"
        ),
    ),
    "bfloat16: 70000": (
        70144.0,
        Bilingual(
            "It fits, but between 65536 and 131072 the spacing is 512, and 70000 is no multiple of it: take the nearest.",
            "放得下，但 65536 到 131072 之間的間隔是 512，而 70000 不是 512 的倍數：取最接近的。",
        ),
    ),
    "float32: 16777216 + 1": (
        16777216.0,
        Bilingual(
            "16777216 is 2 to the 24th. float32 has 23 fraction bits: from there on, the spacing is 2.",
            "16777216 是 2 的 24 次方。float32 的尾數有 23 個位元，從這裡開始，間隔就是 2。",
        ),
    ),
}


def examine_rounding(answer: Any) -> None:
    """Examine a dictionary: "format: number" → what is stored."""
    for key, value in filled_in(answer, _ROUNDED).items():
        right, why = _ROUNDED[key]
        if isinstance(value, torch.Tensor) and value.numel() == 1:
            value = value.item()
        if isinstance(value, str) and value.strip().lower().lstrip("+") in ("inf", "infinity", "∞"):
            value = math.inf
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Wrong(
                en=f"The answer to `{key}` is a number (`float('inf')` is one, too).",
                zh=f"`{key}` 的答案是數字（`float('inf')` 也算）。",
            )
        if value != right:
            raise Wrong(en=f"`{key}`: look again. {why.en}", zh=f"`{key}`：再想想。{why.zh}")


_UNDER_AUTOCAST: dict[str, tuple[torch.dtype, Bilingual]] = {
    "layer(x)": (
        torch.bfloat16,
        Bilingual(
            "A linear layer is a matrix product: exactly what autocast is for.",
            "線性層就是矩陣乘法，autocast 要加速的正是它。",
        ),
    ),
    "torch.relu(layer(x))": (
        torch.bfloat16,
        Bilingual(
            "`relu` is on neither list: it takes the type of what it gets.",
            "`relu` 不在任何一份清單上：收到什麼型別，就輸出什麼型別。",
        ),
    ),
    "layer(x) + x": (
        torch.float32,
        Bilingual(
            "bfloat16 plus float32: as always, the wider type wins.",
            "bfloat16 加 float32，和平常一樣，結果取比較寬的型別。",
        ),
    ),
    "x * 2": (
        torch.float32,
        Bilingual(
            "Autocast does not touch `x`: an ordinary operation on float32 stays float32.",
            "autocast 不會動 `x`：一般運算遇到 float32，結果還是 float32。",
        ),
    ),
    "x @ x.T": (
        torch.bfloat16,
        Bilingual(
            "It needs no layer: every matrix product is cast, `@` included.",
            "不一定要有層：所有矩陣乘法都會轉換型別，`@` 也算。",
        ),
    ),
    "cross_entropy(layer(x), labels)": (
        torch.float32,
        Bilingual(
            "A loss adds up many small numbers and takes logarithms: it is on the list of what runs in float32.",
            "損失要加總許多很小的數，還要取對數，所以在用 float32 計算的那份清單上。",
        ),
    ),
    "layer.weight.grad": (
        torch.float32,
        Bilingual(
            "The weight stays float32, autocast only makes a copy of it; and a gradient has the type of its parameter.",
            "權重一直是 float32，autocast 只是另外轉一份來用；梯度的型別跟著參數。",
        ),
    ),
}


def examine_autocast(answer: Any) -> None:
    """Examine a dictionary: expression → its data type under bfloat16 autocast."""
    names = {"torch.bfloat16": torch.bfloat16, "torch.float32": torch.float32}
    names |= {name.removeprefix("torch."): dtype for name, dtype in names.items()}
    for key, value in filled_in(answer, _UNDER_AUTOCAST).items():
        right, why = _UNDER_AUTOCAST[key]
        given = names.get(value.strip(), value) if isinstance(value, str) else value
        if given not in (torch.bfloat16, torch.float32):
            raise Wrong(
                en=f"The answer to `{key}` is `torch.float32` or `torch.bfloat16`.",
                zh=f"`{key}` 的答案是 `torch.float32` 或 `torch.bfloat16`。",
            )
        if given is not right:
            raise Wrong(en=f"`{key}`: look again. {why.en}", zh=f"`{key}`：再想想。{why.zh}")


def _gradients(model: nn.Module) -> torch.Tensor | None:
    found = [p.grad for p in model.parameters()]
    return None if any(g is None for g in found) else torch.cat([g.flatten() for g in found])  # type: ignore[union-attr]


def _problem(
    sizes: tuple[int, ...],
) -> tuple[nn.Module, Callable[..., torch.Tensor], list[Any], torch.Tensor]:
    """Return a model, a loss, batches of these `sizes`, and the gradient of them all at once."""
    generator = torch.Generator().manual_seed(7)
    model = nn.Linear(3, 2)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    x, y = torch.randn(sum(sizes), 3, generator=generator), torch.randn(sum(sizes), 2, generator=generator)
    nn.functional.mse_loss(model(x), y).backward()
    wanted = _gradients(model)
    assert wanted is not None
    model.zero_grad()
    pieces = list(zip(x.split(list(sizes)), y.split(list(sizes)), strict=True))
    return model, nn.functional.mse_loss, pieces, wanted


def _close(a: torch.Tensor, b: torch.Tensor) -> bool:
    return bool(torch.allclose(a, b, rtol=1e-4, atol=1e-6))


def examine_accumulate(answer: Any) -> None:
    """Examine ``accumulate(model, loss_fn, pieces)``, which leaves the gradient of the whole batch."""
    for sizes in ((5, 5, 5, 5), (6, 6, 2)):  # pieces of 5 in 4: dividing by the wrong one shows
        model, loss_fn, pieces, wanted = _problem(sizes)
        before = [p.detach().clone() for p in model.parameters()]
        order: list[str] = []
        model.register_forward_hook(lambda *_, order=order: order.append("f"))
        next(model.parameters()).register_hook(lambda _, order=order: order.append("b"))
        answer(model, loss_fn, pieces)
        ran = "".join(order)
        got = _gradients(model)
        if got is None:
            raise Wrong(
                en="After your function there is no gradient. Is `backward()` called?",
                zh="你的函式執行完之後，沒有梯度。有呼叫 `backward()` 嗎？",
            )
        if any(not torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True)):
            raise Wrong(
                en="Your function changed the weights. It should only collect the gradient; the step comes afterwards.",
                zh="你的函式改到權重了。這裡只負責累積梯度，更新權重是之後的事。",
            )
        if _close(got, wanted):
            if "ff" in ran or ran.count("f") < len(pieces):
                raise Wrong(
                    en="The gradient is right, but all pieces are in memory at once. Call `backward()` for each piece before "
                    "the next forward pass.",
                    zh="梯度是對的，但所有資料同時留在記憶體裡。每一份都要先 `backward()`，再算下一份。",
                )
            continue
        count = len(sizes)
        model.zero_grad()
        loss_fn(model(pieces[-1][0]), pieces[-1][1]).backward()
        last = _gradients(model)
        assert last is not None
        if any(_close(got, last * factor) for factor in (1, 1 / count, sizes[-1] / sum(sizes))):
            raise Wrong(
                en="Only the last piece is left in the gradient. `zero_grad()` belongs before the loop, not into it.",
                zh="梯度裡只剩最後一份。`zero_grad()` 要放在迴圈之前，不是迴圈裡面。",
            )
        if len(set(sizes)) == 1 and _close(got, wanted * count):
            raise Wrong(
                en=f"Your gradient is {count} times too large: `backward()` adds up, but the loss of a batch is a mean. "
                "Weigh each piece.",
                zh=f"你的梯度是正確值的 {count} 倍：`backward()` 會累加，但一個批次的損失是平均。每一份都要加權。",
            )
        if len(set(sizes)) > 1:
            raise Wrong(
                en=f"With equal pieces your gradient is right, but not with pieces of {', '.join(map(str, sizes))} examples: "
                "each must count as much as it has examples.",
                zh=f"每份一樣大時，你的梯度是對的；但各份是 {'、'.join(map(str, sizes))} 筆時就不對了：一份有幾筆，就該占幾筆的分量。",
            )
        raise Wrong(
            en="The gradient differs from that of the whole batch. For each piece: forward, loss times its share of the examples, "
            "backward.",
            zh="梯度和整個批次算出來的不一樣。每一份都是：前向傳播、損失乘上它占的比例、反向傳播。",
        )
    model, loss_fn, pieces, wanted = _problem((5, 5, 5, 5))
    loss_fn(model(pieces[0][0]), pieces[0][1]).backward()  # what an earlier step has left behind
    answer(model, loss_fn, pieces)
    got = _gradients(model)
    if got is None or not _close(got, wanted):
        raise Wrong(
            en="Called a second time, your function adds to the gradient of the first. Begin with `zero_grad()`.",
            zh="呼叫第二次時，你的函式把上一次的梯度也加進去了。一開始要先 `zero_grad()`。",
        )


class _Step:
    """A training step that fits up to `most` examples, and notes what it was asked for."""

    def __init__(self, most: int, error: Callable[[], BaseException] | None = None) -> None:
        self.most, self.error, self.asked = most, error, []

    def __call__(self, batch: Any) -> None:
        if isinstance(batch, bool) or not isinstance(batch, int):
            raise Wrong(
                en=f"Your function calls `step({batch!r})`, but a batch size is a whole number: halve with `//`.",
                zh=f"你的函式呼叫了 `step({batch!r})`，但批次大小必須是整數：減半要用 `//`。",
            )
        self.asked.append(batch)
        if len(self.asked) > 200 or batch < 0:
            raise Wrong(
                en="Your function goes on for ever. When not even one example fits, give up: let the error out.",
                zh="你的函式停不下來。如果連一筆都放不下，就該放棄，讓錯誤傳出去。",
            )
        if self.error is not None:
            raise self.error()
        if batch > self.most:
            raise torch.OutOfMemoryError(f"CUDA out of memory. Tried to allocate {batch} MiB.")


def examine_halve(answer: Any) -> None:
    """Examine ``largest_batch(step, batch)``, which halves until a step fits."""
    step = _Step(20)
    try:
        found = answer(step, 128)
    except torch.OutOfMemoryError:
        raise Wrong(
            en="The out-of-memory error comes out of your function. Catch `torch.OutOfMemoryError` and try half the batch.",
            zh="記憶體不足的錯誤從你的函式跑出來了。要攔下 `torch.OutOfMemoryError`，改用一半的批次再試。",
        ) from None
    if not step.asked:
        raise Wrong(
            en="Your function never calls `step`. Only trying shows what fits.",
            zh="你的函式從沒呼叫 `step`。放不放得下，試了才知道。",
        )
    if found is None:
        raise Wrong(
            en="Your function returns `None`; return the batch size that fitted.",
            zh="你的函式傳回 `None`；請傳回放得下的批次大小。",
        )
    if found != 16:
        tried = ", ".join(map(str, step.asked[:6]))
        raise Wrong(
            en=f"Starting from 128 where 20 fit, the answer is 16, but you return `{found}` (tried: {tried}).",
            zh=f"從 128 開始，最多放得下 20 筆時，答案是 16；你傳回的是 `{found}`（試過：{tried}）。",
        )
    other = _Step(20, lambda: RuntimeError("mat1 and mat2 shapes cannot be multiplied (3x4 and 5x6)"))
    try:
        answer(other, 8)
    except RuntimeError as error:
        if isinstance(error, torch.OutOfMemoryError) or "mat1" not in str(error):
            raise
    else:
        raise Wrong(
            en="Your function swallows every error, also a wrong shape. Catch only `torch.OutOfMemoryError`.",
            zh="你的函式把所有錯誤都吞掉了，連形狀不合的也是。只攔 `torch.OutOfMemoryError` 就好。",
        )
    if len(other.asked) > 1:
        raise Wrong(
            en="A wrong shape is tried again with smaller batches. Catch only `torch.OutOfMemoryError`.",
            zh="遇到形狀不合的錯誤，你的函式還縮小批次再試。只攔 `torch.OutOfMemoryError` 就好。",
        )
    hopeless = _Step(-1)  # not even an empty batch: whoever halves without end is told so
    try:
        found = answer(hopeless, 4)
    except torch.OutOfMemoryError:
        pass
    else:
        raise Wrong(
            en=f"When not even one example fits, your function returns `{found}`. There the error should come out.",
            zh=f"連一筆都放不下時，你的函式傳回 `{found}`。這時應該讓錯誤傳出去。",
        )
    if 0 in hopeless.asked:
        raise Wrong(
            en="Your function tries a batch of 0. Stop at 1: if that does not fit, let the error out.",
            zh="你的函式連 0 筆都試。到 1 就該停：還放不下，就讓錯誤傳出去。",
        )


EXERCISES = (
    Exercise(
        "rounding",
        "03",
        Bilingual("what is stored?", "存進去的是多少？"),
        examine_rounding,
        (
            Bilingual(
                "Find the power of two below the number, and divide it by 2 to the number of fraction bits: that is the spacing.",
                "先找出不超過這個數、最大的 2 的次方，再依尾數的位元數，有幾個就除以 2 幾次，結果就是間隔。",
            ),
            Bilingual(
                "Fraction bits: float16 10, bfloat16 7, float32 23.",
                "尾數的位元數：float16 是 10，bfloat16 是 7，float32 是 23。",
            ),
            Bilingual(
                "What lies between two neighbours goes to the nearer one; in the middle, to the one whose last bit is 0.",
                "落在兩個相鄰數之間的，會變成比較近的那一個；剛好在正中間，就取最後一個位元是 0 的那個。",
            ),
        ),
    ),
    Exercise(
        "autocast",
        "03",
        Bilingual("which type under autocast?", "autocast 底下是什麼型別？"),
        examine_autocast,
        (
            Bilingual(
                "Three kinds of operations: matrix products (half), losses (float32), most others (what they get).",
                "運算分三類：矩陣乘法（半精度）、損失（float32）、其他（大多收到什麼就用什麼）。",
            ),
            Bilingual("Autocast never changes a parameter.", "autocast 絕不會更改參數。"),
            Bilingual("Mixed types: the wider one wins.", "型別混用時，取比較寬的。"),
        ),
    ),
    Exercise(
        "accumulate",
        "03",
        Bilingual("a large batch in pieces", "把大批次拆開來算"),
        examine_accumulate,
        (
            Bilingual(
                "`backward()` adds to what is in `.grad`. Who clears it, and when?",
                "`backward()` 會加到 `.grad` 原有的值上。誰來清空？什麼時候？",
            ),
            Bilingual(
                "The loss of the whole batch is the mean over all examples, not over the pieces.",
                "整個批次的損失，是所有樣本的平均，不是各份的平均。",
            ),
            Bilingual(
                "Multiply each loss by `len(x) / total` before `backward()`.",
                "每個損失先乘上 `len(x) / total`，再 `backward()`。",
            ),
        ),
    ),
    Exercise(
        "halve",
        "03",
        Bilingual("halve until it fits", "減半，直到放得下"),
        examine_halve,
        (
            Bilingual(
                "`while True:`, and in it `try: step(batch)` and return if it succeeds.",
                "用 `while True:`，裡面 `try: step(batch)`，成功就傳回。",
            ),
            Bilingual(
                "Catch `torch.OutOfMemoryError` and nothing else.",
                "只攔 `torch.OutOfMemoryError`，別的都不攔。",
            ),
            Bilingual(
                "At a batch of 1 there is nothing left to halve: `raise`.", "批次到 1 就沒得減了：`raise`。"
            ),
        ),
    ),
)
