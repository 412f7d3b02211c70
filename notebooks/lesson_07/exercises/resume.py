"""Exercise ``resume``: stopped in an epoch, the second start goes on there, as if nothing had been."""

from course_utils.exercises import Mistakes
from shared.script_exercise import Facts, close, on_script

EPOCHS, STEPS_PER_EPOCH, STOPPED_IN = 4, 10, 2  # in the epoch with this number it is stopped


@on_script(stop=STOPPED_IN * STEPS_PER_EPOCH + STEPS_PER_EPOCH // 2)
def judge(found: Facts) -> Mistakes:
    """Compare epoch, weights and momentum at the second start with those of the first."""
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
    yield {*found.called(0)} <= {"barrier"}, "each_looks"


show = judge.show
