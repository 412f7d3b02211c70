"""Browser tests: one JupyterLab and one Chromium per module, every lesson opened and run once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NoReturn

import pytest

from tools import labpage


def unavailable(why: str) -> NoReturn:
    """No browser: a visible skip for a student, a failure where the checks must have run."""
    if os.environ.get("CI"):
        pytest.fail(f"CI is set, so the browser tests may not be left out: {why}", pytrace=False)
    pytest.skip(f"browser tests not run: {why}")


# Module scope: Playwright keeps an event loop running in this thread, which other tests could not stand.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    running = labpage.browser()
    try:
        started = running.__enter__()
    except labpage.Unavailable as error:
        unavailable(str(error))
    try:
        yield started
    finally:
        running.__exit__(None, None, None)


@pytest.fixture(scope="module")
def lab(chromium: Any) -> Iterator[labpage.Lab]:
    with labpage.Lab() as running:
        yield running


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Any:
    """Call it with a line that the run's summary shall show."""
    return lambda line: request.node.user_properties.append(("course_line", line))
