"""Numbers with units that suit them."""

from __future__ import annotations


def number(value: float) -> str:
    """Return `value` with three digits, as people write it: ``1010`` → ``1,010``, ``0.4567`` → ``0.457``."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """Return a time with a unit that suits it: ``0.000012`` → ``12 µs``.

    Args:
        seconds: The time.
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def amount(size: float) -> str:
    """Return a number of bytes with a decimal unit: ``4_000_000`` → ``4 MB``.

    Args:
        size: The number of bytes.
    """
    for unit, step in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= step:
            return f"{size / step:.3g} {unit}"
    return f"{size:.0f} B"


def quantity(value: float, unit: str) -> str:
    """Return a number with three digits at most and a unit that suits it: ``2.34e9, "FLOP/s"`` → ``2.34 GFLOP/s``.

    Args:
        value: The number.
        unit: Its unit without a prefix; "" for a bare number.
    """
    if not unit:
        return number(value)
    from matplotlib.ticker import (
        EngFormatter,  # claims use this module as well, and matplotlib is slow to import
    )

    return EngFormatter(unit)(float(f"{value:.3g}"))
