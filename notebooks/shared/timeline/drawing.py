"""Draw a timeline: a row per lane, a bar per span."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import matplotlib as mpl
from matplotlib import ticker
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from bilingual import Bilingual
from course_utils import figures
from shared.timeline.spans import Interval, Span, Timeline, total_length

COLOURS = {
    "work": figures.YOURS,
    "copy": figures.THIRD,
    "wait": "#E69F00",
    "launch": "#5F6B76",
    "python": "#9AA6B0",
}
_OTHERS = (figures.FOURTH, "#56B4E9", figures.RECORDED, "#8C6D31", "#7F7F7F")
TOGETHER = "#F0E442"  # shading of the time in which both lanes are busy
ROUNDING = 1e-6  # what is a smaller share of the axis is rounding
_INCHES = 6.0  # about the width of the drawing area: which names fit


def _kind(span: Span) -> str:
    """Return what gives a span its colour: in a GPU's lane the lane, else the name's first word."""
    words = span.lane.split()
    if words[:1] == ["GPU"] and words[-1] in ("work", "copy"):
        return words[-1]
    return next(iter(span.name.lower().split()), "")


_CHINESE = {
    "host": "主機",
    "stream": "串流",
    "copy": "複製",
    "work": "運算",
    "worker": "工作執行緒",
}


def lane_name(lane: str) -> Bilingual:
    """Return the name of a lane in words: ``GPU stream 1 copy`` · 「GPU 串流 1 複製」; of an unknown one, as it is."""
    words = [_CHINESE.get(word, word) for word in lane.split()]
    return Bilingual(lane, " ".join(words) if words != lane.split() else lane)


def _ink(colour: str) -> str:
    """Return black or white, whichever can be read on `colour`."""
    red, green, blue = to_rgb(colour)
    return "white" if 0.3 * red + 0.59 * green + 0.11 * blue < 0.55 else "#111"


def panels(rows: Sequence[int]) -> tuple[Figure, Sequence[Any]]:
    """Return a figure and its axes, one above the other, with room for so many `rows` each (see :func:`draw`)."""
    heights = [min(0.2 + 0.34 * count, 2.3) for count in rows]
    with mpl.rc_context(figures.style()):
        figure = Figure(figsize=(7.6, sum(heights) + 0.6 * len(rows)), layout="constrained")
        return figure, figure.subplots(len(rows), 1, height_ratios=heights, squeeze=False)[:, 0]


def draw(
    axes: Any,
    timeline: Timeline,
    *,
    lanes: Sequence[str] = (),
    labels: Mapping[str, figures.Label] | None = None,
    shade: Sequence[str] = (),
    until: float | None = None,
) -> None:
    """Draw a timeline into `axes`: a row per lane, a bar per span, its name where it fits.

    Args:
        axes: From :func:`panels`.
        timeline: What to draw.
        lanes: The rows from top to bottom; all lanes if empty. One without spans stays empty.
        labels: Text beside a lane, if not its name.
        shade: Two lanes; the time in which both are busy is shaded.
        until: Right end of the axis in seconds.
    """
    rows = list(lanes) or timeline.lanes()
    begin = min(span.start for span in timeline.spans)
    right = until or timeline.seconds() or 1e-9
    kinds = dict.fromkeys(_kind(span) for span in timeline.spans)
    others = iter(_OTHERS * len(kinds))
    colours = {kind: COLOURS.get(kind) or next(others) for kind in kinds}
    if len(shade) == 2:
        shared = timeline.both_busy(*shade)
        together = [(start - begin, end - start) for start, end in shared if end - start > ROUNDING * right]
        shading = {"facecolors": TOGETHER, "alpha": 0.45, "zorder": 0.5, "linewidth": 0}
        axes.broken_barh(together, (-0.5, len(rows)), **shading)
        if together:
            label = Bilingual("at the same time", "同時進行")
            where = {"loc": "lower right", "bbox_to_anchor": (1, 1), "borderpad": 0.2}
            patch = Patch(facecolor=TOGETHER, alpha=0.45, label=label)
            axes.legend(handles=[patch], **where, frameon=False, fontsize=9)
    for row, lane in enumerate(rows):
        height = len(rows) - 1 - row
        spans = [
            replace(s, start=s.start - begin, end=s.end - begin) for s in timeline.spans if s.lane == lane
        ]
        spans.sort(key=lambda s: (s.start, -s.end))
        _draw_bars(axes, spans, height, right, colours)
        _write_names(axes, spans, height, right, colours)
    axes.set_xlim(0, right * 1.005)
    axes.set_ylim(-0.5, len(rows) - 0.5)
    names = [str((labels or {}).get(lane) or figures.lettering(lane_name(lane))) for lane in reversed(rows)]
    axes.set_yticks(range(len(rows)), names)
    axes.tick_params(axis="y", length=0)
    for label in axes.get_yticklabels():
        if "\n" in label.get_text():
            label.set_fontsize(8)  # two lines in one row
    axes.xaxis.set_major_locator(ticker.MaxNLocator(6))
    axes.xaxis.set_major_formatter(ticker.EngFormatter("s"))
    axes.grid(visible=False, axis="y")


def _draw_bars(axes: Any, spans: list[Span], height: float, right: float, colours: Mapping[str, str]) -> None:
    """Draw the spans of one lane as bars; what is nested is drawn lower, so that both stay visible."""
    bars: dict[tuple[str, int, bool], list[Interval]] = defaultdict(list)
    ends: list[float] = []  # of the bars around the present one
    for span in spans:
        while ends and ends[-1] <= span.start + ROUNDING * right:
            ends.pop()
        width = span.end - span.start
        # Bars with an edge can be told from their neighbours; the shortest would be all edge.
        key = (_kind(span), min(len(ends), 2), width > 0.008 * right)
        bars[key].append((span.start, max(width, 0.0015 * right)))
        ends.append(span.end)
    for (kind, depth, edged), intervals in bars.items():
        axes.broken_barh(
            intervals,
            (height - 0.37, 0.74 * 0.62**depth),
            facecolors=colours[kind],
            edgecolor="white" if edged else "none",
            linewidth=0.8 if edged else 0,
            zorder=2 + depth,
        )


def _write_names(
    axes: Any, spans: list[Span], height: float, right: float, colours: Mapping[str, str]
) -> None:
    """Write names where they fit: once for neighbours of the same name, and not over what is nested."""
    slack, runs = ROUNDING * right, list[list[Span]]()
    for span in spans:
        if runs and runs[-1][-1].name == span.name and span.start >= runs[-1][-1].end - slack:
            runs[-1].append(span)
        else:
            runs.append([span])
    for place, run in enumerate(runs):
        start, end = run[0].start, run[-1].end
        if place + 1 < len(runs) and runs[place + 1][0].start < end - slack:
            continue  # something is nested in it
        if total_length((span.start, span.end) for span in run) < 0.85 * (end - start):
            continue  # more gap than bar to write on
        whole, room = run[0].name, (end - start) * _INCHES / right
        last = whole.split(" ")[-1]
        # Half a name says nothing; a number does.
        if name := next((t for t in (whole, last * last.isdigit()) if _inches(t) < room), ""):
            style = {"ha": "center", "va": "center", "fontsize": 8.5, "zorder": 9, "clip_on": True}
            wide = [(s.start, s.end) for s in run if (s.end - s.start) * _INCHES / right > _inches(name)]
            bars = wide or [(start, end)]  # on a bar, not on the gap between two
            middle = sum(bars[len(bars) // 2]) / 2
            axes.text(middle, height, name, color=_ink(colours[_kind(run[0])]), **style)


def _inches(name: str) -> float:
    """Return about how wide `name` is drawn, with a margin."""
    return 0.04 + sum(0.12 if ord(character) > 0x2E7F else 0.072 for character in name)
