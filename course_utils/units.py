"""Numbers with units that suit them."""


def number(value: float) -> str:
    """Return `value` with three digits, as people write it: ``1010`` → ``1,010``, ``0.4567`` → ``0.457``."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _with_unit(value: float, units: tuple[tuple[str, float], ...]) -> str:
    """Return `value` in the largest of `units` (name, size; largest first) in which it is at least 1."""
    rounded = float(f"{value:.3g}")  # first, or 0.9996 s would be "1e+03 ms"
    unit, size = next((pair for pair in units if rounded >= pair[1]), units[-1])
    return f"{number(rounded / size)} {unit}"


def duration(seconds: float) -> str:
    """Return a time with a unit that suits it: ``0.000012`` → ``12 µs``.

    Args:
        seconds: The time.
    """
    return _with_unit(seconds, (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)))


def amount(size: float) -> str:
    """Return a number of bytes with a decimal unit: ``4_000_000`` → ``4 MB``.

    Args:
        size: The number of bytes.
    """
    return _with_unit(size, (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)))


def quantity(value: float, unit: str) -> str:
    """Return a number with three digits at most and a unit that suits it: ``2.34e9, "FLOP/s"`` → ``2.34 GFLOP/s``.

    Args:
        value: The number.
        unit: Its unit without a prefix, or "%"; "" for a bare number.
    """
    if unit in ("", "%"):  # no prefix: 0.78% is not 780 m%
        return f"{number(value)}{unit}"
    from matplotlib.ticker import EngFormatter  # claims use this module as well, and this import is slow

    return EngFormatter(unit)(float(f"{value:.3g}"))
