"""What does a number become in each data type? The picture shows its bits, its neighbours and every format's range.

The model is in :mod:`lesson_03.float_formats`.
"""

import math
from fractions import Fraction
from typing import Any

from bilingual import Bilingual, all_of, joined, texts
from course_utils import figures
from course_utils.explorer import Control, Explorer
from lesson_03.float_formats import FORMATS, Format, Stored, compute

_TEXTS = texts(__file__)
VALUES = (
    "1e-46 1e-40 1e-8 1e-5 0.1 1/3 1 3.14159265 257 300 2048 2049 65504 65519 65520 16777217 1e38 1e39"
).split()

SIGN, EXPONENT, FRACTION = figures.FOURTH, figures.RECORDED, figures.YOURS
_DARK = "#445"
_SUBNORMAL = {True: "#8CC3E4", False: "#E0E6EA"}  # of the chosen format, of the others
_PER_ROW = 32  # cells; float64 takes two rows
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _text(value: float, format: Format) -> str:
    """Return `value` with enough digits to distinguish it from its neighbours."""
    return f"{value:.17g}" if format.fraction > 23 else f"{value:.10g}"


def _formula(result: Stored) -> str:
    """Return how the bits give the number: ``= (1 + 614/1024) × 2⁻⁴ = 0.09997558594``."""
    kind = result.format
    if not math.isfinite(result.stored):
        which, ones = "exponent all ones", "指數全是 1"
        if result.outcome == "nan":
            which, ones = "all ones", "全是 1"
        return joined(f"{which}: {result.stored}", f"{ones}：{result.stored}")
    exponent = int(result.exponent, 2)
    bias = 2 ** (kind.exponent - 1) - 1
    leading, power = (1, exponent - bias) if exponent else (0, 1 - bias)
    mantissa = f"({leading} + {int(result.fraction, 2)}/{2**kind.fraction})"
    return f"= {mantissa} × 2{str(power).translate(_SUPERSCRIPT)} = {_text(result.stored, kind)}"


def _draw_bits(axes: Any, result: Stored) -> None:
    """Draw one coloured cell per bit."""
    kind = result.format
    axes.set_xlim(0, _PER_ROW)
    axes.set_ylim(-2.25, 1.3)
    axes.axis("off")
    counts = f"1 · {kind.exponent} · {kind.fraction}"
    axes.text(0, 0.65, f"{kind.name}: {counts}", weight="bold", va="center")
    names = [
        (12.2, SIGN, Bilingual("sign", "正負")),
        (17.4, EXPONENT, Bilingual("exponent", "指數")),
        (24.2, FRACTION, Bilingual("fraction", "尾數")),
    ]
    for x, colour, name in names:
        axes.add_patch(figures.rectangle(x, 0.4, 0.6, 0.5, colour))
        axes.text(x + 0.9, 0.65, name, va="center", fontsize=10)
    parts = ((result.sign, SIGN), (result.exponent, EXPONENT), (result.fraction, FRACTION))
    digits = [(digit, colour) for part, colour in parts for digit in part]
    digits += [("", figures.PALE)] * kind.unused
    for index, (digit, colour) in enumerate(digits):
        x, y = index % _PER_ROW, -(index // _PER_ROW)
        axes.add_patch(figures.rectangle(x + 0.04, y - 0.86, 0.92, 0.9, colour))
        axes.text(x + 0.5, y - 0.43, digit, color="white", ha="center", va="center", fontsize=10)
    if kind.unused:
        middle = _PER_ROW - kind.unused / 2
        axes.text(
            middle, -0.43, Bilingual("not used", "沒用到"), color=_DARK, ha="center", va="center", fontsize=10
        )
    rows = -(-len(digits) // _PER_ROW)
    axes.text(0, -rows - 0.1, _formula(result), va="top", fontsize=10)


def _draw_ranges(axes: Any, result: Stored) -> None:
    """Draw the range of every format on one logarithmic axis, and the position of the value."""
    low, high = -50.0, 42.0  # float64 has a far larger range; with it, the others would be too small to see
    first_column, second_column = high + 21, high + 38
    axes.set_xlim(low, second_column)
    axes.set_ylim(len(FORMATS) - 0.4, -1.5)
    for row, kind in enumerate(FORMATS.values()):
        chosen = kind is result.format
        ends = [math.log10(x) for x in (kind.smallest, kind.smallest_normal, kind.largest)]
        first, normal, last = (min(max(end, low), high) for end in ends)
        colour = figures.YOURS if chosen else figures.PALE
        axes.add_patch(figures.rectangle(first, row - 0.32, normal - first, 0.64, _SUBNORMAL[chosen]))
        axes.add_patch(figures.rectangle(normal, row - 0.32, last - normal, 0.64, colour))
        weight = "bold" if chosen else "normal"
        axes.text(low - 1, row, kind.name, ha="right", va="center", fontsize=10, weight=weight)
        largest = f"{kind.largest:g}" if kind.largest < 1e6 else f"{kind.largest:.3g}"
        column = {"ha": "right", "va": "center", "fontsize": 10, "weight": weight}
        axes.text(first_column, row, largest, **column)
        axes.text(second_column, row, f"{kind.eps:.3g}", **column)
        if ends[2] > high:
            inside = {"color": "white" if chosen else _DARK, "va": "center", "fontsize": 9}
            axes.text(low + 1, row, "← 2e-308", ha="left", **inside)
            axes.text(high - 1, row, "2e+308 →", ha="right", **inside)
    for x, title in ((first_column, Bilingual("largest", "最大")), (second_column, "eps")):
        axes.text(x, -1, title, ha="right", va="center", fontsize=10, color=_DARK)
    x = math.log10(Fraction(result.value))
    axes.plot([x, x], [-0.6, len(FORMATS) - 0.5], color=figures.RECORDED, linewidth=1.8)
    axes.text(x, -1, result.value, ha="center", va="center", color=figures.RECORDED, weight="bold")
    ticks = range(-45, 46, 15)
    axes.set_xticks([t for t in ticks if t < high], [f"1e{t}" if t else "1" for t in ticks if t < high])
    axes.set_yticks([])
    axes.tick_params(axis="x", length=3, labelsize=9)
    axes.set_frame_on(False)
    axes.grid(visible=False)


def _draw_neighbours(axes: Any, result: Stored) -> None:
    """Draw the stored number between its neighbours, and an arrow at the true value."""
    kind = result.format
    edge = 1.75
    axes.set_xlim(-edge, edge)
    axes.set_ylim(-0.9, 1.15)
    axes.axis("off")
    axes.plot([-edge, edge], [0, 0], color=_DARK, linewidth=1)
    marks: list[tuple[float, str, bool]] = [(0.0, _text(result.centre, kind), True)]
    if result.below is not None:
        place = float((Fraction(result.below) - Fraction(result.centre)) / Fraction(result.spacing))
        marks.append((place, _text(result.below, kind), False))
    overflow = {"nan": "nan", "saturated": ""}.get(result.outcome, "inf")
    marks.append((1.0, overflow if result.above is None else _text(result.above, kind), False))
    for place, label, here in marks:
        beyond = place == 1.0 and result.above is None
        colour = figures.YOURS if here else _DARK
        style = ":" if beyond else "-"
        axes.plot([place, place], [-0.22, 0.22], color=colour, linewidth=3 if here else 2, linestyle=style)
        # Below a power of two the spacing is half as wide, and long labels would overlap.
        align, size = "right" if -1 < place < 0 else "center", 10 if len(label) < 20 else 8
        axes.text(place, -0.35, label, ha=align, va="top", fontsize=size, color=colour)
    place = result.position
    arrows = {"arrowstyle": "-|>", "color": figures.RECORDED, "linewidth": 2}
    style = {"color": figures.RECORDED, "weight": "bold", "va": "center"}
    if abs(place) > edge - 0.1:
        side = math.copysign(1.0, place)
        axes.annotate(
            "", (side * edge, 0.62), (side * (edge - 0.22), 0.62), arrowprops=arrows, annotation_clip=False
        )
        align = "right" if side > 0 else "left"
        axes.text(side * (edge - 0.25), 0.62, result.value, ha=align, **style)
    else:
        axes.annotate("", (place, 0.05), (place, 0.75), arrowprops=arrows)
        axes.text(place, 0.95, result.value, ha="center", **style)
    spacing = f"{Bilingual('spacing', '間隔')} {result.spacing:.3g}"
    axes.text(-edge, 0.95, spacing, ha="left", va="center", fontsize=10)


def render(result: Stored) -> figures.Picture:
    """Return the picture of `result`: its bits, every format's range, its neighbours."""
    kind = result.format
    figure, axes = figures.new(height=5.0, rows=3, gridspec_kw={"height_ratios": [1.25, 2.5, 0.95]})
    _draw_bits(axes[0], result)
    _draw_ranges(axes[1], result)
    _draw_neighbours(axes[2], result)
    what = _TEXTS["outcome"][result.outcome].format(
        error=f"{result.error:.2g}",
        spacing=f"{result.spacing:.3g}",
        largest=_text(kind.largest, kind),
        smallest=f"{kind.smallest:.3g}",
    )
    names = {"format": kind.name, "value": result.value}
    stored = _TEXTS["stored"].format(**names, stored=_text(result.stored, kind), what=what)
    room = _TEXTS["unused" if kind.unused else "byte" if kind.bytes == 1 else "bytes"].format(
        bytes=kind.bytes
    )
    return figures.Picture(figure, all_of(stored, room), _TEXTS["alternative"].format(**names))


EXPLORER = Explorer(
    title=_TEXTS["title"],
    controls=(
        Control("value", _TEXTS["value"], [(v, v) for v in VALUES], "0.1", slider=False),
        Control("format", _TEXTS["format"], [(name, name) for name in FORMATS], "float16", slider=False),
    ),
    compute=compute,
    render=render,
)
