"""By day a sample, at night the whole: the one way in which a table of cases is divided."""

from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest


def sample(cases: Iterable[Any], day: Collection[str], name: Callable[[Any], str] = str) -> list[Any]:
    """Return every case as a parameter; those that are not named in `day` run at night only.

    Args:
        cases: All cases. A tuple is the arguments of one case.
        day: The names of those that run by day, too.
        name: What a case is called, in `day` and in its test's name.

    Raises:
        ValueError: `day` names no case, or one that there is not.
    """
    named = {name(case): case for case in cases}
    if not day or (unknown := set(day) - set(named)):
        raise ValueError(f"{sorted(unknown) if day else 'nothing'} by day; there are {', '.join(named)}")
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else [case]),
            id=one,
            marks=[pytest.mark.nightly] * (one not in day),
        )
        for one, case in named.items()
    ]


def lessons(paths: Iterable[Any], *day: str) -> list[Any]:
    """Return the lessons' notebooks as parameters; by day those with the numbers `day`."""
    return sample(paths, [path.stem for path in paths if path.stem[:2] in day], lambda path: path.stem)


# For tests that ask the whole catalogue of errors: its first third by day.
THIRDS = pytest.mark.parametrize("third", sample(range(3), ["0"]))
