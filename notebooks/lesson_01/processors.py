"""A picture of processors: this machine's CPU cores, memory and bandwidth beside a GPU's."""

import itertools
from dataclasses import dataclass
from math import isqrt
from typing import Any

import torch

from bilingual import Bilingual, measured_both, texts
from course_utils import figures
from course_utils.machine import machine_facts
from shared.ceilings import ceilings, host_length
from shared.gpu_ratings import ratings

_TEXTS = texts(__file__)
EXAMPLE_GPU = "NVIDIA H200"  # shown where the machine has no GPU
# float32 numbers in one vector register, by what torch.backends.cpu.get_cpu_capability() says; 4 elsewhere (SSE, NEON)
_VECTOR = {"AVX512": 16, "AVX2": 8, "SVE256": 8}


def cuda_cores(capability: tuple[int, int]) -> int:
    """Return how many float32 units a multiprocessor of this compute capability has, at least 5.0.

    From the table "Arithmetic Instructions" of NVIDIA's CUDA C++ Programming Guide.
    """
    return 64 if capability in ((6, 0), (7, 0), (7, 2), (7, 5), (8, 0)) else 128


@dataclass(frozen=True)
class Processor:
    """What one processor has.

    Attributes:
        name: Product name.
        gpu: Whether it is a GPU.
        blocks: Cores of a CPU, multiprocessors of a GPU.
        units: float32 numbers that one block handles in one step: the width of a CPU core's vector unit, the CUDA
            cores of a multiprocessor.
        memory: Bytes.
        bandwidth: Bytes per second, read plus written.
        measured: Whether the bandwidth was measured here; otherwise it is published.
        cached: Whether caches may have held part of what was copied, so that memory is slower than that.
    """

    name: str
    gpu: bool
    blocks: int
    units: int
    memory: float
    bandwidth: float
    measured: bool
    cached: bool = False


def here() -> list[Processor]:
    """Return this machine's CPU and, if it has one, its first GPU, with the bandwidth measured now."""
    import psutil

    facts = machine_facts()
    # Two hardware threads of one core share its arithmetic units, so the picture counts cores.
    cores = min(facts["cores"], psutil.cpu_count(logical=False) or facts["cores"])
    copy = ceilings()["host_copy" if facts["gpus"] else "copy"]
    units = _VECTOR.get(torch.backends.cpu.get_cpu_capability(), 4)
    cpu = Processor(facts["cpu"], False, cores, units, facts["memory"], copy, True, host_length()[1])
    if not facts["gpus"]:
        return [cpu]
    gpu = facts["gpus"][0]
    units = cuda_cores(torch.cuda.get_device_capability(0))
    blocks, memory = gpu["multiprocessors"], gpu["memory"]
    return [cpu, Processor(gpu["name"], True, blocks, units, memory, ceilings()["copy"], True)]


def published() -> Processor:
    """Return the published figures of :data:`EXAMPLE_GPU`."""
    data = ratings()[EXAMPLE_GPU]
    blocks = int(data["multiprocessors"])
    units = int(data["cuda_cores"]) // blocks
    return Processor(EXAMPLE_GPU, True, blocks, units, data["memory"], data["bandwidth"], False)


def _draw_blocks(axes: Any, processor: Processor, colour: str) -> None:
    """Draw one square per core or multiprocessor, with a white dot per number that it handles in one step."""
    columns = 12 if processor.blocks > 24 else 6 if processor.blocks > 4 else 2
    size = 0.86
    # The most square grid with a place for each: 128 in 8 rows of 16.
    down = max(n for n in range(1, isqrt(processor.units) + 1) if processor.units % n == 0)
    across = processor.units // down
    dots = list(itertools.product(range(1, across + 1), range(1, down + 1)))
    for index in range(processor.blocks):
        x, y = index % columns, -(index // columns)
        axes.add_patch(figures.rectangle(x, y, size, size, colour))
        axes.scatter(
            [x + i * size / (across + 1) for i, _ in dots],
            [y + j * size / (down + 1) for _, j in dots],
            s=max(0.5, 60 / columns**2),
            color="white",
            linewidths=0,
        )
    rows = -(-processor.blocks // columns)
    # Every processor gets a square view, so that the texts above and below are aligned.
    side, middle = max(columns, rows) + 0.3, size / 2 - (rows - 1) / 2
    axes.set_xlim((columns - 1 + size - side) / 2, (columns - 1 + size + side) / 2)
    axes.set_ylim(middle - side / 2, middle + side / 2)
    axes.set_aspect("equal")
    axes.axis("off")


def picture(processors: list[Processor]) -> figures.Picture:
    """Draw `processors` side by side: their blocks as squares, memory and bandwidth as text below."""
    figure, grid = figures.new(height=4.2, columns=len(processors))
    grid = list(grid) if len(processors) > 1 else [grid]
    for axes, processor in zip(grid, processors, strict=True):
        _draw_blocks(axes, processor, figures.RECORDED if processor.gpu else figures.YOURS)
        name = processor.name if len(processor.name) < 34 else processor.name[:32] + "…"
        axes.set_title(f"{name}\n{_blocks_text(processor)}")
        source = _TEXTS["cached" if processor.cached else "measured" if processor.measured else "published"]
        memory, rate = f"{processor.memory / 1e9:.0f} GB", f"{processor.bandwidth / 1e9:,.0f} GB/s"
        text = f"{memory} {_TEXTS['memory']}\n{rate} · {source}"
        axes.text(0.5, -0.06, text, transform=axes.transAxes, ha="center", va="top")
    return figures.Picture(figure, _caption(processors[0], processors[-1]), _TEXTS["alternative"])


def _blocks_text(processor: Processor) -> str:
    """Return how many blocks of how many units there are, in both languages."""
    units = figures.lettering(_TEXTS["gpu_units" if processor.gpu else "cpu_units"])
    return f"{processor.blocks} × {processor.units}: {units}"


def _caption(cpu: Processor, gpu: Processor) -> Bilingual:
    """Return the line under the picture; everything that depends on the machine is inside of one mark per language."""
    compared = _TEXTS["compared"].format(
        few=f"{cpu.blocks * cpu.units:,}",
        many=f"{gpu.blocks * gpu.units:,}",
        whose=_TEXTS["your_gpu"] if gpu.measured else _TEXTS["example_gpu"].format(name=gpu.name),
        at_least=_TEXTS["at_least"] if cpu.cached else "",
        times=f"{gpu.bandwidth / cpu.bandwidth:.0f}",
    )
    return _TEXTS["caption"].format(compared=measured_both(compared))


def show_processors() -> None:
    """Show this machine's CPU beside its GPU, or beside a GPU's published figures where there is none."""
    from IPython.display import display

    processors = here()
    display(picture(processors if len(processors) > 1 else [*processors, published()]))
