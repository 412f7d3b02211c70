"""The half of the final task's points that a program can give: it reads the results folder, and recomputes one error."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from statistics import fmean, median
from typing import Any

from bilingual import Bilingual, Block, measured_spans, texts
from course_utils.tables import html_table
from course_utils.units import number
from lesson_08.run_log import read_json

HEAD, CRITERIA, REASONS, REFUSALS = texts(__file__).values()
POINTS = {
    "complete": 6, "tested": 7, "learned": 4, "simple": 5, "linear": 3, "fast": 10, "repeatable": 8, "resumed": 7,
}  # fmt: skip
SIMPLE, LINEAR = ("last value", "seasonal"), ("linear",)
FILES = "config.json environment.json log.jsonl checkpoint.pt plots/loss.png plots/forecast.png".split()
COMPARED = ("batch", "precision", "compile", "workers", "cpu", "name")  # two runs differ in one of these


class Refused(Exception):
    """The numbers contradict each other, or there are none.

    Args:
        key: Why, a key of ``REFUSALS``.
        values: What to fill in.
    """

    def __init__(self, key: str, **values: object) -> None:
        self.reason = REFUSALS[key].format(**values)
        super().__init__(self.reason.en)


@dataclass(frozen=True)
class Row:
    """A criterion, the points reached for it, and why."""

    criterion: str
    points: int
    reason: Bilingual


def own_error(run: Any) -> float:
    """Return the test error of the run's own model, which is the first that `metrics.json` names."""
    return next(iter(run.metrics["test"].values()))["mse"]


def finished_runs(folder: Path) -> list[Any]:
    """Return the finished runs in `folder`, or the one that it is.

    Raises:
        Refused: There is none.
    """
    from run_folder import RunError, read_run

    runs = []
    for path in (folder, *(sorted(folder.iterdir()) if folder.is_dir() else ())):
        try:
            runs.append(read_run(path))
        except RunError:
            continue
    if not runs:
        raise Refused("no_run", folder=folder)
    if not (finished := [run for run in runs if run.metrics]):
        raise Refused("not_finished", count=len(runs))
    return finished


def contradictions(run: Any) -> Iterator[str]:
    """Yield which numbers of a run cannot be true: keys of ``REFUSALS``."""
    config, log, metrics = run.config, run.log, run.metrics
    for own in metrics["test"].values():
        horizons = own["per_horizon"]
        if not all(math.isfinite(value) and value > 0 for value in (own["mse"], own["mae"], *horizons)):
            yield "not_finite"
        elif not math.isclose(own["mse"], fmean(horizons), rel_tol=1e-3):
            yield "horizons"
        elif len(horizons) != config["settings"]["ahead"]:
            yield "horizons"
    steps = [line["step"] for line in log]
    if not steps or steps != sorted(set(steps)) or steps[-1] != config["steps"]:
        yield "steps"
    validation = [line["val_mse"] for line in log if "val_mse" in line]
    if not validation or not math.isclose(min(validation), metrics["val_mse"], rel_tol=1e-3):
        yield "validation"
    rates = [line["windows_per_second"] for line in log]
    if not rates or not math.isclose(median(rates), metrics["windows_per_second"], rel_tol=1e-2):
        yield "rate"


def last_value(run: Any) -> float | None:
    """Return the test error of repeating the last value, computed anew from the data; None if they are not there.

    Raises:
        Refused: The data are not those of the run.
    """
    from series import SeriesError, read_series, windows_of

    named = Path(run.config["data"])
    moved = run.folder.parents[1] / named.name  # the results were copied together with their data
    try:
        series = read_series(named if named.is_file() else moved)
    except (SeriesError, OSError):
        return None
    if sha256(series.values.numpy().tobytes()).hexdigest()[:16] != run.config["digest"]:
        raise Refused("data", run=run.folder.name)
    test = windows_of(series, run.config["settings"]["past"], run.config["settings"]["ahead"])["test"]
    past, *_, future = test.batch(range(len(test)))
    return (future - past[:, -1:]).double().square().mean().item()


def grade(folder: str | Path) -> list[Row]:
    """Return the rows of the automatic half of the rubric, 50 points in all.

    Args:
        folder: The results folder with its runs.

    Raises:
        Refused: There is no finished run, or its numbers contradict each other.
    """
    runs = finished_runs(Path(folder))
    for run in runs:
        try:
            found = next(contradictions(run), None)
        except (KeyError, TypeError, IndexError, ValueError, AttributeError):
            found = "damaged"
        if found:
            raise Refused(found, run=run.folder.name)
    best = min(runs, key=lambda run: run.metrics["val_mse"])
    return [*_correct(best), _fast(runs, best), _repeatable(best), _resumed(runs)]


def _row(criterion: str, points: int, says: str, **values: object) -> Row:
    return Row(criterion, points, REASONS[says].format(**values))


def _correct(run: Any) -> Iterator[Row]:
    """Judge whether the run is complete and tested as the course tests, has learned, and beats what is simple."""
    missing = [name for name in FILES if not (run.folder / name).exists()]
    says = "missing" if missing else "complete"
    yield _row("complete", POINTS["complete"] - len(missing), says, names=", ".join(missing))
    test, again = run.metrics["test"], last_value(run)
    stated = test.get("last value", {}).get("mse", math.nan)
    if again is None:
        yield _row("tested", 3, "no_data")
    elif math.isclose(stated, again, rel_tol=1e-3):
        yield _row("tested", POINTS["tested"], "tested", value=number(again))
    else:
        raise Refused("last_value", run=run.folder.name)
    first, *later = (line["val_mse"] for line in run.log if "val_mse" in line)
    best = min([first, *later])
    yield _row(
        "learned", POINTS["learned"] * (best < first), "learned", first=number(first), best=number(best)
    )
    own = own_error(run)
    for criterion, names in (("simple", SIMPLE), ("linear", LINEAR)):
        others = {name: errors["mse"] for name, errors in test.items() if name.startswith(names)}
        if others:
            name = min(others, key=others.__getitem__)
            points, other = POINTS[criterion] * (own < others[name]), number(others[name])
            yield _row(criterion, points, "compared", own=number(own), name=name, other=other)
        else:
            yield _row(criterion, 0, "nothing")


def _fast(runs: list[Any], best: Any) -> Row:
    """Judge whether two runs on the same data show a gain in speed, and that the faster one learned as much."""

    def settings(run: Any) -> tuple[object, ...]:
        return tuple(run.config.get(name) for name in COMPARED)

    alike = [run for run in runs if run.config["digest"] == best.config["digest"]]
    if len({settings(run) for run in alike}) < 2:
        return _row("fast", 0, "one_speed")
    slow, *_, fast = sorted(alike, key=lambda run: run.metrics["windows_per_second"])
    gain = fast.metrics["windows_per_second"] / slow.metrics["windows_per_second"]
    change = own_error(fast) / own_error(slow)
    points = 4 + 3 * (gain >= 1.5) + 3 * (change <= 1.1)
    return _row("fast", points, "fast", gain=number(gain), change=number(100 * change))


def _repeatable(run: Any) -> Row:
    """Judge whether the folder says what it takes to repeat the run."""
    found = read_json(run.folder / "environment.json") or {}
    have = {
        "seed": type(run.config.get("seed")) is int,
        "torch": bool(found.get("torch")) and bool(found.get("devices")),
        "program": bool(found.get("program")),
        "digest": bool(run.config.get("digest")),
    }
    lacking = ", ".join(name for name, there in have.items() if not there)
    return _row("repeatable", 2 * sum(have.values()), "lacking" if lacking else "repeatable", names=lacking)


def _resumed(runs: list[Any]) -> Row:
    """Judge whether one of the runs was interrupted, resumed and finished."""
    again = [run.folder.name for run in runs if any(run.folder.glob("environment-[0-9]*.json"))]
    return _row(
        "resumed", POINTS["resumed"] * bool(again), "resumed" if again else "never", run="".join(again[:1])
    )


def check_project(folder: str | Path = "results") -> Block:
    """Show the automatic half of the rubric for a results folder.

    Args:
        folder: The results folder with its runs.

    Returns:
        A table with the points and the reason for each, or why nothing can be graded.
    """
    title, head = f'<p class="course-title">{HEAD["title"].html()}</p>', [HEAD["criterion"], HEAD["points"]]
    try:
        rows = grade(folder)
    except Refused as refused:
        cells = [(CRITERIA[name].html(), f"– / {most}") for name, most in POINTS.items()]
        below = html_table(cells, [text.html() for text in head])
        page = f'<div class="course-card course-notyet">{title}{refused.reason.block()}{below}</div>'
        return Block(page, f"{HEAD['title']}: {refused.reason}")
    cells, lines = [], [str(HEAD["title"])]
    for row in rows:
        name, points = CRITERIA[row.criterion], f"{row.points} / {POINTS[row.criterion]}"
        cells.append((name.html(), points, measured_spans(row.reason)))
        lines.append(f"{name}: {points}, {row.reason}")
    total = HEAD["sum"].format(points=sum(row.points for row in rows), most=sum(POINTS.values()))
    page = (
        f'<div class="course-card course-exercise">{title}{html_table(cells, [t.html() for t in (*head, HEAD["why"])])}'
        f'<p class="course-verdict">{total.html()}</p></div>'
    )
    return Block(page, "\n".join([*lines, str(total)]))
