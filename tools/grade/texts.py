"""What a grade's report says, in both languages."""

from bilingual import Bilingual, texts

TEXTS: dict[str, dict[str, Bilingual]] = texts(__file__)


def visible(text: str, keep: str = "") -> str:
    """Return what a student wrote without power over a terminal: control characters, but for `keep`, are escaped."""
    return "".join(
        one if one.isprintable() or one in keep else one.encode("unicode_escape").decode() for one in text
    )
