"""Evaluate a run: the claims with their spread, the share of the hardware's limits, and the table at the end."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from course_utils import recordings
from tools.claim_summary import VERDICTS, read_notes
from tools.verify_gpu.session import Outcome, Session

FULL_SHARE = 0.85  # of what the hardware is rated at; what stays below is to be explained
# Bytes per second and lane in one direction: transfers per second, less the line code (128 of 130 bits carry data).
PCIE_LANE = {1: 0.25e9, 2: 0.5e9, 3: 0.985e9, 4: 1.969e9, 5: 3.938e9}

# Claims whose value is itself a share of a limit.
LESSON_SHARES = {"2.6": "a model's transfer (of one tensor's)", "4.4": "overlap (of the ideal)"}


# --- the hardware's limits ------------------------------------------------------------------------------


def link(smi: str | None) -> float | None:
    """Return the bytes per second that the link to the host carries in one direction, by what nvidia-smi says."""
    try:
        generation, width = (int(part) for part in (smi or "").splitlines()[0].split(",")[:2])
        return PCIE_LANE[generation] * width
    except (ValueError, IndexError, KeyError):  # "[N/A]", another link than PCIe, a newer generation
        return None


def shares(found: dict[str, Any]) -> dict[str, dict[str, float | None]]:
    """Return for each ceiling of ``limits.json`` what it is rated at and the share that was reached, if known."""
    measured, wire = found["ceilings"], link(found["smi"])
    pairs = {"copy": found["rated"]["bandwidth"], "half": found["rated"]["half"]}
    pairs |= {"to_device": wire, "from_device": wire}
    return {
        name: {"measured": measured[name], "rated": rated, "share": measured[name] / rated if rated else None}
        for name, rated in pairs.items()
        if name in measured
    }


def judge_shares(session: Session) -> str:
    """Set what was reached beside the limits, and say which shares are to be explained, the lowest first."""
    try:
        found = json.loads((session.folder / "limits.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return "the ceilings were not measured"
    table = shares(found)
    for line in read_journals(session.folder.glob("recorded/*.jsonl")):
        if line["key"] in LESSON_SHARES and line["values"]["value"] is not None:
            name, value = LESSON_SHARES[line["key"]], line["values"]["value"]
            table[name] = {"measured": value, "rated": 1.0, "share": value}
    session.keep("shares.json", table)
    known = sorted((row["share"], name) for name, row in table.items() if row["share"] is not None)
    message = [f"{name} {share:.0%}{' (explain)' if share < FULL_SHARE else ''}" for share, name in known]
    return ", ".join(
        message + [f"{name}: rating unknown" for name, row in table.items() if row["share"] is None]
    )


# --- claims --------------------------------------------------------------------------------------------


@dataclass
class Spread:
    """A claim, and what all passes measured; the first verdict is the recording's."""

    id: str
    at_least: float | None
    at_most: float | None
    verdicts: list[str] = field(default_factory=list)
    samples: list[float] = field(default_factory=list)

    @property
    def steady(self) -> bool:
        """Whether every pass and every sample says that it holds (or that this machine cannot tell)."""
        if not set(self.verdicts) & set(recordings.MEASURED):
            return True
        limits = recordings.Limits(self.at_least, self.at_most)
        return set(self.verdicts) == {"holds"} and all(map(limits.allow, self.samples))


def read_journals(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """Return the notes of all journals."""
    return [note for path in sorted(paths) for note in read_notes(path)]


def spreads(recorded: list[dict[str, Any]], compared: list[dict[str, Any]]) -> list[Spread]:
    """Return every claim of the recording's journal (with its further measurements) and of the strict comparison's."""
    found: dict[str, Spread] = {}
    for line in [*recorded, *compared]:
        if line["kind"] != "claim":
            continue
        values, key = line["values"], line["key"]
        one = found.setdefault(key, Spread(key, values["at_least"], values["at_most"]))
        one.verdicts.append(values["verdict"])
        for number in (values["value"], *values.get("again", [])):
            if number is not None and not isinstance(number, bool):
                one.samples.append(float(number))
    return [found[key] for key in sorted(found)]


def claims_table(rows: list[Spread]) -> str:
    """Return all claims as a table in plain text."""

    def text(number: float | None) -> str:
        return "" if number is None else f"{number:.4g}"

    heads = ["lowest", "highest", "at least", "at most"]
    lines = [f"{'claim':16} {'verdicts':22} {'n':>2}" + "".join(f"{head:>10}" for head in heads)]
    for row in rows:
        verdicts = ", ".join(dict.fromkeys(row.verdicts))
        ends = min(row.samples, default=None), max(row.samples, default=None)
        numbers = map(text, (*ends, row.at_least, row.at_most))
        columns = f"{row.id:16} {verdicts:22} {len(row.samples):2}" + "".join(f"{n:>10}" for n in numbers)
        lines.append(columns + ("" if row.steady else "  <-- look"))
    return "\n".join(lines) + "\n"


def judge_claims(session: Session) -> str:
    """Write the claims with their spread, and say how many hold, and which need a look."""
    recorded = read_journals(session.folder.glob("recorded/*.jsonl"))
    rows = spreads(recorded, read_journals(session.folder.glob("strict/*.jsonl")))
    session.keep("claims.json", [asdict(row) | {"steady": row.steady} for row in rows])
    session.file("claims.txt").write_text(claims_table(rows), encoding="utf-8")
    verdicts = [row.verdicts[0] for row in rows]
    counts = ", ".join(f"{verdicts.count(v)} {v}" for v in VERDICTS if v in verdicts)
    look = [row.id for row in rows if not row.steady]
    return f"{len(rows)} claims: {counts or 'none'}" + (f"; look at {', '.join(look)}" if look else "")


# --- the table at the end ------------------------------------------------------------------------------


def summary(outcomes: list[Outcome], rehearsal: bool) -> str:
    """Return the short table at the end."""
    lines = ["REHEARSAL: no figure here is evidence of a GPU.", ""] if rehearsal else []
    lines += [f"{'step':8} {'result':8} {'seconds':>7}  what was found"]
    for one in outcomes:
        words = one.message if len(one.message) <= 240 else one.message[:240] + " …"
        lines.append(f"{one.step:8} {one.status:8} {one.seconds:7.1f}  {words}")
    bad = [one.step for one in outcomes if not one.fine]
    seconds = sum(one.seconds for one in outcomes)
    lines.append(f"{'in all':8} {'failed' if bad else 'ok':8} {seconds:7.1f}  {', '.join(bad)}".rstrip())
    return "\n".join(lines)
