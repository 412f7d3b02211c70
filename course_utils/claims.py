"""Claims: statements of the course that are measured on the learner's machine, and can turn out false."""

import os
from collections.abc import Callable
from typing import Any

import torch
from IPython.display import display

from bilingual import pair
from course_utils import lesson_gpus, recordings, run_mode
from course_utils import needs as machine_needs
from course_utils.claim_card import MEASURING, Card, Verdict
from course_utils.lesson import text
from course_utils.measure import Comparison, is_modelled
from course_utils.recordings import Limits

RETRY_FACTOR = 3  # the second, longer measurement before a claim may fail


class ClaimError(AssertionError):
    """A claim does not hold, and the run is strict (``COURSE_STRICT=1``)."""


def _judge(value: Any, limits: Limits, needs: str | None = None, on: torch.device | None = None) -> Verdict:
    """Return the verdict on a claim, with the numbers behind it; see `claim`.

    A :class:`~course_utils.measure.Comparison` holds if its ratio and its quartile ratio are both within the
    limits. If one is not, it is measured again, three times longer; it *fails* only if both are on the wrong side
    both times, and is *unclear* when the four do not agree. A number is judged once. A bool is an exact fact. On a
    practice GPU, and by its clock, nothing is measured: the verdict is "model".

    Raises:
        TypeError: `value` is of no kind that can be judged, or a number comes without limits, or a bool with limits.
    """
    if lacking := machine_needs.missing(needs):
        return Verdict("needs", lacking=lacking)
    if callable(value):
        value = value()
    limited = limits != (None, None)
    if isinstance(value, bool):
        if limited:
            raise TypeError(
                "claim(): a yes-or-no fact takes no at_least or at_most; pass the number itself instead."
            )
        return _verdict(value, lesson_gpus.modelled(on), value)
    if not isinstance(value, (Comparison, int, float)):
        raise TypeError(
            f"claim() judges a comparison, a number or a bool, but got {type(value).__name__}; "
            "pass what compare(…) returned."
        )
    if not limited:
        raise TypeError("claim(): a measured value needs at_least= or at_most=, or it could never be wrong.")
    if not isinstance(value, Comparison):
        return _verdict(limits.allow(value), lesson_gpus.modelled(on) or is_modelled(value), float(value))
    if is_modelled(value.ratio):
        return _verdict(limits.allow(value.ratio), True, float(value.ratio))

    first = limits.allow(value.ratio), limits.allow(value.quartile_ratio)
    if all(first):
        return Verdict("holds", value.ratio, value.quartile_ratio)
    longer = value.again(RETRY_FACTOR * value.pairs)
    second = limits.allow(longer.ratio), limits.allow(longer.quartile_ratio)
    verdict = "holds" if all(second) else "unclear" if any(first + second) else "fails"
    return Verdict(verdict, longer.ratio, longer.quartile_ratio)


def _verdict(true: bool, modelled: bool, value: float | bool) -> Verdict:
    return Verdict(("model" if modelled else "holds") if true else "fails", value)


def claim(
    id: str,  # noqa: A002  (the field's word for it, and lessons read better with it)
    value: Any | Callable[[], Any],
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    needs: str | None = None,
    on: torch.device | None = None,
) -> None:
    """State something about this machine, check it, and show the verdict beside the recorded GPU's.

    Args:
        id: The claim's number, ``"2.2"``: lesson and number within it. Its sentence is under this id in
            the lesson's ``texts.toml``.
        value: What was measured: a comparison, a number, or a bool for an exact fact; or a function that
            measures it, called only if the machine has what the claim `needs`.
        at_least: Smallest value with which the statement is true.
        at_most: Largest value with which the statement is true.
        needs: What the machine must have, for example ``"cuda"``; otherwise the claim says what is lacking.
        on: The device whose behaviour this is. A practice GPU shows what the model says, and the verdict says so.

    Raises:
        ClaimError: The claim does not hold and ``COURSE_STRICT=1`` is set (as in CI). A learner sees an
            explanation instead.
        TypeError: `value` cannot be judged.
        ValueError: There is no sentence for `id`, or `needs` is not known.
    """
    statement, limits = pair(text("claim", id)), Limits(at_least, at_most)
    if run_mode.on("recorded") and not (isinstance(value, bool) or lesson_gpus.modelled(on)):
        display(Card(id, statement, _recorded(id, needs, limits), limits))
        return
    result = _judge(value, limits, needs, on)
    noted = {name: getattr(result, name) for name in ("verdict", "value", "quartile_ratio")}
    noted |= limits._asdict() | {"needs": needs}
    times = int(os.environ.get("COURSE_REPEAT", "0"))
    if times and result.verdict in recordings.MEASURED:
        noted["again"] = _again(value, times)
    run_mode.note("claim", id, noted)
    display(Card(id, statement, result, limits))
    if result.verdict == "fails" and run_mode.strict():
        raise ClaimError(
            f"claim {id} does not hold: {statement.en} (value {result.value}, by lower quartiles "
            f"{result.quartile_ratio}, at least {at_least}, at most {at_most})"
        )


def _recorded(id: str, needs: str | None, limits: Limits) -> Verdict:  # noqa: A002
    """Return what is recorded of a claim that is not measured (``COURSE_MODE=recorded``); exact facts always are."""
    if there := recordings.instead(id, limits):
        return Verdict(there["verdict"], there["value"], there["quartile_ratio"], run=there["run"])
    return Verdict("needs", lacking=machine_needs.missing(needs) or MEASURING)


def _again(value: Any, times: int) -> list[float | bool]:
    """Return what fresh measurements of `value` give; none where there is only the number that was handed over."""
    if isinstance(value, Comparison):
        return [value.again(value.pairs).ratio for _ in range(times)]
    if not callable(value):
        return []
    return [getattr(found, "ratio", found) for found in (value() for _ in range(times))]
