"""Ring all-reduce, step by step: which ranks are summed in each chunk, and how many bytes each rank has sent.

Ring (Patarasuk and Yuan 2009, "Bandwidth optimal all-reduce algorithms for clusters of workstations"): S bytes are cut
into N chunks, and in every step each rank sends one chunk to its right neighbour. For N - 1 steps the neighbour adds
what arrives (reduce-scatter); then every rank has one finished chunk, and for N - 1 more steps these are passed on
(all-gather). Each rank sends 2 (N - 1) / N · S bytes, the least that is possible.

Through rank 0: each rank sends all of its S bytes to rank 0, one after the other, and gets the sum back in the same
way. Rank 0 sends (N - 1) · S.

Left out: links that differ or carry one direction at a time. A real library also cuts chunks further, uses trees for
small messages, and follows the connections between the GPUs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from bilingual import Bilingual, texts
from course_utils import figures
from course_utils.explorer import Control, Explorer
from shared.charts import RANK_COLOURS

RING, NAIVE = "ring", "through rank 0"
WAYS = (RING, NAIVE)
_TEXTS = texts(__file__)
RANKS = tuple(range(2, 9))

_DARK = "#222222"

# held[rank][chunk][origin]: how often the chunk of rank `origin` was added to this chunk on this rank.
Held = tuple[tuple[tuple[int, ...], ...], ...]


@dataclass(frozen=True)
class Message:
    """Chunks that one rank sends to another in one step."""

    source: int
    target: int
    chunks: tuple[int, ...]


@dataclass(frozen=True)
class AllReduce:
    """An all-reduce after some of its steps.

    Attributes:
        way: :data:`RING` or :data:`NAIVE`.
        ranks: Number of ranks, N.
        size: Bytes of each rank, S.
        asked: The chosen step; it may be later than the last one.
        messages: The messages of each step.
        held: What each rank has after `step` steps.
    """

    way: str
    ranks: int
    size: int
    asked: int
    messages: tuple[tuple[Message, ...], ...]
    held: Held

    @property
    def steps(self) -> int:
        """Number of steps until every rank holds the sum: 2 (N - 1) in both ways."""
        return len(self.messages)

    @property
    def step(self) -> int:
        """How many steps are done."""
        return min(self.asked, self.steps)

    @property
    def finished(self) -> int:
        """Number of the N · N chunks that are the sum over all ranks."""
        return sum(chunk == (1,) * self.ranks for row in self.held for chunk in row)

    @property
    def chunk(self) -> Fraction:
        """Bytes of a chunk, S / N."""
        return Fraction(self.size, self.ranks)

    def sent(self, rank: int, steps: int | None = None) -> Fraction:
        """Return the bytes that `rank` has sent after `steps` steps (None: in the end)."""
        parts = (m for step in self.messages[:steps] for m in step if m.source == rank)
        return self.chunk * sum(len(message.chunks) for message in parts)

    @property
    def one_after_another(self) -> Fraction:
        """Bytes of the largest message of each step, added up: divided by a link's speed, they give the time."""
        return self.chunk * sum(max(len(m.chunks) for m in step) for step in self.messages)


def plan(way: str, ranks: int) -> tuple[tuple[Message, ...], ...]:
    """Return the messages of each step.

    Args:
        way: :data:`RING` or :data:`NAIVE`.
        ranks: Number of ranks.
    """
    if way == NAIVE:
        everything, others = tuple(range(ranks)), range(1, ranks)
        there = [(Message(rank, 0, everything),) for rank in others]
        return (*there, *((Message(0, rank, everything),) for rank in others))
    steps = []
    for step in range(2 * (ranks - 1)):
        # Each rank sends the chunk that it received in the step before; rank r finishes chunk r + 1.
        steps.append(
            tuple(Message(rank, (rank + 1) % ranks, ((rank - step) % ranks,)) for rank in range(ranks))
        )
    return tuple(steps)


def compute(*, ranks: int, step: int, size: int, way: str) -> AllReduce:
    """Return an all-reduce after `step` of its steps.

    Args:
        ranks: Number of ranks, at least 2.
        step: Steps that are done, from 0 on; more than there are count as all.
        size: Bytes of each rank.
        way: :data:`RING` or :data:`NAIVE`.
    """
    messages = plan(way, ranks)
    held = [
        [tuple(int(origin == rank) for origin in range(ranks)) for _ in range(ranks)] for rank in range(ranks)
    ]
    for number, sent in enumerate(messages[:step]):
        # All messages of a step are sent at the same time: read all of them before writing.
        arriving = [(m.target, chunk, held[m.source][chunk]) for m in sent for chunk in m.chunks]
        for target, chunk, numbers in arriving:
            adds = number < len(messages) // 2
            here = held[target][chunk] if adds else (0,) * ranks
            held[target][chunk] = tuple(a + b for a, b in zip(here, numbers, strict=True))
    return AllReduce(way, ranks, size, step, messages, tuple(tuple(row) for row in held))


# --- the picture --------------------------------------------------------------------------------------

_WIDTH, _HEIGHT = 0.84, 0.56  # of a cell


def draw_cells(axes: Any, held: Sequence[Sequence[Sequence[int] | None]]) -> None:
    """Draw what each rank holds: a box for each chunk, a stripe in it for each rank whose numbers are in it.

    Args:
        axes: Where to draw.
        held: For each rank and chunk, how often each rank's chunk was added; None for something else.
    """
    ranks = len(held)
    part = _WIDTH / ranks
    for rank, row in enumerate(held):
        for chunk, origins in enumerate(row):
            if origins is None:
                axes.text(chunk, rank, "?", ha="center", va="center")
                origins = (0,) * ranks
            left, top = chunk - _WIDTH / 2, rank - _HEIGHT / 2
            for origin, times in enumerate(origins):
                if times:
                    at = left + origin * part
                    axes.add_patch(figures.rectangle(at, top, part, _HEIGHT, RANK_COLOURS[origin]))
                if times > 1:
                    axes.text(at + part / 2, rank, f"{times}×", ha="center", va="center", fontsize=8)
            frame = figures.rectangle(left, top, _WIDTH, _HEIGHT, "none")
            done = all(times == 1 for times in origins)
            frame.set(edgecolor=_DARK if done else figures.PALE, linewidth=2.2 if done else 1)
            axes.add_patch(frame)
    axes.set_xlim(-0.6, ranks - 0.4)
    axes.set_ylim(ranks - 0.2, -0.8)
    axes.set_xticks(range(ranks), [str(chunk) for chunk in range(ranks)])
    axes.set_yticks(range(ranks), [f"rank {rank}" for rank in range(ranks)])
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _draw_messages(axes: Any, result: AllReduce) -> None:
    arrow = {"arrowstyle": "-|>", "color": _DARK, "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0}
    edge, gap = _HEIGHT / 2, 1 - _HEIGHT

    def draw_arrow(start: tuple[float, float], end: tuple[float, float], bend: float = 0.0) -> None:
        style = arrow | {"connectionstyle": f"arc3,rad={bend}"}
        axes.annotate("", xy=end, xytext=start, arrowprops=style, annotation_clip=False)

    shown = result.messages[result.asked - 1] if 0 < result.asked <= result.steps else ()
    for message in shown:
        if result.way == NAIVE:  # to the right of the row, all of which is sent
            side = result.ranks - 0.5
            draw_arrow((side, message.source), (side, message.target), 0.3 * (-1 if message.target else 1))
            continue
        chunk = message.chunks[0]
        if message.target:
            draw_arrow((chunk, message.source + edge), (chunk, message.target - edge))
        else:  # the ring closes: out at the bottom, in at the top
            draw_arrow((chunk, message.source + edge), (chunk, message.source + edge + gap))
            draw_arrow((chunk, -edge - gap), (chunk, -edge))


def _draw_traffic(axes: Any, result: AllReduce) -> None:
    ranks = range(result.ranks)
    final = [float(result.sent(rank)) for rank in ranks]
    so_far = [float(result.sent(rank, result.step)) for rank in ranks]
    axes.barh(ranks, final, 0.5, color=figures.PALE)
    axes.barh(ranks, so_far, 0.5, color=figures.YOURS)
    for rank, size in enumerate(so_far):
        axes.text(final[rank], rank, f" {figures.amount(size)}", va="center", fontsize=9)
    # The same scale for both ways, so that switching between them shows what changes.
    axes.set_xlim(0, (result.ranks - 1) * result.size * 1.45)
    axes.set_xticks([])
    axes.tick_params(left=False)
    axes.grid(visible=False)
    axes.spines["bottom"].set_visible(False)
    axes.set_title(_TEXTS["sent"], fontsize=10)


def _state(result: AllReduce) -> Bilingual:
    """Return what happens in the chosen step."""
    if result.asked > result.steps:
        which, message = "over", None
    elif result.step == 0:
        which, message = "start", None
    else:
        ways = {RING: ("reduce_scatter", "all_gather"), NAIVE: ("to_0", "from_0")}
        which = ways[result.way][2 * result.step > result.steps]
        message = result.messages[result.step - 1][0]
    return _TEXTS["state"][which].format(
        step=result.step,
        steps=result.steps,
        asked=result.asked,
        ranks=result.ranks,
        size=figures.amount(result.size),
        chunk=figures.amount(float(result.chunk)),
        source=message and message.source,
        target=message and message.target,
        first=message and message.chunks[0],
    )


def caption(result: AllReduce) -> Bilingual:
    """Return the chosen step, and what all steps cost, in this way and in the other, in words."""
    n, s = result.ranks, result.size
    each, root = figures.amount(2 * (n - 1) / n * s), figures.amount((n - 1) * s)
    total = figures.amount(float(result.one_after_another))
    return _TEXTS["caption"].format(
        ranks=n,
        size=figures.amount(s),
        way=_TEXTS["ways"][result.way],
        state=_state(result),
        finished=result.finished,
        places=n**2,
        cost=_TEXTS["cost"][result.way].format(each=each, root=root, total=total),
    )


def alternative(result: AllReduce) -> Bilingual:
    """Return the picture in words."""
    counts = [[str(sum(times > 0 for times in chunk)) for chunk in row] for row in result.held]
    rows = Bilingual(
        "; ".join(f"rank {rank}: {', '.join(row)}" for rank, row in enumerate(counts)),
        "；".join(f"rank {rank}：{'、'.join(row)}" for rank, row in enumerate(counts)),
    )
    return _TEXTS["alternative"].format(ranks=result.ranks, rows=rows)


def render(result: AllReduce) -> figures.Picture:
    """Return the picture of `result`."""
    figure, (left, right) = figures.new(
        height=1.15 + 0.44 * result.ranks, columns=2, sharey=True, width_ratios=[2.1, 1]
    )
    _draw_traffic(right, result)
    draw_cells(left, result.held)
    left.set_xlabel(_TEXTS["chunk"])
    left.set_title(_TEXTS["whose"], fontsize=10)
    _draw_messages(left, result)
    return figures.Picture(figure, caption(result), alternative(result))


_SIZES = (1_000_000, 25_000_000, 100_000_000, 1_000_000_000)
_STEPS = range(2 * (RANKS[-1] - 1) + 1)
EXPLORER = Explorer(
    title=_TEXTS["title"],
    controls=(
        Control("way", _TEXTS["way"], [(_TEXTS["ways"][way], way) for way in WAYS], RING, slider=False),
        Control("ranks", _TEXTS["ranks"], [(str(n), n) for n in RANKS], "4"),
        Control("step", _TEXTS["step"], [(str(k), k) for k in _STEPS], "2"),
        Control("size", _TEXTS["size"], [(figures.amount(s), s) for s in _SIZES], "100 MB"),
    ),
    compute=compute,
    render=render,
)
