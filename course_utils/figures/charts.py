"""Charts that every lesson uses: measured here, beside the recorded GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from course_utils.figures.axes import bars_only, caption_and_axes, logarithmic, series_vary
from course_utils.figures.measured import RECORDED_LABEL, Recorded, show_measured
from course_utils.figures.picture import RECORDED, YOURS, new
from course_utils.measure import Comparison
from course_utils.units import duration, number
from torch_doctor.bilingual import Bilingual, measured


def bars(name: str, comparison: Comparison, *, labels: Sequence[str]) -> None:
    """Show how long the two sides of a comparison take, this machine's beside the recorded GPU's.

    Args:
        name: Name under which this comparison is recorded on other machines.
        comparison: What :func:`compare` returned.
        labels: Two short names in plain ASCII or numbers, for the first and the second callable.

    Raises:
        ValueError: There are not two labels.
    """
    if len(labels) != 2:
        raise ValueError(f"bars() compares two things, but got {len(labels)} labels: {list(labels)!r}.")
    times = [comparison.a_seconds, comparison.b_seconds]

    def draw(recorded: Recorded) -> Any:
        figure, axes = new(height=1.5 + (0.9 if recorded else 0))
        rows = [(label, seconds, YOURS) for label, seconds in zip(labels, times, strict=True)]
        if recorded:
            there = zip(labels, recorded["seconds"], strict=True)
            rows += [(f"{label} ({RECORDED_LABEL})", seconds, RECORDED) for label, seconds in there]
        names, seconds, colours = zip(*reversed(rows), strict=True)
        drawn = axes.barh(names, seconds, color=colours, height=0.62)
        axes.bar_label(drawn, [duration(s) for s in seconds], padding=4)
        axes.set_xlim(0, max(seconds) * 1.18)
        bars_only(axes)
        return figure

    ratio = measured(number(comparison.ratio))
    show_measured(
        name,
        {"seconds": times, "ratio": comparison.ratio, "labels": list(labels)},
        draw,
        Bilingual(
            f"Here, `{labels[0]}` takes {ratio} times as long as `{labels[1]}`.",
            f"在這台機器上，`{labels[0]}` 花的時間是 `{labels[1]}` 的 {ratio} 倍。",
        ),
        Bilingual(
            f"Bar chart of two times: {labels[0]} and {labels[1]}.",
            f"長條圖，比較兩種做法的時間：{labels[0]} 與 {labels[1]}。",
        ),
    )


def curves(name: str, lines: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> None:
    """Show measured curves on logarithmic axes, this machine's beside the recorded GPU's.

    (The vertical axis is linear where the figure's text says ``y_scale = "linear"``.)

    Args:
        name: The figure's name: for its caption and axes in the lesson's texts, and for the recording.
        lines: Name in plain ASCII → (x values, y values).

    Raises:
        ValueError: There are no texts for `name`.
    """
    caption, x, y = caption_and_axes(name)

    def draw(recorded: Recorded) -> Any:
        figure, axes = new()
        for line, (xs, ys) in lines.items():
            axes.plot(xs, ys, marker="o", label=line)
        for line, (xs, ys) in (recorded["lines"] if recorded else {}).items():
            axes.plot(xs, ys, marker="s", linestyle="--", label=f"{line} ({RECORDED_LABEL})")
        logarithmic(axes.xaxis, x.unit)
        if y.scale == "log":
            logarithmic(axes.yaxis, y.unit)
        axes.set_xlabel(x.label)
        axes.set_ylabel(y.label)
        if len(lines) > 1 or recorded:
            axes.legend()
        return figure

    show_measured(
        name,
        {"lines": {line: [list(map(float, xs)), list(map(float, ys))] for line, (xs, ys) in lines.items()}},
        draw,
        caption,
        Bilingual(f"Line chart of {y.en} against {x.en}.", f"折線圖，橫軸：{x.zh}；縱軸：{y.zh}。"),
        series_vary=series_vary(name),
    )
