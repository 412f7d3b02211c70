"""The table of all runs, what a finished run is, the picture of a forecast."""

import json
import os
from math import isclose, isnan
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from html_nesting import assert_nested
from tabled import tabled

from bilingual import Bilingual
from lesson_08 import compare_runs, finished_run, forecast_picture

ERRORS = {"mse": 0.2, "mae": 0.3, "per_horizon": [0.1, 0.2, 0.3]}
METRICS = {"test": {"informer": ERRORS, "last value": ERRORS}, "windows_per_second": 1234.5}
CONFIG = {"batch": 64, "precision": "bfloat16", "steps": 200, "epochs": 2}
CONFIG |= {"data": str(finished_run.SERIES.absolute())}
RANKS = ["cuda:0 (NVIDIA <H100>)", "cuda:1 (NVIDIA <H100>)"]
ENVIRONMENT = {"ranks": RANKS, "devices": ["NVIDIA <H100>", "NVIDIA <H100>", "A processor"]}


def a_run(results: Path, name: str, files: dict[str, Any] | None = None, steps: int = 200) -> Path:
    """Write a run's folder; a file that is given as a text is written as it is, and False is left out."""
    folder = results / name
    folder.mkdir(parents=True)
    log = [{"step": step, "seconds": step / 10, "loss": 1.0} for step in range(50, steps + 1, 50)]
    for line in log[1::2]:
        line["val_mse"] = 10 / line["step"]
    given = {"config.json": CONFIG, "environment.json": ENVIRONMENT, "metrics.json": METRICS}
    given |= {"log.jsonl": "".join(json.dumps(line) + "\n" for line in log)}
    for file, content in (given | (files or {})).items():
        if content is not False:
            text = content if isinstance(content, str) else json.dumps(content)
            (folder / file).write_text(text, encoding="utf-8")
    return folder


def test_a_finished_run(tmp_path: Path) -> None:
    run = compare_runs.summary(a_run(tmp_path, "informer-1"))
    assert run.state == compare_runs.TEXTS["finished"]
    assert run.cells == ["informer-1", "NVIDIA <H100>", "bfloat16, 64, 2", "1,234", "0.050", "20.0"]
    assert run.curve == [(10.0, 0.1), (20.0, 0.05)]


@tabled
def test_whatever_has_happened_to_a_run(
    files: dict[str, Any], state: str, known: float, steps: int | None, tmp_path: Path
) -> None:
    run = compare_runs.summary(a_run(tmp_path, "odd <name>", files, 200 if steps is None else steps))
    assert (run.state.en, run.cells[4]) == (state, "–" if isnan(known) else f"{known:.3f}")
    shown = compare_runs.compare_runs(tmp_path)._repr_mimebundle_()
    assert_nested(shown["text/html"])
    assert "odd &lt;name&gt;" in shown["text/html"] and state in shown["text/plain"]


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    folder = a_run(tmp_path, "run")
    (folder / "log.jsonl").write_bytes(b"\xff\xfe\n" + b'{"step": 5, "seconds": 1, "val_mse": 0.5}\n')
    assert compare_runs.summary(folder).curve == [(1, 0.5)]
    (folder / "config.json").write_bytes(b"\xff\xfe\x00")
    assert compare_runs.summary(folder).state.en == "damaged: config.json"


def test_the_table_lists_the_oldest_run_first_and_no_hidden_folder(tmp_path: Path) -> None:
    for age, name in enumerate(("new", "old", ".new-abc")):
        folder = a_run(tmp_path, name)
        os.utime(folder, (10**9 - age, 10**9 - age))
    (tmp_path / "notes.txt").write_text("no run")
    shown = compare_runs.compare_runs(tmp_path)._repr_mimebundle_()
    first, second = shown["text/plain"].splitlines()
    assert "old |" in first and "new |" in second
    assert shown["text/html"].count("<tr>") == 3 and shown["text/html"].count("<img") == 1


def test_no_results_yet(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        assert "There is no run" in compare_runs.compare_runs(folder)._repr_mimebundle_()["text/plain"]


# --- the newest finished run ----------------------------------------------------------------------------------


def test_the_newest_run_that_was_tested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finished_run, "RESULTS", tmp_path)
    monkeypatch.setattr(finished_run, "launch", lambda *_, **__: pytest.fail("there is a finished run"))
    runs = {
        "damaged": {"metrics.json": "{"},
        "nested too deeply": {"metrics.json": "[" * 100_000},
        "other": {"metrics.json": {"test": {"informer": ERRORS}}},
        "of another series": {"config.json": CONFIG | {"data": "/short.csv"}},
        "newest": {},
        "older": {"metrics.json": METRICS | {"windows_per_second": 1}},
    }
    for age, (name, files) in enumerate(runs.items()):
        file = a_run(tmp_path, name, files) / "metrics.json"
        os.utime(file, (10**9 - age, 10**9 - age))
    a_run(tmp_path, "unfinished", {"metrics.json": False})
    a_run(tmp_path / "short", "of another series")
    assert finished_run.finished_runs("informer") == [METRICS]


def test_a_short_run_is_made_of_each_model_that_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def launch(script: str, forecast: str, options: str, *runs: str, **_: object) -> Any:
        asked.append(runs)
        return SimpleNamespace(check=lambda: None)

    a_run(tmp_path, "informer-1")
    monkeypatch.setattr(finished_run, "RESULTS", tmp_path)
    monkeypatch.setattr(finished_run, "launch", launch)
    with pytest.raises(RuntimeError, match="left no run"):
        finished_run.finished_runs("informer", "mlp")
    assert asked == [("--model mlp --epochs 3",)]


# --- the picture ----------------------------------------------------------------------------------------------


def test_the_recorded_run_beats_all_baselines() -> None:
    """What 8.8 says of it: better than everything on the whole, but not than the linear map in the first hours."""
    recorded = forecast_picture.whole_run()
    test = recorded["test"]
    model, linear = test.pop("informer"), test["linear, all columns"]
    assert model["mse"] < 0.9 * min(own["mse"] for own in test.values()), (
        "the margin is gone: change the text"
    )
    assert model["per_horizon"][0] > linear["per_horizon"][0]
    assert model["per_horizon"][-1] < linear["per_horizon"][-1]
    for own in (model, *test.values()):
        assert isclose(sum(own["per_horizon"]) / 24, own["mse"], rel_tol=0.01)
    assert Bilingual(**recorded["made"])
