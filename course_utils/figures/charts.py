"""Charts that every lesson uses: measured here, beside the recorded GPU."""

from collections.abc import Mapping, Sequence
from typing import Any

from bilingual import Bilingual, joined, measured
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
from course_utils.figures.measured import COLOURS, HERE, RECORDED_LABEL, Groups, show_measured
from course_utils.figures.picture import THIRD, new
from course_utils.measure import Comparison, is_modelled
from course_utils.named_cards import NamedCard, named_card
from course_utils.units import duration, number


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
        return Bilingual(
            f"{place.en}, {one.en} takes {ratio} times as long as {other.en}.",
            _close_up(f"在{place.zh}上，{one.zh} 花的時間是 {other.zh} 的 {ratio} 倍。"),
        )

    times = [comparison.a_seconds, comparison.b_seconds]
    show_measured(
        name,
        {"seconds": times, "ratio": comparison.ratio, "labels": [key(label) for label in labels]},
        draw,
        caption,
        Bilingual(
            f"Bar chart of two times: {one.en} and {other.en}.",
            _close_up(f"長條圖，比較兩種做法的時間：{one.zh} 與 {other.zh}。"),
        ),
    )


def _close_up(text: str) -> str:
    """Remove the spaces, customary around code, that stand beside Chinese quotation marks."""
    return text.replace("」 ", "」").replace(" 「", "「")


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

    The curve of a practice GPU says that it is modelled, and is not recorded.

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
            for line, (xs, ys) in values["lines"].items():
                name = names.get(line, line)
                if whose == HERE:
                    label = lettering(name, " · ")
                    style = "-"
                    if is_modelled(ys):
                        label, style = f"{label} ({joined('modelled', '推算值')})", "-."
                    axes.plot(xs, ys, marker="o", linestyle=style, label=label)
                else:
                    axes.plot(xs, ys, marker="s", linestyle="--", label=of_recorded(name))
        if beside:
            axes.plot(
                beside.x, beside.y, marker="^", linestyle=":", color=THIRD, label=lettering(beside.label)
            )
        for drawn, axis in ((axes.xaxis, x), (axes.yaxis, y)):
            if axis.scale == "log":
                logarithmic(drawn, axis.unit)
        axes.set_xlabel(x.label)
        axes.set_ylabel(y.label)
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
