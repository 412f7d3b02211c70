"""How DataParallel splits a batch: by the rule of ``torch.chunk``, which is called here.

With n devices, every piece has ⌈batch / n⌉ examples, until none are left. The last piece may be smaller, and there may be
fewer pieces than devices. Left out: transfers, and that a small piece does not use a whole GPU.
"""

from dataclasses import dataclass
from typing import Any

import torch
from matplotlib import ticker

from bilingual import Bilingual, texts
from course_utils import figures
from course_utils.explorer import Control, Explorer

_TEXTS = texts(__file__)
_MOST_CELLS = 64  # examples that are drawn one by one


@dataclass(frozen=True)
class Split:
    """A batch cut into pieces.

    Attributes:
        batch: Number of examples.
        devices: Number of devices.
        sizes: Examples of each piece, in the order of the devices; at most as many pieces as devices.
    """

    batch: int
    devices: int
    sizes: tuple[int, ...]

    @property
    def idle(self) -> int:
        """Number of devices that get nothing."""
        return self.devices - len(self.sizes)

    @property
    def gain(self) -> float:
        """Speed-up over one device at best: the largest piece takes the longest."""
        return self.batch / max(self.sizes)


def compute(*, batch: int, devices: int) -> Split:
    """Return how a batch is split.

    Args:
        batch: Number of examples.
        devices: Number of devices.
    """
    return Split(batch, devices, tuple(len(piece) for piece in torch.arange(batch).chunk(devices)))


def caption(split: Split) -> Bilingual:
    """Return the split in words."""
    if split.devices == 1:
        remark = "one"
    elif split.idle:
        remark = "one_idle" if split.idle == 1 else "idle"
    else:
        remark = "less" if len(set(split.sizes)) > 1 else "same"
    return _TEXTS["caption"].format(
        examples="1 example" if split.batch == 1 else f"{split.batch} examples",
        devices="1 device" if split.devices == 1 else f"{split.devices} devices",
        batch=split.batch,
        n=split.devices,
        sizes="+".join(map(str, split.sizes)),
        remark=_TEXTS[remark].format(idle=split.idle),
        gain=f"{split.gain:.3g}",
    )


ALTERNATIVE = _TEXTS["alternative"]


def _draw_row(axes: Any, split: Split, row: int, start: int, size: int) -> None:
    """Draw the `size` examples of one device, from number `start` on."""
    if not size:
        axes.text(
            0.01 * split.batch, row, Bilingual("idle", "閒置"), va="center", fontsize=10, color=figures.GREY
        )
        return
    single = split.batch <= _MOST_CELLS
    cells = [(start + k, 0.88) for k in range(size)] if single else [(start, size)]
    axes.broken_barh(cells, (row - 0.37, 0.74), facecolors=figures.YOURS)
    axes.text(start + size + 0.01 * split.batch, row, str(size), va="center", fontsize=10)


def render(split: Split) -> figures.Picture:
    """Return the picture of `split`."""
    figure, axes = figures.new(height=0.75 + 0.34 * split.devices)
    start = 0
    for device in range(split.devices):
        size = split.sizes[device] if device < len(split.sizes) else 0
        _draw_row(axes, split, split.devices - 1 - device, start, size)
        start += size
    axes.set_xlim(0, split.batch * 1.06)
    axes.xaxis.set_major_locator(ticker.MaxNLocator(8, integer=True))
    axes.set_ylim(-0.5, split.devices - 0.5)
    axes.set_yticks(
        range(split.devices),
        [str(Bilingual(f"device {d}", f"裝置 {d}")) for d in reversed(range(split.devices))],
    )
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False)
    axes.set_xlabel(_TEXTS["axis"])
    return figures.Picture(figure, caption(split), ALTERNATIVE)


_BATCHES = (1, 2, 5, 6, 7, 8, 9, 10, 16, 30, 32, 33, 64, 100, 256)
EXPLORER = Explorer(
    title=_TEXTS["title"],
    controls=(
        Control("batch", _TEXTS["batch"], [(str(n), n) for n in _BATCHES], "10"),
        Control("devices", _TEXTS["devices"], [(str(n), n) for n in range(1, 9)], "3"),
    ),
    compute=compute,
    render=render,
)
