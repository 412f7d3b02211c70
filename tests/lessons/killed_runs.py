"""Kill runs of forecast.py at random moments and let them go on: killed_runs.py PROJECT FOLDER KILLS SEED

PyTorch is imported once; each run is a forked child with a model so small that a run takes a fraction of a second. Half
of the moments are a number of executed lines of the project (the same on every machine), half are seconds. Prints a line
of JSON with what was found; raises where a folder cannot be read, or the result differs from that of a run left alone.
"""

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

PROJECT, FOLDER, KILLS, SEED = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
sys.path[:0] = [str(PROJECT)]

import torch  # noqa: E402
import torch.utils.tensorboard  # noqa: E402, F401

import forecast  # noqa: E402
import informer  # noqa: E402
from run_folder import read_run  # noqa: E402
from series import make_series  # noqa: E402

torch.set_num_threads(1)
TINY = {"past": 24, "start": 12, "ahead": 6, "width": 8, "heads": 2, "layers": 2}
TINY |= {"decoder_layers": 1, "factor": 2, "dropout": 0.1}
informer.SIZES["small"].update(TINY)
WORDS = ["--data", "short.csv", "--epochs", "2", "--batch", "32", "--no-plots", "--watch", "0.01", "--cpu"]
OWN = {str(path) for path in PROJECT.glob("*.py") if path.name not in ("informer.py", "series.py")}


class Lines:
    """Counts executed lines of the project, and kills this process at one of them."""

    def __init__(self, last: int | None) -> None:
        self.count, self.last = 0, last

    def __call__(self, frame: Any, event: str, _: Any) -> Any:
        if event == "call":
            return self if frame.f_code.co_filename in OWN else None
        if event == "line":
            self.count += 1
            if self.count == self.last:
                os.kill(os.getpid(), signal.SIGKILL)
        return self


def run(*words: str, lines: int | None = None, seconds: float | None = None) -> tuple[int, int]:
    """Run the program in a child; return its exit status, and how many lines it executed."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            output = os.open("output.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(output, 1), os.dup2(output, 2)
            sys.argv = ["forecast.py", *words]
            counter = Lines(lines)
            if lines is not None:
                sys.settrace(counter)
            forecast.main()
            sys.settrace(None)
            os.write(write, str(counter.count).encode())
            code = 0
        finally:
            sys.stdout.flush()
            os._exit(code)
    os.close(write)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)  # it is not yet waited for: the number is still its own
    _, status = os.waitpid(child, 0)
    with os.fdopen(read) as pipe:
        return status, int(pipe.read() or 0)


def result(folder: Path) -> dict[str, Any]:
    """Return what must be the same, bit by bit."""
    found = read_run(folder)
    assert found.metrics, folder
    for line in (*found.log, found.metrics):
        del line["seconds"], line["windows_per_second"]
    state = torch.load(folder / "checkpoint.pt", weights_only=True)
    weights = [*state["net"].values(), *torch.load(folder / "best.pt", weights_only=True)["net"].values()]
    moments = [value for own in state["optimizer"]["state"].values() for value in own.values()]
    tensors = [value.flatten().tolist() for value in (*weights, *moments)]
    return {"log": found.log, "metrics": found.metrics, "tensors": tensors}


def look(folder: Path, steps: list[int]) -> str:
    """Return how far a killed run came; it must be readable."""
    found = read_run(folder)
    assert [line["step"] for line in found.log] == steps[: len(found.log)], folder
    assert not (folder / "checkpoint.pt").exists() or torch.load(folder / "checkpoint.pt", weights_only=True)
    return "ended" if found.metrics else f"step {found.log[-1]['step']}" if found.log else "begun"


def main() -> None:
    os.chdir(FOLDER)
    make_series(400).iloc[:, :4].to_csv("short.csv", index=False)
    sys.argv = ["forecast.py", *WORDS]
    forecast.main()  # here, for all that is loaded at the first use
    begin = time.monotonic()
    status, _ = run(*WORDS, "--name", "whole")
    seconds = time.monotonic() - begin
    assert status == 0, Path("output.txt").read_text()
    (whole,) = Path("results").glob("whole-*")
    _, count = run(*WORDS, "--name", "counted", lines=0)
    expected, draw, met = result(whole), random.Random(SEED), Counter()
    steps = [line["step"] for line in expected["log"]]
    for number in range(KILLS):
        name, moment = f"killed{number}", draw.random()
        when = {"lines": int(moment * count)} if number % 2 else {"seconds": moment * seconds}
        run(*WORDS, "--name", name, **when)
        folders = list(Path("results").glob(f"{name}-*"))
        where = look(folders[0], steps) if folders else "nothing"
        met[where] += 1
        again = ["--resume", str(folders[0])] if folders else [*WORDS, "--name", name]
        status, _ = run(*again)
        assert status == 0, (when, Path("output.txt").read_text()[-3000:])
        (folder,) = Path("results").glob(f"{name}-*")
        found = result(folder)
        for part, value in expected.items():
            assert found[part] == value, (name, when, where, part)
    print(json.dumps({"met": met, "lines": count, "steps": len(steps)}))


if __name__ == "__main__":
    main()
