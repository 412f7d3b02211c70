"""The rules for Chinese, for pairs, for markup and for calls: what they report, what they leave alone, what they fix."""

import ast
import csv
from collections.abc import Callable

import pytest

from tools.check.code import check_claims, check_nothing_is_lost, showing
from tools.check.markdown import check_links, check_markdown, fix_markdown
from tools.check.markup import check_markdown as check_markdown_markup
from tools.check.strings import check_python, check_toml
from tools.check.text import GLOSSARY, Findings, check_chinese, check_pair, fix_chinese, glossary

GOOD = [
    "張量（tensor）在 GPU 上，很快。",
    "形狀是 (3, 4)，也可以寫成 (N, C)。",
    "呼叫 `.to`，然後用 `a,b` 相加。",
    "用 **GPU** 加速，比率 3:1，版本 2.6 以上。",
    "見[連結](http://x.y/a,b)處；佔 50% 的時間。",
    "1. 第一項",
    "共 $x,y$ 個；`x`、`y` 與 `z`。",
    "參數組、內存放的東西、第 ⟨GPU,很快⟩ 個。",
    '量到 <span class="measured">12,x</span>，很好。',
    "網址是 https://pytorch.org/docs，請看。",
    "<p>系統</p><p>GPU</p><table><tbody><tr><td>系統</td><td><code>PCI</code></td></tr></tbody></table>",
]
BAD = {
    "張量在 GPU 上,很快。": "punctuation",
    "逗號,GPU 很快。": "punctuation",
    "大小 (tensor) 是": "punctuation",
    "大小（tensor)是": "punctuation",
    "這是(中文)。": "punctuation",
    "很好.": "punctuation",
    "然後 ... 結束": "punctuation",
    '他說"好"。': "punctuation",
    "這是“引號”。": "punctuation",
    "ＧＰＵ 很快。": "punctuation",
    "在GPU 上": "spacing",
    "在 GPU上": "spacing",
    "呼叫`.to`": "spacing",
    "用**GPU**加速": "spacing",
    "<strong>GPU</strong>很快": "spacing",
    "<p>在 <b>GPU</b>上</p>": "spacing",
    "GPU ，很快": "spacing",
    "顯示于屏幕。": "glossary",
    "默認值": "glossary",
    "數據平行": "glossary",
    "线程": "simplified",
    "以后": "simplified",
}


def rules(check: Callable[..., object], *given: object) -> list[str]:
    """Return the rules against which a check finds something."""
    findings = Findings()
    check(*given, findings)
    return [finding.rule for finding in findings]


def chinese(text: str) -> list[str]:
    return rules(check_chinese, text)


@pytest.mark.parametrize("text", GOOD)
def test_good_chinese(text: str) -> None:
    assert chinese(text) == []
    assert fix_chinese(text) == text


@pytest.mark.parametrize("text, rule", BAD.items())
def test_bad_chinese(text: str, rule: str) -> None:
    assert rule in chinese(text)


@pytest.mark.parametrize(
    "text, fixed",
    [
        ("在GPU上", "在 GPU 上"),
        ("用**GPU**加速", "用 **GPU** 加速"),
        ("是<b>GPU</b>的", "是 <b>GPU</b> 的"),
        ("呼叫`a中b`後", "呼叫 `a中b` 後"),
        ("GPU ，很快", "GPU，很快"),
    ],
)
def test_fixed_chinese(text: str, fixed: str) -> None:
    assert fix_chinese(text) == fixed
    assert fix_chinese(fixed) == fixed
    assert chinese(fixed) == []


@pytest.mark.parametrize(
    "english, chinese, rule",
    [
        ("A good sentence.", "一個好句子。", None),
        ("GPU", "GPU", None),
        ("12 GB/s", "12 GB/s", None),
        ("A good sentence.", "A good sentence.", "translation"),
        ("A good sentence.", "<p> </p>", "translation"),
        ("  ", "一個好句子。", "translation"),
        ("A long sentence. " * 10, "短句。", "translation"),
        ("Short.", "很長的句子，說了很多英文沒有說的事情。" * 4, "translation"),
        ("A 張量.", "一個張量。", "language"),
        ("Call it 中文.", "叫它中文。", None),
        ("The bandwidth is low.", "速度很低。", "glossary"),
        ("The bandwidth is low.", "頻寬很低。", None),
        ("Use `bandwidth`.", "用 `bandwidth`。", None),
        ("Bold.", "**粗體（bold）**是", "bold"),
    ],
)
def test_pairs(english: str, chinese: str, rule: str | None) -> None:
    assert set(rules(check_pair, english, chinese)) == ({rule} if rule else set())


PAIR = '<div lang="en">\n\nA text.\n\n</div>\n<div lang="zh-Hant">\n\n一段文字。\n\n</div>'


@pytest.mark.parametrize(
    "source, found",
    [
        (PAIR, set()),
        ("## 1.1 A title · 標題\n\n" + PAIR, set()),
        (PAIR + "\n\n```python\n# <div> and 中文 in code, a, b\n```\n", set()),
        ("| a | b |\n|---|---|\n| `x` | <span lang=\"en\">word</span><span lang=\"zh-Hant\">詞</span> |", set()),
        (f'<details><summary><span lang="en">More</span><span lang="zh-Hant">更多</span></summary>\n\n{PAIR}\n\n</details>', set()),
        ("A title\n=====\n\n" + PAIR, {"heading", "language"} - {"language"}),
        (PAIR.replace("\n<div lang=\"zh", "\nx\n<div lang=\"zh"), {"language", "blank lines"}),
        (PAIR + PAIR.replace("en", "fr"), {"language", "translation"}),
        ('<div lang="zh-Hant">\n\n文字。\n\n</div>\n<div lang="en">\n\nText.\n\n</div>', {"translation"}),
        ("<details>\n" + PAIR + "\n</details>", {"blank lines"}),
        ('<p lang="en">A <span lang="en">b</span></p><p lang="zh-Hant">一</p>', {"language"}),
    ],
)  # fmt: skip
def test_markdown(source: str, found: set[str]) -> None:
    assert set(rules(check_markdown, source)) == found


def test_fix_keeps_code() -> None:
    code = "```python\nx=1;y='用GPU算'\n```"
    source = f'<div lang="en">\nA text.\n</div>\n<div lang="zh-Hant">\n用GPU算。\n\n{code}\n</div>'
    fixed = fix_markdown(source)
    assert code in fixed and "用 GPU 算。" in fixed
    assert fix_markdown(fixed) == fixed
    assert rules(check_markdown, fixed) == []


def test_links(tmp_path) -> None:
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "a b.md").write_text("", encoding="utf-8")
    source = (
        "[1](../a%20b.md) [2](../a%20b.md#part) [3](#here) [4](https://x.y/z) `[5](no)` "
        '[6](missing.md) [7](../../outside.md) [8](C:/x) <a href="gone.html">9</a>'
    )
    findings = Findings()
    check_links(source, tmp_path / "notebooks", tmp_path, findings)
    assert [finding.what.split()[0] for finding in findings] == [
        "missing.md", "../../outside.md", "C:/x", "gone.html",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "source, found",
    [
        ("Bilingual(en='Good.', zh='很好。')", []),
        ("Bilingual(en=f'{n} pieces', zh=f'{n} 個')", []),
        ("Bilingual('A tensor', '張量')", []),
        ("x = {'en': 'A good one', 'zh': 'A good one'}", ["translation"]),
        ("Bilingual(en='Good.')", ["translation"]),
        ("Bilingual(zh='很好。')", ["translation"]),
        ("Bilingual(en='Good.', zh='很好,對。')", ["punctuation"]),
        ("Bilingual(en='Good' + ' one.', zh='用' + 'GPU 算。')", ["spacing"]),
        ("Bilingual('A tensor', '在內存')", ["glossary", "glossary"]),
        ("Bilingual(en='A *good* one.', zh='**很** `*` 好。')", ["italics"]),
        ("why(why_en='Yes.')", ["translation"]),
        ("print('用GPU 算')", ["spacing"]),
        ("'''A docstring: 用GPU 算'''", []),
    ],
)
def test_python(source: str, found: list[str]) -> None:
    assert rules(lambda findings: check_python(source, findings, "a.py")) == found


@pytest.mark.parametrize(
    "source, found",
    [
        ("[a]\nen = 'Good.'\nzh = '很好。'", []),
        ("[a]\nen = 'Good.'", ["translation"]),
        ("[a]\nen = 'A good one.'\nzh = '一個（*good*）。'", ["italics"]),
        ("[[a.b]]\nwhy_en = 'Good.'\nwhy_zh = '好,對。'", ["punctuation"]),
        ("[a]\nen = ['One.', 'Two.']\nzh = ['一。', '用GPU。']", ["spacing"]),
        ("[a]\nen = ['One.', 'Two.']\nzh = ['一。']", ["translation"]),
        ("[a]\nname = '張量'", ["translation"]),
    ],
)
def test_toml(source: str, found: list[str]) -> None:
    assert rules(lambda findings: check_toml(source, findings, "a.toml")) == found


def test_an_unknown_section_of_a_lessons_texts_is_found() -> None:
    source = "[claims.'1.1']\nen = 'Good.'\nzh = '很好。'"
    assert rules(lambda findings: check_toml(source, findings, "notebooks/lesson_01/texts.toml")) == [
        "section"
    ]


def test_glossary() -> None:
    """The glossary holds against its own rules, and each term stands once."""
    with GLOSSARY.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len({row["en"] for row in rows}) == len(rows) == len(glossary()) > 60
    for row in rows:
        assert row["required"] in ("", "yes")
        assert [rule for rule in chinese(row["zh-Hant"]) if rule != "spacing"] == [], row["zh-Hant"]


# --- markup and calls -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "Write `<script>`, or\n\n```html\n<img onerror=x>\n```\n\nas text; 1 < 2 and a<b>.",
        "[a page](https://pytorch.org), [a file](01_cuda_check.ipynb#x), <https://pytorch.org>, ![A · 圖](x.png)",
        "<details><summary>A</summary>\n\n1. one\n\n3. three\n\n|a|b|\n|:-|-:|\n|1|2|\n\n</details>\n\n***\n\n> *x*",
    ],
)
def test_harmless_markup_passes(source: str) -> None:
    assert rules(check_markdown_markup, source) == []


def test_which_functions_show_something_is_read_from_their_annotations() -> None:
    assert showing() >= {"Picture", "Bilingual", "console", "facts", "message", "nvidia_smi", "picture"}
    assert not showing() & set("check claim compare explore launch predict print setup show".split())


@pytest.mark.parametrize(
    "source, found",
    [
        ("facts({})", []),
        ("x = facts({})\nprint(x)", []),
        ("facts({})\nprint(1)", ["lost output"]),
        ("with torch.no_grad():\n    shared.picture(1)", ["lost output"]),
        ("display(facts({}))\nprint(1)", []),
        ("claim('1', x > 2)", []),
        ("claim('1', lambda: measure(), needs='cuda')", []),
        ("claim('1', needs='cuda', value=lambda: 3)", ["constant claim"]),
        ("claim('1', not False)", ["constant claim"]),
        ("claims.claim('1', -2.5, at_most=3)", ["constant claim"]),
    ],
)
def test_calls(source: str, found: list[str]) -> None:
    tree = ast.parse(source)
    assert rules(check_nothing_is_lost, tree) + rules(check_claims, tree) == found
