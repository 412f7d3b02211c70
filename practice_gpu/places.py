"""Which line of the user's code asked for something."""

import contextlib
import linecache
import os
import sys
import threading
from types import CodeType
from typing import NamedTuple

import torch

_INSIDE = tuple(os.path.dirname(module.__file__) + os.sep for module in (torch, sys.modules["practice_gpu"]))
_PLUMBING = {contextlib.__file__, threading.__file__}
_users: dict[CodeType, bool] = {}


class Place(NamedTuple):
    """A line of code."""

    file: str
    line: int

    def __str__(self) -> str:
        """Name the file, the line and its text."""
        text = linecache.getline(self.file, self.line).strip()
        return f"{os.path.basename(self.file)}:{self.line}" + (f" ({text})" if text else "")


def users_line() -> Place:
    """Return the innermost line on the stack that is neither PyTorch's nor practice_gpu's."""
    frame = outermost = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        user = _users.get(code)
        if user is None:
            file = code.co_filename
            user = not (file.startswith((*_INSIDE, "<frozen")) or file in _PLUMBING)
            _users[code] = user
        if user:
            return Place(code.co_filename, frame.f_lineno)
        outermost, frame = frame, frame.f_back
    return Place(outermost.f_code.co_filename, outermost.f_lineno)
