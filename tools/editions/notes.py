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

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bilingual import Bilingual

from .texts import TEXTS

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


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
        for name, label in TEXTS["note"].items():
            if text := getattr(self, name):
                yield label, text


def read(source: str) -> dict[str, Note]:
    """Return the notes in a TOML text, by section ("1.2").

    Args:
        source: What ``notes.toml`` holds.

    Raises:
        ValueError: A key is unknown, or a text stands in one language only.
    """
    found, keys = {}, {name: (f"{name}_en", f"{name}_zh") for name in TEXTS["note"]}
    known = sorted(key for pair in keys.values() for key in pair)
    for section, given in tomllib.loads(source).items():
        if unknown := sorted(set(given) - set(known)):
            raise ValueError(f"section {section}: unknown {unknown}; there are {known}")
        texts = {name: [given.get(key, "") for key in pair] for name, pair in keys.items()}
        found[section] = Note(
            **{"say": None} | {name: Bilingual(*pair) for name, pair in texts.items() if any(pair)}
        )
    return found


@cache
def notes(number: str) -> dict[str, Note]:
    """Return the notes of a lesson, by section ("1.2").

    Args:
        number: The lesson, such as ``"01"``.
    """
    return read((NOTEBOOKS / f"lesson_{number}" / "notes.toml").read_text(encoding="utf-8"))
