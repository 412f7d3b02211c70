"""Run a learner's script as one rank, and record what it does with PyTorch.

``shared.script_exercise`` launches ``observed_script.py SCRIPT FOLDER WORLDS STOP`` instead of the script, which needs
no change. WORLDS such as ``[2, 1]`` makes jobs that know nothing of each other: two processes, and one alone.
"""

import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import wraps
from pathlib import Path
from typing import Any

JOB = "COURSE_JOB"  # environment variable: begins the names of a job's keys in torchrun's store
WAIT_SECONDS = 15  # limit for waiting in a collective
MOST_VALUES = 200  # of all parameters together
COLLECTIVES = (
    "all_reduce", "reduce", "broadcast", "all_gather", "gather", "scatter", "reduce_scatter", "all_gather_into_tensor",
    "reduce_scatter_tensor", "barrier", "all_gather_object", "broadcast_object_list", "gather_object", "send", "recv",
)  # fmt: skip


class Stopped(BaseException):
    """The check stops the first start of a script that should resume."""


def place(
    script: Path, folder: Path, worlds: Sequence[int], start: int, number: int = 0
) -> tuple[Path, Path]:
    """Make this process a rank of its own job, in a folder of the job; return the job's copy of the script, and where it was.

    Args:
        script: The learner's file.
        folder: Where the jobs have their folders.
        worlds: How many ranks each job has.
        start: How often torchrun has started the ranks before.
        number: Of the script, if the same torchrun runs several.
    """
    rank, job = int(os.environ["RANK"]), 0
    while rank >= worlds[job]:
        rank, job = rank - worlds[job], job + 1
    size = str(worlds[job])
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": size, "LOCAL_WORLD_SIZE": size}
    os.environ[JOB] = f"{number}-{job}-{start}"
    # Else a rank that ends at once may be gone before the others have reached it: they would seem to be out of step.
    os.environ["TORCH_DIST_INIT_BARRIER"] = "1"
    own = folder / str(job)
    (own / "mine").mkdir(parents=True, exist_ok=True)
    os.chdir(own)
    return own / "mine" / script.name, script.parent


class Recorder:
    """Records what a script does: data loading, collectives, DistributedDataParallel, optimizers, files."""

    def __init__(self, name: str, stop: int) -> None:
        self.name, self.stop = name, stop
        self.facts: dict[str, Any] = {
            "samples": [[]],  # by step: numbers of the samples that were loaded before it
            "forwards": [[0, 0]],  # by step: forward passes of the wrapped model, and how many of them synchronize
            "gradients": [],  # by step
            "start": [],  # parameters before the first step
            "resumed": False,  # whether the optimizer remembers something before its first step
            "epochs": [],  # arguments of set_epoch
            "at_epoch": [],  # parameters at each of these calls
            "collectives": [],  # name, line
            "wrapped": 0,
            "initialized": 0,  # process groups
            "saved": [], "loaded": [], "moved": [],  # names of files
        }  # fmt: skip
        # Kept to the end: to free a DistributedDataParallel after its process group sometimes hangs (2.13, gloo).
        self.kept: list[Any] = []
        self.parameters: list[Any] = []

    def values(self, what: Callable[[Any], Any] = lambda parameter: parameter) -> list[float]:
        """Return all parameters, or `what` of each, as one list."""
        tensors = [tensor for tensor in map(what, self.parameters) if tensor is not None]
        return [value for tensor in tensors for value in tensor.detach().flatten().tolist()][:MOST_VALUES]

    def line(self) -> int:
        """Return the line of the script that is running."""
        frame: Any = sys._getframe()
        while frame is not None and frame.f_code.co_filename != self.name:
            frame = frame.f_back
        return frame.f_lineno if frame else 0

    def before(self, owner: Any, name: str, action: Callable[[Any, Any], None]) -> None:
        """Call `action` with the arguments of ``owner.name``, which it may change, before each call."""
        original = getattr(owner, name, None)
        if original is None:
            return

        @wraps(original)
        def patched(*args: Any, **kwargs: Any) -> Any:
            action(args, kwargs)
            return original(*args, **kwargs)

        setattr(owner, name, patched)

    def patch(self) -> None:
        """Patch PyTorch, and what moves files."""
        import torch
        import torch.distributed as dist
        from torch.nn.parallel import DistributedDataParallel
        from torch.optim.optimizer import Optimizer, register_optimizer_step_pre_hook
        from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

        facts = self.facts
        self.before(TensorDataset, "__getitem__", self._sample)
        self.before(DistributedSampler, "set_epoch", self._epoch)
        self.before(DistributedDataParallel, "__init__", self._wrap)
        self.before(DistributedDataParallel, "forward", self._forward)
        self.before(DataLoader, "__init__", _load_in_this_process)
        self.before(dist, "init_process_group", self._initialize)
        self.before(dist, "new_group", _limit_waiting)
        for name in COLLECTIVES:
            self.before(dist, name, lambda *_, name=name: facts["collectives"].append((name, self.line())))
        self.before(torch, "save", lambda *given: facts["saved"].append(_file(*given, 1)))
        self.before(torch, "load", lambda *given: facts["loaded"].append(_file(*given, 0)))
        for name in ("replace", "rename"):
            self.before(os, name, lambda *given: facts["moved"].append(_file(*given, 1)))
        self.before(Optimizer, "__init__", lambda args, _: self.kept.append(args[0]))
        register_optimizer_step_pre_hook(self._step)

    def _sample(self, args: Any, _: Any) -> None:
        if isinstance(args[1], int):  # not a slice that the script itself takes
            self.facts["samples"][-1].append(args[1])

    def _initialize(self, args: Any, kwargs: Any) -> None:
        self.facts["initialized"] += 1
        _limit_waiting(args, kwargs)
        if len(args) < 2 and "store" not in kwargs:
            from torch.distributed import PrefixStore, TCPStore

            kwargs.pop("init_method", None)
            address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
            options = {"is_master": False, "timeout": kwargs["timeout"], "wait_for_workers": False}
            kwargs["store"] = PrefixStore(os.environ[JOB], TCPStore(address, port, **options))
            kwargs.setdefault("rank", int(os.environ["RANK"]))
            kwargs.setdefault("world_size", int(os.environ["WORLD_SIZE"]))

    def _epoch(self, args: Any, kwargs: Any) -> None:
        groups = [group for kept in self.kept for group in getattr(kept, "param_groups", ())]
        self.parameters = self.parameters or [p for group in groups for p in group["params"]]
        self.facts["epochs"].append(int(kwargs.get("epoch", args[-1])))
        self.facts["at_epoch"].append(self.values())

    def _wrap(self, args: Any, _: Any) -> None:
        self.facts["wrapped"] += 1
        self.kept.append(args[0])

    def _forward(self, args: Any, _: Any) -> None:
        self.facts["forwards"][-1][0] += 1
        self.facts["forwards"][-1][1] += bool(args[0].require_backward_grad_sync)

    def _step(self, optimizer: Any, *_: Any) -> None:
        if not self.facts["start"]:
            self.parameters = [p for group in optimizer.param_groups for p in group["params"]]
            self.facts["start"] = self.values()
            self.facts["resumed"] = bool(optimizer.state_dict()["state"])
        if self.stop and len(self.facts["gradients"]) == self.stop:
            raise Stopped
        self.facts["gradients"].append(self.values(lambda parameter: parameter.grad))
        self.facts["samples"].append([])
        self.facts["forwards"].append([0, 0])


def _file(args: tuple[Any, ...], kwargs: dict[str, Any], position: int) -> str:
    """Return the name of the file among the arguments of a function."""
    found = args[position] if position < len(args) else kwargs.get("f") or kwargs.get("dst", "")
    return os.path.basename(str(getattr(found, "name", found)))


def _load_in_this_process(_: Any, kwargs: dict[str, Any]) -> None:
    """Load no samples in worker processes, where they would not be recorded."""
    kwargs.pop("prefetch_factor", None)
    kwargs |= {"num_workers": 0, "persistent_workers": False}


def _limit_waiting(_: Any, kwargs: dict[str, Any]) -> None:
    limit = timedelta(seconds=WAIT_SECONDS)
    kwargs["timeout"] = min(kwargs.get("timeout") or limit, limit)


_recorders: list[Recorder] = []  # see Recorder.kept


def observe(text: str, copy: Path, beside: Path, stop: int = 0) -> dict[str, Any]:
    """Run a script and return what it did: the facts of a :class:`Recorder`, and how it ended.

    Args:
        text: The script.
        copy: Where to put it: paths that it works with are then its own.
        beside: The folder of the learner's file, from which it may import.
        stop: Stop it before its optimizer step with this number, from 0; 0 means never.

    Returns:
        Also ``end`` (parameters), ``open`` (whether a process group still exists), and ``raised`` and ``line``.
    """
    import torch.distributed as dist

    copy.write_text(text, encoding="utf-8")
    _recorders.append(recorder := Recorder(str(copy), stop))
    recorder.patch()
    failure: dict[str, Any] = {}
    sys.argv = [str(copy)]
    sys.path[0] = str(beside)
    module = sys.modules["__main__"] = type(sys)("__main__")
    module.__file__ = str(copy)
    try:
        exec(compile(text, str(copy), "exec"), module.__dict__)
    except BaseException as error:  # also SystemExit: the checker decides what it means
        if not (isinstance(error, SystemExit) and not error.code):
            lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(copy)]
            failure = {"raised": f"{type(error).__name__}: {error}"[:2000], "line": lines[-1] if lines else 0}
    still_open = dist.is_available() and dist.is_initialized()
    return recorder.facts | failure | {"end": recorder.values(), "open": still_open}


def main() -> None:
    """Observe the script that the first argument names, and report what was recorded."""
    from notebook_torchrun import report

    script, folder, worlds, stop = Path(sys.argv[1]), Path(sys.argv[2]), *map(json.loads, sys.argv[3:])
    start, alone = int(os.environ["TORCHELASTIC_RESTART_COUNT"]), int(os.environ["RANK"]) >= worlds[0]
    text = script.read_text(encoding="utf-8")
    record = observe(text, *place(script, folder, worlds, start), stop=0 if start else stop)
    report(**{f"start {start}": record})
    if "raised" in record and not alone:
        time.sleep(0.3 * record["raised"].startswith("Stopped"))  # until the others have been stopped as well
        sys.exit(1)  # so that torchrun stops the other ranks


if __name__ == "__main__":
    main()
