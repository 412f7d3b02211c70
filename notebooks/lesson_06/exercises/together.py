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


show, changed = judge.show, judge.changed
_SUM = "dist.all_reduce(mine)"
WRONG = {
    "only_rank_0_has_it": changed((_SUM, "dist.reduce(mine, 0)")),
    "own_number": changed((_SUM, "mine = mine * 1")),
    "out_of_step": changed((_SUM, "if rank == 0:\n    dist.all_reduce(mine)")),
    "not_the_sum": changed((_SUM, "mine += dist.get_world_size()")),
    "no_process_group": changed(("dist.init_process_group(", "print(")),
    "rank_raised": changed((_SUM, "dist.all_sum(mine)")),
    "no_python": changed((_SUM, "dist.all_reduce(mine")),
}
