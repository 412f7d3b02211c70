"""Lesson 05's own helpers: pretended places, networks, the live figure, timelines on one scale, its DataParallel."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Callable
from typing import Any

import IPython.display
import pytest
import torch
from html_nesting import assert_nested
from lesson_cells import cells
from torch import nn

from course_utils import evidence, lanes, live
from course_utils.exercises import Wrong, data_parallel
from course_utils.exercises.data_parallel import Places, placed
from course_utils.figures import png
from course_utils.live import Live
from course_utils.models import BasicBlock, lenet, resnet18
from course_utils.timeline import Span, Timeline

pytestmark = pytest.mark.usefixtures("no_warnings")


# --- pretended places ----------------------------------------------------------------------------------


def gpu(k: int, *values: float) -> torch.Tensor:
    return placed(torch.tensor(values), f"cuda:{k}")


def test_a_placed_tensor_says_where_it_is_and_what_is_computed_from_it_stays_there() -> None:
    with Places():
        a = gpu(1, 1, 2)
        made = [
            a + 1,
            2 * a,
            a.sum(),
            a.clone(),
            torch.zeros_like(a),
            a[0],
            a.view(2, 1),
            torch.stack([a, a]),
        ]
        assert {t.device for t in [a, *made]} == {torch.device("cuda:1")}
        assert torch.zeros(3, device=a.device).device == a.device
        assert [piece.device for piece in a.chunk(2)] == [a.device] * 2
        a.chunk(2)[1].add_(5)
        assert a.tolist() == [1, 7], "a view shares the memory"


@pytest.mark.parametrize("to", [
    lambda t, o: t.to(o.device), lambda t, o: t.to("cuda:1"), lambda t, o: t.to(1), lambda t, o: t.to(o),
    lambda t, o: t.to(device="cuda:1"), lambda t, o: t.to(o.device, non_blocking=True), lambda t, o: t.cuda(1),
    lambda t, o: t.to(o.device, torch.float64).float(), lambda t, o: t.cpu().to(o.device),
])  # fmt: skip
def test_every_way_of_moving_moves(to: Callable[[Any, Any], Any]) -> None:
    with Places():
        t, other = gpu(0, 1, 2), gpu(1, 10, 20)
        moved = to(t, other)
        assert moved.device == other.device and (moved + other).tolist() == [11, 22]
        moved.add_(1)
        assert t.tolist() == [1, 2] and t.device == torch.device("cuda:0"), "a copy"


def test_to_the_same_place_is_the_tensor_itself() -> None:
    with Places():
        t = gpu(0, 1, 2)
        assert t.to("cuda:0") is t and t.to("cuda") is t and t.to(t) is t
        assert t.to("cuda:0", copy=True) is not t


@pytest.mark.parametrize("mix", [
    lambda a, b: a + b, lambda a, b: a.add_(b), lambda a, b: torch.stack([a, b]), lambda a, b: torch.cat((a, b)),
    lambda a, b: sum([a, b]), lambda a, b: a + torch.ones(2), lambda a, b: torch.add(a, other=b),
])  # fmt: skip
def test_two_places_do_not_mix(mix: Callable[[Any, Any], Any]) -> None:
    with Places(), pytest.raises(Wrong, match="2 devices at once"):
        mix(gpu(0, 1, 2), gpu(1, 3, 4))


def test_what_may_cross_crosses() -> None:
    with Places():
        a, b = gpu(0, 1, 2), gpu(1, 3, 4)
        a.copy_(b)
        assert a.tolist() == [3, 4] and a.device == torch.device("cuda:0")
        b[:] = torch.tensor([5.0, 6.0])
        assert b.tolist() == [5, 6]
        assert (a + torch.tensor(1.0)).tolist() == [4, 5], "a single number may be anywhere"


def ring(tensors: list[torch.Tensor]) -> None:
    n = len(tensors)
    pieces = [list(t.view(-1).chunk(n)) for t in tensors]
    for turn in range(n - 1):
        for i in range(n):
            k, target = (i - turn) % n, tensors[(i + 1) % n]
            pieces[(i + 1) % n][k] += pieces[i][k].to(target.device)
    for turn in range(n - 1):
        for i in range(n):
            pieces[(i + 1) % n][(i + 1 - turn) % n].copy_(pieces[i][(i + 1 - turn) % n])


def in_the_first(tensors: list[torch.Tensor]) -> None:
    for t in tensors[1:]:
        tensors[0][:] += t.to(tensors[0].device)
    for t in tensors[1:]:
        t[:] = tensors[0].to(t.device)


def on_the_host(tensors: list[torch.Tensor]) -> None:
    total = torch.stack([t.cpu() for t in tensors]).sum(0)
    for t in tensors:
        t.copy_(total)


def in_a_new_one(tensors: list[torch.Tensor]) -> None:
    total = torch.zeros(tensors[0].shape, device=tensors[0].device, dtype=tensors[0].dtype)
    for t in tensors:
        total += t.to(device=total.device)
    for t in tensors:
        t.data[...] = total


def reduced(tensors: list[torch.Tensor]) -> None:
    total = functools.reduce(torch.add, [t.to(tensors[-1].device) for t in tensors])
    for t in tensors:
        t.copy_(total)


@pytest.mark.parametrize("way", [ring, in_the_first, on_the_host, in_a_new_one, reduced])
def test_any_right_all_reduce_passes(way: Callable[[list[torch.Tensor]], None]) -> None:
    data_parallel.examine_all_reduce(way)


@pytest.mark.parametrize("way", [
    lambda g, n: sum(a * b for a, b in zip(g, n, strict=True)) / sum(n),
    lambda g, n: torch.einsum("i...,i->...", torch.stack(g), torch.tensor(n, dtype=torch.float64) / sum(n)),
])  # fmt: skip
def test_any_right_combination_passes(way: Callable[..., Any]) -> None:
    data_parallel.examine_uneven(way)


# --- networks ------------------------------------------------------------------------------------------


def test_lenet_has_the_classic_sizes() -> None:
    x, shapes = torch.zeros(2, 1, 28, 28), []
    for layer in lenet():
        x = layer(x)
        shapes.append(tuple(x.shape[1:]))
    assert list(dict.fromkeys(shapes)) == [
        (6, 28, 28), (6, 14, 14), (16, 10, 10), (16, 5, 5), (400,), (120,), (84,), (10,)
    ]  # fmt: skip
    assert sum(p.numel() for p in lenet().parameters()) == 156 + 2416 + 48120 + 10164 + 850


def test_the_lessons_lenet_is_the_packages() -> None:
    namespace: dict[str, Any] = {}
    source = next(c.text for c in cells("code") if c.id == "hand-lenet")
    function = next(n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef) and n.name == "lenet")
    exec("import torch\nfrom torch import nn\n" + ast.unparse(function), namespace)
    torch.manual_seed(0)
    ours = lenet().state_dict()
    assert str(namespace["lenet"]()) == str(lenet())
    assert all(torch.equal(a, ours[name]) for name, a in namespace["lenet"]().state_dict().items())


def test_resnet_by_hand() -> None:
    """Convolutions without bias, BatchNorm with two numbers per channel, stages of 64, 128, 256 and 512 channels."""
    stem = 9 * 64 + 128
    first = 2 * (2 * 9 * 64 * 64 + 2 * 128)
    others = sum(
        9 * c * 2 * c + 3 * 9 * 2 * c * 2 * c + c * 2 * c + 5 * 2 * 2 * c for c in (64, 128, 256)
    )  # two blocks; the shortcut of the first is a convolution of 1 × 1 with its own BatchNorm
    assert sum(p.numel() for p in resnet18().parameters()) == stem + first + others + 512 * 10 + 10
    model = resnet18(width=4)
    assert sum(isinstance(m, BasicBlock) for m in model) == 8
    deep = [m for m in model.modules() if isinstance(m, (nn.Conv2d, nn.Linear))]
    assert len([m for m in deep if getattr(m, "kernel_size", (3, 3)) != (1, 1)]) == 18, "layers with weights"
    for size in (8, 28):
        assert model(torch.zeros(2, 1, size, size)).shape == (2, 10)
    x, heights = torch.zeros(2, 1, 28, 28), []
    for part in model[:11]:
        x = part(x)
        heights.append(x.shape[-1])
    assert list(dict.fromkeys(heights)) == [28, 14, 7, 4] and x.shape[1] == 8 * 4


# --- the lesson's own DataParallel ---------------------------------------------------------------------

BUILT = ("hand-scatter-try", "hand-apply-build", "wrap-class")


@pytest.fixture(scope="module")
def lesson() -> dict[str, Any]:
    """Return what the lesson builds: scatter, parallel_apply, gather and ByHand."""
    from concurrent.futures import ThreadPoolExecutor

    namespace: dict[str, Any] = {"torch": torch, "nn": nn, "ThreadPoolExecutor": ThreadPoolExecutor}
    source = {c.id: c.text for c in cells("code") if c.lesson == "05"}
    exec("import copy", namespace)
    for name in BUILT:
        body = [n for n in ast.parse(source[name]).body if not isinstance(n, (ast.For, ast.Expr))]
        exec(compile(ast.Module(body, []), name, "exec"), namespace)
    return namespace


@pytest.mark.parametrize("batch", [1, 2, 7, 30])
@pytest.mark.parametrize("devices", [1, 2, 3, 8])
def test_by_hand_is_one_device(lesson: dict[str, Any], batch: int, devices: int) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    x, y = torch.rand(batch, 6, dtype=torch.float64), torch.randint(3, (batch,))
    found = []
    for net in (model, lesson["ByHand"](model, [torch.device("cpu")] * devices)):
        net.zero_grad()
        out = net(x)
        nn.functional.cross_entropy(out, y).backward()
        found.append([out.detach(), *(p.grad.clone() for p in model.parameters())])
    assert all(torch.allclose(a, b, atol=1e-14) for a, b in zip(*found, strict=True))


def test_a_thread_of_the_lesson_inherits_no_grad(lesson: dict[str, Any]) -> None:
    model, pieces = nn.Linear(4, 2), [torch.rand(3, 4)] * 2
    with torch.no_grad():
        assert not any(out.requires_grad for out in lesson["parallel_apply"]([model, model], pieces))
    assert all(out.requires_grad for out in lesson["parallel_apply"]([model, model], pieces))


def test_by_hand_trains_and_saves_like_the_real_one(lesson: dict[str, Any]) -> None:
    net = lesson["ByHand"](nn.BatchNorm1d(2), [torch.device("cpu")] * 2)
    assert list(net.state_dict()) == list(nn.DataParallel(nn.BatchNorm1d(2)).state_dict())
    net(torch.rand(8, 2))
    assert net.module.num_batches_tracked.item() == 1, "counted by the first copy alone"


def test_an_error_in_a_copy_comes_out(lesson: dict[str, Any]) -> None:
    net = lesson["ByHand"](nn.BatchNorm1d(2), [torch.device("cpu")] * 3)
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        net(torch.rand(7, 2))
    with pytest.raises(RuntimeError, match="must be on cpu"):
        lesson["ByHand"](nn.Linear(2, 2).to("meta"), [torch.device("cpu")])(torch.rand(1, 2))


# --- pictures ------------------------------------------------------------------------------------------

WAYS = {
    "slow": Timeline([Span("device 0", "A", 5.0, 5.004), Span("device 1", "B", 5.004, 5.010)]),
    "fast": Timeline([Span("device 1", "B", 0.0, 0.003), Span("device 0", "A", 0.0, 0.002)]),
}


def test_timelines_share_a_scale(shown: list[Any]) -> None:
    lanes.timelines("three_ways", WAYS)
    (drawn,) = shown
    page = drawn.html()
    assert_nested(page)
    assert "slow 10 ms, fast 3 ms" in page and png(drawn.figure).startswith(b"\x89PNG")
    above, below = drawn.figure.axes
    assert above.get_xlim() == below.get_xlim()
    assert [above.get_title(loc="left"), below.get_title(loc="left")] == ["slow", "fast"]
    for axes in (above, below):
        assert [t.get_text() for t in axes.get_yticklabels()] == ["device 1", "device 0"], "0 at the top"
    with pytest.raises(ValueError, match="at least one"):
        lanes.timelines("three_ways", {})


class Handle:
    """What ``display(…, display_id=True)`` returns."""

    def __init__(self) -> None:
        self.updates: list[Any] = []

    def update(self, picture: Any) -> None:
        self.updates.append(picture)


@pytest.fixture
def handle(monkeypatch: pytest.MonkeyPatch) -> Handle:
    made, first = Handle(), []

    def display(picture: Any, display_id: bool) -> Handle:
        assert display_id is True and not first, "displayed once"
        first.append(picture)
        made.updates.append(picture)
        return made

    monkeypatch.setattr(IPython.display, "display", display)
    return made


def compared(picture: Any) -> tuple[str, str]:
    """Return what the notebook checks compare of a picture."""
    bundle = picture._repr_mimebundle_()
    html = re.sub(r'<span class="measured">[^<]*</span>|base64,[^"]*', "", bundle["text/html"])
    return html, bundle["text/plain"]


def test_a_live_figure_is_drawn_anew_in_the_same_words(
    handle: Handle, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[Any] = []
    monkeypatch.setattr(evidence, "note", lambda *what: noted.append(what))
    figure = Live("resnet", 2)
    figure.add("one device", accuracy=50.0, seconds=2.5)
    figure.add("one device", accuracy=75.0, seconds=2.0)
    figure.add("parallel", accuracy=60.0, seconds=4.0)
    assert len(handle.updates) == 4
    assert len({compared(picture) for picture in handle.updates}) == 1, (
        "nbval sees the first, the file the last"
    )
    for picture in handle.updates:
        assert_nested(picture.html())
        assert png(picture.figure).startswith(b"\x89PNG")
    assert "one device: 75, 2 s; parallel: 60, 4 s" in handle.updates[-1].html()
    left, right = handle.updates[-1].figure.axes
    assert [list(line.get_ydata()) for line in left.lines] == [[50, 75], [60]]
    assert [list(line.get_ydata()) for line in right.lines] == [[2.5, 2.0], [4.0]]
    assert left.get_xlim() == handle.updates[0].figure.axes[0].get_xlim() == (0.5, 2.5)
    assert list(figure.last("accuracy")) == [75, 60]
    kind, name, values = noted[-1]
    assert (kind, name) == ("curve", "resnet")
    again = live.picture(values["lines"], figure.parts, 2, values | {"run": "there"}, figure.caption)
    assert "there" in again.html() and len(again.figure.axes[0].lines) == 4, "what is noted can be drawn"


def test_a_live_figure_asks_for_a_value_for_every_panel(handle: Handle) -> None:
    figure = Live("resnet", 2)
    with pytest.raises(ValueError, match="panels"):
        figure.add("one device", accuracy=50.0)
    with pytest.raises(ValueError, match="no figure"):
        Live("nobody", 1)


def test_a_live_figure_does_without_a_front_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IPython.display, "display", lambda *_, **__: None)
    figure = Live("resnet", 1)
    figure.add("one device", accuracy=1.0, seconds=1.0)
    assert list(figure.last("seconds")) == [1.0]
