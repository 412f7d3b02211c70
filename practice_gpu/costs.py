"""How long a kernel or a copy takes: a model of shapes and dtypes, which looks at no data.

A matrix product is cut into tiles, each computed by one multiprocessor; what is left over in the last wave is lost, and a
small product that cannot fill the card is computed in smaller tiles, or in pieces of its inner dimension (split-K).
Whatever is not a product, an attention or a sort is limited by the memory: its tensors are read and written once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import torch

    from practice_gpu.profiles import Profile

# Of a tile: its sides, and the share of the best rate that it reaches.
_TILES = ((256, 128, 1.0), (128, 128, 1.0), (128, 64, 0.9), (64, 64, 0.75), (32, 32, 0.4))
_SPLITS = (1, 2, 4, 8, 16)
_START = 2e-6  # to fill and to drain the pipelines of a product, beyond the shortest kernel
_PER_MULTIPROCESSOR = 8192  # numbers that one multiprocessor handles at a time: 2048 threads with four each
_COPY_LATENCY = 8e-6  # from the start of a copy over the bus until its bytes move
_WRITES_ONLY = frozenset(
    "fill_ zero_ copy_ normal_ uniform_ bernoulli_ random_ exponential_ geometric_ log_normal_ cauchy_".split()
)
_PICKS = frozenset(
    "embedding index index_select gather take".split()
)  # read what they return, not the whole table


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
                best = seconds, min(1.0, tiles / units)
    return best[0] + _START, best[1]


def _sizes(
    name: str, inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]
) -> list[tuple[int, ...]]:
    """Return batch, rows, columns and inner dimension of each matrix product that an operator consists of."""
    if name in ("mm", "bmm", "addmm", "baddbmm", "addbmm", "_addmm_activation", "linear"):
        left = inputs[1] if name.startswith(("add", "badd", "_add")) else inputs[0]
        batch = left.size(0) if name.endswith("bmm") else 1
        rows = left.numel() // max(1, batch * left.size(-1))
        return [(batch, rows, outputs[0].size(-1), left.size(-1))]
    if name.startswith("convolution"):
        backward = name.endswith("backward")
        data, weight = inputs[1:3] if backward else inputs[:2]
        result = inputs[0] if backward else outputs[0]
        # The smaller one decides: convolution with a stride, or a transposed one.
        points = min(t.numel() // max(1, t.size(1)) for t in (data, result))
        forward = 1, points, weight.size(0), weight.numel() // max(1, weight.size(0))
        if not backward:
            return [forward]
        _, points, out, inner = forward
        both = (1, points, inner, out), (1, out, inner, points)
        return [sizes for sizes, made in zip(both, outputs, strict=False) if made.dim() > 1]
    if "attention" in name:
        query, key, value = inputs[1:4] if name.endswith("backward") else inputs[:3]
        batch = query.numel() // max(1, query.size(-1) * query.size(-2))
        length, other, inner = query.size(-2), key.size(-2), query.size(-1)
        scores, mixed = (batch, length, other, inner), (batch, length, value.size(-1), other)
        return [scores, mixed] if not name.endswith("backward") else [scores, scores, mixed, mixed, mixed]
    return []


def _bytes(tensors: Sequence[torch.Tensor]) -> int:
    return sum(t.numel() * t.itemsize for t in tensors)


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
    moved = _bytes(outputs)
    if name in _PICKS:
        moved = 2 * moved + _bytes(inputs[1:])
    elif name not in _WRITES_ONLY:
        moved += _bytes(inputs)
    products = _sizes(name, inputs, outputs)
    if products:
        dtype = str(inputs[0].dtype)[6:]
        if dtype == "float32" and tf32 and "tf32" in profile.rates:
            dtype = "tf32"
        costs = [_product(profile, dtype, *sizes) for sizes in products]
        busy = max(share for _, share in costs)
        return profile.shortest + max(sum(time for time, _ in costs), moved / profile.bandwidth), busy
    if "sort" in name or name == "topk":  # a radix sort passes over all its numbers once per byte
        moved *= inputs[0].itemsize if inputs else 1
    numbers = max((t.numel() for t in (*inputs, *outputs)), default=1)
    busy = min(1.0, max(1, numbers) / (_PER_MULTIPROCESSOR * profile.multiprocessors))
    return profile.shortest + moved / profile.bandwidth, busy


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
    return _COPY_LATENCY + size / getattr(profile, route)
