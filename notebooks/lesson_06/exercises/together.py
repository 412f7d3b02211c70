"""Exercise ``together``: every rank prints its number, their number, and the sum over all ranks."""

from course_utils.exercises import Mistakes
from shared.script_exercise import Facts, numbers, on_script


@on_script()
def judge(found: Facts) -> Mistakes:
    """Compare the numbers that the ranks print."""
    values = [numbers([" ".join(printed)]) for printed in found.printed]
    last = [some[-1:] for some in values]
    yield last == [[3], [2]], "only_rank_0_has_it"
    yield last == [[1], [2]], "own_number"
    yield values != [[0, 2, 3], [1, 2, 3]], "not_the_sum", found.said()


show = judge.show
