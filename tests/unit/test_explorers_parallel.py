"""The explorers of lesson 05: PyTorch's own splits, and bytes that add up, over the whole grid of choices."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
import torch

from course_utils.explorers import Explorer, batch_split, parallel_traffic
from course_utils.explorers.parallel_traffic import CHAIN, MODELS, RING, STAR, WAYS, Traffic
from course_utils.models import lenet

pytestmark = pytest.mark.usefixtures("no_warnings")

EXPLORERS: dict[str, Explorer] = {"split": batch_split.EXPLORER, "traffic": parallel_traffic.EXPLORER}


def texts(html: str) -> tuple[str, str]:
    """Return the caption's two texts without tags."""
    found = re.search(r'<span lang="en">(.*)</span><span lang="zh-Hant">(.*)</span></figcaption>', html, re.S)
    assert found
    return re.sub("<[^>]*>", "", found[1]), re.sub("<[^>]*>", "", found[2])


@pytest.mark.parametrize("name", EXPLORERS)
def test_pictures_are_drawn_without_a_warning(name: str) -> None:
    """The defaults, and every third value of each control."""
    explorer = EXPLORERS[name]
    for choices in [
        explorer.defaults() | {c.name: value}
        for c in explorer.controls
        for _, value in [*c.options[::3], c.options[-1]]
    ]:
        html = explorer.html(**choices)
        assert html.count("<img") == 1
        en, zh = texts(html)
        assert re.search("[a-z]{3}.*[.]$", en) and re.search("[一-鿿].*。$", zh)


# --- split --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch, devices, sizes", [
    (30, 3, (10, 10, 10)), (10, 3, (4, 4, 2)), (10, 8, (2, 2, 2, 2, 2)), (6, 4, (2, 2, 2)), (1, 8, (1,)),
    (33, 8, (5, 5, 5, 5, 5, 5, 3)), (64, 1, (64,)),
])  # fmt: skip
def test_splits_by_hand(batch: int, devices: int, sizes: tuple[int, ...]) -> None:
    assert batch_split.compute(batch=batch, devices=devices).sizes == sizes


def test_the_rule_of_a_split_holds_everywhere() -> None:
    for choices in EXPLORERS["split"].grid():
        split = batch_split.compute(**choices)
        largest = math.ceil(split.batch / split.devices)
        assert sum(split.sizes) == split.batch and min(split.sizes) > 0
        assert set(split.sizes[:-1]) <= {largest} and split.sizes[-1] <= largest
        assert split.idle == split.devices - math.ceil(split.batch / largest) >= 0
        assert 1 <= split.gain <= split.devices
        assert (split.gain == split.devices) == (split.batch % split.devices == 0)


def test_what_the_lesson_asks_to_find_can_be_found() -> None:
    """More than 30 examples of which one of eight devices gets none."""
    found = [
        c["batch"] for c in EXPLORERS["split"].grid() if batch_split.compute(**c | {"devices": 8}).idle == 1
    ]
    assert any(batch > 30 for batch in found)


@pytest.mark.parametrize("batch, devices, en, zh", [
    (10, 8, "10 examples over 8 devices: 2+2+2+2+2. 3 devices have nothing to do.", "有 3 個裝置沒事做"),
    (33, 8, "1 device has nothing to do.", "有 1 個裝置沒事做"),
    (10, 3, "4+4+2. The last device gets less", "最後一個裝置分到的比較少"),
    (30, 3, "10+10+10. All get the same. At best 3 times", "最快是單一裝置的 3 倍"),
    (1, 1, "1 example over 1 device: 1. One device", "只有一個裝置"),
])  # fmt: skip
def test_the_caption_of_a_split(batch: int, devices: int, en: str, zh: str) -> None:
    captions = texts(EXPLORERS["split"].html(batch=batch, devices=devices))
    assert en in captions[0] and zh in captions[1]


@pytest.mark.parametrize("batch, devices", [(0, 3), (3, 0), (-1, 1)])
def test_a_split_of_nothing_is_refused(batch: int, devices: int) -> None:
    with pytest.raises(ValueError, match="at least 1 example"):
        batch_split.compute(batch=batch, devices=devices)


# --- traffic ------------------------------------------------------------------------------------------


def traffic(**choices: Any) -> Traffic:
    usual = {"model": "ResNet-50 (25.6 M)", "devices": 4, "batch": 32, "speed": 1e9}
    return parallel_traffic.compute(**usual | choices)


def test_traffic_by_hand() -> None:
    """LeNet, 4 devices, 16 images each: 61,706 floats are 246,824 bytes, an image 3,136, its scores 40."""
    found = traffic(model="LeNet (0.06 M)", batch=16)
    data = 3 * 16 * (3136 + 40 + 40)
    assert found.serial == {
        STAR: {"weights": 740_472, "gradients": 740_472, "data": data},
        CHAIN: {"weights": 246_824, "gradients": 246_824, "data": data},
        RING: {"weights": 0, "gradients": 370_236, "data": 0},
    }
    assert found.total == {STAR: 1_480_944 + data, CHAIN: 1_480_944 + data, RING: 1_480_944}
    assert found.seconds(RING) == pytest.approx(370_236 / 1e9)
    en, zh = texts(parallel_traffic.render(found))
    assert "the same 1.48 MB" in en and "carries 4 times" in en and "the chain's 1.33 times" in en
    assert "1.48 MB" in zh and "4 倍" in zh and "1.33 倍" in zh


def test_lenet_is_the_lessons_own() -> None:
    assert MODELS["LeNet (0.06 M)"].parameters == sum(p.numel() for p in lenet().parameters())


def test_all_ways_move_the_same_and_differ_by_n_on_one_link() -> None:
    for choices in EXPLORERS["traffic"].grid():
        found = parallel_traffic.compute(**choices)
        n, weights = found.devices, MODELS[choices["model"]].parameters * 4
        own = {way: sum(v for k, v in found.serial[way].items() if k != "data") for way in WAYS}
        assert own[STAR] == pytest.approx(n * own[RING])
        assert own[CHAIN] * (n - 1) == pytest.approx(n * own[RING])
        for way in WAYS:
            assert found.total[way] - found.serial[way]["data"] == pytest.approx(2 * (n - 1) * weights)
            assert found.seconds(way) == pytest.approx(sum(found.serial[way].values()) / choices["speed"])


def ring_all_reduce(values: list[torch.Tensor]) -> tuple[list[torch.Tensor], int]:
    """Really pass pieces around a ring; return the results and what each device sends one after another (bytes)."""
    n, sent = len(values), [0] * len(values)
    pieces = [list(v.clone().chunk(n)) for v in values]
    for turn in range(2 * (n - 1)):
        moving = [(i, (i - turn) % n, pieces[i][(i - turn) % n].clone()) for i in range(n)]
        for i, k, piece in moving:
            target = pieces[(i + 1) % n][k]
            target.add_(piece) if turn < n - 1 else target.copy_(piece)
            sent[i] += piece.nbytes
    assert len(set(sent)) == 1
    return [torch.cat(p) for p in pieces], sent[0]


@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_rings_bytes_are_those_of_a_ring_that_really_ran(n: int) -> None:
    make = torch.Generator().manual_seed(0)
    values = [torch.randint(100, (12,), generator=make).float() for _ in range(n)]
    results, sent = ring_all_reduce(values)
    assert all(torch.equal(result, torch.stack(values).sum(0)) for result in results)
    assert sent == 2 * (n - 1) / n * values[0].nbytes


def test_one_device_moves_nothing() -> None:
    found = traffic(devices=1)
    assert not any(found.total.values()) and not any(found.seconds(way) for way in WAYS)
    assert "nothing travels" in texts(parallel_traffic.render(found))[0]


@pytest.mark.parametrize("bad, words", [
    ({"devices": 0}, "positive"), ({"batch": 0}, "positive"), ({"speed": 0}, "positive"), ({"model": "x"}, "LeNet"),
])  # fmt: skip
def test_traffic_without_sense_is_refused(bad: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        traffic(**bad)
