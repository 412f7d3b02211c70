"""Exercise ``metrics``: all ranks report 5 of 7."""

from course_utils.exercises import Mistakes
from shared.script_exercise import Facts, numbers, on_script


@on_script()
def judge(found: Facts) -> Mistakes:
    """Compare the last number that each rank prints."""
    values = [(numbers(printed) or [float("nan")])[-1] for printed in found.printed]

    def are(*expected: float) -> bool:
        return all(abs(value - right) < 6e-4 for value, right in zip(values, expected, strict=False))

    yield are(1, 1 / 3), "own_share"
    yield are(2 / 3, 2 / 3), "mean_of_accuracies"
    yield are(4 / 3, 4 / 3), "sum_of_accuracies"
    yield are(5 / 8, 5 / 6) or are(5 / 4, 5 / 3), "one_share"
    yield are(5 / 7) and not are(5 / 7, 5 / 7), "rank_1_differs"
    yield not are(5 / 7, 5 / 7), "not_5_of_7", found.said()


show = judge.show
