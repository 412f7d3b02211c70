"""Speaker notes for instructors: ``notes.toml`` in the room of a lesson, a table for each of its sections.

.. code-block:: toml

    ["1.2"]
    say_en = "…"     # what to say and to show
    ask_en = "…"     # a question for the room, and its answer
    answer_en = "…"
    stumble_en = "…" # where students stumble, and what helps
    short_en = "…"   # what to leave out when time is short

Beside each key stands the same in Chinese (``say_zh`` …). The markup is that of ``texts.toml``: `code` and **strong**.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

from bilingual import Bilingual

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LABELS = {
    "say": Bilingual("Say", "講解"),
    "ask": Bilingual("Ask", "提問"),
    "answer": Bilingual("Answer", "答案"),
    "stumble": Bilingual("Where students stumble", "學生容易卡住的地方"),
    "short": Bilingual("Short of time", "時間不夠時"),
}


@dataclass(frozen=True)
class Note:
    """What an instructor wants at hand in one section.

    Attributes:
        say: What to say and to show.
        ask: A question for the room.
        answer: Its answer.
        stumble: Where students stumble, and what helps.
        short: What to leave out when time is short.

    Raises:
        ValueError: There is nothing to say, or a question without an answer, or the reverse.
    """

    say: Bilingual
    ask: Bilingual | None = None
    answer: Bilingual | None = None
    stumble: Bilingual | None = None
    short: Bilingual | None = None

    def __post_init__(self) -> None:
        if self.say is None or (self.ask is None) != (self.answer is None):
            raise ValueError("a note needs `say`, and `ask` and `answer` go together")

    def parts(self) -> Iterator[tuple[Bilingual, Bilingual]]:
        """Yield the label and the text of each part that there is."""
        for name, label in LABELS.items():
            if text := getattr(self, name):
                yield label, text


def read(source: str) -> dict[str, Note]:
    """Return the notes in a TOML text, by section ("1.2").

    Args:
        source: What ``notes.toml`` holds.

    Raises:
        ValueError: A key is unknown, or a text stands in one language only.
    """
    found = {}
    for section, given in tomllib.loads(source).items():
        known = {f"{field.name}_{language}" for field in fields(Note) for language in ("en", "zh")}
        if unknown := set(given) - known:
            raise ValueError(f"section {section}: unknown {sorted(unknown)}; there are {sorted(known)}")
        parts = {
            field.name: Bilingual(given.get(f"{field.name}_en", ""), given.get(f"{field.name}_zh", ""))
            for field in fields(Note)
            if {f"{field.name}_en", f"{field.name}_zh"} & set(given)
        }
        found[section] = Note(**({"say": None} | parts))
    return found


@cache
def notes(number: str) -> dict[str, Note]:
    """Return the notes of a lesson, by section ("1.2").

    Args:
        number: The lesson, such as ``"01"``.
    """
    return read((NOTEBOOKS / f"lesson_{number}" / "notes.toml").read_text(encoding="utf-8"))
