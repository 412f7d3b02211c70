"""Curves that others have published: all-reduce by bytes, and training by number of GPUs, to draw beside what is measured here.

    curve = published("all_reduce_8")
    curve.points        # [(32768, 1.8e-05), …]: bytes and seconds
    curve.label         # "8 × H200, one machine", in both languages
    sources(curve.key)  # value, hardware, source and date, in both languages

Each number was read at its source, and stands in ``published_curves.toml``; the quotes are in ``course_utils/published.toml`` under the curve's ``key``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bilingual import Bilingual, Block, texts
from course_utils.published import references

KIB = 1024


@dataclass(frozen=True)
class Curve:
    """Published points.

    Attributes:
        label: What was measured, for a legend.
        points: Bytes and seconds of an all-reduce, or the number of GPUs and what all of them together do in a second.
        key: The reference in ``published.toml`` that quotes the source.
    """

    label: Bilingual
    points: tuple[tuple[float, float], ...]
    key: str

    def per_gpu(self) -> list[tuple[float, float]]:
        """Return the number of GPUs and what each of them does in a second."""
        return [(gpus, rate / gpus) for gpus, rate in self.points]

    def efficiency(self) -> list[tuple[float, float]]:
        """Return the number of GPUs and the share of the first point's rate per GPU that is left."""
        (_, first), *_ = rates = self.per_gpu()
        return [(gpus, rate / first) for gpus, rate in rates]


DATA = texts(__file__)


def _points(data: Mapping[str, Any]) -> tuple[tuple[float, float], ...]:
    """Return the points of a curve from its numbers in the TOML file."""
    if "bus" in data:  # 2 (n - 1) / n times the bytes per second, of sizes that double
        factor = 2 * (data["gpus"] - 1) / data["gpus"]
        sizes = [32 * KIB * 2**step for step in range(len(data["bus"]))]
        return tuple(
            (size, factor * size / (bus * 1e9)) for size, bus in zip(sizes, data["bus"], strict=True)
        )
    if "each" in data:
        return tuple((gpus, gpus * rate) for gpus, rate in data["each"])
    return tuple((gpus, rate) for gpus, rate in data["all"])


CURVES = {name: Curve(data["label"], _points(data), data["key"]) for name, data in DATA.items()}


def published(name: str) -> Curve:
    """Return a published curve: ``all_reduce_8``, ``vit``, ``llm`` or ``resnet``."""
    return CURVES[name]


def sources(*keys: str) -> Block:
    """Return what is published under some keys of ``published.toml``, a line for each, to show below a cell.

    Args:
        keys: Such as ``"scaling-horovod"``.
    """
    found = [references()[key] for key in keys]
    html = "".join(f'<p class="course-small">{reference.html()}</p>' for reference in found)
    return Block(html, "\n".join(str(reference.text()) for reference in found))
