"""Tests whose cases stand in a table: ``tests/tables/test_NAME.toml``."""

import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest


@cache
def tables(stem: str) -> dict[str, list[Any]]:
    """Return the tables of a file; for `tabled` by the name of the test: the arguments' names, then a row a case."""
    return tomllib.loads((Path(__file__).parent / "tables" / f"{stem}.toml").read_text(encoding="utf-8"))


def tabled(function: Callable[..., None]) -> Any:
    """Give a test the cases of its table, as a decorator; what a row leaves out at its end is None."""
    names, *rows = tables(Path(function.__code__.co_filename).stem)[function.__name__]
    return pytest.mark.parametrize(names, [row + [None] * (len(names) - len(row)) for row in rows])(function)
