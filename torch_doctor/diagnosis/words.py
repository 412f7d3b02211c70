"""The technical words of a report, each explained once, from ``texts/words.toml``.

The fields of a word:

``en``, ``zh``              the word; ``name`` if it is the same in both languages.
``means_en``, ``means_zh``  what it means, for somebody who reads it for the first time; one line.
``pattern``                 (optional) by which the English text is searched for it; default: the word itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from bilingual import Bilingual, pair
from torch_doctor.data import read_folder


@dataclass(frozen=True)
class Word:
    """A technical word and its meaning.

    Attributes:
        name: The word.
        meaning: What it means.
        pattern: What finds it in an English text.
    """

    name: Bilingual
    meaning: Bilingual
    pattern: str

    def place(self, text: str) -> int:
        """Return where an English text (or the code in a text) first has the word, or -1."""
        hit = re.search(self.pattern, text)
        return hit.start() if hit else -1


@cache
def glossary() -> tuple[Word, ...]:
    """Return all technical words."""
    found = []
    for entry in read_folder("torch_doctor.diagnosis", "texts")["words"].values():
        name = Bilingual(entry["name"], entry["name"]) if "name" in entry else pair(entry)
        pattern = entry.get("pattern", rf"(?i)(?<![\w/-]){re.escape(name.en)}s?(?![\w/-])")
        found.append(Word(name, pair(entry, "means_"), pattern))
    return tuple(found)


def words_of(english: str, chinese: str, language: str) -> list[Word]:
    """Return the technical words of a text in the order in which it uses them.

    Args:
        english: The text in English.
        chinese: The same text in Chinese.
        language: The language that is shown: ``"en"``, ``"zh"`` or ``"both"``. In Chinese, a word that the translation
            does without is not explained.
    """
    places = {word: word.place(english) for word in glossary()}
    found = [word for word in glossary() if places[word] >= 0]
    if language == "zh":  # which has its translation, or code that has the word
        found = [one for one in found if one.name.zh.partition("（")[0] in chinese or one.place(chinese) >= 0]
    return sorted(found, key=places.__getitem__)
