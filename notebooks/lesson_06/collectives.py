"""Draw what each rank holds before and after a collective, from the results of a real run.

A colour shows from which rank a number came, stripes a sum over all ranks. The origin of a number is found by comparison, so
no two ranks should have the same numbers.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.colors import to_hex, to_rgb

from bilingual import Bilingual, texts
from course_utils import figures
from shared.charts import RANK_COLOURS

Side = Sequence[Sequence[float]]  # the numbers of each rank

_DARK = "#222222"
_HALF = 0.36  # of a box's height
_MIDDLE = 1.7  # between the two sides


def colours(before: Side, value: float) -> list[str]:
    """Return the colour of the rank that held a number before; for a number that none held, a sum, those of all."""
    ranks = [rank for rank, held in enumerate(before) if value in held] or range(len(before))
    return [RANK_COLOURS[rank % len(RANK_COLOURS)] for rank in ranks]


def _pale(colour: str) -> str:
    return to_hex([0.5 + 0.5 * part for part in to_rgb(colour)])


def _draw_box(axes: Any, left: float, row: int, value: float, stripes: Sequence[str]) -> None:
    for place, colour in enumerate(stripes):
        part = 1 / len(stripes)
        axes.add_patch(figures.rectangle(left + place * part, row - _HALF, part, 2 * _HALF, _pale(colour)))
    frame = figures.rectangle(left, row - _HALF, 1, 2 * _HALF, "none")
    frame.set(edgecolor=_DARK, linewidth=1)
    axes.add_patch(frame)
    text = f"{value:g}"
    axes.text(left + 0.5, row, text, ha="center", va="center", fontsize=9 if len(text) < 4 else 7.5)


def _draw(axes: Any, name: str, before: Side, after: Side, left: float) -> None:
    """Draw one collective; its side `before` is `left` boxes wide."""
    sides = ((0.0, before, Bilingual("before", "之前")), (left + _MIDDLE, after, Bilingual("after", "之後")))
    for start, side, label in sides:
        for rank, held in enumerate(side):
            for place, value in enumerate(held):
                _draw_box(axes, start + place, rank, value, colours(before, value))
        axes.text(start, -0.62, label, fontsize=8.5, color=figures.GREY, ha="left", va="bottom")
    middle = (len(before) - 1) / 2
    arrow = {"arrowstyle": "-|>", "color": _DARK, "linewidth": 1.4}
    axes.annotate("", xy=(left + 1.25, middle), xytext=(left + 0.45, middle), arrowprops=arrow)
    axes.set_title(name, fontsize=10, fontweight="bold")
    axes.set_yticks(range(len(before)), [f"rank {rank}" for rank in range(len(before))], fontsize=9)
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def picture(moves: Mapping[str, tuple[Side, Side]]) -> figures.Picture:
    """Build the picture of several collectives, two in a row, with the numbers in its text alternative.

    Args:
        moves: Name of a collective → the numbers that each rank held before, and those that it held after.
    """
    left, right = (max(len(held) for sides in moves.values() for held in sides[n]) for n in (0, 1))
    ranks = max(len(before) for before, _ in moves.values())
    rows = -(-len(moves) // 2)
    figure, grid = figures.new(
        width=7.6, height=rows * (0.62 + 0.34 * ranks), columns=2, rows=rows, squeeze=False
    )
    for axes, (name, (before, after)) in zip(grid.flat, moves.items(), strict=False):
        _draw(axes, name, before, after, left)
        axes.set_xlim(-0.1, left + _MIDDLE + right + 0.1)  # the same for all
        axes.set_ylim(ranks - 0.55, -1.05)
    for axes in grid.flat[len(moves) :]:
        axes.set_axis_off()
    figure.get_layout_engine().set(wspace=0.12, hspace=0.12)  # or a row's names stand at its neighbour
    caption = texts(__file__)["caption"].format(count=len(moves))
    numbers = {name: (_numbers(before), _numbers(after)) for name, (before, after) in moves.items()}
    alternative = Bilingual(
        "What each rank holds. " + " ".join(f"{n}: before {b}; after {a}." for n, (b, a) in numbers.items()),
        "每個 rank 手上的資料。" + "".join(f"{n}：之前 {b}；之後 {a}。" for n, (b, a) in numbers.items()),
    )
    return figures.Picture(figure, caption, alternative)


def _numbers(side: Side) -> str:
    """Return what the ranks hold as text: ``0: [1, 2] | 1: [10, 20]``."""
    return " | ".join(f"{rank}: [{', '.join(f'{x:g}' for x in held)}]" for rank, held in enumerate(side))


def gallery(moves: Mapping[str, tuple[Side, Side]]) -> None:
    """Show several collectives side by side; the argument is that of :func:`picture`."""
    from IPython.display import display

    display(picture(moves))
