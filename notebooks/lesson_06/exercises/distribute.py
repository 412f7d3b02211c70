"""Exercise ``distribute``: two processes train as one would; so does one alone."""

from typing import Any

from bilingual import Bilingual, Block
from course_utils.exercises import Mistakes
from course_utils.tables import RIGHT, table
from lesson_06.sine_fit import descend, loss
from shared.script_exercise import Facts, close, numbers, on_script, quoted

EPOCHS, SAMPLES, BATCH = 3, 640, 64
STEPS_PER_EPOCH = SAMPLES // BATCH
STEPS = EPOCHS * STEPS_PER_EPOCH


def _batches(found: Facts) -> list[list[int]]:
    """Return what both ranks together take in each step, and behind the last one."""
    first, second = found.ranks
    return [[*a, *b] for a, b in zip(first["samples"], second["samples"], strict=False)]


def _join(found: Facts) -> Mistakes:
    yield not found.ranks[0]["initialized"], "no_group"
    yield not found.has("(?i)local_?rank"), "no_local_rank"


def _share(found: Facts) -> Mistakes:
    """Require that an epoch has every sample once, in the right number of steps, also in one process alone."""
    batches, alone = _batches(found), found.alone
    assert alone is not None
    epoch = sum(batches[: max(1, (len(batches) - 1) // EPOCHS)], [])
    if twice := len(epoch) - len(set(epoch)):
        yield not found.has(r"DistributedSampler\("), "no_sampler"
        yield not found.has(r"DataLoader\(.*sampler"), "sampler_unused"
        yield True, "twice", {"count": twice}
    taken = len(batches[0])
    yield taken not in (0, BATCH), "batch", {"batch": BATCH, "taken": taken}
    yield found.steps(STEPS)
    taken = len(alone["samples"][0])
    yield taken != BATCH or len(alone["gradients"]) != STEPS, "alone", {"taken": taken, "batch": BATCH}


def _wrap(found: Facts) -> Mistakes:
    """Require that both ranks hold the weights that one process has after the same batches."""
    first, second = found.ranks
    if not (close(first["end"], second["end"]) and close(first["start"], second["start"])):
        yield first["wrapped"], "wrapped_but_apart"
        yield True, "apart"
    end = descend(first["start"], _batches(found)[:-1], SAMPLES)
    yield not close(first["end"], end), "other_weights"
    assert found.alone is not None
    yield not close(found.alone["start"], first["start"]), "other_start"


def _train(found: Facts) -> Mistakes:
    """Require that an epoch has another order than the one before."""
    batches = _batches(found)
    if sorted(batches[0]) == sorted(batches[STEPS_PER_EPOCH]):
        given = found.ranks[0]["epochs"]
        yield not given, "no_set_epoch"
        yield True, "same_epoch", {"given": given}


def _tell(found: Facts) -> Mistakes:
    """Require that rank 0 alone prints for each epoch the loss that one process has in its last step."""
    (first, second), batches = found.ranks, _batches(found)
    yield any(found.printed[1:]), "rank_1_prints", found.said()
    lines = len(found.printed[0])
    yield lines < EPOCHS, "few_lines", {"epochs": EPOCHS, "lines": lines}
    said = numbers(found.printed[0])
    for epoch in range(EPOCHS):
        last = (epoch + 1) * STEPS_PER_EPOCH - 1
        weights = descend(first["start"], batches[:last], SAMPLES)
        right, half = (loss(weights, batch, SAMPLES) for batch in (batches[last], first["samples"][last]))
        values = {"epoch": epoch, "right": right, "said": quoted(found.printed[0][epoch:])}
        if not _says(said, right):
            yield _says(said, 2 * right), "loss_sum", values
            yield _says(said, half), "loss_half", values
            yield True, "loss_other", values
    yield first["open"] or second["open"], "group_open"


PARTS = {
    "join": _join,
    "share": _share,
    "wrap": _wrap,
    "train": _train,
    "tell": _tell,
}  # the lesson's five steps


@on_script(worlds=(2, 1))
def judge(found: Facts) -> Mistakes:
    """Look at one step after the other, so that each can be checked before the next is written."""
    for part in PARTS.values():
        yield from part(found)


def show(answer: Any) -> Block:
    """Return which of the five steps hold, and what each rank did."""
    found, holds, rows = judge.facts(answer), True, []
    for number, (name, part) in enumerate(PARTS.items(), start=1):
        holds = holds and not any(
            wrong for wrong, *_ in part(found)
        )  # after the first mistake, nothing is known
        rows.append((f"{number} {name}", RIGHT[True] if holds else "–"))
    steps, ranks = table((Bilingual("step", "步驟"), Bilingual("holds", "完成")), rows), judge.show(answer)
    return Block(steps.html + ranks.html, ranks.text)


def _says(said: list[float], value: float) -> bool:
    return any(abs(number - value) < 6e-4 for number in said)
