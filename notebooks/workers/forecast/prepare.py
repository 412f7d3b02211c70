"""Read the series, and plan a run: what its folder says about data and steps."""

import hashlib
import os
import socket
from argparse import Namespace

from command_line import LASTING
from ranks import say, wait
from run_folder import RunError
from series import Scaler, Series, Windows, marks, read_series, write_series
from series import parts as divide


def prepare(options: Namespace) -> dict[str, Windows]:
    """Read the series; return the windows to train on, to choose by and to test on."""
    path, settings = options.data, options.settings
    missing = path.name == "series.csv" and not path.exists()
    wait()  # until all have looked
    if missing and options.local_rank == 0:  # on each machine, but not by each rank
        say(options, f"{path} does not exist and is made")
        part = path.with_name(f"{socket.gethostname()}-{os.getpid()}.part")
        write_series(part)
        part.replace(path)
    wait()
    series = read_series(path)
    if series.notes:
        say(options, f"{path}: {len(series.notes)} gaps filled, see config.json")
    past, ahead = settings["past"], settings["ahead"]
    rows = divide(len(series.values), past, ahead)
    first, last = rows["train"].start, rows["train"].stop
    options.scaler = Scaler.fit(series.values[first:last])  # it knows no later rows
    values, times = options.scaler.scale(series.values), marks(series.times)
    if not options.workers:
        values, times = values.to(options.device), times.to(options.device)
    windows = {n: Windows(values, times, rows[n], past, ahead) for n in rows}
    plan(options, windows, series)
    return windows


def plan(options: Namespace, windows: dict[str, Windows], series: Series) -> None:
    """Note what the run's folder says about the data and the number of steps."""
    count = len(windows["train"])
    if options.batch > count:
        raise RunError(f"--batch {options.batch} is more than the {count} windows")
    options.steps_per_epoch = count // options.batch
    options.steps = max(1, round(options.epochs * options.steps_per_epoch))
    names = *LASTING, "name", "compile", "workers", "watch", "plots", "cpu"
    names = *names, "settings", "steps", "steps_per_epoch"
    options.config = {name: getattr(options, name) for name in names}
    digest = hashlib.sha256(series.values.numpy().tobytes()).hexdigest()[:16]
    options.config |= {"data": str(options.data.absolute()), "digest": digest}
    options.config |= {"columns": series.columns, "rows": len(series.values)}
    options.config |= {"windows": {name: len(own) for name, own in windows.items()}}
    options.config |= {"notes": series.notes}
    # The id is often the same for all jobs, such as "none"; torchrun's process is not.
    job = os.environ.get("TORCHELASTIC_RUN_ID")
    job = job and f"{job}, {socket.gethostname()}, {os.getppid()}"
    options.config |= {"job": job}
