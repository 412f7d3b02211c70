"""Bytes that devices exchange in one training step: DataParallel against an all-reduce.

P bytes of parameters, n devices, b examples for each. DataParallel sends the weights before the forward pass and collects
the gradients after the backward pass. A ring all-reduce cuts the gradients into n pieces and passes them around in
2(n − 1) steps; in every step each device sends one piece and receives one, at the same time.

===================== ======================= =================================== ==============
way                   all links together      one after another on one link        of it, weights
===================== ======================= =================================== ==============
without NCCL (star)   2 (n − 1) P + data      2 (n − 1) P + data                   (n − 1) P
with NCCL (chain)     2 (n − 1) P + data      2 P + data                           P
ring all-reduce       2 (n − 1) P             2 (n − 1) / n · P                    0
===================== ======================= =================================== ==============

DataParallel broadcasts the weights and reduces the gradients by NCCL where there is one (Linux). *Chain*: each device passes
on what it receives, piece by piece, so the weights cross every link once. Without NCCL (Windows) it is a *star*: device 0
exchanges data with one device after the other. *Data*: the batch is on device 0, which
sends n − 1 of its n pieces, gathers their outputs, and sends the gradients of these back.

Left out: latencies and the time of the additions; a link carries both directions at full speed.
"""

from dataclasses import dataclass

from bilingual import Bilingual, texts
from course_utils import figures
from course_utils.explorer import Control, Explorer
from course_utils.units import number

_TEXTS = texts(__file__)
FLOAT = 4  # bytes


@dataclass(frozen=True)
class Model:
    """A network: number of parameters, bytes of an input, numbers in an output."""

    parameters: int
    input_bytes: int
    outputs: int


# LeNet: lesson 05. ResNets: torchvision, images of 3 × 224 × 224. BERT: Devlin et al. (2018), "110M", 512 tokens in,
# two classes out.
MODELS = {
    "LeNet (0.06 M)": Model(61_706, 28 * 28 * FLOAT, 10),
    "ResNet-18 (11.7 M)": Model(11_689_512, 3 * 224 * 224 * FLOAT, 1000),
    "ResNet-50 (25.6 M)": Model(25_557_032, 3 * 224 * 224 * FLOAT, 1000),
    "BERT base (110 M)": Model(110_000_000, 512 * 8, 2),
}
STAR, CHAIN, RING = "star", "chain", "ring"
WAYS = (CHAIN, STAR, RING)
PARTS = ("weights", "gradients", "data")


@dataclass(frozen=True)
class Traffic:
    """Bytes of one step.

    Attributes:
        devices: Number of devices.
        serial: Way → part (see :data:`PARTS`) → bytes that cross the busiest link, one after another.
        total: Bytes of weights and gradients over all links together, which are the same for all ways.
        speed: Bytes per second of a link in each direction.
    """

    devices: int
    serial: dict[str, dict[str, float]]
    total: float
    speed: float

    def seconds(self, way: str) -> float:
        """Return how long the busiest link takes in one step."""
        return sum(self.serial[way].values()) / self.speed


def compute(*, model: str, devices: int, batch: int, speed: float) -> Traffic:
    """Return the bytes that devices exchange in one training step.

    Args:
        model: A key of :data:`MODELS`.
        devices: Number of devices.
        batch: Examples per device.
        speed: Bytes per second of a link in each direction.
    """
    kind, others = MODELS[model], devices - 1
    weights = kind.parameters * FLOAT
    # Inputs out, outputs in, gradients of the outputs out.
    data = others * batch * (kind.input_bytes + 2 * kind.outputs * FLOAT)
    once = weights if others else 0
    ring = 2 * others / devices * weights
    return Traffic(
        devices,
        {
            STAR: {"weights": others * weights, "gradients": others * weights, "data": data},
            CHAIN: {"weights": once, "gradients": once, "data": data},
            RING: {"weights": 0, "gradients": ring, "data": 0},
        },
        2 * others * weights,
        speed,
    )


def caption(result: Traffic) -> Bilingual:
    """Return the comparison in words."""
    if result.devices == 1:
        return _TEXTS["one"]
    # Without the data, so that the ratios are n and n / (n - 1).
    carried = {way: sum(result.serial[way][part] for part in PARTS[:2]) for way in WAYS}
    ratios = {way: number(carried[way] / carried[RING]) for way in (CHAIN, STAR)}
    return _TEXTS["several"].format(devices=result.devices, total=figures.amount(result.total), **ratios)


def render(result: Traffic) -> figures.Picture:
    """Return the picture of `result`."""
    figure, axes = figures.new(height=2.35)
    places = range(len(WAYS))
    left = [0.0] * len(WAYS)
    for part, colour in zip(PARTS, (figures.YOURS, figures.RECORDED, figures.PALE), strict=True):
        sizes = [result.serial[way][part] for way in WAYS]
        axes.barh(places, sizes, left=left, color=colour, height=0.62, label=str(_TEXTS[part]))
        left = [start + size for start, size in zip(left, sizes, strict=True)]
    for place, (way, end) in enumerate(zip(WAYS, left, strict=True)):
        text = f" {figures.amount(end)}, {figures.duration(result.seconds(way))}" if end else " 0"
        axes.text(end, place, text, va="center", fontsize=10)
    axes.set_xlim(0, (max(left) or 1) * 1.3)
    axes.set_yticks(places, [figures.lettering(_TEXTS[way]) for way in WAYS], fontsize=9)
    axes.invert_yaxis()
    figures.bars_only(axes)
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0.2, fontsize=9, frameon=False
    )
    return figures.Picture(figure, caption(result), _TEXTS["alternative"])


_SPEEDS = [
    ("12 GB/s (PCIe 3)", 12e9),
    ("25 GB/s (PCIe 4)", 25e9),
    ("55 GB/s (PCIe 5)", 55e9),
    ("300 GB/s (NVLink 3)", 300e9),
    ("450 GB/s (NVLink 4)", 450e9),
]
EXPLORER = Explorer(
    title=_TEXTS["title"],
    controls=(
        Control("model", _TEXTS["model"], [(m, m) for m in MODELS], "ResNet-50 (25.6 M)", slider=False),
        Control("devices", _TEXTS["devices"], [(str(n), n) for n in (1, 2, 3, 4, 8)], "4"),
        Control("batch", _TEXTS["batch"], [(str(n), n) for n in (8, 32, 128, 512)], "32"),
        Control("speed", _TEXTS["speed"], _SPEEDS, "25 GB/s (PCIe 4)", slider=False),
    ),
    compute=compute,
    render=render,
)
