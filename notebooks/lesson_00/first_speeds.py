"""The first and the last version of the program, in images per second: on a GPU beside the CPU, where there is one."""

from typing import Any

import torch

from bilingual import Bilingual, measured, texts
from course_utils import figures
from course_utils.measure import best_time
from course_utils.units import number
from shared import program
from shared.scoreboard_picture import rate_axis

_TEXTS = texts(__file__)
FEW = 20  # images that the beginner's program trains with where only the CPU is compared


def rates(slow: float, fast: float) -> dict[str, dict[str, float]]:
    """Return images per second by device and program; with a GPU, those of the CPU are measured here.

    Args:
        slow: What the beginner's program reached on the lesson's device.
        fast: The same for the finished program.
    """
    mine = {"beginner": float(slow), "finished": float(fast)}
    if not torch.cuda.is_available():
        return {"CPU": mine}
    cpu = {
        "beginner": FEW / best_time(lambda: program.beginner("cpu", images=FEW)),
        "finished": program.IMAGES / best_time(lambda: program.finished("cpu", 1)),
    }
    return {"CPU": cpu, "GPU": mine}


def show_speeds(slow: float, fast: float) -> None:
    """Show both programs as bars, on each device of this machine, beside what another machine reached.

    Args:
        slow: Images per second of the beginner's program.
        fast: Images per second of the finished one.
    """
    found = rates(slow, fast)

    def draw(groups: figures.Groups) -> Any:
        bars = [
            (f"{device}  {_TEXTS[key]}", rate, figures.COLOURS[whose])
            for whose, values in groups.items()
            for device, by_program in values["rates"].items()
            for key, rate in by_program.items()
        ]
        figure, axes = figures.new(height=0.9 + 0.35 * len(bars))
        drawn = axes.barh(
            range(len(bars)), [rate for _, rate, _ in bars], color=[c for _, _, c in bars], height=0.62
        )
        axes.bar_label(drawn, [number(rate) for _, rate, _ in bars], padding=4)
        axes.set_yticks(range(len(bars)), [name for name, _, _ in bars])
        axes.invert_yaxis()
        rate_axis(axes, [rate for _, rate, _ in bars])
        return figure

    def caption(values: dict[str, Any], place: Bilingual) -> Bilingual:
        last = list(values["rates"].values())[-1]
        ratio = measured(number(last["finished"] / last["beginner"]))
        return _TEXTS["caption"].format(place=place, ratio=ratio)

    figures.show_measured("speeds", {"rates": found}, draw, caption, _TEXTS["alternative"], series_vary=True)
