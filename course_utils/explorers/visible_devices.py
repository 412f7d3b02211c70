"""CUDA_VISIBLE_DEVICES hides and renumbers GPUs. Which physical GPU does a program get as ``cuda:i``?"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass

import torch

from course_utils import figures
from course_utils.explorers import Control, Explorer
from course_utils.language import Bilingual

_ENVIRONMENT = threading.Lock()

UNSET = "(unset)"
VALUES = (UNSET, "0", "1", "1,0", "2,0", "0,-1,1", "0,0", "3", "-1", "all", '""')


@dataclass(frozen=True)
class Visibility:
    """What a program sees: for each ``cuda:i`` the number of the physical GPU, of `count` in the machine."""

    value: str
    count: int
    visible: tuple[int, ...]


def compute(*, value: str, count: int) -> Visibility:
    """Return what PyTorch's own parser makes of `value` on a machine with `count` GPUs.

    Args:
        value: What CUDA_VISIBLE_DEVICES is set to; ``(unset)`` removes it, ``""`` is the empty string.
        count: Number of physical GPUs.
    """
    text = {UNSET: None, '""': ""}.get(value, value)
    with _ENVIRONMENT:
        saved = os.environ.pop("CUDA_VISIBLE_DEVICES", None)
        try:
            if text is not None:
                os.environ["CUDA_VISIBLE_DEVICES"] = text
            # The parser is private, but it is the one that decides; a copy of it could be wrong.
            parsed = torch.cuda._parse_visible_devices()
        finally:
            os.environ.pop("CUDA_VISIBLE_DEVICES", None)
            if saved is not None:
                os.environ["CUDA_VISIBLE_DEVICES"] = saved
    visible: list[int] = []
    for index in parsed:
        if not isinstance(index, int) or not 0 <= index < count:
            break  # the first impossible entry ends the list, as the driver does it
        visible.append(index)
    return Visibility(value, count, tuple(visible))


def render(result: Visibility) -> str:
    """Return the picture of `result`: physical GPUs on the left, what the program sees on the right."""
    figure, axes = figures.new(height=0.6 + 0.55 * result.count)
    axes.axis("off")
    axes.set_xlim(0, 10)
    axes.set_ylim(-0.6, result.count)
    box = {"boxstyle": "round,pad=0.35", "edgecolor": "none"}
    axes.text(1.6, result.count - 0.35, "in the machine · 機器上", ha="center", color="#445")
    axes.text(7.9, result.count - 0.35, "in the program · 程式裡", ha="center", color="#445")
    for index in range(result.count):
        height = result.count - 1.1 - index
        seen = index in result.visible
        colour = figures.YOURS if seen else figures.PALE
        axes.text(
            1.6,
            height,
            f"GPU {index}",
            ha="center",
            va="center",
            color="white",
            bbox=box | {"facecolor": colour},
        )
    for number, index in enumerate(result.visible):
        height, origin = result.count - 1.1 - number, result.count - 1.1 - index
        axes.text(
            7.9,
            height,
            f"cuda:{number}",
            ha="center",
            va="center",
            color="white",
            bbox=box | {"facecolor": figures.RECORDED},
        )
        axes.annotate("", (7.1, height), (2.4, origin), arrowprops={"arrowstyle": "->", "color": "#445"})
    if not result.visible:
        axes.text(7.9, (result.count - 1.6) / 2, "none · 無", ha="center", va="center", color="#445")
    count = len(result.visible)
    caption = Bilingual(
        f"`CUDA_VISIBLE_DEVICES={result.value}` on a machine with {result.count} GPUs: the program sees {count}.",
        f"在有 {result.count} 張 GPU 的機器上設定 `CUDA_VISIBLE_DEVICES={result.value}`，程式看得到 {count} 張。",
    )
    if result.value == UNSET:
        caption = Bilingual(
            f"`CUDA_VISIBLE_DEVICES` is not set, and the machine has {result.count} GPUs: the program sees {count}.",
            f"沒有設定 `CUDA_VISIBLE_DEVICES`，機器上有 {result.count} 張 GPU：程式看得到 {count} 張。",
        )
    pairs = [f"cuda:{number} = GPU {index}" for number, index in enumerate(result.visible)]
    alternative = Bilingual(
        f"Physical GPUs and what the program sees: {', '.join(pairs) or '-'}.",
        f"實體 GPU 與程式看到的編號：{'、'.join(pairs) or '-'}。",
    )
    return figures.Picture(figure, caption, alternative).html()


EXPLORER = Explorer(
    title=Bilingual("Who is cuda:i?", "cuda:i 是哪一張？"),
    controls=(
        Control(
            "value",
            Bilingual("CUDA_VISIBLE_DEVICES =", "CUDA_VISIBLE_DEVICES ="),
            [(v, v) for v in VALUES],
            "2,0",
            slider=False,
        ),
        Control(
            "count",
            Bilingual("GPUs in the machine", "機器上有幾張 GPU"),
            [(str(n), n) for n in (1, 2, 3, 4)],
            "3",
        ),
    ),
    compute=compute,
    render=render,
)
