"""When a call returns, and when its work is done."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from bilingual import Bilingual
from course_utils import figures


def two_times(launch: Callable[[], Any], finish: Callable[[], Any], runs: int = 9) -> tuple[float, float]:
    """Return the seconds until `launch` returns and until its work is done, each the fastest of some runs.

    Lesson 04 builds it in the open, and then imports it from here.

    Args:
        launch: Starts the work.
        finish: Waits until it is done.
        runs: How often.
    """
    returned, done = [], []
    for _ in range(runs):
        finish()
        start = time.perf_counter()
        launch()
        returned.append(time.perf_counter() - start)
        finish()
        done.append(time.perf_counter() - start)
    return min(returned), min(done)


_CHINESE = {"pageable": Bilingual("pageable", "可分頁"), "pinned": Bilingual("pinned", "鎖頁")}


def _label(name: str) -> str:
    """Return a row's name as it is drawn: code as it is, words in both languages."""
    first, *rest = name.split(", ", 1)
    return ", ".join([str(_CHINESE.get(first, first)), *rest])


def returns(name: str, times: Mapping[str, tuple[float, float]]) -> None:
    """Show when calls return and when their work is done, this machine's beside the recorded GPU's.

    Args:
        name: Name under which these times are recorded on other machines.
        times: A label in plain ASCII → (seconds until the call returns, seconds until the work is done).

    Raises:
        ValueError: There is nothing to show.
    """
    if not times:
        raise ValueError("returns() needs at least one pair of times.")

    def draw(groups: figures.Groups) -> Any:
        rows = [
            (name if whose == figures.HERE else f"{name} ({whose})", tuple(pair), figures.COLOURS[whose])
            for whose, found in groups.items()
            for name, pair in found["times"].items()
        ]
        rows.reverse()  # barh counts from below
        figure, axes = figures.new(height=0.9 + 0.5 * len(rows))
        places = range(len(rows))
        done, colours = [pair[1] for _, pair, _ in rows], [colour for *_, colour in rows]
        axes.barh(places, done, 0.62, color=colours, alpha=0.45)
        axes.barh(places, [pair[0] for _, pair, _ in rows], 0.3, color=figures.GREY)
        smallest, largest = min(min(pair) for _, pair, _ in rows), max(done)
        axes.set_xlim(smallest / 3, largest * 30)
        figures.logarithmic(axes.xaxis, "s")
        axes.set_yticks(places, [_label(name) for name, *_ in rows])
        axes.grid(visible=False, axis="y")
        for place, (_, (early, late), _) in zip(places, rows, strict=True):
            axes.annotate(
                f"{figures.duration(early)} / {figures.duration(late)}",
                (max(early, late), place),
                (6, 0),
                textcoords="offset points",
                va="center",
            )
        return figure

    figures.show_measured(
        name,
        {"times": {label: list(pair) for label, pair in times.items()}},
        draw,
        Bilingual(
            "Narrow bar: until the call returns. Wide bar: until the work is done. Logarithmic scale.",
            "細條是到呼叫返回為止的時間，粗條是到工作做完為止的時間，採對數刻度。",
        ),
        Bilingual(
            "Bar chart: for each way of calling, the time until it returns and the time until its work is done.",
            "長條圖，畫出每種呼叫方式到呼叫返回為止和到工作做完為止的時間。",
        ),
        series_vary=True,  # the names contain sizes, which are larger on a GPU
    )
