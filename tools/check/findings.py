"""What a check reports: where, which rule, what is wrong, what to do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Finding:
    """One thing that is wrong: where, against which rule, what it is, and what to do."""

    place: str  # "01_cuda_check.ipynb: cell 7 (a1b2c3)" or "course_utils/claims.py: line 12"
    rule: str
    what: str
    todo: str

    def __str__(self) -> str:
        return f"{self.place} : {self.rule} : {self.what} : {self.todo}"


class Findings(list):
    """A list of findings about one place at a time; ``at`` sets the place."""

    def __init__(self) -> None:
        super().__init__()
        self.place = ""

    def at(self, place: str) -> Findings:
        """Set the place of the findings that follow, and return the list itself."""
        self.place = place
        return self

    def add(self, rule: str, what: str, todo: str) -> None:
        """Add a finding at the current place."""
        self.append(Finding(self.place, rule, what, todo))
