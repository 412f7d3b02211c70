"""The automatic half of the final task's rubric: made-up folders, three reference projects, cheating, and the solution."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import reduce
from hashlib import sha256
from operator import getitem
from pathlib import Path
from typing import Any

import pytest
from html_nesting import assert_nested
from lesson_cells import NOTEBOOKS
from tabled import tabled

import baselines
from course_utils import lesson
from lesson_08.final_task import POINTS, Refused, check_project, grade
from series import read_series, windows_of, write_series

AHEAD = 4


@pytest.fixture(autouse=True)
def project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(NOTEBOOKS[0].parent)
    lesson.use("08")


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a CSV file, its digest, and the errors of its baselines, computed by the project."""
    path = tmp_path_factory.mktemp("data") / "own.csv"
    write_series(path, rows=900, seed=3)
    found = read_series(path)
    windows = windows_of(found, 12, AHEAD)
    truth = baselines.truth(windows["test"])
    forecasts = baselines.test_forecasts(*windows.values(), periods=(24,))
    errors = {name: baselines.errors(own, truth) for name, own in forecasts.items()}
    return path, sha256(found.values.numpy().tobytes()).hexdigest()[:16], errors


def errors(mse: float) -> dict[str, Any]:
    return {"mse": mse, "mae": mse / 2, "per_horizon": [mse * share for share in (0.7, 0.9, 1.1, 1.3)]}


@pytest.fixture
def make(series: Any, tmp_path: Path) -> Callable[..., Path]:
    """Return a function that makes the folder of a finished run, as forecast.py leaves it."""
    path, digest, others = series

    def make(name: str, *, factor: float = 0.8, rate: float = 100.0, **config: object) -> Path:
        folder = tmp_path / "results" / name
        (folder / "plots").mkdir(parents=True)
        own = errors(factor * min(error["mse"] for error in others.values()))
        lines = [
            {"step": step, "epoch": step // 4, "loss": 1 / step, "windows_per_second": rate + step % 2}
            | ({"val_mse": 1 / step + 0.1} if step % 4 == 0 else {})
            for step in range(1, 13)
        ]
        written = {
            "config.json": {"seed": 0, "steps": 12, "batch": 8, "settings": {"past": 12, "ahead": AHEAD}}
            | {"data": str(path), "digest": digest, **config},
            "environment.json": {"torch": "2.13.0", "devices": ["CPU"], "program": {"a.py": "0" * 64}},
            "metrics.json": {"test": {"informer": own, **others}, "val_mse": 1 / 12 + 0.1}
            | {"windows_per_second": rate + 0.5, "seconds": 3.0},
        }
        for file, content in written.items():
            (folder / file).write_text(json.dumps(content), encoding="utf-8")
        (folder / "log.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
        for file in ("checkpoint.pt", "plots/loss.png", "plots/forecast.png", "plots/devices.png"):
            (folder / file).write_bytes(b"x")
        return folder

    return make


def points(folder: Path) -> dict[str, int]:
    return {row.criterion: row.points for row in grade(folder)}


def refusal(folder: Path) -> str:
    with pytest.raises(Refused) as refused:
        grade(folder)
    return str(refused.value)


# --- three reference projects --------------------------------------------------------------------------------


def good(make: Callable[..., Path]) -> Path:
    make("slow", rate=100)
    folder = make("fast", rate=400, batch=64)
    (folder / "environment-2.json").write_text("{}", encoding="utf-8")
    return folder.parent


def middling(make: Callable[..., Path]) -> Path:
    """Worse than the linear model, and never resumed; the faster run learned less."""
    make("slow", factor=1.05)
    return make("fast", factor=1.4, rate=400, batch=64).parent


def weak(make: Callable[..., Path]) -> Path:
    """One run, which is worse than any baseline, without its program's hash and without plots."""
    folder = make("only", factor=9)
    shutil.rmtree(folder / "plots")
    (folder / "environment.json").write_text('{"torch": "2.13.0", "devices": ["CPU"]}', encoding="utf-8")
    return folder.parent


def test_three_projects_are_told_apart(make: Callable[..., Path], tmp_path: Path) -> None:
    found = {}
    for project in (good, middling, weak):
        found[project] = points(project(make))
        shutil.rmtree(tmp_path / "results")
    sums = [sum(rows.values()) for rows in found.values()]
    assert sums[0] == 50 and 30 <= sums[1] <= 40 and sums[2] <= 25, found
    assert found[middling]["linear"] == 0 and found[middling]["fast"] == 7 and found[middling]["simple"] == 5
    assert (found[weak]["complete"], found[weak]["repeatable"], found[weak]["simple"]) == (4, 6, 0)


def test_a_run_alone_is_graded_and_the_table_is_whole(make: Callable[..., Path]) -> None:
    assert sum(POINTS.values()) == 50
    shown = check_project(make("only"))
    assert_nested(shown.html)
    assert "33 of 50 points" in shown.text and "needs" not in shown.text
    assert "resumed" in shown.text and "得 33 分（滿分 50 分）" in shown.html


def test_results_that_were_copied_with_their_data_are_graded_and_without_them_less(
    make: Callable[..., Path], series: Any, tmp_path: Path
) -> None:
    folder = make("only", data=f"/nowhere/{series[0].name}")
    assert points(folder)["tested"] == 3
    shutil.copy(series[0], tmp_path)
    assert points(folder)["tested"] == 7


# --- nothing, and cheating -----------------------------------------------------------------------------------


def test_no_results_are_no_points(tmp_path: Path, make: Callable[..., Path]) -> None:
    assert "There is no run" in refusal(tmp_path / "nowhere") and "There is no run" in refusal(tmp_path)
    (make("killed") / "metrics.json").unlink()
    assert "none has finished" in refusal(tmp_path / "results")
    shown = check_project(tmp_path / "results")
    assert_nested(shown.html)
    assert "course-notyet" in shown.html and "50" not in shown.text


@tabled
def test_numbers_that_contradict_each_other_are_refused(
    words: str, file: str, within: list[str], put: dict[str, Any], make: Callable[..., Path]
) -> None:
    path = make("only") / file
    content = json.loads(path.read_text(encoding="utf-8"))
    reduce(getitem, within, content).update(put)
    path.write_text(json.dumps(content), encoding="utf-8")
    assert words in refusal(path.parent)


def test_a_log_with_holes_or_repetitions_is_refused(make: Callable[..., Path]) -> None:
    folder = make("only")
    lines = (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
    for kept in ([], lines[:-1], [*lines, lines[-1]]):
        (folder / "log.jsonl").write_text("\n".join(kept), encoding="utf-8")
        assert "whole run" in refusal(folder) or "horizon" in refusal(folder)


# --- the worked solution -------------------------------------------------------------------------------------


@pytest.mark.nightly
def test_the_worked_solution_gets_all_points_for_what_does_not_depend_on_the_machine(tmp_path: Path) -> None:
    script = NOTEBOOKS[0].parent / "workers" / "final_task_solution.py"
    hidden = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # without the course
    command = [sys.executable, "-P", str(script), str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, env=hidden, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    found = points(tmp_path / "results")
    best = {"complete": 6, "tested": 7, "learned": 4, "simple": 5, "linear": 3, "resumed": 7}
    assert {name: found[name] for name in best} == best
    assert found["repeatable"] == 8 and found["fast"] >= 4, "the gain depends on the machine"
    page = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "linear, all columns" in page and "windows per second" in page and len(page.splitlines()) < 40
