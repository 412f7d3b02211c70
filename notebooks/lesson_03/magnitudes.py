"""A histogram of magnitudes over the powers of two."""

from typing import Any

import numpy as np
from matplotlib import ticker

from bilingual import Bilingual, enumerated, joined
from course_utils import figures
from shared.charts import caption_and_parts


def histogram(name: str, groups: dict[str, Any], *, marks: dict[str, float]) -> None:
    """Show a histogram of magnitudes over the powers of two, in percent of each group; zeros are left out.

    Args:
        name: The figure's name, for its caption, axes and parts in the lesson's texts.
        groups: A key of the figure's parts → numbers (a NumPy array or a CPU tensor); their signs do not matter.
        marks: A key of the figure's parts → magnitude to mark with a line.

    Raises:
        ValueError: There are no texts for `name`, or not exactly for these groups and marks.
    """
    caption, x, y = figures.caption_and_axes(name)
    _, parts = caption_and_parts(name)
    if set(parts) != {*groups, *marks}:
        raise ValueError(f"figure {name!r} has texts for {list(parts)}, but got {[*groups, *marks]}.")
    figure, axes = figures.new(height=3.4)
    powers = [np.log2(np.abs(values[np.nonzero(values)])) for values in map(np.asarray, groups.values())]
    low = min([*(p.min() for p in powers), *np.log2(list(marks.values()))])
    high = max([*(p.max() for p in powers), *np.log2(list(marks.values()))])
    bins = np.arange(np.floor(low) - 1, np.ceil(high) + 2)
    for group, values in zip(groups, powers, strict=True):
        weights = np.full(len(values), 100 / len(values))
        axes.hist(values, bins, weights=weights, alpha=0.6, label=parts[group].label)
    for number, (mark, place) in enumerate(sorted(marks.items(), key=lambda item: item[1])):
        axes.axvline(np.log2(place), color="#445", linestyle="--", linewidth=1.2)
        # Above the bars, in two lines: beside the line it would cover them. The first two lines may be close together.
        position = {"xy": (np.log2(place), 1), "xycoords": ("data", "axes fraction")}
        offset = {"xytext": (0, 4), "textcoords": "offset points", "va": "bottom", "fontsize": 9}
        side = ("right", "left", "center")[min(number, 2)]
        axes.annotate(joined(parts[mark].en, parts[mark].zh, "\n"), **position, **offset, ha=side)
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda power, _: f"2^{power:g}"))
    axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
    axes.set_xlabel(x.label)
    axes.set_ylabel(y.label)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.14), ncols=2)
    alternative = Bilingual("Histogram of the {what} ({parts}).", "直方圖，顯示{what}的分布（{parts}）。")
    shown = alternative.format(what=Bilingual(x.en, x.zh), parts=enumerated(parts[group] for group in groups))
    figures.show(figure, caption=caption, alternative=shown)
