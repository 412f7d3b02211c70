"""The programs of the journey: the slow one, as section 8.4 shows it, and the parts that replace parts of it.

The functions of the slow program stand in the notebook word for word; the tests compare them.
"""

import io
import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from informer import SMALL, Informer
from series import Scaler, Windows, marks, parts, read_series, write_series

PAST, AHEAD = SMALL["past"], SMALL["ahead"]


@dataclass(frozen=True)
class Data:
    """The scaled series, twice: as a table and as tensors.

    Attributes:
        table: One row for each hour, with its time as index; float64, as pandas reads numbers.
        values: The same numbers, (rows, columns), float64.
        marks: The calendar of each row, (rows, 4), float64.
        rows: Which rows are for training ("train") and which for choosing ("val").
    """

    table: pd.DataFrame
    values: Tensor
    marks: Tensor
    rows: dict[str, range]

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns."""
        return list(self.table.columns)

    def windows(self, device: torch.device | str, dtype: torch.dtype, part: str = "train") -> Windows:
        """Return the windows of a part, whose numbers lie on `device`."""
        values, calendar = self.values.to(device, dtype), self.marks.to(device, dtype)
        return Windows(values, calendar, self.rows[part], PAST, AHEAD)


@cache
def ready() -> Data:
    """Return the series of section 8.1, made, read, filled and scaled; in the first call in a twentieth of a second."""
    with tempfile.TemporaryDirectory() as folder:
        write_series(Path(folder, "series.csv"))
        series = read_series(Path(folder, "series.csv"))
    rows = parts(len(series.values), PAST, AHEAD)
    scaler = Scaler.fit(series.values[rows["train"].start : rows["train"].stop])
    table = pd.DataFrame(scaler.scale(series.values).double().numpy(), series.times, series.columns)
    # The calendar is computed as the slow program computes it, in float64, so that both get the same numbers.
    calendar = torch.tensor([circle(time) for time in series.times], dtype=torch.float64)
    assert torch.allclose(calendar.float(), marks(series.times), atol=1e-5)
    return Data(table, torch.tensor(table.to_numpy()), calendar, rows)


def order(count: int) -> Tensor:
    """Return `count` numbers of training windows in a random order that is always the same; each comes once an epoch."""
    total = len(ready().windows("cpu", torch.float64))
    chance = torch.Generator().manual_seed(0)
    epochs = [torch.randperm(total, generator=chance) for _ in range(-(-count // total))]
    return torch.cat(epochs)[:count]


# --- the slow program ----------------------------------------------------------------------------------------
# fmt: off


def circle(time):  # type: ignore[no-untyped-def]  # noqa: D103
    turns = time.hour / 24, (time.day_of_week + time.hour / 24) / 7
    return [f(2 * math.pi * turn) for f in (math.sin, math.cos) for turn in turns]


def from_table(data, order, batch, device, dtype):  # type: ignore[no-untyped-def]  # noqa: D103
    for group in order.split(batch):
        windows = []
        for i in group.tolist():
            rows = range(i, i + 96 + 24)  # the past, and what is to be forecast
            values = np.array([data.table.iloc[row].tolist() for row in rows])
            marks = np.array([circle(data.table.index[row]) for row in rows])
            values, marks = torch.from_numpy(values), torch.from_numpy(marks)
            windows.append((values[:96], marks[:96], marks[96:], values[96:]))
        yield [torch.stack(part).to(device, dtype) for part in zip(*windows, strict=True)]


log = io.StringIO()


def report_each(model, optimizer, batches):  # type: ignore[no-untyped-def]  # noqa: D103
    losses = []
    for past, past_marks, future_marks, future in batches:
        forecast = model(past, past_marks, future_marks)
        loss = nn.functional.mse_loss(forecast, future)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        print(f"step {len(losses)}: loss {loss:.4f}", file=log)
    return losses


def train(  # type: ignore[no-untyped-def]  # noqa: D103
    device, order, batches=from_table, loop=report_each,
    batch=8, rate=1e-3, dtype=torch.float64, wrap=lambda model: model,
):
    torch.manual_seed(0)  # the same weights each time
    model = Informer(len(ready().columns), **SMALL).to(device, dtype)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    found = batches(ready(), order, batch, device, dtype)
    return model, loop(wrap(model), optimizer, found)


# fmt: on
# --- parts that replace its own ------------------------------------------------------------------------------

Batches = Iterator[list[Tensor] | tuple[Tensor, ...]]


def from_device(data: Data, order: Tensor, batch: int, device: torch.device, dtype: torch.dtype) -> Batches:
    """Send the whole series once, and gather each batch where it lies."""
    windows = data.windows(device, dtype)
    for group in order.to(device).split(batch):
        yield windows.batch(group)


def gather(values: Tensor, first: Tensor, length: int) -> Tensor:
    """Return the windows of `values` that begin at the rows `first`: (windows, length, columns)."""
    return values[first[:, None] + torch.arange(length, device=values.device)]


def new_rate(rate: float, batch: int, new_batch: int) -> float:
    """Return Adam's learning rate for another batch size, by the square root rule."""
    return rate * (new_batch / batch) ** 0.5


def steps_to_pay(compiling: float, before: float, after: float) -> float:
    """Return after how many steps compiling has paid, all in seconds."""
    return compiling / (before - after) if after < before else math.inf


def keep_losses(
    model: Callable[..., Tensor], optimizer: torch.optim.Optimizer, batches: Batches
) -> list[float]:
    """Train without waiting: the losses stay on the device until the last step is queued."""
    losses = []
    for past, past_marks, future_marks, future in batches:
        loss = nn.functional.mse_loss(model(past, past_marks, future_marks), future)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses).tolist()


def in_bfloat16(model: nn.Module) -> Callable[..., Tensor]:
    """Let autocast choose bfloat16 inside of the model; the loss stays in the type of the weights."""
    weights = next(model.parameters())

    def forward(*batch: Tensor) -> Tensor:
        with torch.autocast(weights.device.type, dtype=torch.bfloat16):
            return model(*batch).to(weights.dtype)

    return forward


def in_tf32(model: nn.Module) -> nn.Module:
    """Let GPUs from Ampere on round the inputs of float32 products to TF32."""
    torch.set_float32_matmul_precision("high")
    return model


def last_value_error() -> float:
    """Return the error, on the same windows as :func:`error`, of repeating the last value."""
    windows = ready().windows("cpu", torch.float64, "val")
    past, *_, future = windows.batch(range(0, len(windows), 4))
    return nn.functional.mse_loss(past[:, -1:].expand_as(future), future).item()


def error(model: nn.Module) -> float:
    """Return the mean squared error of every fourth validation window, in scaled units; changes no random state."""
    weights, training = next(model.parameters()), model.training
    windows = ready().windows(weights.device, weights.dtype, "val")
    past, past_marks, future_marks, future = windows.batch(range(0, len(windows), 4))
    with torch.inference_mode():
        forecast = model.eval()(past, past_marks, future_marks)
    model.train(training)
    return nn.functional.mse_loss(forecast, future).item()
