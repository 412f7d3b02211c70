"""Print what the tests of each file cost: processor seconds, with those of the processes that they started.

A pytest plugin, loaded by conftest.py. Seconds on the clock depend on what else a machine does; these hardly do.
"""

import os
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

SHOWN = 25  # files


def spent() -> float:
    """Return the processor seconds of this process and of its descendants.

    On Linux those that still run count too; elsewhere they count when they have ended, in whatever test that is.
    """
    seconds, running = sum(os.times()[:4]), _children(os.getpid())
    while running:
        process = running.pop()
        try:
            fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        ticks = sum(map(int, fields[11:15]))  # its own, and of its ended children
        seconds += ticks / os.sysconf("SC_CLK_TCK")
        running += _children(process)
    return seconds


def _children(process: int) -> list[int]:
    found, threads = [], f"/proc/{process}/task"
    with suppress(OSError):  # the process has just ended
        for thread in os.listdir(threads):
            # The thread may just have ended.
            with suppress(OSError), open(f"{threads}/{thread}/children", "rb") as file:
                found += map(int, file.read().split())
    return found


class CpuSeconds:
    """Adds up processor seconds by file, in each process, and prints them at the end."""

    def __init__(self) -> None:
        self.files: Counter[str] = Counter()
        self.before = 0.0

    def pytest_collection_finish(self) -> None:
        """Leave out what was before the first test."""
        self.before = spent()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """Time one test, with its fixtures and what is done before it."""
        result = yield
        # A browser that ends leaves processes to the system, and their time is in no sum any more: nothing was given back.
        before, self.before = self.before, spent()
        self.files[item.location[0]] += max(self.before - before, 0)
        return result

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Send what one of several processes has counted to the first."""
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["cpu_seconds"] = dict(self.files)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a process has counted; nothing comes from one that crashed."""
        self.files.update(getattr(node, "workeroutput", {}).get("cpu_seconds", {}))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the files that cost most, and the total."""
        if len(self.files) < 2:
            return
        total = sum(self.files.values())
        terminalreporter.section(f"{total:.0f} processor seconds, by file")
        for name, seconds in self.files.most_common(SHOWN):
            terminalreporter.write_line(f"{seconds:8.1f}  {name}")


def pytest_configure(config: pytest.Config) -> None:
    """Count from now on."""
    config.pluginmanager.register(CpuSeconds(), "course-cpu-seconds")
