"""Simplified Chinese, made from the Traditional texts: the course's own terms, and OpenCC for everything else."""

import csv
import re
from collections.abc import Callable
from functools import cache
from importlib import resources

_BRACKET = re.compile("（.*）")
# Words that the glossary cannot tell apart: a row is 列 in Taiwan and 行 in China (a column 欄 and 列), and other words with
# 列 stay; after a number or a name, 筆 counts examples and 檔 is a file; 印 alone is to print,
# 依 alone is 按; 显存 has no Latin letters to set off.
_OTHER_WORDS = ("佇排系串並陣序令下改", "表入印在得", "出", "現", "不", "見", "的是")
_BY_CONTEXT = [
    (re.compile("(?<![{}])列(?![{}]|{}(?!{})|{}(?!{})|{})".format(*_OTHER_WORDS)), "行"),
    (re.compile(f" 筆(?![{'記電'}])"), " 條"),
    (re.compile(f" 檔(?!{'案'})"), " 檔案"),
    (re.compile("(?<!{})依(?![{}])".format("相", "序次然舊照據賴靠附循")), "按"),
    (re.compile("(?<![{}])印(?![{}])".format("列打腳重不", "出象刷章")), "印出"),
    (re.compile(r"(?<=[\u4e00-\u9fff]) " + "GPU 記憶體"), "GPU 記憶體"),
]


@cache
def _converter() -> Callable[[str], str]:
    try:
        from opencc import OpenCC
    except ImportError:
        raise ImportError("Simplified Chinese needs the package OpenCC: run `pip install opencc`.") from None
    return OpenCC("tw2sp").convert


@cache
def terms() -> dict[str, str]:
    """Return the terms of the glossary, with and without what stands in brackets, by their Traditional form."""
    source = resources.files("course_utils").joinpath("glossary.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(source.splitlines())
    pairs = [(row["zh-Hant"], row["zh-Hans"]) for row in rows if row["zh-Hans"]]
    bare = {_BRACKET.sub("", traditional): _BRACKET.sub("", simple) for traditional, simple in pairs}
    return bare | dict(pairs) | dict(zip("「」『』", "“”‘’", strict=True))


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile(f"({'|'.join(map(re.escape, sorted(terms(), key=len, reverse=True)))})")


def simplified(text: str) -> str:
    """Return a Traditional Chinese text (Taiwan) in Simplified characters and mainland terms.

    Raises:
        ImportError: OpenCC is not installed.
    """
    for word, instead in _BY_CONTEXT:
        text = word.sub(instead, text)
    parts = _pattern().split(text)
    return "".join(terms()[part] if at % 2 else _converter()(part) for at, part in enumerate(parts))
