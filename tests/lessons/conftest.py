"""Fixtures for the tests of the lessons' rooms."""

import pytest


@pytest.fixture(scope="session")
def known_scripts(pytestconfig: pytest.Config) -> None:
    """Run the scripts that answer exercises in one launch: all of them where nightly tests are not left out."""
    from script_answers import run_known_scripts  # loads PyTorch

    run_known_scripts(night="not nightly" not in pytestconfig.option.markexpr)


@pytest.fixture(autouse=True)
def known_scripts_of_lessons(request: pytest.FixtureRequest) -> None:
    """Use `known_scripts` where exercises are examined and the parameter is one of lesson 06 or 07."""
    examined = request.path.name in ("test_exercises.py", "test_script_exercises.py")
    if examined and request.node.name.partition("[")[2].startswith(("06", "07")):
        request.getfixturevalue("known_scripts")
