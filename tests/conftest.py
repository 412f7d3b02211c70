"""Which tests stay together when several processes share the work (see tools/test.py)."""

from __future__ import annotations

import pytest

# The lessons that take longest in a browser; a process of its own opens the others meanwhile.
BROWSER = "tests/browser/test_lessons.py"
LONG = ("05_", "06_")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of a file in one process, which share what is slow to make; those in the browser in two."""
    for item in items:
        file = item.nodeid.split("::")[0]
        long = file == BROWSER and any(
            f"[{start}" in item.nodeid or f"-{start}" in item.nodeid for start in LONG
        )
        item.add_marker(pytest.mark.xdist_group(f"{file} {'long' if long else ''}".strip()))
