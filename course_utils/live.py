"""A picture that grows while something trains: one panel per quantity, one line per model.

It is displayed once and then drawn anew in the same place. A notebook is stored with the last state; whoever
compares outputs (nbval) sees the first one, so both have the same words, and what differs is marked as measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib import ticker

from course_utils import evidence, figures
from course_utils.figures import Axis, Picture
from course_utils.language import Bilingual, measured

Lines = dict[str, dict[str, list[float]]]  # panel → line → one value per round


def picture(
    lines: Lines, parts: dict[str, Axis], rounds: int, recorded: dict[str, Any] | None, caption: Bilingual
) -> Picture:
    """Build the picture (pure).

    Args:
        lines: For each panel: name in plain ASCII → the values so far.
        parts: Texts and unit of each panel.
        rounds: How many there will be: the width of the picture from the start.
        recorded: What :func:`evidence.recorded` returned, or None.
        caption: What to look for.
    """
    figure, grid = figures.new(columns=len(parts), height=3.0, squeeze=False)
    names = list(dict.fromkeys(name for panel in lines.values() for name in panel))
    colours = (figures.YOURS, figures.RECORDED, figures.THIRD, figures.FOURTH)
    for axes, (key, part) in zip(grid[0], parts.items(), strict=True):
        for name, colour in zip(names, colours, strict=False):
            values = lines[key].get(name, [])
            axes.plot(range(1, len(values) + 1), values, "o-", color=colour, label=name)
            there = recorded["lines"][key].get(name, []) if recorded else []
            if there:
                label = f"{name} ({figures.RECORDED_LABEL})"
                axes.plot(range(1, len(there) + 1), there, "s--", color=colour, alpha=0.5, label=label)
        axes.set_xlim(0.5, rounds + 0.5)
        axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
        axes.margins(y=0.1)  # the last point should not stick to the edge
        axes.set_ylim(bottom=0)
        if part.unit:
            axes.yaxis.set_major_formatter(ticker.EngFormatter(part.unit))
        axes.set_xlabel("epoch")
        axes.set_title(f"{part.en}\n{part.zh}", fontsize=10)
    if names:
        grid[0][-1].legend(fontsize=9)
    last = "; ".join(
        f"{name}: "
        + ", ".join(
            figures.quantity(lines[key][name][-1], parts[key].unit) for key in parts if lines[key].get(name)
        )
        for name in names
    )
    source = figures.recording(recorded)
    titles_en, titles_zh = ", ".join(p.en for p in parts.values()), "、".join(p.zh for p in parts.values())
    return Picture(
        figure,
        Bilingual(
            f"{caption.en} Last values here: {measured(last or '-')}. {source.en}",
            f"{caption.zh}這台機器最後的數值：{measured(last or '-')}。{source.zh}",
        ),
        Bilingual(f"Line charts over the epochs: {titles_en}.", f"隨 epoch 變化的折線圖：{titles_zh}。"),
    )


class Live:
    """A figure that is displayed when it is made, and drawn anew by each :meth:`add`.

    Args:
        name: The figure's name: for its caption and ``parts`` in ``course_utils/texts``, and for the recording.
        rounds: How many values each line will have.

    Raises:
        ValueError: There are no texts for `name`.
    """

    def __init__(self, name: str, rounds: int) -> None:
        from IPython.display import display

        self.name, self.rounds = name, rounds
        self.caption, self.parts = figures.caption_and_parts(name)
        self.lines: Lines = {key: {} for key in self.parts}
        self.handle = display(self._picture(), display_id=True)  # None where nothing can be updated

    def _picture(self) -> Picture:
        return picture(self.lines, self.parts, self.rounds, evidence.recorded(self.name), self.caption)

    def add(self, line: str, **values: float) -> None:
        """Add one round's value to each panel, and draw the figure anew.

        Args:
            line: Its name in plain ASCII.
            values: A number for every panel, by the key of the figure's ``parts``.

        Raises:
            ValueError: The keys are not those of the panels.
        """
        if set(values) != set(self.parts):
            raise ValueError(
                f"figure {self.name!r} has the panels {list(self.parts)}, but got {list(values)}."
            )
        for key, value in values.items():
            self.lines[key].setdefault(line, []).append(float(value))
        evidence.note("curve", self.name, {"lines": self.lines})
        if self.handle is not None:
            self.handle.update(self._picture())

    def last(self, panel: str) -> Sequence[float]:
        """Return the last value of each line of a panel, in the order in which the lines came."""
        return [values[-1] for values in self.lines[panel].values()]
