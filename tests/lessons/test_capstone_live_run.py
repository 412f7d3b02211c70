"""The live view of lesson 08: what it reads, what it shows, and how it ends. (Its button: tests/browser/test_live_run.py.)"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from html_nesting import assert_nested

from lesson_08 import live_run
from lesson_08.run_log import Lines, Progress, number
from lesson_08.run_view import MOST_POINTS, clock, end_box, losses, panel, thinned

SCRIPT = Path(__file__).with_name("made_up_run.py")


def write(path: Path, *lines: object) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(json.dumps(line) + "\n" for line in lines))


# --- what is read ---------------------------------------------------------------------------------------------


def test_only_what_is_new_and_whole_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = Lines(path)
    assert lines.new() == []
    write(path, {"step": 1})
    with path.open("a") as file:
        file.write('{"step": 2, "lo')
    assert lines.new() == [{"step": 1}]
    assert lines.new() == []
    with path.open("a") as file:
        file.write('ss": 0.5}\nnonsense\n[1]\n' + "[" * 100_000 + "\n")
    write(path, {"step": 3})
    assert lines.new() == [{"step": 2, "loss": 0.5}, {"step": 3}]
    path.write_text('{"step": 1}\n')
    assert lines.new() == [{"step": 1}]
    given = (1, 0.5, True, "1", float("nan"), None)
    assert [number({"loss": value}, "loss") for value in given] == [1, 0.5, None, None, None, None]


def test_progress_of_an_empty_folder_and_of_none(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        progress = Progress(folder).read()
        assert (progress.step, progress.steps, progress.left, progress.metrics) == (0, 0, None, None)
        assert_nested(panel("x", "running", progress))


def test_progress_and_time_left(tmp_path: Path) -> None:
    progress = Progress(tmp_path)
    (tmp_path / "config.json").write_text('{"steps": 100, "epochs": 4')  # half written
    assert progress.read().steps == 0
    (tmp_path / "config.json").write_text('{"steps": 100, "epochs": 4}')
    last = {"step": 25, "seconds": 5.0, "loss": float("nan"), "val_mse": 0.7, "epoch": 0}
    write(tmp_path / "log.jsonl", {"step": 10, "seconds": 2.0, "loss": 1.0, "epoch": 0}, last)
    devices = [{"device": "cpu", "busy": 10 * n, "cost": 0.1 * n} for n in (1, 2)]
    write(tmp_path / "devices.jsonl", *devices)
    progress.read()
    assert (progress.step, progress.left, progress.cost) == (25, 15.0, 0.2)
    assert progress.points == [(10, 1.0)] and progress.errors == [(25, 0.7)]
    assert progress.devices["cpu"]["busy"] == 20


def test_a_resumed_run_forgets_the_lost_future(tmp_path: Path) -> None:
    progress = Progress(tmp_path)
    write(tmp_path / "log.jsonl", *({"step": step, "loss": 1.0} for step in (5, 10, 15, 20)))
    progress.read()
    (tmp_path / "log.jsonl").write_text('{"step": 5, "loss": 1.0}\n{"step": 10, "loss": 1.0}\n')
    assert progress.read().points == [(5, 1.0), (10, 1.0)]
    write(tmp_path / "log.jsonl", {"step": 15, "loss": 2.0})
    assert progress.read().points == [(5, 1.0), (10, 1.0), (15, 2.0)]


# --- what is shown --------------------------------------------------------------------------------------------


def test_times_as_people_say_them() -> None:
    said = [clock(seconds).en for seconds in (None, 0.4, 59.6, 75, 3600, 86_399)]
    assert said == ["?", "0 s", "1 min 00 s", "1 min 15 s", "1 h 00 min", "23 h 59 min"]


def test_a_long_run_is_drawn_with_few_points() -> None:
    points = [(float(step), 1.0) for step in range(123_457)]
    assert len(thinned(points)) <= 2 * MOST_POINTS and thinned(points)[-1] == points[-1]
    assert thinned([]) == [] and thinned(points[:1]) == points[:1]
    drawn = losses(Progress(Path(), {"steps": 1.0}, [(5.0, 0.0)], [(5.0, 0.0)], {"step": 5.0}))
    assert "nan" not in drawn and "inf" not in drawn


def test_the_panel_shows_every_device_by_name() -> None:
    devices = {
        "cuda:0": {"name": "NVIDIA <H100>", "busy": 97, "memory": 6e10, "total": 8e10},
        "cuda:1": {"name": "Tesla T4", "busy": None, "memory": None, "total": None},
        "cpu": {"name": None, "device": "cpu", "busy": 200.0, "memory": 1, "total": 0},
    }
    log = {"step": 30, "epoch": 1, "seconds": 60.0}
    config, points = {"steps": 120, "epochs": 4}, [(10, 1.0), (30, 0.5)]
    progress = Progress(Path(), config, points, [(30, 0.6)], log, devices)
    for state in ("starting", "running", "stopping"):
        page = panel("torchrun <x>", state, progress)
        assert_nested(page)
        assert "NVIDIA &lt;H100&gt;" in page and "Tesla T4" in page and "torchrun &lt;x&gt;" in page
        assert "epoch 2/4, step 30/120" in page and "3 min 00 s left" in page and "還要 3 分 00 秒" in page
        assert "60 GB / 80 GB" in page and page.count("tells nothing") == 1


# --- how it ends ----------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def no_running_loop() -> Iterator[None]:
    """Hide Playwright's event loop, which counts as running in this thread after a browser test."""
    loop = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(loop)


@pytest.fixture
def results(tmp_path: Path) -> Iterator[Path]:
    """Return a folder for a run; afterwards nobody may run the script any more."""
    yield tmp_path / "run"
    assert ranks(tmp_path) == []


def ranks(folder: Path) -> list[int]:
    """Return the processes whose command names the folder."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or ()
        found += [process.pid] * any(str(folder) in word for word in words)
    return found


def watch(results: Path, steps: int, pause: float, end: str, processes: int = 2) -> live_run.Watched:
    """Watch the made-up run to its end."""
    return asyncio.run(live_run.watch_run(str(SCRIPT), results, steps, pause, end, processes=processes))


def test_a_run_that_fails_is_explained(results: Path, capsys: Any) -> None:
    """Its traceback, what the error means, and (no checkpoint was left) no advice to resume."""
    run = watch(results, 8, 0.05, "fails")
    assert run.state == "failed" and run.launched.failure.rank == 1
    box = end_box("x", "failed", Progress(results).read(), run.launched)
    assert_nested(box.html)
    assert "CUDA error: out of memory" in box.html and "nvidia-smi" in box.html and "--resume" not in box.html
    (results / "checkpoint.pt").touch()
    assert "--resume" in end_box("x", "failed", Progress(results).read(), run.launched).html
    assert "RuntimeError" in capsys.readouterr().out


def test_a_run_that_never_begins(results: Path) -> None:
    run = watch(results, 8, 0.05, "never begins", processes=1)
    assert (run.state, run.folder) == ("failed", None)
    assert "must be a multiple of 2 ranks" in run.launched.failure.text


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
def test_an_interrupt_stops_the_run_with_a_checkpoint(results: Path, capsys: Any) -> None:
    """(The second one, which kills a run that does not listen: tests/browser/test_live_run.py.)"""

    def press() -> None:
        while not (results / "log.jsonl").exists():
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=press)
    thread.start()
    run = watch(results, 20_000, 0.05, "well")
    thread.join()
    assert run.state == "stopped" and (results / "checkpoint.pt").exists()
    assert f"--resume {results.as_posix()}" in capsys.readouterr().out
    assert signal.getsignal(signal.SIGINT) is before


def test_a_missing_script_or_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no file"):
        asyncio.run(live_run.watch_run(str(tmp_path / "none.py")))
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        asyncio.run(live_run.watch_folder(tmp_path / "none"))


def test_a_run_of_a_terminal_is_watched_and_stopped(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, str(SCRIPT), str(results), "20000", "0.05", "well"]
    update = live_run.View.update

    def pressed(view: Any) -> None:
        if view.progress.step:
            view.stop()
        update(view)

    monkeypatch.setattr(live_run.View, "update", pressed)
    monkeypatch.setattr(live_run, "AFTER_STOP", 1.0)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            while not (results / "config.json").exists():
                time.sleep(0.05)
            run = asyncio.run(live_run.watch_folder(results))
            assert process.wait(60) == 0
        finally:
            process.kill()  # otherwise the end of the block would wait for it
    assert (run.state, run.launched) == ("stopped", None)


def test_how_the_end_of_a_run_of_a_terminal_is_seen(tmp_path: Path) -> None:
    def written(name: str, ago: float) -> bool:
        """Write a file as if it had been so many seconds ago, and return whether the run counts as ended."""
        (tmp_path / name).write_text("{}")
        os.utime(tmp_path / name, (time.time() - ago,) * 2)
        return live_run._ended(tmp_path, 60)

    assert not written("config.json", 30)
    assert asyncio.run(live_run.watch_folder(tmp_path, silent=0)).state == "silent"
    assert not written("checkpoint.pt", 0), "a checkpoint of an epoch is no end"
    assert written("stop", 30)
    assert not written("checkpoint.pt", 31), "it has not stopped yet"
    (tmp_path / "metrics.json").write_text("{}")
    assert asyncio.run(live_run.watch_folder(tmp_path)).state == "finished"
