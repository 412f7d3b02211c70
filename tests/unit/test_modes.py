"""COURSE_MODE: recorded results instead of measurements, and what the set-up cell adds for a class."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from lesson_cells import NOTEBOOKS

from bilingual import Bilingual, use_only
from course_utils import claims, class_mode, figures, lesson, recordings, run_mode, setup
from course_utils.figures import HERE, RECORDED_LABEL, show_measured
from course_utils.measure import best_time, compare

CPU = {"gpus": [], "cpu": "a CPU", "torch": "2.13.0+cpu"}
GPU = {"gpus": [{"name": "an H100"}], "cpu": "a CPU", "torch": "2.13.0+cu130"}
HOLDS = {"verdict": "holds", "value": 52.0, "quartile_ratio": 50.0, "at_least": 100}
NEEDS = {"verdict": "needs", "value": None, "quartile_ratio": None, "at_least": 2}
ON_CPU = {
    "machine": CPU, "date": "2026-11-22", "curves": {"loops": {"seconds": [3.0, 1.0], "ratio": 3.0, "labels": ["a", "b"]}},
    "claims": {"1.3-loops": HOLDS, "1.3": NEEDS, "1.8": HOLDS | {"value": True}},
}  # fmt: skip
ON_GPU = {
    "machine": GPU, "date": "2026-11-20", "curves": {},
    "claims": {"1.3-loops": HOLDS | {"value": 70.0}, "1.3": HOLDS | {"verdict": "fails", "value": 0.5, "at_least": 2}},
}  # fmt: skip


@pytest.fixture(autouse=True)
def recorded_mode(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("COURSE_MODE", "class,recorded")
    monkeypatch.setenv("COURSE_STRICT", "1")
    monkeypatch.setattr(recordings, "runs", lambda: [ON_CPU])
    lesson.use("01")


def page(shown: list[Any]) -> str:
    """Return the last output as text, with both languages."""
    return re.sub(r"(<[^>]+>|\s)+", " ", shown[-1]._repr_mimebundle_()["text/html"])


def test_compare_calls_each_function_once_and_best_time_twice() -> None:
    called: list[str] = []
    comparison = compare(lambda: called.append("a"), lambda: called.append("b"))
    assert called == ["a", "b"] and comparison.pairs == 1
    assert comparison.ratio == comparison.quartile_ratio == comparison.a_seconds / comparison.b_seconds
    best_time(lambda: called.append("c"))
    assert called == ["a", "b", "c", "c"]


def test_a_claim_shows_what_is_recorded_and_where(shown: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    claims.claim("1.3-loops", pytest.fail, at_least=100)  # not called
    text = page(shown)
    assert "recorded: 52 (a CPU, PyTorch 2.13.0, 2026-11-22)" in text and "參考紀錄：52（a CPU" in text
    assert "recorded: holds" in text and "here:" not in text
    monkeypatch.setattr(recordings, "runs", lambda: [ON_CPU, ON_GPU])  # a GPU goes before a newer CPU
    claims.claim("1.3-loops", compare(list, list), at_least=100)
    text = page(shown)
    assert text.count("70 (an H100") == 1, "twice, or not at all"
    assert "52 (a CPU" not in text
    claims.claim("1.3", pytest.fail, at_least=2, needs="cuda")  # no error: it was measured elsewhere
    assert "does not hold" in page(shown) and "Close other programs" not in page(shown)
    claims.claim("1.3-loops", pytest.fail, at_least=10)  # a recorded verdict is about the limits of its time
    assert "measuring turned on" in page(shown) and "recorded: holds" not in page(shown)


def test_a_claim_that_nobody_recorded_is_not_measured(
    shown: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    claims.claim("1.3", pytest.fail, at_least=2)  # recorded as not measured
    assert "not shown here" in page(shown) and "recorded:" not in page(shown)
    missing = lambda needs: needs and Bilingual(f"a {needs}", "甲")  # noqa: E731
    monkeypatch.setattr(claims.machine_needs, "missing", missing)
    claims.claim("1.3", pytest.fail, at_least=2, needs="cuda")
    assert "needs a cuda" in page(shown)
    claims.claim("1.3-small", 0.0, at_least=2)
    assert "measuring turned on" in page(shown)


def test_an_exact_fact_is_still_checked_here(shown: list[Any]) -> None:
    claims.claim("1.8", True)
    assert "checked on this machine" in page(shown)
    with pytest.raises(claims.ClaimError):
        claims.claim("1.8", False)


def test_figures_show_what_is_recorded_alone(
    shown: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    journal = tmp_path / "journal.jsonl"
    monkeypatch.setenv("COURSE_RECORD", str(journal))
    drawn: list[Any] = []

    def draw(groups: figures.Groups) -> Any:
        drawn.append(groups)
        return figures.new()[0]

    def caption(values: dict[str, Any], place: Bilingual) -> Bilingual:
        return Bilingual(f"{place.en}: {values['ratio']}.", f"{place.zh}：{values['ratio']}。")

    mine, alternative = {"seconds": [9.0, 1.0], "ratio": 9.0}, Bilingual("a", "一")
    show_measured("loops", mine, draw, caption, alternative)
    assert list(drawn[-1]) == [RECORDED_LABEL] and drawn[-1][RECORDED_LABEL]["ratio"] == 3.0
    assert "On the recorded machine: 3.0. Recorded on a CPU" in page(shown)
    assert not journal.exists(), "a single call is no measurement"
    show_measured("nobody recorded it", mine, draw, caption, alternative)
    assert drawn[-1] == {HERE: mine} and "Here: 9.0." in page(shown)
    monkeypatch.delenv("COURSE_MODE")
    show_measured("loops", mine, draw, caption, alternative)
    assert drawn[-1] == {HERE: mine}, "a CPU's recording is shown in recorded mode only"


def test_bars_are_the_recorded_ones(shown: list[Any]) -> None:
    figures.bars("loops", compare(list, list), labels=("a", "b"))
    assert [bar.get_width() for bar in shown[0].figure.axes[0].patches] == [1.0, 3.0]
    assert "On the recorded machine, a takes 3 times as long as b" in page(shown)


@pytest.mark.parametrize("mode, both", [
    ("", (False, False)), ("class", (True, False)), ("recorded", (False, True)), ("recorded, class", (True, True)),
])  # fmt: skip
def test_the_modes_combine(
    mode: str, both: tuple[bool, bool], shown: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COURSE_MODE", mode)
    assert (run_mode.on("class"), run_mode.on("recorded")) == both
    said = []
    for present in (False, True):
        setup("01", present=present)
        said.append(shown[-1].widget.children[-1].value)
    assert ("<style>" in said[0], "Recorded mode" in said[0]) == both
    assert "<style>" in said[1]
    monkeypatch.setenv("COURSE_MODE", "class,recording")
    with pytest.raises(ValueError, match="COURSE_MODE=recording is not known"):
        run_mode.on("class")


def test_the_message_to_the_class_is_in_the_language_of_the_notebook() -> None:
    assert '"First answer the question above. · 請先回答上面的問題。"' in class_mode.sheet()
    use_only("zh")
    try:
        assert '"請先回答上面的問題。"' in class_mode.sheet()
    finally:
        use_only(None)


def test_no_question_is_farther_from_the_next_one_than_the_style_sheet_looks() -> None:
    farthest = 0
    for path in NOTEBOOKS:
        distance: int | None = None
        for cell in nbformat.read(path, as_version=4).cells:
            question = cell.cell_type == "code" and re.search(r"^predict\(", cell.source, re.M)
            heading = cell.cell_type == "markdown" and re.search(r"^##? ", cell.source, re.M)
            distance = 0 if question else None if heading or distance is None else distance + 1
            farthest = max(farthest, distance or 0)
    assert 5 < farthest <= class_mode.FARTHEST
