"""The general hints: for an untouched stub, an answer that raises or never ends, one that returns the wrong kind of thing."""

import dis
import traceback
from typing import Any

from bilingual import Bilingual, texts

HINTS: dict[str, Bilingual] = texts(__file__)
WHAT: dict[str, Bilingual] = HINTS.pop("what")


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
    text, line = _safe_text(error).rstrip("."), _where(error)
    quoted = Bilingual(f": {text}", f"：{text}") if text else ""
    hint = HINTS["raised" if line else "cannot_be_used"]
    return hint.format(kind=type(error).__name__, quoted=quoted, line=line)


def _safe_text(error: BaseException) -> str:
    """Return the first line of the error's text, or "" if there is none or asking for it raises."""
    try:
        text = str(error).strip().splitlines()
    except BaseException:
        return ""
    return text[0][:200].replace("`", "'") if text else ""
