"""Typical wrong answers to the exercises of lesson 00: source, English words, Chinese words of the hint they must get."""

from __future__ import annotations

WRONG: dict[str, list[tuple[str, str, str]]] = {
    "matrix_bytes": [
        ("def matrix_bytes(n):\n    print(n * n * 4)", "`None`", "`None`"),
        ("def matrix_bytes(n):\n    return f'{n * n * 4} bytes'", "`str`", "`str`"),
        ("def matrix_bytes(n):\n    return n * n", "takes 4 bytes", "4 個位元組"),
        ("def matrix_bytes(n):\n    return n * 4", "one row", "一列"),
        ("def matrix_bytes(n):\n    return n ^ 2 * 4", "`^`", "`^`"),
        ("def matrix_bytes(n):\n    return (n ^ 2) * 4", "`^`", "`^`"),
        ("def matrix_bytes(n):\n    return n * n * 32", "bits", "位元數"),
        ("def matrix_bytes(n):\n    return n * n * 8", "`float64`", "`float64`"),
        ("def matrix_bytes(n):\n    return n * n * 4 + 128", "n = 3 the answer is 36", "n = 3 時答案是 36"),
        ("def matrix_bytes(n):\n    return 36", "for n = 1 the answer is 4", "n = 1 時答案是 4"),
        ("def matrix_bytes(n):\n    return n * 12", "for n = 1 the answer is 4", "n = 1 時答案是 4"),
    ],
}
