"""A histogram of magnitudes over the powers of two."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib import ticker

from course_utils import figures
from torch_doctor.bilingual import Bilingual


def histogram(name: str, groups: dict[str, Any], *, marks: dict[str, float]) -> None:
    """Show a histogram of magnitudes over the powers of two, in percent of each group; zeros are left out.

    Args:
        name: The figure's name, for its caption and axes in the lesson's texts.
        groups: Name in plain ASCII → numbers (a NumPy array or a CPU tensor); their signs do not matter.
        marks: Name in plain ASCII → magnitude to mark with a line.

    Raises:
        ValueError: There are no texts for `name`.
    """
    caption, x, y = figures.caption_and_axes(name)
    figure, axes = figures.new(height=3.0)
    powers = [np.log2(np.abs(values[np.nonzero(values)])) for values in map(np.asarray, groups.values())]
    low = min([*(p.min() for p in powers), *np.log2(list(marks.values()))])
    high = max([*(p.max() for p in powers), *np.log2(list(marks.values()))])
    bins = np.arange(np.floor(low) - 1, np.ceil(high) + 2)
    for group, values in zip(groups, powers, strict=True):
        axes.hist(values, bins, weights=np.full(len(values), 100 / len(values)), alpha=0.6, label=group)
    axes.margins(y=0.25)
    top = axes.get_ylim()[1]
    for mark, place in marks.items():
        axes.axvline(np.log2(place), color="#445", linestyle="--", linewidth=1.2)
        axes.text(np.log2(place), top, f" {mark}", rotation=90, va="top", ha="right", fontsize=9)
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda power, _: f"2^{power:g}"))
    axes.xaxis.set_major_locator(ticker.MaxNLocator(integer=True))
    axes.set_xlabel(x.label)
    axes.set_ylabel(y.label)
    axes.legend(loc="upper left", bbox_to_anchor=(0, 1.16), ncols=3)
    alternative = Bilingual(
        f"Histogram of {x.en} ({', '.join(groups)}).", f"{x.zh}的直方圖（{'、'.join(groups)}）。"
    )
    figures.show(figure, caption=caption, alternative=alternative)
