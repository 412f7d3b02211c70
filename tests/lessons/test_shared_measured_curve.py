"""A measured curve between and beyond its points, against numbers by hand."""

import numpy as np
import pytest

from shared.measured_curve import loglog_interpolate

POINTS = (np.array([1.0, 100.0]), np.array([10.0, 1000.0]))


@pytest.mark.parametrize("power", [1, 3])
def test_linear_in_log_log_space_and_a_power_law_beyond(power: int) -> None:
    found = loglog_interpolate(POINTS, np.array([0.5, 1.0, 10.0, 100.0, 200.0]), power)
    assert found == pytest.approx([10, 10, 100, 1000, 1000 * 2**power])
