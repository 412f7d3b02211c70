"""Fixtures for the tests of the lessons' rooms."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def gpus_put_back() -> Iterator[None]:
    """Stop the practice GPUs that a judge made ready: other tests are about a PyTorch without them."""
    yield
    lesson_gpus = sys.modules.get("course_utils.lesson_gpus")
    if lesson_gpus and lesson_gpus._devices:
        lesson_gpus.start(0)
        if practice := sys.modules.get("practice_gpu"):
            practice.stop()


@pytest.fixture(scope="session")
def known_scripts() -> None:
    """Run all scripts that answer exercises in one launch."""
    from script_answers import run_known_scripts  # loads PyTorch

    run_known_scripts()


@pytest.fixture(autouse=True)
def known_scripts_of_lessons(request: pytest.FixtureRequest) -> None:
    """Use `known_scripts` where exercises are examined and the parameter is one of lesson 06 or 07."""
    examined = request.path.name in ("test_exercises.py", "test_script_exercises.py")
    if examined and request.node.name.partition("[")[2].startswith(("06", "07")):
        request.getfixturevalue("known_scripts")
