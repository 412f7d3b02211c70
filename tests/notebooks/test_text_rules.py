"""The rules for Chinese, for pairs, for markup and for calls: what they report, what they leave alone, what they fix."""

import ast
import csv
from collections.abc import Callable

from tabled import tabled

from tools.check.code import check_claims, check_nothing_is_lost, showing
from tools.check.markdown import check_links, check_markdown, fix_markdown
from tools.check.markup import check_markdown as check_markdown_markup
from tools.check.strings import check_python, check_toml
from tools.check.text import GLOSSARY, Findings, check_chinese, check_pair, fix_chinese, glossary


def rules(check: Callable[..., object], *given: object) -> list[str]:
    """Return the rules against which a check finds something."""
    findings = Findings()
    check(*given, findings)
    return [finding.rule for finding in findings]


def chinese(text: str) -> list[str]:
    return rules(check_chinese, text)


@tabled
def test_good_chinese(text: str) -> None:
    assert chinese(text) == []
    assert fix_chinese(text) == text


@tabled
def test_bad_chinese(text: str, rule: str) -> None:
    assert rule in chinese(text)


@tabled
def test_fixed_chinese(text: str, fixed: str) -> None:
    assert fix_chinese(text) == fixed
    assert fix_chinese(fixed) == fixed
    assert chinese(fixed) == []


@tabled
def test_pairs(english: str, chinese: str, rule: str | None) -> None:
    assert set(rules(check_pair, english, chinese)) == ({rule} if rule else set())


PAIR = '<div lang="en">\n\nA text.\n\n</div>\n<div lang="zh-Hant">\n\n一段文字。\n\n</div>'


@tabled
def test_markdown(source: str, found: list[str]) -> None:
    assert sorted({*rules(check_markdown, source.replace("{pair}", PAIR))}) == found


def test_fix_keeps_code() -> None:
    code = "```python\nx=1;y='用GPU算'\n```"
    source = f'<div lang="en">\nA text.\n</div>\n<div lang="zh-Hant">\n用GPU算。\n\n{code}\n</div>'
    fixed = fix_markdown(source)
    assert code in fixed and "用 GPU 算。" in fixed
    assert fix_markdown(fixed) == fixed
    assert rules(check_markdown, fixed) == []


def test_links(tmp_path) -> None:
    root = tmp_path / "course"
    (root / "notebooks").mkdir(parents=True)
    for file in (root / "a b.md", tmp_path / "outside.md"):
        file.touch()
    source = (
        "[1](../a%20b.md) [2](../a%20b.md#part) [3](#here) [4](https://x.y/z) `[5](no)` "
        '[6](missing.md) [7](../../outside.md) [8](C:/x) <a href="gone.html">9</a>'
    )
    findings = Findings()
    check_links(source, root / "notebooks", root, findings)
    dead = [finding.what.split()[0] for finding in findings]
    assert dead == ["missing.md", "../../outside.md", "C:/x", "gone.html"]


@tabled
def test_python(source: str, found: list[str]) -> None:
    assert rules(lambda findings: check_python(source, findings, "a.py")) == found


@tabled
def test_toml(source: str, found: list[str]) -> None:
    assert rules(lambda findings: check_toml(source, findings, "a.toml")) == found


def test_an_unknown_section_of_a_lessons_texts_is_found() -> None:
    source, place = "[claims.'1.1']\nen = 'Good.'\nzh = '很好。'", "notebooks/lesson_01/texts.toml"
    assert rules(lambda findings: check_toml(source, findings, place)) == ["section"]


def test_glossary() -> None:
    """The glossary holds against its own rules, and each term stands once."""
    with GLOSSARY.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len({row["en"] for row in rows}) == len(rows) == len(glossary()) > 60
    for row in rows:
        assert row["required"] in ("", "yes")
        assert [rule for rule in chinese(row["zh-Hant"]) if rule != "spacing"] == [], row["zh-Hant"]


# --- markup and calls -----------------------------------------------------------------------------------


@tabled
def test_harmless_markup_passes(source: str) -> None:
    assert rules(check_markdown_markup, source) == []


def test_which_functions_show_something_is_read_from_their_annotations() -> None:
    assert showing() >= {"Picture", "Bilingual", "console", "facts", "message", "nvidia_smi", "picture"}
    assert not showing() & set("check claim compare explore launch predict print setup show".split())


@tabled
def test_calls(source: str, found: list[str]) -> None:
    tree = ast.parse(source)
    assert rules(check_nothing_is_lost, tree) + rules(check_claims, tree) == found
