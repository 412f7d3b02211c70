"""What the tables, pictures and cards of this lesson say, in both languages: ``words.toml``."""

import tomllib
from pathlib import Path

from bilingual import Bilingual

_FILE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def words(part: str) -> dict[str, Bilingual]:
    """Return the texts of a part of the file, by name; a name that both languages share is written once."""
    found = _FILE[part].items()
    return {name: Bilingual(x, x) if isinstance(x, str) else Bilingual(**x) for name, x in found}
