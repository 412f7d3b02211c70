"""Charts that two to four lessons use: columns, bar charts side by side, stacked bars. And the colours of ranks."""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

from bilingual import Bilingual, enumerated, joined, measured, measured_both, pair, texts
from course_utils import figures
from course_utils.lesson import text
from course_utils.named_cards import named_card
from course_utils.units import amount, quantity

_TEXTS = texts(__file__)

# One colour per rank: Okabe and Ito's, without black.
RANK_COLOURS = (
    figures.YOURS,
    "#E69F00",
    figures.THIRD,
    figures.FOURTH,
    "#56B4E9",
    figures.RECORDED,
    "#F0E442",
    figures.GREY,
)


def listed(values: Mapping[figures.Label, str]) -> Bilingual:
    """Return names and values as a list: ``float32: 3 ms; float16: 1 ms``."""
    names = [name if isinstance(name, Bilingual) else Bilingual(name, name) for name in values]
    pairs = list(zip(names, values.values(), strict=True))
    return Bilingual("; ".join(f"{n.en}: {v}" for n, v in pairs), "；".join(f"{n.zh}：{v}" for n, v in pairs))


def caption_and_parts(name: str) -> tuple[Bilingual, dict[str, figures.Axis]]:
    """Return the caption of the figure called `name` and the texts of its parts (panels or layers) by key.

    Raises:
        ValueError: There are no texts for `name`.
    """
    found = text("figure", name)
    parts = {
        part["key"]: figures.Axis(part["en"], part["zh"], part.get("unit", "")) for part in found["parts"]
    }
    return pair(found), parts


def columns(name: str, values: Mapping[figures.Label, float]) -> None:
    """Show one measured number per name as columns (logarithmic), this machine's beside the recorded GPU's.

    Args:
        name: The figure's name: for its caption and axis in the lesson's texts, and for the recording.
        values: Name (a text, or bilingual) → number.

    Raises:
        ValueError: There are no texts for `name`.
    """
    caption, _, y = figures.caption_and_axes(name)

    def draw(groups: figures.Groups) -> Any:
        figure, axes = figures.new()
        shown = [(whose, found["values"], figures.COLOURS[whose]) for whose, found in groups.items()]
        _draw_columns(axes, shown, y, {key: figures.lettering(label) for key, label in names.items()})
        return figure

    def described(found: dict[str, Any], place: Bilingual) -> Bilingual:
        list_ = listed({names.get(k, k): quantity(v, y.unit) for k, v in found["values"].items()})
        return _TEXTS["columns"].format(caption=caption, place=place, list=measured_both(list_))

    names = {figures.key(name): name for name in values}
    numbers = {figures.key(name): float(value) for name, value in values.items()}
    figures.show_measured(
        name,
        {"values": numbers},
        draw,
        described,
        _TEXTS["column_chart"].format(axis=Bilingual(y.en, y.zh)),
        series_vary=figures.series_vary(name),
    )


def _draw_columns(
    axes: Any,
    groups: Sequence[tuple[str, Mapping[str, float], str]],
    y: figures.Axis,
    lettering: Mapping[str, str],
) -> None:
    """Draw `groups` (legend, values by name, colour) beside each other, one place on the x axis per name."""
    names = list(dict.fromkeys(key for _, group, _ in groups for key in group))
    width = 0.8 / len(groups)
    for place, (label, group, colour) in enumerate(groups):
        shift = (place - (len(groups) - 1) / 2) * width
        drawn = axes.bar(
            [names.index(key) + shift for key in group],
            list(group.values()),
            width * 0.92,
            color=colour,
            label=label,
        )
        axes.bar_label(drawn, [quantity(value, y.unit) for value in group.values()], padding=2, fontsize=9)
    axes.set_xticks(range(len(names)), [lettering.get(name, name) for name in names])
    axes.grid(visible=False, axis="x")
    axes.set_ylabel(y.label)
    figures.logarithmic(axes.yaxis, y.unit)
    axes.margins(y=0.15)
    if len(groups) > 1:
        axes.legend()


def panels(
    name: str, values: Mapping[str, Mapping[figures.Label, float]], *, card: Mapping[str, str] | None = None
) -> None:
    """Show several quantities of the same few items as bar charts side by side, the recorded GPU's below.

    Args:
        name: The figure's name: for its texts in the lesson's room, and for the recording.
        values: For each panel (a key of the figure's ``parts``): name (a text, or bilingual) → number, in SI units.
        card: For one of the panels: the quantity that is published for a named card, by the same names.

    Raises:
        ValueError: There are no texts for `name`, or not exactly for these panels.
    """
    caption, parts = caption_and_parts(name)
    if set(parts) != set(values):
        raise ValueError(f"figure {name!r} has texts for {list(parts)}, but got values for {list(values)}.")
    numbers = {key: {figures.key(n): float(v) for n, v in panel.items()} for key, panel in values.items()}
    lettering = {figures.key(n): figures.lettering(n) for panel in values.values() for n in panel}
    panel, other = next(((key, named_card(quantity)) for key, quantity in (card or {}).items()), ("", None))

    def draw(shown: figures.Groups) -> Any:
        groups = [(whose, found["panels"], figures.COLOURS[whose]) for whose, found in shown.items()]
        if other:
            numbers_of = {n: v for n, v in zip(other.x, other.y, strict=True) if n in lettering}
            groups.append((figures.lettering(other.label), {panel: numbers_of}, figures.THIRD))
        names = list(dict.fromkeys(n for _, group, _ in groups for panel in group.values() for n in panel))
        lines = sum(lettering.get(n, n).count("\n") + 1 for n in names)
        height = 0.75 + (0.55 + 0.26 * lines) * len(groups)
        figure, grid = figures.new(
            height=height, rows=len(groups), columns=len(parts), sharey=True, squeeze=False
        )
        for place, (row, (label, group, colour)) in enumerate(zip(grid, groups, strict=True)):
            for axes, (key, part) in zip(row, parts.items(), strict=True):
                _draw_bars(axes, group.get(key, {}), part.unit, names, colour, room=0.25 * len(parts))
                axes.set_yticks(range(len(names)), [lettering.get(n, n) for n in names])
                if place == 0:
                    axes.set_title(joined(part.en, part.zh, "\n"), fontsize=10)
            # It is written upwards, along one row of panels.
            row[0].set_ylabel("\n".join(fill(line, 20) for line in str(label).splitlines()), fontsize=9)
        grid[0][0].invert_yaxis()
        return figure

    figures.show_measured(
        name,
        {"panels": numbers},
        draw,
        caption,
        _TEXTS["panels"].format(titles=enumerated(parts.values())),
        series_vary=figures.series_vary(name),
        card=other,
    )


def _draw_bars(
    axes: Any, values: Mapping[str, float], unit: str, names: Sequence[str], colour: str, room: float
) -> None:
    """Draw one horizontal bar per value on the row of its name; `room` is the share of the width for the numbers."""
    drawn = axes.barh(
        [names.index(name) for name in values], list(values.values()), color=colour, height=0.62
    )
    axes.bar_label(drawn, [quantity(value, unit) for value in values.values()], padding=3, fontsize=9)
    axes.set_xlim(0, max(values.values(), default=1) * (1 + room))
    figures.bars_only(axes)


def stacked(name: str, rows: Mapping[figures.Label, Mapping[str, float]]) -> None:
    """Show what memory is used for, as stacked bars. Bytes are counted, not measured: nothing is recorded.

    Args:
        name: The figure's name, for its texts in the lesson's room.
        rows: A name (a text, or bilingual) → (key of the figure's ``parts`` → bytes).

    Raises:
        ValueError: There are no texts for `name` or for one of the parts.
    """
    from IPython.display import display

    caption, parts = caption_and_parts(name)
    if unknown := sorted({key for row in rows.values() for key in row} - set(parts)):
        raise ValueError(f"figure {name!r} has texts for {list(parts)}, but got {unknown}.")
    figure, axes = figures.new(height=1.35 + 0.42 * len(rows))
    totals = _draw_layers(axes, {figures.lettering(name): row for name, row in rows.items()}, parts)
    numbers = [measured(amount(total)) for total in totals.values()]
    list_ = listed(dict(zip(rows, numbers, strict=True)))
    caption = _TEXTS["totals"].format(caption=caption, list=list_)
    alternative = _TEXTS["stacked"].format(layers=enumerated(parts.values()))
    kinds = "; ".join(f"{figures.key(name)}: {', '.join(row)}" for name, row in rows.items())
    display(figures.Picture(figure, caption, alternative, kinds))


def _draw_layers(
    axes: Any, rows: Mapping[str, Mapping[str, float]], parts: Mapping[str, figures.Axis]
) -> dict[str, float]:
    """Draw the stacked bars, one layer per part, and return the total of each row in bytes."""
    colours = (figures.YOURS, figures.RECORDED, figures.THIRD, figures.FOURTH, figures.PALE)
    totals = dict.fromkeys(rows, 0.0)
    for (key, part), colour in zip(parts.items(), colours, strict=False):
        sizes = [row.get(key, 0.0) for row in rows.values()]
        axes.barh(list(rows), sizes, left=list(totals.values()), color=colour, height=0.62, label=part.label)
        totals = {row: total + size for (row, total), size in zip(totals.items(), sizes, strict=True)}
    for place, total in enumerate(totals.values()):
        axes.text(total, place, f" {amount(total)}", va="center", fontsize=10)
    axes.set_xlim(0, max(totals.values()) * 1.15)
    axes.invert_yaxis()
    figures.bars_only(axes)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.2)
    return totals
