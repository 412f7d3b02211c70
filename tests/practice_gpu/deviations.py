"""Hold practice_gpu's times against published measurements: ``python tests/practice_gpu/deviations.py`` writes the table.

``published_times.csv`` holds all measurements of the collection for which this holds: the card is named, and has a profile
(products, launches and the shortest kernel: or is of the same chip); what is measured is a matrix product, a pointwise
kernel, or a copy over the bus or inside the card. Left out is what its source calls something else: held in the cache, under
a power limit, both directions at once, copied by multiprocessors, added up in 16 bits, with the tool's own work. Of sources
without a licence: n = 1024, 2048, 8192 (C++: up to 1024), and of bfloat16 no more than the best product.
"""

from __future__ import annotations

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
    "used": "a number of the profile was taken from it",
    "tuned": "the constants of `costs.py` were chosen on it",
    "held out": "neither",
}
BEGIN, END = "<!-- deviations -->\n", "<!-- end of deviations -->"


def _empty(dtype: str, *shape: int) -> torch.Tensor:
    return torch.empty(*shape, dtype=getattr(torch, dtype.replace("tf32", "float32")), device="meta")


def _product(card: str, dtype: str, rows: int, columns: int, inner: int, launched: bool = True) -> float:
    """Return FLOP/s of one product after the other."""
    inputs, output = (_empty(dtype, rows, inner), _empty(dtype, inner, columns)), _empty(dtype, rows, columns)
    seconds, _ = kernel_seconds(profile(card), "mm", inputs, [output], dtype == "tf32")
    return 2 * rows * columns * inner / max(seconds, profile(card).launch * launched)


def modelled(row: dict[str, str]) -> float:
    """Return what the model says of a published number, in the units of that."""
    card, kind, dtype, size = row["card"], row["kind"], row["dtype"], row["size"]
    if kind == "best product":
        least, most = map(int, size.split(" to "))
        sizes = [n for n in (256, 512, 1024, 2048, 4096, 8192, most) if least <= n <= most]
        value = max(_product(card, dtype, n, n, n) for n in sizes)
    elif kind.startswith("product"):
        sizes = [int(n) for n in size.split("x")]
        value = _product(card, dtype, *(sizes if len(sizes) == 3 else sizes * 3), launched="C++" not in kind)
    elif dtype:  # pointwise; a number is read and another one written
        number = _empty(dtype, int(size))
        inputs = [number] * (2 if "+" in kind else 1)
        seconds, _ = kernel_seconds(profile(card), "mul", inputs, [number], False)
        seconds = max(seconds, profile(card).launch * (kind == "a * 1.2"))
        value = seconds if row["unit"] == "µs" else 2 * number.nbytes / seconds
    else:
        route, twice = ("inside", 2) if kind == "copy inside" else ("pinned", 1)
        value = twice * int(size) / copy_seconds(profile(card), int(size), route)
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
    return statistics.median(max(r, 1 / r) - 1 for r in ratios), statistics.mean(
        1 / 1.5 <= r <= 1.5 for r in ratios
    )


def _group(row: dict[str, str]) -> str:
    small = row["kind"].startswith("product") and "x" not in row["size"] and int(row["size"]) <= 1024
    if "product" in row["kind"]:
        return "products, n ≤ 1024" if small else "products, larger"
    return "pointwise kernels" if row["dtype"] else "copies"


def tables() -> str:
    """Return what the package's README shows: a summary, and every deviation."""
    measured = [(row, times(row)) for row in rows()]
    lines = [
        "| | rows | median deviation | within 1.5× |",
        "|---|--:|--:|--:|",
    ]
    groups = [(f"**{part}**: {what}", "part", part) for part, what in PARTS.items()]
    held = [(row, ratio) for row, ratio in measured if row["part"] == "held out"]
    names = sorted({_group(row) for row, _ in held})
    sets = [(label, [t for row, t in measured if row[key] == value]) for label, key, value in groups]
    sets += [(f"held out, {name}", [t for row, t in held if _group(row) == name]) for name in names]
    for label, ratios in [("**all**", [t for _, t in measured]), *sets]:
        median, near = summary(ratios)
        lines.append(f"| {label} | {len(ratios)} | {median:.0%} | {near:.0%} |")
    lines += [
        "",
        "<details><summary>Every row · 每一筆</summary>",
        "",
        "| profile | measured on | what | size | published | modelled | time | | source |",
        "|---|---|---|---|--:|--:|--:|---|---|",
    ]
    for row, ratio in measured:
        what = f"{row['kind']} {row['dtype']}".strip()
        cells = [
            row["card"],
            row["measured_on"],
            what,
            row["size"],
            f"{float(row['value']):.4g} {row['unit']}",
        ]
        cells += [
            f"{modelled(row):.3g}",
            f"{ratio:.2f}×",
            row["part"],
            f"[{row['date'] or 'link'}]({row['link']})",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", "</details>", ""])


def written(text: str) -> str:
    """Return the text of the README with the tables of today's model."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + tables() + END + rest.split(END)[1]


if __name__ == "__main__":
    README.write_text(written(README.read_text(encoding="utf-8")), encoding="utf-8")
