"""Typical wrong answers to the exercises of lesson 06: source, and words of the hint in English and Chinese."""

from __future__ import annotations

from lesson_06.wrong_scripts import WRONG_SCRIPTS

_SHARE = "def share(samples, rank, ranks):\n    return "
_WEIGHT = "def weight(mine, everyone):\n    return "
_BEHIND = "def behind(last):\n    "
_LATE = "highest = max(number for number, _ in last.values())\n    late = [r for r, (n, _) in last.items() if n < highest]\n    "

KERNEL = {
    "share": [
        (_SHARE + "samples // ranks", "Return a list of example numbers", "資料編號的 list"),
        (_SHARE + "list(range(rank, samples, ranks)) + [0]", "is there twice", "出現兩次"),
        (
            "from torch.utils.data import DistributedSampler\n\n"
            + _SHARE
            + "list(DistributedSampler(range(samples), ranks, rank, shuffle=False))",
            "is there twice",
            "出現兩次",
        ),
        (_SHARE + "list(range(rank, samples // ranks * ranks, ranks))", "one is missing", "少了一筆"),
        (_SHARE + "list(range(samples)) if rank == 0 else []", "works longer than the others", "特別多"),
        (
            "def share(samples, rank, ranks):\n"
            "    sizes = [samples // ranks + (r < samples % ranks) for r in range(ranks)]\n"
            "    return list(range(sum(sizes[:rank]), sum(sizes[: rank + 1])))",
            "not dealt out like cards",
            "不是像發牌一樣",
        ),
        ("def share(samples, rank, ranks):\n    list(range(rank, samples, ranks))", "returned `None`", "傳回了 `None`"),
    ],
    "weight": [
        (_WEIGHT + "mine / sum(everyone)", "DDP divides the sum", "還會除以 rank 的個數"),
        (_WEIGHT + "sum(everyone) / mine / len(everyone)", "upside down", "上下顛倒"),
        (_WEIGHT + "1", "not 1.0000", "不是 1.0000"),
        (_WEIGHT + "mine", "sum over ranks", "加起來"),
        (_WEIGHT + "str(mine)", "should be a number", "答案應該是數字"),
        (_WEIGHT + "float('nan')", "not nan", "不是 nan"),
        ("def weight(mine, everyone):\n    mine * len(everyone) / sum(everyone)", "returned `None`", "傳回了 `None`"),
    ],
    "behind": [
        (_BEHIND + "sorted(last)", "returned `None`", "傳回了 `None`"),
        (_BEHIND + "return 1", "Return a list of ranks", "rank 的 list"),
        (_BEHIND + _LATE + "return sorted(late)", "The numbers are equal", "編號都一樣"),
        (
            _BEHIND + "highest = max(n for n, _ in last.values())\n    return [r for r, (n, _) in last.items() if n == highest]",
            "The numbers are equal",
            "編號都一樣",
        ),
        (
            "from collections import Counter\n\n" + _BEHIND
            + "highest = max(n for n, _ in last.values())\n"
            "    common = Counter(o for _, o in last.values()).most_common(1)[0][0]\n"
            "    if min(n for n, _ in last.values()) < highest:\n"
            "        return sorted(r for r, (n, _) in last.items() if n == highest)\n"
            "    return sorted(r for r, (_, o) in last.items() if o != common)",
            "These have come and wait",
            "正在等",
        ),
        (
            "from collections import Counter\n\n" + _BEHIND
            + "common = Counter(o for _, o in last.values()).most_common(1)[0][0]\n"
            "    return sorted(r for r, (_, o) in last.items() if o != common)",
            "The numbers differ",
            "編號不同",
        ),
        (
            "from collections import Counter\n\n" + _BEHIND + _LATE
            + "common = Counter(o for _, o in last.values()).most_common(1)[0][0]\n"
            "    return late or [r for r, (_, o) in last.items() if o != common]",
            "sort them",
            "由小到大排好",
        ),
        (
            "from collections import Counter\n\n" + _BEHIND + _LATE
            + "common = Counter(o for _, o in last.values()).most_common(1)[0][0]\n"
            "    return sorted(late or [r for r, (_, o) in last.items() if o != common] or last)",
            "the list is empty",
            "空的 list",
        ),
        (
            "from collections import Counter\n\n" + _BEHIND + _LATE
            + "common = Counter(o for _, o in last.values()).most_common(1)[0][0]\n"
            "    return sorted(late or [r for r, (_, o) in last.items() if o != common])",
            "A tie",
            "沒有多數",
        ),
    ],
}  # fmt: skip

WRONG = {**KERNEL, **WRONG_SCRIPTS}
