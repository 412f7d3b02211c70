"""Pictures of a run: how it learned, what it forecasts, what the devices did.

Each function takes what `run_folder.read_run` returns, and writes a PNG file.
"""

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure  # without pyplot: no window, no state


def save(figure: Figure, path: Path) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def new(columns: int = 1) -> tuple[Figure, Any]:
    figure = Figure(figsize=(4.2 * columns + 2, 3.4), layout="constrained")
    return figure, figure.subplots(1, columns)


def legend(axes: Any) -> None:
    if axes.lines:  # matplotlib warns about a legend of nothing
        axes.legend(fontsize=8)


def plot_loss(run: Any, path: Path) -> None:
    """Draw the training loss at each noted step, and the validation error by epoch."""
    figure, axes = new()
    drawn = ("loss", "training", ""), ("val_mse", "validation", "o")
    for name, label, mark in drawn:
        points = [(line["step"], line[name]) for line in run.log if name in line]
        if points:
            axes.plot(*zip(*points, strict=True), marker=mark, label=label)
    axes.set(xlabel="step", ylabel="mean squared error (scaled)")
    legend(axes)
    save(figure, path)


def plot_forecast(run: Any, path: Path) -> None:
    """Draw forecasts against the truth, and the error of all methods by horizon."""
    windows = run.metrics["examples"][:2]
    figure, axes = new(len(windows) + 1)
    for window, one in zip(windows, axes, strict=False):
        past, ahead = window["past"][-48:], range(len(window["truth"]))
        one.plot(range(-len(past), 0), past, color="0.6", label="past")
        one.plot(ahead, window["truth"], label="truth")
        one.plot(ahead, window["forecast"], label="forecast")
        one.set(title=window["column"], xlabel="steps from now")
    for name, errors in run.metrics["test"].items():
        horizons = range(1, len(errors["per_horizon"]) + 1)
        axes[-1].plot(horizons, errors["per_horizon"], label=name)
    axes[-1].set(title="test error by horizon", xlabel="steps ahead")
    legend(axes[0])
    legend(axes[-1])
    save(figure, path)


def elapsed(lines: list[dict]) -> list[float]:
    """Return the seconds of each line; in a file they begin at 0 at every start."""
    times, before, last = [], 0.0, 0.0
    for line in lines:
        if line["seconds"] < last:  # the run was resumed
            before += last
        last = line["seconds"]
        times.append(before + last)
    return times


def plot_devices(run: Any, path: Path) -> None:
    """Draw how busy each device was, and how much of its memory was taken."""
    figure, (busy, memory) = new(2)
    for device in dict.fromkeys(line["device"] for line in run.devices):
        lines = [line for line in run.devices if line["device"] == device]
        label = f"{device}: {lines[0]['name']}"
        for axes, key, unit in ((busy, "busy", 1), (memory, "memory", 1e9)):
            known = [line for line in lines if line.get(key) is not None]
            values = [line[key] / unit for line in known]
            axes.plot(elapsed(known), values, label=label)
    busy.set(xlabel="seconds", ylabel="busy (%)", ylim=(0, 105))
    memory.set(xlabel="seconds", ylabel="memory (GB)", ylim=(0, None))
    legend(memory)
    save(figure, path)
