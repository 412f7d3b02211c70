"""Typical wrong answers to the exercises of lesson 03: source, English words, Chinese words of the hint they must get."""

from __future__ import annotations

_TYPES = ("float32", "bfloat16", "float16")
_ACCUMULATE = "def accumulate(model, loss_fn, pieces):\n    "
_HALVE = "def largest_batch(step, batch):\n    "


def _filled(keys: tuple[str, ...], *values: str) -> str:
    """Return a dictionary of a fill-in exercise, with `values` (source code) for `keys`."""
    return f"answers = {{{', '.join(f'{key!r}: {value}' for key, value in zip(keys, values, strict=True))}}}"


def _rounding(*values: str) -> str:
    """Return the dictionary of the exercise "rounding", filled in with `values`."""
    keys = (
        "float16: 4096 + 1",
        "float16: 4096 + 3",
        "bfloat16: 1001",
        "float16: 70000",
        "bfloat16: 70000",
        "float32: 16777216 + 1",
    )
    return _filled(keys, *values)


def _autocast(*values: str) -> str:
    """Return the dictionary of the exercise "autocast", filled in with `values`."""
    keys = (
        "layer(x)",
        "torch.relu(layer(x))",
        "layer(x) + x",
        "x * 2",
        "x @ x.T",
        "cross_entropy(layer(x), labels)",
        "layer.weight.grad",
    )
    return _filled(keys, *(f"torch.{value}" if value in _TYPES else value for value in values))


WRONG: dict[str, list[tuple[str, str, str]]] = {
    "rounding": [
        ("answers = [4096, 4100]", "Keep the dictionary", "保留字典"),
        (
            "answers = {'float16: 4096 + 1': 4096}",
            "line is missing: `float16: 4096 + 3`",
            "不見了：`float16: 4096 + 3`",
        ),
        (
            _rounding("4096", "...", "...", "...", "...", "..."),
            "Not filled in yet: `float16: 4096 + 3`",
            "還沒填",
        ),
        (_rounding("4097", "4100", "1000", "float('inf')", "70144", "16777216"), "every fourth", "每隔 4"),
        (
            _rounding("4096", "4096", "1000", "float('inf')", "70144", "16777216"),
            "4099 lies between",
            "4099 落在",
        ),
        (_rounding("4096", "4100", "1001", "float('inf')", "70144", "16777216"), "512 / 128", "512 / 128"),
        (_rounding("4096", "4100", "1000", "65504", "70144", "16777216"), "ends at 65504", "最大只到 65504"),
        (_rounding("4096", "4100", "1000", "'inf'", "70000", "16777216"), "spacing is 512", "間隔是 512"),
        (
            _rounding("4096", "4100", "1000", "float('inf')", "70144", "16777217"),
            "23 fraction bits",
            "23 個位元",
        ),
        (
            _rounding("'4096'", "4100", "1000", "float('inf')", "70144", "16777216"),
            "is a number",
            "答案是數字",
        ),
        (
            _rounding("4096", "4100", "1000", "float('nan')", "70144", "16777216"),
            "ends at 65504",
            "最大只到 65504",
        ),
    ],
    "autocast": [
        ("answers = 'bfloat16'", "Keep the dictionary", "保留字典"),
        (_autocast("float16", *["float32"] * 6), "`torch.float32` or `torch.bfloat16`", "`torch.float32` 或"),
        (_autocast("'half'", *["float32"] * 6), "`torch.float32` or `torch.bfloat16`", "`torch.float32` 或"),
        (_autocast("float32", *["float32"] * 6), "`layer(x)`: look again", "`layer(x)`：再想想"),
        (_autocast("bfloat16", "float32", *["float32"] * 5), "neither list", "不在任何一份"),
        (
            _autocast("'bfloat16'", "bfloat16", "bfloat16", *["float32"] * 4),
            "the wider type wins",
            "比較寬的",
        ),
        (
            _autocast(*["bfloat16"] * 2, "float32", "bfloat16", *["float32"] * 3),
            "does not touch `x`",
            "不會動 `x`",
        ),
        (_autocast(*["bfloat16"] * 2, *["float32"] * 5), "`@` included", "`@` 也算"),
        (
            _autocast(*["bfloat16"] * 2, *["float32"] * 2, *["bfloat16"] * 3),
            "takes logarithms",
            "取對數",
        ),
        (
            _autocast(*["bfloat16"] * 2, *["float32"] * 2, "bfloat16", "float32", "bfloat16"),
            "type of its parameter",
            "跟著參數",
        ),
    ],
    "accumulate": [
        (
            _ACCUMULATE + "model.zero_grad()\n    total = sum(len(x) for x, y in pieces)\n"
            "    sum(loss_fn(model(x), y) * len(x) / total for x, y in pieces).backward()",
            "in memory at once",
            "同時留在記憶體裡",
        ),
        (
            _ACCUMULATE + "model.zero_grad()\n    x, y = (torch.cat(both) for both in zip(*pieces))\n"
            "    loss_fn(model(x), y).backward()",
            "in memory at once",
            "同時留在記憶體裡",
        ),
        (
            _ACCUMULATE + "model.zero_grad()\n    return sum(loss_fn(model(x), y) for x, y in pieces)",
            "no gradient",
            "沒有梯度",
        ),
        (
            _ACCUMULATE
            + "model.zero_grad()\n    for x, y in pieces:\n        loss_fn(model(x), y).backward()",
            "4 times too large",
            "正確值的 4 倍",
        ),
        (
            _ACCUMULATE
            + "for x, y in pieces:\n        model.zero_grad()\n        loss_fn(model(x), y).backward()",
            "Only the last piece",
            "只剩最後一份",
        ),
        (
            _ACCUMULATE + "for x, y in pieces:\n        model.zero_grad()\n"
            "        (loss_fn(model(x), y) / len(pieces)).backward()",
            "Only the last piece",
            "只剩最後一份",
        ),
        (
            _ACCUMULATE + "model.zero_grad()\n    for x, y in pieces:\n"
            "        (loss_fn(model(x), y) / len(pieces)).backward()",
            "6, 6, 2 examples",
            "6、6、2 筆",
        ),
        (
            _ACCUMULATE + "model.zero_grad()\n    for x, y in pieces:\n"
            "        (loss_fn(model(x), y) / len(x)).backward()",
            "loss times its share",
            "乘上它占的比例",
        ),
        (
            _ACCUMULATE + "total = sum(len(x) for x, y in pieces)\n    for x, y in pieces:\n"
            "        (loss_fn(model(x), y) * len(x) / total).backward()",
            "Called a second time",
            "第二次",
        ),
        (
            _ACCUMULATE
            + "model.zero_grad()\n    total = sum(len(x) for x, y in pieces)\n    for x, y in pieces:\n"
            "        (loss_fn(model(x), y) * len(x) / total).backward()\n"
            "    torch.optim.SGD(model.parameters(), lr=0.1).step()",
            "changed the weights",
            "改到權重",
        ),
    ],
    "halve": [
        (_HALVE + "step(batch)\n    return batch", "comes out of your function", "從你的函式跑出來"),
        (_HALVE + "return 16", "never calls `step`", "從沒呼叫 `step`"),
        (
            _HALVE + "while True:\n        try:\n            step(batch)\n            break\n"
            "        except torch.OutOfMemoryError:\n            batch //= 2",
            "returns `None`",
            "傳回 `None`",
        ),
        (
            _HALVE + "while True:\n        try:\n            step(batch)\n            return batch\n"
            "        except torch.OutOfMemoryError:\n            batch -= 1",
            "the answer is 16, but you return `20`",
            "答案是 16；你傳回的是 `20`",
        ),
        (
            _HALVE + "while True:\n        try:\n            step(batch)\n            return batch\n"
            "        except torch.OutOfMemoryError:\n            batch = batch / 2",
            "halve with `//`",
            "減半要用 `//`",
        ),
        (
            _HALVE + "while batch:\n        try:\n            step(batch)\n            return batch\n"
            "        except Exception:\n            batch //= 2\n    return 0",
            "swallows every error",
            "所有錯誤都吞掉",
        ),
        (
            _HALVE + "while True:\n        try:\n            step(batch)\n            return batch\n"
            "        except RuntimeError:\n            if batch == 1:\n                raise\n            batch //= 2",
            "tried again with smaller",
            "還縮小批次再試",
        ),
        (
            _HALVE + "while True:\n        try:\n            step(batch)\n            return batch\n"
            "        except torch.OutOfMemoryError:\n            batch //= 2",
            "goes on for ever",
            "停不下來",
        ),
        (
            _HALVE + "while batch:\n        try:\n            step(batch)\n            return batch\n"
            "        except torch.OutOfMemoryError:\n            batch //= 2\n    return 0",
            "your function returns `0`",
            "你的函式傳回 `0`",
        ),
        (
            _HALVE + "while True:\n        try:\n            step(batch)\n            return batch\n"
            "        except torch.OutOfMemoryError:\n            if batch < 1:\n                raise\n            batch //= 2",
            "tries a batch of 0",
            "連 0 筆都試",
        ),
    ],
}
