"""Exercise: split windows into training and test without a row that is forecast in both."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bilingual import Bilingual, Block
from course_utils import facts
from course_utils.exercises import NO_RETURN, Exercise, Wrong

CASES = ((1000, 24), (600, 1), (2000, 48))


def numbers(part: Any) -> list[int]:
    """Return the numbers of windows in a range, list, tensor or array."""
    part = part.tolist() if hasattr(part, "tolist") else part
    if not isinstance(part, Iterable) or isinstance(part, str | bytes | dict):
        raise TypeError
    found = [number for number, _ in zip(part, range(10_000), strict=False)]
    if not all(type(number) is int for number in found):
        raise TypeError
    return found


def both(train: list[int], test: list[int], ahead: int) -> int:
    """Return how many rows are forecast in both parts."""
    rows = [{start + step for start in part for step in range(ahead)} for part in (train, test)]
    return len(rows[0] & rows[1])


def examine(answer: Any) -> None:
    """Examine ``split(windows, ahead) -> (train, test)``."""
    for windows, ahead in CASES:
        _judge(answer(windows, ahead), windows, ahead)


def _judge(got: Any, windows: int, ahead: int) -> None:
    """Raise the hint for two parts that are not separate, or not in order of time."""
    if got is None:
        raise Wrong(**NO_RETURN)
    try:
        train, test = map(numbers, got)
    except (TypeError, ValueError):
        raise Wrong(
            en="Return two collections of whole numbers: `return train, test`, for instance two ranges.",
            zh="請傳回兩組整數：`return train, test`，例如兩個 range。",
        ) from None
    where = Bilingual(f"{windows} windows, {ahead} ahead", f"{windows} 個視窗，預測 {ahead} 步")
    if set(train + test) - set(range(windows)):
        raise Wrong(
            en=f"{where.en}: windows have the numbers 0 to {windows - 1}. You return others, too.",
            zh=f"{where.zh}：視窗的編號是 0 到 {windows - 1}，你還傳回了其他編號。",
        )
    if len(train) < 0.7 * windows or len(test) < 0.1 * windows or len(train) > 0.9 * windows:
        raise Wrong(
            en=f"{where.en}: {len(train)} to train on, {len(test)} to test on. About 80 and 20 % are wanted.",
            zh=f"{where.zh}：訓練 {len(train)} 個、測試 {len(test)} 個。應該大約是 80 % 和 20 %。",
        )
    shared = both(train, test, ahead)
    if max(train) > min(test):
        if shared:
            raise Wrong(
                en=f"{where.en}: {shared} rows are forecast in training and in the test. Neighbouring windows share rows, so do not draw them at random.",
                zh=f"{where.zh}：有 {shared} 列在訓練和測試時都要預測。相鄰的視窗有共用的列，所以不能隨機抽取。",
            )
        raise Wrong(
            en=f"{where.en}: some windows of the test come before windows of the training. A forecast is tested on what comes later.",
            zh=f"{where.zh}：有些測試用的視窗比訓練用的早。預測做得好不好，要用之後的資料來測試。",
        )
    if shared:
        raise Wrong(
            en=f"{where.en}: {shared} rows are forecast in both parts: the last windows for training reach into the test. Leave out some between the two.",
            zh=f"{where.zh}：有 {shared} 列兩邊都要預測，因為最後幾個訓練視窗伸進了測試的範圍。中間要空出一些視窗。",
        )
    if min(test) - max(train) > 2 * ahead:
        raise Wrong(
            en=f"{where.en}: more windows than needed are lost between the parts. Which is the first that shares no row with the last one trained on?",
            zh=f"{where.zh}：訓練和測試之間空出的視窗太多了。從哪一個視窗開始，要預測的列就不再和最後一個訓練視窗重複？",
        )


def shown(answer: Any) -> Block:
    """Return what the parts have in common."""
    train, test = map(numbers, answer(1000, 24))
    return facts(
        rows={
            Bilingual("windows to train on, of 1000", "1000 個視窗裡用來訓練的"): len(train),
            Bilingual("windows to test on", "用來測試的視窗"): len(test),
            Bilingual("rows forecast in both", "兩邊都預測的列"): both(train, test, 24),
        }
    )


EXERCISE = Exercise(
    "split",
    Bilingual("split in order of time", "依時間順序切分"),
    examine,
    (
        Bilingual(
            "Train on the first windows, test on the last: `windows * 8 // 10` is where the first part ends.",
            "用前面的視窗訓練，用後面的測試：第一部分在 `windows * 8 // 10` 結束。",
        ),
        Bilingual(
            "Window i forecasts the rows i to i + ahead − 1. Which window is the first to forecast only rows that the last one trained on does not?",
            "視窗 i 預測第 i 到 i + ahead − 1 列。從哪一個視窗開始，預測的列和最後一個訓練視窗完全不重複？",
        ),
    ),
    level="medium",
    show=shown,
)
WRONG = [
    (
        "def split(windows, ahead):\n    mixed = torch.randperm(windows)\n    return mixed[: windows * 8 // 10], mixed[windows * 8 // 10 :]",
        "do not draw them at random",
        "不能隨機抽取",
    ),
    ("def split(windows, ahead):\n    return range(windows * 8 // 10), range(windows * 8 // 10, windows)", "Leave out some", "中間要空出"),
    (
        "def split(windows, ahead):\n    return range(windows * 2 // 10 + ahead, windows), range(windows * 2 // 10)",
        "tested on what comes later",
        "之後的資料",
    ),
    (
        "def split(windows, ahead):\n    end = windows * 8 // 10\n    return range(end + ahead), range(end + ahead + ahead, windows + ahead)",
        "You return others",
        "其他編號",
    ),
    ("def split(windows, ahead):\n    return windows * 8 // 10, windows * 2 // 10", "two collections", "兩組整數"),
    ("def split(windows, ahead):\n    return range(windows // 2), range(windows // 2 + ahead, windows)", "About 80 and 20", "80 % 和 20 %"),
    ("def split(windows, ahead):\n    print(range(windows * 8 // 10))", "is there a `return`", "有寫 `return` 嗎"),
    ("def split(windows, ahead):\n    end = windows * 8 // 10\n    return range(end), range(end + 3 * ahead, windows)", "more windows than needed", "空出的視窗太多"),
]  # fmt: skip
