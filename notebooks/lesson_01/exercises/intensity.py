"""Exercise ``intensity(n) -> float``: operations per byte of an n × n matrix product, 2 n³ / 12 n²."""

from typing import Any

from bilingual import Bilingual, Block
from course_utils.exercises import Mistakes
from course_utils.returned import close, number
from course_utils.tables import table, value
from lesson_01.asked import asked
from shared.gpu_ratings import ratings

N = 30


def judge(answer: Any) -> Mistakes:
    """Look for typical wrong formulas at one size, then compare with the right one at others."""
    seen = {"n": N, "got": number(answer(N))}
    for key, wrong in {
        "inverse": 6 / N,
        "per_number": 2 * N / 3,
        "half": N / 12,
        "one_matrix": N / 2,
        "two_matrices": N / 4,
        "operations": 2 * N**3,
        "bytes": 12 * N**2,
    }.items():
        yield close(seen["got"], wrong), key, seen
    for n in (N, 64, 1000):
        got = answer(n)
        yield not close(got, n / 6), "other", {"n": n, "got": got, "right": n / 6}  # nan is wrong, too


def show(answer: Any) -> Block:
    """Return the answer for some sizes, and by what an H200 is limited there."""
    rated = ratings()["NVIDIA H200"]
    ridge = rated["single"] / rated["bandwidth"]
    memory, arithmetic = Bilingual("memory", "記憶體"), Bilingual("arithmetic", "運算")
    rows = []
    for n in (1024, 4096, 16384):  # for small ones the launch overhead and caches count, too
        got = asked(answer, n)
        known = isinstance(got, (int, float))
        rows.append((value(n), value(got), (memory if got < ridge else arithmetic) if known else "-"))
    limit = Bilingual(
        f"what limits an H200 (float32: arithmetic from {ridge:.0f} per byte on)",
        f"H200 的瓶頸（float32 每位元組達到 {ridge:.0f} 次時，瓶頸是運算）",
    )
    return table(("`n`", Bilingual("your operations per byte", "你算出的每位元組運算次數"), limit), rows)
