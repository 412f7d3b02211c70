"""The general hints: for an untouched stub, an answer that raises or never ends, one that returns the wrong kind of thing."""

import dis
import re
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


def raised(error: BaseException) -> Bilingual:
    """Return the hint for an answer that raised `error`, or that cannot be called or examined."""
    try:
        text = (str(error).strip().splitlines() or [""])[0][:200].replace("`", "'").rstrip(".")
    except BaseException:  # asking for its text raises as well
        text = ""
    quoted = Bilingual(f": {text}", f"：{text}") if text else ""
    frames = traceback.extract_tb(error.__traceback__)
    # Those that the learner wrote: in a notebook's cell or an unnamed string.
    lines = [frame.lineno for frame in frames if re.search("ipykernel|^<(?!frozen)", frame.filename)]
    hint = HINTS["raised" if lines else "cannot_be_used"]
    return hint.format(kind=type(error).__name__, quoted=quoted, line=lines[-1] if lines else "")
