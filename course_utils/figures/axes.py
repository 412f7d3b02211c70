"""The axes of a figure, and their texts in both languages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from matplotlib import ticker

from course_utils.lesson import text
from torch_doctor.bilingual import Bilingual


def bars_only(axes: Any) -> None:
    """Remove the horizontal scale of `axes`: each bar shows its own number."""
    axes.set_xticks([])
    axes.grid(visible=False)
    axes.spines["bottom"].set_visible(False)


@dataclass(frozen=True)
class Axis:
    """An axis: what it shows, briefly, in both languages, the unit of its numbers, and how they are spaced."""

    en: str
    zh: str
    unit: str = ""
    scale: str = "log"

    @property
    def label(self) -> str:
        """Both languages, as the picture shows them."""
        return f"{self.en} · {self.zh}" if self.en != self.zh else self.en


def logarithmic(axis: Any, unit: str = "") -> None:
    """Make an axis logarithmic, with numbers a reader need not decode: ``10 µs`` instead of ``10⁻⁵``."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    low, high = axis.get_view_interval()
    # Few powers of ten in sight: label 2 and 5 as well.
    axis.set_major_locator(ticker.LogLocator(subs=(1.0,) if high / low > 100 else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(
        ticker.FuncFormatter(lambda v, _: f"{v:g} {unit}".strip())
        if unit in ("", "%")
        else ticker.EngFormatter(unit)
    )
    axis.set_minor_locator(ticker.NullLocator())  # unlabelled ticks take half of the drawing time


def caption_and_axes(name: str) -> tuple[Bilingual, Axis, Axis]:
    """Return the caption and the axes of the figure called `name` (an axis without text gets an empty label).

    Raises:
        ValueError: There are no texts for `name`.
    """
    found = text("figure", name)
    x, y = (
        Axis(
            *(found.get(f"{axis}_{part}", "") for part in ("en", "zh", "unit")),
            found.get(f"{axis}_scale", "log"),
        )
        for axis in "xy"
    )
    return Bilingual(found["en"], found["zh"]), x, y


def series_vary(name: str) -> bool:
    """Return whether the series of the figure called `name` depend on the machine, as its texts say."""
    return text("figure", name).get("series_vary", False)


def caption_and_parts(name: str) -> tuple[Bilingual, dict[str, Axis]]:
    """Return the caption of the figure called `name` and the texts of its parts (panels or layers) by key.

    Raises:
        ValueError: There are no texts for `name`.
    """
    found = text("figure", name)
    parts = {part["key"]: Axis(part["en"], part["zh"], part.get("unit", "")) for part in found["parts"]}
    return Bilingual(found["en"], found["zh"]), parts
