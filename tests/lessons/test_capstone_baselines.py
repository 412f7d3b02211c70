"""The capstone's baselines: right where one knows the answer, fair, and beaten by nothing that has not learned."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

import baselines
import series

pytestmark = pytest.mark.usefixtures("one_thread")


def windows_of(values: Tensor, past: int = 30, ahead: int = 6) -> list:
    """Return the windows of the three parts of a series."""
    parts = series.parts(len(values), past, ahead)
    turns = 2 * torch.pi * torch.arange(len(values)) / 24
    marks = torch.stack([turns.sin(), turns.cos(), (turns / 7).sin(), (turns / 7).cos()], 1)
    return [series.Windows(values, marks, rows, past, ahead) for rows in parts.values()]


def test_errors_are_means_over_everything() -> None:
    """Plain numbers, for a file of JSON."""
    truth = torch.zeros(5, 3, 2)
    forecast = truth + torch.tensor([1.0, 2.0, 0.0])[None, :, None]
    assert baselines.errors(forecast, truth) == {"mse": 5 / 3, "mae": 1.0, "per_horizon": [1.0, 4.0, 0.0]}


def test_each_forecast_is_right_where_its_idea_is() -> None:
    """A constant, a season of 24 steps, a sum of waves: each baseline is exact on what it stands for."""
    rows = torch.arange(1000.0)
    season = (rows % 24)[:, None] ** 2 / 100
    waves = torch.stack([(rows / 7).sin(), (rows / 11).cos() + (rows / 3).sin()], 1)
    for values, exact in (
        (torch.full((1000, 2), 3.0), "last value"),
        (season, "seasonal (24)"),
        (waves, "linear, own column"),
        (waves, "linear, all columns"),
    ):
        train, val, test = windows_of(values)
        found = baselines.test_forecasts(train, val, test)
        truth = baselines.truth(test)
        if exact in found:
            assert baselines.errors(found[exact], truth)["mse"] < 1e-4
        assert all(forecast.shape == truth.shape for forecast in found.values())
        assert exact in found or values.shape[1] == 1


@pytest.mark.parametrize("period", [4, 6, 24, 168])
def test_a_season_looks_only_into_the_past(period: int) -> None:
    """Also where the season is shorter than the future: it is repeated."""
    _, _, test = windows_of(torch.arange(1000)[:, None])
    found = baselines.seasonal(test, period)[..., 0]
    truth = baselines.truth(test)[..., 0]
    assert (found < truth[:, :1]).all()
    assert ((truth - found) % period == 0).all()
    assert (found >= truth[:, :1] - period).all()


def test_a_season_longer_than_all_that_is_known_is_left_out() -> None:
    """A short series has no last week."""
    found = baselines.test_forecasts(*windows_of(torch.randn(150, 2), 10, 4))
    assert list(found) == ["last value", "seasonal (24)", "linear, own column", "linear, all columns"]


def test_no_baseline_sees_the_future_or_learns_from_the_test() -> None:
    """Another future of the test part changes no forecast that was made before it."""
    values = torch.randn(2000, 3, generator=torch.Generator().manual_seed(0)).cumsum(0) / 10
    train, val, test = windows_of(values)
    before = baselines.test_forecasts(train, val, test)
    changed = values.clone()
    changed[test.now[100] :] += 5
    after = baselines.test_forecasts(*windows_of(changed))
    for name in before:
        assert torch.equal(before[name][:101], after[name][:101]), name
        assert not torch.equal(before[name][101:], after[name][101:]), name


def test_the_linear_map_is_the_one_of_least_squares(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the smallest ridge on much data it is what torch's own solver finds, also in several portions."""
    values = torch.randn(5000, 2, generator=torch.Generator().manual_seed(0)).cumsum(0) / 30
    train, val, test = windows_of(values, past=5, ahead=2)
    monkeypatch.setattr(baselines, "RIDGES", [1e-6])
    for together in (False, True):
        got = baselines.linear(train, val, test, together)
        both = [windows.batch(range(len(windows))) for windows in (train, test)]
        x, x_test = (baselines.inputs(batch, together) for batch in both)
        y = baselines.outputs(both[0], together)
        want = x_test @ torch.linalg.lstsq(x, y).solution
        want = want[0].reshape(got.shape) if together else want.permute(1, 2, 0)
        assert torch.allclose(got, want.float() + both[1][0][:, -1:], atol=1e-4)


def test_the_ridge_is_chosen_by_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    """On noise, large weights forecast nothing: a strong ridge wins, without a look at the test part."""
    values = torch.randn(400, 8, generator=torch.Generator().manual_seed(0))
    train, val, test = windows_of(values, past=20, ahead=4)
    errors, truth = baselines.errors, baselines.truth(test)
    chosen = errors(baselines.linear(train, val, test, True), truth)["mse"]
    monkeypatch.setattr(baselines, "RIDGES", [1e-6])
    assert chosen < 0.7 * errors(baselines.linear(train, val, test, True), truth)["mse"]


def test_on_the_generated_series_linear_maps_win_most_of_all_if_told_the_hours_of_the_week_apart(
    tmp_path: Path,
) -> None:
    """They are worth beating, best when they see all columns; and what goes in counts as much as the model."""
    series.write_series(tmp_path / "series.csv")
    found = series.read_series(tmp_path / "series.csv")
    windows = series.windows_of(found, 96, 24)
    truth = baselines.truth(windows["test"])
    forecasts = baselines.test_forecasts(*windows.values())
    mse = {name: baselines.errors(forecast, truth)["mse"] for name, forecast in forecasts.items()}
    names = ["last value", "seasonal (24)", "seasonal (168)", "linear, own column", "linear, all columns"]
    assert sorted(mse, key=mse.get, reverse=True) == names
    assert 0.15 < mse["linear, all columns"] < 0.22
    assert 1.1 * mse["linear, all columns"] < mse["linear, own column"] < mse["seasonal (168)"] / 1.3
    hours = torch.tensor((found.times.day_of_week * 24 + found.times.hour).to_numpy())
    for part in windows.values():
        part.marks = torch.nn.functional.one_hot(hours.long(), 168).float()
    told = baselines.linear(**windows, together=True)
    assert 0.135 < baselines.errors(told, truth)["mse"] < 0.145
