"""CUDA_VISIBLE_DEVICES hides and renumbers GPUs. Which physical GPU does a program get as ``cuda:i``?

Model: PyTorch's own parser reads the variable; the first number that the machine does not have ends the list, as in the
driver. Names of GPUs (``GPU-…``) and of MIG slices are left out.
"""

import os
import threading
from dataclasses import dataclass
from typing import Any

import torch

from bilingual import enumerated, texts
from course_utils import figures
from course_utils.explorer import Control, Explorer

_ENVIRONMENT = threading.Lock()  # only one thread may change os.environ at a time

_TEXTS = texts(__file__)
UNSET = "—"
VALUES = (UNSET, "0", "1", "1,0", "2,0", "0,-1,1", "0,0", "3", "-1", "all", '""')


@dataclass(frozen=True)
class Visibility:
    """What a program sees.

    Attributes:
        value: The value of CUDA_VISIBLE_DEVICES, as in :data:`VALUES`.
        count: Number of physical GPUs.
        visible: For each ``cuda:i`` the number of the physical GPU.
    """

    value: str
    count: int
    visible: tuple[int, ...]


def compute(*, value: str, count: int) -> Visibility:
    """Return which GPUs a program sees, according to PyTorch's own parser.

    Args:
        value: What CUDA_VISIBLE_DEVICES is set to; a dash (:data:`UNSET`) removes it, ``""`` is the empty string.
        count: Number of physical GPUs.
    """
    text = {UNSET: None, '""': ""}.get(value, value)
    with _ENVIRONMENT:
        saved = os.environ.pop("CUDA_VISIBLE_DEVICES", None)
        try:
            if text is not None:
                os.environ["CUDA_VISIBLE_DEVICES"] = text
            # The parser is private, but it decides; a copy of it could be wrong.
            parsed = torch.cuda._parse_visible_devices()
        finally:
            os.environ.pop("CUDA_VISIBLE_DEVICES", None)
            if saved is not None:
                os.environ["CUDA_VISIBLE_DEVICES"] = saved
    visible: list[int] = []
    for index in parsed:
        if not isinstance(index, int) or not 0 <= index < count:
            break  # as in the driver, the first impossible entry ends the list
        visible.append(index)
    return Visibility(value, count, tuple(visible))


_BOX = {"boxstyle": "round,pad=0.35", "edgecolor": "none"}
_DARK = "#445"
_MACHINE, _PROGRAM = 1.6, 7.9  # x of the two columns


def _label(axes: Any, x: float, y: float, text: str, colour: str) -> None:
    """Draw a white text in a coloured box."""
    axes.text(x, y, text, ha="center", va="center", color="white", bbox=_BOX | {"facecolor": colour})


def _draw(axes: Any, result: Visibility) -> None:
    """Draw the physical GPUs on the left, the program's on the right, and an arrow from each to its ``cuda:i``."""
    axes.axis("off")
    axes.set_xlim(0, 10)
    axes.set_ylim(-0.6, result.count)
    axes.text(_MACHINE, result.count - 0.35, _TEXTS["machine"], ha="center", color=_DARK)
    axes.text(_PROGRAM, result.count - 0.35, _TEXTS["program"], ha="center", color=_DARK)
    top = result.count - 1.1
    for index in range(result.count):
        colour = figures.YOURS if index in result.visible else figures.PALE
        _label(axes, _MACHINE, top - index, f"GPU {index}", colour)
    for number, index in enumerate(result.visible):
        _label(axes, _PROGRAM, top - number, f"cuda:{number}", figures.RECORDED)
        arrow = {"arrowstyle": "->", "color": _DARK}
        axes.annotate("", (7.1, top - number), (2.4, top - index), arrowprops=arrow)
    if not result.visible:
        middle = (result.count - 1.6) / 2
        axes.text(_PROGRAM, middle, _TEXTS["none"], ha="center", va="center", color=_DARK)


def render(result: Visibility) -> figures.Picture:
    """Return the picture of `result`: physical GPUs on the left, what the program sees on the right."""
    figure, axes = figures.new(height=0.6 + 0.55 * result.count)
    _draw(axes, result)
    caption = _TEXTS["unset" if result.value == UNSET else "set"].format(
        value=result.value, gpus=result.count, count=len(result.visible)
    )
    pairs = [f"cuda:{number} = GPU {index}" for number, index in enumerate(result.visible)] or ["-"]
    return figures.Picture(figure, caption, _TEXTS["alternative"].format(pairs=enumerated(pairs)))


EXPLORER = Explorer(
    title=_TEXTS["title"],
    controls=(
        Control("value", _TEXTS["value"], [(v, v) for v in VALUES], "2,0", slider=False),
        Control("count", _TEXTS["count"], [(str(n), n) for n in (1, 2, 3, 4)], "3"),
    ),
    compute=compute,
    render=render,
)
