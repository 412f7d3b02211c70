"""Runs a learner's script as one rank of several, and notes what it does: samples, weights, and how it ended.

Started by the launcher in the place of the script, which runs unchanged: ``observed.py SCRIPT``.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from pathlib import Path
from typing import Any

NAME = "script.py"  # how the learner's text is called in tracebacks
WAIT_SECONDS = 15  # after which a rank that waits in vain for the others gives up


class Notes:
    """What a script does with PyTorch's data loading, DistributedDataParallel and optimizers."""

    def __init__(self) -> None:
        self.samples: list[list[int]] = [[]]  # numbers of the samples that were fetched before each step
        self.start: list[float] = []  # parameters before the first step
        self.epochs: list[int] = []  # what set_epoch was given
        self.forwards = 0  # calls of the wrapped model
        self.world_size = 0  # when the first step was made; 0 without a process group
        self.parameters: list[Any] = []
        self.namespace = {"__name__": "__main__", "__file__": NAME}
        # Kept to the end: freeing a DistributedDataParallel after its process group, as at the end of a function, now
        # and then waits for ever (seen with PyTorch 2.13 and gloo).
        self.wrapped: list[Any] = []

    def flat(self) -> list[float]:
        """Return all parameters as one list."""
        return [value for parameter in self.parameters for value in parameter.detach().flatten().tolist()]

    def watch(self) -> None:
        """Have PyTorch tell from now on."""
        import torch.distributed as dist
        from torch.nn.parallel import DistributedDataParallel
        from torch.optim.optimizer import register_optimizer_step_pre_hook
        from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

        def before(owner: Any, name: str, note: Callable[..., None]) -> None:
            original = getattr(owner, name)

            @wraps(original)
            def noted(*given: Any, **named: Any) -> Any:
                note(given, named)
                return original(*given, **named)

            setattr(owner, name, noted)

        def fetched(given: Any, _: Any) -> None:
            if isinstance(given[1], int):  # not a slice that the script takes itself
                self.samples[-1].append(given[1])

        def epoch(given: Any, named: Any) -> None:
            self.epochs.append(int(named.get("epoch", given[-1])))

        def wrap(given: Any, _: Any) -> None:
            self.wrapped.append(given[0])

        def forward(*_: Any) -> None:
            self.forwards += 1

        def start(_: Any, named: dict[str, Any]) -> None:
            limit = timedelta(seconds=WAIT_SECONDS)
            named["timeout"] = min(named.get("timeout") or limit, limit)

        def load(_: Any, named: dict[str, Any]) -> None:
            # Samples that worker processes fetch would not be seen here.
            named.pop("prefetch_factor", None)
            named |= {"num_workers": 0, "persistent_workers": False}

        before(TensorDataset, "__getitem__", fetched)
        before(DistributedSampler, "set_epoch", epoch)
        before(DistributedDataParallel, "__init__", wrap)
        before(DistributedDataParallel, "forward", forward)
        before(DataLoader, "__init__", load)
        before(dist, "init_process_group", start)

        def step(optimizer: Any, *_: Any) -> None:
            if not self.start:
                self.parameters = [p for group in optimizer.param_groups for p in group["params"]]
                self.start = self.flat()
                self.world_size = dist.get_world_size() if dist.is_initialized() else 0
            self.samples.append([])

        register_optimizer_step_pre_hook(step)


_kept: list[Notes] = []


def observe(path: Path) -> dict[str, Any]:
    """Run the script at `path` and return what there is to say about it.

    Args:
        path: A Python file.

    Returns:
        ``samples`` (per step), ``start`` and ``end`` (parameters), ``epochs``, ``forwards``, ``world_size``, ``open``
        (whether the process group still exists), and ``raised`` and ``line`` if it ended with an exception.
    """
    import torch.distributed as dist

    _kept.append(notes := Notes())
    notes.watch()
    ended: dict[str, Any] = {}
    sys.argv = [NAME]
    sys.path[0] = str(path.parent)
    text = path.read_text(encoding="utf-8")
    try:
        exec(compile(text, NAME, "exec"), notes.namespace)
    except BaseException as error:  # also SystemExit: it is for the checker to say what it means
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == NAME]
        ended = {"raised": f"{type(error).__name__}: {error}", "line": lines[-1] if lines else 0}
    return ended | {
        "samples": notes.samples[:-1],
        "start": notes.start,
        "end": notes.flat(),
        "epochs": notes.epochs,
        "forwards": notes.forwards,
        "world_size": notes.world_size,
        "open": dist.is_available() and dist.is_initialized(),
    }


def main() -> None:
    """Observe the script that the first argument names, and hand back what was noted."""
    from course_utils.launcher import report

    notes = observe(Path(sys.argv[1]))
    report(**notes)
    if "raised" in notes:
        sys.exit(1)  # so that the launcher ends the others


if __name__ == "__main__":
    main()
