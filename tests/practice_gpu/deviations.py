"""Hold practice_gpu's times against measurements: ``python tests/practice_gpu/deviations.py`` writes the table.

``published_times.csv`` holds all measurements of the collection for which this holds: the card is named, and has a profile
(products, launches and the shortest kernel: or is of the same chip); what is measured is a matrix product, a pointwise
kernel, or a copy over the bus or inside the card. Left out is what its source calls something else: held in the cache, under
a power limit, both directions at once, copied by multiprocessors, added up in 16 bits, with the tool's own work. Of sources
without a licence: n = 1024, 2048, 8192 (C++: up to 1024), and of bfloat16 no more than the best product.
"""

import csv
import statistics
from pathlib import Path

import torch

from practice_gpu.costs import copy_seconds, kernel_seconds
from practice_gpu.profiles import profile

HERE = Path(__file__).parent
README = HERE.parents[1] / "practice_gpu" / "README.md"
UNITS = {"TFLOP/s": 1e12, "GB/s": 1e9, "µs": 1e-6}
PARTS = {
    "used": "a number of the profile is this one · 模型參數取自這一筆",
    "tuned": "the constants of `costs.py` were chosen on it · 調整常數時參考過",
    "held out": "neither · 兩者皆非",
}
BEGIN, END = "<!-- deviations -->\n", "<!-- end of deviations -->"
HEAD = "| | rows · 筆數 | median deviation · 偏差中位數 | within 1.5× · 1.5 倍以內 |\n|---|--:|--:|--:|\n"
ROWS = """
<details><summary>Every row; time: modelled as a multiple of published · 每一筆；time 是推算時間除以實測時間</summary>

| card | measured on | what | size | published | modelled | time | | source |
|---|---|---|---|--:|--:|--:|---|---|
"""


def _empty(dtype: str, *shape: int) -> torch.Tensor:
    return torch.empty(*shape, dtype=getattr(torch, dtype.replace("tf32", "float32")), device="meta")


def _product(card: str, dtype: str, rows: int, columns: int, inner: int, launched: bool = True) -> float:
    """Return FLOP/s of one product after the other."""
    inputs, output = (_empty(dtype, rows, inner), _empty(dtype, inner, columns)), _empty(dtype, rows, columns)
    seconds, _ = kernel_seconds(profile(card), "mm", inputs, [output], dtype == "tf32")
    return 2 * rows * columns * inner / max(seconds, profile(card).launch * launched)


def modelled(row: dict[str, str]) -> float:
    """Return what the model says of a published number, in the units of that."""
    card, kind, dtype, size = profile(row["card"]), row["kind"], row["dtype"], row["size"]
    if kind == "best product":
        least, most = map(int, size.split(" to "))
        sizes = [n for n in (256, 512, 1024, 2048, 4096, 8192, most) if least <= n <= most]
        value = max(_product(card.name, dtype, n, n, n) for n in sizes)
    elif kind.startswith("product"):
        sizes = [int(n) for n in size.split("x")]
        value = _product(
            card.name, dtype, *(sizes * 3)[:3], launched="C++" not in kind and "graph" not in kind
        )
    elif dtype:  # pointwise; from Python the host cannot launch faster
        number = _empty(dtype, int(size))
        seconds, _ = kernel_seconds(card, "mul", [number] * (1 + ("+" in kind)), [number], False)
        seconds = max(seconds, card.launch * kind.startswith("a * 1.2"))
        value = seconds if row["unit"] == "µs" else 2 * number.nbytes / seconds
    else:
        route = next(route for route in ("inside", "pinned", "pageable") if route in kind)
        host = {"inside": card.launch, "pinned": card.copy_call, "pageable": card.copy_call + card.wait}[
            route
        ]
        seconds = copy_seconds(card, int(size), route)
        seconds = seconds + host if route == "pageable" else max(seconds, host)
        value = (1 + (route == "inside")) * int(size) / seconds
    return value / UNITS[row["unit"]]


def rows() -> list[dict[str, str]]:
    """Return the published measurements."""
    with (HERE / "published_times.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def times(row: dict[str, str]) -> float:
    """Return the modelled time as a multiple of the published one."""
    ratio = modelled(row) / float(row["value"])
    return ratio if row["unit"] == "µs" else 1 / ratio


def summary(ratios: list[float]) -> tuple[float, float]:
    """Return the median deviation (of the larger from the smaller) and the share within a factor of 1.5."""
    factors = [max(ratio, 1 / ratio) for ratio in ratios]
    return statistics.median(factors) - 1, statistics.mean(factor <= 1.5 for factor in factors)


def _group(row: dict[str, str]) -> str:
    if "product" in row["kind"]:
        if row["size"].isdecimal() and int(row["size"]) <= 1024:
            return "held out: products, n ≤ 1024 · 小的矩陣乘法"
        return "held out: larger products · 較大的矩陣乘法"
    return "held out: pointwise kernels · 逐元素運算" if row["dtype"] else "held out: copies · 複製"


def tables() -> str:
    """Return what the package's README shows: a summary, and every deviation."""
    groups: dict[str, list[float]] = {"**all · 全部**": []} | {f"**{n}**: {t}": [] for n, t in PARTS.items()}
    text = ROWS
    for row in rows():
        time, part = times(row), row["part"]
        of = ["**all · 全部**", f"**{part}**: {PARTS[part]}", *([_group(row)] if part == "held out" else [])]
        for name in of:
            groups.setdefault(name, []).append(time)
        published = f"{float(row['value']):.4g} {row['unit']}"
        kind = f"{row['kind']} {row['dtype']}".strip()
        what = [row["card"], row["measured_on"], kind, row["size"], published]
        source = f"{row['date']}, the authors"
        if row["link"] != "own":
            source = f"[{row['date'] or 'link'}]({row['link']})"
        text += "| " + " | ".join([*what, f"{modelled(row):.3g}", f"{time:.2f}×", part, source]) + " |\n"
    lines = ((name, len(ratios), *summary(ratios)) for name, ratios in groups.items())
    head = "".join(f"| {name} | {n} | {median:.0%} | {near:.0%} |\n" for name, n, median, near in lines)
    return HEAD + head + text + "\n</details>\n"


def written(text: str) -> str:
    """Return the text of the README with the tables of today's model."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + tables() + END + rest.split(END)[1]


if __name__ == "__main__":
    README.write_text(written(README.read_text(encoding="utf-8")), encoding="utf-8")
