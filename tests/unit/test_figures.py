"""Figures: real PNGs with captions, alternatives and every glyph, in both languages, without a warning."""

import base64
import io
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import IPython.display
import matplotlib as mpl
import matplotlib.image
import pytest
import torch
from fontTools.ttLib import TTFont
from html_nesting import assert_nested
from tabled import tabled

from bilingual import Bilingual
from course_utils import figures, recordings, run_mode, units
from course_utils.figures import Picture, new, show_measured
from course_utils.figures.measured import _measured_only
from course_utils.measure import Comparison
from practice_gpu import Seconds
from shared import charts
from shared.charts import columns, panels, stacked
from tools.font import TARGET, characters, is_cjk

pytestmark = pytest.mark.usefixtures("no_warnings")

RUN = "NVIDIA H200, PyTorch 2.13.0, 2026-01-01"
COMPARED = Comparison(300.4, 295.0, 3.0e-3, 1.0e-5, 15, print, print)
CAPTION = Bilingual("A caption < `code`.", "圖說 < `code`。")
TEXT = {
    "en": CAPTION.en, "zh": CAPTION.zh, "x_en": "matrix size n", "x_zh": "矩陣大小 n",
    "y_en": "time of one product", "y_zh": "相乘一次的時間", "y_unit": "s",
    "parts": [
        {"key": "bytes", "en": "bytes per number", "zh": "每個數字的位元組", "unit": "B"},
        {"key": "speed", "en": "speed", "zh": "速度", "unit": "FLOP/s"},
    ],
}  # fmt: skip
LINES = {"CPU": ([16, 64, 256], [1e-6, 2e-5, 1e-3]), "two threads": ([16, 256], [2e-6, 5e-4])}
PANELS = {"bytes": {"float64": 8.0, "float32": 4.0}, "speed": {"float64": 7.6e10, "float32": 1.59e11}}

SLOW = Bilingual("slow, mixed", "慢，混合精度")

# What a lesson calls, what is recorded for it, and what differs in the figure's text.
PICTURES: dict[str, tuple[Callable[[], None], dict[str, Any] | None, dict[str, str]]] = {
    "bars": (lambda: figures.bars("x", COMPARED, labels=("three loops", "A @ B")), None, {}),
    "bars recorded": (lambda: figures.bars("x", COMPARED, labels=("a", "b")), {"seconds": [2e-3, 1e-6]}, {}),
    "curves": (lambda: figures.curves("x", LINES), None, {}),
    "curves recorded": (
        lambda: figures.curves("x", LINES), {"lines": {"GPU": ([16, 4096], [1e-5, 1e-3]), "CPU": LINES["CPU"]}}, {},
    ),
    "curves close together": (lambda: figures.curves("x", {"CPU": ([16, 32], [1e-6, 2e-6])}), None, {}),
    "linear curves": (lambda: figures.curves("x", LINES), None, {"y_unit": "", "y_scale": "linear"}),
    "curves over steps": (lambda: figures.curves("x", LINES), None, {"x_scale": "linear", "y_scale": "linear"}),
    "columns": (lambda: columns("x", {"float32": 1.0, "float16": 30.0}), None, {}),
    "columns recorded": (
        lambda: columns("x", {"float32": 1.0}), {"values": {"float32": 1.0, "bfloat16": 0.07}}, {},
    ),
    "panels": (lambda: panels("x", PANELS), None, {}),
    "panels recorded": (
        lambda: panels("x", PANELS), {"panels": {"bytes": {"float8": 1.0}, "speed": {"float32": 5e13}}}, {},
    ),
    "bars with words": (
        lambda: figures.bars("x", COMPARED, labels=(SLOW, "A @ B")), {"seconds": [2e-3, 1e-6]}, {},
    ),
    "curves with words": (
        lambda: figures.curves("x", {SLOW: LINES["CPU"]}), {"lines": {"slow, mixed": LINES["CPU"]}}, {},
    ),
    "columns with words": (
        lambda: columns("x", {SLOW: 2.0, "fast": 1.0}), {"values": {"slow, mixed": 1.0}}, {},
    ),
    "panels with words": (
        lambda: panels("x", {"bytes": {SLOW: 8.0}, "speed": {SLOW: 7.6e10}}),
        {"panels": {"bytes": {"slow, mixed": 1.0}, "speed": {}}}, {},
    ),
    "stacked with words": (lambda: stacked("x", {SLOW: {"bytes": 4e6}, "Adam": {"bytes": 2e6}}), None, {}),
    "stacked": (
        lambda: stacked("x", {"SGD": {"bytes": 4e6}, "Adam": {"bytes": 4e6, "speed": 8e6}}), None, {},
    ),
}  # fmt: skip


Drawn = dict[str, tuple[Picture, str]]  # with its HTML


def drawn_by(call: Callable[[], None], recorded: dict[str, Any] | None, **text: str) -> Picture:
    """Return the picture that `call` displays where `recorded` is recorded for it."""
    displayed: list[Picture] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(IPython.display, "display", displayed.append)
        patched.setattr(recordings, "recorded", lambda _: recorded and recorded | {"run": RUN})
        for module in (figures.charts, charts):
            patched.setattr(module, "text", lambda *_: TEXT | text)
        call()
    return displayed[0]


@pytest.fixture(scope="module")
def drawn() -> Drawn:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = {name: drawn_by(call, recorded, **text) for name, (call, recorded, text) in PICTURES.items()}
        return {name: (shown, shown.html()) for name, shown in made.items()}


def image(html: str) -> Any:
    data = re.search(r'src="data:image/png;base64,([^"]*)"', html)
    assert data
    return matplotlib.image.imread(io.BytesIO(base64.b64decode(data[1], validate=True)))


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_shows_something_and_has_texts_in_both_languages(name: str, drawn: Drawn) -> None:
    shown, html = drawn[name]
    pixels = image(html)
    height, width = pixels.shape[:2]
    assert 600 <= width <= 1000 and 100 <= height <= 700, "it fits a projector's notebook"
    ink = (pixels[..., :3] < 0.9).any(axis=-1)
    assert 0.005 < ink.mean() < 0.7, "neither blank nor covered"
    assert_nested(html)
    alternative = re.search(r'<img alt="([^"]*)"', html)
    assert alternative and re.search("[A-Za-z]{3}.* · .*[一-鿿]{2}", alternative[1])
    caption = html[html.index("<figcaption>") :]
    assert '<span lang="en">' in caption and '<span lang="zh-Hant">' in caption
    bundle = shown._repr_mimebundle_()
    assert bundle["text/plain"].startswith("figure: ") and "<" not in bundle["text/plain"]


@pytest.mark.parametrize("one", ["bars", "curves", "columns", "panels"])
def test_the_recording_is_named_beside_its_values(one: str, drawn: Drawn) -> None:
    alone, (beside, html) = drawn[one], drawn[f"{one} recorded"]
    assert "recorded on" not in alone[1].lower() and "紀錄" not in alone[1]
    assert html.count(RUN) == 2 and "參考紀錄：" in html
    if one not in ("bars", "panels"):  # their rows are named instead
        assert len(beside.figure.axes[0].get_legend_handles_labels()[1]) >= 2


def test_every_line_is_drawn(drawn: Drawn) -> None:
    labels = [line.get_label() for line in drawn["curves recorded"][0].figure.axes[0].lines]
    assert labels == ["CPU", "two threads", "CPU (recorded)（參考紀錄）", "GPU (recorded)（參考紀錄）"]
    here = {line.get_label(): [*line.get_ydata()] for line in drawn["curves"][0].figure.axes[0].lines}
    assert here == {name: ys for name, (_, ys) in LINES.items()}
    bars = drawn["bars"][0]
    assert "⟨300⟩" in bars.caption.en and "⟨300⟩" in bars.caption.zh, "marked"
    assert [bar.get_width() for bar in bars.figure.axes[0].patches] == [1.0e-5, 3.0e-3]
    for name, scales in {
        "curves": "log log",
        "linear curves": "log linear",
        "curves over steps": "linear linear",
    }.items():
        (part,) = drawn[name][0].figure.axes
        assert f"{part.get_xscale()} {part.get_yscale()}" == scales


def test_the_same_numbers_give_the_same_file_or_at_once_a_larger_one(drawn: Drawn) -> None:
    call = PICTURES["curves"][0]
    one, other = (figures.png(drawn_by(call, None).figure) for _ in range(2))
    assert one == other and b"Software" not in one
    shown, html = drawn["curves"]
    quick = shown.html(small=False)
    assert image(quick).shape[:2] == image(html).shape[:2] and len(quick) > len(html)


def test_panels_show_every_name_in_its_own_unit(drawn: Drawn) -> None:
    here, speed = drawn["panels"][0].figure.axes
    assert [label.get_text() for label in here.get_yticklabels()] == ["float64", "float32"]
    assert here.get_title() == "bytes per number\n每個數字的位元組" and speed.get_title() == "speed\n速度"
    texts = {text.get_text() for part in (here, speed) for text in part.texts}
    assert texts == {"8 B", "4 B", "76 GFLOP/s", "159 GFLOP/s"}
    assert [bar.get_width() for bar in here.patches] == [8.0, 4.0]
    upper, _, lower, _ = drawn["panels recorded"][0].figure.axes
    assert [label.get_text() for label in lower.get_yticklabels()] == ["float64", "float32", "float8"]
    assert upper.get_ylabel() == "here · 這台機器" and "recorded" in lower.get_ylabel()


def test_stacked_layers_lie_end_to_end(drawn: Drawn) -> None:
    part = drawn["stacked"][0].figure.axes[0]
    bars = [(bar.get_x(), bar.get_width()) for bar in part.patches]
    assert bars == [(0, 4e6), (0, 4e6), (4e6, 0), (4e6, 8e6)]
    assert [text.get_text().strip() for text in part.texts] == ["4 MB", "12 MB"]
    assert "⟨12 MB⟩" in drawn["stacked"][0].caption.zh


WORDS = [name for name in PICTURES if name.endswith("with words")]


@pytest.mark.parametrize("name", WORDS)
def test_a_label_of_words_is_drawn_and_named_in_both_languages(name: str, drawn: Drawn) -> None:
    shown = drawn[name][0]
    lettering = "slow, mixed · 慢，混合精度" if name.startswith("curves") else "slow, mixed\n慢，混合精度"
    part = shown.figure.axes[0]
    legend = part.get_legend()
    texts = [*part.get_xticklabels(), *part.get_yticklabels(), *(legend.get_texts() if legend else ())]
    assert lettering in [text.get_text() for text in texts]
    if not name.startswith(("curves", "panels")):  # their captions name no line
        assert "slow, mixed" in shown.caption.en and "慢，混合精度" in shown.caption.zh
        assert "慢" not in shown.caption.en and "slow" not in shown.caption.zh


def test_recorded_names_are_found_and_shown_also_of_words_and_those_that_are_missing_here(
    drawn: Drawn,
) -> None:
    rows = [label.get_text() for label in drawn["bars with words"][0].figure.axes[0].get_yticklabels()]
    assert "slow, mixed · 慢，混合精度 (recorded)（參考紀錄）" in rows
    for name, expected in {
        "columns with words": ["slow, mixed\n慢，混合精度", "fast"], "columns recorded": ["float32", "bfloat16"],
    }.items():  # fmt: skip
        assert [label.get_text() for label in drawn[name][0].figure.axes[0].get_xticklabels()] == expected
    assert "慢，混合精度：⟨4 MB⟩；Adam：⟨2 MB⟩" in drawn["stacked with words"][0].caption.zh
    assert "⟨慢，混合精度：2 s；fast：1 s⟩" in drawn["columns with words"][0].caption.zh


# --- what lessons call --------------------------------------------------------------------------------


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found: list[Any] = []
    monkeypatch.setattr(run_mode, "note", lambda *what: found.append(what))
    monkeypatch.setattr(recordings, "recorded", lambda _: None)
    for module in (figures.charts, charts):
        monkeypatch.setattr(module, "text", lambda *_: TEXT)
    return found


def test_what_is_modelled_is_not_recorded() -> None:
    for values in ({"seconds": [1.0, Seconds(2.0)]}, {"panels": {"a": {"b": Seconds(1.0)}}}):
        assert _measured_only(values) == {}
    assert _measured_only({"seconds": [1.0]}) == {"seconds": [1.0]}


def test_what_is_measured_is_shown_and_noted(shown: list[Any], noted: list[Any]) -> None:
    figures.bars("loops", COMPARED, labels=("a", "b"))
    modelled = {"GPU": ([16, 32], [Seconds(1e-6), Seconds(2e-6)])}  # drawn, and not recorded
    figures.curves("crossover", {"CPU": ([16, 32], [1e-6, 2e-6])} | modelled)
    figures.curves("crossover", modelled)
    columns("dtypes", {"float32": 1, "float16": 30.0})
    panels("formats", {"bytes": {"float32": 4}, "speed": {"float32": torch.tensor(2.0)}})
    stacked("memory", {"Adam": {"bytes": 12.0}})  # counted, not measured
    assert [type(displayed) for displayed in shown] == [Picture] * 6
    names = [line.get_label() for line in shown[1].figure.axes[0].lines]
    assert names[0] == "CPU" and "modelled" in names[1] and "推算值" in names[1]
    assert noted == [
        ("curve", "loops", {"seconds": [3.0e-3, 1.0e-5], "ratio": 300.4, "labels": ["a", "b"]}),
        ("curve", "crossover", {"lines": {"CPU": [[16.0, 32.0], [1e-6, 2e-6]]}}),
        ("curve", "dtypes", {"values": {"float32": 1.0, "float16": 30.0}}),
        ("curve", "formats", {"panels": {"bytes": {"float32": 4.0}, "speed": {"float32": 2.0}}}),
    ]


def test_values_without_texts_are_refused(shown: list[Any], noted: list[Any]) -> None:
    words = r"has texts for \['bytes', 'speed'\], but got values for \['bytes'\]"
    with pytest.raises(ValueError, match=words):
        panels("formats", {"bytes": {"float32": 4}})
    with pytest.raises(ValueError, match=r"but got \['weights'\]"):
        stacked("memory", {"Adam": {"weights": 12.0}})
    assert not shown and not noted


def test_a_figure_of_ones_own(shown: list[Any]) -> None:
    figure, _ = figures.new(columns=2, sharey=True)
    figures.show(figure, caption=CAPTION, alternative=Bilingual('a "line"', "一條線"))
    html = shown[0].html()
    assert_nested(html)
    assert 'alt="a &quot;line&quot; · 一條線"' in html and "<code>code</code>" in html


@tabled
def test_numbers_have_three_digits_and_a_unit(
    call: str, number: float, written: str, unit: str | None
) -> None:
    given = (number,) if unit is None else (number, unit)
    assert getattr(units, call)(*given) == written


def test_an_axis_in_percent_has_no_prefixes() -> None:
    figure, axes = figures.new()
    axes.plot([1, 2], [0.4, 80])
    figures.logarithmic(axes.yaxis, "%")
    figure.canvas.draw()
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert "1%" in labels and not any("m%" in label for label in labels)


# --- glyphs -------------------------------------------------------------------------------------------


def test_every_chinese_character_of_the_course_has_a_glyph() -> None:
    needed = characters()
    assert len(needed) > 500, "the texts were not found"
    drawn = TTFont(TARGET).getBestCmap()
    missing = {character for character in needed if ord(character) not in drawn}
    assert not missing, f"make the subset again (python -m tools.font …): {''.join(sorted(missing))}"


def test_the_characters_are_looked_for_everywhere(tmp_path: Path) -> None:
    names = "course_utils/a.py notebooks/lesson_01/texts.toml notebooks/01_a.ipynb course_utils/glossary.csv"
    for name in names.split():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(chr(0x4E00 + len(name)) + "a，", encoding="utf-8")
    assert len(characters(tmp_path)) == 5
    assert [character for character in "a，é中·「" if is_cjk(character)] == ["，", "中", "「"]


def test_the_licence_of_the_font_is_in_it() -> None:
    names = {record.nameID: str(record) for record in TTFont(TARGET)["name"].names}
    assert "Open Font License" in names[13] and "Noto Sans CJK TC" in names[4]
    assert TARGET.stat().st_size < 400_000


@pytest.mark.parametrize("text", ["bits", "位元 · bits"])
def test_labels_are_drawn_with_the_shipped_font_and_no_warning_if_bold(
    text: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It has one weight; on a machine without Chinese fonts matplotlib logs that it is not bold."""
    figure, axes = figures.new()
    axes.set_title(text, fontweight="bold")
    axes.text(0.1, 0.5, text)
    figures.png(figure)
    title, inside = axes.title.get_fontfamily(), axes.texts[0].get_fontfamily()
    assert title == inside[: len(title)] and inside[0] == "DejaVu Sans" and "CJK" in inside[1]
    assert not caplog.records


def test_a_character_outside_the_subset_is_noticed() -> None:
    """Without this warning the other tests here would pass on empty boxes."""
    figure, axes = figures.new()
    axes.set_title("\U00020000")  # a rare character that no lesson uses
    with pytest.raises(UserWarning, match="Glyph .* missing"):
        figures.png(figure)


def test_the_style_leaves_matplotlib_alone() -> None:
    before = dict(mpl.rcParams)
    figures.png(figures.new()[0])
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("vary, line", [(False, "lines b: 1 points"), (True, "⟨lines b: 1 points⟩")])
def test_a_picture_says_in_its_plain_text_which_series_it_shows(
    vary: bool, line: str, shown: list[Any]
) -> None:
    show_measured("n", {"lines": {"b": [[1], [2]]}}, lambda _: new()[0], CAPTION, CAPTION, series_vary=vary)
    assert shown[0]._repr_mimebundle_()["text/plain"].splitlines()[1] == line
