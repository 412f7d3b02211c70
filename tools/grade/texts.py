"""What a grade's report says, in both languages."""

from bilingual import Bilingual
from tools.texts import texts

TEXTS: dict[str, dict[str, Bilingual]] = texts(__file__)


def visible(text: str, keep: str = "") -> str:
    """Return what a student wrote without power over a terminal: control and format characters become escapes.

    Args:
        text: For example the name of a file, which may hold line breaks and half characters, too.
        keep: Such characters that may stay.
    """
    return "".join(
        one if one.isprintable() or one in keep else one.encode("unicode_escape").decode() for one in text
    )
