"""Simple forecasts that a model must beat: last value, a season ago, linear maps.

All take scaled Windows and return forecasts of shape (windows, ahead, columns).
"""

import torch
from torch import Tensor

from series import Windows

RIDGES = [1.0, 10.0, 100.0, 1000.0]  # from nearly free weights to small ones
LARGEST = 4000  # inputs of a linear map, for which its equations are still solved


def errors(forecast: Tensor, truth: Tensor) -> dict:
    """Return mean squared and mean absolute error, and the first for each step ahead."""
    difference = forecast.double() - truth.double()
    squares = difference.square()
    per_horizon = squares.mean((0, 2)).tolist()
    mean, absolute = squares.mean().item(), difference.abs().mean().item()
    return {"mse": mean, "mae": absolute, "per_horizon": per_horizon}


def truth(windows: Windows) -> Tensor:
    """Return what really came."""
    return windows.batch(range(len(windows)))[3]


def last_value(windows: Windows) -> Tensor:
    """Forecast that nothing changes any more."""
    past = windows.batch(range(len(windows)))[0]
    return past[:, -1:].expand(-1, windows.ahead, -1)


def seasonal(windows: Windows, period: int) -> Tensor:
    """Forecast what was measured at the same place of the last period."""
    device = windows.values.device
    back = torch.arange(windows.ahead, device=device) % period - period
    now = torch.arange(windows.now.start, windows.now.stop, device=device)
    return windows.values[now[:, None] + back]


def inputs(batch: tuple[Tensor, ...], together: bool) -> Tensor:
    """Return what a linear map sees: (1 or columns, windows, inputs), in float64.

    That is the past relative to its last value, that value, the time, and a 1.
    """
    past, time = batch[0].cpu().double(), batch[1][:, -1].cpu().double()
    last = past[:, -1:]
    seen = torch.cat([past[:, :-1] - last, last], 1).permute(2, 0, 1)
    if together:  # every column's past, for every column's future
        seen = seen.permute(1, 0, 2).reshape(1, len(time), -1)
    rest = torch.cat([time, torch.ones(len(time), 1, dtype=torch.float64)], 1)
    return torch.cat([seen, rest.expand(len(seen), -1, -1)], 2)


def outputs(batch: tuple[Tensor, ...], together: bool) -> Tensor:
    """Return what it shall answer: the future relative to the last value."""
    future = (batch[3] - batch[0][:, -1:]).cpu().double()
    return future.flatten(1)[None] if together else future.permute(2, 0, 1)


def fit(train: Windows, together: bool) -> tuple[Tensor, Tensor]:
    """Return the two sides of the normal equations, added up over all windows."""
    left = right = 0.0
    for numbers in torch.arange(len(train)).split(1024):
        batch = train.batch(numbers)
        x, y = inputs(batch, together), outputs(batch, together)
        left, right = left + x.mT @ x, right + x.mT @ y
    return left, right


def apply(weights: Tensor, windows: Windows, together: bool) -> Tensor:
    """Return the forecasts of a linear map."""
    found = []
    for numbers in torch.arange(len(windows)).split(1024):
        batch = windows.batch(numbers)
        answer = inputs(batch, together) @ weights
        shape = len(numbers), windows.ahead, -1
        answer = answer[0].reshape(shape) if together else answer.permute(1, 2, 0)
        found.append(answer.to(batch[0]) + batch[0][:, -1:])
    return torch.cat(found)


def linear(train: Windows, val: Windows, test: Windows, together: bool) -> Tensor:
    """Forecast with the least-squares map past -> future, as Zeng et al. (2023) do.

    https://arxiv.org/abs/2205.13504. The ridge, which keeps its weights small, is the
    one that is best for validation.
    """
    (left, right), real = fit(train, together), truth(val)
    unit, best = torch.eye(left.shape[-1], dtype=torch.float64), None
    for ridge in RIDGES:
        weights = torch.linalg.solve(left + ridge * unit, right)
        error = errors(apply(weights, val, together), real)["mse"]
        if best is None or error < best[0]:
            best = error, weights
    return apply(best[1], test, together)


def test_forecasts(
    train: Windows, val: Windows, test: Windows, periods: tuple[int, ...] = (24, 168)
) -> dict[str, Tensor]:
    """Return every baseline's forecasts of all test windows, by name."""
    found = {"last value": last_value(test)}
    for period in periods:
        if period <= test.now.start:  # otherwise there is no such past
            found[f"seasonal ({period})"] = seasonal(test, period)
    found["linear, own column"] = linear(train, val, test, together=False)
    columns = train.values.shape[1]
    if 1 < columns * train.past < LARGEST:
        found["linear, all columns"] = linear(train, val, test, together=True)
    return found
