"""Run a learner's script as one rank, and record what it does with PyTorch: samples, weights, and how it ended.

The launcher runs ``observed_script.py SCRIPT`` instead of the script, which needs no change.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from pathlib import Path
from typing import Any

NAME = "script.py"  # the file name in tracebacks
WAIT_SECONDS = 15  # limit for waiting in a collective


def _call_before(owner: Any, name: str, action: Callable[[tuple[Any, ...], dict[str, Any]], None]) -> None:
    """Replace ``owner.name`` by a function that calls `action` with its arguments, which it may change, first."""
    original = getattr(owner, name)

    @wraps(original)
    def patched(*args: Any, **kwargs: Any) -> Any:
        action(args, kwargs)
        return original(*args, **kwargs)

    setattr(owner, name, patched)


class Recorder:
    """Records what a script does with PyTorch's data loading, DistributedDataParallel and optimizers."""

    def __init__(self) -> None:
        self.samples: list[list[int]] = [[]]  # by step: numbers of the samples that were loaded before it
        self.start: list[float] = []  # parameters before the first step
        self.epochs: list[int] = []  # arguments of set_epoch
        self.forwards = 0  # calls of the wrapped model
        self.world_size = 0  # at the first step; 0 without a process group
        self.parameters: list[Any] = []
        self.namespace = {"__name__": "__main__", "__file__": NAME}
        # Kept to the end: to free a DistributedDataParallel after its process group, as at the end of a function,
        # sometimes hangs (seen with PyTorch 2.13 and gloo).
        self.wrapped: list[Any] = []

    def values(self) -> list[float]:
        """Return all parameters as one list."""
        return [value for parameter in self.parameters for value in parameter.detach().flatten().tolist()]

    def patch(self) -> None:
        """Patch PyTorch's data loading, DDP, process groups and optimizers to record calls."""
        import torch.distributed as dist
        from torch.nn.parallel import DistributedDataParallel
        from torch.optim.optimizer import register_optimizer_step_pre_hook
        from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

        _call_before(TensorDataset, "__getitem__", self._sample)
        _call_before(DistributedSampler, "set_epoch", self._epoch)
        _call_before(DistributedDataParallel, "__init__", lambda args, _: self.wrapped.append(args[0]))
        _call_before(DistributedDataParallel, "forward", self._forward)
        _call_before(DataLoader, "__init__", _load_in_this_process)
        _call_before(dist, "init_process_group", _limit_waiting)
        register_optimizer_step_pre_hook(self._step)

    def _sample(self, args: Any, _: Any) -> None:
        if isinstance(args[1], int):  # not a slice that the script itself takes
            self.samples[-1].append(args[1])

    def _epoch(self, args: Any, kwargs: Any) -> None:
        self.epochs.append(int(kwargs.get("epoch", args[-1])))

    def _forward(self, *_: Any) -> None:
        self.forwards += 1

    def _step(self, optimizer: Any, *_: Any) -> None:
        import torch.distributed as dist

        if not self.start:
            self.parameters = [p for group in optimizer.param_groups for p in group["params"]]
            self.start = self.values()
            self.world_size = dist.get_world_size() if dist.is_initialized() else 0
        self.samples.append([])


def _load_in_this_process(_: Any, kwargs: dict[str, Any]) -> None:
    """Load no samples in worker processes, where they would not be recorded."""
    kwargs.pop("prefetch_factor", None)
    kwargs |= {"num_workers": 0, "persistent_workers": False}


def _limit_waiting(_: Any, kwargs: dict[str, Any]) -> None:
    limit = timedelta(seconds=WAIT_SECONDS)
    kwargs["timeout"] = min(kwargs.get("timeout") or limit, limit)


_kept: list[Recorder] = []  # see Recorder.wrapped


def observe(path: Path) -> dict[str, Any]:
    """Run the script at `path` and return what it did.

    Args:
        path: A Python file.

    Returns:
        ``samples`` (per step), ``start`` and ``end`` (parameters), ``epochs``, ``forwards``, ``world_size``, ``open``
        (whether the process group still exists), and ``raised`` and ``line`` if it ended with an exception.
    """
    import torch.distributed as dist

    _kept.append(recorder := Recorder())
    recorder.patch()
    failure: dict[str, Any] = {}
    sys.argv = [NAME]
    sys.path[0] = str(path.parent)
    text = path.read_text(encoding="utf-8")
    try:
        exec(compile(text, NAME, "exec"), recorder.namespace)
    except BaseException as error:  # also SystemExit: the checker decides what it means
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == NAME]
        failure = {"raised": f"{type(error).__name__}: {error}", "line": lines[-1] if lines else 0}
    return failure | {
        "samples": recorder.samples[:-1],
        "start": recorder.start,
        "end": recorder.values(),
        "epochs": recorder.epochs,
        "forwards": recorder.forwards,
        "world_size": recorder.world_size,
        "open": dist.is_available() and dist.is_initialized(),
    }


def main() -> None:
    """Observe the script that the first argument names, and report what was recorded."""
    from notebook_torchrun import report

    record = observe(Path(sys.argv[1]))
    report(**record)
    if "raised" in record:
        sys.exit(1)  # so that torchrun stops the other ranks


if __name__ == "__main__":
    main()
