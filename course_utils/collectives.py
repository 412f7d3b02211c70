"""What each rank holds before and after a collective: a picture made of what the ranks of a real run handed back.

A colour says from which rank a number came, stripes that it is a sum over all of them. The colours are found by
comparing the numbers, so give every rank numbers of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.colors import to_hex, to_rgb

from course_utils import figures
from course_utils.language import Bilingual

# What one rank holds: nothing (None), a tensor as a list of numbers, or several tensors as a list of such lists.
# UNKNOWN stands for a number or a tensor about which nothing is promised.
Held = Any
UNKNOWN = "?"

# One colour per rank: Okabe and Ito's, without black.
RANK_COLOURS = (
    figures.YOURS,
    "#E69F00",
    figures.THIRD,
    figures.FOURTH,
    "#56B4E9",
    figures.RECORDED,
    "#F0E442",
    figures.GREY,
)

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
    "all_to_all": Bilingual("every rank sends each rank a piece.", "每個 rank 都送給每個 rank 一份。"),
}

_DARK = "#222222"
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


def _width(tensors: Sequence[Sequence[Any]]) -> float:
    return sum(map(len, tensors)) + _GAP * max(0, len(tensors) - 1)


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
    """Return the stripes to fill the box of `value` with, as `rank` holds it (none: leave it white).

    Args:
        name: The collective.
        before: What each rank held before.
        value: A number, or :data:`UNKNOWN`.
        rank: Who holds it.
    """
    if value == UNKNOWN:
        return []
    known = _origins(before).get(value, ())
    if rank in known:  # a rank that still holds what it held; a zero that all hold is its own, too
        return [RANK_COLOURS[rank % len(RANK_COLOURS)]]
    if not known and name in SUMS:
        known = tuple(range(len(before)))
    elif len(known) != 1:
        return []
    return [RANK_COLOURS[origin % len(RANK_COLOURS)] for origin in known]


def _pale(colour: str) -> str:
    return to_hex([0.5 + 0.5 * part for part in to_rgb(colour)])


def _draw_row(axes: Any, left: float, row: int, tensors: Sequence[Sequence[Any]], paint: Any) -> None:
    """Draw what one rank holds, from `left` on."""
    half = 0.36
    if not tensors:
        axes.text(left + 0.5, row, "–", ha="center", va="center", color=figures.GREY)
    for tensor in tensors:
        for value in tensor:
            stripes = paint(value)
            for place, colour in enumerate(stripes):
                part = 1 / len(stripes)
                axes.add_patch(
                    figures.rectangle(left + place * part, row - half, part, 2 * half, _pale(colour))
                )
            frame = figures.rectangle(left, row - half, 1, 2 * half, "none")
            frame.set(edgecolor=_DARK, linewidth=1, linestyle=":" if value == UNKNOWN else "-")
            axes.add_patch(frame)
            text = _text(value)
            axes.text(left + 0.5, row, text, ha="center", va="center", fontsize=9 if len(text) < 4 else 7.5)
            left += 1
        left += _GAP


def _checked(name: str, before: Sequence[Held], after: Sequence[Held]) -> None:
    if name not in MEANINGS:
        raise ValueError(
            f"collective {name!r} is not known; the pictures know {', '.join(map(repr, MEANINGS))}."
        )
    if len(before) != len(after) or not before:
        raise ValueError(
            f"{name}: `before` and `after` need one entry per rank, but have {len(before)} and {len(after)}."
        )


def _said(held: Sequence[Held]) -> str:
    """Return what the ranks hold as text: ``0: [1, 2] [3] | 1: –``."""
    rows = []
    for rank, mine in enumerate(held):
        tensors = " ".join(f"[{', '.join(map(_text, tensor))}]" for tensor in _tensors(mine))
        rows.append(f"{rank}: {tensors or '–'}")
    return " | ".join(rows)


def picture(moves: Mapping[str, tuple[Sequence[Held], Sequence[Held]]]) -> figures.Picture:
    """Build the picture of one or several collectives (pure).

    Args:
        moves: Name of a collective (a key of :data:`MEANINGS`) → what the ranks held before, and what after. Each is
            a sequence with one entry per rank: None (nothing), a list of numbers, or a list of such lists;
            :data:`UNKNOWN` for what nobody promises.

    Returns:
        The picture, with the numbers in its text alternative.

    Raises:
        ValueError: There is nothing to draw, a name is not known, or the numbers of ranks differ.
    """
    if not moves:
        raise ValueError("there is no collective to draw.")
    for name, (before, after) in moves.items():
        _checked(name, before, after)
    sides = {
        name: tuple([_tensors(held) for held in side] for side in (before, after))
        for name, (before, after) in moves.items()
    }
    left = max(max(1.0, *map(_width, before)) for before, _ in sides.values())
    right = max(max(1.0, *map(_width, after)) for _, after in sides.values())
    ranks = max(len(before) for before, _ in sides.values())
    wide = left + _MIDDLE + right
    columns = 2 if len(moves) > 1 and wide <= 14 else 1
    rows = -(-len(moves) // columns)
    figure, grid = figures.new(
        width=7.6 if columns == 2 else min(7.6, 1.6 + 0.42 * wide),
        height=rows * (0.62 + 0.34 * ranks),
        columns=columns,
        rows=rows,
        squeeze=False,
    )
    for axes in grid.flat[len(moves) :]:
        axes.set_axis_off()
    for axes, (name, (before, after)) in zip(grid.flat, sides.items(), strict=False):
        for side, start in ((before, 0.0), (after, left + _MIDDLE)):
            for rank, tensors in enumerate(side):
                held = moves[name][0]

                def paint(
                    value: Any, name: str = name, held: Sequence[Held] = held, rank: int = rank
                ) -> list[str]:
                    return colours(name, held, value, rank)

                _draw_row(axes, start, rank, tensors, paint)
        middle = (len(before) - 1) / 2
        arrow = {"arrowstyle": "-|>", "color": _DARK, "linewidth": 1.4}
        axes.annotate("", xy=(left + 1.25, middle), xytext=(left + 0.45, middle), arrowprops=arrow)
        axes.set_title(name, fontsize=10, fontweight="bold")
        for start, label in ((0, "before · 之前"), (left + _MIDDLE, "after · 之後")):
            axes.text(start, -0.62, label, fontsize=8.5, color=figures.GREY, ha="left", va="bottom")
        axes.set_xlim(-0.1, wide + 0.1)
        axes.set_ylim(ranks - 0.55, -1.05)
        axes.set_yticks(range(len(before)), [f"rank {rank}" for rank in range(len(before))], fontsize=9)
        axes.set_xticks([])
        axes.tick_params(length=0)
        axes.grid(visible=False)
        for spine in axes.spines.values():
            spine.set_visible(False)
    colour = Bilingual("A colour tells from which rank a number came", "顏色代表數字來自哪個 rank")
    if any(name in SUMS for name in moves):
        colour = Bilingual(
            f"{colour.en}, stripes that it is a sum over all ranks", f"{colour.zh}，條紋代表所有 rank 的總和"
        )
    if len(moves) == 1:
        name = next(iter(moves))
        said = Bilingual(f"`{name}`: {MEANINGS[name].en}", f"`{name}`：{MEANINGS[name].zh}")
    else:
        said = Bilingual(
            f"{len(moves)} collectives, each before and after.",
            f"{len(moves)} 種集體通訊，各畫出之前與之後。",
        )
    numbers = {name: (_said(before), _said(after)) for name, (before, after) in moves.items()}
    return figures.Picture(
        figure,
        Bilingual(f"{said.en} {colour.en}.", f"{said.zh}{colour.zh}。"),
        Bilingual(
            "What each rank holds. "
            + " ".join(f"{n}: before {b}; after {a}." for n, (b, a) in numbers.items()),
            "每個 rank 手上的資料。" + "".join(f"{n}：之前 {b}；之後 {a}。" for n, (b, a) in numbers.items()),
        ),
    )


def before_after(name: str, before: Sequence[Held], after: Sequence[Held]) -> None:
    """Show what each rank holds before and after one collective.

    Args:
        name: A key of :data:`MEANINGS`, such as ``"all_reduce"``.
        before: One entry per rank: None (nothing), a list of numbers, or a list of such lists.
        after: The same afterwards, as the ranks of a real run handed it back.

    Raises:
        ValueError: The name is not known, or the numbers of ranks differ.
    """
    from IPython.display import display

    display(picture({name: (before, after)}))


def gallery(moves: Mapping[str, tuple[Sequence[Held], Sequence[Held]]]) -> None:
    """Show several collectives side by side (see :func:`picture`).

    Args:
        moves: Name of a collective → what the ranks held before, and what after.

    Raises:
        ValueError: There is nothing to draw, a name is not known, or the numbers of ranks differ.
    """
    from IPython.display import display

    display(picture(moves))
