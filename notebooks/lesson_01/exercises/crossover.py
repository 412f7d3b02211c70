"""Exercise ``crossover(sizes, cpu, gpu) -> int | None``: from which size on the GPU stays ahead."""

from typing import Any

from bilingual import Bilingual, texts
from course_utils import figures
from course_utils.exercises import Mistake, Mistakes
from lesson_01.asked import asked

SIZES = [16, 64, 256, 1024, 4096]
CPU = [1.0, 8.0, 90.0, 900.0, 9000.0]
# Ahead at 64, behind at 256, ahead for good from 1024 on.
WAVERING = [5.0, 3.0, 300.0, 320.0, 400.0]
NEVER = [5.0, 20.0, 95.0, 950.0, 9100.0]
ALWAYS = [0.5, 6.0, 20.0, 50.0, 90.0]


def _found(answer: Any, gpu: list[float], key: str, right: int | None) -> Any:
    try:
        return answer([*SIZES], [*CPU], [*gpu])
    except (IndexError, ValueError, TypeError) as error:
        raise Mistake(key, kind=type(error).__name__, right=right) from None


def judge(answer: Any) -> Mistakes:
    """Compare with curves that cross twice, then where the GPU is always or never ahead."""
    got = answer([*SIZES], [*CPU], [*WAVERING])
    yield got is None, "returned_none"
    yield got == 3, "position"
    yield got == 64, "first_time"
    yield got == 4096, "largest"
    yield got == 256, "last_behind"
    yield got != 1024, "other", {"sizes": SIZES, "cpu": CPU, "gpu": WAVERING, "got": got}
    for key, gpu, right in (("always", ALWAYS, 16), ("never", NEVER, None)):
        got = _found(answer, gpu, f"{key}_raises", right)
        yield got != right, key, {"right": right, "got": got}


def show(answer: Any) -> figures.Picture:
    """Return a picture of the two curves, and where the answer sees the crossover."""
    got = asked(answer, [*SIZES], [*CPU], [*WAVERING])
    figure, axes = figures.new(height=2.8)
    axes.plot(SIZES, CPU, marker="o", color=figures.YOURS, label="CPU")
    axes.plot(SIZES, WAVERING, marker="s", color=figures.RECORDED, label="GPU")
    if isinstance(got, int) and 1 <= got <= 10_000:
        axes.axvline(got, color=figures.GREY, linestyle="--", label=Bilingual("your answer", "你的答案"))
    figures.logarithmic(axes.xaxis)
    figures.logarithmic(axes.yaxis)
    axes.set_xlabel(Bilingual("matrix size n", "矩陣大小 n"))
    axes.set_ylabel(Bilingual("time", "時間"))
    axes.legend()
    return figures.Picture(figure, **texts(__file__))
