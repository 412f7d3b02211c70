"""A real GPU beside yours: values that others published for a named card, as one more series of a picture.

    card = named_card("matmul_float32")
    card.x, card.y            # sizes, and FLOP/s
    card.label                # "RTX 4060 Laptop, published by zzc0721", in both languages, for a legend
    card.reference.html()     # what was measured, how, where and when, with a link, for below the picture
    figures.curves("rate", lines, card="matmul_float32")  # or card=card; `dataclasses.replace` for other units

The card is the one on which practice GPUs are modelled (`lesson_gpus.choose_card`); where nobody published such values
of it, the nearest card of which there are some. Such values enter no claim, no recording and no scoreboard.
The data is in ``named_cards.toml``.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from bilingual import Bilingual, pair, toml_of
from course_utils import lesson_gpus
from course_utils.published import Reference

UNITS = {"TFLOP/s": 1e12, "GB/s": 1e9, "images/s": 1.0, "ms": 1e-3, "µs": 1e-6}


@dataclass(frozen=True)
class NamedCard:
    """Published values of one card.

    Attributes:
        card: Its name, as in ``practice_gpu.profiles``.
        label: For a legend: the card, and who published the values.
        x: What they were measured for: sizes, bytes, GPUs, or the names of dtypes.
        y: The values in SI units: FLOP/s, bytes/s, images/s, or seconds.
        reference: What was measured, on what, where and when; its `html` has a link, its `url` is the source.
    """

    card: str
    label: Bilingual
    x: tuple[Any, ...]
    y: tuple[float, ...]
    reference: Reference


@cache
def data() -> dict[str, Any]:
    """Return ``named_cards.toml``: the tables `source`, `quantity` and `said`, and the list `values`."""
    return toml_of(__file__)


def named_card(quantity: str) -> NamedCard:
    """Return what is published of `quantity` for the chosen card, or for the nearest one.

    Args:
        quantity: Such as ``"matmul_float32"``: a name in ``named_cards.toml``.

    Raises:
        KeyError: There is no such quantity.
        ValueError: practice_gpu knows no such card.
    """
    from practice_gpu.profiles import profile, sources

    wanted = profile(lesson_gpus.card()).name
    order = list(sources())  # by what they can do
    what = data()["quantity"][quantity]
    found = [values for values in data()["values"] if values["quantity"] == quantity]
    nearest = min(found, key=lambda values: abs(order.index(values["card"]) - order.index(wanted)))
    source, name = data()["source"][nearest["source"]], nearest["card"]
    hardware, by = nearest.get("hardware", name), source["source"].split("/")[0].split(",")[0]
    said = {key: pair(text) for key, text in data()["said"].items()}
    exact = said["exact" if name == wanted else "nearest"].format(hardware=hardware, wanted=wanted)
    return NamedCard(
        card=name,
        label=said["label"].format(hardware=hardware, by=by),
        x=tuple(nearest["x"]),
        y=tuple(value * UNITS[what["unit"]] for value in nearest["y"]),
        reference=Reference(
            value=pair(what),
            hardware=Bilingual(f"{exact.en}, {source['how_en']}", f"{exact.zh}，{source['how_zh']}"),
            source=Bilingual(source["source"], source["source"]),
            url=source["url"],
            date=source["date"],
            quote=", ".join(map(str, nearest["y"])),
        ),
    )
