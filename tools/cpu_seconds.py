"""Print what the tests of each file cost: processor seconds, with those of the processes that they waited for.

A pytest plugin, loaded by conftest.py. Seconds on the clock depend on what else a machine does; these hardly do.
"""

import os
from collections import Counter
from typing import Any

import pytest

SHOWN = 25  # files


def spent() -> float:
    """Return the processor seconds of this process and of its children that have ended."""
    return sum(os.times()[:4])


class CpuSeconds:
    """Adds up processor seconds by file, in each process, and prints them at the end."""

    def __init__(self) -> None:
        self.files: Counter[str] = Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """Time one test, with its fixtures."""
        before = spent()
        result = yield
        self.files[item.location[0]] += spent() - before
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
