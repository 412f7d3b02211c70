"""The general hints: for an untouched stub, an answer that raises, and one that never ends."""

from __future__ import annotations

import dis
import traceback
from typing import Any

from bilingual import Bilingual

SOLVED = Bilingual("Solved. Well done!", "答對了，做得好！")
NOT_YET = Bilingual(
    "Not yet: replace the `...` with your answer and run the cell again.",
    "還沒完成：把 `...` 換成你的答案，再執行一次。",
)
_ENDLESS = "Is there a loop that never ends, or a wait for something that never comes?"
_ENDLESS_ZH = "是不是有永遠不會結束的迴圈，或是在等一件不會發生的事？"
TOO_LONG = Bilingual(
    f"Your answer was still running after {{seconds:g}} seconds and was stopped. {_ENDLESS}",
    f"你的答案執行了 {{seconds:g}} 秒還沒結束，已經中止。{_ENDLESS_ZH}",
)
INTERRUPTED = Bilingual(
    f"You stopped your answer while it was running. {_ENDLESS}",
    f"你在答案執行完之前，就把它中止了。{_ENDLESS_ZH}",
)
RECURSION = Bilingual(
    "Your function calls itself without end (`RecursionError`). Which input should it answer without calling itself?",
    "你的函式不斷呼叫自己，停不下來（`RecursionError`）。遇到哪一種輸入時，它應該直接傳回結果，不再呼叫自己？",
)


def is_stub(answer: Any) -> bool:
    """Return whether `answer` is still what the lesson supplied: ``...``, ``None``, or a function without a body."""
    if answer is None or answer is ...:
        return True
    code = getattr(answer, "__code__", None)
    if code is None:
        return False
    # A body of `...` does one thing, returning the constant None; `return True` compiles to the same bytes, but with
    # another constant, and `best = None` only begins in the same way.
    steps = [(s.opname, s.argval) for s in dis.get_instructions(code) if s.opname not in ("RESUME", "NOP")]
    return steps in ([("LOAD_CONST", None), ("RETURN_VALUE", None)], [("RETURN_CONST", None)])


def _where(error: BaseException) -> str:
    """Return the line of the deepest frame that the learner wrote (a notebook cell or an unnamed string), or ""."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if "ipykernel" in frame.filename
        or (frame.filename.startswith("<") and not frame.filename.startswith("<frozen"))
    ]
    return str(lines[-1]) if lines else ""


def raised(error: BaseException) -> Bilingual:
    """Return the hint for an answer that raised `error`, or that cannot be called or examined."""
    kind, text, line = type(error).__name__, _safe_text(error), _where(error)
    quoted_en, quoted_zh = (f": {text.rstrip('.')}", f"：{text.rstrip('.')}") if text else ("", "")
    if not line:  # not in the learner's code: it cannot be called, or what it returned cannot be examined
        return Bilingual(
            f"The check cannot use your answer (`{kind}`{quoted_en}). Does it take what the exercise gives, and return "
            "what the exercise asks for?",
            f"無法檢查你的答案（`{kind}`{quoted_zh}）。它接收的引數和傳回的結果，都符合題目的要求嗎？",
        )
    return Bilingual(
        f"Your answer raised `{kind}` in line {line}{quoted_en}. Read the message first; then try your answer by hand on "
        "one small input, outside `check`.",
        f"你的答案執行到第 {line} 行時引發 `{kind}`{quoted_zh}。請先讀這則訊息，再用一筆簡單的輸入，不經過 `check`，直接執行你的答案試試。",
    )


def _safe_text(error: BaseException) -> str:
    """Return the first line of the error's text, or "" if there is none or asking for it raises."""
    try:
        text = str(error).strip().splitlines()
    except BaseException:
        return ""
    return text[0][:200].replace("`", "'") if text else ""
