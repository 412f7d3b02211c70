"""A pytest plugin that appends one line of JSON per test to the file that ``MACHINE_REPORTS`` names.

A line is written when its test is over, so that nothing is lost if the machine ends the process.
"""

from __future__ import annotations

import json
import os
import re

import pytest

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
LINES = 60  # of a failure's text


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write what happened to a test."""
    if report.when != "call" and report.outcome != "failed":
        return
    line = {"test": report.nodeid, "outcome": report.outcome}
    if report.failed:
        line["text"] = "\n".join(COLOURS.sub("", report.longreprtext).splitlines()[-LINES:])
    with open(os.environ["MACHINE_REPORTS"], "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
