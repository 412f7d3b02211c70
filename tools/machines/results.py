"""What the staged machines found: one JSON file per machine, and the tables from them."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tools.claim_summary import VERDICTS
from tools.machines.staging import FOLDER, ROOT
from tools.outputs import read_notes

RESULTS = FOLDER / "results"
ENOUGH = 1.25  # a threshold with less to spare gets a guard, another experiment, or goes


@dataclass
class Result:
    """What running one lesson or test file on one machine gave.

    Attributes:
        source: A digest of the file that ran.
        seconds: How long it took.
        passed: How many cells or tests passed.
        failed: The failed cells and tests, with their texts; ``(run)`` is the run as a whole.
        claims: The verdict, value and bounds of each claim that was judged.
    """

    source: str
    seconds: float = 0.0
    passed: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    claims: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass
class MachineResults:
    """What is known about a machine: why it was not staged, or the results of its files."""

    not_staged: str = ""
    files: dict[str, Result] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """Whether anything failed there."""
        return any(result.failed for result in self.files.values())


def digest(file: str) -> str:
    """Return a digest of a file of the checkout and of what it uses: after a change, its results no longer count."""
    used = [ROOT / file, ROOT / "constraints.txt"]
    folders = ["course_utils", "notebook_torchrun", "notebooks/shared", "notebooks/workers"]
    if file.endswith(".ipynb"):
        folders.append(f"notebooks/lesson_{Path(file).name[:2]}")
    for folder in folders:
        used += [path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in (".py", ".toml")]
    return hashlib.sha256(b"".join(path.read_bytes() for path in used)).hexdigest()[:16]


def read(name: str, folder: Path = RESULTS) -> MachineResults:
    """Return the stored results of machine `name`, empty if there are none."""
    path = folder / f"{name}.json"
    if not path.exists():
        return MachineResults()
    stored = json.loads(path.read_text(encoding="utf-8"))
    files = {file: Result(**values) for file, values in stored["files"].items()}
    return MachineResults(stored["not_staged"], files)


def write(name: str, results: MachineResults, folder: Path = RESULTS) -> None:
    """Store the results of machine `name`."""
    path = folder / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(asdict(results), ensure_ascii=False, indent=1), encoding="utf-8")
    os.replace(new, path)


def from_files(file: str, seconds: float, status: int, output: str, reports: Path, journal: Path) -> Result:
    """Return the result of a run from what it left behind.

    Args:
        file: The lesson or test file that ran.
        seconds: How long it took.
        status: Exit status of pytest.
        output: What it printed.
        reports: What `reports` wrote.
        journal: What the claims wrote.
    """
    result = Result(digest(file), round(seconds, 1))
    for line in read_notes(reports):
        if line["outcome"] == "passed":
            result.passed += 1
        elif line["outcome"] == "failed":
            result.failed[line["test"]] = line["text"]
    for line in read_notes(journal):
        if line["kind"] == "claim":
            result.claims[line["key"]] = line["values"]
    if (status and not result.failed) or not (result.passed or result.failed):
        last = "\n".join(output.splitlines()[-25:])
        result.failed["(run)"] = f"pytest ended with status {status}:\n{last}"
    return result


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
    """Return, for each claim that was measured, its smallest margin over all machines and where that was."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name, results in machines.items():
        for result in results.files.values():
            for key, claim in result.claims.items():
                if (factor := margin(claim)) is not None:
                    bounds = {side: claim[side] for side in ("value", "at_least", "at_most", "verdict")}
                    found.setdefault(key, []).append({"margin": factor, "machine": name} | bounds)
    worst = {}
    for key, entries in sorted(found.items()):
        smallest = min(entries, key=lambda entry: entry["margin"])
        same = len(entries) > 1 and len({entry["value"] for entry in entries}) == 1
        worst[key] = smallest | {"machines": len(entries), "same_everywhere": same}
    return worst


def store_margins(margins: Mapping[str, Any], folder: Path = RESULTS) -> None:
    """Write ``margins.json``: what `worst_margins` returned."""
    text = json.dumps(margins, ensure_ascii=False, indent=1).replace("Infinity", "null")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "margins.json").write_text(text + "\n", encoding="utf-8")


def table(machines: Mapping[str, MachineResults], expected: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the lines of the table of all machines.

    Args:
        machines: The results by the machines' names.
        expected: The files that are to run there.
    """
    columns = ("passed", "failed", "holds", "unclear", "fails", "not measured", "seconds")
    width = max([7, *map(len, machines)])
    lines = [f"{'machine':{width}}" + "".join(f"{column:>14}" for column in columns)]
    for name, results in machines.items():
        if results.not_staged:
            lines.append(f"{name:{width}}  not staged here: {results.not_staged.splitlines()[-1]}")
            continue
        rows = results.files.values()
        verdicts = [claim["verdict"] for row in rows for claim in row.claims.values()]
        numbers = [sum(row.passed for row in rows), sum(len(row.failed) for row in rows)]
        numbers += [verdicts.count(verdict) for verdict in VERDICTS]
        numbers.append(round(sum(row.seconds for row in rows)))
        lacking = [file for file in expected.get(name, ()) if file not in results.files]
        note = f"   {len(lacking)} files did not run" if lacking else ""
        lines.append(f"{name:{width}}" + "".join(f"{number:>14}" for number in numbers) + note)
    return lines


def failures(machines: Mapping[str, MachineResults]) -> list[str]:
    """Return one paragraph per failure and per claim that is not clear: machine, place, and the end of its text."""
    lines = []
    for name, results in machines.items():
        for file, result in results.files.items():
            for test, text in result.failed.items():
                lines += [
                    f"{name}: {file} {test.removeprefix(file + '::')}",
                    *(f"    {line}" for line in _gist(text)),
                ]
            for key, claim in result.claims.items():
                if claim["verdict"] in ("unclear", "fails"):
                    quartiles = (
                        f", by quartiles {claim['quartile_ratio']:.4g}" if claim.get("quartile_ratio") else ""
                    )
                    numbers = f"{claim['value']:.4g}{quartiles}" if claim["value"] is not None else "no value"
                    lines.append(f"{name}: claim {key} {claim['verdict']}: {numbers} ({_bounds(claim)})")
    return lines


def _bounds(claim: Mapping[str, Any]) -> str:
    """Return the bounds of a claim as words."""
    sides = ("at_least", "at_most")
    return ", ".join(f"{side} {claim[side]:g}" for side in sides if claim[side] is not None)


def _gist(text: str) -> list[str]:
    """Return the lines of a failure's text that say something: at most 14, without empty ones."""
    return [line for line in text.splitlines() if line.strip()][-14:]


def narrow(margins: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return a line for each claim that has less than `ENOUGH` to spare somewhere."""
    lines = []
    for key, entry in sorted(margins.items(), key=lambda item: item[1]["margin"]):
        if entry["margin"] < ENOUGH:
            same = ", the same on every machine" if entry["same_everywhere"] else ""
            lines.append(
                f"claim {key}: {entry['margin']:.2f} on {entry['machine']} "
                f"({entry['value']:.4g}, {_bounds(entry)}; {entry['machines']} machines{same})"
            )
    return lines
