"""Show an explanation below the traceback of a notebook cell that failed with a known error.

The hook runs after the traceback is shown. It never raises, stops after half a second, and keeps no reference to the
error, which would keep the tensors of all its frames alive.
"""

from __future__ import annotations

import os
import sys
from typing import Any

SWITCH = "COURSE_CLINIC"  # "off" in this environment variable turns the hook off in every notebook
LIMIT_SECONDS = 0.5  # no card is better than a late one
_EVENT = "post_run_cell"


def _after_cell(result: Any) -> None:
    try:
        _show(result)
    except (Exception, KeyboardInterrupt):
        return  # the user has the traceback; a fault of this hook must not add another one


def _show(result: Any) -> None:
    error = result.error_in_exec or result.error_before_exec
    if error is None or isinstance(error, (KeyboardInterrupt, SystemExit, SyntaxError)):
        return
    from IPython.display import display

    from torch_doctor.errors.card import Explanation
    from torch_doctor.errors.error_text import text_of
    from torch_doctor.errors.matching import find_cause

    finding = find_cause(text_of(error), seconds=LIMIT_SECONDS)
    if finding.match is not None:
        display(Explanation(finding, quote=finding.ranks > 1))


def _shell() -> Any:
    """Return the running IPython shell, or None. Does not import IPython."""
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return get_ipython() if get_ipython else None


def _installed(shell: Any) -> list[Any]:
    """Return the installed hooks of this module, also those from before a reload."""
    name = (_after_cell.__module__, _after_cell.__qualname__)
    return [
        hook
        for hook in shell.events.callbacks.get(_EVENT, [])
        if (getattr(hook, "__module__", None), getattr(hook, "__qualname__", None)) == name
    ]


def install() -> bool:
    """Show an explanation below every known error, starting with the next cell.

    Returns:
        Whether it is on; it is off outside of IPython, and if the environment variable ``COURSE_CLINIC`` is ``off``.
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
    """Show no more explanations below errors."""
    if shell := _shell():
        for hook in _installed(shell):
            shell.events.unregister(_EVENT, hook)
