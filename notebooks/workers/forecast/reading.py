"""Read a time series from a CSV file, and name everything that is wrong with it.

The file's first column is `date`, the others are numbers; one row per step.
"""

import csv
from codecs import BOM_UTF8
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor

ISO = "2024-12-31 23:00:00"


class SeriesError(ValueError):
    """What is wrong with a file: each fault with line, column, reason and cure."""

    def __init__(self, path: str | Path, *faults: str) -> None:
        self.faults = faults
        more = [f"... and {len(faults) - 10} more"] if len(faults) > 10 else []
        shown = [f"{path} cannot be used:", *faults[:10], *more]
        super().__init__("\n  ".join(shown))


def stop_if(faults: list[str], path: str | Path) -> None:
    """Raise the faults, if there are any."""
    if faults:
        raise SeriesError(path, *faults)


@dataclass
class Series:
    """What a file holds, on an even grid of times; `notes` says what was filled in."""

    times: pd.DatetimeIndex
    values: Tensor  # float32, (rows, columns)
    columns: list[str]
    step: pd.Timedelta
    notes: list[str]


def read_text(path: Path) -> str:
    """Return the file's text, which must be UTF-8; Excel's mark in front is dropped."""
    if not path.is_file():
        raise SeriesError(path, f"there is no such file in {path.absolute().parent}.")
    raw = path.read_bytes()
    if not raw.removeprefix(BOM_UTF8).strip():
        raise SeriesError(path, "the file is empty. Write or download it again.")
    if b"\0" in raw:
        reason = "the text is not UTF-8 but perhaps UTF-16."
        raise SeriesError(path, f"line 1: {reason} Save it as 'CSV UTF-8'.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, byte = raw.count(b"\n", 0, error.start) + 1, raw[error.start]
        reason = f"line {line}: byte 0x{byte:02x} is not UTF-8 (perhaps Latin-1)."
        raise SeriesError(path, f"{reason} Save the file as 'CSV UTF-8'.") from None


def separator_faults(first: str) -> list[str]:
    """Return what is wrong with what separates the cells of the first line."""
    if "," in first:
        return []
    if not first.strip():
        return ["line 1: it is empty. Delete it: line 1 holds the names."]
    marks = [mark for mark in (";", "\t", "|") if mark in first]
    found = f"are separated by {marks[0]!r}" if marks else "are not separated"
    cure = "Save the file with commas between cells, and a point in 3.5."
    return [f"line 1: the cells {found}. {cure}"]


def read_cells(path: Path) -> pd.DataFrame:
    """Return all cells as text, under their names; the index counts the file's lines."""
    text = read_text(path)
    stop_if(separator_faults(text.splitlines()[0]), path)
    feed = StringIO(text, newline=None)  # also old Mac's line ends
    rows, lines = {}, csv.reader(feed, skipinitialspace=True, strict=True)
    try:
        for row in lines:
            rows[lines.line_num] = row
    except csv.Error as error:
        place = f"line {max(rows, default=0) + 1}"  # where that row begins
        reason, cure = f"{error}, after a quote.", "Each quote needs its second one."
        raise SeriesError(path, f"{place}: {reason} {cure}") from None
    while len(rows) > 1 and not "".join(rows[max(rows)]).strip():
        rows.popitem()  # empty lines at the end
    names, faults = [name.strip() for name in rows.pop(min(rows))], []
    for line, row in rows.items():
        if len(row) != len(names):
            reason = f"line {line}: it has {len(row)} cells instead of {len(names)}."
            faults.append(f"{reason} Complete it, or mend a decimal comma.")
    stop_if(faults, path)
    return pd.DataFrame.from_dict(rows, "index", str, names)


def name_faults(names: list[str]) -> list[str]:
    """Return what is wrong with the file's first line."""
    faults = []
    if names[0] != "date":
        reason = f"line 1: the first column is called {names[0]!r}, not 'date'."
        cure = "Line 1 holds the names; call that of the times 'date'."
        faults.append(f"{reason} {cure}")
    for number, name in enumerate(names):
        if not name:
            faults.append(f"line 1: column {number + 1} has no name. Give it one.")
        elif name in names[:number]:
            faults.append(f"line 1, column {name}: two are called so. Rename one.")
    return faults


def read_numbers(
    rows: pd.DataFrame, faults: list[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the cells as numbers, and which are empty; wrong ones become faults."""
    numbers, empty = {}, {}
    for name, cells in rows.items():
        numbers[name] = pd.to_numeric(cells, errors="coerce").astype("float64")
        empty[name] = cells.str.strip() == ""
        fits = numbers[name].abs() <= torch.finfo(torch.float32).max  # no NaN, no inf
        for line, cell in cells[~fits & ~empty[name]].items():
            reason = f"{cell!r} is not a finite number."
            cure = "Write digits and a decimal point, or leave the cell empty."
            faults.append(f"line {line}, column {name}: {reason} {cure}")
    return pd.DataFrame(numbers), pd.DataFrame(empty)


def read_times(cells: pd.Series, faults: list[str]) -> pd.Series | None:
    """Return the times if they can be read and are in order, no two of them equal."""
    before = len(faults)
    times = pd.to_datetime(cells, format="ISO8601", errors="coerce", utc=True)
    for line, cell in cells[times.isna()].items():
        reason = f"{cell!r} is not a time that can be read in one way only."
        faults.append(f"line {line}, column date: {reason} Write it like {ISO}.")
    changes = times.diff()
    for line in changes.index[changes <= pd.Timedelta(0)]:
        if changes[line]:
            reason = f"{cells[line]} is earlier than the line before. Sort the lines."
        else:
            cure = "if the clock was set back here, write all times in UTC."
            reason = f"{cells[line]} comes twice. Delete one; {cure}"
        faults.append(f"line {line}, column date: {reason}")
    return times.dt.tz_localize(None) if len(faults) == before else None


def even_step(
    times: pd.Series, fill: int, faults: list[str], notes: list[str]
) -> pd.Timedelta:
    """Return the time between two rows; note the rows that are missing."""
    changes = times.diff().iloc[1:]
    step = changes.mode()[0]  # the most frequent one
    for line, change in changes[changes != step].items():
        missing = change // step - 1
        where = f"line {line}, column date: rows missing before it: {missing}"
        if change % step:
            reason = f"{times[line]} is {change} after the line before, not {step}."
            faults.append(f"line {line}, column date: {reason} Mend the time.")
        elif missing > fill:
            cure = "Add them, or cut the file."
            faults.append(f"{where}. Up to {fill} are filled. {cure}")
        else:
            notes.append(f"{where}, filled in between.")
    return step


def empty_runs(empty: np.ndarray) -> list[list[int]]:
    """Return where each run of True begins, and where it has ended."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], empty, [0]])))
    return edges.reshape(-1, 2).tolist()


def find_gaps(
    empty: pd.DataFrame, lines: list, fill: int, faults: list[str], notes: list[str]
) -> None:
    """Judge every run of empty cells; `lines` holds 0 for a row that is missing."""
    for name, column in empty.items():
        for start, end in empty_runs(column.to_numpy()):
            inside = [line for line in lines[start:end] if line]
            if not inside:
                continue  # whole rows, which were noted before
            where = f"line {inside[0]}, column {name}: empty cells: {len(inside)}"
            if start == 0 or end == len(lines):
                cure = "Fill them, or cut the file there."
                faults.append(f"{where}, at an end. {cure}")
            elif end - start > fill:
                reason = f"in a gap of {end - start} steps. Up to {fill} are filled."
                faults.append(f"{where}, {reason} Fill them, or delete the column.")
            else:
                notes.append(f"{where}, filled in between.")


def read_series(path: str | Path, fill: int = 6) -> Series:
    """Return what the file holds; gaps of up to `fill` steps are interpolated.

    A file with faults raises a SeriesError that names them all. An interpolated value
    knows the one after the gap: who forecasts from within a gap does not have it yet.
    """
    rows = read_cells(Path(path))
    faults, notes = name_faults(list(rows.columns)), []
    if not faults and len(rows) < 3:
        faults.append(f"it has {len(rows)} rows of values. It needs at least 3.")
    stop_if(faults, path)
    times = read_times(rows.pop("date"), faults)
    numbers, empty = read_numbers(rows, faults)
    step = None if times is None else even_step(times, fill, faults, notes)
    stop_if(faults, path)
    grid = pd.date_range(times.iloc[0], times.iloc[-1], freq=step)
    lines = pd.Series(rows.index, times).reindex(grid, fill_value=0).tolist()
    empty = empty.set_axis(times).reindex(grid, fill_value=True)
    find_gaps(empty, lines, fill, faults, notes)
    stop_if(faults, path)
    full = numbers.set_axis(times).reindex(grid).interpolate()
    values = torch.tensor(full.to_numpy("float32"))
    return Series(grid, values, list(rows), step, notes)
