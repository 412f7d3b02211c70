"""Interpolate and extrapolate a measured curve."""

import numpy as np


def loglog_interpolate(points: tuple[np.ndarray, np.ndarray], at: np.ndarray, power: float) -> np.ndarray:
    """Interpolate linearly in log-log space; extrapolate with a power law.

    Before the first point the curve is constant. Beyond the last point it grows as ``at ** power``.

    Args:
        points: x (positive, ascending) and y (positive), both as floats.
        at: x where to evaluate the curve, positive.
        power: Exponent beyond the last point: 1 for work per example, 3 for a matrix product of that size.

    Returns:
        y at each of `at`.
    """
    xs, ys = points
    curve = np.exp(np.interp(np.log(at), np.log(xs), np.log(ys)))
    beyond = at > xs[-1]
    curve[beyond] = ys[-1] * (at[beyond] / xs[-1]) ** power
    return curve
