"""The doctor: why is CUDA not available, why is it slow, why does training with several processes hang?

``doctor()`` in a notebook, ``python -m course_utils.doctor`` in a terminal. It asks torch, the driver, NVML and the
system, each in a process of its own with a time limit, and says which cause the answers speak for, how sure that is,
and what to do next. It changes and writes nothing, and starts no CUDA in the process that asks.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from course_utils.doctor.report import Report


def doctor(question: str = "cuda", *, patience: float = 1.0) -> Report:
    """Return what is wrong with CUDA here, as a report that a notebook shows and ``print`` prints.

    Args:
        question: ``"cuda"`` (why is it not available?), ``"slow"`` (why is it slow?) or ``"hang"`` (why does training
            with several processes hang?).
        patience: Factor on all time limits; with 1 the answer comes within ten seconds.

    Raises:
        ValueError: `question` is none of the three, or `patience` is not positive.
    """
    from course_utils.doctor.ask import examine
    from course_utils.doctor.caller import state
    from course_utils.doctor.diagnose import QUESTIONS, diagnose
    from course_utils.doctor.report import Report

    if question not in QUESTIONS:
        raise ValueError(f"question {question!r} is not known; ask one of {', '.join(QUESTIONS)}.")
    if not patience > 0:
        raise ValueError(f"patience={patience!r}: it is a factor on the time limits; give a positive number.")
    return Report(diagnose(examine(question, caller=state(), patience=patience), question))


class _Doctor(ModuleType):
    """This module, which can be called: its name is both the command line's and the function's."""

    def __call__(self, *arguments: Any, **named: Any) -> Report:
        return doctor(*arguments, **named)


sys.modules[__name__].__class__ = _Doctor
