"""The capstone's forecast.py: alone in an empty folder, under bare torchrun, stopped, resumed, and asked for nonsense."""

import hashlib
import itertools
import json
import multiprocessing
import os
import shutil
import signal
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from bare_torchrun import run_script
from tabled import tabled

import command_line
import forecast
import informer
import prepare
import ranks
import run_folder
from checkpoint import read_state
from command_line import arguments
from notebook_torchrun.job import Job
from run_folder import Run, RunError, read_run
from series import Windows, make_series, write_series

PROJECT = Path(__file__).parents[2] / "notebooks" / "workers" / "forecast"
TINY = {"past": 24, "start": 12, "ahead": 6, "width": 8, "heads": 2, "layers": 2, "factor": 2, "dropout": 0.1}
EQUAL = {"dropout": 0.0, "attention": "plain"}  # nothing is random in training
# Runs the program with a tiny model; a rank gets a signal at a step of its first start.
RUNNER = """
import json
import os
import runpy
import signal
import sys

if __name__ == "__main__":
    from torch.optim.optimizer import register_optimizer_step_post_hook

    import informer

    informer.SIZES["small"].update(json.loads(os.environ["SETTINGS"]))
    steps, (number, rank, when) = [], os.environ["ACT"].split()

    def act(*_):
        steps.append(1)
        here = os.environ.get("RANK") == rank and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
        if here and len(steps) == int(when):
            os.kill(os.getpid(), getattr(signal, number))

    register_optimizer_step_post_hook(act)
    sys.argv[0] = "forecast.py"
    runpy.run_path("forecast.py", run_name="__main__")
"""
Start = Callable[..., Any]
Program = Callable[..., Run]


def made(folder: Path) -> Path:
    """Return a folder with the project, a short series and nothing else; its name has a space and Chinese."""
    folder /= "my 專案"
    shutil.copytree(PROJECT, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "runner.py").write_text(RUNNER, encoding="utf-8")
    make_series(400).iloc[:, :4].to_csv(folder / "short.csv", index=False)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made(tmp_path)


@pytest.fixture
def start(folder: Path) -> Start:
    """Return a function that starts the program as a reader does: ranks (0: without torchrun), options."""

    def start(world: int, *options: object, act: str = "none none 0", **settings: object) -> Any:
        variables = {"ACT": act, "SETTINGS": json.dumps(TINY | settings)}
        return run_script(folder, "runner.py", world, *options, restarts=1, **variables)

    return start


OPTIONS = "--data", "short.csv", "--epochs", 2, "--batch", 16, "--no-plots", "--watch", 0


def found(folder: Path, name: str) -> Run:
    (path,) = (folder / "results").glob(f"{name}-2*")
    return read_run(path)


def losses(run: Run) -> list[tuple[float, ...]]:
    return [(line["step"], line["loss"], line.get("val_mse", 0)) for line in run.log]


def same_weights(first: Run, second: Run) -> bool:
    nets = [read_state(run.folder / "checkpoint.pt")["net"] for run in (first, second)]
    return all(torch.equal(value, nets[1][name]) for name, value in nets[0].items())


# --- as a reader starts it ----------------------------------------------------------------------------


def launched(script: Path, ranks: int, *options: object, **variables: str) -> Any:
    """Return how the course's launcher ran a script: as torchrun does, but PyTorch is imported once for all ranks."""
    job = Job(script, options, ranks, 120, max_restarts=1, environment=variables)
    try:
        job.start()
        while job.running():
            time.sleep(0.05)
    finally:
        job.stop()
    return job.run


@pytest.mark.parametrize("world", [2, pytest.param(4, marks=pytest.mark.nightly)])
def test_more_ranks_learn_the_same_count_each_window_once_and_stop_together(
    world: int, folder: Path, program: Program, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    """In float32, up to a drift. Some divide the windows unequally, all stop when one is asked, and one goes on."""
    monkeypatch.setattr(informer, "SIZES", {"small": informer.SIZES["small"] | EQUAL})
    given = {"ACT": "SIGTERM 1 20", "SETTINGS": json.dumps(TINY | EQUAL), "CUDA_VISIBLE_DEVICES": ""}
    run = launched(folder / "runner.py", world, *OPTIONS, "--name", "stopped", **given)
    printed = [text for _, text in run.check().lines]
    assert not any("Warning" in text for text in printed), printed
    stopped = found(folder, "stopped")
    assert f"stopped: resume with --resume results/{stopped.folder.name}" in printed
    assert stopped.metrics is None and stopped.log[-1]["step"] == 20
    about = json.loads((stopped.folder / "environment.json").read_text(encoding="utf-8"))
    assert about["commit"] is None, "git does not know a copy outside of a repository"
    runs = program(name="whole"), program("--resume", stopped.folder, name="stopped")
    assert "resumed after step 20 of 30\n" in capfd.readouterr().out
    assert (stopped.folder / "environment-2.json").exists() and stopped.config["windows"]["val"] % world
    for one, two in zip(*map(losses, runs), strict=True):
        assert one == pytest.approx(two, rel=1e-3)
    tests = [own.metrics["test"]["informer"]["per_horizon"] for own in runs]
    assert tests[0] == pytest.approx(tests[1], rel=1e-3)


@pytest.mark.nightly
def test_a_rank_is_killed_and_both_go_on_bit_for_bit(folder: Path, start: Start) -> None:
    killed = start(2, *OPTIONS, "--name", "killed", act="SIGKILL 1 20")
    assert killed.returncode == 0 and "resumed after step 15 of 30\n" in killed.stdout, killed.stderr[-3000:]
    assert start(2, *OPTIONS, "--name", "whole").returncode == 0
    runs = [found(folder, name) for name in ("killed", "whole")]
    assert losses(runs[0]) == losses(runs[1]) and same_weights(*runs)
    assert runs[0].metrics["test"] == runs[1].metrics["test"]


# --- in this process ----------------------------------------------------------------------------------


@contextmanager
def started_in(folder: Path) -> Iterator[Program]:
    """Yield a function that runs the program here and returns what its folder holds; computes with one thread."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    threads = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch, torch.random.fork_rng(devices=[]):
        torch.set_num_threads(1)
        patch.chdir(folder)
        patch.setattr(informer, "SIZES", {"small": informer.SIZES["small"] | TINY})
        for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "TORCHELASTIC_RUN_ID"):
            patch.delenv(name, raising=False)

        def program(*options: object, name: str = "run") -> Run:
            words = options if "--resume" in options else (*OPTIONS, "--name", name, *options)
            patch.setattr(sys, "argv", ["forecast.py", "--cpu", *map(str, words)])
            forecast.main()
            return found(folder, name)

        yield program
    torch.set_num_threads(threads)
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture
def program(folder: Path) -> Iterator[Program]:
    with started_in(folder) as program:
        yield program


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a run that nothing has disturbed."""
    folder = made(tmp_path_factory.mktemp("whole"))
    with started_in(folder) as program:
        return program(name="whole")


@pytest.fixture
def at_step(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that makes something happen before a step, counted from 0."""
    take = forecast.train_step

    def at_step(step: int, act: Callable[[], object]) -> None:
        def acting(number: int, *rest: Any) -> Any:
            if number == step:
                act()
            return take(number, *rest)

        monkeypatch.setattr(forecast, "train_step", acting)

    return at_step


def test_alone_it_makes_its_data_and_leaves_a_whole_folder(
    folder: Path, program: Program, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    words = "forecast.py --cpu --epochs 1.5 --batch 32 --watch 0.05 --name first"
    monkeypatch.setattr(sys, "argv", words.split())
    monkeypatch.setattr(prepare, "write_series", partial(write_series, rows=1000))
    forecast.main()
    run = capfd.readouterr()
    assert not run.err and "series.csv does not exist and is made\n" in run.out
    assert run.out.startswith("1 rank: cpu (") and "\nresults: results/first-2" in run.out
    assert len((folder / "series.csv").read_text().splitlines()) == 1001
    left = found(folder, "first")
    assert {path.stem for path in left.folder.glob("plots/*.png")} == {"loss", "forecast", "devices"}
    assert (left.config["steps_per_epoch"], left.config["steps"]) == (21, 32) and left.devices
    assert {"step", "epoch", "seconds", "loss", "windows_per_second"} <= left.log[0].keys()
    assert [line["step"] for line in left.log if "val_mse" in line] == [21, 32] and len(left.log) == 32
    assert {"informer", "last value"} < left.metrics["test"].keys() and left.metrics["windows_per_second"] > 0
    assert all(len(own["per_horizon"]) == TINY["ahead"] for own in left.metrics["test"].values())
    assert {"past", "truth", "forecast", "column"} == left.metrics["examples"][0].keys()
    about = json.loads((left.folder / "environment.json").read_text(encoding="utf-8"))
    program = about["program"]["forecast.py"]
    assert program == hashlib.sha256((folder / "forecast.py").read_bytes()).hexdigest()
    assert about["torch"] == torch.__version__ and about["devices"] and len(about["ranks"]) == 1


@pytest.mark.parametrize("step", [15, *(pytest.param(n, marks=pytest.mark.nightly) for n in (1, 29))])
def test_stopped_by_ctrl_c_at_any_step_it_goes_on_bit_for_bit(
    step: int, program: Program, whole: Run, at_step: Any
) -> None:
    at_step(step - 1, lambda: signal.raise_signal(signal.SIGINT))
    stopped = program()
    assert stopped.metrics is None and stopped.log[-1]["step"] == step
    torch.manual_seed(123)
    again = program("--resume", stopped.folder)
    assert losses(again) == losses(whole) and same_weights(again, whole)
    assert again.metrics["test"] == whole.metrics["test"]
    assert program("--resume", stopped.folder) == again, "a finished run stays as it is"


def test_a_file_named_stop_ends_it_too(program: Program, at_step: Any) -> None:
    at_step(6, lambda: (next(Path("results").iterdir()) / "stop").touch())
    stopped = program()
    assert stopped.metrics is None and stopped.log[-1]["step"] == 7
    assert program("--resume", stopped.folder).metrics and not (stopped.folder / "stop").exists()


@pytest.mark.nightly
def test_sigterm_to_all_processes_of_a_job_stops_it(program: Program, at_step: Any) -> None:
    """Slurm sends it to every process, torchrun passes it on to each rank and its loader's workers, more than once."""

    def ask() -> None:
        for child in multiprocessing.active_children():
            os.kill(child.pid, signal.SIGTERM)
        for _ in range(2):
            signal.raise_signal(signal.SIGTERM)

    at_step(6, ask)
    stopped = program("--workers", 1, name="workers")
    assert stopped.metrics is None and stopped.log[-1]["step"] == 7


@pytest.mark.parametrize("world", [1, 2, 3, 5])
def test_ranks_without_a_window_count_none(world: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three windows each is counted once, however many ranks there are."""
    values, marks = torch.randn(32, 2), torch.randn(32, 4)
    windows = Windows(values, marks, range(24, 32), past=24, ahead=6)
    sums: list[torch.Tensor] = []
    monkeypatch.setattr(forecast, "add_up", lambda own: sums.append(own.clone()))
    for rank in range(world):
        options = Namespace(rank=rank, world=world, batch=2, device=torch.device("cpu"))
        options.precision, options.settings, options.config = "float32", {"ahead": 6}, {"columns": [1, 2]}
        forecast.evaluate(Last(), windows, options)
    truth = torch.stack([windows[n][3] - windows[n][0][-1:] for n in range(3)]).double()
    assert len(windows) == 3 and torch.allclose(sum(sums)[0], truth.square().sum((0, 2)))


class Last(torch.nn.Module):
    """Repeats the last value."""

    def forward(self, past: torch.Tensor, _: torch.Tensor, ahead: torch.Tensor) -> torch.Tensor:
        return past[:, -1:].expand(-1, ahead.shape[1], -1)


@pytest.mark.nightly
def test_workers_read_the_same_windows(whole: Run, folder: Path, start: Start) -> None:
    run = start(0, *OPTIONS, "--name", "workers", "--workers", 1)
    assert run.returncode == 0 and not run.stderr, run.stderr[-3000:]
    assert losses(whole) == losses(found(folder, "workers"))


@pytest.mark.parametrize("precision", ["float16", pytest.param("bfloat16", marks=pytest.mark.nightly)])
def test_low_precision_learns_nearly_the_same(precision: str, program: Program, whole: Run) -> None:
    low = program("--precision", precision)
    assert losses(low) != losses(whole)
    assert low.log[-1]["val_mse"] == pytest.approx(whole.log[-1]["val_mse"], rel=0.1)
    assert bool(read_state(low.folder / "checkpoint.pt")["scaler"]) == (precision == "float16")


def test_another_model_window_and_attention_are_trained_as_asked(program: Program) -> None:
    """Each names itself in its folder; an Informer's start is a part of its past, however short that is."""
    small = program("--model", "mlp", "--past", 30, "--ahead", 3, "--epochs", 1, name="mlp")
    assert small.config["settings"] == {"past": 30, "ahead": 3, "width": 128}
    assert next(iter(small.metrics["test"])) == "mlp" and len(small.metrics["examples"][0]["past"]) == 30
    plain = program("--attention", "plain", "--past", 10, "--epochs", 1, name="plain")
    assert plain.config["settings"] == TINY | {"decoder_layers": 1, "distil": True, "subtract": "last"} | {
        "attention": "plain", "past": 10, "start": 10,
    }  # fmt: skip
    assert arguments(["--model", "mlp"]).name == "mlp" and arguments([]).name == "informer"


@tabled
def test_bad_values_are_named_with_what_is_allowed(
    words: str, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        arguments(words.split())
    assert ended.value.code == 2 and error in capsys.readouterr().err


def test_help_explains_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        arguments(["--help"])
    text = " ".join(capsys.readouterr().out.split())
    for action in command_line.make_parser()._actions:
        assert action.help and action.option_strings[-1] in text
    assert f"(default: {command_line.TRAINING['small']['epochs']} if small, " in text


@tabled
def test_another_run_is_not_resumed(words: str, error: str, tmp_path: Path, capsys: Any) -> None:
    options = vars(arguments(["--batch", "16", "--epochs", "2"]))
    config = {name: options[name] for name in command_line.LASTING} | {"digest": "", "settings": TINY}
    (tmp_path / "config.json").write_text(json.dumps(config | {"data": "short.csv"}))
    assert arguments(["--resume", str(tmp_path), "--cpu", "--batch", "16"]).settings == TINY
    with pytest.raises(SystemExit):
        arguments(["--resume", str(tmp_path), *words.split()])
    assert error in capsys.readouterr().err


def test_what_cannot_go_on_says_why_without_a_traceback(
    program: Program, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reason(*options: object) -> str:
        with pytest.raises(SystemExit) as ended:
            program(*options)
        return str(ended.value)

    assert reason("--data", "none.csv").startswith("none.csv cannot be used:")
    (folder / "bad.csv").write_text("date,a\n2024-01-01,x\n")
    assert reason("--data", "bad.csv").startswith("bad.csv cannot be used:")
    assert reason("--precision", "tf32").endswith("tf32 exists on GPUs only: take float32")
    assert reason("--batch", 5000).startswith("--batch 5000 is more than the ")
    assert "cannot take a run's folder" in reason("--results", folder / "short.csv")
    assert reason("--resume", folder).endswith("is no run's folder: it has no config.json")
    with monkeypatch.context() as ranked:
        for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"):
            ranked.setenv(name, "2" if "SIZE" in name else "1")
        assert reason("--batch", 15) == "rank 1: --batch 15 must be a multiple of 2 ranks"
        ranked.setattr(torch.cuda, "device_count", lambda: 1)
        with pytest.raises(RunError, match=r"has 1 GPUs for 2 ranks: start fewer, or give --cpu"):
            ranks.start(Namespace(batch=16, cpu=False))
    assert reason("--learning-rate", 1e30, "--name", "wild").startswith("the loss is not finite any more")
    whole = program(name="whole")
    (whole.folder / "metrics.json").unlink()
    make_series(420).iloc[:, :4].to_csv(folder / "short.csv", index=False)
    assert "began with other data than" in reason("--resume", whole.folder)
    make_series(400).iloc[:, :4].to_csv(folder / "short.csv", index=False)
    (whole.folder / "checkpoint.pt").write_bytes(b"half")
    assert "checkpoint.pt cannot be read as a checkpoint" in reason("--resume", whole.folder)


def test_a_full_disk_names_the_file_and_how_to_go_on(
    program: Program, folder: Path, whole: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync, count = os.fsync, itertools.count()

    def full(number: int) -> None:
        if next(count) >= 9:  # after the first epoch
            raise OSError(28, "No space left on device")
        sync(number)

    said = r"No space left on device\nYou can go on from here: --resume results/run-"
    with monkeypatch.context() as patch, pytest.raises(SystemExit, match=said):
        patch.setattr(run_folder.os, "fsync", full)
        program()
    stopped = found(folder, "run")
    assert stopped.metrics is None and (stopped.folder / "checkpoint.pt").exists()
    assert losses(program("--resume", stopped.folder)) == losses(whole)


def test_the_best_weights_are_tested_not_the_last(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    errors, seen = iter([1.0, 2.0, 3.0]), []  # validation after epoch 0 and 1, then the test
    evaluate = forecast.evaluate

    def noted(net: torch.nn.Module, *given: Any) -> dict[str, Any]:
        seen.append({name: value.clone() for name, value in net.state_dict().items()})
        return evaluate(net, *given) | {"mse": next(errors)}

    monkeypatch.setattr(forecast, "evaluate", noted)
    run = program()
    assert run.metrics["best_epoch"] == 0 and run.metrics["val_mse"] == 1
    best = read_state(run.folder / "best.pt")["net"]
    same = [all(torch.equal(value, net[name]) for name, value in best.items()) for net in seen]
    assert same == [True, False, True]


@pytest.mark.nightly
def test_a_compiled_model_learns_the_same(program: Program, whole: Run) -> None:
    assert program("--compile").log[-1]["val_mse"] == pytest.approx(whole.log[-1]["val_mse"], rel=0.1)
