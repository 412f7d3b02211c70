"""A GPU that PyTorch lists and cannot use is hidden, in words; one that computes is not."""

import os
from typing import Any

import pytest
import torch

from bilingual import Bilingual
from course_utils import lesson_setup, machine
from course_utils.machine import hide_unusable


@pytest.fixture
def old_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the driver list a card of 2016, and PyTorch have no code for it."""
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_arch_list", lambda: ["sm_75", "sm_80"])
    monkeypatch.setattr(machine, "smi_query", lambda fields: "NVIDIA GeForce GTX 1080, 6.1")
    monkeypatch.setattr(machine, "works", lambda program: False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")


@pytest.mark.usefixtures("old_card")
def test_a_gpu_without_code_is_hidden_when_a_product_fails() -> None:
    said = hide_unusable()
    assert said and "GTX 1080" in said.en and "GTX 1080" in said.zh
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "-1"


@pytest.mark.usefixtures("old_card")
@pytest.mark.parametrize("there, name, value", [
    (machine, "works", lambda program: True),  # the product decides, not the table
    (machine, "smi_query", lambda fields: None), (machine, "smi_query", lambda fields: "NVIDIA L4, 8.9"),
    (machine, "smi_query", lambda fields: "NVIDIA L4, [N/A]"), (torch.cuda, "device_count", lambda: 0),
    (torch.cuda, "is_initialized", lambda: True), (torch.version, "hip", "7.0"),
], ids=["computes", "no driver", "has code", "not told", "none", "in use", "AMD"])  # fmt: skip
def test_otherwise_nothing_is_hidden(
    there: object, name: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(there, name, value)
    assert hide_unusable() is None and os.environ["CUDA_VISIBLE_DEVICES"] == "0"


def test_the_product_fails_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert not machine.works(machine._PRODUCT)


def test_the_set_up_cell_says_it(shown: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lesson_setup, "hide_unusable", lambda: Bilingual("it is hidden", "已隱藏"))
    lesson_setup.setup()
    pages = [child.value for child in shown[-1].widget.children if hasattr(child, "value")]
    assert any("it is hidden" in page and "已隱藏" in page for page in pages)
