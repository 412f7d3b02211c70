"""The axes of a figure, and their texts in both languages."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from matplotlib import ticker

from bilingual import Bilingual, joined, plain
from course_utils.lesson import text

Label = str | Bilingual  # the name of a bar or line: code and names are text, words are bilingual


def key(label: Label) -> str:
    """Return the name under which the values of `label` are recorded."""
    return plain(label.en) if isinstance(label, Bilingual) else label


def lettering(label: Label, between: str = "\n") -> str:
    """Return `label` as it is drawn: both languages, one below the other unless `between` says otherwise."""
    return label if isinstance(label, str) else joined(plain(label.en), plain(label.zh), between)


def of_recorded(label: Label) -> str:
    """Return the name of the recorded machine's bar or line `label`."""
    return f"{lettering(label, ' · ')}{joined(' (recorded)', '（參考紀錄）', '')}"


def quoted(label: Label) -> Bilingual:
    """Return `label` as it stands in a sentence: words in quotation marks, code as code."""
    if isinstance(label, Bilingual):
        return Bilingual(f"“{label.en}”", f"「{label.zh}」")
    return Bilingual(f"`{label}`", f"`{label}`")


def listed(values: Mapping[Label, str]) -> Bilingual:
    """Return names and values as a list: ``float32: 3 ms; float16: 1 ms``."""
    names = [name if isinstance(name, Bilingual) else Bilingual(name, name) for name in values]
    pairs = list(zip(names, values.values(), strict=True))
    return Bilingual("; ".join(f"{n.en}: {v}" for n, v in pairs), "；".join(f"{n.zh}：{v}" for n, v in pairs))


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
        """The text as the picture shows it."""
        return joined(self.en, self.zh)


def logarithmic(axis: Any, unit: str = "") -> None:
    """Make an axis logarithmic, with numbers a reader need not decode: ``10 µs`` instead of ``10⁻⁵``."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    low, high = axis.get_view_interval()
    # Few powers of ten in sight: label 2 and 5 as well.
    axis.set_major_locator(ticker.LogLocator(subs=(1.0,) if high / low > 100 else (1.0, 2.0, 5.0)))
    axis.set_major_formatter(
        ticker.FuncFormatter(lambda v, _: f"{v:g}{unit}") if unit in ("", "%") else ticker.EngFormatter(unit)
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
