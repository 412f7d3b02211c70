"""Floating-point formats, and what a number becomes in each of them.

Model: a number is (1 + fraction) · 2^exponent; the bits of the exponent determine the range, the bits of the fraction
the spacing (IEEE 754; float8: Micikevicius et al. 2022, "FP8 Formats for Deep Learning"). PyTorch converts the numbers,
except to TF32, which is computed here. Negative numbers are left out.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import torch


@dataclass(frozen=True)
class Format:
    """What a data type can hold.

    Attributes:
        name: PyTorch's name without ``torch.``, or ``tf32``.
        dtype: PyTorch's data type that stores it; float32 for TF32, which has no own data type.
        integer: Integer data type of the same size, to read the bits.
        exponent: Bits of the exponent.
        fraction: Bits of the fraction.
        unused: Bits in memory that hold nothing (13 of TF32's 32).
        largest: Largest finite number.
        smallest_normal: Smallest number with all digits of the fraction.
        smallest: Smallest number above 0 (subnormal: fewer digits).
        eps: Spacing just above 1.
    """

    name: str
    dtype: torch.dtype
    integer: torch.dtype
    exponent: int
    fraction: int
    unused: int
    largest: float
    smallest_normal: float
    smallest: float
    eps: float

    @property
    def bytes(self) -> int:
        """Bytes that one number takes up in memory."""
        return self.dtype.itemsize

    def number(self, pattern: int) -> float:
        """Return the number with the bits of `pattern`, exactly.

        Args:
            pattern: The bits as an integer, without the unused ones: in float16 ``0b0_01111_0000000000`` is 1.0.
        """
        bits = torch.tensor(pattern << self.unused, dtype=self.integer)
        return bits.view(self.dtype).to(torch.float64).item()

    def pattern(self, value: float) -> int:
        """Return the bits of `value`, converted by PyTorch, as an integer without the unused bits.

        TF32 is computed here: float32 rounded to 10 fraction bits, ties to even. Hardware may truncate instead, or
        round ties differently.
        """
        stored = torch.tensor(value, dtype=torch.float64).to(self.dtype)
        bits = int(stored.view(self.integer).item())
        if self.unused:
            even = bits >> self.unused & 1
            bits = (bits + (1 << self.unused - 1) - 1 + even) >> self.unused
        return bits


def _format(dtype: torch.dtype, integer: torch.dtype) -> Format:
    """Return the format of a PyTorch data type, from ``torch.finfo`` and the bit pattern 1."""
    facts = torch.finfo(dtype)
    fraction = round(-math.log2(facts.eps))
    smallest = torch.tensor(1, dtype=integer).view(dtype).to(torch.float64).item()
    return Format(
        str(dtype).removeprefix("torch."),
        dtype,
        integer,
        facts.bits - 1 - fraction,
        fraction,
        0,
        facts.max,
        facts.smallest_normal,
        smallest,
        facts.eps,
    )


FLOAT32 = _format(torch.float32, torch.int32)
# TF32 has the exponent of float32 and the fraction of float16.
TF32 = replace(
    FLOAT32,
    name="tf32",
    fraction=10,
    unused=13,
    largest=(2 - 2**-10) * 2.0**127,
    smallest=2.0 ** (-126 - 10),
    eps=2.0**-10,
)
FORMATS = {
    format.name: format
    for format in (
        _format(torch.float64, torch.int64),
        FLOAT32,
        TF32,
        _format(torch.bfloat16, torch.int16),
        _format(torch.float16, torch.int16),
        _format(torch.float8_e5m2, torch.uint8),
        _format(torch.float8_e4m3fn, torch.uint8),
    )
}


@dataclass(frozen=True)
class Stored:
    """How a format stores a number.

    Attributes:
        value: The number as text, as the learner chose it.
        format: The data type that stores it.
        stored: What is stored; may be inf or nan.
        sign: Its sign bit, ``"0"``.
        exponent: Its exponent bits, such as ``"01011"``.
        fraction: Its fraction bits.
        spacing: Distance from the stored number to the next larger one; for the largest number, to the next smaller one.
        below: The next smaller number, or None if 0 is stored.
        above: The next larger finite number, or None.
        error: Relative error, 0 if exact; inf or nan where inf or nan is stored.
        outcome: ``exact``, ``rounded``, ``subnormal`` (fewer digits), ``zero`` (underflow), or the three overflows:
            ``inf``, ``nan``, ``saturated`` (the largest number instead).
    """

    value: str
    format: Format
    stored: float
    sign: str
    exponent: str
    fraction: str
    spacing: float
    below: float | None
    above: float | None
    error: float
    outcome: str

    @property
    def centre(self) -> float:
        """The number between `below` and `above`: the stored one, or the largest one if inf or nan is stored."""
        return self.stored if math.isfinite(self.stored) else self.format.largest

    @property
    def position(self) -> float:
        """Distance of the true value from `centre`, in units of `spacing`."""
        return float((Fraction(self.value) - Fraction(self.centre)) / Fraction(self.spacing))


def _outcome(format: Format, true: Fraction, stored: float, spacing_at_largest: float) -> str:
    """Return the outcome of :class:`Stored`; half a spacing beyond the largest number is still rounded down to it."""
    if math.isnan(stored):
        return "nan"
    if math.isinf(stored):
        return "inf"
    if true > Fraction(format.largest) + Fraction(spacing_at_largest) / 2:
        return "saturated"
    if stored == 0:
        return "zero"
    if stored < format.smallest_normal:
        return "subnormal"
    return "exact" if Fraction(stored) == true else "rounded"


def compute(*, format: str, value: str) -> Stored:
    """Return what a number becomes in a format.

    Args:
        format: A key of :data:`FORMATS`.
        value: A positive number or fraction as text, such as ``"0.1"`` or ``"1/3"``. It is rounded to float64 first, like
            every number in Python.
    """
    kind, true = FORMATS[format], Fraction(value)
    pattern = kind.pattern(float(true))
    stored = kind.number(pattern)
    last = kind.pattern(kind.largest)
    place = pattern if math.isfinite(stored) else last
    centre = kind.number(place)
    below = kind.number(place - 1) if place else None
    above = kind.number(place + 1) if place < last else None
    at_largest = kind.largest - kind.number(last - 1)
    digits = f"{pattern:0{1 + kind.exponent + kind.fraction}b}"
    error = float(abs(Fraction(stored) - true) / true) if math.isfinite(stored) else stored
    return Stored(
        value,
        kind,
        stored,
        digits[0],
        digits[1 : 1 + kind.exponent],
        digits[1 + kind.exponent :],
        at_largest if above is None else above - centre,
        below,
        above,
        error,
        _outcome(kind, true, stored, at_largest),
    )


def as_tf32(x: torch.Tensor) -> torch.Tensor:
    """Return the float32 tensor `x` rounded to TF32 (ties away from zero), still stored as float32.

    Infinity, nan and the largest numbers are not provided for.
    """
    bits = x.view(torch.int32) + 0x1000  # half of the last bit that stays
    return (bits & ~0x1FFF).view(torch.float32)
