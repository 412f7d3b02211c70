"""Where the host waits for a lesson's GPU, by line of code; PyTorch itself reports it (``set_sync_debug_mode``)."""

import linecache
import sys
import warnings
from collections import Counter
from typing import Any

import torch

from bilingual import Bilingual, Block
from course_utils.lesson_gpus import ready
from course_utils.tables import table

_NOT_YOURS = ("-packages", "practice_gpu", "<frozen", "warnings.py", __file__)


def _line() -> str:
    """Return the innermost line on the stack that belongs neither to PyTorch nor to this module."""
    frame = sys._getframe(1)
    while any(part in frame.f_code.co_filename for part in _NOT_YOURS) and frame.f_back:
        frame = frame.f_back
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip() or f"line {frame.f_lineno}"


class Waits:
    """Note every line inside of ``with Waits() as waits:`` in which the host waits for the lesson's GPU unasked.

    Attributes:
        lines: How often the host waited in each line, in order of appearance. What asks to wait (`synchronize`) does
            not count.
    """

    def __init__(self) -> None:
        self.lines: Counter[str] = Counter()

    def _note(self, message: Any, *_: Any, **__: Any) -> None:
        if "called a synchronizing" in str(message):
            self.lines[_line()] += 1

    def __enter__(self) -> "Waits":
        """Let PyTorch report waits from now on."""
        self._gpu = torch.get_device_module(ready()[0])
        self._caught = warnings.catch_warnings()
        self._caught.__enter__()
        warnings.simplefilter("always")
        warnings.showwarning = self._note
        self._before = self._gpu.get_sync_debug_mode()
        self._gpu.set_sync_debug_mode("warn")
        return self

    def __exit__(self, *error: object) -> None:
        """Let PyTorch do as before."""
        self._gpu.set_sync_debug_mode(self._before)
        self._caught.__exit__(*error)

    def table(self) -> Block:
        """Return the lines and how often the host waited in each, as a table."""
        if not self.lines:
            none = Bilingual("The host waits in no line.", "沒有任何一行會讓主機等。")
            return Block(f"<p>{none.html()}</p>", str(none))
        head = Bilingual("line in which the host waits", "讓主機等的程式碼"), Bilingual("times", "次數")
        return table(head, [(f"`{code}`", str(times)) for code, times in self.lines.items()])
