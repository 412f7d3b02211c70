"""The card below a traceback: after a cell that failed with an error the clinic knows.

The hook runs when the cell is over and its traceback is shown, so it can neither change nor delay that. It never
raises, gives up after a moment, and holds on to nothing: an error that is kept alive would keep alive the tensors of
every frame it passed through.
"""

from __future__ import annotations

import os
from typing import Any

SWITCH = "COURSE_CLINIC"  # this environment variable, set to "off", keeps the hook out of every notebook
_EVENT = "post_run_cell"


def _after_cell(result: Any) -> None:
    try:
        _show(result)
    except (Exception, KeyboardInterrupt):
        return  # the learner has the traceback; a fault of ours is not theirs


def _show(result: Any) -> None:
    error = result.error_in_exec or result.error_before_exec
    if error is None or isinstance(error, (KeyboardInterrupt, SystemExit, SyntaxError)):
        return
    from IPython.display import display

    from course_utils.clinic.cards import Explanation
    from course_utils.clinic.matching import LIMIT_SECONDS, diagnose, text_of

    finding = diagnose(text_of(error), seconds=LIMIT_SECONDS)
    if finding.match is not None:
        display(Explanation(finding, quote=finding.ranks > 1))


def _shell() -> Any:
    import sys

    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython

    return get_ipython()


def _ours(shell: Any) -> list[Any]:
    """Return the hooks of this kind that are installed, also those of an earlier load of this module."""
    name = (_after_cell.__module__, _after_cell.__qualname__)
    return [
        hook
        for hook in shell.events.callbacks.get(_EVENT, [])
        if (getattr(hook, "__module__", None), getattr(hook, "__qualname__", None)) == name
    ]


def install() -> bool:
    """Show a card below every error that the clinic knows, from the next cell on.

    Returns:
        Whether it is on: not outside IPython, nor where the variable ``COURSE_CLINIC`` is ``off``.
    """
    shell = _shell()
    if shell is None:
        return False
    remove()
    if os.environ.get(SWITCH, "").strip().lower() in ("off", "0", "no", "false"):
        return False
    shell.events.register(_EVENT, _after_cell)
    return True


def remove() -> None:
    """Show no more cards below errors."""
    shell = _shell()
    if shell is not None:
        for hook in _ours(shell):
            shell.events.unregister(_EVENT, hook)
