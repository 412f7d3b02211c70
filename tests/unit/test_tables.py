"""Tables and console texts: what differs between machines is marked, everything is escaped."""

from __future__ import annotations

import re
import subprocess
from typing import Any

import pytest
from html_nesting import assert_nested

from course_utils import bi, evidence, facts, tables
from course_utils.tables import PUBLISHED_SMI, console, message, nvidia_smi

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


def test_console_text_stays_as_it_is() -> None:
    caption = bi(en="Mine.", zh="我的。")
    varies, fixed = console(HOSTILE, caption), console(HOSTILE, caption, varies=False)
    for block in (varies, fixed):
        assert_nested(block.html)
        assert "&lt;b&gt; &amp;" in block.html and "<b>" not in block.html
    assert "&lt;b&gt;" not in without_marks(varies.html) and "&lt;b&gt;" in without_marks(fixed.html)
    assert "Mine." not in without_marks(varies.html) and "Mine." in without_marks(fixed.html)


def test_an_error_is_shown_by_kind_and_text() -> None:
    block = message(ValueError(HOSTILE))
    assert_nested(block.html)
    assert "ValueError: &lt;b&gt;" in block.html and block.text.startswith("⟨ValueError: <b>")
    none = message(None)
    assert without_marks(none.html) == without_marks(block.html), "a machine without the error compares equal"


@pytest.fixture
def smi(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Set what nvidia-smi does on this machine, and what is recorded of another."""
    noted: list[Any] = []

    def set_up(result: Any, recorded: dict[str, str] | None) -> list[Any]:
        def run(*_: object, **options: Any) -> Any:
            assert options["timeout"] <= 30
            if isinstance(result, Exception):
                raise result
            return subprocess.CompletedProcess([], *result)

        monkeypatch.setattr(subprocess, "run", run)
        monkeypatch.setattr(evidence, "recorded", lambda _: recorded)
        monkeypatch.setattr(evidence, "note", lambda *what: noted.append(what))
        return noted

    return set_up


def test_nvidia_smi_is_live_where_it_exists(smi: Any) -> None:
    noted = smi((0, "| live output |", ""), {"text": "recorded", "run": "an H200"})
    assert "| live output |" in nvidia_smi().html
    assert noted == [("curve", "nvidia-smi", {"text": "| live output |"})]


@pytest.mark.parametrize(
    "result", [FileNotFoundError(), (9, "", "failed"), subprocess.TimeoutExpired("nvidia-smi", 20)]
)
def test_elsewhere_a_recording_is_shown_and_named(result: Any, smi: Any) -> None:
    noted = smi(result, {"text": "| recorded output |", "run": "an H200, 2026"})
    block = nvidia_smi()
    assert "| recorded output |" in block.html and block.html.count("an H200, 2026") == 2 and not noted


def test_without_any_recording_a_published_example_is_shown(smi: Any) -> None:
    smi(FileNotFoundError(), None)
    block = nvidia_smi()
    assert "H100 80GB" in block.html and tables._PUBLISHED_BY in block.html
    assert len({len(line) for line in PUBLISHED_SMI.splitlines()}) == 1, "the frame is straight"


def test_every_machine_shows_the_same_but_for_the_marks(smi: Any) -> None:
    forms = set()
    for result, recorded in (
        ((0, "live", ""), None),
        (FileNotFoundError(), {"text": "t", "run": "r"}),
        (FileNotFoundError(), None),
    ):
        smi(result, recorded)
        block = nvidia_smi()
        assert_nested(block.html)
        forms.add((without_marks(block.html), re.sub("⟨[^⟨⟩]*⟩", "@", block.text)))
    assert len(forms) == 1
