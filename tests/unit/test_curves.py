"""Curves between and beyond their points, against numbers by hand."""

from __future__ import annotations

import numpy as np
import pytest

from course_utils.curves import extended

POINTS = (np.array([1.0, 100.0]), np.array([10.0, 1000.0]))


@pytest.mark.parametrize("power", [1, 3])
def test_a_straight_line_on_log_log_paper_and_a_power_beyond(power: int) -> None:
    read = extended(POINTS, np.array([0.5, 1.0, 10.0, 100.0, 200.0]), power)
    assert read == pytest.approx([10, 10, 100, 1000, 1000 * 2**power])
