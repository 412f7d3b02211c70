"""A picture that is updated during training: one panel per quantity, one line per model.

It is displayed once, and each update replaces it. A notebook is stored with the last state, but nbval compares the
first one: so both have the same words, and everything that differs is marked as measured.
"""

from collections.abc import Sequence
from typing import Any

from matplotlib import ticker

from bilingual import Bilingual, enumerated, joined, measured_both, texts
from course_utils import figures, recordings, run_mode
from course_utils.figures import Axis, Picture
from shared.charts import caption_and_parts, listed

_TEXTS = texts(__file__)


def _draw_panel(
    axes: Any,
    part: Axis,
    names: Sequence[figures.Label],
    lines: dict[figures.Label, list[float]],
    recorded: dict[str, list[float]],
) -> None:
    """Draw the lines of one panel, measured here and recorded; every panel has the same colour for a name."""
    colours = (figures.YOURS, figures.RECORDED, figures.THIRD, figures.FOURTH)
    for name, colour in zip(names, colours, strict=False):
        values = lines.get(name, [])
        label = figures.lettering(name, " · ")
        axes.plot(range(1, len(values) + 1), values, "o-", color=colour, label=label)
        if there := recorded.get(figures.key(name), []):
            label = figures.of_recorded(name)
            axes.plot(range(1, len(there) + 1), there, "s--", color=colour, alpha=0.5, label=label)
    axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
    axes.margins(y=0.1)  # the last point should not touch the edge
    axes.set_ylim(bottom=0)
    if part.unit:
        axes.yaxis.set_major_formatter(ticker.EngFormatter(part.unit))
    axes.set_xlabel(Bilingual("epoch", "訓練週期"))
    axes.set_title(joined(part.en, part.zh, "\n"), fontsize=10)


class Live:
    """A figure that is displayed when it is created, and updated by each :meth:`add`.

    Args:
        name: The figure's name, for its caption and ``parts`` in the lesson's texts, and for the recording.
        rounds: How many values each line will have.

    Raises:
        ValueError: There are no texts for `name`.
    """

    def __init__(self, name: str, rounds: int) -> None:
        from IPython.display import display

        self.name, self.rounds = name, rounds
        self.caption, self.parts = caption_and_parts(name)
        # Panel → line → one value per round.
        self.lines: dict[str, dict[figures.Label, list[float]]] = {key: {} for key in self.parts}
        self.handle = display(self._picture(), display_id=True)  # None without a front end

    def _picture(self) -> Picture:
        """Return the picture of the values so far, with one panel per part."""
        recorded = recordings.recorded(self.name)
        figure, grid = figures.new(columns=len(self.parts), height=3.4, squeeze=False)
        names = list(dict.fromkeys(name for panel in self.lines.values() for name in panel))
        for axes, (key, part) in zip(grid[0], self.parts.items(), strict=True):
            _draw_panel(axes, part, names, self.lines[key], recorded["lines"][key] if recorded else {})
            axes.set_xlim(0.5, self.rounds + 0.5)  # the same width from the start
        if names:
            figure.legend(handles=grid[0][-1].lines, loc="outside lower center", ncols=2, fontsize=9)
        last = listed({name: self._last(name) for name in names} or {"-": "-"})
        last = measured_both(Bilingual(last.en, last.zh.replace(", ", "、")))
        return Picture(
            figure,
            _TEXTS["caption"].format(caption=self.caption, last=last),
            _TEXTS["alternative"].format(titles=enumerated(self.parts.values())),
            beside=figures.beside(self.name, recorded),
        )

    def _last(self, line: figures.Label) -> str:
        """Return the last value of a line in each panel, with its unit."""
        found = {key: self.lines[key].get(line) for key in self.parts}
        return ", ".join(figures.quantity(v[-1], self.parts[key].unit) for key, v in found.items() if v)

    def add(self, line: figures.Label, **values: float) -> None:
        """Add one round's value to each panel, and update the figure.

        Args:
            line: The line's name, a text or bilingual.
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
        noted = {key: {figures.key(n): v for n, v in panel.items()} for key, panel in self.lines.items()}
        run_mode.note("curve", self.name, {"lines": noted})
        if self.handle is not None:
            self.handle.update(self._picture())

    def last(self, panel: str) -> Sequence[float]:
        """Return the last value of each line of a panel, in the order in which the lines were added."""
        return [values[-1] for values in self.lines[panel].values()]
