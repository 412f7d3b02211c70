"""How DataParallel splits a batch: by the rule of ``torch.chunk``, which is called here.

With n devices, every piece has ⌈batch / n⌉ examples, until none are left. The last piece may be smaller, and there may be
fewer pieces than devices. Left out: transfers, and that a small piece does not use a whole GPU.
"""

from dataclasses import dataclass
from typing import Any

import torch
from matplotlib import ticker

from bilingual import Bilingual
from course_utils import figures
from course_utils.explorer import Control, Explorer

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

    Raises:
        ValueError: One of them is not positive.
    """
    if batch < 1 or devices < 1:
        raise ValueError(f"a split needs at least 1 example and 1 device, but got {batch} and {devices}.")
    return Split(batch, devices, tuple(len(piece) for piece in torch.arange(batch).chunk(devices)))


def _remark(split: Split) -> Bilingual:
    """Return a comment on this split."""
    if split.devices == 1:
        return Bilingual("One device: nothing is split.", "只有一個裝置，不用切。")
    if split.idle:
        count = "1 device has" if split.idle == 1 else f"{split.idle} devices have"
        return Bilingual(f"{count} nothing to do.", f"有 {split.idle} 個裝置沒事做。")
    if len(set(split.sizes)) > 1:
        return Bilingual(
            "The last device gets less, and then waits for the others.",
            "最後一個裝置分到的比較少，做完要等其他裝置。",
        )
    return Bilingual("All get the same.", "每個裝置分到的一樣多。")


def caption(split: Split) -> Bilingual:
    """Return the split in words."""
    sizes = "+".join(map(str, split.sizes))
    remark = _remark(split)
    examples = "1 example" if split.batch == 1 else f"{split.batch} examples"
    devices = "1 device" if split.devices == 1 else f"{split.devices} devices"
    return Bilingual(
        f"{examples} over {devices}: {sizes}. {remark.en} At best {split.gain:.3g} times as fast as one device.",
        f"{split.batch} 筆分給 {split.devices} 個裝置：{sizes}。{remark.zh}最快是單一裝置的 {split.gain:.3g} 倍。",
    )


ALTERNATIVE = Bilingual(
    "A row per device, with the examples of the batch that it gets.",
    "每個裝置一列，畫出它分到批次裡的哪幾筆資料。",
)


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
    axes.set_xlabel(Bilingual("examples of the batch, in order", "批次裡的資料，依順序排"))
    return figures.Picture(figure, caption(split), ALTERNATIVE)


EXPLORER = Explorer(
    title=Bilingual("Who gets how much of the batch?", "批次怎麼分？"),
    controls=(
        Control(
            "batch",
            Bilingual("examples in the batch", "批次裡有幾筆"),
            [(str(n), n) for n in (1, 2, 5, 6, 7, 8, 9, 10, 16, 30, 32, 33, 64, 100, 256)],
            "10",
        ),
        Control(
            "devices",
            Bilingual("devices", "裝置數"),
            [(str(n), n) for n in range(1, 9)],
            "3",
        ),
    ),
    compute=compute,
    render=render,
)
