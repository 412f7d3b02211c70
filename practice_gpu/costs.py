"""How long a kernel or a copy takes: a model of shapes and dtypes, which looks at no data.

A matrix product is cut into tiles, each computed by one multiprocessor; what is left over in the last wave is lost, and a
small product that cannot fill the card is computed in smaller tiles, or in pieces of its inner dimension (split-K).
Whatever is not a product, an attention or a sort is limited by the memory: its tensors are read and written once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import torch

    from practice_gpu.profiles import Profile

# Of a tile: its sides, and the share of the best rate that it reaches. These shares and _START were chosen on published
# products of an RTX 4090 and an RTX 4060 Ti, no others.
_TILES = ((256, 128, 1.0), (128, 128, 1.0), (128, 64, 0.85), (64, 64, 0.7), (32, 32, 0.6))
_SPLITS = (1, 2, 4, 8, 16)
_START = 2.5e-6  # to fill and to drain the pipelines of a product, beyond the shortest kernel
_PER_MULTIPROCESSOR = 8192  # numbers that one multiprocessor handles at a time: 2048 threads with four each
_FILLS = "fill_ zero_ normal_ uniform_ bernoulli_ random_ exponential_ geometric_ log_normal_ cauchy_".split()
_PICKS = "embedding index index_select gather take".split()  # read what they return, not the whole table
# Matrix products, and which of their inputs is the left factor.
_PRODUCTS = dict.fromkeys(("mm", "bmm", "linear"), 0)
_PRODUCTS |= dict.fromkeys(("addmm", "baddbmm", "addbmm", "_addmm_activation"), 1)


@lru_cache(maxsize=4096)
def _product(
    profile: Profile, dtype: str, batch: int, rows: int, columns: int, inner: int
) -> tuple[float, float]:
    """Return seconds without the traffic of the memory, and the share of the card that is busy."""
    units = profile.multiprocessors
    rate = profile.rates.get(dtype, profile.rates["float32"]) / units
    best = math.inf, 1.0
    for height, width, share in _TILES:
        for split in _SPLITS:
            tiles = batch * math.ceil(rows / height) * math.ceil(columns / width) * split
            waves = math.ceil(tiles / units)
            seconds = waves * 2 * height * width * math.ceil(inner / split) / (rate * share)
            if split > 1:  # the parts are written, read and added by a second kernel
                seconds += profile.shortest + 8 * batch * rows * columns * split / profile.bandwidth
            if seconds < best[0]:
                best = seconds, min(1.0, max(1, tiles) / units)
    return best[0] + _START, best[1]


def _sizes(
    name: str, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]
) -> list[tuple[int, ...]]:
    """Return batch, rows, columns and inner dimension of each matrix product that an operator consists of."""
    if name in _PRODUCTS:
        left = inputs[_PRODUCTS[name]]
        inner, batch = left.size(-1), left.size(0) if name.endswith("bmm") else 1
        return [(batch, left.numel() // max(1, batch * inner), outputs[0].size(-1), inner)]
    backward = name.endswith("backward")
    if "convolution" in name:
        data, weight = inputs[backward : backward + 2]
        result = inputs[0] if backward else outputs[0]
        # A stride makes the result smaller, or larger if the convolution is transposed: the smaller one counts.
        points = min(t.numel() // max(1, t.size(1)) for t in (data, result))
        maps, inner = weight.size(0), weight.numel() // max(1, weight.size(0))
        if not backward:
            return [(1, points, maps, inner)]
        by_weight, by_data = (1, maps, inner, points), (1, points, inner, maps)
        return [by_weight if t.shape == weight.shape else by_data for t in outputs if t.dim() > 1]
    if "attention" in name:
        query, key, value = inputs[backward : backward + 3]
        length, inner = query.shape[-2:]
        batch = query.numel() // max(1, length * inner)
        scores = batch, length, key.size(-2), inner
        mixed = batch, length, value.size(-1), key.size(-2)
        return [scores, scores, mixed, mixed, mixed] if backward else [scores, mixed]
    return []


@cache
def _kind(name: str) -> str:
    """Return what decides how long an operator takes."""
    plain = name.rstrip("_")
    if plain in _PRODUCTS or "convolution" in plain or "attention" in plain:
        return "product"
    if "sort" in plain or plain == "topk":
        return "sort"
    return "pick" if plain in _PICKS else "fill" if name in _FILLS else ""


def _traffic(tensors: Sequence[torch.Tensor]) -> tuple[int, int]:
    """Return how many bytes they have together, and how many numbers the largest has."""
    numbers = [tensor.numel() for tensor in tensors]
    return sum(n * t.itemsize for n, t in zip(numbers, tensors, strict=True)), max(numbers, default=0)


def kernel_seconds(
    profile: Profile, name: str, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor], tf32: bool
) -> tuple[float, float]:
    """Return how long a kernel takes, and how much of the card it keeps busy.

    Args:
        profile: The card.
        name: The operator's name without its overload (``"addmm"``).
        inputs: The tensors that it reads, in the order of its arguments; only shapes and dtypes are asked.
        outputs: The tensors that it writes.
        tf32: Whether products of float32 may be computed in TF32.

    Returns:
        Seconds, and the share of the card: more than 0, at most 1.
    """
    kind = _kind(name)
    moved, most = _traffic(outputs)
    if kind == "pick":
        moved = 2 * moved + _traffic(inputs[1:])[0]
    elif kind != "fill":
        read, most_read = _traffic(inputs)
        moved, most = moved + read, max(most, most_read)
    if kind == "product":
        dtype = str(inputs[0].dtype)[6:]
        if dtype == "float32" and tf32 and "tf32" in profile.rates:
            dtype = "tf32"
        costs = [_product(profile, dtype, *sizes) for sizes in _sizes(name.rstrip("_"), inputs, outputs)]
        seconds = max(sum(time for time, _ in costs), moved / profile.bandwidth)
        return profile.shortest + seconds, max((share for _, share in costs), default=1.0)
    if kind == "sort":  # a radix sort passes over all its numbers once per byte
        moved *= inputs[0].itemsize
    share = min(1.0, max(1, most) / (_PER_MULTIPROCESSOR * profile.multiprocessors))
    return profile.shortest + moved / profile.bandwidth, share


def copy_seconds(
    profile: Profile, size: int, route: Literal["pinned", "pageable", "peer", "inside"]
) -> float:
    """Return how long a copy takes.

    Args:
        profile: The card.
        size: How much is copied, in bytes.
        route: Between the card and pinned or pageable memory of the host, between two cards, or inside one.

    Returns:
        Seconds.
    """
    if route == "inside":
        return profile.shortest + 2 * size / profile.bandwidth
    return profile.latency + size / getattr(profile, route)
