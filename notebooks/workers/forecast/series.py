"""A time series for a model: split in time order, scaled, cut into windows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from reading import Series as Series
from reading import SeriesError as SeriesError
from reading import read_series as read_series
from substation import make_series as make_series
from substation import write_series as write_series


def parts(rows: int, past: int, ahead: int) -> dict[str, range]:
    """Return the rows to train on, to choose by and to test on, in time order."""
    first, second = rows * 7 // 10, rows * 8 // 10
    if first < past + ahead or second - first < ahead:  # then there is no window
        least = max(10 * ahead, (past + ahead) * 10 // 7) + 10
        cure = f"Take {least} rows, or a shorter past or future."
        reason = f"{rows} rows are too few to learn {past} -> {ahead}. {cure}"
        raise SeriesError("the series", reason)
    ends = {"train": (0, first), "val": (first, second), "test": (second, rows)}
    return {name: range(*end) for name, end in ends.items()}


@dataclass
class Scaler:
    """Gives every column mean 0 and standard deviation 1 on the rows it was fitted."""

    mean: Tensor
    std: Tensor

    @classmethod
    def fit(cls, values: Tensor) -> "Scaler":
        std = values.double().std(0).float()
        std[std == 0] = 1  # a column that never changes
        return cls(values.double().mean(0).float(), std)

    def scale(self, values: Tensor) -> Tensor:
        return (values - self.mean.to(values.device)) / self.std.to(values.device)

    def unscale(self, values: Tensor) -> Tensor:
        return values * self.std.to(values.device) + self.mean.to(values.device)


def marks(times: pd.DatetimeIndex) -> Tensor:
    """Return hour of the day and of the week as points on a circle: (rows, 4)."""
    hour = times.hour + times.minute / 60
    turns = np.stack([hour / 24, (times.day_of_week + hour / 24) / 7])
    circle = np.stack([np.sin(2 * np.pi * turns), np.cos(2 * np.pi * turns)])
    return torch.tensor(circle.reshape(4, -1).T, dtype=torch.float32)


class Windows(torch.utils.data.Dataset):
    """All windows whose future lies in `rows`; their past may reach back before.

    An item: past (past, columns), its marks (past, 4), then those of the future
    (ahead, 4), and the future (ahead, columns). A batch has the windows in front.
    """

    def __init__(
        self, values: Tensor, marks: Tensor, rows: range, past: int, ahead: int
    ) -> None:
        self.values, self.marks, self.past, self.ahead = values, marks, past, ahead
        first = max(rows.start, past)
        self.now = range(first, rows.stop - ahead + 1)  # the first row to forecast

    def __len__(self) -> int:
        return len(self.now)

    def __getitem__(self, number: int) -> tuple[Tensor, ...]:
        now = self.now[number]
        past, future = slice(now - self.past, now), slice(now, now + self.ahead)
        values, marks = self.values, self.marks
        return values[past], marks[past], marks[future], values[future]

    def batch(self, numbers: Sequence[int] | Tensor) -> tuple[Tensor, ...]:
        """Return many windows at once, gathered where the values lie."""
        device = self.values.device
        now = torch.as_tensor(numbers, device=device)[:, None] + self.now.start
        past = now + torch.arange(-self.past, 0, device=device)
        future = now + torch.arange(self.ahead, device=device)
        values, marks = self.values, self.marks
        return values[past], marks[past], marks[future], values[future]


def windows_of(series: Series, past: int, ahead: int) -> dict[str, Windows]:
    """Return the windows of the three parts, scaled as the first one is."""
    rows = parts(len(series.values), past, ahead)
    scaler = Scaler.fit(series.values[rows["train"].start : rows["train"].stop])
    values, times = scaler.scale(series.values), marks(series.times)
    return {
        name: Windows(values, times, own, past, ahead) for name, own in rows.items()
    }
