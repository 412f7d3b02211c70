"""The time of an all-reduce against its size: measured here, modelled, and published for eight GPUs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bilingual import Bilingual, measured, texts
from course_utils import figures
from course_utils.named_cards import NamedCard, named_card
from shared.published_curves import published

GPUS = "all_reduce_8"
MEASURED = Bilingual("measured here", "這台機器實測")
MODEL = Bilingual("a + S/B (model)", "a + S/B（模型）")
_TEXTS = texts(__file__)


def published_seconds(size: int) -> float:
    """Return how long an all-reduce of `size` bytes takes on the eight GPUs."""
    return dict(published(GPUS).points)[size]


def of_card() -> NamedCard:
    """Return the seconds of an all-reduce by bytes on a machine with the chosen card, or with the nearest one.

    The published "bus bandwidth" is 2 (N - 1) / N times the bytes per second; the label begins with the number of GPUs.
    """
    card = named_card("all_reduce")
    gpus = int(card.label.en.split()[0])
    factor = 2 * (gpus - 1) / gpus
    return replace(card, y=tuple(factor * x / y for x, y in zip(card.x, card.y, strict=True)))


def draw(sizes: Sequence[int], seconds: Sequence[float], a: float, per_byte: float) -> None:
    """Show what was measured, the model, and what is published for eight GPUs and for the chosen card in one figure.

    Args:
        sizes: Bytes of each rank.
        seconds: How long each all-reduce took, between two processes.
        a: The price of a call, in seconds.
        per_byte: The seconds per byte, 1/B.
    """
    caption, x, y = figures.caption_and_axes("all_reduce")
    there, card = published(GPUS), of_card()
    modelled = [a + size * per_byte for size in sizes]
    price, speed = measured(figures.duration(a)), measured(figures.quantity(1 / per_byte, "B/s"))

    def chart(groups: figures.Groups) -> Any:
        figure, axes = figures.new(height=4.0)
        axes.plot(sizes, seconds, "o", color=figures.YOURS, label=figures.lettering(MEASURED, " · "))
        axes.plot(sizes, modelled, color=figures.YOURS, alpha=0.6, label=figures.lettering(MODEL, " · "))
        if figures.RECORDED_LABEL in groups:
            xs, ys = groups[figures.RECORDED_LABEL]["lines"][figures.key(MEASURED)]
            axes.plot(xs, ys, "s--", color=figures.RECORDED, label=figures.of_recorded(MEASURED))
        xs, ys = np.array(there.points).T
        axes.plot(xs, ys, ".--", color=figures.GREY, label=figures.lettering(there.label, " · "))
        axes.plot(card.x, card.y, "x:", color=figures.THIRD, label=figures.lettering(card.label, " · "))
        figures.logarithmic(axes.xaxis, x.unit)
        figures.logarithmic(axes.yaxis, y.unit)
        axes.set_xlabel(x.label)
        axes.set_ylabel(y.label)
        axes.set_ylim(top=100 * axes.get_ylim()[1])  # room for the legend
        axes.legend(fontsize=9, loc="upper left")
        return figure

    lines = {MEASURED: (sizes, seconds), MODEL: (sizes, modelled)}
    figures.show_measured(
        "all_reduce",
        {"lines": {figures.key(name): [[*xs], [*ys]] for name, (xs, ys) in lines.items()}},
        chart,
        _TEXTS["caption"].format(caption=caption, price=price, speed=speed),
        _TEXTS["alternative"],
        card=card,
    )
