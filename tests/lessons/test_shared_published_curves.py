"""Curves that others have published: each number stands in its source's quote."""

import itertools
import re

import pytest

from course_utils.published import references
from shared.published_curves import CURVES, DATA, published


def quoted(key: str) -> list[float]:
    """Return the numbers in a reference's quote."""
    return [
        float(found.replace(",", "")) for found in re.findall(r"\d[\d,]*(?:\.\d+)?", references()[key].quote)
    ]


def test_bandwidths_are_those_of_the_source() -> None:
    curve = published("all_reduce_8")
    rows = re.findall(r"(\d+)([KMG])iB ([\d.]+)GBps", references()[curve.key].quote)
    sizes = [int(number) * 1024 ** ("KMG".index(unit) + 1) for number, unit, _ in rows]
    assert [float(value) for _, _, value in rows] == DATA["all_reduce_8"]["bus"]
    assert [size for size, _ in curve.points] == sizes and sizes[-1] == 16 * 1024**3


def test_times_follow_from_the_bandwidths() -> None:
    points = dict(published("all_reduce_8").points)
    assert points[32 * 1024] == pytest.approx(18.2e-6, rel=0.01)
    assert points[2**20] == pytest.approx(24.6e-6, rel=0.01)
    assert points[2**30] == pytest.approx(4.03e-3, rel=0.01)
    seconds = [time for _, time in published("all_reduce_8").points]
    assert all(later > 0.98 * earlier for earlier, later in itertools.pairwise(seconds))


@pytest.mark.parametrize("name", [name for name in CURVES if not name.startswith("all_reduce")])
def test_rates_are_those_of_the_source(name: str) -> None:
    curve = published(name)
    for rates in (dict(curve.points), dict(curve.per_gpu())):
        if all(any(abs(rate / value - 1) < 1e-4 for value in quoted(curve.key)) for rate in rates.values()):
            break
    else:
        raise AssertionError("a rate does not stand in the quote")
    assert set(dict(curve.points)) <= set(quoted(curve.key)) | {1.0, 4.0}
