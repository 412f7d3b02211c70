"""What a launch returns: results, lines and failures of all ranks."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Failure:
    """How a rank failed, or what the failure of another rank did to it."""

    rank: int | None  # None if torchrun itself failed
    kind: str  # "raised", "exited", "killed" (by a signal) or "hangs"; what followed also "stopped" or "done"
    text: str  # its traceback, or where it was, or what it printed last
    exit: int | None  # its exit status; the negative number of a signal; None if it did not end by itself


@dataclass
class Run:
    """A launch and its outcome."""

    command: str  # what to type in a terminal for the same
    ranks: int
    limit: float  # seconds after which a rank that still runs counts as hanging
    backend: str = ""  # "gloo" or "nccl"
    results: list[dict[str, Any] | None] = field(init=False)  # what each rank passed to `report`, or None
    lines: list[tuple[int, str]] = field(default_factory=list)  # what was printed: (rank, text), as it came
    starts: list[int] = field(default_factory=list)  # to which start of the job each line belongs, from 0
    failures: list[Failure] = field(default_factory=list)  # the root cause first; empty if all ended well
    seconds: float = 0.0
    restarts: int = 0  # of all ranks, by torchrun
    interrupted: bool = False  # from the notebook

    def __post_init__(self) -> None:
        self.results = [None] * self.ranks

    @property
    def failure(self) -> Failure | None:
        """The failure that caused the others, or None."""
        return self.failures[0] if self.failures else None

    @property
    def ok(self) -> bool:
        """Whether all ranks ended well."""
        return not self.failures and not self.interrupted

    def printed(self, rank: int, start: int | None = None) -> list[str]:
        """Return what a rank printed in a start of the job: in the last one if none is given."""
        wanted = rank, self.restarts if start is None else start
        origins = zip(self.lines, self.starts, strict=True)
        return [text for (who, text), began in origins if (who, began) == wanted]

    def check(self) -> "Run":
        """Return the run if all ranks ended well.

        Raises:
            RuntimeError: They did not; the text holds the failing rank's traceback.
        """
        if self.failure:
            who = "torchrun" if self.failure.rank is None else f"rank {self.failure.rank}"
            raise RuntimeError(f"{self.command}: {who} ({self.failure.kind})\n{self.failure.text}")
        return self
