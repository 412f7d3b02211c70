"""Pictures: real PNGs with captions, alternatives and every glyph, in both languages, without a warning."""

from __future__ import annotations

import base64
import io
import math
import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.image
import pytest
import torch
from fontTools.ttLib import TTFont
from html_nesting import assert_nested

from course_utils import evidence, figures, hardware
from course_utils.figures import (
    Axis,
    Picture,
    amount,
    bars_picture,
    columns_picture,
    curves_picture,
    duration,
    histogram_picture,
    panels_picture,
    stacked_picture,
)
from course_utils.language import Bilingual
from course_utils.measure import Comparison
from tools.font import TARGET, characters, is_cjk

pytestmark = pytest.mark.usefixtures("no_warnings")

RUN = "NVIDIA H200, PyTorch 2.13.0, 2026-01-01"
COMPARED = Comparison(300.4, 295.0, 290.0, (280, 310), 3.0e-3, 1.0e-5, 15, print, print)
CAPTION = Bilingual("A caption < `code`.", "圖說 < `code`。")
X, Y = Axis("matrix size n", "矩陣大小 n"), Axis("time of one product", "相乘一次的時間", "s")
LINES = {"CPU": ([16, 64, 256], [1e-6, 2e-5, 1e-3])}
PARTS = {"bytes": Axis("bytes per number", "每個數字的位元組", "B"), "speed": Axis("speed", "速度", "FLOP/s")}
PANELS = {"bytes": {"float64": 8.0, "float32": 4.0}, "speed": {"float64": 7.6e10, "float32": 1.59e11}}


def processors() -> list[hardware.Processor]:
    return [hardware.Processor("A CPU", False, 4, None, 16e9, 2e10, True), hardware.published()]


PICTURES: dict[str, Any] = {
    "bars": lambda: bars_picture(COMPARED, ("three loops", "A @ B"), None),
    "bars recorded": lambda: bars_picture(COMPARED, ("a", "b"), {"seconds": [2e-3, 1e-6], "run": RUN}),
    "curves": lambda: curves_picture(LINES, X, Y, None, CAPTION),
    "curves recorded": lambda: curves_picture(
        LINES, X, Y, {"lines": {"GPU": ([16, 4096], [1e-5, 1e-3])}, "run": RUN}, CAPTION
    ),
    "curves close together": lambda: curves_picture({"CPU": ([16, 32], [1e-6, 2e-6])}, X, Y, None, CAPTION),
    "columns": lambda: columns_picture({"float32": 1.0, "float16": 30.0}, Y, None, CAPTION),
    "columns recorded": lambda: columns_picture(
        {"float32": 1.0}, Y, {"values": {"float32": 1.0, "bfloat16": 0.07}, "run": RUN}, CAPTION
    ),
    "linear curves": lambda: curves_picture(LINES, X, replace(Y, unit="", scale="linear"), None, CAPTION),
    "panels": lambda: panels_picture(PANELS, PARTS, None, CAPTION),
    "panels recorded": lambda: panels_picture(
        PANELS, PARTS, {"panels": {"bytes": {"float8": 1.0}, "speed": {"float32": 5e13}}, "run": RUN}, CAPTION
    ),
    "stacked": lambda: stacked_picture(
        {"SGD": {"bytes": 4e6}, "Adam": {"bytes": 4e6, "speed": 8e6}}, PARTS, CAPTION
    ),
    "histogram": lambda: histogram_picture(
        {"small": [0.0, 2**-20, -(2**-18)], "scaled": torch.tensor([0.5, 2.0])},
        {"edge": 2**-24},
        X,
        Y,
        CAPTION,
    ),
    "processors": lambda: hardware.picture(processors()),
    "one processor": lambda: hardware.picture([processors()[1]] * 2),
}


@pytest.fixture(scope="module")
def drawn() -> dict[str, tuple[Picture, str]]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return {name: (picture := make(), picture.html()) for name, make in PICTURES.items()}


def image(html: str) -> Any:
    data = re.search(r'src="data:image/png;base64,([^"]*)"', html)
    assert data
    return matplotlib.image.imread(io.BytesIO(base64.b64decode(data[1], validate=True)))


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_a_png_that_shows_something(name: str, drawn: dict[str, tuple[Picture, str]]) -> None:
    pixels = image(drawn[name][1])
    height, width = pixels.shape[:2]
    assert 600 <= width <= 1000 and 100 <= height <= 700, "it fits a projector's notebook"
    ink = (pixels[..., :3] < 0.9).any(axis=-1)
    assert 0.005 < ink.mean() < 0.7, "neither blank nor covered"


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_has_texts_in_both_languages(name: str, drawn: dict[str, tuple[Picture, str]]) -> None:
    picture, html = drawn[name]
    assert_nested(html)
    alternative = re.search(r'<img alt="([^"]*)"', html)
    assert alternative and re.search("[A-Za-z]{3}.* · .*[一-鿿]{2}", alternative[1])
    caption = html[html.index("<figcaption>") :]
    assert '<span lang="en">' in caption and '<span lang="zh-Hant">' in caption
    bundle = picture._repr_mimebundle_()
    assert bundle["text/plain"].startswith("figure: ") and "<" not in bundle["text/plain"]


@pytest.mark.parametrize("one, other", [
    ("bars", "bars recorded"), ("curves", "curves recorded"), ("columns", "columns recorded"),
    ("panels", "panels recorded"),
])  # fmt: skip
def test_the_recording_is_named_beside_its_values(
    one: str, other: str, drawn: dict[str, tuple[Picture, str]]
) -> None:
    assert "not recorded yet" in drawn[one][1] and "尚無紀錄" in drawn[one][1]
    assert drawn[other][1].count(RUN) == 2 and "not recorded yet" not in drawn[other][1]
    if one not in ("bars", "panels"):  # their rows are named instead
        assert len(drawn[other][0].figure.axes[0].get_legend_handles_labels()[1]) >= 2


def test_the_numbers_of_a_comparison_are_marked() -> None:
    caption = bars_picture(COMPARED, ("a", "b"), None).caption
    assert "⟨300⟩" in caption.en and "⟨300⟩" in caption.zh


def test_the_same_numbers_give_the_same_file() -> None:
    one, other = (figures.png(bars_picture(COMPARED, ("a", "b"), None).figure) for _ in range(2))
    assert one == other and b"Software" not in one


def test_recorded_names_that_are_missing_here_are_shown(drawn: dict[str, tuple[Picture, str]]) -> None:
    axes = drawn["columns recorded"][0].figure.axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["float32", "bfloat16"]


def test_panels_show_every_name_in_its_own_unit(drawn: dict[str, tuple[Picture, str]]) -> None:
    here, speed = drawn["panels"][0].figure.axes
    assert [label.get_text() for label in here.get_yticklabels()] == ["float64", "float32"]
    assert here.get_title() == "bytes per number\n每個數字的位元組" and speed.get_title() == "speed\n速度"
    shown = {text.get_text() for axes in (here, speed) for text in axes.texts}
    assert shown == {"8 B", "4 B", "76 GFLOP/s", "159 GFLOP/s"}
    assert [bar.get_width() for bar in here.patches] == [8.0, 4.0]
    upper, _, lower, _ = drawn["panels recorded"][0].figure.axes
    assert [label.get_text() for label in lower.get_yticklabels()] == ["float64", "float32", "float8"]
    assert upper.get_ylabel() == "here · 這台機器" and "recorded" in lower.get_ylabel()


def test_stacked_layers_lie_end_to_end(drawn: dict[str, tuple[Picture, str]]) -> None:
    axes = drawn["stacked"][0].figure.axes[0]
    assert [(bar.get_x(), bar.get_width()) for bar in axes.patches] == [
        (0, 4e6),
        (0, 4e6),
        (4e6, 0),
        (4e6, 8e6),
    ]
    assert [text.get_text().strip() for text in axes.texts] == ["4 MB", "12 MB"]
    assert "⟨12 MB⟩" in drawn["stacked"][0].caption.zh


def test_a_histogram_counts_powers_of_two_and_no_zeros(drawn: dict[str, tuple[Picture, str]]) -> None:
    axes = drawn["histogram"][0].figure.axes[0]
    filled = {(round(bar.get_x()), round(bar.get_height())) for bar in axes.patches if bar.get_height()}
    assert filled == {(-20, 50), (-18, 50), (-1, 50), (1, 50)}
    assert [line.get_xdata()[0] for line in axes.lines] == [-24]


def test_a_linear_axis_stays_linear(drawn: dict[str, tuple[Picture, str]]) -> None:
    assert drawn["linear curves"][0].figure.axes[0].get_yscale() == "linear"
    assert drawn["curves"][0].figure.axes[0].get_yscale() == "log"


# --- what lessons call --------------------------------------------------------------------------------


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found: list[Any] = []
    monkeypatch.setattr(evidence, "note", lambda *what: found.append(what))
    monkeypatch.setattr(evidence, "recorded", lambda _: None)
    return found


def test_bars_are_shown_and_noted(shown: list[Any], noted: list[Any]) -> None:
    figures.bars("loops", COMPARED, labels=("a", "b"))
    assert isinstance(shown[0], Picture)
    assert noted == [("curve", "loops", {"seconds": [3.0e-3, 1.0e-5], "ratio": 300.4, "labels": ["a", "b"]})]


@pytest.mark.parametrize("labels", [(), ("a",), ("a", "b", "c")])
def test_bars_need_two_labels(labels: tuple[str, ...], shown: list[Any], noted: list[Any]) -> None:
    with pytest.raises(ValueError, match=f"got {len(labels)} labels"):
        figures.bars("loops", COMPARED, labels=labels)
    assert not shown and not noted


def test_curves_and_columns_are_shown_and_noted(shown: list[Any], noted: list[Any]) -> None:
    figures.curves("crossover", {"CPU": ([16, 32], [1e-6, 2e-6])})
    figures.columns("dtypes", {"float32": 1, "float16": 30.0})
    assert [type(picture) for picture in shown] == [Picture, Picture]
    assert noted == [
        ("curve", "crossover", {"lines": {"CPU": [[16.0, 32.0], [1e-6, 2e-6]]}}),
        ("curve", "dtypes", {"values": {"float32": 1.0, "float16": 30.0}}),
    ]


def test_panels_layers_and_histograms_are_shown(
    shown: list[Any], noted: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = [
        {"key": "bytes", "en": "bytes", "zh": "位元組", "unit": "B"},
        {"key": "speed", "en": "speed", "zh": "速度"},
    ]
    axes = {"x_en": "size", "x_zh": "大小", "y_en": "share", "y_zh": "比例"}
    entry = {"en": "A caption.", "zh": "圖說。", "parts": parts} | axes
    monkeypatch.setattr(figures, "text", lambda *_: entry)
    figures.panels("formats", {"bytes": {"float32": 4}, "speed": {"float32": torch.tensor(2.0)}})
    figures.stacked("memory", {"Adam": {"bytes": 12.0}})
    figures.histogram("gradients", {"gradient": [1.0, 0.5]}, marks={})
    assert [type(picture) for picture in shown] == [Picture] * 3
    assert noted == [("curve", "formats", {"panels": {"bytes": {"float32": 4.0}, "speed": {"float32": 2.0}}})]
    with pytest.raises(
        ValueError, match=r"has texts for \['bytes', 'speed'\], but got values for \['bytes'\]"
    ):
        figures.panels("formats", {"bytes": {"float32": 4}})
    with pytest.raises(ValueError, match=r"but got \['weights'\]"):
        figures.stacked("memory", {"Adam": {"weights": 12.0}})
    assert len(shown) == 3 and len(noted) == 1


def test_a_figure_without_texts_is_refused(shown: list[Any], noted: list[Any]) -> None:
    with pytest.raises(ValueError, match="no figure 'nobody'"):
        figures.curves("nobody", LINES)
    assert not shown and not noted


def test_a_figure_of_ones_own(shown: list[Any]) -> None:
    figure, axes = figures.new(columns=2, sharey=True)
    axes[0].plot([1, 2])
    figures.show(figure, caption=CAPTION, alternative=Bilingual('a "line"', "一條線"))
    html = shown[0].html()
    assert_nested(html)
    assert 'alt="a &quot;line&quot; · 一條線"' in html and "<code>code</code>" in html


def test_this_machines_processors_are_shown(shown: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"copy": 2e10, "host_copy": 2e10, "matmul": 1e11}
    monkeypatch.setattr(hardware, "ceilings", lambda: known)
    hardware.show_processors()
    assert_nested(shown[0].html())


@pytest.mark.parametrize("seconds, text", [
    (2.5, "2.5 s"), (0.0123, "12.3 ms"), (4.2e-5, "42 µs"), (3e-9, "3 ns"), (1e-3, "1 ms"), (0.5e-9, "0.5 ns"),
])  # fmt: skip
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    "number, text", [(0, "0 B"), (512, "512 B"), (4000, "4 kB"), (4e6, "4 MB"), (1.5e9, "1.5 GB")]
)
def test_amount(number: float, text: str) -> None:
    assert amount(number) == text


# --- glyphs -------------------------------------------------------------------------------------------


def test_every_chinese_character_of_the_course_has_a_glyph() -> None:
    needed = characters()
    assert len(needed) > 500, "the texts were not found"
    drawn = TTFont(TARGET).getBestCmap()
    missing = {character for character in needed if ord(character) not in drawn}
    assert not missing, f"make the subset again (python -m tools.font …): {''.join(sorted(missing))}"


def test_the_characters_are_looked_for_everywhere(tmp_path: Path) -> None:
    for name in (
        "course_utils/a.py",
        "course_utils/texts/01.toml",
        "notebooks/01_a.ipynb",
        "tools/glossary.csv",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(chr(0x4E00 + len(name)) + "a，", encoding="utf-8")
    assert len(characters(tmp_path)) == 5
    assert (
        is_cjk("，")
        and is_cjk("中")
        and is_cjk("「")
        and not is_cjk("a")
        and not is_cjk("é")
        and not is_cjk("·")
    )


def test_the_licence_of_the_font_is_in_it() -> None:
    names = {record.nameID: str(record) for record in TTFont(TARGET)["name"].names}
    assert "Open Font License" in names[13] and "Noto Sans CJK TC" in names[4]
    assert TARGET.stat().st_size < 400_000


def test_chinese_labels_are_drawn_with_the_shipped_font() -> None:
    figure, axes = figures.new()
    axes.set_title("量測 · measured µs")
    axes.text(0.5, 0.5, "卡")
    figures.png(figure)
    title = axes.title.get_fontfamily()
    assert title[0] == "DejaVu Sans" and "CJK" in title[1]


def test_a_missing_glyph_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without this warning the other tests here would pass on empty boxes."""
    figure, axes = figures.new()
    axes.set_title("量測")
    monkeypatch.setattr(figures, "_families", lambda: ["DejaVu Sans"])
    with pytest.raises(UserWarning, match="Glyph .* missing"):
        figures.png(figure)


def test_a_character_outside_the_subset_is_noticed() -> None:
    figure, axes = figures.new()
    axes.set_title("\U00020000")  # a rare character that no lesson uses
    with pytest.raises(UserWarning, match="Glyph .* missing"):
        figures.png(figure)


def test_a_broken_font_file_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fonts").mkdir()
    (tmp_path / "fonts" / figures._FONT).write_bytes(TARGET.read_bytes()[:1000])
    monkeypatch.setattr(figures.resources, "files", lambda _: tmp_path)
    with pytest.raises(RuntimeError):
        figures._families.__wrapped__()


def test_the_style_leaves_matplotlib_alone() -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    figure, _ = figures.new()
    figures.png(figure)
    assert dict(mpl.rcParams) == before


# --- hardware -----------------------------------------------------------------------------------------


def test_published_figures() -> None:
    known = hardware.published("NVIDIA H200")
    assert known.blocks == 132 and known.lanes == 128 and not known.measured
    with pytest.raises(KeyError):
        hardware.published("a GPU that nobody built")


def test_the_share_of_the_rating(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "ceilings", lambda: {"copy": 4e12, "half": 7e14})
    monkeypatch.setattr(hardware, "rating", lambda quantity: {"bandwidth": 5e12, "half": 1e15}[quantity])
    assert math.isclose(hardware.share_of_rating("copy"), 0.8)
    assert math.isclose(hardware.share_of_rating("half"), 0.7)
    monkeypatch.setattr(hardware, "rating", lambda _: None)
    with pytest.raises(LookupError, match="no rating for 'copy'"):
        hardware.share_of_rating("copy")
