"""Typical wrong answers to the exercises of lesson 03: source, English words, Chinese words of the hint they must get."""

from __future__ import annotations

_TYPES = ("float32", "bfloat16", "float16")
_ACCUMULATE = "def accumulate(model, loss_fn, pieces):\n    "
_BYTES = "def bytes_in(x, dtype):\n    return "
_LOST = "def lost(x, dtype):\n    return "
_KNEE = "def knee(sizes, seconds):\n    rates = [b / t for b, t in zip(sizes, seconds)]\n    return "
_MODEL = "def model_bytes(model):\n    return "
_STEP = "def scaled_step(loss, model, optimizer, scaler, limit):\n    "
_CLIP = "nn.utils.clip_grad_norm_(model.parameters(), limit)\n    "
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
    "bytes": [
        (_BYTES.replace("return ", "x.numel() * dtype.itemsize"), "returned `None`", "傳回了 `None`"),
        (_BYTES + "x.nbytes", "takes up now", "現在占的大小"),
        (_BYTES + "dtype.itemsize", "one number", "一個數的大小"),
        (_BYTES + "len(x) * dtype.itemsize", "counts rows only", "只算列數"),
        (_BYTES + "x.numel() * torch.finfo(dtype).bits", "counts bits", "算的是位元"),
        (_BYTES + "x.numel()", "times the bytes of each", "乘上每個數的位元組數"),
    ],
    "lost": [
        (_LOST.replace("return ", "(x.to(dtype) == 0).sum()"), "returned `None`", "傳回了 `None`"),
        (_LOST + "(x != 0) & (x.to(dtype) == 0)", "one value for each", "各傳回一個值"),
        (_LOST + "(x.to(dtype) == 0).sum().item()", "were zero before", "本來就是 0"),
        (
            _LOST + "((x != 0) & (x.abs() < torch.finfo(dtype).tiny)).sum().item()",
            "not yet the number",
            "數還在",
        ),
        (_LOST + "((x != 0) & (x.to(dtype) == 0)).float().mean().item()", "a share", "是比例"),
        (_LOST + "0", "4 of these numbers", "有 4 個會變成 0"),
    ],
    "scaled_step": [
        (_STEP + "scaler.scale(loss)", "`backward()` was not called", "沒有呼叫 `backward()`"),
        (_STEP + "loss.backward()\n    " + _CLIP + "optimizer.step()", "loss is not scaled", "損失沒有放大"),
        (
            _STEP
            + "scaler.scale(loss).backward()\n    scaler.unscale_(optimizer)\n    "
            + _CLIP
            + "optimizer.step()\n    scaler.update()",
            "infinite gradients as well",
            "無限大的梯度都照用",
        ),
        (
            _STEP
            + "scaler.scale(loss).backward()\n    scaler.unscale_(optimizer)\n    "
            + _CLIP
            + "scaler.step(optimizer)",
            "`scaler.update()` is missing",
            "少了 `scaler.update()`",
        ),
        (
            _STEP
            + "scaler.scale(loss).backward()\n    "
            + _CLIP
            + "scaler.step(optimizer)\n    scaler.update()",
            "256 times too short",
            "正確長度的 1/256",
        ),
        (
            _STEP
            + "scaler.scale(loss).backward()\n    "
            + _CLIP
            + "scaler.unscale_(optimizer)\n    scaler.step(optimizer)\n    scaler.update()",
            "256 times too short",
            "正確長度的 1/256",
        ),
        (
            _STEP + "scaler.scale(loss).backward()\n    scaler.update()\n    scaler.step(optimizer)",
            "`scaler.update()` comes before",
            "還早呼叫",
        ),
        (
            _STEP
            + "scaler.scale(loss).backward()\n    scaler.unscale_(optimizer)\n    "
            + _CLIP
            + "scaler.update()\n    scaler.step(optimizer)",
            "`scaler.update()` comes before",
            "還早呼叫",
        ),
        (
            _STEP + "scaler.scale(loss).backward()\n    scaler.step(optimizer)\n    scaler.update()",
            "was not clipped",
            "沒有裁剪",
        ),
        (
            _STEP
            + "scaler.scale(loss).backward()\n    scaler.unscale_(optimizer)\n    "
            + "nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    scaler.step(optimizer)\n    scaler.update()",
            "moved the weights by 1",
            "權重移動了 1",
        ),
    ],
    "knee": [
        (_KNEE.replace("return ", "pass"), "returned `None`", "傳回了 `None`"),
        (
            _KNEE + "next(i for i, r in enumerate(rates) if r >= 0.8 * max(rates))",
            "place in the list",
            "在 list 裡的位置",
        ),
        (
            _KNEE + "next(r for r in rates if r >= 0.8 * max(rates))",
            "throughput at the knee",
            "轉折點的吞吐量",
        ),
        (_KNEE + "sizes[rates.index(max(rates))]", "the fastest one", "最快的批次"),
        (
            _KNEE + "min(b for b, t in zip(sizes, seconds) if t >= 0.8 * min(seconds))",
            "not the time of a step",
            "不是一步的時間",
        ),
        (
            _KNEE + "min(b for b, r in zip(sizes, rates) if r >= 0.5 * max(rates))",
            "the knee is 64",
            "轉折點是 64",
        ),
    ],
    "model_bytes": [
        (
            _MODEL.replace("return ", "sum(p.nbytes for p in model.parameters())"),
            "returned `None`",
            "傳回了 `None`",
        ),
        (_MODEL + "sum(p.nbytes for p in model.parameters())", "parameters alone", "只有參數"),
        (_MODEL + "sum(p.numel() for p in model.parameters())", "count numbers", "數字的個數"),
        (
            _MODEL + "8 * sum(p.numel() for p in model.parameters())",
            "one layer is in float64",
            "有一層是 float64",
        ),
        (_MODEL + "sum(p.nbytes * 4 for p in model.parameters())", "its own bytes plus", "加上梯度的位元組"),
    ],
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
            "預設和參數相同",
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
        (_HALVE + "step(batch)\n    return batch", "comes out of your function", "傳到你的函式外面"),
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
            _HALVE + "try:\n        step(batch)\n        return batch\n"
            "    except torch.OutOfMemoryError:\n        if batch <= 1:\n            raise\n"
            "        return largest_batch(step, batch // 2)",
            "inside the `except` block",
            "在 `except` 區塊裡面重試",
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
