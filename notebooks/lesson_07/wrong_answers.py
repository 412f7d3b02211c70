"""Typical wrong answers to the exercises of lesson 07: source, and words of the hint in English and Chinese."""

from __future__ import annotations

from lesson_07.check_only_one import RIGHT
from lesson_07.wrong_scripts import WRONG_SCRIPTS

Row = tuple[str, str, str]

RING = """def ring_all_reduce_by_hand(chunks, rank, size, exchange):
    for step in range(size - 1):  # reduce-scatter: pass on what just arrived, summed
        received = exchange(chunks[(rank - step) % size])
        chunks[(rank - step - 1) % size] += received
    for step in range(size - 1):  # all-gather: pass on what is finished
        received = exchange(chunks[(rank - step + 1) % size])
        chunks[(rank - step) % size] = received
"""
_RING = "def ring_all_reduce_by_hand(chunks, rank, size, exchange):\n    "
_ALL_GATHER = "exchange(chunks[(rank - step + 1) % size])"


def _ring(*changes: tuple[str, str]) -> str:
    """Return the solution with pieces of its text replaced, each of which must be there."""
    source = RING
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    return source


def _lines(**changes: str) -> str:
    """Return the right dictionary with other values for the lines number `_0`, `_1` …."""
    values = dict(RIGHT)
    for place, value in changes.items():
        values[list(RIGHT)[int(place[1:])]] = value
    return f"answers = {values!r}"


def _sent(value: str) -> str:
    return f"def sent_bytes(size, ranks):\n    return {value}"


def _plan(value: str) -> str:
    return f"def plan(per_rank, ranks, accumulate, images):\n    return {value}"


def _share(value: str) -> str:
    return f"def efficiency_of(one, together, ranks):\n    return {value}"


def _gpus(*lines: str) -> str:
    head = "import math\n\ndef fewest_gpus(parameters, memory, activations):\n"
    return head + "".join(f"    {line}\n" for line in lines)


_NONE = "if activations >= memory: return None"

WRONG: dict[str, list[Row]] = {
    "sent_bytes": [
        (_sent("None").replace("return None", "print(size)"), "`None`", "`None`"),
        (_sent("f'{size} bytes'"), "yours is a `str`", "你傳回的卻是 `str`"),
        (_sent("(ranks - 1) / ranks * size"), "one way round", "只是第一圈"),
        (_sent("2 * size"), "after 3 steps, not 4", "傳 3 步就走遍"),
        (_sent("2 * (ranks - 1) * size"), "How large is a chunk?", "一塊有多大？"),
        (_sent("2 * (ranks - 1)"), "the number of steps", "這是步數"),
        (_sent("(ranks - 1) * size"), "everything goes through it", "全部都經過 rank 0"),
        (_sent("size / ranks"), "your function says 210", "你的函式算出 210"),
    ],
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
        (RING.split("    for step in range(size - 1):  # all")[0], "Half way", "完成一半了"),
        (
            RING + "    for chunk in chunks:\n        chunk /= size\n",
            "the mean over the ranks",
            "各個 rank 的平均",
        ),
        (
            RING + "    if rank == 0:\n        exchange(chunks[0])\n",
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
    "only_one": [
        ("answers = ['all']", "Keep the dictionary", "請保留字典"),
        (_lines(_0="some"), "choose one of", "選一個"),
        (_lines(_0="one"), "DDP's all-reduces run in it", "DDP 的 all-reduce 就在裡面進行"),
        (_lines(_1="all"), "several that write one file destroy it", "反而會寫壞"),
        (_lines(_2="one"), "Each machine has a disk of its own", "每台機器有自己的磁碟"),
        (_lines(_3="one"), "It is a collective", "這是集體通訊"),
        (_lines(_4="all"), "one line is enough", "印一行就夠了"),
        (_lines(_5="one"), "shuffle in the same way", "打散順序的方式都相同"),
    ],
    "plan": [
        (_plan("None").replace("return None", "steps = images"), "`None`", "`None`"),
        (_plan("per_rank * ranks * accumulate"), "Return two whole numbers", "請傳回兩個整數"),
        (_plan("(per_rank * ranks * accumulate, images / (per_rank * ranks * accumulate))"), "whole numbers", "整數"),
        (_plan("(per_rank * ranks, images // (per_rank * ranks))"), "All their images count", "都要算進去"),
        (_plan("(per_rank * accumulate, images // per_rank)"), "what one rank sees", "一個 rank 看到的張數"),
        (_plan("(per_rank + ranks, images)"), "a step uses 36 images", "每一步用 36 張"),
        (_plan("(per_rank * ranks * accumulate, images // (per_rank * ranks))"), "the number of backward passes", "是反向傳播的次數"),
        (
            _plan("(per_rank * ranks * accumulate, -(-images // (per_rank * ranks * accumulate)))"),
            "so round down",
            "無條件捨去",
        ),
        (_plan("(per_rank * ranks * accumulate, images // (per_rank * ranks) + 1000)"), "you count 1007 steps", "步數卻是 1007"),
    ],
    "efficiency": [
        (_share("None").replace("return None", "print(one)"), "`None`", "`None`"),
        (_share("100 * together / (ranks * one)"), "That is the percentage", "這是百分比"),
        (_share("together / one"), "is the speed-up", "是加速比"),
        (_share("ranks * one / together"), "Upside down", "分子和分母相反了"),
        (_share("one / together / ranks"), "what was reached stands above", "實際的速率放在分子"),
        (_share("together / ranks"), "the rate of one rank among the others", "每個 rank 的速率"),
        (_share("one / together"), "your function says 0.666667", "你的函式算出 0.666667"),
    ],
    "fewest_gpus": [
        (_gpus("return math.ceil(16 * parameters / memory)"), "room for the activations", "留空間給"),
        (_gpus("return math.ceil((16 * parameters + activations) / memory)"), "are not divided", "不會分攤"),
        (_gpus("return 16 * parameters // (memory - activations)"), "Round up", "無條件進位"),
        (_gpus("return math.ceil(4 * parameters / (memory - activations))"), "4 bytes are the weight", "4 個位元組只是權重"),
        (
            _gpus("return math.ceil(16 * parameters / max(memory - activations, 1))"),
            "Return `None`",
            "請傳回 `None`",
        ),
        (_gpus(_NONE, "return 16 * parameters // (memory - activations) + 1"), "are just enough here", "剛好夠"),
        (_gpus("if memory == activations: return None", "return math.ceil(16 * parameters / (memory - activations))"), "Return `None`", "請傳回 `None`"),
        (_gpus("print(parameters)"), "return a number of GPUs", "請傳回 GPU 的張數"),
        (_gpus(_NONE, "return parameters // memory"), "your function says 0", "你的函式算出 0"),
    ],
} | WRONG_SCRIPTS  # fmt: skip
