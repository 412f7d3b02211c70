"""Claims: statements of the course that are measured on the learner's machine, and can turn out false."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from IPython.display import display

from course_utils import needs as machine_needs
from course_utils import recordings, run_mode
from course_utils.lesson import text
from course_utils.measure import Comparison
from course_utils.units import number
from torch_doctor.bilingual import Bilingual, markup, measured

RETRY_FACTOR = 3  # the second, longer measurement before a claim may fail

VERDICTS = {
    "holds": Bilingual("holds", "成立"),
    "fails": Bilingual("does not hold", "不成立"),
    "unclear": Bilingual("unclear", "尚無定論"),
    "needs": Bilingual("not measured here", "這台機器沒有量"),
}

_EXPLAIN = {
    "fails": Bilingual(
        "The measurement is on the wrong side. This is not your mistake, and worth looking into: perhaps this machine "
        "is special, another program is working hard, or the course is wrong. Close other programs and run the cell "
        "again; if it happens again, please report it together with the machine badge at the top.",
        "量出來的結果沒有過門檻。不是你做錯了，而且值得追究：可能是這台機器比較特別、有別的程式正吃掉大量運算，也可能是課程寫錯了。"
        "先關掉其他程式再執行一次；如果還是一樣，請附上最上面的機器資訊回報給我們。",
    ),
    "unclear": Bilingual(
        "The two ways of judging disagree, even in a longer measurement: something else is using this machine. "
        "Run the cell again when it is quiet.",
        "兩種判斷方式的結果不一致，拉長量測也一樣：有別的程式正在用這台機器。等它閒下來再執行一次。",
    ),
}


class ClaimError(AssertionError):
    """A claim does not hold, and the run is strict (``COURSE_STRICT=1``)."""


@dataclass(frozen=True)
class Verdict:
    """What became of a claim: ``holds``, ``fails``, ``unclear`` or ``needs``, and the numbers behind it."""

    verdict: str
    value: float | bool | None = None
    quartile_ratio: float | None = None
    lacking: Bilingual | None = None


def judge(
    value: Any, *, at_least: float | None = None, at_most: float | None = None, needs: str | None = None
) -> Verdict:
    """Decide about a claim without showing anything.

    A :class:`~course_utils.measure.Comparison` holds if its ratio and its quartile ratio are both within the
    bounds. If one is not, it is measured again, three times longer; it *fails* only if both are on the wrong side
    both times, and is *unclear* when the four do not agree. A number is judged once. A bool is an exact fact.

    Args:
        value: A comparison, a number, a bool, or a function of no arguments that returns one of these and is only
            called if `needs` is met.
        at_least: Lower bound, inclusive.
        at_most: Upper bound, inclusive.
        needs: What the machine must have, see :func:`course_utils.needs.missing`.

    Returns:
        The verdict with the numbers behind it.

    Raises:
        TypeError: `value` is of no kind that can be judged, or a number comes without bounds, or a bool with bounds.
    """
    lacking = machine_needs.missing(needs)
    if lacking is not None:
        return Verdict("needs", lacking=lacking)
    if callable(value):
        value = value()
    bounded = at_least is not None or at_most is not None
    if isinstance(value, bool):
        if bounded:
            raise TypeError(
                "claim(): a yes-or-no fact takes no at_least or at_most; pass the number itself instead."
            )
        return Verdict("holds" if value else "fails", value)

    def within(ratio: float) -> bool:
        return (at_least is None or ratio >= at_least) and (at_most is None or ratio <= at_most)

    if not isinstance(value, (Comparison, int, float)):
        raise TypeError(
            f"claim() judges a comparison, a number or a bool, but got {type(value).__name__}; "
            "pass what compare(…) returned."
        )
    if not bounded:
        raise TypeError("claim(): a measured value needs at_least= or at_most=, or it could never be wrong.")
    if not isinstance(value, Comparison):
        return Verdict("holds" if within(value) else "fails", float(value))

    first = within(value.ratio), within(value.quartile_ratio)
    if all(first):
        return Verdict("holds", value.ratio, value.quartile_ratio)
    longer = value.again(RETRY_FACTOR * value.pairs)
    second = within(longer.ratio), within(longer.quartile_ratio)
    verdict = "holds" if all(second) else "unclear" if any(first + second) else "fails"
    return Verdict(verdict, longer.ratio, longer.quartile_ratio)


def claim(
    id: str,  # noqa: A002  (the field's word for it, and lessons read better with it)
    value: Any | Callable[[], Any],
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    needs: str | None = None,
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

    Raises:
        ClaimError: The claim does not hold and ``COURSE_STRICT=1`` is set (as in CI). A learner sees an
            explanation instead.
        TypeError: `value` cannot be judged.
        ValueError: There is no sentence for `id`, or `needs` is not known.
    """
    sentence = text("claim", id)
    statement = Bilingual(sentence["en"], sentence["zh"])
    result = judge(value, at_least=at_least, at_most=at_most, needs=needs)
    noted = {
        "verdict": result.verdict,
        "value": result.value,
        "quartile_ratio": result.quartile_ratio,
        "at_least": at_least,
        "at_most": at_most,
        "needs": needs,
    }
    times = run_mode.repetitions()
    if times and result.lacking is None:
        noted["again"] = _again(value, times)
    run_mode.note("claim", id, noted)
    display(Card(id, statement, result, at_least, at_most))
    if result.verdict == "fails" and run_mode.strict():
        raise ClaimError(
            f"claim {id} does not hold: {statement.en} (value {result.value}, by lower quartiles "
            f"{result.quartile_ratio}, at least {at_least}, at most {at_most})"
        )


def _again(value: Any, times: int) -> list[float | bool]:
    """Return what fresh measurements of `value` give; none where there is only the number that was handed over."""
    if isinstance(value, Comparison):
        return [value.again(value.pairs).ratio for _ in range(times)]
    if not callable(value):
        return []
    found = [value() for _ in range(times)]
    return [value.ratio if isinstance(value, Comparison) else value for value in found]


def _number(value: float | bool | None) -> str:
    return "" if value is None or isinstance(value, bool) else number(value)


@dataclass(frozen=True)
class Card:
    """How a claim looks in a notebook."""

    id: str
    statement: Bilingual
    result: Verdict
    at_least: float | None
    at_most: float | None

    def _bound(self) -> Bilingual:
        low, high = self.at_least, self.at_most
        if low is not None and high is not None:
            return Bilingual(
                f"asserted: between {low:g} and {high:g}", f"課程主張：介於 {low:g} 與 {high:g} 之間"
            )
        if low is not None:
            return Bilingual(f"asserted: at least {low:g}", f"課程主張：至少 {low:g}")
        if high is not None:
            return Bilingual(f"asserted: at most {high:g}", f"課程主張：至多 {high:g}")
        return Bilingual("an exact fact", "精確的事實")

    def _mine(self) -> Bilingual:
        if self.result.lacking is not None:
            return Bilingual(f"needs {self.result.lacking.en}", f"需要{_gap(self.result.lacking.zh)}")
        value = _number(self.result.value)
        if not value:
            return Bilingual("checked on this machine", "已在這台機器上驗證")
        return Bilingual(f"here: {value}", f"這台機器：{value}")

    def _recorded(self) -> Bilingual:
        values = recordings.recorded(self.id)
        if values is None:
            text = recordings.NOT_RECORDED
        else:
            verdict = VERDICTS[values["verdict"]]
            value = _number(values["value"])
            run = values["run"]
            text = Bilingual(f"{value or verdict.en} ({run})", f"{value or verdict.zh}（{run}）")
        return Bilingual(f"recorded GPU: {text.en}", f"GPU 參考：{text.zh}")

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        # Verdict and values may differ between machines, so the card always has the same elements: a verdict, a line
        # of facts and an explanation that is mostly empty. What is asserted is the same everywhere, and compared.
        verdict = VERDICTS[self.result.verdict]
        shown = Bilingual(measured(verdict.en), measured(verdict.zh))
        bound, mine, recorded = self._bound(), self._mine(), self._recorded()
        line = Bilingual(
            f"{bound.en} · {measured(f'{mine.en} · {recorded.en}')}",
            f"{bound.zh} · {measured(f'{mine.zh} · {recorded.zh}')}",
        )
        why = _EXPLAIN.get(self.result.verdict)
        # A Bilingual writes what is the same in both languages once, and two empty marks are the same.
        reason = "".join(
            f'<span lang="{tag}">{markup(measured(why_in))}</span>'
            for tag, why_in in (("en", why.en if why else ""), ("zh-Hant", why.zh if why else ""))
        )
        return {
            "text/html": (
                f'<div class="course-card course-claim course-{self.result.verdict}">'
                f'<p><span class="course-title"><span lang="en">Claim</span><span lang="zh-Hant">主張</span></span>'
                f' · <span class="course-verdict">{shown.html()}</span></p>'
                f"{self.statement.block()}"
                # The id is for looking the claim up; in the title it would read like a section's number.
                f'<p class="course-small">{line.html()} · id {self.id}</p>'
                f'<p class="course-reason">{reason}</p></div>'
            ),
            "text/plain": f"claim {self.id} {shown}: {self.statement}",
        }


def _gap(text: str) -> str:
    """Put the customary space between Chinese and a Latin word that follows it."""
    return f" {text}" if text[:1].isascii() else text
