"""Published references: the file's form, and that each value stands in the words quoted from its source."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from html_nesting import assert_nested
from lesson_cells import cells
from tabled import tabled

from bilingual import Bilingual
from course_utils import published
from course_utils.lesson import all_texts
from course_utils.published import Reference, beside, references
from tools.check.text import Findings, check_pair

FILE = Path(published.__file__).with_name("published.toml")
DATA: dict[str, Any] = tomllib.loads(FILE.read_text("utf-8"))
FIELDS = {"url", "date", "quote", "read"}
# By a room or a cell.
BY_NAME = set(
    "speeds scoreboard journey data-parallel-nvlink scaling-resnet scaling-horovod scaling-large-batch scaling-ddp "
    "all-reduce-machines".split()
)
PAIRS = ("value", "hardware", "source")
TEXTS = {f"{name}{tag}" for name in PAIRS for tag in ("", "_en", "_zh")}


def known_keys() -> set[str]:
    """Return the claims' ids and the figures' names of all lessons."""
    lessons = {cell.lesson for cell in cells() if cell.lesson != "09"}
    texts = [all_texts(number) for number in lessons]
    drawn = {name for cell in cells() for name in re.findall(r'figures\.bars\(\s*"(\w+)"', cell.text)}
    return {key for text in texts for kind in ("claim", "figure") for key in text[kind]} | drawn


def problems(entry: dict[str, str]) -> list[str]:
    """Return what is wrong with a reference, its source's fields included."""
    found = [f"{field} is missing" for field in FIELDS if not entry.get(field, "").strip()]
    found += [f"{field} is not known" for field in set(entry) - FIELDS - TEXTS - {"from"}]
    for name in PAIRS:
        pair = [entry.get(f"{name}_{tag}", entry.get(name, "")) for tag in ("en", "zh")]
        found += [f"{name} is missing"] if not all(pair) else []
        if name in entry and not entry[name].isascii():
            found.append(f"{name} has words, which need both languages")
    if not re.fullmatch(r"https://[\w.-]+/[^\s\"<>]*", entry.get("url", "")):
        found.append("url is no plain https address")
    if re.search(r"github\.com/[^/]+/[^/]+/(blob|tree)/(?![0-9a-f]{40}/)", entry.get("url", "")):
        found.append("url names a branch, which changes; name a commit")
    if not re.fullmatch(r"(read )?20\d\d(-[01]\d(-[0-3]\d)?)?", entry.get("date", "")):
        found.append("date is none")
    english = entry.get("value_en", entry.get("value", ""))
    chinese = entry.get("value_zh", entry.get("value", ""))
    if not set(numbers(chinese)) <= set(numbers(english)) | {10.0, 80.0}:
        found.append("the Chinese value has other numbers")
    found += [
        f"{shown} does not stand in the quote" for shown in measured_in(english) if not stands(shown, entry)
    ]
    return found


def numbers(text: str) -> list[float]:
    """Return the numbers of a text: ``1,727 of 1,935`` → 1727, 1935."""
    return [float(found.replace(",", "")) for found in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]


def measured_in(value: str) -> list[str]:
    """Return the measured numbers of a value as they are written; not what is derived from them, in brackets, nor sizes."""
    for other in (r"\([^()]*\)", r"n = [\d,]+", r"\b4 [kM]B", r"[A-Za-z]+[- ]?\d+(?![\d.,]*\w)"):
        value = re.sub(other, "", value)
    return re.findall(r"\d[\d,]*(?:\.\d+)?", value)


def stands(shown: str, entry: dict[str, str]) -> bool:
    """Return whether the quote has `shown`, with more digits perhaps, and in another unit (1000 times as much)."""
    value, digits = float(shown.replace(",", "")), len(shown.replace(",", "").replace(".", "").lstrip("0"))
    quoted = [given / unit for given in numbers(entry.get("quote", "")) for unit in (1, 1e3, 1e-3)]
    return any(f"{value:.{digits - 1}e}" == f"{given:.{digits - 1}e}" for given in quoted)


@pytest.mark.parametrize("key", DATA["reference"])
def test_a_reference_is_complete_and_the_notebook_checks_find_nothing_in_it(key: str) -> None:
    own = DATA["reference"][key]
    assert problems(DATA["source"][own["from"]] | own) == []
    findings, shown = Findings(), references()[key].text()
    check_pair(shown.en, shown.zh, findings)
    assert not findings


def test_a_reference_belongs_to_a_claim_or_a_figure_and_every_source_is_used() -> None:
    assert set(DATA["reference"]) - BY_NAME <= known_keys()
    assert set(DATA["source"]) == {entry["from"] for entry in DATA["reference"].values()}
    rooms = [path.read_text("utf-8") for path in (FILE.parents[1] / "notebooks").rglob("*.py")]
    asked = [*rooms, *(cell.text for cell in cells())]
    assert [key for key in BY_NAME if not any(f'"{key}"' in text for text in asked)] == [], (
        "nothing asks for it"
    )


GOOD = {
    "value_en": "12.5 of 20 GB/s", "value_zh": "12.5 GB/s，規格 20", "hardware": "T4", "source": "A", "date": "2024-05",
    "url": "https://a.b/c", "quote": "we saw 12,500 of 20,000 MB/s", "read": "read there",
}  # fmt: skip


@tabled
def test_what_is_wrong_is_noticed(change: dict[str, str], problem: str | None) -> None:
    assert problems(GOOD | change) == ([problem] if problem else [])


@pytest.mark.parametrize("key", ["mixed", "3.8", "3.8-small", "3.8-accuracy"])
def test_what_stands_beside_autocast_was_measured_with_autocast(key: str) -> None:
    """Not with weights in 16 bits, which halve the memory; autocast does not."""
    assert re.search(r"mixed precision|AMP", DATA["reference"][key]["quote"], re.IGNORECASE)


def test_the_link_stands_on_the_sources_name_only() -> None:
    one = Bilingual("A & B 3 times", "A & B 3 倍")
    source = Bilingual("A & B", "A & B")
    shown = Reference(one, one, source, "https://a.b/?c&d", "read 2024-05", "3").html()
    assert_nested(shown)
    assert "; A &amp; B 3 times (<a href=" in shown and ">A &amp; B</a>, read 2024-05)" in shown
    assert ">A &amp; B</a>，2024-05 查閱）" in shown and shown.count("<a ") == 2


def test_a_recording_stands_before_the_reference_and_empties_nothing() -> None:
    with_one, without = (beside("3.3", said) for said in (Bilingual("here", "這裡"), None))
    assert re.sub(">(here|這裡)<", "><", with_one) == without and "0.016 s" in without
    assert beside("no such key", None) == without.split('<span class="course-published">')[0]
