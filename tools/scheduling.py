"""Divide the tests among processes so that nothing disturbs a measurement (a plugin for pytest-xdist).

With `--numprocesses=N --dist=loadfile`, which is what `make test` does, the first process runs the notebooks and
tests that compare times, one after the other, on a core of its own. The other processes run everything else on the
remaining cores. Whoever is finished helps with what is left. All tests of a file run in one process, so that what
they share (a kernel, a JupyterLab) is started once.

Where there is a GPU, the first process also runs everything that uses it: all notebooks, and the files with tests
marked `cuda`. It has half of the cores, because lessons 06 to 08 launch several ranks. The others see no GPU.
"""

import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

TIMED = re.compile(r"notebooks/(?!06_|09_)\w+\.ipynb|tests/unit/test_measure\w*\.py")

TOGETHER = re.compile(r"tests/browser/|tests/lessons/test_(?=(script_)?exercises)")

# Tests that need a GPU, and those for which the doctor examines this machine: without its GPU it is not as it should be.
ON_GPU = re.compile(r"\bmark\.cuda\b|\breal_run\b")


def gpus() -> int:
    """Return how many GPUs PyTorch sees."""
    import torch

    return torch.cuda.device_count()


@cache
def uses_gpu(file: Path) -> bool:
    """Return whether a file of tests, or a notebook, is to run where the GPU is seen."""
    return file.suffix == ".ipynb" or file.is_file() and bool(ON_GPU.search(file.read_text(encoding="utf-8")))


def number(node: Any) -> int:
    """Return the number of an xdist process, 0 for the first."""
    return int(node.gateway.id.removeprefix("gw"))


class Scheduler(LoadFileScheduling):
    """Hand out the files that compare times, or use the GPU, to the first process only, and to it before all others."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        self.gpus = gpus()

    def _split_scope(self, nodeid: str) -> str:
        """Return what runs in one process: a file; by day also the files that share one JupyterLab, or one launch."""
        file = super()._split_scope(nodeid)
        together = TOGETHER.match(file) if self.config.option.markexpr == "not nightly" else None
        return together[0] if together else file

    def _first(self, file: str) -> bool:
        """Return whether `file` is for the first process."""
        return bool(TIMED.match(file)) or (self.gpus > 0 and uses_gpu(self.config.rootpath / file))

    def _assign_work_unit(self, node: Any) -> None:
        files = self._order_for(node)
        if not files:  # only measurements are left, and another process runs those
            node.shutdown()
            return
        self.workqueue.move_to_end(files[0], last=False)
        super()._assign_work_unit(node)

    def _order_for(self, node: Any) -> list[str]:
        others = [file for file in self.workqueue if not self._first(file)]
        if number(node) > min(map(number, self.nodes)):
            return others
        return [file for file in self.workqueue if file not in others] + others


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduler | None:
    """Replace xdist's own scheduler of whole files."""
    config.option.loadscopereorder = False
    return Scheduler(config, log) if config.option.dist == "loadfile" else None


def pytest_configure(config: pytest.Config) -> None:
    """Give the first of several processes cores of its own, where the system can do that, and all GPUs."""
    worker = getattr(config, "workerinput", {"workercount": 1})
    if worker["workercount"] == 1:
        return
    first, shared = worker["workerid"] == "gw0", gpus() > 0
    if shared and not first:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else []
    if len(cores) > 1:
        own = len(cores) // 2 if shared else 1
        os.sched_setaffinity(0, cores[:own] if first else cores[own:])
