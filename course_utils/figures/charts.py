"""Charts that every lesson uses: measured here, beside the recorded GPU; their axes, and texts in both languages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib import ticker

from bilingual import Bilingual, joined, measured, pair, plain, texts
from course_utils.figures.measured import COLOURS, HERE, RECORDED_LABEL, Groups, show_measured
from course_utils.figures.picture import THIRD, new
from course_utils.lesson import text
from course_utils.measure import Comparison, is_modelled
from course_utils.named_cards import NamedCard, named_card
from course_utils.units import duration, number

_TEXTS = texts(__file__)
Label = str | Bilingual  # the name of a bar or line: code and names are text, words are bilingual


def key(label: Label) -> str:
    """Return the name under which the values of `label` are recorded."""
    return plain(label.en) if isinstance(label, Bilingual) else label


def lettering(label: Label, between: str = "\n") -> str:
    """Return `label` as it is drawn: both languages, one below the other unless `between` says otherwise."""
    return label if isinstance(label, str) else joined(plain(label.en), plain(label.zh), between)


def of_recorded(label: Label) -> str:
    """Return the name of the recorded machine's bar or line `label`."""
    return f"{lettering(label, ' · ')}{joined(' (recorded)', '（參考紀錄）', '')}"


def quoted(label: Label) -> Bilingual:
    """Return `label` as it stands in a sentence: words in quotation marks, code as code."""
    if isinstance(label, Bilingual):
        return Bilingual(f"“{label.en}”", f"「{label.zh}」")
    return Bilingual(f"`{label}`", f"`{label}`")


def bars_only(axes: Any) -> None:
    """Remove the horizontal scale of `axes`: each bar shows its own number."""
    axes.set_xticks([])
    axes.grid(visible=False)
    axes.spines["bottom"].set_visible(False)


@dataclass(frozen=True)
class Axis:
    """An axis: what it shows, briefly, in both languages, the unit of its numbers, and how they are spaced."""

    en: str = ""
    zh: str = ""
    unit: str = ""
    scale: str = "log"

    @property
    def label(self) -> str:
        """The text as the picture shows it."""
        return joined(self.en, self.zh)


def logarithmic(axis: Any, unit: str = "") -> None:
    """Make an axis logarithmic, with numbers a reader need not decode: ``10 µs`` instead of ``10⁻⁵``."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    low, high = axis.get_view_interval()
    # Few powers of ten in sight: label 2 and 5 as well.
    axis.set_major_locator(ticker.LogLocator(subs=(1.0,) if high / low > 100 else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(
        ticker.FuncFormatter(lambda v, _: f"{v:g}{unit}") if unit in ("", "%") else ticker.EngFormatter(unit)
    )
    axis.set_minor_locator(ticker.NullLocator())  # unlabelled ticks take half of the drawing time


def caption_and_axes(name: str) -> tuple[Bilingual, Axis, Axis]:
    """Return the caption and the axes of the figure called `name` (an axis without text gets an empty label).

    Raises:
        ValueError: There are no texts for `name`.
    """
    found = text("figure", name)
    x, y = ({name[2:]: part for name, part in found.items() if name.startswith(f"{axis}_")} for axis in "xy")
    return pair(found), Axis(**x), Axis(**y)


def series_vary(name: str) -> bool:
    """Return whether the series of the figure called `name` depend on the machine, as its texts say."""
    return text("figure", name).get("series_vary", False)


def bars(name: str, comparison: Comparison, *, labels: Sequence[Label]) -> None:
    """Show how long the two sides of a comparison take, this machine's beside the recorded GPU's.

    Args:
        name: Name under which this comparison is recorded on other machines.
        comparison: What :func:`compare` returned.
        labels: Two short names, for the first and the second callable: code or numbers, or words in both languages.
    """

    def draw(groups: Groups) -> Any:
        figure, axes = new(height=0.6 + 0.9 * len(groups))
        rows = [
            (lettering(label) if whose == HERE else of_recorded(label), seconds, COLOURS[whose])
            for whose, values in groups.items()
            for label, seconds in zip(labels, values["seconds"], strict=True)
        ]
        names, seconds, colours = zip(*reversed(rows), strict=True)
        drawn = axes.barh(names, seconds, color=colours, height=0.62)
        axes.bar_label(drawn, [duration(s) for s in seconds], padding=4)
        axes.set_xlim(0, max(seconds) * 1.18)
        bars_only(axes)
        return figure

    one, other = (quoted(label) for label in labels)

    def caption(values: dict[str, Any], place: Bilingual) -> Bilingual:
        ratio = measured(number(values["ratio"]))
        return _close_up(_TEXTS["bars_caption"].format(place=place, one=one, other=other, ratio=ratio))

    times = [comparison.a_seconds, comparison.b_seconds]
    show_measured(
        name,
        {"seconds": times, "ratio": comparison.ratio, "labels": [key(label) for label in labels]},
        draw,
        caption,
        _close_up(_TEXTS["bars_alternative"].format(one=one, other=other)),
    )


def _close_up(text: Bilingual) -> Bilingual:
    """Remove the spaces, customary around code, that stand beside Chinese quotation marks."""
    return Bilingual(text.en, text.zh.replace("」 ", "」").replace(" 「", "「"))


def _number(value: Any) -> float:
    """Return a number as a float, which a modelled one is already: it keeps the word."""
    return value if is_modelled(value) else float(value)


def curves(
    name: str,
    lines: Mapping[Label, tuple[Sequence[float], Sequence[float]]],
    *,
    card: NamedCard | str | None = None,
) -> None:
    """Show measured curves on logarithmic axes, this machine's beside the recorded GPU's.

    A practice GPU's curve says that it is modelled, and is not recorded. Recorded curves keep the order of `lines`.

    (An axis is linear where the figure's text says ``x_scale = "linear"`` or ``y_scale = "linear"``.)

    Args:
        name: The figure's name: for its caption and axes in the lesson's texts, and for the recording.
        lines: Name (a text, or bilingual) → (x values, y values).
        card: What is published for a named card, or the name of the quantity, drawn as one more curve.

    Raises:
        ValueError: There are no texts for `name`.
    """
    caption, x, y = caption_and_axes(name)
    beside = named_card(card) if isinstance(card, str) else card

    def draw(groups: Groups) -> Any:
        figure, axes = new()
        names = {key(line): line for line in lines}
        for whose, values in groups.items():
            order = [*names, *values["lines"]]
            for line, (xs, ys) in sorted(values["lines"].items(), key=lambda pair: order.index(pair[0])):
                name = names.get(line, line)
                label, style = lettering(name, " · "), "o-"
                if whose == RECORDED_LABEL:
                    label, style = of_recorded(name), "s--"
                elif is_modelled(ys):
                    label, style = f"{label} ({_TEXTS['modelled']})", "o-."
                axes.plot(xs, ys, style, label=label)
        if beside:
            axes.plot(beside.x, beside.y, "^:", color=THIRD, label=lettering(beside.label))
        for drawn, axis in ((axes.xaxis, x), (axes.yaxis, y)):
            if axis.scale == "log":
                logarithmic(drawn, axis.unit)
            drawn.set_label_text(axis.label)
        if beside or len(lines) > 1 or RECORDED_LABEL in groups:
            if (many := len(axes.lines)) > 4:  # they leave no empty place among them
                figure.set_figheight(figure.get_figheight() + 0.22 * many)
                figure.legend(loc="outside lower center", ncols=2)
            else:
                axes.legend()
        return figure

    show_measured(
        name,
        {"lines": {key(line): [[*map(float, xs)], [*map(_number, ys)]] for line, (xs, ys) in lines.items()}},
        draw,
        caption,
        Bilingual(f"Line chart of {y.en} against {x.en}.", f"折線圖，橫軸：{x.zh}；縱軸：{y.zh}。"),
        series_vary=series_vary(name),
        card=beside,
    )
