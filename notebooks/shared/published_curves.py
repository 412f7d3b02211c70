"""Curves that others have published: all-reduce by bytes, and training by number of GPUs, to draw beside what is measured here.

    curve = published("all_reduce_8")
    curve.points        # [(32768, 1.8e-05), …]: bytes and seconds
    curve.label         # "8 × H200, one machine", in both languages
    sources(curve.key)  # value, hardware, source and date, in both languages

Each number was read at its source; the quotes are in ``course_utils/published.toml`` under the curve's ``key``.
"""

from dataclasses import dataclass

from bilingual import Bilingual, Block
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


# "busbw" in GB/s of 32 KiB, 64 KiB … 16 GiB, as the benchmark prints it.
BUS_8 = (
    3.15, 6.16, 12.46, 24.68, 48.15, 74.57, 96.26, 145.14, 196.56, 255.90,
    301.25, 368.86, 414.54, 441.87, 456.23, 465.91, 471.06, 474.13, 478.24, 482.25,
)  # fmt: skip


def all_reduce_times(bus: tuple[float, ...], gpus: int) -> tuple[tuple[float, float], ...]:
    """Return bytes and seconds from the bandwidths of a benchmark whose sizes double from 32 KiB on.

    Args:
        bus: "busbw" in GB/s, which is 2 (n − 1) / n times the bytes per second.
        gpus: The n of that.
    """
    sizes = [32 * KIB * 2**step for step in range(len(bus))]
    factor = 2 * (gpus - 1) / gpus
    return tuple((size, factor * size / (value * 1e9)) for size, value in zip(sizes, bus, strict=True))


def of_each(rates: dict[int, float]) -> tuple[tuple[float, float], ...]:
    """Return the number of GPUs and the rate of all, from the rate of each."""
    return tuple((gpus, gpus * rate) for gpus, rate in rates.items())


CURVES = {
    "all_reduce_8": Curve(
        Bilingual("8 × H200, one machine", "8 張 H200，一台機器"), all_reduce_times(BUS_8, 8), "all_reduce"
    ),
    "vit": Curve(
        Bilingual("ViT, A100, DDP", "ViT、A100、DDP"),
        ((1, 63.989), (4, 202.032), (64, 2544.678)),
        "efficiency",
    ),
    "llm": Curve(
        Bilingual("small LLM, A100, DDP", "小型 LLM、A100、DDP"), ((1, 142_156), (4, 419_259)), "7.6"
    ),
    "resnet": Curve(
        Bilingual("ResNet-50, V100, DDP", "ResNet-50、V100、DDP"),
        of_each({1: 329, 2: 310, 4: 310, 8: 307, 16: 306}),
        "scaling-resnet",
    ),
}


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
