"""Ways into the catalogue: search, the notebook's browser, and the command line."""

import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from html_nesting import assert_nested
from sample import THIRDS

import torch_doctor
from torch_doctor import __main__ as command
from torch_doctor import style
from torch_doctor.errors import browser, search
from torch_doctor.errors.catalogue import messages

ENTRIES = messages()

# --- search -------------------------------------------------------------------------------------------


def names(words: str) -> list[str]:
    return [entry.name for entry in search.search(words)]


def test_without_words_everything_is_listed() -> None:
    assert names("") == names("  ") == list(ENTRIES)


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("out of memory", "oom"),
        ("記憶體碎片", "oom"),
        ("NCCL built in", "no-nccl"),
        ("oom", "oom"),
        ("same DEVICE tensors", "dev-mismatch"),
        ("RuntimeError: CUDA error: device-side assert triggered", "device-assert"),
        ("張量 不同 裝置", "dev-mismatch"),
    ],
)
def test_search_finds_by_message_and_by_explanation(words: str, first: str) -> None:
    assert first in names(words)[:3]


def test_every_word_must_fit() -> None:
    assert names("memory zebra") == []
    assert set(names("gradient scaler")) <= set(names("scaler"))


@THIRDS
def test_an_entry_is_found_by_its_own_message(third: int) -> None:
    for name, entry in [*ENTRIES.items()][third::3]:
        assert names(entry.samples[0])[0] == name
        assert name in names(entry.message)


# --- the browser --------------------------------------------------------------------------------------


def parts() -> list[Any]:
    return list(browser.browser().widget.children)


def test_the_list_offers_every_entry_once() -> None:
    texts = [text for text, _ in browser.options("")]
    assert len(texts) == len(ENTRIES) == len(set(texts)), "two entries look the same in the list"
    assert max(map(len, texts)) <= 60


def test_choosing_shows_the_card() -> None:
    words, listed, card, *_ = parts()
    assert words.value == "" and listed.value == browser.DEFAULT
    for name in list(ENTRIES)[::7]:
        listed.value = name
        assert card.value == browser.view(name) and "‹" not in card.value
        assert_nested(card.value)


def test_searching_narrows_the_list_and_shows_the_best() -> None:
    words, listed, card, button, _, _, output = parts()
    words.value = "記憶體碎片"
    assert listed.value == "oom" and len(listed.options) < 5 and card.value == browser.view("oom")
    words.value = "zebra"
    assert listed.value is None and not listed.options and button.disabled and "fewer" in card.value.lower()
    words.value = ""
    assert len(listed.options) == len(ENTRIES) and not button.disabled
    assert output.value == ""


def test_the_button_provokes_and_explains(monkeypatch: pytest.MonkeyPatch) -> None:
    _, listed, _, button, *_, output = parts()
    printed = {
        "grad-numpy": "\x1b[31mRuntimeError: Can't call numpy() on Tensor that requires grad. <x>",
        "oom": None,
    }
    monkeypatch.setattr(browser, "provoke", lambda name: printed[name])
    button.click()
    assert "&lt;x&gt;" in output.value and "course-clinic" in output.value
    assert "<x>" not in output.value and "\x1b" not in output.value
    assert not button.disabled
    listed.value = "oom"
    assert output.value == ""
    button.click()
    assert "cannot provoke" in output.value and "無法重現" in output.value


def test_a_fault_while_provoking_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, _, button, *_, output = parts()
    monkeypatch.setattr(browser, "provoke", lambda name: 1 / 0)
    button.click()  # ipywidgets itself reports a callback's exception to a log
    assert "ZeroDivisionError" in output.value and not button.disabled


def test_a_real_one() -> None:
    html = browser.provoked("grad-numpy")
    assert "requires grad" in html and "course-clinic" in html
    assert_nested(html)


def test_browsing_shows_a_card_where_no_kernel_runs(shown: list[Any]) -> None:
    torch_doctor.browse()
    bundle = shown[0]._repr_mimebundle_()
    assert bundle["text/html"] == browser.view(browser.DEFAULT)
    assert "application/vnd.jupyter.widget-view+json" in bundle


def test_cards_bring_their_style_where_the_page_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    card = torch_doctor.explain("CUDA out of memory. Tried to allocate 1")
    assert card._repr_mimebundle_()["text/html"] == card.html()
    monkeypatch.setattr(style, "_page_has_styles", False)
    html = card._repr_mimebundle_()["text/html"]
    assert html.startswith("<style>") and html.endswith(card.html())
    assert not re.search(r"\.course-card \[lang\S* \{ display: none", html), "both languages are shown"
    monkeypatch.setenv("TORCH_DOCTOR_LANGUAGE", "en")
    assert ".course-card [lang|=zh] { display: none; }" in card._repr_mimebundle_()["text/html"]
    box = browser.browser().widget
    assert "torch-doctor-browser" in box._dom_classes and box.children[0].value.startswith("<style>")


# --- the command line ---------------------------------------------------------------------------------


def test_a_log_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.txt"
    log.write_bytes(b"\xff\xfe noise\r\nRuntimeError: CUDA error: device-side assert triggered\r\n")
    assert command.main(["explain", str(log), "--language", "en"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Error clinic: CUDA error: device-side assert triggered\n") and "意思" not in out
    log.write_text("it failed")
    monkeypatch.setenv("TORCH_DOCTOR_LANGUAGE", "zh")
    assert command.main(["explain", str(log)]) == 3
    assert capsys.readouterr().out.startswith("錯誤門診\n")


@pytest.mark.parametrize("file", [[], ["-"]])
def test_a_pipe_is_explained_without_torch(file: list[str]) -> None:
    words = ["explain", *file, "--language", "en"]
    code = (
        f"import sys; from torch_doctor.__main__ import main; status = main({words});"
        "assert 'torch' not in sys.modules and 'matplotlib' not in sys.modules; sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input="No CUDA GPUs are available", capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "") and "CUDA_VISIBLE_DEVICES" in done.stdout


def test_nothing_to_explain(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b" \n")))
    with pytest.raises(SystemExit):
        command.main(["explain"])
    assert "no text" in capsys.readouterr().err


def test_of_a_long_output_beginning_and_end_are_read(tmp_path: Path) -> None:
    output = tmp_path / "train.log"
    for text in ("first" + "\n" * 500 + "last", "first" + "x" * 3 * command._MAX_BYTES + "last"):
        output.write_text(text)
        with output.open("rb") as file:
            read = command._text(file)
        assert read.startswith("first") and read.endswith("last")
        assert len(read) == min(len(text), 2 * command._MAX_BYTES)
