"""The exercise of lesson 00. It is simple, because its purpose is to show how exercises work."""

from __future__ import annotations

from numbers import Real
from typing import Any

from bilingual import Bilingual, Block
from course_utils.exercises import NO_RETURN, Exercise, Wrong
from course_utils.tables import html_table
from course_utils.units import number

EXAMPLE = (1000, 3, 2.0)
OTHERS = ((1437, 1, 12.0), (1437, 10, 1.2), (60_000, 5, 7.0))


def right(images: int, epochs: int, seconds: float) -> float:
    """Return images per second."""
    return images * epochs / seconds


def _close(got: Any, expected: float) -> bool:
    return isinstance(got, Real) and abs(float(got) - expected) <= 1e-6 * expected


def examine_images_per_second(answer: Any) -> None:
    """Examine ``images_per_second(images, epochs, seconds) -> float``.

    Raises:
        Wrong: With a hint about the mistake.
    """
    got = answer(*EXAMPLE)
    if got is None:
        raise Wrong(**NO_RETURN)
    if isinstance(got, bool) or not isinstance(got, Real):
        raise Wrong(
            en=f"The answer should be a number, but yours is a `{type(got).__name__}`.",
            zh=f"答案應該是數字，你傳回的卻是 `{type(got).__name__}`。",
        )
    _recognize_mistake(got)
    for images, epochs, seconds in (EXAMPLE, *OTHERS):
        got, expected = answer(images, epochs, seconds), right(images, epochs, seconds)
        if not _close(got, expected):
            en = (
                f"{images:,} images, {epochs} times, in {seconds:g} seconds are {number(expected)} per second"
            )
            zh = f"{images:,} 張影像看了 {epochs} 遍，花了 {seconds:g} 秒，每秒應該是 {number(expected)} 張"
            if isinstance(got, Real) and float(got) == expected // 1:
                raise Wrong(
                    en=f"{en}, but yours is {got}: `//` rounds down. Divide with `/`.",
                    zh=f"{zh}，你算出來的卻是 {got}。`//` 會捨去小數，請改用 `/` 相除。",
                )
            raise Wrong(
                en=f"{en}, but yours is {got!r}. How many images does the network see in all?",
                zh=f"{zh}，你傳回的卻是 {got!r}。網路總共看了幾張影像？",
            )


def _recognize_mistake(got: Any) -> None:
    """Raise the hint for a typical wrong result `got` of the example, if it is one."""
    images, epochs, seconds = EXAMPLE
    if _close(got, seconds / (images * epochs)):
        raise Wrong(
            en="Those are seconds per image. Images per second is the other way round.",
            zh="這是每張影像花的秒數。要算每秒幾張，得反過來除。",
        )
    if _close(got, images / seconds):
        raise Wrong(
            en="That counts one epoch only, but the network sees every image once per epoch.",
            zh="這只算了一個訓練週期，但網路在每個訓練週期都會把所有影像看一遍。",
        )
    if _close(got, images / epochs / seconds):
        raise Wrong(
            en="More epochs mean more images, so `epochs` belongs to what is multiplied.",
            zh="訓練週期越多，看過的影像也越多，所以 `epochs` 要用乘的。",
        )
    if _close(got, images * epochs * seconds):
        raise Wrong(
            en="With this formula a slower training gets a larger number. Divide by the seconds.",
            zh="照這個算式，訓練越慢，數字反而越大。應該要除以秒數。",
        )


def show_images_per_second(answer: Any) -> Block:
    """Return a table of what the learner's function says about three trainings."""
    rows = [
        (f"{i:,}", str(e), f"{s:g}", number(answer(i, e, s)), number(right(i, e, s))) for i, e, s in OTHERS
    ]
    head = (
        Bilingual("images", "影像張數"),
        Bilingual("epochs", "訓練週期數"),
        Bilingual("seconds", "秒數"),
        Bilingual("yours", "你的答案"),
        Bilingual("right: images per second", "正解：每秒張數"),
    )
    return Block(html_table(rows, [text.html() for text in head]), "\n".join(", ".join(row) for row in rows))


EXERCISES = (
    Exercise(
        "images_per_second",
        Bilingual("how fast was it?", "有多快？"),
        examine_images_per_second,
        (
            Bilingual(
                "How many images does the network see in all, if it goes through the same ones several times?",
                "同樣的影像看了好幾遍，網路總共看了幾張？",
            ),
            Bilingual(
                "All images that it sees, divided by the seconds. The function has to `return` the result.",
                "用看過的影像總數除以秒數。別忘了用 `return` 傳回結果。",
            ),
            Bilingual(
                "`return images * … / seconds`: one name is missing.",
                "`return images * … / seconds`：`…` 的地方還少一個變數。",
            ),
        ),
        level="easy",
        show=show_images_per_second,
    ),
)
