"""Lines for a terminal: Chinese counts double, no word is lost, and no line begins with a closing mark or ends with an opening one."""

import re

import pytest

from torch_doctor.terminal import columns, wrap


def test_chinese_counts_double() -> None:
    assert columns("GPU 記憶體") == 10


def test_lines_break_between_words_and_after_any_chinese_character() -> None:
    assert wrap("一二三四五，六七八。", 10).splitlines() == ["一二三四", "五，六七", "八。"]
    assert wrap("一二三（四五）", 8).splitlines() == ["一二三", "（四五）"]
    assert wrap("one two three", 8, "  ") == "  one\n  two\n  three"
    assert wrap("a/very/long/path/that/is/longer", 10) == "a/very/long/path/that/is/longer"


def test_the_first_line_may_begin_in_another_way() -> None:
    assert wrap("one two three", 9, "   ", "1. ") == "1. one\n   two\n   three"


@pytest.mark.parametrize("width", [20, 40, 88])
def test_every_word_is_kept_and_no_line_begins_with_a_closing_mark(width: int) -> None:
    text = (
        "重新啟動核心（沒有別的辦法），把同一個批次拿到 CPU 上跑：`torch.cuda.is_available()` 會說清楚。" * 3
    )
    wrapped = wrap(text, width, "    ")
    assert re.sub(r"\s", "", wrapped) == re.sub(r"\s", "", text)
    assert not [line for line in wrapped.splitlines() if line.strip()[:1] in "，。；：！？、）」"]
    assert not [line for line in wrapped.splitlines() if line[-1] in "（「"]
