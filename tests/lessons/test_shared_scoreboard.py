"""The scoreboard: what counts, what is refused, what is kept, and what a learner with a strange history sees."""

import json
import math
import re
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import IPython.display
import pytest
import torch
from lesson_cells import cells
from torch import nn
from unmarked import unmarked

from course_utils import lesson, recordings, settings
from notebook_torchrun.result import Failure, Run
from shared import kept_rates, program, score_rules, scoreboard, scoreboard_picture
from shared.scoreboard import ScoreError, entries, score, score_ranks
from shared.scoreboard_picture import Entry, board, gain

CPU = torch.device("cpu")
ENTRY = Entry(100.0, 0.95, 1, "cpu", "A processor", "2.13.0", "2026-11-23", score_rules.RULE)


@pytest.fixture(scope="module")
def learned() -> dict[str, torch.Tensor]:
    """Return the weights of a trained network."""
    network, _ = scoreboard.timed(program.finished, CPU, 3)
    return network.state_dict()


@pytest.fixture
def train(learned: dict[str, torch.Tensor]) -> Callable[..., nn.Module]:
    """Return a function that takes 20 ms and returns a new, trained network."""

    def trained(device: Any, epochs: int) -> nn.Module:
        time.sleep(0.02 * epochs)
        network = program.small_resnet()
        network.load_state_dict(learned)
        return network.to(device)

    return trained


@pytest.fixture(autouse=True)
def in_lesson(monkeypatch: pytest.MonkeyPatch) -> None:
    lesson.use("02")
    monkeypatch.setattr(scoreboard, "ENOUGH_SECONDS", 0)  # one run of one epoch, two of more
    monkeypatch.setattr(scoreboard, "try_gpu", lambda: CPU)
    monkeypatch.setattr(score_rules, "best_product", lambda *_: 1e12)
    monkeypatch.setattr(recordings, "runs", list)  # whatever the course has recorded


@pytest.fixture
def seen(shown: list[Any], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setattr(scoreboard, "display", IPython.display.display)
    return shown


def texts(seen: list[Any]) -> str:
    return "\n".join(shown._repr_mimebundle_()["text/html"] for shown in seen)


# --- what counts ---------------------------------------------------------------------------------------------


def test_a_score_is_kept_and_journalled_with_all_that_it_depends_on(train, seen, data, tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_RECORD", str(tmp_path / "journal"))
    keep(l01=asdict(ENTRY), l02=asdict(ENTRY))
    given: list[Any] = []
    rate = score(lambda d, e: given.append(d) or train(d, e), epochs=2, device="cpu")  # type: ignore[func-returns-value]
    assert set(given) == {CPU}, "a device may be given by its name"
    line = json.loads((tmp_path / "journal").read_text(encoding="utf-8"))
    assert line["kind"] == "curve" and line["key"] == "score-02" and line["values"]["rate"] == rate
    assert 0 < rate <= 71_850  # 20 ms an epoch
    saved = json.loads((data / "scoreboard.json").read_text(encoding="utf-8"))
    assert saved["01"] == asdict(ENTRY) and saved["02"]["rate"] == rate and saved["02"]["epochs"] == 2
    assert saved["02"]["torch"] == torch.__version__ and saved["02"]["rule"] == score_rules.RULE
    assert saved["02"]["accuracy"] > 0.9 and saved["02"]["machine"] and saved["02"]["device"] == "cpu"
    assert isinstance(seen[-1], scoreboard_picture.figures.Picture)


def test_of_fewer_images_only_those_count(train, seen):
    given: list[int] = []
    rate = score(lambda device, epochs, images: given.append(images) or train(device, epochs), images=100)  # type: ignore[func-returns-value]
    assert set(given) == {100} and 0 < rate <= 5000  # 20 ms an epoch


def test_the_fastest_of_several_runs_counts_so_that_compiling_does_not(train):
    calls = []

    def compiling(device: Any, epochs: int) -> nn.Module:
        calls.append(time.sleep(0 if calls else 0.3))
        return train(device, epochs)

    rate, _, times = scoreboard.measure(compiling, CPU, 2)
    assert len(times) == 2 and times[0] > 0.3 and rate == pytest.approx(2 * 1437 / min(times))


def test_a_long_single_epoch_runs_once_and_short_ones_at_most_five_times(train, monkeypatch):
    monkeypatch.setattr(score_rules, "accuracy", lambda *_: 0.9)
    assert [len(scoreboard.measure(train, CPU, epochs)[2]) for epochs in (1, 2)] == [1, 2]
    monkeypatch.setattr(scoreboard, "ENOUGH_SECONDS", 100)
    assert len(scoreboard.measure(train, CPU, 1)[2]) == 5


def test_all_gpus_have_finished_before_the_watch_stops(train, monkeypatch):
    waited: list[int] = []
    memory = [512, 0, 0]
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda index: memory[index])
    monkeypatch.setattr(torch.cuda, "synchronize", waited.append)

    def noted(device: Any, epochs: int) -> nn.Module:
        waited.append(-1)
        memory[1] = 512
        return train(device, epochs)

    scoreboard.timed(noted, CPU, 1)
    assert waited == [0, -1, 0, 1], "waiting for the third would create a context there"


def test_the_cpu_computes_with_one_thread_and_what_train_sets_is_put_back(train):
    before = torch.get_num_threads(), torch.backends.cudnn.benchmark
    seen: list[int] = []

    def noted(device: Any, epochs: int) -> nn.Module:
        seen.append(torch.get_num_threads())
        torch.backends.cudnn.benchmark = not before[1]
        return train(device, epochs)

    scoreboard.timed(noted, CPU, 1)
    assert seen == [1] and (torch.get_num_threads(), torch.backends.cudnn.benchmark) == before


# --- what is refused -----------------------------------------------------------------------------------------


def barely(device: Any, epochs: int) -> nn.Module:
    """Change one weight, and learn nothing."""
    network = program.small_resnet()
    with torch.no_grad():
        network[0].bias += 0.01
    return network


def with_other_scores(change: Callable[[torch.Tensor], Any]) -> nn.Module:
    """Return the program's network with another output."""
    network = barely(CPU, 1)
    network.register_forward_hook(lambda module, given, scores: change(scores))
    return network


REFUSED = [
    (lambda d, e: None, "Is there a `return`?"),
    (lambda d, e: 0.5, "returned `float`"),
    (lambda d, e: (program.small_resnet(), []), "returned `tuple`"),
    (lambda d, e: program.small_resnet(), "nothing was trained"),
    (lambda d, e: nn.Linear(1024, 10), "10,250 parameters"),
    (barely, "80% are needed"),
    (lambda d, e: barely(d, e).double(), "does not take float32 images"),
    (lambda d, e: with_other_scores(lambda scores: scores.mean(0)), "scores of shape (60,)"),
    (lambda d, e: with_other_scores(lambda scores: (scores, 0)), "but got tuple"),
    (3, "got a `int`"),
    (program.small_resnet(), "write `score(train)`"),
]


@pytest.mark.parametrize("given, words", REFUSED)
def test_what_does_not_count_is_explained_and_not_kept(given, words, seen, data):
    assert score(given) is None
    page = texts(seen[-1:]).replace("<code>", "`").replace("</code>", "`")
    assert words in page and "course-wrong" in page and "計分板沒有變動" in page
    assert not data.exists() and entries() == {}


def test_epochs_are_a_whole_number(train, seen):
    for epochs in (0, -1, 1.5, True, "3"):
        assert score(train, epochs) is None and "epochs=" in texts(seen[-1:])


def test_the_network_of_an_earlier_call_does_not_count(train, seen):
    network = train(CPU, 1)
    for mode in (True, False):
        score_rules.accuracy(network.train(mode), CPU)
        assert network.training is mode
    assert score(lambda d, e: network, epochs=2) is None, "the second run gets the network of the first"
    assert "small_resnet()" in texts(seen[-1:]) and entries() == {}


def test_more_than_the_device_can_compute_is_refused(train, seen, monkeypatch):
    monkeypatch.setattr(score_rules, "best_product", lambda *_: 100.0 * score_rules.ARITHMETIC)
    for devices, most in ((1, 1000), (2, 2000)):
        score_rules.examine_rate(most - 1, CPU, devices)
        with pytest.raises(score_rules.Refused, match="impossible"):
            score_rules.examine_rate(most + 1, CPU, devices)
    monkeypatch.setattr(score_rules, "best_product", lambda *_: 1.0)
    assert score(train) is None
    assert "impossible" in texts(seen[-1:]) and "1,437" in texts(seen[-1:]) and entries() == {}


def test_a_number_type_that_the_device_cannot_multiply_is_left_out(monkeypatch):
    monkeypatch.undo()
    ones = torch.ones

    def some(*size: int, dtype: torch.dtype, **others: Any) -> torch.Tensor:
        if dtype in missing:
            raise RuntimeError("not implemented")
        return ones(*size, dtype=dtype, **others)

    monkeypatch.setattr(torch, "ones", some)
    missing = [torch.bfloat16]
    assert 0 < score_rules.best_product.__wrapped__(CPU, 1) < math.inf
    missing = [torch.bfloat16, torch.float32]
    assert score_rules.best_product.__wrapped__(CPU, 1) == math.inf


def test_the_arithmetic_of_an_image_is_counted():
    """Each product of a convolution or a layer is two operations, once forward and twice backward."""
    from torch.utils.flop_counter import FlopCounterMode

    network = program.small_resnet()
    with FlopCounterMode(display=False) as counter:
        network(torch.zeros(1, 1, 32, 32)).sum().backward()
    assert counter.get_total_flops() == score_rules.ARITHMETIC


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt])
def test_an_error_in_the_learners_program_is_not_hidden(error, seen):
    def broken(device: Any, epochs: int) -> nn.Module:
        raise error("mine")

    with pytest.raises(error, match="mine"):
        score(broken)
    assert "Training" in seen[0].html and "Stopped" in seen[-1].html and len(seen) == 2


def test_a_strict_run_fails_and_a_lesson_without_a_place_on_the_board(train, monkeypatch, seen):
    monkeypatch.setenv("COURSE_STRICT", "1")
    with pytest.raises(ScoreError, match="NoneType"):
        score(lambda d, e: None)
    monkeypatch.setattr(lesson, "current", lambda: "09")
    with pytest.raises(ValueError, match="09"):
        score(train)
    with pytest.raises(ValueError, match="09"):
        score_ranks("faster.py")


# --- several processes ---------------------------------------------------------------------------------------

SCRIPTS = [cell.script for cell in cells()]
FASTER = next(script.text for script in SCRIPTS if script and script.name == "faster.py")  # of lesson 06


@pytest.fixture
def file(tmp_path: Any) -> Any:
    """Return the path of a learner's file that counts."""
    lesson.use("06")
    path = tmp_path / "faster.py"
    path.write_text(FASTER, encoding="utf-8")
    return path


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Let launches succeed at once, and note them."""
    noted: list[Any] = []

    def launch(*given: Any, processes: int, environment: dict[str, str], **how: Any) -> Any:
        noted.append((given, how | {"processes": processes, "environment": environment}))
        rates = {str(n): 1000.0 * (0.5 + 0.5 * n) for n in (1, processes)}
        device = "cpu" if environment else "cuda:0"
        run = Run("torchrun", processes, 60)
        run.results = [{"rates": rates, "accuracy": 0.95, "device": device}] * processes
        return run

    monkeypatch.setattr(scoreboard, "launch", launch)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.distributed, "is_nccl_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "A GPU")
    return noted


def test_two_processes_are_compared_with_one_and_kept(file, launches, seen, data):
    rates = score_ranks(file, processes=2, epochs=3)
    assert rates == {1: 1000.0, 2: 1500.0} and entries()["06"].rate == 1500.0
    assert entries()["06"].epochs == 3 and entries()["06"].device == "cpu"
    ((given, how),) = launches
    assert given[1:] == (file, 3) and how["environment"] == {"CUDA_VISIBLE_DEVICES": ""}
    assert re.findall(r"[\d,]+(?= images)|\d+%(?=\.)", texts(seen[1:2])) == ["1,000", "1,500", "75%"]
    assert isinstance(seen[-1], scoreboard_picture.figures.Picture)
    assert compared(seen[:1]) == compared(seen[1:2])


def test_more_than_twice_as_fast_is_called_a_disturbance():
    for together, said in ((2100.0, False), (4300.0, True)):
        assert ("run the cell again" in scoreboard._comparison({1: 1000.0, 2: together}, 0).html) == said


def test_with_one_gpu_the_cpu_compares_and_the_board_shows_the_gpu(file, launches, seen, data, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert score_ranks(file, processes=4) == {1: 1000.0, 4: 2500.0}
    assert [(how["processes"], bool(how["environment"])) for _, how in launches] == [(4, True), (1, False)]
    assert entries()["06"].device == "cuda" and entries()["06"].rate == 1000.0
    assert "on the CPU" in texts(seen[1:2]) and "The board shows one process on the GPU" in texts(seen[1:2])


def test_several_gpus_train_with_one_process_each(file, launches, seen, data, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert set(score_ranks(file, processes=4)) == {1, 2} and entries()["06"].device == "cuda"
    assert [(how["processes"], how["environment"]) for _, how in launches] == [(2, {})]
    assert "on the GPUs" in texts(seen[1:2])
    monkeypatch.setattr(torch.distributed, "is_nccl_available", lambda: False)  # Windows
    monkeypatch.setattr(kept_rates, "machine_facts", lambda: {"cpu": "A processor"})
    assert set(score_ranks(file, processes=3)) == {1, 3} and entries()["06"].device == "cpu"


def test_what_a_process_refuses_is_shown_and_not_kept(file, launches, seen, data, monkeypatch):
    def refused(*_: Any, **__: Any) -> Any:
        run = Run("torchrun", 2, 60)
        run.results = [None, {"refused": ["Not so.", "不行。"]}]
        run.failures = [Failure(1, "exited", "", 1)]
        return run

    monkeypatch.setattr(scoreboard, "launch", refused)
    assert score_ranks(file) is None and not data.exists()
    assert "Not so." in texts(seen[-1:]) and "不行。" in texts(seen[-1:])
    monkeypatch.setenv("COURSE_STRICT", "1")
    with pytest.raises(ScoreError, match="Not so"):
        score_ranks(file)


def test_what_fails_in_a_process_is_raised_with_its_text(file, launches, seen, monkeypatch):
    run = Run("torchrun", 2, 60)
    run.failures = [Failure(1, "raised", "KeyError: 'mine'", 1)]
    monkeypatch.setattr(scoreboard, "launch", lambda *_, **__: run)
    with pytest.raises(RuntimeError, match="KeyError: 'mine'"):
        score_ranks(file)
    assert "Stopped" in seen[-1].html


def test_wrong_arguments_launch_nothing(file, launches, seen):
    with pytest.raises(FileNotFoundError, match="nowhere.py"):
        score_ranks("nowhere.py")
    for processes in (1, 0, "2", 2.0, True):
        with pytest.raises(ValueError, match="at least 2"):
            score_ranks(file, processes=processes)
    assert score_ranks(file, epochs=0) is None and "epochs=0" in texts(seen[-1:])
    assert not launches


def test_networks_must_be_the_same_in_all_processes():
    one = torch.randn(100)
    score_rules.examine_ranks([one, one + 1e-6, one])
    with pytest.raises(score_rules.Refused, match="rank 0 and rank 2 differ, by up to 0.5"):
        score_rules.examine_ranks([one, one, one + 0.5])


def test_a_file_without_train_is_named():
    for names in ({"Train": print}, {"train": 1}):
        with pytest.raises(score_rules.Refused, match="defines no `train`"):
            score_rules.examine_file(names)
    assert score_rules.examine_file({"train": print}) is print


def test_real_processes_that_train_each_for_itself_are_refused(file, seen, data, monkeypatch):
    """Without the wrapper, no gradients are averaged. (Lesson 06 runs the file as it is.)"""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    file.write_text(FASTER.replace("model(images", "model.module(images"), encoding="utf-8")
    assert score_ranks(file, epochs=1) is None and entries() == {}
    assert "rank 0 and rank 1 differ" in texts(seen[-1:])


# --- what is kept --------------------------------------------------------------------------------------------


def keep(**saved: Any) -> None:
    settings.write("scoreboard", {key.removeprefix("l"): value for key, value in saved.items()})


@pytest.mark.parametrize("change", [
    {"rate": "fast"}, {"rate": -1}, {"rate": 0}, {"rate": float("inf")}, {"rate": float("nan")}, {"accuracy": 7},
    {"torch": 2}, {"machine": None}, {"rule": "1"}, {"more": 1},
])  # fmt: skip
def test_a_damaged_entry_is_left_out_and_the_others_stay(change):
    keep(l00=asdict(ENTRY), l01=asdict(ENTRY) | change, l02={"rate": 1}, l03=None, l04=3, other=asdict(ENTRY))
    assert set(entries()) == {"00"}


# --- the picture ---------------------------------------------------------------------------------------------


def bars(picture: Any) -> list[tuple[int, float, bool]]:
    """Return row, length and whether it is hatched, of each bar."""
    (axes,) = picture.figure.axes
    return [(round(p.get_y() + p.get_height() / 2), p.get_width(), bool(p.get_hatch())) for p in axes.patches]


def test_skipped_lessons_leave_a_gap_and_the_last_has_the_last_row(no_warnings):
    assert bars(board({"06": replace(ENTRY, rate=3e6)}, "06"))[0][0] == 5
    picture = board({"00": ENTRY, "04": replace(ENTRY, rate=3000.0)}, "04")
    assert bars(picture) == [(0, 100, False), (4, 3000, False)]
    assert "30 times as fast as lesson 00" in picture.caption.en
    assert "00: 100/s, 95%; 04: 3,000/s, 95%" in picture.caption.en and len(picture.html()) > 1000


@pytest.mark.parametrize(
    "change", [{"machine": "Another"}, {"torch": "2.6.0"}, {"rule": 0}, {"device": "cuda"}]
)
def test_what_cannot_be_compared_is_hatched_named_and_not_compared(change, no_warnings):
    picture = board({"00": replace(ENTRY, **change), "02": replace(ENTRY, rate=900.0)}, "02")
    assert bars(picture) == [(0, 100, True), (2, 900, False)]
    assert "times as fast" not in picture.caption.en and "nothing to compare" in picture.caption.en.lower()
    written = [text.get_text() for text in picture.figure.axes[0].texts]
    assert any(str(replace(ENTRY, **change).machine) in text for text in written)


@pytest.mark.parametrize("known, rate, lesson, words", [
    ({"01": 100}, 105, "02", ["no gain over lesson 01"]), ({"01": 100}, 95, "02", ["no gain"]),
    ({"01": 100}, 50, "02", ["slower than"]), ({"01": 100}, 200, "02", ["2 times as fast"]),
    ({"00": 10, "01": 100}, 101, "02", ["no gain over lesson 01", "10.1 times as fast as lesson 00"]),
    ({"04": 100}, 100, "01", ["Nothing"]),  # a later lesson is no measure for an earlier one that is repeated
])  # fmt: skip
def test_the_gain_is_over_the_lesson_before_and_over_the_first(known, rate, lesson, words):
    rates = known | {lesson: rate}
    text = gain({number: replace(ENTRY, rate=float(rate)) for number, rate in rates.items()}, lesson).en
    assert all(part in text for part in words)


def run(gpus: list[dict[str, str]], **curves: float) -> dict[str, Any]:
    machine = {"gpus": gpus, "cpu": "A processor", "torch": "2.13.0+cu130"}
    found = {f"score-{key.removeprefix('l')}": {"rate": rate} for key, rate in curves.items()}
    return {"machine": machine, "date": "2026-11-23", "curves": found, "claims": {}}


@pytest.mark.parametrize("gpu", [True, False])
def test_recorded_numbers_stand_below_with_their_machine(gpu, monkeypatch, no_warnings):
    known = [run([], l00=90.0), run([], l00=80.0)] + (
        [run([{"name": "H100"}], l00=120.0, l01=9e4)] if gpu else []
    )
    monkeypatch.setattr(recordings, "runs", lambda: known)
    picture = board({"00": ENTRY}, "00")
    lengths = [length for _, length, _ in bars(picture)]
    assert lengths == ([100, 120, 9e4] if gpu else [100, 90])
    assert ("H100" in picture.beside) is gpu and ("A processor" in picture.caption.en) is not gpu
    assert "published" in picture.beside


def compared(seen: list[Any]) -> list[str]:
    return [unmarked(text) for shown in seen for text in shown._repr_mimebundle_().values()]


def test_the_checks_compare_the_same_whatever_is_saved_and_if_nothing_can_be(train, seen, monkeypatch):
    score(train)
    first, (before, after, _) = compared(seen), seen
    assert "Training" in before.html and "Trained" in after.html and compared([before]) == compared([after])
    seen.clear()
    keep(l00=asdict(ENTRY), l01=asdict(replace(ENTRY, machine="Another")), l04=asdict(ENTRY))
    monkeypatch.setattr(settings, "write", lambda *_: False)
    monkeypatch.setattr(recordings, "runs", lambda: [run([{"name": "H100"}], l00=120.0)])
    score(train)
    assert compared(seen) == first
