"""Exercise ``average``: every rank makes five steps with the mean of all gradients, which it averages by hand."""

from course_utils.exercises import Mistakes
from lesson_06.sine_fit import descend, gradient
from shared.script_exercise import Facts, close, on_script

STEPS, ALL = 5, range(64)


@on_script()
def judge(found: Facts) -> Mistakes:
    """Compare weights and gradients with those of one process that has all data."""
    first, second = found.ranks
    yield found.steps(STEPS)
    end = descend(first["start"], [ALL] * STEPS, len(ALL))
    if close(first["end"], end) and close(second["end"], end):
        yield not close(sum(first["gradients"], []), sum(second["gradients"], [])), "averages_weights"
        return
    if not close(first["end"], second["end"]):
        shared = [a == b for a, b in zip(first["gradients"][0], second["gradients"][0], strict=True)]
        yield any(shared), "some_gradients"
        yield True, "no_average"
    mean = gradient(first["start"], ALL, len(ALL))
    yield close(first["gradients"][0], [2 * value for value in mean]), "sum_not_mean"
    yield True, "not_the_mean"


show = judge.show
