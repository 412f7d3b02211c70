"""All runs of a results folder side by side: a table, and the validation error over the seconds of training.

The errors on the test part are not shown: whoever chose by them would have no test any more.
"""

from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bilingual import Bilingual, Block, markup, measured
from course_utils import figures
from course_utils.tables import html_table
from lesson_08.run_log import Line, Lines, number, read_json

HEAD = (
    Bilingual("run", "訓練"),
    Bilingual("device", "裝置"),
    Bilingual("data type, batch, ranks", "資料型別、批次、rank 數"),
    Bilingual("windows/s", "視窗／秒"),
    Bilingual("MSE, validation", "MSE，驗證"),
    Bilingual("seconds", "秒數"),
)
FINISHED, DAMAGED = Bilingual("finished", "已完成"), Bilingual("damaged: {file}", "損壞：{file}")
EMPTY, PARTLY = Bilingual("nothing logged yet", "還沒有紀錄"), Bilingual("{share}% done", "完成 {share}%")
NONE = Bilingual("There is no run in `{folder}` yet.", "`{folder}` 裡還沒有任何一次訓練。")
CAPTION = Bilingual(
    "Validation error over the seconds of training. Lower and further left is better.",
    "驗證誤差隨訓練秒數的變化。越低越好，越靠左越好。",
)
ALTERNATIVE = Bilingual(
    "Line chart of the validation error over seconds, a line for each run.",
    "折線圖，橫軸是秒數，縱軸是驗證誤差，每次訓練一條線。",
)


@dataclass(frozen=True)
class Summary:
    """What the folder of one run says. What it does not say is None."""

    name: str
    state: Bilingual
    device: str | None
    precision: str | None
    batch: float | None
    ranks: int | None
    rate: float | None
    validation: float | None
    seconds: float | None
    curve: list[tuple[float, float]]  # (seconds, validation error)


def _devices(environment: Line | None) -> list[str]:
    """Return what each rank computed on: names without the numbers of the devices."""
    found = (environment or {}).get("ranks")
    names = [str(name) for name in found] if isinstance(found, list) else []
    return [name.partition(" (")[2].removesuffix(")") or name for name in names]


def summary(folder: Path) -> Summary:
    """Return what the folder of a run says, whatever has happened to it.

    Args:
        folder: The run's folder.
    """
    names = ("config.json", "environment.json", "metrics.json")
    config, environment, metrics = (read_json(folder / name) for name in names)
    damaged = [name for name, found in zip(names, (config, environment, metrics), strict=True)
               if found is None and ((folder / name).exists() or name == "config.json")]  # fmt: skip
    config, log = config or {}, Lines(folder / "log.jsonl").new()
    last = log[-1] if log else {}
    step, steps = number(last, "step"), number(config, "steps")
    if damaged:
        state = DAMAGED.format(file=damaged[0])
    elif metrics is not None:
        state = FINISHED
    elif step is None:
        state = EMPTY
    else:
        state = PARTLY.format(share=f"{100 * step / steps:.0f}" if steps else "?")
    pairs = [(number(line, "seconds"), number(line, "val_mse")) for line in log]
    curve = [(seconds, value) for seconds, value in pairs if seconds is not None and value is not None]
    devices, precision = _devices(environment), config.get("precision")
    rates = [value for line in log if (value := number(line, "windows_per_second")) is not None]
    return Summary(
        folder.name,
        state,
        ", ".join(dict.fromkeys(devices)) or None,
        precision if isinstance(precision, str) else None,
        number(config, "batch"),
        len(devices) or None,
        number(metrics or {}, "windows_per_second") or (median(rates) if rates else None),
        min((value for _, value in curve), default=None),
        number(last, "seconds"),
        curve,
    )


def summaries(results: str | Path) -> list[Summary]:
    """Return all runs in a results folder, the oldest first."""
    folders = [path for path in Path(results).glob("*/") if not path.name.startswith(".")]
    return [summary(path) for path in sorted(folders, key=lambda path: (path.stat().st_mtime, path.name))]


def _cells(run: Summary) -> list[str]:
    """Return the cells of a run's row; what is not known is a dash."""

    def shown(value: float | None, form: str) -> str:
        return "–" if value is None else format(value, form)

    return [
        run.name,
        run.device or "–",
        f"{run.precision or '–'}, {shown(run.batch, 'g')}, {shown(run.ranks, 'g')}",
        shown(run.rate, ",.0f"),
        shown(run.validation, ".3f"),
        shown(run.seconds, ".1f"),
    ]


class ComparedRuns:
    """The table and the picture of some runs."""

    def __init__(self, results: str | Path) -> None:
        self.results, self.runs = Path(results), summaries(results)

    def picture(self) -> figures.Picture | None:
        """Return the errors over time, or None while there are none."""
        figure, axes = figures.new()
        for run in self.runs:
            if run.curve:
                axes.plot(*zip(*run.curve, strict=True), marker="o", label=run.name)
        if not axes.lines:
            return None
        axes.set_xlabel("s")
        axes.set_ylabel("MSE")
        axes.legend(fontsize=8)
        return figures.Picture(figure, CAPTION, ALTERNATIVE)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        if not self.runs:
            text = NONE.format(folder=self.results.as_posix())
            return text._repr_mimebundle_()
        rows = [[markup(measured(cell)) for cell in _cells(run)] for run in self.runs]
        for row, run in zip(rows, self.runs, strict=True):
            row[0] += f"<br>{run.state.html()}"  # a column of its own would be cut off on a projector
        table, picture = html_table(rows, [title.html() for title in HEAD]), self.picture()
        lines = [f"{measured(' | '.join(_cells(run)))} | {run.state}" for run in self.runs]
        block = Block(table + (picture.html() if picture else ""), "\n".join(lines))
        return block._repr_mimebundle_()


def compare_runs(results: str | Path) -> ComparedRuns:
    """Compare all runs in a results folder, also unfinished and damaged ones.

    Args:
        results: The folder that holds the runs' folders.

    Returns:
        What a notebook shows as a table and a picture; `runs` holds what was read.
    """
    return ComparedRuns(results)
