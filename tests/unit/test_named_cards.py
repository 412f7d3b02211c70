"""Published values of named cards: complete, of the chosen card or the nearest one, and in a picture never as measured."""

import re
from typing import Any

import pytest

from course_utils import figures, lesson, recordings, run_mode
from course_utils.figures.measured import beside
from course_utils.named_cards import UNITS, NamedCard, data, named_card
from practice_gpu.profiles import sources
from shared.charts import panels
from tools.check.text import Findings, check_pair


@pytest.mark.parametrize("values", data()["values"], ids=lambda each: f"{each['quantity']}-{each['card']}")
def test_values_have_a_source_a_date_a_method_and_a_unit(values: dict[str, Any]) -> None:
    source, quantity = data()["source"][values["source"]], data()["quantity"][values["quantity"]]
    assert values["card"] in sources() and len(values["x"]) == len(values["y"]) and min(values["y"]) > 0
    assert set(source) == {"source", "url", "date", "how_en", "how_zh"} and quantity["unit"] in UNITS
    assert re.fullmatch(r"20\d\d(-\d\d){0,2}", source["date"])
    # a commit or a thread: what stands there stays
    assert re.search(r"^https://github\.com/.+/(blob/[0-9a-f]{40}/.+|issues/\d+|pull/\d+)$", source["url"])


def test_each_source_and_quantity_is_used() -> None:
    for table in ("source", "quantity"):
        assert set(data()[table]) == {values[table] for values in data()["values"]}


@pytest.mark.parametrize("quantity", data()["quantity"])
def test_it_says_that_others_published_it(quantity: str) -> None:
    card, findings = named_card(quantity), Findings()
    shown = card.reference.text()
    check_pair(shown.en, shown.zh, findings)
    assert not findings and "published by" in card.label.en and "已發表" in card.label.zh
    assert shown.en.startswith("Published, not measured by us") and "非本課程量測" in shown.zh
    assert f'href="{card.reference.url}"' in card.reference.html()


@pytest.mark.parametrize(("quantity", "chosen", "used"), [
    ("resnet50_float32", None, "T4"),
    ("matmul_float32", None, "RTX 4060 Laptop"),
    ("matmul_float32", "RTX 4090", "RTX 4090"),
    ("matmul_float32", "H200", "H100"),
    ("host_to_device", "RTX 4060 Laptop", "T4"),
])  # fmt: skip
def test_the_chosen_card_or_the_nearest_one(
    quantity: str, chosen: str | None, used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if chosen:
        monkeypatch.setenv("COURSE_CARD", chosen)
    card = named_card(quantity)
    assert card.card == used
    assert (f"the nearest to a {chosen or 'T4'}" in card.reference.text().en) == (used != (chosen or "T4"))


def test_values_are_in_si_units_and_names_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    assert named_card("matmul_float32").y[2] == 8.00e12
    assert named_card("add_queued").y[0] == pytest.approx(2e-6, 0.01)
    with pytest.raises(KeyError):
        named_card("no such quantity")
    monkeypatch.setenv("COURSE_CARD", "Voodoo 2")
    with pytest.raises(ValueError, match="knows no card"):
        named_card("all_reduce")


@pytest.mark.parametrize("given", ["matmul_float32", named_card("matmul_float32")], ids=["name", "card"])
def test_a_picture_shows_the_card_and_records_what_was_measured(
    given: str | NamedCard, shown: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[tuple[Any, ...]] = []
    monkeypatch.setattr(run_mode, "note", lambda *what: noted.append(what))
    monkeypatch.setattr(recordings, "runs", list)
    monkeypatch.setattr(lesson, "_current", "01")
    card = named_card("matmul_float32")
    figures.curves("crossover", {"CPU": ([1024, 2048], [1.0, 2.0])}, card=given)
    assert noted == [("curve", "crossover", {"lines": {"CPU": [[1024.0, 2048.0], [1.0, 2.0]]}})]
    lines = shown[0].figure.axes[0].get_lines()
    assert lines[-1].get_label() == str(card.label).replace(" · ", "\n") and len(lines) == 2
    assert card.card not in shown[0].series
    for recorded in (None, {"run": "an H200"}):  # its source stands below also beside a recording
        html = beside("crossover", recorded, card)
        assert html.startswith(card.reference.html()) and html.count("course-published") == 1


def test_panels_show_the_card_in_the_panel_whose_values_it_has(
    shown: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lesson, "_current", "03")
    mine = {"float32": 1.0, "float16": 2.0}
    panels("formats", {"bytes": mine, "scaling": mine, "product": mine}, card={"product": "matmul_dtypes"})
    *_, empty, product = shown[0].figure.axes
    assert len(empty.patches) == 0
    assert [bar.get_width() for bar in product.patches] == [4.17e12, 41.91e12]  # no bfloat16: not asked for
