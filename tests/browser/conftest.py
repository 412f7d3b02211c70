"""One JupyterLab and one Chromium for all browser tests of a process."""

import os
from collections.abc import Iterator
from typing import Any, NoReturn

import pytest

from tools import labpage

pytest.register_assert_rewrite("tests.browser.promises")


def unavailable(why: str) -> NoReturn:
    """Without a browser: a visible skip for a student, a failure in CI, where these checks must run."""
    if os.environ.get("CI"):
        pytest.fail(f"CI is set, so the browser tests may not be left out: {why}", pytrace=False)
    pytest.skip(f"browser tests not run: {why}")


# Package scope, not session scope: Playwright keeps an event loop running in this thread, which disturbs other tests.
@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    """Return a running Chromium (Playwright's browser object)."""
    running = labpage.browser()
    try:
        started = running.__enter__()
    except labpage.Unavailable as error:
        unavailable(str(error))
    try:
        yield started
    finally:
        running.__exit__(None, None, None)


@pytest.fixture(scope="package")
def lab(chromium: Any) -> Iterator[labpage.Lab]:
    """Return a running JupyterLab over a copy of the lessons."""
    with labpage.Lab() as running:
        yield running


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Any:
    """Return a function that adds a line to the summary of the run."""
    return lambda line: request.node.user_properties.append(("course_line", line))
