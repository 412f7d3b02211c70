"""The first and the last version of the program, in images per second: on a GPU beside the CPU, where there is one."""

from typing import Any

import torch

from bilingual import Bilingual, measured
from course_utils import figures
from course_utils.measure import best_time
from course_utils.units import number
from shared import program
from shared.scoreboard_picture import rate_axis

PROGRAMS = {"beginner": Bilingual("beginner", "初學者版"), "finished": Bilingual("finished", "完成版")}
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
            (f"{device}  {PROGRAMS[key]}", rate, figures.COLOURS[whose])
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
        return Bilingual(
            f"{place.en}, the finished program trains {ratio} times as many images per second as the beginner's. On a CPU "
            "the course uses one thread, so that numbers can be compared. The scale is logarithmic: each line is ten times the one before.",
            f"在{place.zh}上，完成版每秒訓練的影像張數是初學者版的 {ratio} 倍。"
            "本課程在 CPU 上只用一個執行緒，數字才能互相比較。橫軸採對數刻度，每條格線的數值都是前一條的十倍。",
        )

    figures.show_measured(
        "speeds",
        {"rates": found},
        draw,
        caption,
        Bilingual(
            "Bar chart: images per second of the beginner's and of the finished program.",
            "長條圖：初學者版與完成版程式每秒訓練的影像張數。",
        ),
        series_vary=True,
    )
