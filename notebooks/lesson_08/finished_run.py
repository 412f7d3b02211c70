"""The newest finished runs of models on the whole series; where there is none, one is made."""

from pathlib import Path
from typing import Any

from course_utils import launch
from lesson_08.run_log import read_json

RESULTS, SCRIPT, SERIES = Path("results"), "mine/forecast/forecast.py", Path("mine/series.csv")
SEVERAL = "workers/several_models.py"
# Where there is no run: what takes seconds. Small batches learn more in a third of an epoch.
QUICK = {"informer": "--epochs 0.33 --batch 16 --learning-rate 6e-3", "mlp": "--epochs 3"}


def newest(model: str) -> dict[str, Any] | None:
    """Return the metrics of the run of `model` on the whole series that was tested last, or None."""
    found = {}
    for path in RESULTS.glob("*/metrics.json"):
        metrics, config = (read_json(path.with_name(name)) or {} for name in ("metrics.json", "config.json"))
        test = metrics.get("test")
        tested = isinstance(test, dict) and all(
            isinstance(test.get(name), dict) for name in (model, "last value")
        )
        if tested and config.get("data") == str(SERIES.absolute()):
            found[path.stat().st_mtime] = metrics
    return found[max(found)] if found else None


def finished_runs(*models: str) -> list[dict[str, Any]]:
    """Return the metrics of your newest finished run of each model in `results`.

    Args:
        models: As ``forecast.py --model`` calls them.

    Raises:
        RuntimeError: There was none of a model, and the one that was made failed.
    """
    missing = [f"--model {name} {QUICK.get(name, '--epochs 1')}" for name in models if newest(name) is None]
    if missing:
        options, limit = f"--data {SERIES} --no-plots", 600 * len(missing)
        launch(SEVERAL, SCRIPT, options, *missing, processes=1, limit=limit, show="clock").check()
    found = [newest(model) for model in models]
    if None in found:
        raise RuntimeError(f"{SCRIPT} left no run in {RESULTS} · {SCRIPT} 沒有在 {RESULTS} 留下結果")
    return found
