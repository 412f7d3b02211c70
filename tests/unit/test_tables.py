"""Tables: what differs between machines is marked, everything is escaped."""

import re

import pytest
from html_nesting import assert_nested

from course_utils import Bilingual, facts
from course_utils.tables import message

HOSTILE = "<b> & 'x' \"y\" `z` ⟨1⟩ **w**"


def without_marks(html: str) -> str:
    return re.sub(r'<(span|pre) class="(?:[\w-]+ )*measured">[^<]*</\1>', "@", html)


def test_facts_mark_values_and_keep_expressions() -> None:
    one, other = (
        facts({"torch.cuda.is_available()": value, "x < y": HOSTILE}) for value in (True, [1, "<2>"])
    )
    for block in (one, other):
        assert_nested(block.html)
        assert "torch.cuda.is_available()" in without_marks(block.html) and "x &lt; y" in without_marks(
            block.html
        )
    assert without_marks(one.html) == without_marks(other.html) and one.html != other.html
    assert re.sub("⟨[^⟨⟩]*⟩", "@", one.text) == re.sub("⟨[^⟨⟩]*⟩", "@", other.text)
    assert set(one._repr_mimebundle_()) == {"text/html", "text/plain"}


def test_labels_and_values_may_be_words_in_both_languages() -> None:
    rows = {Bilingual(en="what is left <", zh="剩下的 <"): Bilingual(en="zeros", zh="零"), "x.sum()": 3}
    varies, fixed = facts(rows), facts(fixed=rows)
    for block in (varies, fixed):
        assert_nested(block.html)
        label = '<td><span lang="en">what is left &lt;</span><span lang="zh-Hant">剩下的 &lt;</span></td>'
        assert label in block.html and "<code>x.sum()</code>" in block.html
    assert '<span lang="zh-Hant">零</span>' in fixed.html and "zeros" in without_marks(fixed.html)
    assert '<span lang="zh-Hant"><span class="measured">零</span></span>' in varies.html
    assert varies.text == "what is left < · 剩下的 < = ⟨zeros · 零⟩\nx.sum() = ⟨3⟩"
    same = facts(
        {Bilingual(en="what is left <", zh="剩下的 <"): Bilingual(en="ones", zh="ones"), "x.sum()": 4}
    )
    assert without_marks(same.html) == without_marks(varies.html), "a value may be the same in both languages"
    modelled = '<span lang="en">1.5 modelled ms</span><span lang="zh-Hant">1.5 ms（推算值）</span>'
    assert f'<span class="measured">{modelled}</span>' in facts({"t": "1.5 modelled ms"}).html


def test_fixed_facts_are_compared() -> None:
    one, other = (facts({"x.device": "cpu"}, fixed={"x.nbytes": value}) for value in (4000, HOSTILE))
    for block in (one, other):
        assert_nested(block.html)
        assert "x.nbytes" in block.html and "x.device" in block.html
    assert without_marks(one.html) != without_marks(other.html)
    assert one.text == "x.nbytes = 4000\nx.device = ⟨cpu⟩"


def test_an_error_is_shown_by_kind_text_and_words_to_search_for() -> None:
    block = message(ValueError(HOSTILE), "& 'x'")
    assert_nested(block.html)
    assert "ValueError: &lt;b&gt;" in block.html and block.text.startswith("⟨ValueError: <b>")
    assert "<code>&amp; &#x27;x&#x27;</code>" in without_marks(block.html)
    none = message(None, "& 'x'")
    assert without_marks(none.html) == without_marks(block.html), "a machine without the error compares equal"
    assert none.text.split("\n")[1] == block.text.split("\n")[1]
    assert '<span lang="zh-Hant"><span class="measured">在這台機器上沒有出錯。</span></span>' in none.html
    assert '<span lang="zh-Hant"><span class="measured"></span></span>' in block.html


@pytest.mark.parametrize("animal, same", [("cat", True), ("hen", True), ("dog", False)])
def test_another_error_than_the_lessons_is_noticed(animal: str, same: bool) -> None:
    """An error may be one or the other; both are named, and a third one is seen."""
    expected, other = (message(ValueError(f"a {name} sat"), "cat", "hen") for name in ("cat", animal))
    assert expected.text.endswith(" cat · hen")
    assert (without_marks(expected.html) == without_marks(other.html)) is same
    assert (re.sub("⟨[^⟨⟩]*⟩", "@", expected.text) == re.sub("⟨[^⟨⟩]*⟩", "@", other.text)) is same
