"""Make the font subset that gives figures their Chinese glyphs: ``python -m tools.font SOURCE``.

SOURCE is Noto Sans CJK (SIL Open Font License 1.1), for example Debian's package fonts-noto-cjk:
/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc. The subset holds every Chinese character that the course shows,
also in its Simplified form, so that any of its words can become a label.
"""

import re
import sys
from pathlib import Path

from course_utils.simplified import simplified
from tools.notebook_file import ROOT

TARGET = ROOT / "course_utils" / "figures" / "fonts" / "NotoSansCJKtc-subset.otf"
SOURCES = (
    *(f"{folder}/**/*.{kind}" for folder in ("course_utils", "notebooks") for kind in ("py", "toml")),
    "notebooks/*.ipynb",
    "course_utils/glossary.csv",
)
NEVER_DRAWN = ("notes.toml", "comments.toml")
TC_IN_COLLECTION = 3  # Noto's collections hold JP, KR, SC, TC, HK in this order


def is_cjk(character: str) -> bool:
    """Return whether `character` is a Chinese character, full-width form or CJK punctuation mark."""
    return 0x3000 <= ord(character) <= 0x9FFF or 0xFF00 <= ord(character) <= 0xFFEF


def characters(root: Path = ROOT) -> set[str]:
    """Return every CJK character in the course's texts, and in their Simplified form."""
    paths = (path for pattern in SOURCES for path in root.glob(pattern) if path.name not in NEVER_DRAWN)
    texts = (path.read_text(encoding="utf-8") for path in paths)
    pieces = {piece for text in texts for piece in re.findall(r"[^\x00-\x7f]+", text)}
    return {character for piece in pieces for character in piece + simplified(piece) if is_cjk(character)}


def make(source: Path, target: Path = TARGET) -> int:
    """Write the subset of `source` to `target`; return the number of characters in it."""
    from fontTools import subset
    from fontTools.ttLib import TTFont

    number = TC_IN_COLLECTION if source.suffix == ".ttc" else -1
    font = TTFont(source, fontNumber=number)
    options = subset.Options(layout_features=[], name_IDs=["*"], notdef_outline=True, hinting=False)
    subsetter = subset.Subsetter(options)
    wanted = characters()
    subsetter.populate(unicodes=[ord(c) for c in wanted])
    subsetter.subset(font)
    target.parent.mkdir(parents=True, exist_ok=True)
    font.save(target)
    return len(wanted)


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_file():
        raise SystemExit(__doc__)
    print(
        f"{make(Path(sys.argv[1]))} characters, {TARGET.stat().st_size / 1000:.0f} kB: {TARGET.relative_to(ROOT)}"
    )
