"""Pictures in one style: built from what really ran, with a caption and a text alternative in both languages.

Figures are built as `matplotlib.figure.Figure` objects, never through pyplot: a widget may call from another thread,
where pyplot's hidden current figure would get mixed up. They are shown as HTML, because JupyterLab gives a plain PNG
output no text alternative.
"""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import matplotlib as mpl
from matplotlib import font_manager, ticker
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from course_utils import evidence
from course_utils.language import Bilingual, measured, number, plain
from course_utils.measure import Comparison
from course_utils.texts import text

# Okabe & Ito's palette: distinguishable with the common forms of colour blindness, and in grey.
YOURS, RECORDED, THIRD, FOURTH = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
PALE, GREY = "#B8C4CC", "#5F6B76"

COLOURS = 128  # in a picture: a dozen of its own, the others for smooth edges
_FONT = "NotoSansCJKtc-subset.otf"


@cache
def _families() -> list[str]:
    """Register the shipped Chinese font and return the families to draw text with, in order of preference."""
    path = str(resources.files("course_utils").joinpath("fonts", _FONT))
    font_manager.fontManager.addfont(path)
    return ["DejaVu Sans", font_manager.FontProperties(fname=path).get_name()]


@cache
def style() -> dict[str, Any]:
    """Return matplotlib's settings for every picture of the course."""
    return {
        "font.size": 11,
        "axes.titlesize": 11,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": "#E4E8EB",
        "axes.axisbelow": True,
        "axes.prop_cycle": mpl.cycler(color=[YOURS, RECORDED, THIRD, FOURTH]),
        "legend.frameon": False,
        "lines.linewidth": 2,
        "lines.markersize": 6,
        "figure.dpi": 110,
        "savefig.facecolor": "white",
    }


def new(
    width: float = 7.6, height: float = 3.4, columns: int = 1, rows: int = 1, **options: Any
) -> tuple[Figure, Any]:
    """Return a figure in the course's style, and its axes (one, a sequence, or a grid of rows × columns).

    Args:
        width: In inches; 7.6 fits a projector's narrow notebook.
        height: In inches.
        columns: How many axes side by side.
        rows: How many rows of them.
        options: Passed on to ``Figure.subplots``.
    """
    with mpl.rc_context(style()):
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots(rows, columns, **options)
    return figure, axes


def rectangle(x: float, y: float, width: float, height: float, colour: str) -> Any:
    """Return a filled rectangle to add to axes."""
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), width, height, facecolor=colour, edgecolor="none")


def png(figure: Figure) -> bytes:
    """Return `figure` as a PNG file."""
    buffer = io.BytesIO()
    for label in figure.findobj(Text):  # also labels that were added after `new`, outside its style
        label.set_fontfamily(_families())
    with mpl.rc_context(style()):
        # No software entry in the file: the same figure gives the same bytes under every matplotlib release.
        figure.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
    # A palette instead of full colour takes a third of the bytes, and notebooks hold many pictures.
    small = io.BytesIO()
    Image.open(buffer).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(
        small, format="png", optimize=True
    )
    return small.getvalue()


@dataclass(frozen=True)
class Picture:
    """A figure with its caption (shown below) and its text alternative (what a blind reader gets)."""

    figure: Figure
    caption: Bilingual
    alternative: Bilingual

    def html(self) -> str:
        """Return the picture as an HTML ``<figure>``."""
        data = base64.b64encode(png(self.figure)).decode("ascii")
        text = html.escape(f"{plain(self.alternative.en)} · {plain(self.alternative.zh)}", quote=True)
        return (
            f'<figure class="course-figure"><img alt="{text}" src="data:image/png;base64,{data}">'
            f"<figcaption>{self.caption.html()}</figcaption></figure>"
        )

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": f"figure: {plain(str(self.alternative))}"}


def show(figure: Figure, *, caption: Bilingual, alternative: Bilingual) -> None:
    """Show a `figure` of your own (see :func:`new`).

    Args:
        caption: What stands below it.
        alternative: What a blind reader gets instead of it.
    """
    from IPython.display import display

    display(Picture(figure, caption, alternative))


def duration(seconds: float) -> str:
    """Return a time with a unit that suits it: ``0.000012`` → ``12 µs``.

    Args:
        seconds: The time.
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def amount(size: float) -> str:
    """Return a number of bytes with a decimal unit: ``4_000_000`` → ``4 MB``.

    Args:
        size: The number of bytes.
    """
    for unit, step in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= step:
            return f"{size / step:.3g} {unit}"
    return f"{size:.0f} B"


def quantity(value: float, unit: str) -> str:
    """Return a number with three digits at most and a unit that suits it: ``2.34e9, "FLOP/s"`` → ``2.34 GFLOP/s``.

    Args:
        value: The number.
        unit: Its unit without a prefix; "" for a bare number.
    """
    return ticker.EngFormatter(unit)(float(f"{value:.3g}")) if unit else number(value)


RECORDED_LABEL = "recorded · 參考"  # how the other machine is called in a legend


def bars_only(axes: Any) -> None:
    """Take the horizontal scale away from `axes`: each bar bears its own number."""
    axes.set_xticks([])
    axes.grid(visible=False)
    axes.spines["bottom"].set_visible(False)


def recording(values: dict[str, Any] | None) -> Bilingual:
    """Return the second half of a caption: whose recording is shown, or that there is none.

    Args:
        values: What :func:`evidence.recorded` returned.
    """
    if values is None:
        text = Bilingual("Recorded GPU: not recorded yet.", "GPU 參考：尚無紀錄。")
    else:
        text = Bilingual(f"Recorded on {values['run']}.", f"GPU 參考：{values['run']}。")
    return Bilingual(measured(text.en), measured(text.zh))


def bars_picture(comparison: Comparison, labels: Sequence[str], values: dict[str, Any] | None) -> Picture:
    """Build the picture of :func:`bars` (pure: `values` is what is recorded, or None)."""
    figure, axes = new(height=1.5 + (0.9 if values else 0))
    rows = [
        (label, seconds, YOURS)
        for label, seconds in zip(labels, (comparison.a_seconds, comparison.b_seconds), strict=True)
    ]
    if values:
        rows += [
            (f"{label} ({RECORDED_LABEL})", s, RECORDED)
            for label, s in zip(labels, values["seconds"], strict=True)
        ]
    names, seconds, colours = zip(*reversed(rows), strict=True)
    drawn = axes.barh(names, seconds, color=colours, height=0.62)
    axes.bar_label(drawn, [duration(s) for s in seconds], padding=4)
    axes.set_xlim(0, max(seconds) * 1.18)
    bars_only(axes)
    en = f"Here, `{labels[0]}` takes {measured(number(comparison.ratio))} times as long as `{labels[1]}`."
    zh = f"在這台機器上，`{labels[0]}` 花的時間是 `{labels[1]}` 的 {measured(number(comparison.ratio))} 倍。"
    source = recording(values)
    return Picture(
        figure,
        Bilingual(f"{en} {source.en}", f"{zh}{source.zh}"),
        Bilingual(
            f"Bar chart of two times: {labels[0]} and {labels[1]}.",
            f"長條圖，比較兩種做法的時間：{labels[0]} 與 {labels[1]}。",
        ),
    )


def bars(name: str, comparison: Comparison, *, labels: Sequence[str]) -> None:
    """Show how long the two sides of a comparison take, this machine's beside the recorded GPU's.

    Args:
        name: Name under which this comparison is recorded on other machines.
        comparison: What :func:`compare` returned.
        labels: Two short names in plain ASCII or numbers, for the first and the second callable.

    Raises:
        ValueError: There are not two labels.
    """
    from IPython.display import display

    if len(labels) != 2:
        raise ValueError(f"bars() compares two things, but got {len(labels)} labels: {list(labels)!r}.")
    seconds = [comparison.a_seconds, comparison.b_seconds]
    evidence.note("curve", name, {"seconds": seconds, "ratio": comparison.ratio, "labels": list(labels)})
    display(bars_picture(comparison, labels, evidence.recorded(name)))


@dataclass(frozen=True)
class Axis:
    """An axis: what it shows, briefly, in both languages, the unit of its numbers, and how they are spaced."""

    en: str
    zh: str
    unit: str = ""
    scale: str = "log"

    @property
    def label(self) -> str:
        """Both languages, as they stand in the picture."""
        return f"{self.en} · {self.zh}" if self.en != self.zh else self.en


def logarithmic(axis: Any, unit: str = "") -> None:
    """Make an axis logarithmic, with numbers a reader need not decode: ``10 µs`` instead of ``10⁻⁵``."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    low, high = axis.get_view_interval()
    # Few powers of ten in sight: label 2 and 5 as well.
    axis.set_major_locator(ticker.LogLocator(subs=(1.0,) if high / low > 100 else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(
        ticker.EngFormatter(unit) if unit else ticker.FuncFormatter(lambda v, _: f"{v:g}")
    )
    axis.set_minor_formatter(ticker.NullFormatter())


def curves_picture(
    lines: dict[str, tuple[Sequence[float], Sequence[float]]],
    x: Axis,
    y: Axis,
    values: dict[str, Any] | None,
    caption: Bilingual,
) -> Picture:
    """Build the picture of :func:`curves` (pure: `values` is what is recorded, or None)."""
    figure, axes = new()
    for name, (xs, ys) in lines.items():
        axes.plot(xs, ys, marker="o", label=name)
    if values:
        for name, (xs, ys) in values["lines"].items():
            axes.plot(xs, ys, marker="s", linestyle="--", label=f"{name} ({RECORDED_LABEL})")
    logarithmic(axes.xaxis, x.unit)
    if y.scale == "log":
        logarithmic(axes.yaxis, y.unit)
    axes.set_xlabel(x.label)
    axes.set_ylabel(y.label)
    if len(lines) > 1 or values:
        axes.legend()
    source = recording(values)
    return Picture(
        figure,
        Bilingual(f"{caption.en} {source.en}", f"{caption.zh}{source.zh}"),
        Bilingual(f"Line chart of {y.en} against {x.en}.", f"折線圖，橫軸：{x.zh}；縱軸：{y.zh}。"),
    )


def caption_and_axes(name: str) -> tuple[Bilingual, Axis, Axis]:
    """Return the caption and the axes of the figure called `name` (an axis without text is named after nothing).

    Raises:
        ValueError: There are no texts for `name`.
    """
    found = text("figure", name)
    x, y = (
        Axis(
            *(found.get(f"{axis}_{part}", "") for part in ("en", "zh", "unit")),
            found.get(f"{axis}_scale", "log"),
        )
        for axis in "xy"
    )
    return Bilingual(found["en"], found["zh"]), x, y


def caption_and_parts(name: str) -> tuple[Bilingual, dict[str, Axis]]:
    """Return the caption of the figure called `name` and the texts of its parts (panels or layers) by key.

    Raises:
        ValueError: There are no texts for `name`.
    """
    found = text("figure", name)
    parts = {part["key"]: Axis(part["en"], part["zh"], part.get("unit", "")) for part in found["parts"]}
    return Bilingual(found["en"], found["zh"]), parts


def curves(name: str, lines: dict[str, tuple[Sequence[float], Sequence[float]]]) -> None:
    """Show measured curves on logarithmic axes, this machine's beside the recorded GPU's.

    (The vertical axis is linear where the figure's text says ``y_scale = "linear"``.)

    Args:
        name: The figure's name: for its caption and axes in ``course_utils/texts``, and for the recording.
        lines: Name in plain ASCII → (x values, y values).

    Raises:
        ValueError: There are no texts for `name`.
    """
    from IPython.display import display

    caption, x, y = caption_and_axes(name)
    noted = {line: [list(map(float, xs)), list(map(float, ys))] for line, (xs, ys) in lines.items()}
    evidence.note("curve", name, {"lines": noted})
    display(curves_picture(lines, x, y, evidence.recorded(name), caption))


def columns_picture(
    values: dict[str, float], y: Axis, recorded_values: dict[str, Any] | None, caption: Bilingual
) -> Picture:
    """Build the picture of :func:`columns` (pure)."""
    figure, axes = new()
    names = list(values)
    groups = [("here · 這台機器", values, YOURS)]
    if recorded_values:
        names += [name for name in recorded_values["values"] if name not in values]
        groups.append((RECORDED_LABEL, recorded_values["values"], RECORDED))
    width = 0.8 / len(groups)
    for place, (label, group, colour) in enumerate(groups):
        here = [name for name in names if name in group]
        places = [names.index(name) + (place - (len(groups) - 1) / 2) * width for name in here]
        drawn = axes.bar(places, [group[name] for name in here], width * 0.92, color=colour, label=label)
        axes.bar_label(drawn, [quantity(group[name], y.unit) for name in here], padding=2)
    axes.set_xticks(range(len(names)), names)
    axes.grid(visible=False, axis="x")
    axes.set_ylabel(y.label)
    logarithmic(axes.yaxis, y.unit)
    axes.margins(y=0.15)
    if recorded_values:
        axes.legend()
    source = recording(recorded_values)
    numbers = ", ".join(f"{name} {quantity(value, y.unit)}" for name, value in values.items())
    return Picture(
        figure,
        Bilingual(
            f"{caption.en} Here: {measured(numbers)}. {source.en}",
            f"{caption.zh}這台機器：{measured(numbers)}。{source.zh}",
        ),
        Bilingual(f"Column chart of {y.en}.", f"長條圖，縱軸：{y.zh}。"),
    )


def columns(name: str, values: dict[str, float]) -> None:
    """Show one measured number per name as columns (logarithmic), this machine's beside the recorded GPU's.

    Args:
        name: The figure's name: for its caption and axis in ``course_utils/texts``, and for the recording.
        values: Name in plain ASCII → number.

    Raises:
        ValueError: There are no texts for `name`.
    """
    from IPython.display import display

    caption, _, y = caption_and_axes(name)
    evidence.note("curve", name, {"values": {key: float(value) for key, value in values.items()}})
    display(columns_picture(values, y, evidence.recorded(name), caption))


def panels_picture(
    values: dict[str, dict[str, float]],
    parts: dict[str, Axis],
    recorded_values: dict[str, Any] | None,
    caption: Bilingual,
) -> Picture:
    """Build the picture of :func:`panels` (pure)."""
    groups = [("here · 這台機器", values, YOURS)]
    if recorded_values:
        groups.append((RECORDED_LABEL, recorded_values["panels"], RECORDED))
    names = list(dict.fromkeys(name for _, group, _ in groups for panel in group.values() for name in panel))
    height = 0.75 + (0.55 + 0.26 * len(names)) * len(groups)
    figure, grid = new(height=height, rows=len(groups), columns=len(parts), sharey=True, squeeze=False)
    for place, (row, (label, group, colour)) in enumerate(zip(grid, groups, strict=True)):
        for axes, (key, part) in zip(row, parts.items(), strict=True):
            panel = group.get(key, {})
            here = [name for name in names if name in panel]
            drawn = axes.barh(
                [names.index(n) for n in here], [panel[n] for n in here], color=colour, height=0.62
            )
            axes.bar_label(drawn, [quantity(panel[n], part.unit) for n in here], padding=3, fontsize=9)
            axes.set_xlim(0, max(panel.values(), default=1) * (1 + 0.25 * len(parts)))  # room for the numbers
            bars_only(axes)
            axes.set_yticks(range(len(names)), names)
            if place == 0:
                axes.set_title(f"{part.en}\n{part.zh}" if part.en != part.zh else part.en, fontsize=10)
        row[0].set_ylabel(label, fontsize=9)
    grid[0][0].invert_yaxis()
    source = recording(recorded_values)
    titles_en, titles_zh = ", ".join(p.en for p in parts.values()), "、".join(p.zh for p in parts.values())
    return Picture(
        figure,
        Bilingual(f"{caption.en} {source.en}", f"{caption.zh}{source.zh}"),
        Bilingual(f"Bar charts side by side: {titles_en}.", f"並排的長條圖：{titles_zh}。"),
    )


def panels(name: str, values: dict[str, dict[str, float]]) -> None:
    """Show several quantities of the same few things as bar charts side by side, the recorded GPU's below.

    Args:
        name: The figure's name: for its texts in ``course_utils/texts``, and for the recording.
        values: For each panel (a key of the figure's ``parts``): name in plain ASCII → number, in SI units.

    Raises:
        ValueError: There are no texts for `name`, or not exactly for these panels.
    """
    from IPython.display import display

    caption, parts = caption_and_parts(name)
    if set(parts) != set(values):
        raise ValueError(f"figure {name!r} has texts for {list(parts)}, but got values for {list(values)}.")
    numbers = {key: {n: float(v) for n, v in panel.items()} for key, panel in values.items()}
    evidence.note("curve", name, {"panels": numbers})
    display(panels_picture(numbers, parts, evidence.recorded(name), caption))


def stacked_picture(rows: dict[str, dict[str, float]], parts: dict[str, Axis], caption: Bilingual) -> Picture:
    """Build the picture of :func:`stacked` (pure)."""
    figure, axes = new(height=1.35 + 0.42 * len(rows))
    names = list(rows)
    left = dict.fromkeys(names, 0.0)
    for (key, part), colour in zip(parts.items(), (YOURS, RECORDED, THIRD, FOURTH, PALE), strict=False):
        sizes = [rows[name].get(key, 0.0) for name in names]
        axes.barh(names, sizes, left=list(left.values()), color=colour, height=0.62, label=part.label)
        left = {name: left[name] + size for name, size in zip(names, sizes, strict=True)}
    for place, total in enumerate(left.values()):
        axes.text(total, place, f" {amount(total)}", va="center", fontsize=10)
    axes.set_xlim(0, max(left.values()) * 1.15)
    axes.invert_yaxis()
    bars_only(axes)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.2)
    layers_en, layers_zh = ", ".join(p.en for p in parts.values()), "、".join(p.zh for p in parts.values())
    totals = ", ".join(f"`{name}` {measured(amount(total))}" for name, total in left.items())
    return Picture(
        figure,
        Bilingual(f"{caption.en} Totals: {totals}.", f"{caption.zh}總計：{totals}。"),
        Bilingual(f"Stacked bars of bytes: {layers_en}.", f"堆疊長條圖，依用途分的位元組數：{layers_zh}。"),
    )


def stacked(name: str, rows: dict[str, dict[str, float]]) -> None:
    """Show what bytes are spent on, as stacked bars. Counted, not timed: nothing is recorded for comparison.

    Args:
        name: The figure's name, for its texts in ``course_utils/texts``.
        rows: A name in plain ASCII → (key of the figure's ``parts`` → bytes).

    Raises:
        ValueError: There are no texts for `name` or for one of the parts.
    """
    from IPython.display import display

    caption, parts = caption_and_parts(name)
    unknown = sorted({key for row in rows.values() for key in row} - set(parts))
    if unknown:
        raise ValueError(f"figure {name!r} has texts for {list(parts)}, but got {unknown}.")
    display(stacked_picture(rows, parts, caption))


def histogram_picture(
    groups: dict[str, Any], marks: dict[str, float], x: Axis, y: Axis, caption: Bilingual
) -> Picture:
    """Build the picture of :func:`histogram` (pure)."""
    import numpy as np

    figure, axes = new(height=3.0)
    powers = [np.log2(np.abs(values[np.nonzero(values)])) for values in map(np.asarray, groups.values())]
    low = min([*(p.min() for p in powers), *np.log2(list(marks.values()))])
    high = max([*(p.max() for p in powers), *np.log2(list(marks.values()))])
    bins = np.arange(np.floor(low) - 1, np.ceil(high) + 2)
    for name, values in zip(groups, powers, strict=True):
        axes.hist(values, bins, weights=np.full(len(values), 100 / len(values)), alpha=0.6, label=name)
    axes.margins(y=0.25)
    top = axes.get_ylim()[1]
    for name, place in marks.items():
        axes.axvline(np.log2(place), color="#445", linestyle="--", linewidth=1.2)
        axes.text(np.log2(place), top, f" {name}", rotation=90, va="top", ha="right", fontsize=9)
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda power, _: f"2^{power:g}"))
    axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
    axes.set_xlabel(x.label)
    axes.set_ylabel(y.label)
    axes.legend(loc="upper left", bbox_to_anchor=(0, 1.16), ncols=3)
    return Picture(
        figure,
        caption,
        Bilingual(f"Histogram of {x.en} ({', '.join(groups)}).", f"{x.zh}的直方圖（{'、'.join(groups)}）。"),
    )


def histogram(name: str, groups: dict[str, Any], *, marks: dict[str, float]) -> None:
    """Show how magnitudes are distributed over the powers of two; zeros are left out.

    Args:
        name: The figure's name, for its caption and axes in ``course_utils/texts``.
        groups: Name in plain ASCII → numbers (a NumPy array or a CPU tensor); their signs do not matter.
        marks: Name in plain ASCII → magnitude to mark with a line.

    Raises:
        ValueError: There are no texts for `name`.
    """
    from IPython.display import display

    caption, x, y = caption_and_axes(name)
    display(histogram_picture(groups, marks, x, y, caption))


def returns_picture(
    times: Mapping[str, tuple[float, float]], recorded_values: dict[str, Any] | None
) -> Picture:
    """Build the picture of :func:`returns` (pure)."""
    rows = [(name, pair, YOURS) for name, pair in times.items()]
    if recorded_values:
        rows += [
            (f"{name} ({RECORDED_LABEL})", tuple(pair), RECORDED)
            for name, pair in recorded_values["times"].items()
        ]
    rows.reverse()  # barh counts from below
    figure, axes = new(height=0.9 + 0.5 * len(rows))
    places = range(len(rows))
    done, colours = [pair[1] for _, pair, _ in rows], [colour for *_, colour in rows]
    axes.barh(places, done, 0.62, color=colours, alpha=0.45)
    axes.barh(places, [pair[0] for _, pair, _ in rows], 0.3, color=GREY)
    smallest, largest = min(min(pair) for _, pair, _ in rows), max(done)
    axes.set_xlim(smallest / 3, largest * 30)
    logarithmic(axes.xaxis, "s")
    axes.set_yticks(places, [name for name, *_ in rows])
    axes.grid(visible=False, axis="y")
    for place, (_, (early, late), _) in zip(places, rows, strict=True):
        axes.annotate(
            f"{duration(early)} / {duration(late)}",
            (max(early, late), place),
            (6, 0),
            textcoords="offset points",
            va="center",
        )
    source = recording(recorded_values)
    return Picture(
        figure,
        Bilingual(
            f"Narrow bar: until the call returns. Wide bar: until the work is done. Logarithmic scale. {source.en}",
            f"細條：到呼叫傳回為止；粗條：到工作做完為止。對數刻度。{source.zh}",
        ),
        Bilingual(
            "Bar chart: for each way of calling, the time until it returns and the time until its work is done.",
            "長條圖：每種呼叫方式，到呼叫傳回為止、到工作做完為止，各要多久。",
        ),
    )


def returns(name: str, times: Mapping[str, tuple[float, float]]) -> None:
    """Show when calls return and when their work is done, this machine's beside the recorded GPU's.

    Args:
        name: Name under which these times are recorded on other machines.
        times: A label in plain ASCII → (seconds until the call returns, seconds until the work is done).

    Raises:
        ValueError: There is nothing to show.
    """
    from IPython.display import display

    if not times:
        raise ValueError("returns() needs at least one pair of times.")
    evidence.note("curve", name, {"times": {label: list(pair) for label, pair in times.items()}})
    display(returns_picture(times, evidence.recorded(name)))
