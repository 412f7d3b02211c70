"""Typical wrong answers to the exercises of lesson 08: source, and words of the hint in English and Chinese."""

from __future__ import annotations

Row = tuple[str, str, str]

WRONG: dict[str, list[Row]] = {
    # data
    # model
    # journey
    # ranks
    # watch
    # closing
}
