"""Typical wrong answers to the exercises of lesson 06: source, and words of the hint in English and Chinese."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

from lesson_06.check_shares import RIGHT

Row = tuple[str, str, str]


def solutions() -> dict[str, str]:
    """Return the solutions that the notebook publishes: name of the exercise → source.

    A solution is the Python code in the Markdown cell after the cell with ``check("name", …)``.
    """
    (notebook,) = Path(__file__).parents[1].glob("06_*.ipynb")
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells]
    found = {}
    for stub, following in zip(texts, texts[1:], strict=False):
        if (name := re.search(r'^check\("(\w+)"', stub, re.M)) and (
            code := re.search(r"```python\n(.*?)```", following, re.S)
        ):
            found[name[1]] = code[1]
    return found


SOLUTIONS = solutions()

_RING = "def ring_all_reduce(chunks, rank, size, exchange):\n    "


def _changed(name: str, *changes: tuple[str, str]) -> str:
    """Return the solution with pieces of its text replaced, each of which must be there."""
    source = SOLUTIONS[name]
    for old, new in changes:
        assert old in source, f"{name} has no {old!r}"
        source = source.replace(old, new)
    return source


def _shares(place: int, value: str) -> str:
    """Return the right dictionary with another value for the key number `place`."""
    values = {key: repr(right) for key, right in RIGHT.items()} | {list(RIGHT)[place]: value}
    return f"answers = {{{', '.join(f'{key!r}: {text}' for key, text in values.items())}}}"


_ring, _mend, _distribute = (
    partial(_changed, name) for name in ("ring_all_reduce", "mend_ddp", "distribute")
)
_BATCH = ("64 // dist.get_world_size()", "64")
_SAMPLER = "DistributedSampler(dataset)"
_REDUCE, _IF = "    dist.all_reduce(loss)  # 4: all ranks take part\n", "    if dist.get_rank() == 0:\n"
_ALL_GATHER = "exchange(chunks[(rank - step + 1) % size])"

WRONG: dict[str, list[Row]] = {
    "ring_all_reduce": [
        (_RING + "return [chunk * size for chunk in chunks]", "`chunks` is as it was", "原封不動"),
        (_RING + "exchange(chunks)", "you give it a `list`", "你給的卻是 `list`"),
        (_RING + "exchange(rank)", "you give it a `int`", "你給的卻是 `int`"),
        (_RING + "chunks[:] = [exchange(torch.cat(chunks))]", "should still hold 4 tensors", "應該還是 4 個張量"),
        (_RING + "chunks[0] = exchange(torch.cat(chunks))", "of 6 numbers each", "每個 6 個數字"),
        (
            _RING + "whole = torch.cat(chunks)\n    total = whole.clone()\n    for _ in range(size - 1):\n"
            "        whole = exchange(whole)\n        total += whole\n    chunks[:] = total.chunk(size)",
            "rank 0 sends 72 numbers for its 24",
            "卻送出 72 個",
        ),
        (_ring(("range(size - 1)", "range(size)")), "one chunk in each of 6 exchanges", "交換 6 次，每次只送一塊"),
        (_ring(("+= received", "= received")), "numbers of one rank only", "都只有一個 rank 的數字"),
        (_ring(("step) % size] = received", "step) % size] += received")), "rank 0 2 times", "rank 0 的數字加了 2 次"),
        (_ring(("chunks[(rank - step) % size])", "chunks[rank])")), "no sum of everybody's chunk", "混進了別塊"),
        (SOLUTIONS["ring_all_reduce"].split("    for step in range(size - 1):  # all")[0], "Half way", "完成一半了"),
        (
            SOLUTIONS["ring_all_reduce"] + "    for chunk in chunks:\n        chunk /= size\n",
            "the mean over the ranks",
            "各個 rank 的平均",
        ),
        (
            SOLUTIONS["ring_all_reduce"] + "    if rank == 0:\n        exchange(chunks[0])\n",
            "rank 1 is done after 6 exchanges, but rank 0 wants another",
            "rank 1 交換 6 次就結束了",
        ),
        (_RING + "while True:\n        chunks[rank] += exchange(chunks[rank])", "6 are enough", "其實 6 次就夠了"),
        (
            _RING + "for k in range(size):\n        chunks[k] += exchange(chunks[k])",
            "lacks the numbers of rank 1, 2",
            "少了 rank 1、2 的數字",
        ),
        (
            _ring(("chunks[(rank - step - 1) % size] += received", "chunks[(rank - step) % size] += received"),
                  (_ALL_GATHER, "exchange(chunks[(rank - step) % size])")),
            "is no sum of everybody's chunk",
            "混進了別塊",
        ),
        (_ring(("(rank - step - 1) % size] += received", "0] += received")), "no sum of everybody's", "混進了別塊"),
        (_RING + "chunks[0][0] = chunks[0][0] * size", "no sum of everybody's chunk 0", "不是大家第 0 塊的總和"),
        # What works with two ranks only: half of it goes there, the other half comes back.
        (
            _RING + "other = 1 - rank if size == 2 else (rank + 1) % size\n"
            "    received = exchange(chunks[other])\n    chunks[rank] += received\n"
            "    chunks[other] = exchange(chunks[rank])",
            "With 4 ranks",
            "4 個 rank 時",
        ),
    ],
    "sampler_shares": [
        ("answers = [0, 2, 4, 6]", "Keep the dictionary", "保留字典"),
        (_shares(3, "..."), "Not filled in yet: `5 samples", "還沒填"),
        (_shares(0, "4"), "a list of sample numbers", "樣本編號的 list"),
        (_shares(0, "['0', '2', '4', '6']"), "a list of sample numbers", "樣本編號的 list"),
        (_shares(0, "[0, 1, 2, 3]"), "not cut into blocks", "不是一段一段切的"),
        (_shares(1, "[4, 5, 6, 0]"), "Deal the samples out like cards", "像發牌一樣，輪流發"),
        (_shares(1, "[1, 3, 5]"), "every rank gets equally many", "每個 rank 要一樣多"),
        (_shares(1, "[1, 3, 5, 6]"), "filled up from its beginning", "從整份清單的開頭"),
        (_shares(1, "[1, 3, 5, 1]"), "filled up from its beginning", "從整份清單的開頭"),
        (_shares(2, "[1, 3, 5, 0]"), "nothing is filled up", "就不補"),
        (_shares(3, "[3]"), "every rank gets equally many", "每個 rank 要一樣多"),
        (_shares(3, "[3, 0]"), "filled up from its beginning", "從整份清單的開頭"),
        (_shares(3, "[4]"), "not [4]", "不是 [4]"),
        (_shares(4, "7"), "One sample is there twice", "有一個樣本出現兩次"),
        (_shares(4, "4"), "together", "一共"),
        (_shares(4, "'8'"), "a whole number", "整數"),
        (_shares(5, "'yes'"), "`True` or `False`", "`True` 或 `False`"),
        (_shares(5, "False"), "`seed + epoch`", "`seed + epoch`"),
    ],
    "mend_ddp": [
        ("script = print", "yours is a `builtin_function_or_method`", "`builtin_function_or_method`"),
        (_mend(("for epoch in range(3):", "for epoch in range(3)")), "cannot read line 14", "第 14 行"),
        (_mend(("sampler=sampler", "shuffle=True")), "knows nothing of the sampler", "不知道有 sampler"),
        (_mend(("sampler=sampler", "sampler=sampler, shuffle=True")), "exclude each other", "不能同時用"),
        (_mend((f"sampler = {_SAMPLER}", "sampler = None")), "There is no `DistributedSampler`", "沒有 `DistributedSampler`"),
        (_mend(("    sampler.set_epoch(epoch)  # 2: another order\n", "")), "Without `sampler.set_epoch", "沒有 `sampler.set_epoch"),
        (_mend((_REDUCE, ""), (_IF, _IF + "    " + _REDUCE)), "only some ranks come to this `all_reduce`", "只有部分 rank 會執行到"),
        (_mend(("set_epoch(epoch)", "set_epoch(0)")), "Every epoch has the same order", "每個 epoch 的順序都一樣"),
        (_mend(("ddp(x)", "model(x)")), "different weights: nobody averages", "沒有人把梯度平均"),
        (
            _mend(("        loss.backward()", "        with ddp.no_sync():\n            ddp(x).mean().backward()\n        loss.backward()"),
                  ("loss = ((ddp(x) - y) ** 2).mean()", "loss = ((model(x) - y) ** 2).mean()")),
            "although the model is wrapped",
            "明明包裝過了",
        ),
        (_mend((_REDUCE, "")), "Is the loss of the other process in it?", "另一個行程的損失，算進去了嗎"),
        (_mend((".item() / 2", ".item()")), "the sum of the losses", "損失總和"),
        (_mend((_IF + "    ", "")), "Rank 1 prints as well: `epoch 0: mean loss", "rank 1 也在印"),
        (_mend((_IF, "    if dist.get_rank() == 0 and epoch == 2:\n")), "it prints 1 in all", "只印了 1 行"),
        (_mend(("set_epoch(epoch)", "set_epoch(epochs)")), "stopped in line 15: NameError", "停在第 15 行：NameError"),
        (_mend((_REDUCE, "    dist.get_rank() or dist.all_reduce(loss)\n")), "got out of step", "步調亂了"),
        (_mend(("import torch\n", "import os, signal, torch\n"), (_REDUCE, "    os.kill(os.getpid(), signal.SIGABRT)\n")), "got out of step", "步調亂了"),
        (_mend(("lr=0.1", "lr=0.2")), "other weights than one process", "和一個行程用同樣的批次訓練出來的不同"),
        (_mend(("batch_size=32", "batch_size=64")), "now both together take 128", "合起來用 128 個"),
        (_mend(("range(3)", "range(2)")), "rank 0 makes 20", "卻做了 20 步"),
        (_mend((_SAMPLER, "DistributedSampler(dataset, num_replicas=2, rank=0)")), "320 samples come up twice", "320 個樣本出現兩次"),
    ],
    "distribute": [
        ("def script():\n    return 1", "yours is a `function`", "你給的卻是 `function`"),
        (
            _distribute(('dist.init_process_group("nccl" if gpus else "gloo", timeout=limit)', "")),
            "do not know of each other",
            "不知道彼此的存在",
        ),
        (_distribute(('"nccl" if gpus else "gloo"', '"nccl"')), "`nccl` needs a GPU", "`nccl` 要每個行程"),
        (
            _distribute(('"LOCAL_RANK"', '"RANK"'), ('"LOCAL_WORLD_SIZE"', '"WORLD_SIZE"')),
            "`LOCAL_RANK`",
            "`LOCAL_RANK`",
        ),
        (_distribute((", sampler=sampler", ", shuffle=True")), "knows nothing of the sampler", "不知道有 sampler"),
        (_distribute(("DistributedDataParallel(torch.nn.Linear(1, 1).to(device))", "torch.nn.Linear(1, 1)")), "did not start alike", "一開始就不同"),
        (_distribute(_BATCH), "now both together take 128", "合起來用 128 個"),
        (_distribute(("dist.destroy_process_group()\n", "")), "except for the end", "只差結尾"),
        (_distribute((_IF + "    ", "")), "Rank 1 prints as well", "rank 1 也在印"),
    ],
}  # fmt: skip
