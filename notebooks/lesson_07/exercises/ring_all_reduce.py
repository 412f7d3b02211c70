"""Exercise ``ring_all_reduce(chunks, rank, size, exchange)``: a ring all-reduce by hand, on a ring of threads."""

from typing import Any

import torch

from bilingual import enumerated, texts
from course_utils import figures
from course_utils.exercises import Mistake, Mistakes
from lesson_07.ring_all_reduce import draw_cells
from lesson_07.ring_of_threads import LENGTH, PRIMES, Ring, contributions, number

SIZES = (4, 2, 3, 5, 1)  # numbers of ranks; with 4, nearly every mistake shows


def judge(answer: Any) -> Mistakes:
    """Run the answer on rings of several sizes; look at shapes, sums and traffic."""
    for n in SIZES:
        ring, enough = Ring(n), 2 * (n - 1)
        ring.run(answer)
        for rank, chunks in enumerate(ring.chunks):
            fitting = [c for c in chunks if isinstance(c, torch.Tensor) and c.shape == (LENGTH,)]
            yield not len(fitting) == len(chunks) == n, "no_chunks", {"n": n, "length": LENGTH, "rank": rank}
        yield from _judge_sums(ring)
        for rank, sent in enumerate(ring.sent):
            made = sum(tensor.numel() for tensor in sent)
            seen = {"n": n, "rank": rank, "sent": made, "own": n * LENGTH, "steps": enough}
            yield made > enough * LENGTH, "traffic", seen | {"enough": enough * LENGTH}


def _judge_sums(ring: Ring) -> Mistakes:
    n = ring.size
    counts = [[contributions(chunk, c, n) for c, chunk in enumerate(chunks)] for chunks in ring.chunks]
    done = [[count == [1] * n for count in row] for row in counts]
    if all(map(all, done)):
        return
    own = [[[int(other == rank) for other in range(n)]] * n for rank in range(n)]
    yield counts == own, "as_it_was"
    means = [prime * sum(1000.0**rank for rank in range(n)) / n for prime in PRIMES[:n]]
    off = [abs(number(chunk) - means[c]) for chunks in ring.chunks for c, chunk in enumerate(chunks)]
    yield all(difference <= 1e-6 for difference in off), "mean"
    finished_once = all(sum(column) == 1 for column in zip(*done, strict=True))
    yield finished_once and len(ring.sent[0]) < 2 * (n - 1), "half_way", {"n": n, "more": n - 1}
    yield all(count is not None and sum(count) == 1 for row in counts for count in row), "one_rank_only"
    rank, c = next((rank, row.index(False)) for rank, row in enumerate(done) if not all(row))
    seen: dict[str, Any] = {"n": n, "rank": rank, "chunk": c}
    yield counts[rank][c] is None, "mixed", seen
    for other, times in enumerate(counts[rank][c]):
        yield times > 1, "several_times", seen | {"other": other, "times": times}
    missing = [str(other) for other, times in enumerate(counts[rank][c]) if not times]
    yield True, "lacks", seen | {"others": enumerated(missing)}


SHOWN = 4  # ranks in the picture
STEPS = 2 * (SHOWN - 1)


def show(answer: Any) -> figures.Picture:
    """Draw what each of four ranks holds at the start and after each of the first six steps."""
    ring = Ring(SHOWN)
    try:
        ring.run(answer)
    except Mistake:  # the card says what; the picture shows how far it came
        pass
    figure, rows = figures.new(height=4.4, rows=2, columns=4, squeeze=False)
    finished = [0] * (STEPS + 1)
    for step, axes in enumerate(rows.flat):
        if step > STEPS:
            axes.axis("off")
            continue
        held = [origins(rank.held[min(step, len(rank.held) - 1)]) for rank in ring.ranks]
        finished[step] = sum(counts == [1] * SHOWN for row in held for counts in row)
        draw_cells(axes, held)
        axes.set_title(f"{step}", fontsize=10)
        axes.set_xticks([])
        axes.set_yticks(range(SHOWN), [str(rank) for rank in range(SHOWN)])
    rows[0][0].set_ylabel("rank")
    rows[1][0].set_ylabel("rank")
    said = {
        "ranks": SHOWN,
        "places": SHOWN**2,
        "exchanges": len(ring.sent[0]),
        "done": finished[-1],
        "counts": enumerated(map(str, finished)),
    }
    return figures.Picture(figure, **{name: text.format(**said) for name, text in texts(__file__).items()})


def origins(chunks: list[Any]) -> list[list[int] | None]:
    """Return for each chunk of a rank how often each rank's numbers are in it, or None where it is something else."""
    padded = [*chunks, *[None] * SHOWN][:SHOWN]
    return [contributions(chunk, place, SHOWN) for place, chunk in enumerate(padded)]
