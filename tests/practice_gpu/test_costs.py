"""The model of practice_gpu's times: against published measurements, PyTorch's own counts, and what holds for every card."""

import math
import pickle
import tomllib
from collections.abc import Callable
from typing import Any

import deviations
import pytest
import torch
from torch import nn
from torch.utils import flop_counter
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import practice_gpu
from practice_gpu import Seconds
from practice_gpu.costs import _kind, _sizes, copy_seconds, kernel_seconds
from practice_gpu.profiles import Profile, profile, sources

CARDS = ["T4", "RTX 4060 Laptop", "RTX 4090", "A100", "H100", "H200", "B200"]


@pytest.mark.parametrize("part", [*deviations.PARTS, "all"])
def test_the_model_is_near_published_measurements(part: str) -> None:
    ratios = [deviations.times(row) for row in deviations.rows() if part in ("all", row["part"])]
    median, near = deviations.summary(ratios)
    assert len(ratios) >= 30 and median <= 0.20 and near >= 0.9
    text = deviations.README.read_text(encoding="utf-8")
    assert text == deviations.written(text), "write the table: python tests/practice_gpu/deviations.py"


def test_what_the_model_was_made_from_is_not_called_a_prediction() -> None:
    rows = deviations.rows()
    assert {row["card"] for row in rows if row["part"] == "held out"} == set(CARDS)
    for row in rows:
        value = float(row["value"]) * deviations.UNITS[row["unit"]]
        taken = [entry["value"] for entry in numbers_of(row["card"])]
        assert row["part"] == "used" or not any(math.isclose(value, number, rel_tol=5e-4) for number in taken)


def numbers_of(card: str) -> list[dict[str, Any]]:
    """Return the entries of a card's profile, each a number with its source."""
    entries = [*sources()[card].values(), *sources()[card]["rates"].values()]
    return [entry for entry in entries if "value" in entry]


def test_every_number_of_a_profile_names_its_source() -> None:
    text = deviations.README.with_name("profiles.toml").read_text(encoding="utf-8")
    entries = [entry for name in sources() for entry in numbers_of(name)]
    assert {entry["link"] for entry in entries} == set(tomllib.loads(text)["links"])
    for entry in entries:
        assert entry["kind"] in ("measured", "rated", "assumed") and entry["what"] and entry["value"] > 0
    with pytest.raises(ValueError, match="GTX 9999.*T4, RTX 4060 Laptop"):
        profile("GTX 9999")


class _Counted(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.operations, self.seconds = 0, []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
        inputs, outputs = ([t for t in tree_leaves(v) if isinstance(t, torch.Tensor)] for v in (args, result))
        if _kind(name) == "product":
            self.operations += sum(2 * math.prod(sizes) for sizes in _sizes(name, inputs, outputs))
            self.seconds.append((name, kernel_seconds(profile("T4"), name, inputs, outputs, False)[0]))
        return result


def _trained(
    make: type[nn.Module], *sizes: int, shape: tuple[int, ...], **options: Any
) -> Callable[[], None]:
    return lambda: make(*sizes, **options)(torch.ones(shape, requires_grad=True)).sum().backward()


@pytest.mark.parametrize(
    "work",
    [
        lambda: torch.ones(7, 3, 4) @ torch.ones(7, 4, 5),
        lambda: torch.baddbmm(torch.ones(5), torch.ones(7, 3, 4), torch.ones(7, 4, 5)),
        _trained(nn.Linear, 8, 16, shape=(2, 3, 8)),
        _trained(nn.Conv2d, 6, 12, 3, padding=1, shape=(2, 6, 9, 9)),
        _trained(nn.Conv2d, 6, 12, 3, stride=2, padding=1, shape=(2, 6, 9, 9)),
        _trained(nn.ConvTranspose2d, 6, 12, 3, stride=2, padding=1, shape=(2, 6, 9, 9)),
        _trained(nn.Conv3d, 6, 12, 3, padding=1, shape=(2, 6, 5, 5, 5)),
        lambda: nn.Conv2d(6, 12, 3, groups=3, padding=1)(torch.ones(2, 6, 9, 9)),
    ],
)
def test_operations_are_counted_as_pytorch_counts_them(work: Callable[[], Any]) -> None:
    with flop_counter.FlopCounterMode(display=False) as pytorch, _Counted() as ours:
        work()
    assert ours.operations == pytorch.get_total_flops() > 0


@pytest.mark.skipif(torch.cuda.is_available(), reason="it does not start beside a CUDA GPU")
def test_the_device_asks_the_model_with_what_its_kernels_are_given() -> None:
    convolutions = nn.Conv2d(6, 12, 3, stride=2), nn.Conv2d(12, 12, 1, bias=False)
    layers = nn.Sequential(*convolutions, nn.Flatten(), nn.Linear(192, 8))
    with _Counted() as ours:
        layers(torch.ones(2, 6, 9, 9)).sum().backward()
    practice_gpu.start("T4")
    layers.to("practice")(torch.ones(2, 6, 9, 9).to("practice")).sum().backward()
    torch.accelerator.synchronize()
    log = [(e.kind, e.name, float(e.end - e.start)) for e in practice_gpu.log()]
    assert len(ours.seconds) == 7
    products = [entry[1:] for entry in log if _kind(entry[1]) == "product"]
    assert products == [(name, pytest.approx(seconds)) for name, seconds in ours.seconds]
    copied = copy_seconds(profile("T4"), 2 * 6 * 9 * 9 * 4, "pageable")
    assert [time for kind, _, time in log if kind == "copy"][-1] == pytest.approx(copied)


def test_operations_of_attention_are_counted_as_pytorch_counts_them() -> None:
    query, key = torch.ones(2, 4, 10, 8), torch.ones(2, 4, 6, 8)
    name = "_scaled_dot_product_flash_attention_for_cpu"
    ours = [_sizes(name, [query, key, key], [query])]
    ours += [_sizes(name + "_backward", [query, query, key, key], [query, key, key])]
    shapes = query.shape, key.shape, key.shape
    theirs = [flop_counter.sdpa_flop_count(*shapes)]
    theirs += [flop_counter.sdpa_backward_flop_count(query.shape, *shapes)]
    assert [sum(2 * math.prod(s) for s in sizes) for sizes in ours] == theirs


def _mm(card: Profile, n: int, dtype: torch.dtype = torch.float32, tf32: bool = False) -> tuple[float, float]:
    square = torch.empty(n, n, dtype=dtype, device="meta")
    return kernel_seconds(card, "mm", [square, square], [square], tf32)


@pytest.mark.parametrize("card", [profile(name) for name in CARDS], ids=CARDS)
def test_what_holds_for_every_card(card: Profile) -> None:
    times = [_mm(card, n) for n in range(0, 9000, 97)]
    assert [t for t, _ in times] == sorted(t for t, _ in times)  # a larger product never takes less
    assert all(0 < share <= 1 for _, share in times) and times[0][0] > card.shortest
    small, large, half = _mm(card, 256)[0], _mm(card, 8192)[0], _mm(card, 8192, torch.float16)[0]
    assert 32**2 < large / small < 32**3  # small ones do not fill the card
    assert max(half, 2 * 8192**3 / card.rates["float32"]) < large < 1.1 * _mm(card, 8192, torch.float64)[0]
    assert (_mm(card, 8192, tf32=True)[0] < large) == ("tf32" in card.rates)
    copies = [copy_seconds(card, 1 << 28, route) for route in ("inside", "pinned", "pageable")]
    assert copies == sorted(copies) and kernel_seconds(card, "empty", [], [], False)[0] == card.shortest


def test_only_what_is_read_and_written_counts() -> None:
    card, table, few = profile("T4"), torch.empty(1_000_000, 64), torch.empty(10, dtype=torch.int64)
    found = kernel_seconds(card, "embedding", [table, few], [torch.empty(10, 64)], False)[0]
    filled, added, ordered = (
        kernel_seconds(card, name, [table] * (1 + (name == "add")), [table], False)[0]
        for name in ("fill_", "add", "sort")
    )
    assert found < 1.1 * card.shortest < filled < added < ordered
    assert added - card.shortest == pytest.approx(3 * table.nbytes / card.bandwidth)


def test_a_modelled_number_always_says_so() -> None:
    time = Seconds(0.0015)
    texts = [str(time), repr(time), f"{time}", f"{time:>10.4f}", str([time]), str({"t": time})]
    texts += map(str, (-time, +time, abs(time), round(time), round(time, 3), 2 * time, time / 3, time / time))
    texts += map(str, (1 - time, sum([time, time]), time // 1, time % 1, time**2, max(time, 0.0)))
    texts.append(str(pickle.loads(pickle.dumps(time))))
    assert [text for text in texts if "modelled" not in text] == []
    assert f"{time * 1e3:.2f} ms" == "1.50 modelled ms" and f"{float(time)}" == "0.0015"
    assert time == 0.0015 < 0.002 and sorted([0.002, time])[0] is time and torch.tensor([time]).numel() == 1
    with pytest.raises(TypeError):
        time + "a"
