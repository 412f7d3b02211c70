"""What a launch comes back with: results, lines and failures of all ranks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from course_utils.launcher.channel import Record


@dataclass(frozen=True)
class Failure:
    """How a rank failed.

    Attributes:
        rank: Which one; None if torchrun failed and no rank did.
        kind: ``"raised"`` (an exception), ``"exited"`` (ended itself with a status), ``"killed"`` (by a signal) or
            ``"hangs"`` (still ran when the time was up, or when another one had waited for it too long). What followed
            from another rank's failure may also be ``"stopped"`` or ``"done"``.
        text: Its traceback, or where it was, or what it printed last.
        exit: Its exit status; the negative number of the signal that killed it; None if it did not end by itself.
    """

    rank: int | None
    kind: str
    text: str
    exit: int | None


@dataclass
class Run:
    """A launch and what came of it.

    Attributes:
        command: What to type in a terminal for the same; with several machines, on each of them, and with an address
            that all can reach in the place of HOST:PORT.
        ranks: How many ranks there are on all machines together.
        limit: Seconds after which a rank that still runs counts as hanging, from when the first one has begun.
        backend: ``"gloo"`` or ``"nccl"``.
        results: What each rank handed over with ``report``; None for a rank that handed over nothing.
        lines: What was printed, as (rank, text), in order of arrival.
        starts: To which start of the job each line belongs: 0, and 1 after the first restart.
        failures: What went wrong, the cause first, then what became of the other ranks; empty if all ended well.
        seconds: How long it all took.
        restarts: How often torchrun started all ranks anew.
        interrupted: Whether it was stopped from the notebook.
    """

    command: str
    ranks: int
    limit: float
    backend: str = ""
    results: list[dict[str, Any] | None] = field(init=False)
    lines: list[tuple[int, str]] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0
    restarts: int = 0
    interrupted: bool = False

    def __post_init__(self) -> None:
        self.results = [None] * self.ranks

    @property
    def failure(self) -> Failure | None:
        """The failure that caused the others, or None."""
        return self.failures[0] if self.failures else None

    @property
    def ok(self) -> bool:
        """Whether all ranks ended as they should."""
        return not self.failures and not self.interrupted

    def add(self, record: Record) -> None:
        """Take in what a rank said."""
        self.restarts = max(self.restarts, record.start)
        if "line" in record.what:
            self.lines.append((record.rank, record.what["line"]))
            self.starts.append(record.start)
        if "report" in record.what:
            self.results[record.rank] = (self.results[record.rank] or {}) | record.what["report"]
        self.backend = record.what.get("backend") or self.backend

    def check(self) -> Run:
        """Return the run if all ranks ended well.

        Raises:
            RuntimeError: They did not; the text holds the failing rank's traceback.
        """
        if self.failure:
            who = "torchrun" if self.failure.rank is None else f"rank {self.failure.rank}"
            raise RuntimeError(f"{self.command}: {who} ({self.failure.kind})\n{self.failure.text}")
        return self
