"""What does a number become in each data type? The picture shows its bits, its neighbours and every format's range.

The model is in :mod:`lesson_03.float_formats`.
"""

import math
from fractions import Fraction
from typing import Any

from bilingual import Bilingual, joined
from course_utils import figures
from course_utils.explorer import Control, Explorer
from lesson_03.float_formats import FORMATS, Format, Stored, compute

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
    overflow = "inf" if kind.name != "float8_e4m3fn" else "nan"
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


_APART = Bilingual(" Neighbouring numbers are {spacing} apart there.", "這附近的間隔是 {spacing}。")
_WHAT = {
    "exact": Bilingual(f"exactly.{_APART.en}", f"分毫不差。{_APART.zh}"),
    "rounded": Bilingual(
        f"rounded, with a relative error of {{error}}.{_APART.en}",
        f"經過捨入，相對誤差是 {{error}}。{_APART.zh}",
    ),
    "subnormal": Bilingual(
        f"a subnormal number, with fewer digits and a relative error of {{error}}.{_APART.en}",
        f"屬於次正規數（subnormal），有效數字比較少，相對誤差是 {{error}}。{_APART.zh}",
    ),
    "zero": Bilingual(
        "underflow, for the smallest number above 0 is {smallest}.",
        "下溢，因為大於 0 的數最小只到 {smallest}。",
    ),
    "inf": Bilingual("overflow, for the largest number is {largest}.", "溢位，因為最大只到 {largest}。"),
    "nan": Bilingual(
        "overflow, for the largest number is {largest}. This type has no inf: your release of PyTorch "
        "stores nan, newer ones store the largest number.",
        "溢位，因為最大只到 {largest}。這個型別沒有 inf：你這一版 PyTorch 會存成 nan，新版則存成最大的數。",
    ),
    "saturated": Bilingual(
        "overflow, for the largest number is {largest}. This type has no inf: your release of PyTorch "
        "stores the largest number, older ones store nan.",
        "溢位，因為最大只到 {largest}。這個型別沒有 inf：你這一版 PyTorch 會存成最大的數，舊版則存成 nan。",
    ),
}


def render(result: Stored) -> figures.Picture:
    """Return the picture of `result`: its bits, every format's range, its neighbours."""
    kind = result.format
    figure, axes = figures.new(height=5.0, rows=3, gridspec_kw={"height_ratios": [1.25, 2.5, 0.95]})
    _draw_bits(axes[0], result)
    _draw_ranges(axes[1], result)
    _draw_neighbours(axes[2], result)
    what = _WHAT[result.outcome].format(
        error=f"{result.error:.2g}",
        spacing=f"{result.spacing:.3g}",
        largest=_text(kind.largest, kind),
        smallest=f"{kind.smallest:.3g}",
    )
    stored = _text(result.stored, kind)
    caption = Bilingual(
        f"`{kind.name}` stores {result.value} as **{stored}**: {what.en}",
        f"`{kind.name}` 把 {result.value} 存成 **{stored}**：{what.zh}",
    )
    room = Bilingual(
        f"One number takes {kind.bytes} {'byte' if kind.bytes == 1 else 'bytes'}. "
        "Pale: subnormal numbers, which have fewer digits.",
        f"一個數占 {kind.bytes} 個位元組。淺色的範圍是次正規數，有效數字比較少。",
    )
    if kind.unused:
        room = Bilingual(
            "In memory this is a float32 of 4 bytes; only the GPU's matrix units round it. "
            "Rounded here to nearest, ties to even; hardware may do it differently.",
            "它在記憶體裡就是 4 個位元組的 float32，只有 GPU 的矩陣單元才會捨入。這裡示範的是捨入到最接近的數，剛好在正中間就取最後一個位元是 0 的那個；硬體的做法可能不同。",
        )
    alternative = Bilingual(
        f"The bits of {result.value} in {kind.name}, the ranges of all data types on a logarithmic line, "
        "and the neighbouring numbers.",
        f"{result.value} 在 {kind.name} 裡的位元、各種資料型別在對數軸上的範圍，以及相鄰的數。",
    )
    return figures.Picture(
        figure, Bilingual(f"{caption.en} {room.en}", f"{caption.zh}{room.zh}"), alternative
    )


EXPLORER = Explorer(
    title=Bilingual("What becomes of a number?", "一個數存進去，會變成什麼？"),
    controls=(
        Control("value", Bilingual("the number", "數字"), [(v, v) for v in VALUES], "0.1", slider=False),
        Control(
            "format",
            Bilingual("stored as", "存成"),
            [(name, name) for name in FORMATS],
            "float16",
            slider=False,
        ),
    ),
    compute=compute,
    render=render,
)
