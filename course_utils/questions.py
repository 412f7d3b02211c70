"""The questions in a lesson's ``texts.toml``: with choices, which are put into another order, or for a number."""

import math
import random
from dataclasses import dataclass, replace
from typing import Any

from bilingual import Bilingual, pair
from course_utils.lesson import all_texts, current, text
from course_utils.units import number as written

_STEPS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)  # of a logarithmic slider, per power of ten


@dataclass(frozen=True)
class Choice:
    """One choice of a question, and the reason shown to a learner who takes it."""

    text: Bilingual
    reason: Bilingual
    right: bool


@dataclass(frozen=True)
class Number:
    """A number to guess: its range, its unit, the explanation shown after the guess, the slider's scale and start.

    `step` and `start` are None: a linear scale has 50 steps, and the slider starts in the middle.
    """

    low: float
    high: float
    unit: Bilingual
    reason: Bilingual
    linear: bool = False
    step: float | None = None
    start: float | None = None

    def values(self) -> list[float]:
        """Return the values that the slider offers."""
        if self.linear:
            step = self.step or (self.high - self.low) / 50
            return [self.low + step * k for k in range(int((self.high - self.low) / step + 1e-9) + 1)]
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        steps = [float(f"{step}e{power}") for power in powers for step in _STEPS]
        return [self.low, *(value for value in steps if self.low < value < self.high), self.high]

    def first(self) -> int:
        """Return the index of the value at which the slider starts: the one next to `start`, else the middle."""
        values, start = self.values(), self.start
        if start is None:
            return len(values) // 2
        return min(range(len(values)), key=lambda index: abs(values[index] - start))

    def with_unit(self, value: float) -> Bilingual:
        """Return `value` with the unit."""
        both = self.unit.en, self.unit.zh
        gaps = ("" if unit.startswith(("%", "（")) else " " for unit in both)
        return Bilingual(*(f"{written(value)}{gap}{unit}" for gap, unit in zip(gaps, both, strict=True)))


@dataclass(frozen=True)
class Question:
    """A question, either with choices, of which at least one is right, or for a number."""

    name: str
    text: Bilingual
    choices: tuple[Choice, ...] = ()
    number: Number | None = None


def parsed(name: str, data: dict[str, Any]) -> Question:
    """Return the question that `data` describes, its choices as they are written; ``tools.check`` examines the texts."""
    given = data.get("choices", ())
    choices = tuple(Choice(pair(c), pair(c, "why_"), bool(c.get("right"))) for c in given)
    number = None
    if given := data.get("number"):
        scale = {key: given[key] for key in given if not key.startswith("unit_")}
        number = Number(unit=pair(given, "unit_"), reason=pair(data, "why_"), **scale)
    return Question(name, pair(data), choices, number)


def mixed(asked: Question, texts: dict[str, dict[str, Any]], lesson: str) -> tuple[Choice, ...]:
    """Return the choices in the order in which they are shown: no position wins.

    Of three questions with three choices that follow each other in `texts`, one has the right one first, one second,
    one third. Which one is drawn with the lesson as the seed.
    """
    size = len(asked.choices)
    alike = [name for name, data in texts.items() if len(data.get("choices", ())) == size]
    block, place = divmod(alike.index(asked.name), size)
    rest = list(asked.choices)
    right = rest.pop(next(at for at, choice in enumerate(rest) if choice.right))
    random.Random(f"{lesson} {asked.name}").shuffle(rest)
    rest.insert(random.Random(f"{lesson} {size} {block}").sample(range(size), size)[place], right)
    return tuple(rest)


def question(name: str) -> Question:
    """Return the question called `name` of the current lesson, as it is shown."""
    asked = parsed(name, text("question", name))
    if not asked.choices:
        return asked
    return replace(asked, choices=mixed(asked, all_texts(current())["question"], current()))
