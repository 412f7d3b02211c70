"""Typical wrong answers to the exercises of lesson 08: source, and words of the hint in English and Chinese."""

from __future__ import annotations

from collections.abc import Callable

from lesson_08 import (
    check_decoder_input,
    check_measure,
    check_mend,
    check_per_horizon,
    check_scale,
    check_seen,
    check_split,
)

Row = tuple[str, str, str]

_RIGHT_ORDER = "order = torch.randperm(count, generator=torch.Generator().manual_seed(hash((seed, epoch))))"


def _share(order: str, place: str = "place", end: str = "[rank::world]") -> str:
    lines = ["import torch", "def share(step, rank, world, batch, count, seed):"]
    lines += ["    epoch, place = divmod(step, count // batch)", f"    {order}"]
    return "\n".join([*lines, f"    return order[{place} * batch : ({place} + 1) * batch]{end}"])


def _returning(head: str) -> Callable[[str], str]:
    return lambda value: f"def {head}:\n    return {value}"


_gather = _returning("gather(values, first, length)")
_new_rate = _returning("new_rate(rate, batch, new_batch)")
_pays = _returning("steps_to_pay(compiling, before, after)")
_kept = _returning("kept(lines, step)")
_best_epoch = _returning("best_epoch(lines)")
_time_left = _returning("time_left(lines, steps)")
_better_at = _returning("better_at(model, other)")


def _quiet(kept: str, result: str) -> str:
    return f"""def quiet(model, optimizer, batches):
    losses = []
    for *inputs, future in batches:
        loss = torch.nn.functional.mse_loss(model(*inputs), future)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append({kept})
    return {result}"""


WRONG: dict[str, list[Row]] = {
    # data
    "mend": check_mend.WRONG,
    "split": check_split.WRONG,
    "scale": check_scale.WRONG,
    "per_horizon": check_per_horizon.WRONG,
    # model
    "measure": check_measure.WRONG,
    "visible": check_seen.WRONG,
    "decoder_input": check_decoder_input.WRONG,
    # journey
    "gather": [
        (
            "def gather(values, first, length):\n    values[first[:, None] + torch.arange(length, device=values.device)]",
            "is there a `return`",
            "有寫 `return` 嗎",
        ),
        (_gather("[values[i : i + length] for i in first]"), "Return a tensor", "請傳回張量"),
        (_gather("values[first]"), "the shape should be", "形狀應該是"),
        (
            _gather("torch.stack([values[i : i + length] for i in first.tolist()])"),
            "one by one",
            "一個一個取",
        ),
        (_gather("values[first + torch.arange(length)]"), "cannot be added", "逐一相加"),
        (_gather("values[torch.arange(length)[:, None] + first]"), "the other way round", "剛好相反"),
        (_gather("values[first[:, None] + torch.arange(1, length + 1)]"), "the rows are not", "內容不對"),
        (
            _gather("values[first[:, None] + torch.arange(length)]"),
            "On another device it fails",
            "換個裝置就不行",
        ),
    ],
    "new_rate": [
        (_new_rate("rate * new_batch / batch"), "plain SGD", "單純 SGD"),
        (_new_rate("rate * (batch / new_batch) ** 0.5"), "upside down", "上下顛倒"),
        (_new_rate("rate"), "twice the rate", "變成兩倍"),
    ],
    "pays": [
        (_pays("compiling / before"), "the whole step", "整個一步"),
        (_pays("compiling * before / after"), "it has paid after", "步之後回本"),
        (_pays("compiling / (before - after)"), "a division by zero", "除以零"),
        (
            _pays("compiling / (before - after) if before != after else float('inf')"),
            "it never pays",
            "永遠不會回本",
        ),
    ],
    "quiet": [
        (
            "def quiet(model, optimizer, batches):\n    for *inputs, future in batches:\n        loss = torch.nn.functional.mse_loss(model(*inputs), future)\n        loss.backward()",
            "is there a `return`",
            "有寫 `return` 嗎",
        ),
        (_quiet("loss.item()", "losses"), "still waits 12 times", "還是等了 12 次"),
        (_quiet("loss.detach()", "losses"), "a list of Python floats", "浮點數的 list"),
        (
            _quiet("loss.detach()", "[loss.item() for loss in losses]"),
            "still waits 12 times",
            "還是等了 12 次",
        ),
        (
            _quiet("loss.detach()", "torch.stack(losses).tolist()").replace("optimizer.zero_grad()", "pass"),
            "should stay as it was",
            "應該維持原樣",
        ),
        (_quiet("loss.detach()", "[losses[-1].item()]"), "keep every one", "每一個都要留著"),
    ],
    # ranks
    "share": [
        (_share(_RIGHT_ORDER).replace("return", "found ="), "`None`", "`None`"),
        (
            "def share(step, rank, world, batch, count, seed):\n    return step / world",
            "numbers of the windows",
            "視窗的編號",
        ),
        (_share(_RIGHT_ORDER + " + 1"), "0 to 49", "0 到 49"),
        (_share(_RIGHT_ORDER, end="[rank:]"), "[8, 7] windows", "[8, 7] 個視窗"),
        (_share(_RIGHT_ORDER, place="(place // 2)"), "windows twice", "用了兩次"),
        (_share(_RIGHT_ORDER.replace("hash((seed, epoch))", "epoch")), "Another seed", "換了種子"),
        (_share("order = torch.randperm(count)"), "Asked twice", "同一步問兩次"),
        (
            _share("order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))"),
            "same order",
            "順序都一樣",
        ),
        (_share(_RIGHT_ORDER, place="step"), "instead of 8", "應該是 8 個"),
        (_share(_RIGHT_ORDER, end=""), "whole batch", "整個批次"),
        (_share(_RIGHT_ORDER.replace("epoch))", "epoch, rank))")), "cut the same order", "同一個順序"),
        (_share("order = torch.arange(count)"), "order of time", "時間順序"),
    ],
    "kept_lines": [
        ("def kept(lines, step):\n    print(lines)", "`None`", "`None`"),
        (_kept("[line | {'kept': True} for line in lines if line['step'] <= step]"), "has changed", "改掉了"),
        (_kept("[line for line in lines if line['step'] < step]"), "itself was done", "已經完成"),
        (_kept("lines[:step]"), "not a number of lines", "不是行數"),
        (_kept("[line for line in lines if line['step'] > step]"), "lost future", "作廢"),
        (_kept("lines"), "twice", "重複出現"),
        (_kept("len(lines)"), "list of lines", "一行一個"),
    ],
    # watch
    "best_epoch": [
        ("def best_epoch(lines):\n    print(lines[-1]['epoch'])", "`None`", "`None`"),
        (
            _best_epoch("min(lines, key=lambda line: line['loss'])['epoch']"),
            "windows that the model never learned from",
            "模型沒學過的視窗",
        ),
        (_best_epoch("lines[-1]['epoch']"), "the last epoch", "最後一個訓練週期"),
        (
            _best_epoch("min(line['val_mse'] for line in lines if 'val_mse' in line)"),
            "the error itself",
            "誤差本身",
        ),
        (
            _best_epoch("min(lines, key=lambda line: line['val_mse'])['epoch']"),
            "choose these lines first",
            "請先挑出這些行",
        ),
        (
            _best_epoch("min(lines, key=lambda line: line.get('val_mse', 9))"),
            "yours is a `dict`",
            "你傳回的卻是 `dict`",
        ),
        (
            "def best_epoch(lines):\n    errors = [line.get('val_mse', 9) for line in lines]\n    return errors.index(min(errors))",
            "place of its line",
            "那一行在紀錄裡的位置",
        ),
        (
            _best_epoch("max(lines, key=lambda line: line.get('val_mse', 0))['epoch']"),
            "error is largest",
            "誤差反而最大",
        ),
        (
            _best_epoch("min(reversed(lines), key=lambda line: line.get('val_mse', 9))['epoch']"),
            "Return the first",
            "傳回前面那一個",
        ),
        (_best_epoch("3"), "your function says 3", "你的函式傳回 3"),
    ],
    "time_left": [
        ("def time_left(lines, steps):\n    print(steps)", "`None`", "`None`"),
        (_time_left("steps * lines[-1]['seconds'] / lines[-1]['step']"), "the whole run", "整次訓練的時間"),
        (_time_left("steps - lines[-1]['step']"), "the steps that are left", "剩下的步數"),
        (
            _time_left("(steps - lines[0]['step']) * lines[0]['seconds'] / lines[0]['step']"),
            "first line of the log",
            "紀錄的第一行",
        ),
        (
            _time_left("(steps - lines[-1]['step']) * lines[-1]['step'] / lines[-1]['seconds']"),
            "Upside down",
            "分子和分母相反了",
        ),
        (_time_left("lines[-1]['seconds']"), "your function says that 4 s are left", "你的函式卻說還要 4 秒"),
    ],
    "better_at": [
        ("def better_at(model, other):\n    print([2, 3, 4])", "`None`", "`None`"),
        (_better_at("sum(m < o for m, o in zip(model, other))"), "yours is a `int`", "你傳回的卻是 `int`"),
        (
            _better_at("[h for h, (m, o) in enumerate(zip(model, other)) if m < o]"),
            "the next hour",
            "下一個小時",
        ),
        (
            _better_at("[h for h, (m, o) in enumerate(zip(model, other), 1) if m > o]"),
            "the smaller error wins",
            "誤差小的才贏",
        ),
        (
            _better_at("[h for h, (m, o) in enumerate(zip(model, other), 1) if m <= o]"),
            "is not better",
            "不算比較好",
        ),
        (_better_at("[m for m, o in zip(model, other) if m < o]"), "These are errors", "這些是誤差"),
        (
            _better_at("[m < o for m, o in zip(model, other)]"),
            "your function says [False",
            "你的函式傳回 [False",
        ),
    ],
    # closing
}
