"""A GPU in software for everybody who has none: tensors on ``practice:0`` with streams, a virtual clock and races.

After ``devices = practice_gpu.start("T4", count=2)``, ``torch.get_device_module("practice")`` is what ``torch.cuda`` is
on a real GPU. Values are computed by the CPU; when they are there, and how long it takes, is simulated.
"""

import importlib
from typing import TYPE_CHECKING, Any

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


class Seconds(float):
    """A number of the model, not of a measurement: seconds, or what was computed from them.

    It compares, sorts and plots as the float that it is, and arithmetic keeps the type. Its text always carries the
    word: ``f"{t * 1e3:.2f} ms"`` is ``"1.50 modelled ms"``. Only ``float(t)``, ``int(t)`` and ``"%f" % t``, which
    ask for the plain number, take the word off.
    """

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        """Return the number as a float is formatted, and the word."""
        return f"{float(self):{spec}} modelled"

    def __repr__(self) -> str:
        """Return the number, and the word."""
        return f"{float(self)!r} modelled"

    def __round__(self, digits: int | None = None) -> "Seconds":
        """Return the rounded number, still modelled."""
        return type(self)(round(float(self), digits))


def _kept(name: str) -> Any:
    def operator(self: Seconds, *others: Any) -> Any:
        result = getattr(float, name)(self, *others)
        return result if result is NotImplemented else type(self)(result)

    return operator


for _name in "add sub mul truediv floordiv mod pow".split():
    for _side in ("", "r"):
        setattr(Seconds, f"__{_side}{_name}__", _kept(f"__{_side}{_name}__"))
for _name in "neg pos abs".split():
    setattr(Seconds, f"__{_name}__", _kept(f"__{_name}__"))
