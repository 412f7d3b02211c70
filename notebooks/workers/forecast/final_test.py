"""The end of a run: its test beside the baselines, metrics.json, and pictures."""

from argparse import Namespace
from pathlib import Path
from statistics import median

import torch
from torch import Tensor, nn

import baselines
from run_folder import read_run, write_json
from series import Windows


def others(windows: dict[str, Windows]) -> dict[str, dict]:
    """Return the errors of all baselines on the test windows."""
    forecasts = baselines.test_forecasts(*windows.values())
    truth = baselines.truth(windows["test"])
    return {name: baselines.errors(own, truth) for name, own in forecasts.items()}


@torch.inference_mode()
def examples(net: nn.Module, test: Windows, options: Namespace) -> list[dict]:
    """Return three forecasts of the last column, in its own units."""
    numbers = [len(test) * part // 4 for part in (1, 2, 3)]
    found = [part.to(options.device) for part in test.batch(numbers)]
    values = {"past": found[0], "truth": found[-1], "forecast": net(*found[:-1])}

    def column(values: Tensor) -> list:
        return options.scaler.unscale(values.float().cpu())[..., -1].tolist()

    lists = {name: column(own) for name, own in values.items()}
    lists["column"] = options.config["columns"][-1:] * len(numbers)
    rows = zip(*lists.values(), strict=True)
    return [dict(zip(lists, row, strict=True)) for row in rows]


def finish(
    folder: Path, net: nn.Module, found: dict, windows: dict, options: Namespace
) -> None:
    """Write what a finished run leaves: the tested errors, with those to be beaten."""
    test = {options.model: found["test"]} | others(windows)
    net.eval()
    speeds = [line["windows_per_second"] for line in read_run(folder).log]
    found |= {"test": test, "windows_per_second": median(speeds)}
    shown = {"examples": examples(net, windows["test"], options)}
    write_json(folder / "metrics.json", found | shown)
    # Whoever chose by the test's errors would have no test any more.
    print(
        f"tested: {folder / 'metrics.json'}, to be read when all is chosen",
        flush=True,
    )
    if options.plots:
        import plots  # matplotlib takes a second, and other ranks need it not

        run = read_run(folder)
        for name in ("loss", "forecast", "devices"):
            getattr(plots, f"plot_{name}")(run, folder / "plots" / f"{name}.png")
