"""Explorers over their whole grid of choices: real properties, one number by hand each, and the widget itself."""

from __future__ import annotations

import itertools
import json
import math
import os
import re
from dataclasses import replace
from typing import Any

import ipywidgets
import numpy as np
import pytest
import torch
from html_nesting import assert_nested
from lesson_cells import calls

from course_utils import explorers
from course_utils.explorers import (
    Control,
    Explorer,
    batch_size,
    batch_split,
    copy_pipeline,
    hidden_waits,
    matmul_crossover,
    module_belongings,
    number_formats,
    parallel_traffic,
    ring_all_reduce,
    roofline_model,
    scaling_efficiency,
    stream_overlap,
    transfer_cost,
    visible_devices,
)
from course_utils.language import Bilingual, plain
from course_utils.processes import run_fresh

SIZES = [16, 32, 64, 128, 256, 512, 1024, 2048]
CURVE = (SIZES, [2e-6 + 2 * n**3 / 60e9 for n in SIZES])  # a processor with 60 GFLOP/s
CALL, SPEED = 2e-6, 5e9
FLOPS, BANDWIDTH = 70e9, 10e9
STEPS = ([1, 4, 16, 64, 256, 1024], [1.01e-3, 1.04e-3, 1.16e-3, 1.64e-3, 3.56e-3, 11.24e-3])
COPY, WORK = 5e-3, 4e-3
STEP_BYTES = ([16, 64, 256], [1.1e6, 1.4e6, 2.6e6])

ALL: dict[str, Explorer] = {
    "crossover": matmul_crossover.explorer(CURVE),
    "visibility": visible_devices.EXPLORER,
    "transfer": transfer_cost.explorer(CALL, SPEED),
    "belongings": module_belongings.EXPLORER,
    "numbers": number_formats.EXPLORER,
    "roofline": roofline_model.explorer(FLOPS, BANDWIDTH),
    "batch": batch_size.explorer(STEPS, STEP_BYTES),
    "pipeline": copy_pipeline.explorer(COPY, WORK),
    "waits": hidden_waits.EXPLORER,
    "streams": stream_overlap.EXPLORER,
    "split": batch_split.EXPLORER,
    "traffic": parallel_traffic.EXPLORER,
    "ring": ring_all_reduce.EXPLORER,
    "scaling": scaling_efficiency.explorer(),
}


def test_every_explorer_of_the_lessons_is_tested() -> None:
    public = {name for name in vars(explorers) if name in ALL}
    used = {call.func.attr for _, call in calls(*(f"explorers.{name}" for name in ALL))}  # type: ignore[attr-defined]
    assert public == set(ALL) and used == set(ALL)
    modules = {explorer.compute.__module__ for explorer in ALL.values()}
    shipped = {
        path.stem
        for path in explorers.__spec__.loader.get_resource_reader("course_utils.explorers").files().iterdir()
    }  # type: ignore[union-attr]
    assert {module.rsplit(".", 1)[1] for module in modules} == shipped - {"__init__", "__pycache__"}


# --- every explorer -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_every_choice_computes(name: str) -> None:
    grid = list(ALL[name].grid())
    assert len(grid) == math.prod(len(control.options) for control in ALL[name].controls) > 10
    assert ALL[name].defaults() in grid
    for choices in grid:
        ALL[name].compute(**choices)


@pytest.mark.parametrize("name", ALL)
def test_pictures_and_their_texts(name: str) -> None:
    """All of the table; of the drawn ones the default and the last value of each control, for they take long."""
    explorer = ALL[name]
    defaults = explorer.defaults()
    sample = [defaults | {control.name: control.options[-1][1]} for control in explorer.controls]
    for choices in list(explorer.grid()) if name == "belongings" else [defaults, *sample]:
        html = explorer.html(**choices)
        assert_nested(html)
        if "<img" in html:
            assert re.search(r'<img alt="[^"]*[A-Za-z][^"]* · [^"]*[一-鿿][^"]*" src="data:image/png', html)
        assert 'lang="en"' in html and 'lang="zh-Hant"' in html


@pytest.mark.parametrize("name", ALL)
def test_labels_are_the_same_in_every_language(name: str) -> None:
    for control in ALL[name].controls:
        options = [text for text, _ in control.options]
        assert control.default in options and len(set(options)) == len(options)
        assert not any(re.search("[一-鿿]", text) for text in options)
        assert plain(control.label.en) and plain(control.label.zh)


def inputs_of(box: Any) -> list[Any]:
    kinds = (ipywidgets.SelectionSlider, ipywidgets.Dropdown)
    found = [box] if isinstance(box, kinds) else []
    return found + [w for child in getattr(box, "children", ()) for w in inputs_of(child)]


def show(name: str) -> None:
    if name == "crossover":
        explorers.crossover(CURVE)
    elif name == "transfer":
        explorers.transfer(CALL, SPEED)
    elif name == "roofline":
        explorers.roofline(FLOPS, BANDWIDTH)
    elif name == "batch":
        explorers.batch(STEPS, STEP_BYTES)
    elif name == "pipeline":
        explorers.pipeline(COPY, WORK)
    else:
        getattr(explorers, name)()


@pytest.mark.parametrize("name", ALL)
def test_a_lesson_shows_it(name: str, shown: list[Any]) -> None:
    show(name)
    bundle = shown[-1]._repr_mimebundle_()
    assert bundle["text/html"] == shown[-1].widget.children[-1].value, "live and static view start the same"
    assert bundle["text/plain"].startswith(f"explorer: {plain(ALL[name].title.en)}")
    assert len(inputs_of(shown[-1].widget)) == len(ALL[name].controls)


@pytest.mark.parametrize("name", ALL)
def test_moving_a_control_changes_the_view(name: str, shown: list[Any]) -> None:
    explorer = replace(ALL[name], render=repr)  # the drawing is tested above
    explorer.show()
    box = shown[-1].widget
    view = box.children[-1]
    choices = explorer.defaults()
    assert view.value == explorer.html(**choices)
    for widget, control in zip(inputs_of(box), explorer.controls, strict=True):
        for index in (0, len(control.options) - 1):
            widget.index = index
            choices[control.name] = control.options[index][1]
            assert view.value == explorer.html(**choices)


def test_an_error_in_a_callback_is_seen(shown: list[Any]) -> None:
    """The front end would only log it."""
    choose = Control("n", Bilingual("n", "n"), [("0", 0), ("1", 1)], "1", slider=False)
    Explorer(Bilingual("a", "甲"), (choose,), lambda n: 1 / n, str).show()
    box = shown[-1].widget
    with pytest.raises(ZeroDivisionError):
        inputs_of(box)[0].index = 0
    assert "ZeroDivisionError" in box.children[-1].value
    inputs_of(box)[0].index = 1
    assert box.children[-1].value == "1.0", "the next choice works again"


# --- crossover ----------------------------------------------------------------------------------------


def wins(**choices: Any) -> float:
    found = matmul_crossover.compute(CURVE, **choices).wins_from
    return math.inf if found is None else found


def test_crossover_by_hand() -> None:
    """At n = 1000: 10 µs to launch, 2e9 operations at 8e12/s, 12e6 bytes over 12e9 B/s."""
    result = matmul_crossover.compute(([100, 1000], [1e-4, 1e-1]), launch=10e-6, speed=8e12, link=12e9)
    place = int(np.argmin(np.abs(result.sizes - 1000)))
    n = int(result.sizes[place])
    assert result.gpu[place] == pytest.approx(10e-6 + 2 * n**3 / 8e12 + 12 * n**2 / 12e9)
    assert result.cpu[place] == pytest.approx(1e-1 * (n / 1000) ** 3, rel=1e-6)


def test_small_products_are_bound_by_memory_and_large_ones_by_arithmetic() -> None:
    result = matmul_crossover.compute(CURVE, launch=0.0, speed=50e12, link=None)
    turning = 6 * 50e12 / matmul_crossover.MEMORY  # 2 n³ / speed = 12 n² / memory
    small, large = result.sizes < 0.9 * turning, result.sizes > 1.1 * turning
    assert np.allclose(
        result.gpu[small], 12.0 * result.sizes[small].astype(float) ** 2 / matmul_crossover.MEMORY
    )
    assert np.allclose(result.gpu[large], 2.0 * result.sizes[large].astype(float) ** 3 / 50e12)
    assert small.any() and large.any()


def test_the_measured_points_are_on_the_line() -> None:
    result = matmul_crossover.compute(CURVE, launch=1e-5, speed=8e12, link=None)
    for size, seconds in zip(*CURVE, strict=True):
        nearest = int(np.argmin(np.abs(result.sizes - size)))
        n = result.sizes[nearest]
        assert result.cpu[nearest] == pytest.approx(2e-6 + 2 * n**3 / 60e9, rel=0.35)
        assert seconds in result.cpu_points[1]
    assert np.all(np.diff(result.cpu) > 0), "time grows with size"


def test_the_gpu_is_ahead_from_the_crossover_on_and_not_just_before() -> None:
    for choices in ALL["crossover"].grid():
        result = matmul_crossover.compute(CURVE, **choices)
        ahead = result.gpu < result.cpu
        if result.wins_from is None:
            assert not ahead[-1]
        else:
            place = int(np.flatnonzero(result.sizes == result.wins_from)[0])
            assert ahead[place:].all() and (place == 0 or not ahead[place - 1])


@pytest.mark.parametrize("name, worse_last", [("launch", True), ("speed", False)])
def test_a_worse_gpu_never_wins_earlier(name: str, worse_last: bool) -> None:
    explorer = ALL["crossover"]
    values = [value for _, value in next(c for c in explorer.controls if c.name == name).options]
    others = [c for c in explorer.controls if c.name != name]
    for rest in itertools.product(*([value for _, value in c.options] for c in others)):
        fixed = dict(zip((c.name for c in others), rest, strict=True))
        found = [wins(**fixed, **{name: value}) for value in values]
        assert found == sorted(found, reverse=not worse_last)


def test_a_slower_link_never_wins_earlier_and_none_is_best() -> None:
    for launch, speed in itertools.product((2e-6, 10e-6, 50e-6), (0.5e12, 8e12, 50e12)):
        found = [wins(launch=launch, speed=speed, link=link) for link in (None, 55e9, 25e9, 12e9, 6e9)]
        assert found == sorted(found)


def test_the_choices_matter() -> None:
    """What the lesson asks the learner to try has an effect on an ordinary processor."""
    usual = {"launch": 10e-6, "speed": 8e12, "link": None}
    assert wins(**usual | {"launch": 50e-6}) > wins(**usual)
    assert wins(**usual | {"link": 6e9}) > wins(**usual)


@pytest.mark.parametrize(
    "curve", [([16], [1e-6]), ([32, 16], [1e-6, 1e-6]), ([16, 16], [1e-6, 1e-6]), ([], [])]
)
def test_a_curve_that_is_none_is_refused(curve: Any) -> None:
    with pytest.raises(ValueError, match="two ascending sizes"):
        matmul_crossover.compute(curve, launch=1e-5, speed=1e12, link=None)


# --- visibility ---------------------------------------------------------------------------------------

BY_HAND = {
    # value: what a program sees on a machine with 1, 2, 3 and 4 GPUs
    "(unset)": [(0,), (0, 1), (0, 1, 2), (0, 1, 2, 3)],
    "0": [(0,)] * 4,
    "1": [(), (1,), (1,), (1,)],
    "1,0": [(), (1, 0), (1, 0), (1, 0)],
    "2,0": [(), (), (2, 0), (2, 0)],
    "0,-1,1": [(0,)] * 4,
    "0,0": [()] * 4,
    "3": [(), (), (), (3,)],
    "-1": [()] * 4,
    "all": [()] * 4,
    '""': [()] * 4,
}


def test_visibility_by_hand() -> None:
    assert set(BY_HAND) == set(visible_devices.VALUES)
    for value, rows in BY_HAND.items():
        for count, visible in enumerate(rows, start=1):
            assert visible_devices.compute(value=value, count=count).visible == visible, (value, count)


def test_visibility_is_what_pytorchs_parser_says_in_a_fresh_process() -> None:
    """The variable is set before the process starts, as the lesson says it must be."""
    code = "import json, torch; print(json.dumps(torch.cuda._parse_visible_devices()))"
    parsed = json.loads(run_fresh(code, CUDA_VISIBLE_DEVICES="2,0,-1,1"))
    seen = tuple(index for index in parsed if index >= 0)
    assert visible_devices.compute(value="2,0,-1,1", count=4).visible == seen == (2, 0)


def test_visibility_properties() -> None:
    for value in visible_devices.VALUES:
        before: tuple[int, ...] = ()
        for count in (1, 2, 3, 4):
            visible = visible_devices.compute(value=value, count=count).visible
            assert len(set(visible)) == len(visible) and all(0 <= index < count for index in visible)
            assert visible[: len(before)] == before, "another GPU in the machine takes nothing away"
            before = visible


@pytest.mark.parametrize("mine", [None, "1,2", ""])
def test_the_learners_own_variable_stays(mine: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if mine is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", mine)
    for value in visible_devices.VALUES:
        visible_devices.compute(value=value, count=2)
        assert os.environ.get("CUDA_VISIBLE_DEVICES") == mine


def test_the_variable_is_put_back_when_the_parser_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")

    def broken() -> None:
        raise RuntimeError("on purpose")

    monkeypatch.setattr(torch.cuda, "_parse_visible_devices", broken)
    with pytest.raises(RuntimeError):
        visible_devices.compute(value="0", count=1)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "7"


def test_the_picture_says_who_is_who() -> None:
    html = visible_devices.EXPLORER.html(value="2,0", count=3)
    assert "cuda:0 = GPU 2, cuda:1 = GPU 0" in html and "<code>CUDA_VISIBLE_DEVICES=2,0</code>" in html


# --- transfer -----------------------------------------------------------------------------------------


def test_transfer_by_hand() -> None:
    """4 MB in 1000 calls of 2 µs over 5 GB/s: 2 ms for the calls, 0.8 ms for the way."""
    result = transfer_cost.compute(2e-6, 5e9, size=4_000_000, pieces=1000)
    assert result.calls == pytest.approx(2e-3) and result.way == pytest.approx(0.8e-3)
    assert result.share == pytest.approx(2 / 2.8)
    html = transfer_cost.explorer(2e-6, 5e9).html(size=4_000_000, pieces=1000)
    assert "2.8 ms" in html and "71%" in html and "4 MB" in html


def test_the_cost_is_the_sum_of_two_terms_everywhere() -> None:
    for choices in ALL["transfer"].grid():
        result = transfer_cost.compute(CALL, SPEED, **choices)
        assert result.calls + result.way == pytest.approx(choices["pieces"] * CALL + choices["size"] / SPEED)
        assert np.allclose(result.all_seconds, result.all_pieces * CALL + choices["size"] / SPEED)
        assert np.all(np.diff(result.all_seconds) > 0) and result.all_seconds[0] > result.way
        assert 0 < result.share < 1


@pytest.mark.parametrize("bad", [{"size": 0}, {"pieces": 0}, {"pieces": -1}])
def test_a_transfer_of_nothing_is_refused(bad: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="positive numbers"):
        transfer_cost.compute(CALL, SPEED, **{"size": 1, "pieces": 1} | bad)
    with pytest.raises(ValueError, match="positive numbers"):
        transfer_cost.compute(0.0, SPEED, size=1, pieces=1)


# --- belongings ---------------------------------------------------------------------------------------

TABLE = {
    # way: (comes along, is trained, is saved)
    "nn.Linear": (True, True, True),
    "nn.Parameter": (True, True, True),
    "register_buffer": (True, False, True),
    "persistent=False": (True, False, False),
    "tensor": (False, False, False),
    "list": (False, False, False),
    "nn.ModuleList": (True, True, True),
    "dict": (False, False, False),
}


@pytest.mark.parametrize("move", module_belongings.MOVES)
@pytest.mark.parametrize("way", module_belongings.WAYS)
def test_belongings(way: str, move: str) -> None:
    result = module_belongings.compute(way=way, move=move)
    assert (result.moved, result.trained, result.saved) == TABLE[way]


def test_the_code_that_is_shown_is_the_code_that_ran() -> None:
    html = module_belongings.EXPLORER.html(way="list", move=".half()")
    assert "self.part = [nn.Linear(2, 2)]" in html and "module.half()" in html
    assert html.count("✗") == 6 and "✓" not in html  # three rows, both languages
