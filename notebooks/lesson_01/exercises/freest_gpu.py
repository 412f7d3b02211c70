"""Exercise ``freest_gpu(gpus) -> int``, for a list of (name, free MiB, total MiB)."""

from typing import Any

from bilingual import Bilingual, texts
from course_utils import figures
from course_utils.exercises import Mistakes
from course_utils.returned import whole
from lesson_01.asked import asked

# Each typical mistake gives another GPU: least used 0, smallest share 0, largest card 1 or 3; the answer is 2.
GPUS = [
    ("RTX 4060", 8092, 8192),
    ("RTX 4090", 4576, 24576),
    ("RTX 4080", 15484, 16384),
    ("RTX 3090", 4576, 24576),
]
# Another order and a single GPU: an answer that is a constant fails here.
OTHERS = (([("A", 95, 100), ("B", 810, 900)], 1), ([("T4", 15, 16)], 0))


def judge(answer: Any) -> Mistakes:
    """Look for typical mistakes in four GPUs, then ask for other lists."""
    got = whole(answer([*GPUS]))
    yield not 0 <= got <= 3, "no_such_gpu", {"got": got}
    yield got == 0, "by_share"
    yield got in (1, 3), "largest", {"got": got}
    for gpus, right in OTHERS:
        got = answer([*gpus])
        yield got != right, "other_list", {"gpus": gpus, "right": right, "got": got}


def show(answer: Any) -> figures.Picture:
    """Return a picture of the memory of four GPUs, and the one that the answer chose."""
    chosen = asked(answer, [*GPUS])
    figure, axes = figures.new(height=2.3)
    names, totals = [f"{index}: {gpu[0]}" for index, gpu in enumerate(GPUS)], [gpu[2] for gpu in GPUS]
    colours = [figures.RECORDED if index == chosen else figures.YOURS for index in range(len(GPUS))]
    free = [gpu[1] for gpu in GPUS]
    axes.barh(names, totals, color=figures.PALE, height=0.62, label=Bilingual("total", "總量"))
    drawn = axes.barh(names, free, color=colours, height=0.62, label=Bilingual("free", "剩餘"))
    axes.bar_label(drawn, [f"{size} MiB" for size in free], padding=4)
    axes.invert_yaxis()
    figures.bars_only(axes)
    return figures.Picture(figure, **texts(__file__))
