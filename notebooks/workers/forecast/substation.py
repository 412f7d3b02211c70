"""The measurements of a made-up district's electricity substation, hour by hour.

Nearly everything follows the clock and the weather, little of it in a straight line.
Temperatures are in °C, sun in W/m², wind in m/s, homes to solar in MW, the current in A,
the price in euros per MWh.
"""

import math
from pathlib import Path

import numpy as np
import pandas as pd


def drift(rng: np.random.Generator, rows: int, hours: float) -> np.ndarray:
    """Return noise of variance 1 that remembers about so many hours of its past."""
    keep, noise = math.exp(-1 / hours), rng.normal(size=rows)
    noise[1:] *= math.sqrt(1 - keep**2)
    for row in range(1, rows):
        noise[row] += keep * noise[row - 1]
    return noise


def lag(values: np.ndarray, hours: float) -> np.ndarray:
    """Return values that follow the given ones with so many hours' delay."""
    keep = math.exp(-1 / hours)
    return pd.Series(values).ewm(alpha=1 - keep, adjust=False).mean().to_numpy()


def weather(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, ...]:
    """Return hourly temperature (°C), sunshine (W/m²) and wind (m/s) of a mild place."""
    day = np.arange(rows) / 24
    season = -np.cos(2 * np.pi * (day - 15) / 365.25)  # -1 in January, 1 in July
    height = np.clip(0.28 * season - 0.68 * np.cos(2 * np.pi * day), 0, None)
    clouds = 1 / (1 + np.exp(-2 * drift(rng, rows, 60)))  # 0: clear, 1: covered
    sun = 1000 * height * (1 - 0.8 * clouds) * (1 + 0.05 * rng.normal(size=rows))
    wind = 5 * np.exp(0.4 * drift(rng, rows, 60)) * (0.8 + 0.5 * lag(height, 3))
    warmth = 10 + 10 * season + 3 * drift(rng, rows, 96) + 0.02 * lag(sun, 4)
    return warmth - 0.1 * wind + 0.3 * rng.normal(size=rows), sun, wind


def use(rng: np.random.Generator, rows: int, warmth: np.ndarray) -> tuple:
    """Return the megawatts of homes, offices, factory and heat pumps."""
    hour, workday = np.arange(rows) % 24, np.arange(rows) // 24 % 7 < 5

    def bump(middle: float, width: float) -> np.ndarray:
        return np.exp(-(((hour - middle + 12) % 24 - 12) ** 2) / (2 * width**2))

    level = 1 + 0.08 * np.arange(rows) / 8760  # grows by 8 % in a year
    awake = np.where(workday, bump(7, 1.5) + bump(20, 2.5), 1.2 * bump(15, 5))
    homes = level * (3 + 5 * awake) * (1 + 0.05 * drift(rng, rows, 12))
    busy = workday * (bump(10, 2.2) + bump(14, 2.2))
    offices = level * (1 + 5 * busy) * (1 + 0.05 * drift(rng, rows, 12))
    shifts = workday & (hour >= 6) & (hour < 22)
    factory = (1 + 6 * shifts) * np.exp(0.25 * drift(rng, rows, 300))
    felt = lag(warmth, 6)  # walls delay the weather
    need = 0.5 * np.clip(14 - felt, 0, None) + 0.9 * np.clip(felt - 20, 0, None)
    pumps = level * need * (0.5 + 0.5 * np.minimum(1, awake + busy))
    return homes, offices, factory, pumps * (1 + 0.05 * rng.normal(size=rows))


def make_series(rows: int = 10_000, seed: int = 0) -> pd.DataFrame:
    """Return the hourly measurements of a district's substation, with some gaps."""
    rng = np.random.default_rng(seed)
    missing = rows // 400  # rows that the file lacks
    total = rows + missing
    warmth, sun, wind = weather(rng, total)
    homes, offices, factory, pumps = use(rng, total, warmth)
    # 14 MW is all that the inverters can deliver.
    solar = np.minimum(14, 0.02 * sun * (1 - 0.004 * (warmth - 10)))
    net = homes + offices + factory + pumps - solar
    current = 30 * np.abs(net) * (1 + 0.02 * rng.normal(size=total))
    oil = warmth + 20 + 30 * lag((current / 700) ** 2, 4)  # heat: current squared
    price = 30 + 25 * np.exp((net - 20) / 16) + 4 * drift(rng, total, 24)
    frame = pd.DataFrame(
        {
            "temperature": warmth, "sun": sun, "wind": wind, "homes": homes,
            "offices": offices, "factory": factory, "heat_pumps": pumps, "solar": solar,
            "current": current, "oil_temperature": oil, "price": price,
        }
    ).round(3)  # fmt: skip
    dates = pd.date_range("2024-01-01", periods=total, freq="h")
    frame.insert(0, "date", dates.strftime("%Y-%m-%d %H:%M:%S"))
    return with_gaps(frame, rng, missing)


def with_gaps(frame: pd.DataFrame, rng: np.random.Generator, missing: int):
    """Return the frame without some rows, and with some empty cells."""
    inside = np.arange(10, len(frame) - 10)
    for row in rng.choice(inside, size=missing, replace=False):
        frame.iloc[row : row + rng.integers(1, 4), rng.integers(1, 12)] = np.nan
    return frame.drop(rng.choice(inside, size=missing, replace=False))


def write_series(path: str | Path, rows: int = 10_000, seed: int = 0) -> None:
    """Write such a file."""
    make_series(rows, seed).to_csv(path, index=False)
