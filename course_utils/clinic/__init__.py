"""What does this error mean? ``explain(error_or_text)`` answers with a card; :func:`course_utils.setup` shows it by itself.

The knowledge is data (`catalogue`), found by `matching`, shown by `cards`, below tracebacks by `hook`, and on one page
for reading by `page`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from course_utils.clinic.cards import Explanation


def explain(error_or_text: BaseException | str | None = None) -> Explanation:
    """Explain an error: what it means, its usual cause, how to mend it, and how to tell it from look-alikes.

    Args:
        error_or_text: An exception, or a text that was copied from anywhere: a message, a whole traceback, or the
            mixed output of several processes, whose first cause is then looked for. Without it, the notebook's last
            error.

    Returns:
        A card, which a notebook shows and ``print`` writes as lines. An error that the clinic does not know gets a card
        that says so.

    Raises:
        TypeError: It is neither an exception nor a text.
        ValueError: There is nothing to explain.
    """
    from course_utils.clinic.cards import Explanation
    from course_utils.clinic.matching import diagnose, text_of

    if error_or_text is None:
        error_or_text = getattr(sys, "last_value", None)
        if error_or_text is None:
            raise ValueError("explain(): there was no error yet; give it an exception or a text.")
    if isinstance(error_or_text, BaseException):
        return Explanation(diagnose(text_of(error_or_text)))
    if not isinstance(error_or_text, str):
        raise TypeError(
            f"explain() takes an exception or a text, but got {type(error_or_text).__name__}. "
            "To explain what a cell showed, copy it into a string."
        )
    if not error_or_text.strip():
        raise ValueError("explain(): the text is empty; copy the last lines of the error into it.")
    return Explanation(diagnose(error_or_text))


def browse() -> None:
    """Show the catalogue with a search, the card of what is chosen, and a button that provokes the error."""
    from IPython.display import display

    from course_utils.clinic.browser import browser

    display(browser())
