"""Charts that every lesson uses: measured here, beside the recorded GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from course_utils.figures.axes import (
    Label,
    bars_only,
    caption_and_axes,
    key,
    lettering,
    logarithmic,
    of_recorded,
    quoted,
    series_vary,
)
from course_utils.figures.measured import Recorded, show_measured
from course_utils.figures.picture import RECORDED, YOURS, new
from course_utils.measure import Comparison
from course_utils.units import duration, number
from torch_doctor.bilingual import Bilingual, measured


def bars(name: str, comparison: Comparison, *, labels: Sequence[Label]) -> None:
    """Show how long the two sides of a comparison take, this machine's beside the recorded GPU's.

    Args:
        name: Name under which this comparison is recorded on other machines.
        comparison: What :func:`compare` returned.
        labels: Two short names, for the first and the second callable: code or numbers, or words in both languages.

    Raises:
        ValueError: There are not two labels.
    """
    if len(labels) != 2:
        raise ValueError(f"bars() compares two things, but got {len(labels)} labels: {list(labels)!r}.")
    times = [comparison.a_seconds, comparison.b_seconds]

    def draw(recorded: Recorded) -> Any:
        figure, axes = new(height=1.5 + (0.9 if recorded else 0))
        rows = [(lettering(label), seconds, YOURS) for label, seconds in zip(labels, times, strict=True)]
        if recorded:
            there = zip(labels, recorded["seconds"], strict=True)
            rows += [(of_recorded(label), seconds, RECORDED) for label, seconds in there]
        names, seconds, colours = zip(*reversed(rows), strict=True)
        drawn = axes.barh(names, seconds, color=colours, height=0.62)
        axes.bar_label(drawn, [duration(s) for s in seconds], padding=4)
        axes.set_xlim(0, max(seconds) * 1.18)
        bars_only(axes)
        return figure

    ratio = measured(number(comparison.ratio))
    one, other = (quoted(label) for label in labels)
    show_measured(
        name,
        {"seconds": times, "ratio": comparison.ratio, "labels": [key(label) for label in labels]},
        draw,
        Bilingual(
            f"Here, {one.en} takes {ratio} times as long as {other.en}.",
            _close_up(f"在這台機器上，{one.zh} 花的時間是 {other.zh} 的 {ratio} 倍。"),
        ),
        Bilingual(
            f"Bar chart of two times: {one.en} and {other.en}.",
            _close_up(f"長條圖，比較兩種做法的時間：{one.zh} 與 {other.zh}。"),
        ),
    )


def _close_up(text: str) -> str:
    """Remove the spaces, customary around code, that stand beside Chinese quotation marks."""
    return text.replace("」 ", "」").replace(" 「", "「")


def curves(name: str, lines: Mapping[Label, tuple[Sequence[float], Sequence[float]]]) -> None:
    """Show measured curves on logarithmic axes, this machine's beside the recorded GPU's.

    (An axis is linear where the figure's text says ``x_scale = "linear"`` or ``y_scale = "linear"``.)

    Args:
        name: The figure's name: for its caption and axes in the lesson's texts, and for the recording.
        lines: Name (a text, or bilingual) → (x values, y values).

    Raises:
        ValueError: There are no texts for `name`.
    """
    caption, x, y = caption_and_axes(name)

    def draw(recorded: Recorded) -> Any:
        figure, axes = new()
        for line, (xs, ys) in lines.items():
            axes.plot(xs, ys, marker="o", label=lettering(line, " · "))
        names = {key(line): line for line in lines}
        for line, (xs, ys) in (recorded["lines"] if recorded else {}).items():
            axes.plot(xs, ys, marker="s", linestyle="--", label=of_recorded(names.get(line, line)))
        for drawn, axis in ((axes.xaxis, x), (axes.yaxis, y)):
            if axis.scale == "log":
                logarithmic(drawn, axis.unit)
        axes.set_xlabel(x.label)
        axes.set_ylabel(y.label)
        if len(lines) > 1 or recorded:
            axes.legend()
        return figure

    show_measured(
        name,
        {"lines": {key(line): [[*map(float, xs)], [*map(float, ys)]] for line, (xs, ys) in lines.items()}},
        draw,
        caption,
        Bilingual(f"Line chart of {y.en} against {x.en}.", f"折線圖，橫軸：{x.zh}；縱軸：{y.zh}。"),
        series_vary=series_vary(name),
    )
