"""What a grade's report says, in both languages."""

import tomllib
from pathlib import Path

from torch_doctor.bilingual import Bilingual

TEXTS: dict[str, dict[str, Bilingual]] = {
    kind: {name: Bilingual(**text) for name, text in texts.items()}
    for kind, texts in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
}
