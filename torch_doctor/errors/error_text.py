"""Write an exception as Python would print it, without running any code of it."""

from __future__ import annotations

import traceback

_MAX_CAUSES = 8
_MAX_FRAMES = 40


def _part(value: object) -> str | None:
    """Return the text of an exception's argument, or None for an object whose ``__str__`` could be slow or fail."""
    if isinstance(value, str):
        return str.__str__(value)
    return str(value) if type(value) in (int, float, bool) else None


def _message(error: BaseException) -> str:
    """Return the last line of the traceback of `error`, and its notes, without running its ``__str__``."""
    kind = type(error)
    module = "" if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}."
    name = module + kind.__qualname__
    parts = [part for part in map(_part, error.args) if part is not None]
    if isinstance(error, OSError) and len(parts) >= 2:
        text = f"[Errno {parts[0]}] {parts[1]}"
        if isinstance(getattr(error, "winerror", None), int):
            text = f"[WinError {error.winerror}] {parts[1]}"
    elif isinstance(error, KeyError) and parts:
        text = repr(parts[0])  # as Python shows it
    else:
        text = ", ".join(parts)
    notes = [note for note in getattr(error, "__notes__", None) or () if isinstance(note, str)]
    return "\n".join([f"{name}: {text}" if text else name, *notes])


def _frames(error: BaseException) -> list[str]:
    """Return the frames of the traceback of `error`: the first ones and the last ones if there are many."""
    steps = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    del steps[_MAX_FRAMES:-_MAX_FRAMES]
    return [f'  File "{code.co_filename}", line {line}, in {code.co_name}' for code, line in steps]


def text_of(error: BaseException) -> str:
    """Return what Python prints for `error` and its causes, without source lines.

    Runs no code of the error (its ``__str__`` may be slow or broken): only arguments that are texts or numbers are used.

    Args:
        error: The exception.
    """
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain and len(chain) < _MAX_CAUSES:
        chain.append(current)
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return "\n".join("\n".join([*_frames(error), _message(error)]) for error in reversed(chain))
