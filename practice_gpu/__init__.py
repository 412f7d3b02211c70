"""A GPU in software for everybody who has none: tensors on ``practice:0`` with streams, a virtual clock and races.

After ``devices = practice_gpu.start("T4", count=2)``, ``torch.get_device_module("practice")`` is what ``torch.cuda`` is
on a real GPU. Values are computed by the CPU; when they are there, and how long it takes, is simulated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from practice_gpu.modelled import Seconds

if TYPE_CHECKING:
    from collections import Counter

    import torch

    from practice_gpu.ordering import Race
    from practice_gpu.places import Place
    from practice_gpu.simulation import Entry

__version__ = "0.1.0"
__all__ = ["Seconds", "clock", "device", "log", "races", "start", "stop", "timeline", "waits"]


def start(
    card: str = "T4", count: int = 1, *, memory: int | None = None, blocking: bool = False
) -> list[torch.device]:
    """Start practice GPUs, or start again with fresh ones: clock at zero, nothing in the log, no errors.

    Args:
        card: The card whose speed is modelled: a name of ``profiles.toml``.
        count: How many devices there are.
        memory: Bytes of each device; without it: those of the card.
        blocking: Whether every launch waits until its kernel is done, as with ``CUDA_LAUNCH_BLOCKING=1``.

    Returns:
        The devices: ``practice:0`` and so on.

    Raises:
        RuntimeError: There is a real GPU, or PyTorch is missing or too old.
        ValueError: No such card is known, or `count` is not positive.
    """
    from practice_gpu import starting

    return starting.start(card, count, memory, blocking)


def stop() -> None:
    """Put back what `start` replaced in PyTorch; tensors on practice GPUs must not be used any more."""
    from practice_gpu import starting

    starting.stop()


def device() -> torch.device:
    """Return a real GPU if there is one, otherwise a practice GPU, started if need be."""
    from practice_gpu import starting

    return starting.device()


def clock() -> Seconds:
    """Return the host's virtual clock: modelled seconds since `start`; the host's own work takes none of them."""
    from practice_gpu.state import state

    return Seconds(state.machine.now)


def log() -> list[Entry]:
    """Return the kernels, copies and waits so far, in the order of their starts."""
    from practice_gpu.state import state

    return [entry._replace(start=Seconds(entry.start), end=Seconds(entry.end)) for entry in state.machine.log]


def waits() -> Counter[Place]:
    """Return how often the host waited for a device, by line of the user's code."""
    from practice_gpu.state import state

    return state.waits


def races() -> list[Race]:
    """Return the pairs of uses of one memory, one of them a write, that nothing orders."""
    from practice_gpu.state import state

    return list(state.races.found.values())


def timeline(width: int = 72, since: float = 0.0) -> str:
    """Return the log as text: a row per stream; ``#`` kernel, ``c`` copy, ``w`` the host waits.

    Args:
        width: Characters of a row.
        since: Where it begins, in seconds of the virtual clock.
    """
    from practice_gpu.looking import drawn

    return drawn([entry for entry in log() if entry.start >= since], width)
