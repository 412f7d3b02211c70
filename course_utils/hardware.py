"""A picture of processors: this machine's cores, memory and bandwidth beside a GPU's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from course_utils import figures
from course_utils.devices import machine_facts, rating, ratings
from course_utils.language import Bilingual, measured
from course_utils.measure import ceilings

EXAMPLE = "NVIDIA H200"  # shown where the machine has no GPU, and none is recorded


@dataclass(frozen=True)
class Processor:
    """What one processor has.

    Attributes:
        name: As its maker calls it.
        blocks: Cores of a CPU, multiprocessors of a GPU.
        lanes: float32 units per block; 1 for a CPU core, whose vector width torch does not report.
        memory: Bytes.
        bandwidth: Bytes per second, read plus written.
        measured: Whether the bandwidth was measured here, or is published.
    """

    name: str
    blocks: int
    lanes: int
    memory: float
    bandwidth: float
    measured: bool


def here() -> list[Processor]:
    """Return this machine's processor and, if it has one, its first GPU, with the bandwidth measured now."""
    facts = machine_facts()
    cpu = Processor(facts["cpu"], facts["cores"], 1, facts["memory"], 0.0, True)
    if not facts["gpus"]:
        return [Processor(**(vars(cpu) | {"bandwidth": ceilings()["copy"]}))]
    gpu = facts["gpus"][0]
    rated = ratings().get(gpu["name"])
    lanes = round(rated["lanes"] / rated["multiprocessors"]) if rated else 128
    return [
        Processor(**(vars(cpu) | {"bandwidth": ceilings()["host_copy"]})),
        Processor(gpu["name"], gpu["multiprocessors"], lanes, gpu["memory"], ceilings()["copy"], True),
    ]


def published(name: str = EXAMPLE) -> Processor:
    """Return the published figures of the GPU called `name`.

    Raises:
        KeyError: The table does not have it.
    """
    data = ratings()[name]
    blocks = int(data["multiprocessors"])
    return Processor(name, blocks, int(data["lanes"]) // blocks, data["memory"], data["bandwidth"], False)


def _grid(axes: Any, processor: Processor, colour: str) -> None:
    """Draw one square per core or multiprocessor; each multiprocessor shows its lanes as a dot grid."""
    columns = 12 if processor.blocks > 24 else 6 if processor.blocks > 4 else 2
    size = 0.86
    for index in range(processor.blocks):
        x, y = index % columns, -(index // columns)
        axes.add_patch(figures.rectangle(x, y, size, size, colour))
        if processor.lanes > 1:
            side = round(processor.lanes**0.5)
            steps = [(i + 1) * size / (side + 1) for i in range(side)]
            axes.scatter(
                [x + a for a in steps for _ in steps],
                [y + b for _ in steps for b in steps],
                s=0.1,
                color="white",
            )
    rows = -(-processor.blocks // columns)
    axes.set_xlim(-0.3, columns + 0.2)
    axes.set_ylim(-rows + 0.6, 1.2)
    axes.set_aspect("equal")
    axes.axis("off")


def picture(processors: list[Processor]) -> figures.Picture:
    """Draw `processors` side by side: their blocks as squares, memory and bandwidth as text below."""
    figure, axes = figures.new(height=3.6, columns=len(processors))
    axes = list(axes) if len(processors) > 1 else [axes]
    for one, processor in zip(axes, processors, strict=True):
        gpu = processor.lanes > 1
        _grid(one, processor, figures.RECORDED if gpu else figures.YOURS)
        name = processor.name if len(processor.name) < 34 else processor.name[:32] + "…"
        unit = (
            f"{processor.blocks} × {processor.lanes} lanes · 運算單元"
            if gpu
            else f"{processor.blocks} cores · 核心"
        )
        source = "measured · 實測" if processor.measured else "published · 公開規格"
        one.set_title(f"{name}\n{unit}")
        one.text(
            0.5,
            -0.06,
            f"{processor.memory / 1e9:.0f} GB memory · 記憶體\n{processor.bandwidth / 1e9:,.0f} GB/s ({source})",
            transform=one.transAxes,
            ha="center",
            va="top",
        )
    first, last = processors[0], processors[-1]
    times = measured(f"{last.bandwidth / first.bandwidth:.0f}")
    lanes = last.blocks * last.lanes
    caption = Bilingual(
        f"Blue: the cores of this machine's processor. Orange: a GPU's multiprocessors, each with its arithmetic lanes "
        f"({measured(f'{lanes:,}')} in all). Its memory delivers {times} times as many bytes per second.",
        f"藍色：這台機器處理器的核心。橘色：GPU 的多處理器，每個都有許多運算單元（總共 {measured(f'{lanes:,}')} 個）。"
        f"它的記憶體每秒能送出的位元組是左邊的 {times} 倍。",
    )
    alternative = Bilingual(
        "Squares for processor cores beside squares for a GPU's multiprocessors, with memory size and bandwidth.",
        "左邊的方塊是處理器核心，右邊的方塊是 GPU 的多處理器，下方標示記憶體大小與頻寬。",
    )
    return figures.Picture(figure, caption, alternative)


def show_processors() -> None:
    """Show this machine's processor beside its GPU, or beside a GPU's published figures where there is none."""
    from IPython.display import display

    processors = here()
    display(picture(processors if len(processors) > 1 else [*processors, published()]))


_RATED_AS = {"copy": "bandwidth", "half": "half"}


def share_of_rating(ceiling: str) -> float:
    """Return which share of the GPU's published rating a measured ceiling reaches (1.0 = all of it).

    Args:
        ceiling: ``"copy"`` or ``"half"``, see :func:`course_utils.measure.ceilings`.

    Raises:
        LookupError: No GPU, or its rating is not known.
    """
    rated = rating(_RATED_AS[ceiling])
    if rated is None:
        raise LookupError(f"no rating for {ceiling!r} is known here; ask with needs= before measuring.")
    return ceilings()[ceiling] / rated
