"""What the staged machines found: one JSON file per machine, and the table and the margins from them."""

import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tools.claim_summary import VERDICTS
from tools.machines.staging import FOLDER
from tools.outputs import read_notes

RESULTS = FOLDER / "results"
ENOUGH = 1.25  # a threshold with less to spare gets a guard, another experiment, or goes
SHOWN = 60  # lines of what pytest printed, if something failed


@dataclass
class Result:
    """What running one lesson or test file on one machine gave.

    Attributes:
        seconds: How long it took.
        passed: How many cells or tests passed.
        failed: How many failed, at least 1 if the run as a whole did.
        text: The end of what pytest printed, if something failed.
        claims: The verdict, value and bounds of each claim that was judged.
    """

    seconds: float = 0.0
    passed: int = 0
    failed: int = 0
    text: str = ""
    claims: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass
class MachineResults:
    """What is known about a machine: why it was not staged, or the results of its files."""

    not_staged: str = ""
    files: dict[str, Result] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        """How much failed there."""
        return sum(result.failed for result in self.files.values())


def read(name: str, folder: Path = RESULTS) -> MachineResults:
    """Return the stored results of machine `name`, empty if there are none."""
    path = folder / f"{name}.json"
    if not path.exists():
        return MachineResults()
    stored = json.loads(path.read_text(encoding="utf-8"))
    return MachineResults(
        stored["not_staged"], {file: Result(**values) for file, values in stored["files"].items()}
    )


def write(path: Path, content: Any) -> None:
    """Store what a machine gave, or the margins; what was there stays until all is written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(content, ensure_ascii=False, indent=1, default=asdict), encoding="utf-8")
    os.replace(new, path)


def result(seconds: float, status: int, printed: str, journal: Path) -> Result:
    """Return the result of a run from what it left behind.

    Args:
        seconds: How long it took.
        status: Exit status of pytest.
        printed: What it printed; its last line has the counts, unless the machine ended it.
        journal: What the claims wrote.
    """
    lines = printed.splitlines() or [""]
    counts = {name.rstrip("s"): int(number) for number, name in re.findall(r"(\d+) ([a-z]+)", lines[-1])}
    made = Result(
        round(seconds, 1), counts.get("passed", 0), counts.get("failed", 0) + counts.get("error", 0)
    )
    made.failed = made.failed or int(bool(status) or not made.passed)
    if made.failed:
        made.text = "\n".join([f"pytest ended with status {status}:", *lines[-SHOWN:]])
    made.claims = {line["key"]: line["values"] for line in read_notes(journal) if line["kind"] == "claim"}
    return made


def margin(claim: Mapping[str, Any]) -> float | None:
    """Return by which factor a measured value may get worse before it is out of its bounds; below 1 it is out.

    Args:
        claim: ``value``, ``at_least`` and ``at_most`` of a claim, as in the journal.

    Returns:
        The factor, of two bounds the smaller one. None for an exact fact, a claim that was not measured, and a bound of
        zero, which has no factor.
    """
    value, low, high = claim.get("value"), claim.get("at_least"), claim.get("at_most")
    if value is None or isinstance(value, bool):
        return None
    factors = []
    if low is not None and low > 0:
        factors.append(value / low)
    if high is not None and high > 0:
        factors.append(high / value if value > 0 else math.inf)
    return min(factors, default=None)


def worst_margins(machines: Mapping[str, MachineResults]) -> dict[str, dict[str, Any]]:
    """Return, for each claim that has a margin, its smallest one over all machines and where that was."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name, results in machines.items():
        for file in results.files.values():
            for key, claim in file.claims.items():
                if (factor := margin(claim)) is not None and factor < math.inf:
                    bounds = {side: claim[side] for side in ("value", "at_least", "at_most", "verdict")}
                    found.setdefault(key, []).append({"margin": factor, "machine": name} | bounds)
    worst = {}
    for key, entries in sorted(found.items()):
        same = len(entries) > 1 and len({entry["value"] for entry in entries}) == 1
        smallest = min(entries, key=lambda entry: entry["margin"])
        worst[key] = smallest | {"machines": len(entries), "same_everywhere": same}
    return worst


def table(machines: Mapping[str, MachineResults], expected: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the lines of the table of all machines.

    Args:
        machines: The results by the machines' names.
        expected: The files that are to run there.
    """
    columns = ("passed", "failed", "holds", "unclear", "fails", "modelled", "not shown", "seconds")
    width = max([7, *map(len, machines)])
    lines = [f"{'machine':{width}}" + "".join(f"{column:>14}" for column in columns)]
    for name, results in machines.items():
        if results.not_staged:
            lines.append(f"{name:{width}}  not staged here: {results.not_staged.splitlines()[-1]}")
            continue
        rows = results.files.values()
        verdicts = [claim["verdict"] for row in rows for claim in row.claims.values()]
        numbers = [sum(row.passed for row in rows), results.failed]
        numbers += [verdicts.count(verdict) for verdict in VERDICTS]
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


def narrow(margins: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return a line for each claim that has less than `ENOUGH` to spare somewhere, the narrowest first."""
    return [
        f"claim {key}: {entry['margin']:.2f} on {entry['machine']} ({entry['value']:.4g}, {_bounds(entry)}; "
        f"{entry['machines']} machines{', the same on every machine' * entry['same_everywhere']})"
        for key, entry in sorted(margins.items(), key=lambda item: item[1]["margin"])
        if entry["margin"] < ENOUGH
    ]
