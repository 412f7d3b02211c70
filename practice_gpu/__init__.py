"""A GPU in software for everybody who has none: tensors on ``practice:0`` with streams, a virtual clock and races.

After ``devices = practice_gpu.start("T4", count=2)``, ``torch.get_device_module("practice")`` is what ``torch.cuda`` is
on a real GPU. Values are computed by the CPU; when they are there, and how long it takes, is simulated.
"""

import importlib
from typing import TYPE_CHECKING, Any

from practice_gpu.modelled import Seconds

if TYPE_CHECKING:
    from practice_gpu.looking import clock, log, races, timeline, waits
    from practice_gpu.starting import device, start, stop

__version__ = "0.1.0"
__all__ = ["Seconds", "clock", "device", "log", "races", "start", "stop", "timeline", "waits"]


def __getattr__(name: str) -> Any:
    """Import a function when it is first asked for: to import the package changes nothing in PyTorch, and takes no time."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "starting" if name in ("device", "start", "stop") else "looking"
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)
