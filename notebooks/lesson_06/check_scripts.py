"""Check the exercises whose answers are scripts, by what a script did in two processes on the CPU."""

from __future__ import annotations

from pathlib import Path

import torch

from shared.script_exercise import Facts, Mistakes, Plan, close, numbers, quoted, script_exercises

SCRIPTS = Path(__file__).with_name("scripts")  # stubs NAME.py, solutions NAME_solution.py
EPOCHS, SAMPLES, BATCH, RATE = 3, 640, 64, 0.1  # of `distribute`
STEPS_PER_EPOCH = SAMPLES // BATCH


def judge_together(found: Facts) -> Mistakes:
    """Every rank prints its number, their number and the sum."""
    values = [numbers([" ".join(printed)]) for printed in found.printed]
    last = [some[-1:] for some in values]
    if values != [[0, 2, 3], [1, 2, 3]]:
        yield last == [[3], [2]], "only_rank_0_has_it"
        yield last == [[1], [2]], "own_number"
        yield True, "not_the_sum", _printed(found)


def judge_average(found: Facts) -> Mistakes:
    """Every rank makes five steps with the mean of all gradients."""
    first, second = found.ranks
    yield from _judge_steps(found, 5)
    end = _descend(first["start"], [list(range(64))] * 5, 64)
    if close(first["end"], end) and close(second["end"], end):
        yield not close(sum(first["gradients"], []), sum(second["gradients"], [])), "averages_weights"
        return
    if not close(first["end"], second["end"]):
        shared = [a == b for a, b in zip(first["gradients"][0], second["gradients"][0], strict=True)]
        yield any(shared), "some_gradients"
        yield True, "no_average"
    mean = _gradient(first["start"], list(range(64)), 64)
    yield close(first["gradients"][0], [2 * value for value in mean]), "sum_not_mean"
    yield True, "not_the_mean"


def judge_rank0(found: Facts) -> Mistakes:
    """Rank 0 downloads, the others wait, all read."""
    saved = [len(record["saved"]) for record in found.ranks]
    yield sum(saved) > 1, "both_download"
    yield saved != [1, 0], "rank_1_downloads"
    for rank, record in enumerate(found.ranks):
        yield not record["loaded"], "does_not_read", {"rank": rank}
    if not found.called(1):
        yield found.has(r"exists\(|is_file\("), "name_only"
        yield True, "nobody_waits"


def judge_accumulate(found: Facts) -> Mistakes:
    """Four pieces give one step: with the gradient of the whole share, averaged once."""
    yield from _judge_steps(found, 3)
    first, second = found.ranks
    made = [number for number, _ in first["forwards"][:3]]
    yield made != [4, 4, 4], "pieces", {"made": made[0]}
    times, gradient = first["forwards"][0][1], first["gradients"][0]
    yield times == 0 or not close(gradient, second["gradients"][0]), "never_averages"
    yield times > 1, "averages_often", {"times": times}
    whole = _gradient(first["start"], list(range(64)), 64)
    yield not close(gradient, whole), "not_a_mean", {"times": gradient[0] / whole[0]}


def judge_metrics(found: Facts) -> Mistakes:
    """All ranks report 5 of 7."""
    values = [(numbers(printed) or [float("nan")])[-1] for printed in found.printed]

    def are(*expected: float) -> bool:
        return all(abs(value - right) < 6e-4 for value, right in zip(values, expected, strict=False))

    if not are(5 / 7, 5 / 7):
        yield are(1, 1 / 3), "own_share"
        yield are(2 / 3, 2 / 3), "mean_of_accuracies"
        yield are(4 / 3, 4 / 3), "sum_of_accuracies"
        yield are(5 / 8, 5 / 6) or are(5 / 4, 5 / 3), "one_share"
        yield are(5 / 7), "rank_1_differs"
        yield True, "not_5_of_7", _printed(found)


def judge_distribute(found: Facts) -> Mistakes:
    """Two processes train as one would; so does one alone."""
    first, second = found.ranks
    yield not first["initialized"], "no_group"
    yield not found.has("(?i)local_?rank"), "no_local_rank"
    if not (close(first["end"], second["end"]) and close(first["start"], second["start"])):
        yield first["wrapped"], "wrapped_but_apart"
        yield True, "apart"
    batches = [[*a, *b] for a, b in zip(first["samples"], second["samples"], strict=False)]
    yield from _judge_batches(found, batches)
    yield not close(first["end"], _descend(first["start"], batches[:-1], SAMPLES)), "other_weights"
    assert found.alone is not None
    taken = len(found.alone["samples"][0])
    one_differs = taken != BATCH or len(found.alone["gradients"]) != EPOCHS * STEPS_PER_EPOCH
    yield one_differs, "alone", {"taken": taken, "batch": BATCH}
    yield not close(found.alone["start"], first["start"]), "other_start"
    yield any(found.printed[1:]), "rank_1_prints", _printed(found)
    lines = len(found.printed[0])
    yield lines < EPOCHS, "few_lines", {"epochs": EPOCHS, "lines": lines}
    yield from _judge_losses(found, batches)
    yield first["open"] or second["open"], "group_open"


def _judge_batches(found: Facts, batches: list[list[int]]) -> Mistakes:
    """Require that an epoch has every sample once, in the right number of steps, and not in the order of the one before.

    Args:
        found: What the script did.
        batches: Numbers of the samples that both processes together take in each step, and behind the last one.

    Yields:
        Each mistake: whether it was made, and its hint.
    """
    epoch = [sample for batch in batches[: max(1, (len(batches) - 1) // EPOCHS)] for sample in batch]
    if twice := len(epoch) - len(set(epoch)):
        yield not found.has(r"DistributedSampler\("), "no_sampler"
        yield not found.has(r"DataLoader\(.*sampler"), "sampler_unused"
        yield True, "twice", {"count": twice}
    taken = len(batches[0])
    yield taken not in (0, BATCH), "batch", {"batch": BATCH, "taken": taken}
    yield from _judge_steps(found, EPOCHS * STEPS_PER_EPOCH)
    if sorted(batches[0]) == sorted(batches[STEPS_PER_EPOCH]):
        given = found.ranks[0]["epochs"]
        yield not given, "no_set_epoch"
        yield True, "same_epoch", {"given": given}


def _judge_losses(found: Facts, batches: list[list[int]]) -> Mistakes:
    """Require that rank 0 prints for each epoch the loss that one process has in its last step.

    Args:
        found: What the script did.
        batches: Numbers of the samples that both processes together take in each step.

    Yields:
        Each mistake: whether it was made, its hint, and what the hint says.
    """
    said, first = numbers(found.printed[0]), found.ranks[0]
    for epoch in range(EPOCHS):
        last = (epoch + 1) * STEPS_PER_EPOCH - 1
        weights = _descend(first["start"], batches[:last], SAMPLES)
        right, half = (_loss(weights, batch, SAMPLES) for batch in (batches[last], first["samples"][last]))
        values = {"epoch": epoch, "right": right, "said": quoted(found.printed[0][epoch:])}
        if not _says(said, right):
            yield _says(said, 2 * right), "loss_sum", values
            yield _says(said, half), "loss_half", values
            yield True, "loss_other", values


def _says(said: list[float], loss: float) -> bool:
    return any(abs(number - loss) < 6e-4 for number in said)


def _judge_steps(found: Facts, steps: int) -> Mistakes:
    made = len(found.ranks[0]["gradients"])
    yield made != steps, "steps", {"steps": steps, "made": made}


def _printed(found: Facts) -> dict[str, str]:
    return {"first": quoted(found.printed[0]), "second": quoted(found.printed[1])}


def _gradient(weights: list[float], batch: list[int], samples: int) -> list[float]:
    """Return the gradient of the mean squared error of a line against the sine, for some of the samples."""
    x = torch.linspace(-3, 3, samples)[batch]
    error = weights[0] * x + weights[1] - torch.sin(x)
    return [float((2 * error * x).mean()), float((2 * error).mean())]


def _loss(weights: list[float], batch: list[int], samples: int) -> float:
    """Return the mean squared error of a line against the sine, for some of the samples."""
    x = torch.linspace(-3, 3, samples)[batch]
    return float((weights[0] * x + weights[1] - torch.sin(x)).square().mean())


def _descend(weights: list[float], batches: list[list[int]], samples: int) -> list[float]:
    """Train as one process does with these batches; return the parameters at the end."""
    for batch in batches:
        steps = zip(weights, _gradient(weights, batch, samples), strict=True)
        weights = [weight - RATE * slope for weight, slope in steps]
    return weights


EXERCISES = script_exercises(
    Path(__file__),
    together=judge_together,
    average=judge_average,
    rank0=judge_rank0,
    metrics=judge_metrics,
    accumulate=judge_accumulate,
    distribute=(judge_distribute, Plan((2, 1))),
)
