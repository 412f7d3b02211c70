"""Other processes keep the processor busy, and end."""

from __future__ import annotations

import os
import time

import psutil
import pytest

from tools.stress import busy


def test_busy_processes_are_busy_and_end() -> None:
    with busy(2) as running:
        end = time.monotonic() + 60
        while not all(sum(psutil.Process(p.pid).cpu_times()[:2]) > 0.5 for p in running):
            assert time.monotonic() < end, "no process takes a second half of a second"
            time.sleep(0.05)
        assert len({os.getpgid(p.pid) for p in running} - {os.getpgid(0)}) == 2, "in groups of their own"
    assert all(p.returncode is not None for p in running)
    with pytest.raises(RuntimeError), busy(1) as running:
        raise RuntimeError("on purpose")
    assert running[0].returncode is not None
