"""Exercise ``accumulate``: four pieces give one step, with the gradient of the whole share, averaged once."""

from course_utils.exercises import Mistakes
from lesson_06.sine_fit import gradient
from shared.script_exercise import Facts, close, on_script

STEPS, PIECES, ALL = 3, 4, range(64)


@on_script()
def judge(found: Facts) -> Mistakes:
    """Count the passes of the wrapped model, and compare the gradient of the first step."""
    first, second = found.ranks
    yield found.steps(STEPS)
    made = [passes for passes, _ in first["forwards"][:STEPS]]
    yield made != [PIECES] * STEPS, "pieces", {"made": made[0]}
    times, own = first["forwards"][0][1], first["gradients"][0]
    yield times == 0 or not close(own, second["gradients"][0]), "never_averages"
    yield times > 1, "averages_often", {"times": times}
    whole = gradient(first["start"], ALL, len(ALL))
    yield not close(own, whole), "not_a_mean", {"times": own[0] / whole[0]}


show = judge.show
