"""The type of every number that the virtual clock gives: its text says that it is modelled."""

from __future__ import annotations

from typing import Any


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

    def __round__(self, digits: int | None = None) -> Seconds:
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
