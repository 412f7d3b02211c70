"""The capstone's series: every fault of a file is named, no value is lost, and nothing of the future leaks."""

import random
import re
from pathlib import Path

import pandas as pd
import pytest
import torch
from tabled import tabled

import series

LINES = ["date,load,oil", *(f"2024-01-01 {hour:02}:00:00,{hour}.5,{2 * hour}" for hour in range(24)), ""]


def file_of(
    folder: Path, lines: list[str], find: str = "", put: str = "", encoding: str | None = None
) -> Path:
    """Write these lines, with what is to be found in them replaced, and return the path."""
    path = folder / "data.csv"
    path.write_bytes(re.sub(find, put, "\n".join(lines)).encode(encoding or "utf-8"))
    return path


@tabled
def test_a_fault_is_named_with_place_reason_and_cure(
    name: str, find: str, put: str, where: str, cure: str, encoding: str | None, tmp_path: Path
) -> None:
    """The message says where, what is wrong and what to do, in a line that fits a screen."""
    path = file_of(tmp_path, LINES, find, put, encoding)
    with pytest.raises(series.SeriesError) as raised:
        series.read_series(path)
    assert re.search(f"{where}.*{cure}", str(raised.value)), raised.value
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


@tabled
def test_harmless_differences_change_nothing(
    name: str, find: str, put: str, encoding: str | None, tmp_path: Path
) -> None:
    """What programs write differently without meaning anything is read the same."""
    want = series.read_series(file_of(tmp_path, LINES))
    got = series.read_series(file_of(tmp_path, LINES, find, put, encoding))
    assert torch.equal(got.values, want.values)
    assert got.times.equals(want.times)
    assert got.columns == want.columns == ["load", "oil"]
    assert not got.notes


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
    lines, step = ["date,a,b,c"], ("15min", "1h", "1D")[seed % 3]
    for row, time in enumerate(pd.date_range("2024-02-28", periods=200, freq=step).astype(str)):
        if row not in gone:
            lines.append(f"{time}," + ",".join(str(numbers.get((row, column), "")) for column in range(3)))
    kept = {place: number for place, number in numbers.items() if place[0] not in gone}
    try:
        found = series.read_series(file_of(tmp_path, lines))
    except series.SeriesError as error:
        assert all("empty cells" in fault or "rows missing" in fault for fault in error.faults)  # noqa: PT017
        runs = [len(run) for column in range(3) for run in
                re.findall("0+", "".join(str(int((row, column) in kept)) for row in range(200)))]  # fmt: skip
        assert max(runs) > 6
        return
    assert found.values.shape == (200, 3) and found.step == pd.Timedelta(step)
    assert found.values.isfinite().all()
    for (row, column), number in kept.items():
        assert found.values[row, column].item() == pytest.approx(number, rel=1e-6)
    noted = [re.search(r"(rows missing before it|empty cells): (\d+), filled", note) for note in found.notes]
    assert sum(int(note[2]) * (3 if "rows" in note[1] else 1) for note in noted if note) == 600 - len(kept)


def test_the_generated_series(tmp_path: Path) -> None:
    """Its seed decides, and any length can be read again."""
    assert series.make_series(30).equals(series.make_series(30, seed=0))
    assert not series.make_series(30).equals(series.make_series(30, seed=1))
    for rows in (30, 300):
        series.write_series(tmp_path / "series.csv", rows, seed=3)
        assert len(series.read_series(tmp_path / "series.csv").values) >= rows


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
