"""The exercise of lesson 00. It is simple, because its purpose is to show how exercises work."""

from __future__ import annotations

from numbers import Number
from typing import Any

from course_utils.exercises import Exercise, Wrong
from torch_doctor.bilingual import Bilingual


def examine_matrix_bytes(answer: Any) -> None:
    """Examine ``matrix_bytes(n) -> int``: bytes of n × n float32 numbers.

    Raises:
        Wrong: With a hint about the mistake.
    """
    n, right = 3, 36
    got = answer(n)
    if got is None:
        raise Wrong(
            en="Your function returned `None`. Did you `print` the result instead of returning it?",
            zh="你的函式傳回 `None`。你是不是用 `print` 印出結果，卻沒有 `return`？",
        )
    if isinstance(got, bool) or not isinstance(got, Number):
        raise Wrong(
            en=f"The answer should be a number, but yours is a `{type(got).__name__}`.",
            zh=f"答案應該是數字，你的卻是 `{type(got).__name__}`。",
        )
    _recognize_mistake(n, got)
    if got != right:
        raise Wrong(
            en=f"For n = {n} the answer is {right}, but yours is {got}. How many numbers are there, and how many "
            "bytes does each take?",
            zh=f"n = {n} 時答案是 {right}，你的卻是 {got}。總共有幾個數字？每個占幾個位元組？",
        )
    # A constant is right for one n only.
    for other, bytes_ in ((1, 4), (1000, 4_000_000)):
        if (got := answer(other)) != bytes_:
            raise Wrong(
                en=f"Right for n = {n}, but for n = {other} the answer is {bytes_}, and yours is {got!r}. Does your "
                "formula use `n`?",
                zh=f"n = {n} 時答對了，但 n = {other} 時答案是 {bytes_}，你的卻是 {got!r}。"
                "你的算式有用到 `n` 嗎？",
            )


def _recognize_mistake(n: int, got: Any) -> None:
    """Raise the hint for a typical wrong number of bytes `got` of an n × n matrix, if it is one."""
    if got == n * n:
        raise Wrong(
            en="That is how many numbers the matrix holds. Each of them takes 4 bytes.",
            zh="這是矩陣裡「數字」的個數。每個數字還要占 4 個位元組。",
        )
    if got == 4 * n:
        raise Wrong(
            en="Those are the bytes of one row. The matrix has n rows.",
            zh="這是一列的位元組數。矩陣共有 n 列。",
        )
    if got in (4 * (n ^ 2), (4 * n) ^ 2, n ^ (2 * 4)):
        raise Wrong(
            en="In Python `^` is not a power but works on bits. A square is `n * n` or `n ** 2`.",
            zh="Python 的 `^` 不是次方，而是位元運算。平方要寫 `n * n` 或 `n ** 2`。",
        )
    if got == 32 * n * n:
        raise Wrong(
            en="Those are bits: the 32 in `float32` counts bits, and a byte has 8.",
            zh="這是位元數：`float32` 的 32 指的是位元，一個位元組有 8 個位元。",
        )
    if got == 8 * n * n:
        raise Wrong(
            en="8 bytes a number is `float64`; a `float32` takes half of that.",
            zh="一個數字 8 個位元組是 `float64`；`float32` 只要一半。",
        )


EXERCISES = (
    Exercise(
        "matrix_bytes",
        Bilingual("how many bytes?", "占幾個位元組？"),
        examine_matrix_bytes,
        (
            Bilingual(
                "How many numbers are in a matrix with n rows and n columns?", "n 列 n 欄的矩陣裡有幾個數字？"
            ),
            Bilingual(
                "That many numbers, 4 bytes each. The function has to `return` the result.",
                "有那麼多個數字，每個 4 個位元組。函式要用 `return` 傳回結果。",
            ),
            Bilingual("`return n * n * …`: one factor is missing.", "`return n * n * …`：還缺一個因數。"),
        ),
    ),
)
