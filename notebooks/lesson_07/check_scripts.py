"""Check the exercises whose answers are scripts, by what a script did in two processes on the CPU."""

from __future__ import annotations

from pathlib import Path

from shared.script_exercise import Facts, Mistakes, Plan, close, script_exercises

SCRIPTS = Path(__file__).with_name("scripts")  # stubs NAME.py, solutions NAME_solution.py
EPOCHS, STEPS_PER_EPOCH, STOPPED_IN = 4, 10, 2  # of `resume`; in the epoch with this number it is stopped


def judge_save_once(found: Facts) -> Mistakes:
    """Rank 0 writes and renames, the other waits, both read."""
    first, second = found.ranks
    yield second["saved"] and first["saved"], "both_write"
    yield found.has("LOCAL_RANK"), "writer_per_machine"
    yield second["saved"], "rank_1_writes"
    yield "checkpoint.pt" in first["saved"], "straight"
    yield "checkpoint.pt" not in first["moved"], "no_replace"
    for rank, record in enumerate(found.ranks):
        yield "checkpoint.pt" not in record["loaded"], "does_not_read", {"rank": rank}
    yield not found.called(1), "nobody_waits"


def judge_resume(found: Facts) -> Mistakes:
    """Stopped in epoch 2, the second start goes on there, as if nothing had been."""
    first, second = found.ranks
    began = first["epochs"][:1]
    yield began == [0], "from_0", {"epoch": STOPPED_IN}
    values = {"before": STOPPED_IN - 1, "epoch": STOPPED_IN, "began": began}
    yield began != [STOPPED_IN], "from_elsewhere", values
    yield found.has(r"\bfirst = [1-9]"), "constant_epoch"
    assert found.before
    yield not close(first["at_epoch"][0], found.before[0]["at_epoch"][STOPPED_IN]), "weights_lost"
    yield not first["resumed"], "momentum_lost"
    left, made = EPOCHS - STOPPED_IN, len(first["gradients"])
    steps = left * STEPS_PER_EPOCH
    values = {"epochs": left, "steps": steps, "made": made}
    yield made != steps or not close(first["end"], second["end"]), "rest", values


EXERCISES = script_exercises(
    Path(__file__),
    save_once=judge_save_once,
    resume=(judge_resume, Plan(stop=STOPPED_IN * STEPS_PER_EPOCH + STEPS_PER_EPOCH // 2)),
)
