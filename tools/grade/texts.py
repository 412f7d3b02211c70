"""What a grade's report says, in both languages."""

import tomllib
from pathlib import Path

from bilingual import Bilingual

TEXTS: dict[str, dict[str, Bilingual]] = {
    kind: {name: Bilingual(**text) for name, text in texts.items()}
    for kind, texts in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
}


def visible(text: str, keep: str = "") -> str:
    """Return what a student wrote without power over a terminal: control and format characters become escapes.

    Args:
        text: For example the name of a file, which may hold line breaks and half characters, too.
        keep: Such characters that may stay.
    """
    return "".join(
        one if one.isprintable() or one in keep else one.encode("unicode_escape").decode() for one in text
    )
