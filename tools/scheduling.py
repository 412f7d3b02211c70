"""Divide the tests among processes so that nothing disturbs a measurement (a plugin for pytest-xdist).

With `--numprocesses=N --dist=loadfile`, which is what `make test` does, the first process runs the notebooks and
tests that compare times, one after the other, on a core of its own. The other processes run everything else on the
remaining cores. Whoever is finished helps with what is left. All tests of a file run in one process, so that what
they share (a kernel, a JupyterLab) is started once.
"""

from __future__ import annotations

import os
import re
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling

TIMED = re.compile(r"notebooks/(?!06_|09_)\w+\.ipynb|tests/unit/test_measure\w*\.py")


def number(node: Any) -> int:
    """Return the number of an xdist process, 0 for the first."""
    return int(node.gateway.id.removeprefix("gw"))


class Scheduler(LoadFileScheduling):
    """Hand out the files that compare times to the first process only, and to it before all others."""

    def _assign_work_unit(self, node: Any) -> None:
        files = self._order_for(node)
        if not files:  # only measurements are left, and another process runs those
            node.shutdown()
            return
        self.workqueue.move_to_end(files[0], last=False)
        super()._assign_work_unit(node)

    def _order_for(self, node: Any) -> list[str]:
        others = [file for file in self.workqueue if not TIMED.match(file)]
        if number(node) > min(map(number, self.nodes)):
            return others
        return [file for file in self.workqueue if TIMED.match(file)] + others


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduler | None:
    """Replace xdist's own scheduler of whole files."""
    config.option.loadscopereorder = False
    return Scheduler(config, log) if config.option.dist == "loadfile" else None


def pytest_configure(config: pytest.Config) -> None:
    """Give the first of several processes a core of its own, where the system can do that."""
    worker = getattr(config, "workerinput", {"workercount": 1})
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else []
    if worker["workercount"] > 1 and len(cores) > 1:
        os.sched_setaffinity(0, cores[:1] if worker["workerid"] == "gw0" else cores[1:])
