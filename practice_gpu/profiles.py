"""What is known of each card: numbers from ``profiles.toml``, where each one stands with its source."""

import dataclasses
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any


@dataclasses.dataclass(frozen=True, eq=False)
class Profile:
    """A card and the host that it is plugged into."""

    name: str  # the name of the card (``"T4"``)
    memory: int  # its memory, in bytes
    capability: float  # its compute capability (``7.5``)
    multiprocessors: int  # how many streaming multiprocessors it has
    bandwidth: float  # what a large copy inside its memory reaches, read and written, in bytes per second
    # What the best matrix product reaches, in FLOP/s, by dtype (``"float16"``) and ``"tf32"``.
    rates: Mapping[str, float]
    pinned: float  # between pinned memory of the host and the card, in bytes per second
    pageable: float  # the same for ordinary memory of the host
    latency: float  # from the start of such a copy until its bytes move, in seconds
    peer: float  # between two such cards, in bytes per second, one direction
    shortest: float  # the shortest kernel, in seconds
    launch: float  # time of the host per kernel, in seconds
    copy_call: float  # time of the host per copy, in seconds
    wait: float  # time of the host per wait for a GPU that is done already, in seconds


@cache
def sources() -> dict[str, dict[str, Any]]:
    """Return the numbers of each card with where they come from: `value`, `kind`, `what`, `link`.

    `kind` is ``"measured"``, ``"rated"`` (the data sheet) or ``"assumed"`` (`what` says how it was derived); `link` is
    a key of ``[links]`` in ``profiles.toml``.
    """
    cards = tomllib.loads(resources.files(__package__).joinpath("profiles.toml").read_text(encoding="utf-8"))
    common, _ = cards.pop("common"), cards.pop("links")
    return {name: common | card for name, card in cards.items()}


@cache
def profile(name: str) -> Profile:
    """Return the profile of a card.

    Args:
        name: ``"T4"``, ``"RTX 4060 Laptop"``, ``"RTX 4090"``, ``"A100"``, ``"H100"``, ``"H200"``, ``"B200"``.

    Raises:
        ValueError: No such card is known.
    """
    if name not in sources():
        raise ValueError(f"practice_gpu knows no card {name!r}; it knows {', '.join(sources())}")
    numbers = dict(sources()[name])
    rates = {dtype: entry["value"] for dtype, entry in numbers.pop("rates").items()}
    return Profile(name=name, rates=rates, **{key: entry["value"] for key, entry in numbers.items()})
