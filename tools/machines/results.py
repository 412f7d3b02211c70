"""What the staged machines found: one JSON file per machine, and the table and the lists from them."""

import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tools.claim_summary import VERDICTS, read_notes
from tools.machines.staging import FOLDER

RESULTS = FOLDER / "results"
ENOUGH = 1.25  # a threshold with less to spare gets a guard, another experiment, or goes
SHOWN = 60  # lines of what pytest printed, if something failed


@dataclass
class Result:
    """What running one lesson or test file on one machine gave."""

    seconds: float = 0.0
    passed: int = 0  # cells or tests
    failed: int = 0  # at least 1 if the run as a whole failed
    text: str = ""  # the end of what pytest printed, if something failed
    claims: dict[str, dict[str, Any]] = field(default_factory=dict)  # verdict, value and bounds of each


@dataclass
class MachineResults:
    """What is known about a machine: why it was not staged, or the results of its files."""

    not_staged: str = ""
    files: dict[str, Result] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        """How much failed there."""
        return sum(result.failed for result in self.files.values())


def read(name: str) -> MachineResults:
    """Return the stored results of machine `name`, empty if there are none."""
    path = RESULTS / f"{name}.json"
    if not path.exists():
        return MachineResults()
    stored = json.loads(path.read_text(encoding="utf-8"))
    files = {file: Result(**values) for file, values in stored["files"].items()}
    return MachineResults(stored["not_staged"], files)


def write(name: str, results: MachineResults) -> None:
    """Store what machine `name` gave; what was there stays until all is written."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    new = RESULTS / f"{name}.new"
    new.write_text(json.dumps(asdict(results), ensure_ascii=False, indent=1), encoding="utf-8")
    os.replace(new, new.with_suffix(".json"))


def result(seconds: float, status: int, printed: str, journal: Path) -> Result:
    """Return the result of a run of pytest from its exit status, what it printed, and the journal of its claims."""
    lines = printed.splitlines() or [""]  # the last one has the counts, unless the machine ended it
    counts = {name.rstrip("s"): int(number) for number, name in re.findall(r"(\d+) ([a-z]+)", lines[-1])}
    failed = counts.get("failed", 0) + counts.get("error", 0)
    made = Result(round(seconds, 1), counts.get("passed", 0), failed)
    made.failed = failed or int(bool(status) or not made.passed)
    if made.failed:
        made.text = "\n".join([f"pytest ended with status {status}:", *lines[-SHOWN:]])
    made.claims = {line["key"]: line["values"] for line in read_notes(journal) if line["kind"] == "claim"}
    return made


def margin(claim: Mapping[str, Any]) -> float:
    """Return by which factor a value may get worse before it is out of the narrower of its bounds; below 1 it is out.

    Infinity where there is no such factor: an exact fact, a claim that was not measured, no bound but zero.
    """
    value, low, high = claim["value"], claim["at_least"], claim["at_most"]
    if value is None or isinstance(value, bool):
        return math.inf
    above = value / low if low and low > 0 else math.inf
    below = high / value if high and value > 0 else math.inf
    return min(above, below)


def table(machines: Mapping[str, MachineResults], expected: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the lines of the table of all machines, with the files that are to run on each."""
    columns = ("passed", "failed", "holds", "unclear", "fails", "modelled", "not shown", "seconds")
    width = max([7, *map(len, machines)])
    lines = [f"{'machine':{width}}" + "".join(f"{column:>14}" for column in columns)]
    for name, results in machines.items():
        if results.not_staged:
            lines.append(f"{name:{width}}  not staged here: {results.not_staged.splitlines()[-1]}")
            continue
        rows = results.files.values()
        verdicts = [claim["verdict"] for row in rows for claim in row.claims.values()]
        numbers = [sum(row.passed for row in rows), results.failed, *map(verdicts.count, VERDICTS)]
        numbers.append(round(sum(row.seconds for row in rows)))
        lacking = set(expected.get(name, ())) - set(results.files)
        note = f"   {len(lacking)} files did not run" if lacking else ""
        lines.append(f"{name:{width}}" + "".join(f"{number:>14}" for number in numbers) + note)
    return lines


def failures(machines: Mapping[str, MachineResults]) -> list[str]:
    """Return what failed, with the end of what it printed, and the claims that are not clear."""
    lines = []
    for name, results in machines.items():
        for file, result in results.files.items():
            if result.failed:
                lines += [f"{name}: {file}", *(f"    {line}" for line in result.text.splitlines())]
            for key, claim in result.claims.items():
                if claim["verdict"] in ("unclear", "fails"):
                    number = f"{claim['value']:.4g}" if claim["value"] is not None else "no value"
                    if claim.get("quartile_ratio"):
                        number += f", by quartiles {claim['quartile_ratio']:.4g}"
                    lines.append(f"{name}: claim {key} {claim['verdict']}: {number} ({_bounds(claim)})")
    return lines


def _bounds(claim: Mapping[str, Any]) -> str:
    """Return the bounds of a claim as words."""
    sides = ("at_least", "at_most")
    return ", ".join(f"{side} {claim[side]:g}" for side in sides if claim[side] is not None)


def narrow(machines: Mapping[str, MachineResults]) -> list[str]:
    """Return a line for each claim that has less than `ENOUGH` to spare on some machine, the narrowest first."""
    measured: dict[str, list[tuple[float, str, dict[str, Any]]]] = {}
    for name, results in machines.items():
        for file in results.files.values():
            for key, claim in file.claims.items():
                if claim["value"] is not None:
                    measured.setdefault(key, []).append((margin(claim), name, claim))
    lines = []
    for key, found in measured.items():
        factor, name, claim = min(found, key=lambda one: one[0])
        same = len(found) > 1 and len({other["value"] for _, _, other in found}) == 1
        note = f"{len(found)} machines{', the same on every machine' * same}"
        line = f"claim {key}: {factor:.2f} on {name} ({claim['value']:.4g}, {_bounds(claim)}; {note})"
        lines += [(factor, line)] * (factor < ENOUGH)
    return [line for _, line in sorted(lines)]
