"""The GPUs of a lesson: real ones, practice GPUs, and what is said about what they show."""

from types import SimpleNamespace

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell

import practice_gpu
from bilingual import Bilingual
from course_utils import best_time, compare, lesson, lesson_gpus
from course_utils.claim_card import Card, Verdict
from course_utils.claims import _judge
from course_utils.lesson_gpus import gpus
from course_utils.recordings import Limits


def real(monkeypatch: pytest.MonkeyPatch, count: int) -> list[tuple[str, int]]:
    """Let PyTorch count so many CUDA devices; return the practice GPUs that are then started."""
    started: list[tuple[str, int]] = []
    start = lambda card, count, blocking=False: started.append((card, count)) or []  # noqa: E731
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    monkeypatch.setattr(practice_gpu, "start", start, raising=False)
    return started


@pytest.mark.parametrize(
    ("there", "wanted", "enough", "used"), [(1, 1, None, 1), (4, 2, None, 4), (2, 0, None, 0), (1, 2, 1, 1)]
)
def test_real_gpus_are_used_where_there_are_enough(
    there: int, wanted: int, enough: int | None, used: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = real(monkeypatch, there)
    lesson_gpus.start(wanted, enough)
    assert (started, lesson_gpus._devices) == ([], [torch.device("cuda", i) for i in range(used)])
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    lesson_gpus.start(2, enough)
    assert started == [("T4", 2)]


def test_a_single_gpu_is_hidden_from_a_lesson_that_needs_two(monkeypatch: pytest.MonkeyPatch) -> None:
    started = real(monkeypatch, 1)
    lesson_gpus.start(2)
    assert started == [("T4", 2)] and lesson_gpus.os.environ["CUDA_VISIBLE_DEVICES"] == ""
    monkeypatch.setattr(lesson_gpus, "_devices", [SimpleNamespace(type="practice")] * 2)
    plan = lesson_gpus.plan()
    assert "single GPU of this machine" in plan.en and "只有一張，所以不會用到" in plan.zh


def test_the_card_is_chosen_in_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lesson_gpus.card() == "T4"
    lesson_gpus.choose_card("A100")
    assert lesson_gpus.card() == "A100"
    with pytest.raises(ValueError, match="GTX 1"):
        lesson_gpus.choose_card("GTX 1")
    monkeypatch.setenv("COURSE_CARD", "H100")
    assert lesson_gpus.card() == "H100"


def test_where_no_practice_gpu_may_start_one_line_sends_to_the_stored_results(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("practice_gpu needs PyTorch 2.10 or newer")

    real(monkeypatch, 0)
    monkeypatch.setattr(practice_gpu, "start", refuse)
    shell = InteractiveShell.instance()
    assert not shell.run_cell("from course_utils import setup\nsetup('04', gpus=1)").success
    (line,) = capsys.readouterr().out.strip().splitlines()
    assert "needs PyTorch 2.10" in line and "results stored below" in line and "存好的結果" in line
    with pytest.raises(RuntimeError, match=r"first code cell.*第一個程式碼儲存格"):
        gpus()


def test_gpus_are_made_ready_once(monkeypatch: pytest.MonkeyPatch) -> None:
    started = real(monkeypatch, 3)
    assert lesson_gpus.ready(2) == [torch.device("cuda", 0), torch.device("cuda", 1)] and len(gpus()) == 3
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    assert lesson_gpus.ready() == [torch.device("cuda", 0)] and not started, "those of the set-up cell"
    lesson_gpus.ready(4)
    assert started == [("T4", 4)]


@pytest.mark.skipif(torch.cuda.is_available(), reason="practice GPUs do not start beside a real one")
class TestPracticeGPU:
    """What is shown on practice GPUs is never called measured."""

    def test_times_come_from_its_clock_and_are_the_same_each_time(self) -> None:
        lesson_gpus.start(1)
        large = torch.zeros(2048, 2048, device=gpus()[0])
        found = [compare(lambda: large @ large, lambda: large + large) for _ in range(2)]
        assert found[0].ratio == pytest.approx(found[1].ratio) and found[0].ratio > 5
        assert str(found[0].ratio).endswith("modelled") and "modelled" in repr(best_time(lambda: large + 1))
        assert _judge(found[0], Limits(5)) == Verdict("model", float(found[0].ratio))
        assert _judge(found[0], Limits(1000)).verdict == "fails"

    def test_the_cpu_is_measured_as_ever_and_not_compared_with_what_is_modelled(self) -> None:
        lesson_gpus.start(1)
        here, there = torch.zeros(8), torch.zeros(8, device=gpus()[0])
        ratio = compare(lambda: here + 1, lambda: here + here).ratio
        assert type(ratio) is float and type(best_time(lambda: here + 1)) is float
        with pytest.raises(TypeError, match="modelled, and the other on the CPU"):
            compare(lambda: there + 1, lambda: here + 1)

    @pytest.mark.parametrize(("value", "limits", "verdict"), [
        (True, {}, "model"), (False, {}, "fails"), (3.0, {"at_least": 2}, "model"), (1.0, {"at_least": 2}, "fails"),
    ])  # fmt: skip
    def test_what_a_claim_says_about_it(self, value: object, limits: dict[str, int], verdict: str) -> None:
        lesson_gpus.start(1)
        assert _judge(value, Limits(**limits), on=gpus()[0]).verdict == verdict
        assert (
            _judge(True, Limits(), on=torch.device("cpu")).verdict
            == _judge(True, Limits()).verdict
            == "holds"
        )

    def test_the_badge_says_what_they_are(self) -> None:
        lesson_gpus.start(2)
        assert "2 practice GPUs" in lesson_gpus.plan().en and "T4" in lesson_gpus.plan().zh
        assert all('choose_card("A100")' in text for text in (lesson_gpus.plan().en, lesson_gpus.plan().zh))
        assert "single GPU" not in lesson_gpus.plan().en, "none was hidden"
        lesson_gpus.start(0)
        assert lesson_gpus.plan() is None


@pytest.mark.parametrize("value", [True, 3.0])
def test_the_card_of_a_claim_tells_modelled_from_measured(
    value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lesson, "_current", "04")
    shown = Card("4.1", Bilingual("a", "甲"), Verdict("model", value), Limits())._repr_mimebundle_()
    assert "the model shows" in shown["text/plain"] and "模型顯示" in shown["text/plain"]
    assert "course-model" in shown["text/html"] and "practice GPU" in shown["text/html"]
    assert "here:" not in shown["text/html"] and "checked on this machine" not in shown["text/html"]
