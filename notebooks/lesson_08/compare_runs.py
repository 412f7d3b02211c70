"""All runs of a results folder side by side: a table, and the validation error over the seconds of training.

The errors on the test part are not shown: whoever chose by them would have no test any more.
"""

from pathlib import Path
from statistics import median
from typing import NamedTuple

from bilingual import Bilingual, Block, markup, measured
from course_utils import figures
from course_utils.tables import html_table
from lesson_08.run_log import Line, Lines, number, read_json
from lesson_08.words import WORDS

HEAD, TEXTS = WORDS["runs_head"], WORDS["runs"]


class Summary(NamedTuple):
    """What the folder of one run says: the row of the table, and (seconds, validation error)."""

    state: Bilingual
    cells: list[str]
    curve: list[tuple[float, float]]


def _devices(environment: Line | None) -> list[str]:
    """Return what each rank computed on: names without the numbers of the devices."""
    found = (environment or {}).get("ranks")
    names = [str(name) for name in found] if isinstance(found, list) else []
    return [name.partition(" (")[2].removesuffix(")") or name for name in names]


def _shown(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def summary(folder: Path) -> Summary:
    """Return what the folder of a run says, whatever has happened to it; what it does not say is a dash."""
    names = ("config.json", "environment.json", "metrics.json")
    config, environment, metrics = (read_json(folder / name) for name in names)
    damaged = [name for name, found in zip(names, (config, environment, metrics), strict=True)
               if found is None and ((folder / name).exists() or name == "config.json")]  # fmt: skip
    config, log = config or {}, Lines(folder / "log.jsonl").new()
    last = log[-1] if log else {}
    step, steps = number(last, "step"), number(config, "steps")
    if damaged:
        state = TEXTS["damaged"].format(file=damaged[0])
    elif metrics is not None:
        state = TEXTS["finished"]
    elif step is None:
        state = TEXTS["empty"]
    else:
        state = TEXTS["partly"].format(share=f"{100 * step / steps:.0f}" if steps else "?")
    pairs = [(number(line, "seconds"), number(line, "val_mse")) for line in log]
    curve = [(seconds, value) for seconds, value in pairs if seconds is not None and value is not None]
    devices, precision = _devices(environment), config.get("precision")
    rates = [value for line in log if (value := number(line, "windows_per_second")) is not None]
    rate = number(metrics or {}, "windows_per_second") or (median(rates) if rates else None)
    settings = (
        precision if isinstance(precision, str) else "–",
        _shown(number(config, "batch"), "g"),
        _shown(len(devices) or None, "g"),
    )
    cells = [
        folder.name,
        ", ".join(dict.fromkeys(devices)) or "–",
        ", ".join(settings),
        _shown(rate, ",.0f"),
        _shown(min((value for _, value in curve), default=None), ".3f"),
        _shown(number(last, "seconds"), ".1f"),
    ]
    return Summary(state, cells, curve)


def _picture(runs: list[Summary]) -> str:
    """Return the errors over time as HTML, or nothing while there are none."""
    figure, axes = figures.new()
    for run in runs:
        if run.curve:
            axes.plot(*zip(*run.curve, strict=True), marker="o", label=run.cells[0])
    if not axes.lines:
        return ""
    axes.set_xlabel("s")
    axes.set_ylabel("MSE")
    axes.legend(fontsize=8)
    return figures.Picture(figure, TEXTS["caption"], TEXTS["alternative"]).html()


def compare_runs(results: str | Path) -> Block | Bilingual:
    """Compare all runs in a results folder, the oldest first, also unfinished and damaged ones.

    Args:
        results: The folder that holds the runs' folders.

    Returns:
        What a notebook shows: a table and a picture, or that there is no run.
    """
    folders = [path for path in Path(results).glob("*/") if not path.name.startswith(".")]
    runs = [summary(path) for path in sorted(folders, key=lambda path: (path.stat().st_mtime, path.name))]
    if not runs:
        return TEXTS["none"].format(folder=Path(results).as_posix())
    rows = [[markup(measured(cell)) for cell in run.cells] for run in runs]
    for row, run in zip(rows, runs, strict=True):
        row[0] += f"<br>{run.state.html()}"  # a column of its own would be cut off on a projector
    table = html_table(rows, [title.html() for title in HEAD.values()])
    lines = [f"{measured(' | '.join(run.cells))} | {run.state}" for run in runs]
    return Block(table + _picture(runs), "\n".join(lines))
