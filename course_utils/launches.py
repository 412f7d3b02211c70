"""How soon a call returns, and when its work is done: two times that differ wherever there is a queue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from course_utils import evidence, figures
from course_utils.figures import Picture
from course_utils.language import Bilingual

Times = tuple[float, float]

_RETURNED = "#5F6B76"


def picture(times: Mapping[str, Times], recorded: Mapping[str, Any] | None) -> Picture:
    """Build the picture of :func:`show` (pure: `recorded` is what another machine noted, or None)."""
    rows = [(name, pair, figures.YOURS) for name, pair in times.items()]
    if recorded:
        other = figures._OTHER
        rows += [(f"{name} ({other})", pair, figures.RECORDED) for name, pair in recorded["times"].items()]
    rows.reverse()  # barh counts from below
    figure, axes = figures.new(height=0.9 + 0.5 * len(rows))
    places = range(len(rows))
    done, colours = [pair[1] for _, pair, _ in rows], [colour for *_, colour in rows]
    axes.barh(places, done, 0.62, color=colours, alpha=0.45)
    axes.barh(places, [pair[0] for _, pair, _ in rows], 0.3, color=_RETURNED)
    smallest, largest = min(min(pair) for _, pair, _ in rows), max(done)
    axes.set_xlim(smallest / 3, largest * 30)
    figures.logarithmic(axes.xaxis, "s")
    axes.set_yticks(places, [name for name, *_ in rows])
    axes.grid(visible=False, axis="y")
    for place, (_, (early, late), _) in zip(places, rows, strict=True):
        axes.annotate(
            f"{figures.duration(early)} / {figures.duration(late)}",
            (max(early, late), place),
            (6, 0),
            textcoords="offset points",
            va="center",
        )
    source = figures._source(dict(recorded) if recorded else None)
    return Picture(
        figure,
        Bilingual(
            f"Narrow bar: until the call returns. Wide bar: until the work is done. Logarithmic scale. {source.en}",
            f"細條：到呼叫傳回為止；粗條：到工作做完為止。對數刻度。{source.zh}",
        ),
        Bilingual(
            "Bar chart: for each way of calling, the time until it returns and the time until its work is done.",
            "長條圖：每種呼叫方式，到傳回為止、到做完為止各要多久。",
        ),
    )


def show(name: str, times: Mapping[str, Times]) -> None:
    """Show when calls return and when their work is done, this machine's beside the recorded GPU's.

    Args:
        name: Name under which these times are recorded on other machines.
        times: A label in plain ASCII → (seconds until the call returns, seconds until the work is done).

    Raises:
        ValueError: There is nothing to show.
    """
    from IPython.display import display

    if not times:
        raise ValueError("launches.show() needs at least one pair of times.")
    evidence.note("curve", name, {"times": {label: list(pair) for label, pair in times.items()}})
    display(picture(times, evidence.recorded(name)))
