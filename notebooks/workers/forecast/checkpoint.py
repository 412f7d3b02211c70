"""A run's checkpoint: all that its next step depends on."""

import io
from argparse import Namespace
from pathlib import Path

import torch

from ranks import decide, say
from run_folder import RunError, write

SAVED = ["net", "optimizer", "scaler"]


def save(folder: Path, parts: dict, progress: dict, options: Namespace) -> None:
    """Let rank 0 write all that the next step depends on."""
    if options.rank == 0:
        # The net, not its wrapper, which puts "module." before all names.
        state = {name: parts[name].state_dict() for name in SAVED}
        write_state(folder / "checkpoint.pt", state | {"progress": progress})
        save_best(folder, progress)


def save_best(folder: Path, progress: dict) -> None:
    if progress["best"]:
        write_state(folder / "best.pt", progress["best"])


def write_state(path: Path, state: dict) -> None:
    file = io.BytesIO()
    torch.save(state, file)
    write(path, file.getvalue())


def read_state(path: Path) -> dict:
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise RunError(f"{path} cannot be read as a checkpoint: {error}") from error


def load(folder: Path, parts: dict, options: Namespace) -> dict:
    """Restore everything and return how far the run had come."""
    path = folder / "checkpoint.pt"
    found = read_state(path) if options.rank == 0 and path.exists() else None
    step = decide(found and found["progress"]["step"])  # one rank decides for all
    if step is None:
        return {"step": 0, "seconds": 0.0, "best": None}
    found = found or read_state(path)  # each rank, from a disk that all see
    if found["progress"]["step"] != step:
        raise RunError(f"rank {options.rank} finds another {path} than rank 0")
    for name in SAVED:
        parts[name].load_state_dict(found[name])
    if options.rank == 0:  # a kill may have come between checkpoint.pt and best.pt
        save_best(folder, found["progress"])
    say(options, f"resumed after step {step} of {options.steps}")
    return found["progress"]
