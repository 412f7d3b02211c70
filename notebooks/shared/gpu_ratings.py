"""Published figures of GPUs: cores, memory, bandwidth and speed."""

from functools import cache
from typing import Any

from bilingual import toml_of


def rated_bandwidth(properties: Any) -> float | None:
    """Return a GPU's rated memory bandwidth in bytes per second, or None where torch does not report it.

    Memory clock (kHz) × bus width (bits) / 8 × 2, since double-data-rate memory moves two words per clock.
    """
    clock, width = getattr(properties, "memory_clock_rate", 0), getattr(properties, "memory_bus_width", 0)
    return clock * 1e3 * width / 8 * 2 if clock and width else None


@cache
def ratings() -> dict[str, dict[str, float]]:
    """Return the published figures of well-known GPUs by the name that PyTorch reports (see ``gpu_ratings.toml``)."""
    return toml_of(__file__)
