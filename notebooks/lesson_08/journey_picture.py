"""The journey as a table and as a board: a bar for each step, this machine's beside a recorded one's."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from bilingual import Bilingual, Block, all_of, measured, measured_both, measured_spans
from course_utils import figures, published, recordings
from course_utils.tables import html_table
from course_utils.units import number
from lesson_08.words import WORDS
from shared.scoreboard_picture import about_bars, draw_bars, recorded

_COMPILE = WORDS["steps"]["compile"]  # a name: the same in both languages
STEPS, LIMITS = WORDS["steps"] | {"compile": Bilingual(_COMPILE, _COMPILE)}, WORDS["limits"]
_HEAD, _BOARD = WORDS["journey_head"], WORDS["journey_board"]
NOTHING = "–"


@dataclass(frozen=True)
class Row:
    """What a step of the journey has reached.

    Attributes:
        rate: Windows per second in training.
        error: Mean squared error of the validation windows after 1,024 training windows, scaled; None: not measured.
        waits: How often the host waits for a value in a step; None: not counted.
        limit: A key of `LIMITS`.
        note: What belongs beside the step's name.
        device: ``cpu`` or ``cuda``.
        machine: Name of the processor that trained.
        cpu: Name of the computer's CPU.
        torch: Version of PyTorch.
        date: ISO date.
        rule: Version of the rules under which it was measured.
    """

    rate: float
    error: float | None
    waits: float | None
    limit: str
    note: str
    device: str
    machine: str
    cpu: str
    torch: str
    date: str
    rule: int

    def sound(self) -> bool:
        """Return whether its numbers and its limit can be."""
        numbers = (value for value in (self.error, self.waits) if value is not None)
        return self.limit in LIMITS and all(0 <= value < math.inf for value in numbers)

    def comparable(self, other: Row) -> bool:
        """Return whether both come from the same computer, PyTorch and rules; the slow program runs on the CPU everywhere."""
        same = (self.cpu, self.torch, self.rule) == (other.cpu, other.torch, other.rule)
        return same and (self.device != other.device or self.machine == other.machine)


def table_of(rows: Mapping[str, Row]) -> Block:
    """Return all steps of the journey as a table; what was not measured here is a dash."""
    heads = _HEAD.values()
    lines, plain = [], [" | ".join(map(str, heads))]
    for key, name in STEPS.items():
        cells = _cells(rows.get(key), rows.get("slow"))
        lines.append([name.html(), *(measured_spans(cell) for cell in cells)])
        plain.append(" | ".join([str(name), *(str(measured(str(cell))) for cell in cells)]))
    return Block(html_table(lines, [head.html() for head in heads]), "\n".join(plain))


def _cells(row: Row | None, slow: Row | None) -> list[Bilingual]:
    """Return what stands in a row behind the step's name."""
    if row is None:
        return [LIMITS[""]] * 5
    gain = f"{number(row.rate / slow.rate)} ×" if slow and slow.comparable(row) else NOTHING
    texts = [
        f"{number(row.rate)} {f'({row.note})' if row.note else ''}".strip(),
        gain,
        NOTHING if row.error is None else f"{row.error:.3f}",
        NOTHING if row.waits is None else f"{row.waits:g}",
    ]
    return [*(Bilingual(text, text) for text in texts), LIMITS[row.limit]]


def board(rows: Mapping[str, Row], key: str) -> figures.Picture:
    """Return the board's picture.

    Args:
        rows: What was reached, by step.
        key: The step that was measured last: what cannot be compared with it is hatched.
    """
    there, run = recorded(STEPS, "journey-")
    figure, axes = figures.new(height=3.8)
    names = {step: str(text) for step, text in STEPS.items()}
    draw_bars(axes, names, rows, rows[key], there, _BOARD["unit"])
    whose = _BOARD["recorded"].format(label=recordings.label(run)) if run else None
    on_gpu = bool(run and run["machine"]["gpus"])
    numbers = [f"{step}: {number(row.rate)}/s" for step, row in rows.items()]
    both = measured_both(Bilingual("; ".join(numbers), "；".join(numbers)))
    said = about_bars(rows, rows[key], None if on_gpu else whose)
    other = measured_both(all_of(*said)) if said else Bilingual(measured(""), measured(""))
    return figures.Picture(
        figure,
        _BOARD["caption"].format(numbers=both, other=other),
        _BOARD["alternative"],
        beside=published.beside("journey", whose if on_gpu else None),
    )
