"""Exercise ``distribute``: two processes train as one would; so does one alone."""

from course_utils.exercises import Mistakes
from lesson_06.sine_fit import descend, loss
from shared.script_exercise import Facts, close, numbers, on_script, quoted

EPOCHS, SAMPLES, BATCH = 3, 640, 64
STEPS_PER_EPOCH = SAMPLES // BATCH
STEPS = EPOCHS * STEPS_PER_EPOCH


@on_script(worlds=(2, 1))
def judge(found: Facts) -> Mistakes:
    """Compare data, weights and printed losses with those of one process, written by hand here."""
    (first, second), alone = found.ranks, found.alone
    assert alone is not None
    yield not first["initialized"], "no_group"
    yield not found.has("(?i)local_?rank"), "no_local_rank"
    if not (close(first["end"], second["end"]) and close(first["start"], second["start"])):
        yield first["wrapped"], "wrapped_but_apart"
        yield True, "apart"
    # What both together take in each step, and behind the last one.
    batches = [[*a, *b] for a, b in zip(first["samples"], second["samples"], strict=False)]
    yield from _judge_batches(found, batches)
    yield not close(first["end"], descend(first["start"], batches[:-1], SAMPLES)), "other_weights"
    taken = len(alone["samples"][0])
    yield taken != BATCH or len(alone["gradients"]) != STEPS, "alone", {"taken": taken, "batch": BATCH}
    yield not close(alone["start"], first["start"]), "other_start"
    yield any(found.printed[1:]), "rank_1_prints", found.said()
    lines = len(found.printed[0])
    yield lines < EPOCHS, "few_lines", {"epochs": EPOCHS, "lines": lines}
    yield from _judge_losses(found, batches)
    yield first["open"] or second["open"], "group_open"


def _judge_batches(found: Facts, batches: list[list[int]]) -> Mistakes:
    """Require that an epoch has every sample once, in the right number of steps, and not in the order of the one before."""
    epoch = sum(batches[: max(1, (len(batches) - 1) // EPOCHS)], [])
    if twice := len(epoch) - len(set(epoch)):
        yield not found.has(r"DistributedSampler\("), "no_sampler"
        yield not found.has(r"DataLoader\(.*sampler"), "sampler_unused"
        yield True, "twice", {"count": twice}
    taken = len(batches[0])
    yield taken not in (0, BATCH), "batch", {"batch": BATCH, "taken": taken}
    yield found.steps(STEPS)
    if sorted(batches[0]) == sorted(batches[STEPS_PER_EPOCH]):
        given = found.ranks[0]["epochs"]
        yield not given, "no_set_epoch"
        yield True, "same_epoch", {"given": given}


def _judge_losses(found: Facts, batches: list[list[int]]) -> Mistakes:
    """Require that rank 0 prints for each epoch the loss that one process has in its last step."""
    said, first = numbers(found.printed[0]), found.ranks[0]
    for epoch in range(EPOCHS):
        last = (epoch + 1) * STEPS_PER_EPOCH - 1
        weights = descend(first["start"], batches[:last], SAMPLES)
        right, half = (loss(weights, batch, SAMPLES) for batch in (batches[last], first["samples"][last]))
        values = {"epoch": epoch, "right": right, "said": quoted(found.printed[0][epoch:])}
        if not _says(said, right):
            yield _says(said, 2 * right), "loss_sum", values
            yield _says(said, half), "loss_half", values
            yield True, "loss_other", values


def _says(said: list[float], value: float) -> bool:
    return any(abs(number - value) < 6e-4 for number in said)


show, changed = judge.show, judge.changed
_WRAPPED = "DistributedDataParallel(torch.nn.Linear(1, 1).to(device), device_ids=ids)"
_SET_EPOCH, _PER_RANK, _SUM = (
    "    sampler.set_epoch(epoch)\n",
    "BATCH // world_size",
    "    dist.all_reduce(mean)\n",
)
_END, _PRINTED = "dist.destroy_process_group()\n", "mean.item() / world_size"
WRONG = {
    "no_group": changed(
        ('    dist.init_process_group("gloo", timeout=limit)\n', ""),
        ("dist.get_rank(), dist.get_world_size()", "0, 2"),
        ("DistributedSampler(dataset)", "DistributedSampler(dataset, 2, rank)"),
        (_WRAPPED, "torch.nn.Linear(1, 1)"),
        (_SUM, ""),
        (_END, ""),
    ),
    "needs_gloo": changed(('"gloo"', '"nccl"')),
    "no_local_rank": changed((', int(os.environ["LOCAL_RANK"])', "")),
    "no_sampler": changed(
        ("sampler = DistributedSampler(dataset)", "sampler = None"),
        ("sampler.set_epoch(epoch)", "pass"),
        ("sampler=sampler", "shuffle=True"),
    ),
    "sampler_unused": changed((", sampler=sampler", ", shuffle=True")),
    "shuffles_twice": changed(("sampler=sampler", "sampler=sampler, shuffle=True")),
    "twice": changed(("(dataset)\nloader", "(dataset, num_replicas=2, rank=0)\nloader")),
    "no_set_epoch": changed((_SET_EPOCH, "")),
    "same_epoch": changed(("set_epoch(epoch)", "set_epoch(0)")),
    "batch": changed((_PER_RANK, "BATCH")),
    "alone": changed((_PER_RANK, "32")),
    "apart": changed((_WRAPPED, "torch.nn.Linear(1, 1)")),
    "wrapped_but_apart": changed(("((model(some_x)", "((model.module(some_x)")),
    "other_weights": changed(("lr=0.1", "lr=0.2")),
    "rank_1_prints": changed(("    if rank == 0:\n    ", "")),
    "few_lines": changed(("if rank == 0:", "if rank == 0 and epoch:")),
    "needs_no_device_ids": changed(("device_ids=ids", "device_ids=[device]")),
    "loss_half": changed((_SUM, ""), (_PRINTED, "mean.item()")),
    "loss_sum": changed((_PRINTED, "mean.item()")),
    "loss_other": changed((_PRINTED, "mean.item() / 64")),
    "other_start": changed(("torch.manual_seed(0)\n", "")),
    "group_open": changed((_END, "")),
    "steps": changed(("range(3)", "range(2)")),
}
