"""Draw what each rank holds before and after a collective, from the results of a real run.

A colour shows from which rank a number came, stripes a sum over all ranks. The origin of a number is found by comparison, so
no two ranks should have the same numbers.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.colors import to_hex, to_rgb

from bilingual import Bilingual
from course_utils import figures
from shared.charts import RANK_COLOURS

# What one rank holds: nothing (None), a tensor as a list of numbers, or several tensors as a list of such lists.
Held = Any
UNKNOWN = "?"  # a number or a tensor that is not defined
Moves = Mapping[str, tuple[Sequence[Held], Sequence[Held]]]  # collective → before, after; one entry per rank

SUMS = ("reduce", "all_reduce", "reduce_scatter")
MEANINGS = {
    "broadcast": Bilingual("what one rank holds goes to all.", "把一個 rank 的資料送給所有的 rank。"),
    "scatter": Bilingual(
        "one rank hands out its pieces, one to each rank.", "一個 rank 把手上的資料分給大家，一個 rank 一份。"
    ),
    "gather": Bilingual("one rank collects what every rank holds.", "一個 rank 把每個 rank 的資料收集過來。"),
    "reduce": Bilingual(
        "one rank gets the sum over all ranks.", "所有 rank 的資料加起來，總和只給一個 rank。"
    ),
    "all_reduce": Bilingual(
        "every rank gets the sum over all ranks.", "所有 rank 的資料加起來，每個 rank 都拿到總和。"
    ),
    "all_gather": Bilingual("every rank gets what every rank holds.", "每個 rank 都拿到所有 rank 的資料。"),
    "reduce_scatter": Bilingual(
        "the sum over all ranks is cut into pieces, one for each rank.",
        "所有 rank 的資料加起來，總和切開，一個 rank 一份。",
    ),
    "all_to_all": Bilingual("every rank sends each rank a piece.", "每個 rank 都送一份給各個 rank。"),
}

_DARK = "#222222"
_HALF = 0.36  # of a box's height
_GAP = 0.45  # between two tensors of one rank
_MIDDLE = 1.7  # between the two sides


def _tensors(held: Held) -> list[list[Any]]:
    """Return what one rank holds as a list of tensors, each a list of numbers or :data:`UNKNOWN`."""
    if held is None:
        return []
    if not isinstance(held, (list, tuple)):
        return [[held]]
    if any(part is None or isinstance(part, (list, tuple)) for part in held):
        return [tensor for part in held for tensor in _tensors(part)]
    return [list(held)]


def _width(side: Sequence[Held]) -> float:
    """Return the width of the widest row, in boxes."""
    rows = [_tensors(held) for held in side]
    return max(1.0, *(sum(map(len, row)) + _GAP * max(0, len(row) - 1) for row in rows))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _origins(before: Sequence[Held]) -> dict[float, tuple[int, ...]]:
    """Return for each number which ranks held it before."""
    found: dict[float, tuple[int, ...]] = {}
    for rank, held in enumerate(before):
        for tensor in _tensors(held):
            for value in tensor:
                if value != UNKNOWN:
                    found[value] = tuple(sorted({*found.get(value, ()), rank}))
    return found


def colours(name: str, before: Sequence[Held], value: Any, rank: int) -> list[str]:
    """Return the colours of the stripes that fill the box of a value; none for a white box.

    Args:
        name: The collective.
        before: What each rank held before.
        value: A number, or :data:`UNKNOWN`.
        rank: The rank that holds it.
    """
    if value == UNKNOWN:
        return []
    known = _origins(before).get(value, ())
    if rank in known:  # a rank that still holds what it held, also a zero that all of them hold
        known = (rank,)
    elif not known and name in SUMS:
        known = tuple(range(len(before)))
    elif len(known) != 1:
        return []
    return [RANK_COLOURS[origin % len(RANK_COLOURS)] for origin in known]


def _pale(colour: str) -> str:
    return to_hex([0.5 + 0.5 * part for part in to_rgb(colour)])


def _draw_box(axes: Any, left: float, row: int, value: Any, stripes: Sequence[str]) -> None:
    for place, colour in enumerate(stripes):
        part = 1 / len(stripes)
        axes.add_patch(figures.rectangle(left + place * part, row - _HALF, part, 2 * _HALF, _pale(colour)))
    frame = figures.rectangle(left, row - _HALF, 1, 2 * _HALF, "none")
    frame.set(edgecolor=_DARK, linewidth=1, linestyle=":" if value == UNKNOWN else "-")
    axes.add_patch(frame)
    text = _text(value)
    axes.text(left + 0.5, row, text, ha="center", va="center", fontsize=9 if len(text) < 4 else 7.5)


def _draw_side(axes: Any, left: float, name: str, before: Sequence[Held], side: Sequence[Held]) -> None:
    """Draw what the ranks hold, one row for each rank, from `left` on; `before` decides the colours."""
    for rank, held in enumerate(side):
        tensors, x = _tensors(held), left
        if not tensors:
            axes.text(x + 0.5, rank, "–", ha="center", va="center", color=figures.GREY)
        for tensor in tensors:
            for value in tensor:
                _draw_box(axes, x, rank, value, colours(name, before, value, rank))
                x += 1
            x += _GAP


def _draw(axes: Any, name: str, before: Sequence[Held], after: Sequence[Held], left: float) -> None:
    """Draw one collective; its side `before` is `left` boxes wide."""
    sides = ((0.0, before, Bilingual("before", "之前")), (left + _MIDDLE, after, Bilingual("after", "之後")))
    for start, side, label in sides:
        _draw_side(axes, start, name, before, side)
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


def picture(moves: Moves) -> figures.Picture:
    """Build the picture of one or several collectives (pure).

    Args:
        moves: Name of a collective (a key of :data:`MEANINGS`) → what the ranks held before, and what after. Each is
            a sequence with one entry per rank: None (nothing), a list of numbers, or a list of such lists;
            :data:`UNKNOWN` for a value that is not defined. Example: ``{"all_reduce": ([[1, 2], [10, 20]],
            [[11, 22], [11, 22]])}``.

    Returns:
        The picture, with the numbers in its text alternative.

    Raises:
        ValueError: There is nothing to draw, a name is not known, or the numbers of ranks differ.
    """
    if not moves:
        raise ValueError("there is no collective to draw.")
    for name, (before, after) in moves.items():
        if name not in MEANINGS:
            raise ValueError(
                f"collective {name!r} is not known; these are: {', '.join(map(repr, MEANINGS))}."
            )
        if len(before) != len(after) or not before:
            raise ValueError(
                f"{name}: `before` and `after` need one entry per rank, but have {len(before)} and {len(after)}."
            )
    left = max(_width(before) for before, _ in moves.values())
    width = left + _MIDDLE + max(_width(after) for _, after in moves.values())
    ranks = max(len(before) for before, _ in moves.values())
    columns = 2 if len(moves) > 1 and width <= 14 else 1
    rows = -(-len(moves) // columns)
    figure, grid = figures.new(
        width=7.6 if columns == 2 else min(7.6, 1.6 + 0.42 * width),
        height=rows * (0.62 + 0.34 * ranks),
        columns=columns,
        rows=rows,
        squeeze=False,
    )
    for axes, (name, (before, after)) in zip(grid.flat, moves.items(), strict=False):
        _draw(axes, name, before, after, left)
        axes.set_xlim(-0.1, width + 0.1)  # the same for all
        axes.set_ylim(ranks - 0.55, -1.05)
    for axes in grid.flat[len(moves) :]:
        axes.set_axis_off()
    figure.get_layout_engine().set(wspace=0.12, hspace=0.12)  # or a row's names stand at its neighbour
    return figures.Picture(figure, _caption(list(moves)), _alternative(moves))


def _caption(names: Sequence[str]) -> Bilingual:
    colour = Bilingual("A colour tells from which rank a number came", "顏色代表數字來自哪個 rank")
    if any(name in SUMS for name in names):
        colour = Bilingual(
            f"{colour.en}, stripes that it is a sum over all ranks", f"{colour.zh}，條紋代表所有 rank 的總和"
        )
    if len(names) == 1:
        (name,) = names
        what = Bilingual(f"`{name}`: {MEANINGS[name].en}", f"`{name}`：{MEANINGS[name].zh}")
    else:
        what = Bilingual(
            f"{len(names)} collectives, each before and after.",
            f"{len(names)} 種集體通訊，各畫出之前與之後。",
        )
    return Bilingual(f"{what.en} {colour.en}.", f"{what.zh}{colour.zh}。")


def _alternative(moves: Moves) -> Bilingual:
    numbers = {name: (_numbers(before), _numbers(after)) for name, (before, after) in moves.items()}
    return Bilingual(
        "What each rank holds. " + " ".join(f"{n}: before {b}; after {a}." for n, (b, a) in numbers.items()),
        "每個 rank 手上的資料。" + "".join(f"{n}：之前 {b}；之後 {a}。" for n, (b, a) in numbers.items()),
    )


def _numbers(side: Sequence[Held]) -> str:
    """Return what the ranks hold as text: ``0: [1, 2] [3] | 1: –``."""
    rows = []
    for rank, held in enumerate(side):
        tensors = " ".join(f"[{', '.join(map(_text, tensor))}]" for tensor in _tensors(held))
        rows.append(f"{rank}: {tensors or '–'}")
    return " | ".join(rows)


def gallery(moves: Moves) -> None:
    """Show several collectives side by side.

    Args:
        moves: As for :func:`picture`.

    Raises:
        ValueError: There is nothing to draw, a name is not known, or the numbers of ranks differ.
    """
    from IPython.display import display

    display(picture(moves))
