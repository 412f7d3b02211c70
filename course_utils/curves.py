"""A measured curve, read between its points and beyond them."""

from __future__ import annotations

import numpy as np


def extended(points: tuple[np.ndarray, np.ndarray], at: np.ndarray, power: float) -> np.ndarray:
    """Return the curve's values at the places `at`.

    Between the points it is a straight line on log-log paper; before the first, constant; beyond the last, it grows
    with the given power of the place, as the law behind the curve says.

    Args:
        points: Places (positive, ascending) and values (positive), both as floats.
        at: Places to read, positive.
        power: Exponent beyond the last point: 1 for work per example, 3 for a matrix product of that size.
    """
    places, values = points
    line = np.exp(np.interp(np.log(at), np.log(places), np.log(values)))
    beyond = at > places[-1]
    line[beyond] = values[-1] * (at[beyond] / places[-1]) ** power
    return line
