"""Two uses of one memory, at least one of them a write, that nothing orders: no stream, no event, no wait."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from practice_gpu.simulation import HOST, Key, Machine, Work

_MANY = 64  # uses of one memory that are kept apart


class Use(NamedTuple):
    """A use of some bytes of a memory."""

    work: Work
    low: int
    high: int
    write: bool


class Memory:
    """What is known about the uses of one memory. Those that every later use is ordered behind are dropped."""

    __slots__ = ("uses",)

    def __init__(self) -> None:
        self.uses: list[Use] = []

    def forget(self, known: Mapping[Key, int]) -> None:
        """Drop the uses that the host knows to be over: `known` holds the last order of each queue that it has seen."""
        self.uses = [use for use in self.uses if known.get(use.work.key, -1) < use.work.order]


class Race(NamedTuple):
    """Two uses that nothing orders: what they are and where in the code; the second came later."""

    first: str
    first_place: Any
    second: str
    second_place: Any

    def __str__(self) -> str:
        """Name both uses and both lines."""
        return f"{self.first} at {self.first_place}, then {self.second} at {self.second_place}: nothing orders them"


class Races:
    """The races of a machine, each pair of lines once.

    Args:
        machine: Whose host and streams use the memory.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine, self.found = machine, {}

    def touch(self, memory: Memory, work: Work, low: int, high: int, write: bool) -> None:
        """Enter a use of the bytes from `low` to below `high`."""
        key, known, uses = work.key, work.known, memory.uses
        kept = []
        for use in uses:
            old = use.work
            if old.key == key or known.get(old.key, -1) >= old.order:
                if (write or not use.write) and low <= use.low and use.high <= high:
                    continue  # who is ordered behind the new use is ordered behind this one, too
            elif (write or use.write) and low < use.high and use.low < high:
                self._report(use, _named(work, write), work.place)
            kept.append(use)
        kept.append(Use(work, low, high, write))
        memory.uses = kept if len(kept) <= _MANY else _joined(kept)

    def host(self, memory: Memory, low: int, high: int, write: bool, place: Any) -> None:
        """Enter a use by the host. Whatever a device does later is ordered behind it, so it is not kept."""
        for use in memory.uses:
            if self.machine.known.get(use.work.key, -1) < use.work.order and (write or use.write):
                if low < use.high and use.low < high:
                    self._report(use, f"{'write' if write else 'read'} by the host", place)

    def _report(self, use: Use, second: str, place: Any) -> None:
        race = Race(_named(use.work, use.write), use.work.place, second, place)
        self.found.setdefault((race.first, str(race.first_place), second, str(place)), race)


def _named(work: Work, write: bool) -> str:
    where = "host" if work.key == HOST else f"GPU {work.key[0]}, stream {work.key[1]}"
    return f"{'write' if write else 'read'} by {work.name} ({where})"


def _joined(uses: list[Use]) -> list[Use]:
    """Return one use per stream and kind, over all of their bytes."""
    joined: dict[Any, Use] = {}
    for use in uses:
        old = joined.get((use.work.key, use.write), use)
        joined[use.work.key, use.write] = Use(
            use.work, min(old.low, use.low), max(old.high, use.high), use.write
        )
    return list(joined.values())
