"""Fixtures for the tests of the lessons' rooms."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def known_scripts() -> None:
    """Run the scripts of lesson 06 in one launch."""
    from lesson_06_scripts import run_known_scripts  # loads PyTorch

    run_known_scripts()


@pytest.fixture(autouse=True)
def known_scripts_of_lesson_06(request: pytest.FixtureRequest) -> None:
    """Use `known_scripts` in tests of all lessons that have an exercise of lesson 06 as their parameter."""
    if "[06" in request.node.name:
        request.getfixturevalue("known_scripts")
