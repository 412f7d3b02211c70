"""The results folder of the capstone: readable whenever a run is killed, and what it leads to stays the same."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import run_folder
from run_folder import Log, RunError, folder_of_job, new_folder, read_lines, read_run, write

PROJECT = Path(__file__).parents[2] / "notebooks" / "workers" / "forecast"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each run is forked, so that PyTorch is loaded once")
@pytest.mark.parametrize(
    ("kills", "seed"), [(2, 0), *(pytest.param(50, seed, marks=pytest.mark.nightly) for seed in range(1, 6))]
)
def test_killed_at_random_moments_a_run_stays_readable_and_ends_the_same_bit_for_bit(
    kills: int, seed: int, tmp_path: Path
) -> None:
    command = [sys.executable, Path(__file__).with_name("killed_runs.py"), PROJECT, tmp_path, kills, seed]
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    limit = {"timeout": 60 + 12 * kills}
    run = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True, **limit)
    assert run.returncode == 0, run.stderr[-4000:]
    met = json.loads(run.stdout.splitlines()[-1])["met"]
    assert sum(met.values()) == kills and len(met) > kills**0.5, "at different moments"


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    folders = [new_folder(tmp_path / "a b" / "結果", "run", {"n": n}, {"torch": "x"}) for n in range(3)]
    assert len(set(folders)) == 3 and [read_run(folder).config["n"] for folder in folders] == [0, 1, 2]
    assert folders[0].name in folders[1].name, "two runs of the same second get a number"
    run_folder.write_environment(folders[0], {"torch": "y"})
    assert json.loads((folders[0] / "environment.json").read_text())["torch"] == "x"
    assert json.loads((folders[0] / "environment-2.json").read_text())["torch"] == "y"
    assert not [path for path in folders[0].parent.iterdir() if path.name.startswith(".")]


def test_a_full_disk_leaves_the_old_file_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "x", "old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(run_folder.os, "fsync", full)
    with pytest.raises(RunError, match=r"x cannot be written: No space left on device"):
        write(tmp_path / "x", "new, and longer")
    assert (tmp_path / "x").read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_lines_that_a_kill_has_cut_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(b'{"step": 1}\n{"st{"step": 2}\n\xff\n{"step": 3}\n{"step": 4')
    assert read_lines(tmp_path / "lines") == [{"step": 1}, {"step": 3}]
    assert read_lines(tmp_path / "none") == []


def test_the_log_forgets_what_came_after_the_checkpoint(tmp_path: Path) -> None:
    log = Log(tmp_path, 0, active=True)
    for step in (1, 2, 3, 4):
        log.add({"step": step, "loss": 1 / step}, sync=step == 2)
    log.close()
    Log(tmp_path, 2, active=False).add({"step": 9}, sync=True)  # of another rank
    log = Log(tmp_path, 2, active=True)
    assert [line["step"] for line in read_lines(tmp_path / "log.jsonl")] == [1, 2]
    log.add({"step": 3, "loss": 9.0, "val_mse": 2.0}, sync=True)
    log.close()
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    board = accumulator.EventAccumulator(str(tmp_path))
    board.Reload()
    assert [(event.step, event.value) for event in board.Scalars("loss/train")] == [(1, 1), (2, 0.5), (3, 9)]
    assert [event.step for event in board.Scalars("loss/validation")] == [3]


def test_a_run_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for name in ("config.json", "metrics.json"):
        (tmp_path / name).write_text("{")
        with pytest.raises(RunError, match="cannot be read"):
            read_run(tmp_path)
        (tmp_path / name).write_text("{}")


def test_ranks_that_torchrun_restarts_find_their_folder(tmp_path: Path) -> None:
    folders = [new_folder(tmp_path, f"run{n}", {"job": f"id{n}"}, {}) for n in range(3)]
    assert folder_of_job(tmp_path, "id1") == folders[1] and folder_of_job(tmp_path, "other") is None
