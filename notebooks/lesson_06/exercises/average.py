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


show, changed = judge.show, judge.changed
_DIVIDE, _STEP = "        parameter.grad /= world_size\n", "    optimizer.step()\n"
_BY_HAND = (
    "    for parameter in model.parameters():\n        dist.all_reduce(parameter.grad)  # the sum\n" + _DIVIDE
)
WRONG = {
    "no_average": changed((_BY_HAND, "    pass\n")),
    "sum_not_mean": changed((_DIVIDE, "")),
    "some_gradients": changed(
        (_BY_HAND, "    dist.all_reduce(model.weight.grad)\n    model.weight.grad /= 2\n")
    ),
    "averages_weights": changed(
        (
            _BY_HAND + _STEP,
            _STEP + "    for parameter in model.parameters():\n"
            "        dist.all_reduce(parameter.data)\n        parameter.data /= 2\n",
        )
    ),
    "not_the_mean": changed(("/= world_size", "/= len(x)")),
    "steps": changed(("range(5)", "range(4)")),
}
