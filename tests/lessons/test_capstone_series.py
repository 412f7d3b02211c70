"""The capstone's series: every fault of a file is named, no value is lost, and nothing of the future leaks."""

import random
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import torch

import series

LINES = ["date,load,oil", *(f"2024-01-01 {hour:02}:00:00,{hour}.5,{2 * hour}" for hour in range(24))]


def file_of(folder: Path, lines: list[str] | bytes) -> Path:
    """Write a file and return its path."""
    path = folder / "data.csv"
    path.write_bytes(lines if isinstance(lines, bytes) else ("\n".join(lines) + "\n").encode())
    return path


def put(line: int, text: str) -> list[str]:
    """Return the good lines with another one at this place, counted from 1."""
    return [*LINES[: line - 1], text, *LINES[line:]]


def without(first: int, last: int) -> list[str]:
    """Return the good lines without these."""
    return [*LINES[: first - 1], *LINES[last:]]


def cell(line: int, column: int, text: str) -> list[str]:
    """Return the good lines with another cell."""
    cells = LINES[line - 1].split(",")
    cells[column] = text
    return put(line, ",".join(cells))


# What is in the file, and what the error says: where, what, and what to do.
FAULTS = {
    "empty": (b" \n", "the file is empty", "again"),
    "UTF-16": ("\n".join(LINES).encode("utf-16"), "line 1: .*UTF-16", "CSV UTF-8"),
    "Latin-1": ("\n".join(cell(1, 2, "öl")).encode("latin-1"), "line 1: byte 0xf6", "CSV UTF-8"),
    "Big5": ("\n".join(cell(7, 2, "無")).encode("big5"), "line 7: byte 0xb5", "CSV UTF-8"),
    "semicolons": ([line.replace(",", ";").replace(".", ",") for line in LINES][:1] + LINES[1:], "line 1: .*';'", "commas"),
    "tabs": ([line.replace(",", "\t") for line in LINES], r"line 1: .*'\\t'", "commas"),
    "one column": ([line.split(",")[0] for line in LINES], "line 1: .*not separated", "commas"),
    "no names": (LINES[1:], "line 1: the first column is called '2024-01-01 00:00:00', not 'date'", "Line 1 holds the names"),
    "renamed time": (put(1, "time,load,oil"), "line 1: the first column is called 'time', not 'date'", "call that"),
    "no name": (put(1, "date,load,"), "line 1: column 3 has no name", "Give it one"),
    "name twice": (put(1, "date,load,load"), "line 1, column load: two", "Rename"),
    "text": (cell(5, 1, "broken"), "line 5, column load: 'broken' is not a finite number", "leave the cell empty"),
    "NaN": (cell(5, 2, "NaN"), "line 5, column oil: 'NaN' is not a finite number", "leave the cell empty"),
    "infinite": (cell(6, 2, "-inf"), "line 6, column oil: '-inf' is not a finite number", "leave the cell empty"),
    "too large for float32": (cell(6, 2, "1e39"), "line 6, column oil: '1e39' is not a finite number", "leave"),
    "decimal comma": (cell(5, 1, '"3,5"'), "line 5, column load: '3,5' is not a finite number", "decimal point"),
    "bare decimal comma": (cell(5, 1, "3,5"), "line 5: it has 4 cells instead of 3", "decimal comma"),
    "open quote": (cell(5, 1, '"3.5'), "line 5: .*quote", "Each quote needs its second one"),
    "only Excel's mark": (b"\xef\xbb\xbf\n", "the file is empty", "again"),
    "empty line in front": (["", *LINES], "line 1: it is empty", "Delete it"),
    "short line": (put(5, "2024-01-01 03:00:00,4.5"), "line 5: it has 2 cells instead of 3", "Complete it"),
    "empty line inside": (put(5, ""), "line 5: it has 0 cells instead of 3", "Complete it"),
    "cut at the end": (put(25, "2024-01-01 23:00"), "line 25: it has 1 cells instead of 3", "Complete it"),
    "day first": (cell(5, 0, "01/02/2024 03:00"), "line 5, column date: '01/02/2024 03:00' is not a time .* one way only", "Write it like"),
    "no time": (cell(5, 0, ""), "line 5, column date: '' is not a time", "Write it like"),
    "no such day": (cell(5, 0, "2024-02-30 03:00:00"), "line 5, column date: '2024-02-30 03:00:00'", "Write it like"),
    "doubled": (put(5, LINES[3]), "line 5, column date: 2024-01-01 02:00:00 comes twice", "Delete one"),
    "clock set back": ([*LINES[:5], *LINES[4:]], "line 6, column date: .* comes twice", "clock was set back here, write all times in UTC"),
    "unsorted": ([LINES[0], *reversed(LINES[1:])], "line 3, column date: 2024-01-01 22:00:00 is earlier", "Sort the lines"),
    "odd time": (cell(5, 0, "2024-01-01 03:20:00"), "line 5, column date: .* 0 days 01:20:00 after the line before", "Mend the time"),
    "rows missing": (without(6, 12), "line 6, column date: rows missing before it: 7. Up to 6", "Add them, or cut the file"),
    "cells missing": ([LINES[0], *(f"{line.rpartition(',')[0]}," if 4 < n < 12 else line for n, line in enumerate(LINES[1:], 2))],
                      "line 5, column oil: empty cells: 7, in a gap of 7 steps", "delete the column"),
    "first cell": (cell(2, 1, ""), "line 2, column load: empty cells: 1, at an end", "cut the file"),
    "last cell": (cell(25, 2, ""), "line 25, column oil: empty cells: 1, at an end", "cut the file"),
    "only commas": (b",,\n,,\n", "line 1: the first column is called ''", "'date'"),
    "two rows": (LINES[:3], "it has 2 rows of values", "at least 3"),
    "names only": (LINES[:1], "it has 0 rows of values", "at least 3"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_with_place_reason_and_cure(name: str, tmp_path: Path) -> None:
    """The message says where, what is wrong and what to do, in a line that fits a screen."""
    content, place_and_reason, cure = FAULTS[name]
    path = file_of(tmp_path, content)
    with pytest.raises(series.SeriesError) as raised:
        series.read_series(path)
    assert re.search(f"{place_and_reason}.*{cure}", str(raised.value)), raised.value
    assert str(raised.value).startswith(f"{path} cannot be used:")
    assert max(map(len, raised.value.faults)) < 160


def test_a_file_that_is_not_there_is_named_with_its_folder(tmp_path: Path) -> None:
    """One sees in which folder it was looked for; a folder is no file either."""
    for path in (tmp_path / "nothing.csv", tmp_path):
        with pytest.raises(series.SeriesError, match="there is no such file in "):
            series.read_series(path)


def test_all_faults_are_told_at_once_and_ten_are_shown(tmp_path: Path) -> None:
    """A file with twelve wrong cells and a doubled time is not mended thirteen times over."""
    lines = [LINES[0], *(line.rpartition(",")[0] + ",?" for line in LINES[1:13]), *LINES[12:]]
    with pytest.raises(series.SeriesError) as raised:
        series.read_series(file_of(tmp_path, lines))
    assert len(raised.value.faults) == 13
    assert str(raised.value).count("\n") == 11
    assert str(raised.value).endswith("... and 3 more")


HARMLESS: dict[str, Callable[[str], bytes]] = {
    "Excel's mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "Windows lines": lambda text: text.replace("\n", "\r\n").encode(),
    "old Mac's lines": lambda text: text.replace("\n", "\r").encode(),
    "lines at the end": lambda text: (text + "\n \n\n").encode(),
    "no last line end": lambda text: text.rstrip().encode(),
    "spaces": lambda text: text.replace(",", " , ").encode(),
    "quotes": lambda text: re.sub(r"([\d.]+)$", r'"\1"', text, flags=re.MULTILINE).encode(),
    "T": lambda text: text.replace(" ", "T").encode(),
    "UTC": lambda text: text.replace(":00,", ":00+00:00,").encode(),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_harmless_differences_change_nothing(name: str, tmp_path: Path) -> None:
    """What programs write differently without meaning anything is read the same."""
    want = series.read_series(file_of(tmp_path, LINES))
    got = series.read_series(file_of(tmp_path, HARMLESS[name]("\n".join(LINES) + "\n")))
    assert torch.equal(got.values, want.values)
    assert got.times.equals(want.times)
    assert got.columns == want.columns == ["load", "oil"]
    assert not got.notes


@pytest.mark.parametrize("step", ["1h", "15min", "1D"])
def test_public_files_form_is_read(step: str, tmp_path: Path) -> None:
    """The ETT files have seven columns of such names, hourly or every 15 minutes."""
    names = ["HUFL", "HULL", "MUFL", "MULL", "LUFL", "LULL", "OT"]
    frame = pd.DataFrame(torch.randn(300, 7, dtype=torch.float64).numpy(), columns=names)
    frame.insert(0, "date", pd.date_range("2016-07-01", periods=300, freq=step).astype(str))
    frame.to_csv(tmp_path / "ETT.csv", index=False)
    found = series.read_series(tmp_path / "ETT.csv")
    assert (found.columns, found.step) == (names, pd.Timedelta(step))
    assert torch.equal(found.values, torch.tensor(frame[names].to_numpy("float32")))


@pytest.mark.parametrize("seed", range(20))
def test_no_value_is_lost(seed: int, tmp_path: Path) -> None:
    """Each number of a file with random gaps is at its time and column; what is not in the file is noted, or refused."""
    rng = random.Random(seed)
    numbers = {(row, column): rng.randrange(10**6) / 1000 for row in range(200) for column in range(3)}
    for _ in range(rng.randrange(8)):
        start, column, length = rng.randrange(1, 190), rng.randrange(3), rng.randrange(1, 8)
        for row in range(start, start + length):
            numbers.pop((row, column), None)
    gone = set(rng.sample(range(1, 199), rng.randrange(6)))
    lines = ["date,a,b,c"]
    for row, time in enumerate(pd.date_range("2024-02-28", periods=200, freq="h")):
        if row not in gone:
            lines.append(f"{time}," + ",".join(str(numbers.get((row, column), "")) for column in range(3)))
    kept = {place: number for place, number in numbers.items() if place[0] not in gone}
    path = file_of(tmp_path, lines)
    try:
        found = series.read_series(path)
    except series.SeriesError as error:
        assert all("empty cells" in fault or "rows missing" in fault for fault in error.faults)  # noqa: PT017
        runs = [len(run) for column in range(3) for run in
                re.findall("0+", "".join(str(int((row, column) in kept)) for row in range(200)))]  # fmt: skip
        assert max(runs) > 6
        return
    assert found.values.shape == (200, 3)
    assert found.values.isfinite().all()
    for (row, column), number in kept.items():
        assert found.values[row, column].item() == pytest.approx(number, rel=1e-6)
    noted = [re.search(r"(rows missing before it|empty cells): (\d+), filled", note) for note in found.notes]
    assert sum(int(note[2]) * (3 if "rows" in note[1] else 1) for note in noted if note) == 600 - len(kept)


def test_the_generated_series(tmp_path: Path) -> None:
    """10,000 rows, 12 columns, repeatable, readable, with gaps that are all noted; any length works."""
    frame = series.make_series()
    assert frame.shape == (10_000, 12)
    assert frame.equals(series.make_series(seed=0))
    assert not frame.equals(series.make_series(seed=1))
    path = tmp_path / "series.csv"
    series.write_series(path)
    found = series.read_series(path)
    assert found.values.shape == (10_025, 11)
    assert int(frame.isna().sum().sum()) > 20
    assert len([note for note in found.notes if "rows missing" in note]) >= 20
    for rows in (30, 300):
        series.write_series(path, rows, seed=3)
        assert len(series.read_series(path).values) >= rows


def test_its_structure_is_no_straight_line() -> None:
    """Heat pumps need more when it is cold and when it is hot; offices and the factory rest at weekends; nights have no sun."""
    frame = series.make_series().dropna()
    times, warmth = pd.to_datetime(frame["date"]), frame["temperature"]
    noon = times.dt.hour.between(11, 14)
    bounds = (-9, 5), (14, 19), (26, 40)
    need = [frame["heat_pumps"][noon & warmth.between(*between)].mean() for between in bounds]
    assert need[0] > 3 * need[1] < need[2]
    weekend = times.dt.day_of_week >= 5
    for column in ("offices", "factory"):
        assert frame[column][noon & ~weekend].mean() > 3 * frame[column][noon & weekend].mean()
    assert (frame["sun"][times.dt.hour == 0] == 0).all()
    assert frame["solar"].max() == 14


@pytest.mark.parametrize(("rows", "past", "ahead"), [(10_025, 96, 24), (1000, 24, 1), (300, 20, 30)])
def test_parts_follow_each_other_and_forecast_each_row_once(rows: int, past: int, ahead: int) -> None:
    """Nothing of a later part is trained on or chosen by; the windows of an item are the rows around it."""
    found = series.parts(rows, past, ahead)
    values = torch.arange(rows)[:, None].repeat(1, 2)
    assert [part.start for part in found.values()] == [0, found["train"].stop, found["val"].stop]
    assert found["test"].stop == rows
    forecast = []
    for part in found.values():
        windows = series.Windows(values, values, part, past, ahead)
        pieces = [windows[number] for number in (0, len(windows) // 2, len(windows) - 1)]
        for seen, seen_marks, coming_marks, coming in pieces:
            assert torch.equal(torch.cat([seen, coming])[:, 0], torch.arange(past + ahead) + seen[0, 0])
            assert torch.equal(seen, seen_marks)
            assert torch.equal(coming, coming_marks)
        forecast += [set(range(int(pieces[0][3][0, 0]), int(pieces[-1][3][-1, 0]) + 1))]
        assert pieces[-1][3][-1, 0] == part.stop - 1
        batch = windows.batch([0, len(windows) // 2, len(windows) - 1])
        for number, together in enumerate(batch):
            assert torch.equal(together, torch.stack([piece[number] for piece in pieces]))
    train, val, test = forecast
    assert not (train & val or val & test or train & test)
    assert train | val | test == set(range(past, rows))
    with pytest.raises(IndexError):
        windows[len(windows)]


def test_too_short_a_series_is_refused() -> None:
    """The shortest that works has one window for training; the message says which numbers do not go together."""
    assert series.parts(240, 96, 24)["val"] == range(168, 192)
    for rows, past, ahead in ((171, 96, 24), (230, 96, 24), (100, 10, 20), (0, 1, 1)):
        with pytest.raises(series.SeriesError, match=f"{rows} rows .* {past} .* {ahead}.*[Tt]ake"):
            series.parts(rows, past, ahead)
    for past, ahead in ((1, 1), (96, 24), (5, 60), (300, 1)):
        with pytest.raises(series.SeriesError) as raised:
            series.parts(1, past, ahead)
        series.parts(int(re.search(r"Take (\d+) rows", str(raised.value))[1]), past, ahead)


def test_the_scaler_is_of_the_rows_it_was_fitted_on() -> None:
    """Mean 0, standard deviation 1, and back again; a column that never changes divides by nothing."""
    values = torch.randn(500, 3) * torch.tensor([1e-3, 1.0, 1e4]) + torch.tensor([0.0, -5.0, 1e6])
    values = torch.cat([values, torch.full((500, 1), 7.0)], 1)
    scaler = series.Scaler.fit(values[:350])
    scaled = scaler.scale(values)
    assert torch.allclose(scaled[:350].mean(0), torch.zeros(4), atol=1e-2)
    assert torch.allclose(scaled[:350].std(0), torch.tensor([1.0, 1, 1, 0]), atol=1e-3)
    assert torch.allclose(scaler.unscale(scaled), values, rtol=1e-5, atol=1e-6)
    assert torch.equal(series.Scaler.fit(values[:350] + 0).mean, scaler.mean)


def test_marks_tell_hour_and_weekday() -> None:
    """The same hour of the same weekday has the same marks; all 168 hours of a week differ."""
    times = pd.date_range("2024-01-01", periods=336, freq="h")
    marks = series.marks(times)
    assert marks.shape == (336, 4)
    assert torch.allclose(marks[:168], marks[168:], atol=1e-5)
    assert torch.pdist(marks[:168]).min() > 0.01
    assert torch.allclose(marks.square().reshape(-1, 2, 2).sum(1), torch.ones(336, 2))
    quarter = series.marks(pd.date_range("2024-01-01", periods=96, freq="15min"))
    assert torch.pdist(quarter).min() > 0.01
