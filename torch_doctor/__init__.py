"""Why does CUDA not work, why is it slow, why does it hang; and what does this error mean?

Three functions, for notebooks: :func:`doctor` runs a diagnosis, :func:`explain` explains an error message,
:func:`browse` shows all error messages that are known. ``python -m torch_doctor`` does the same in a terminal.
``torch_doctor.hook.install()`` shows the explanation below every traceback of a notebook.

Standard library only (``browse`` needs ipywidgets). Importing this package imports neither PyTorch nor IPython.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from torch_doctor.version import __version__

if TYPE_CHECKING:
    from torch_doctor.diagnosis.report import Report
    from torch_doctor.errors.card import Explanation

__all__ = ["__version__", "browse", "doctor", "explain"]


def doctor(question: str = "cuda", *, patience: float = 1.0, python: str | None = None) -> Report:
    """Find out why CUDA does not work here, why it is slow, or why several processes hang.

    Asks PyTorch, the driver, NVML and the system, each in a subprocess with a timeout. Changes nothing, writes
    nothing, and does not initialize CUDA in this process.

    Args:
        question: ``"cuda"`` (why is it not available?), ``"slow"`` (why is it slow?) or ``"hang"`` (why does training
            with several processes hang?).
        patience: Factor on all time limits; with 1 the answer comes within ten seconds (`slow`: 21).
        python: Another Python to examine: its file, or the folder of its environment. Nothing has to be installed
            there. Default: the Python of this process.

    Returns:
        A report, which a notebook shows as a card and ``print`` writes as text: the cause, how sure it is, the
        evidence, and what to do next.

    Raises:
        ValueError: `question` is none of the three, `patience` is not positive, or `python` cannot be examined.
    """
    from torch_doctor.diagnosis import QUESTIONS, this_process
    from torch_doctor.diagnosis.diagnose import diagnose
    from torch_doctor.diagnosis.other_python import environment_for, find
    from torch_doctor.diagnosis.report import Report
    from torch_doctor.diagnosis.run_probes import run_probes

    if question not in QUESTIONS:
        raise ValueError(f"question {question!r} is not known; ask one of {', '.join(QUESTIONS)}.")
    if not 0 < patience < float("inf"):
        raise ValueError(f"patience={patience!r}: it is a factor on the time limits; give a positive number.")
    examined = sys.executable if python is None else find(python)
    if examined == sys.executable:
        caller = {**this_process.state(), "command": this_process.command()}
    else:  # this process says nothing about the other Python, whose commands belong into a terminal, not into a cell
        caller = {"command": [*this_process.command(), "--python", examined], "examined": examined}
    found = run_probes(
        question, environment=environment_for(examined), caller=caller, patience=patience, python=examined
    )
    return Report(diagnose(found, question))


def explain(error_or_text: BaseException | str | None = None) -> Explanation:
    """Explain an error: what it means, its usual cause, how to fix it, and which similar errors there are.

    Args:
        error_or_text: An exception, or a text that was copied from anywhere: a message, a whole traceback, or the
            mixed output of several processes, of which the first cause is explained. Default: the last error of this
            notebook.

    Returns:
        An explanation, which a notebook shows as a card and ``print`` writes as text. If the error is not known, the
        card says so.

    Raises:
        TypeError: It is neither an exception nor a text.
        ValueError: There is nothing to explain.
    """
    from torch_doctor.errors.card import Explanation
    from torch_doctor.errors.error_text import text_of
    from torch_doctor.errors.matching import find_cause

    if error_or_text is None:
        error_or_text = getattr(sys, "last_value", None)
        if error_or_text is None:
            raise ValueError("explain(): there was no error yet; give it an exception or a text.")
    if isinstance(error_or_text, BaseException):
        return Explanation(find_cause(text_of(error_or_text)))
    if not isinstance(error_or_text, str):
        raise TypeError(
            f"explain() takes an exception or a text, but got {type(error_or_text).__name__}. "
            "To explain what a cell showed, copy it into a string."
        )
    if not error_or_text.strip():
        raise ValueError("explain(): the text is empty; copy the last lines of the error into it.")
    return Explanation(find_cause(error_or_text))


def browse() -> None:
    """Show all known errors in a notebook, with a search and a button that provokes the error. Needs ipywidgets."""
    from IPython.display import display

    from torch_doctor.errors.browser import browser

    display(browser())
