"""Claims: every way to a verdict, what strict runs do, and cards that differ only inside measured marks."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from html_nesting import assert_nested

from bilingual import Bilingual
from course_utils import claim_card as claims
from course_utils import lesson, needs, recordings, run_mode
from course_utils.claims import Card, ClaimError, Verdict, _judge, claim
from course_utils.measure import Comparison
from course_utils.recordings import Limits
from tools.sanitized import sanitized

LACKING = Bilingual("a CUDA GPU", "CUDA GPU")


class Fake(Comparison):
    """A comparison with given results; measured again, it gives the next ones and notes how many pairs were asked."""

    def again(self, pairs: int) -> Comparison:
        asked.append(pairs)
        return next(following)


asked: list[int] = []
following: Iterator[Comparison] = iter(())


def fake(*results: tuple[float, float], pairs: int = 15) -> Comparison:
    """Return a comparison whose (ratio, quartile ratio) is the first of `results`, and the next one after `again`."""
    global following
    asked.clear()
    made = [Fake(ratio, second, ratio, 1.0, pairs, print, print) for ratio, second in results]
    following = iter(made[1:])
    return made[0]


@pytest.fixture(autouse=True)
def current_lesson() -> None:
    """The claims here are lesson 01's."""
    lesson.use("01")


# --- judging ------------------------------------------------------------------------------------------


def judge(value: Any, needs: str | None = None, **limits: float) -> Verdict:
    return _judge(value, Limits(**limits), needs)


YES, NO = 3.0, 1.0  # on the right and on the wrong side of "at least 2"


@pytest.mark.parametrize("ratio, second", [(YES, YES), (YES, 2.0), (2.0, YES), (2.0, 2.0)])
def test_both_estimates_within_the_bound_hold_at_once(ratio: float, second: float) -> None:
    assert judge(fake((ratio, second)), at_least=2) == Verdict("holds", ratio, second) and asked == []


FIRST = [(YES, NO), (NO, YES), (NO, NO)]


@pytest.mark.parametrize("first", FIRST)
def test_estimates_that_disagree_are_unclear(first: tuple[float, float]) -> None:
    """After a second measurement with three times as many pairs; only four wrong estimates fail."""
    assert judge(fake(first, (YES + 1, YES)), at_least=2) == Verdict("holds", YES + 1, YES) and asked == [45]
    for second in FIRST:
        verdict = "fails" if first == second == (NO, NO) else "unclear"
        assert judge(fake(first, second, pairs=7), at_least=2) == Verdict(verdict, *second) and asked == [21]


@pytest.mark.parametrize("bounds, low, inside, high", [
    ({"at_least": 2}, 1.99, 2, None),
    ({"at_most": 2}, None, 2, 2.01),
    ({"at_least": 0.7, "at_most": 1.4}, 0.69, 0.7, 1.41),
    ({"at_most": 0}, None, 0, 0.01),
])  # fmt: skip
def test_bounds_are_inclusive(
    bounds: dict[str, float], low: float | None, inside: float, high: float | None
) -> None:
    assert judge(inside, **bounds) == Verdict("holds", float(inside))
    assert judge(fake((inside, inside)), **bounds).verdict == "holds"
    for outside in filter(None, (low, high)):
        assert judge(outside, **bounds) == Verdict("fails", outside)
        assert judge(fake((outside, outside), (outside, outside)), **bounds).verdict == "fails"
        assert judge(fake((outside, inside), (outside, inside)), **bounds).verdict == "unclear"


def test_facts_functions_and_what_is_not_a_number() -> None:
    nan = float("nan")
    assert judge(nan, at_least=1).verdict == "fails"
    assert judge(fake((nan, 3), (nan, nan)), at_most=9).verdict == "unclear"
    assert judge(True) == judge(lambda: True) == Verdict("holds", True)
    assert judge(False) == Verdict("fails", False)
    assert judge(lambda: 3, at_least=2) == Verdict("holds", 3.0)
    assert judge(lambda: fake((NO, NO), (NO, NO)), at_least=2).verdict == "fails"


def test_what_is_lacking_is_named_and_nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needs, "missing", lambda need: LACKING if need == "cuda" else None)
    assert judge(pytest.fail, needs="cuda") == Verdict("needs", lacking=LACKING)
    assert judge(lambda: True, needs="two_gpus").verdict == "holds"


@pytest.mark.parametrize("value, bounds, words", [
    ("3", {"at_least": 1}, "got str"),
    (None, {}, "got NoneType"),
    ((2.0, 1.0), {"at_most": 3}, "got tuple"),
    (lambda: None, {}, "got NoneType"),
    (3.0, {}, "needs at_least= or at_most="),
    (True, {"at_least": 1}, "yes-or-no fact takes no"),
    (lambda: False, {"at_most": 1}, "yes-or-no fact takes no"),
    (lambda: fake((YES, YES)), {}, "never be wrong"),
])  # fmt: skip
def test_what_cannot_be_judged_is_refused(value: Any, bounds: dict[str, float], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        judge(value, **bounds)


# --- stating ------------------------------------------------------------------------------------------

ID = "1.2-reuse"  # any claim of the course


def html(shown: list[Any]) -> str:
    return shown[-1]._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize("value, bounds, words", [
    (lambda: fake((NO, NO), (NO, NO)), {"at_least": 2}, "value 1.0.*at least 2"), (False, {}, "value False"),
])  # fmt: skip
def test_only_a_strict_run_raises(
    value: Any, bounds: dict[str, float], words: str, shown: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    claim(ID, value, **bounds)
    monkeypatch.setenv("COURSE_STRICT", "0")
    claim(ID, value, **bounds)
    monkeypatch.setenv("COURSE_STRICT", "1")
    with pytest.raises(ClaimError, match=rf"claim {ID} does not hold.*{words}"):
        claim(ID, value, **bounds)
    assert len(shown) == 3 and "course-fails" in html(shown), "the card is shown before the error"


@pytest.mark.parametrize("value, bounds", [
    (True, {}), (2.5, {"at_least": 2}), (lambda: fake((NO, YES), (NO, YES)), {"at_least": 2}),
])  # fmt: skip
def test_a_strict_run_accepts_what_holds_or_is_unclear(
    value: Any, bounds: dict[str, float], shown: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COURSE_STRICT", "1")
    claim(ID, value, **bounds)
    monkeypatch.setitem(needs.NEEDS, "cuda", lambda: False)
    claim(ID, lambda: False, needs="cuda")
    assert "course-needs" in html(shown)


def test_a_claim_without_a_sentence_is_refused(shown: list[Any]) -> None:
    with pytest.raises(ValueError, match="no claim '9.99'"):
        claim("9.99", True)
    with pytest.raises(ValueError, match="needs='gpu' is not known"):
        claim(ID, True, needs="gpu")
    with pytest.raises(TypeError):
        claim(ID, "fast")
    assert not shown


def test_a_claim_is_noted_for_the_record_and_on_request_measured_again_for_the_spread(
    shown: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[Any] = []
    monkeypatch.setattr(run_mode, "note", lambda *what: noted.append(what))
    claim(ID, fake((YES, YES)), at_least=2)
    values = {"verdict": "holds", "value": YES, "quartile_ratio": YES, "at_least": 2}
    assert noted == [("claim", ID, values | {"at_most": None, "needs": None})]
    monkeypatch.setenv("COURSE_REPEAT", "2")
    claim(ID, fake((YES, YES), (5.0, 5.0), (6.0, 6.0)), at_least=2)
    numbers = iter([3.0, 4.0, 5.0])
    claim(ID, lambda: next(numbers), at_least=2)
    claim(ID, lambda: True)
    claim(ID, 3.0, at_least=2)
    monkeypatch.setattr(needs, "missing", lambda need: LACKING)
    claim(ID, pytest.fail, needs="cuda")  # not called
    again = [values.get("again") for *_, values in noted]
    assert again == [None, [5.0, 6.0], [4.0, 5.0], [True, True], [], None]


# --- cards --------------------------------------------------------------------------------------------


def page(verdict: Verdict, low: float | None = 2, high: float | None = None) -> str:
    """Return the HTML of a card."""
    return Card(ID, Bilingual("it wins", "會贏"), verdict, Limits(low, high))._repr_mimebundle_()["text/html"]


VERDICTS = {
    "holds": Verdict("holds", 312.4, 300.1),
    "small": Verdict("holds", 0.0123, 0.01),
    "fact": Verdict("holds", True),
    "fails": Verdict("fails", 1.0, 1.1),
    "false": Verdict("fails", False),
    "unclear": Verdict("unclear", 1.9, 2.1),
    "needs": Verdict("needs", lacking=LACKING),
}
RECORDED = [
    None,
    {"verdict": "holds", "value": 12.5, "run": "NVIDIA H200, PyTorch 2.13.0, 2026-01-01"},
    {"verdict": "holds", "value": True, "run": "Tesla T4, PyTorch 2.6.0, 2025-01-01"},
]


@pytest.fixture(params=RECORDED, ids=["nothing", "number", "fact"])
def recorded(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any] | None:
    monkeypatch.setattr(recordings, "recorded", lambda *_: request.param)
    return request.param


@pytest.mark.parametrize("name", VERDICTS)
def test_a_card_differs_only_inside_marks(
    name: str, recorded: dict[str, Any] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A notebook recorded on one machine is compared on another: the verdict and every number may differ."""
    statement = Bilingual("`a` is faster than `b`", "`a` 比 `b` 快")
    bundle = Card("2.2", statement, VERDICTS[name], Limits(2))._repr_mimebundle_()
    assert_nested(bundle["text/html"])
    monkeypatch.setattr(recordings, "recorded", lambda *_: None)
    other = Card("2.2", statement, Verdict("holds", 3.0, 3.0), Limits(2))._repr_mimebundle_()
    assert sanitized(bundle["text/html"]) == sanitized(other["text/html"])
    assert sanitized(bundle["text/plain"]) == sanitized(other["text/plain"])
    assert "<code>a</code> is faster" in sanitized(bundle["text/html"]), "the sentence stays compared"


@pytest.mark.parametrize(
    "other", [("a", 3, None), ("a", None, 2), ("a", 2, 3), ("a", None, None), ("b", 2, None)]
)
def test_another_threshold_or_sentence_is_another_card(other: tuple[str, float | None, float | None]) -> None:
    """What is asserted is the same on every machine, and compared."""
    one, changed = (
        Card("2.2", Bilingual(words, "甲"), Verdict("holds", 3.0), Limits(*bounds))._repr_mimebundle_()
        for words, *bounds in (("a", 2, None), other)
    )
    assert sanitized(one["text/html"]) != sanitized(changed["text/html"])
    assert (sanitized(one["text/plain"]) != sanitized(changed["text/plain"])) or other[0] == "a"


def test_the_recorded_value_stands_beside_this_machines(recorded: dict[str, Any] | None) -> None:
    html = page(VERDICTS["holds"])
    if recorded is None:
        assert "recorded" not in re.sub('class="[^"]*"', "", html) and "紀錄" not in html
    else:
        what = "12.5" if recorded["value"] == 12.5 else claims.VERDICTS[recorded["verdict"]].en
        assert f"recorded machine: {what} ({recorded['run']})" in html and "參考紀錄的機器：" in html


def test_a_claim_that_cannot_be_measured_here_says_so_in_one_line() -> None:
    html = page(VERDICTS["needs"])
    line = '<p lang="{}"><span class="measured">{}</span>{}</p>'
    assert line.format("en", "With a CUDA GPU, this cell would measure:", " it wins") in html
    assert line.format("zh-Hant", "若有 CUDA GPU，這一格會量測：", "會贏") in html
    assert html.count("course-measured-here") == 2, "the style sheet hides the other two lines"


@pytest.mark.parametrize("value, low, high, en, zh", [
    (312.4, 2, None, "at least 2 · here: 312", "至少 2 · 這台機器：312"),
    (1234567, None, 0.9, "at most 0.9 · here: 1,234,567", "至多 0.9"), (0.5, None, None, "an exact fact", "可精確驗證"),
    (3.14159, 0.7, 1.4, "between 0.7 and 1.4 · here: 3.14", "介於 0.7 與 1.4 之間"),
])  # fmt: skip
def test_the_card_says_what_is_asserted_and_measured_in_short_numbers(
    value: float, low: float | None, high: float | None, en: str, zh: str
) -> None:
    text = re.sub("<[^>]*>", "", page(Verdict("holds", value, value), low, high))
    assert en in text and zh in text and "holds" in text and "成立" in text


@pytest.mark.parametrize("name", VERDICTS)
def test_only_what_did_not_hold_is_explained(name: str) -> None:
    reason = r'<p class="course-reason">.*[a-z]{5}.*<span class="measured">[A-Z一-鿿].*</p>'
    assert bool(re.search(reason, page(VERDICTS[name]))) == (VERDICTS[name].verdict in ("fails", "unclear"))
