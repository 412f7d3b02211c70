"""Execute notebooks on stand-ins for machines with CUDA, and report what goes wrong there.

``python -m tools.cuda_standin [--profile NAME …] [notebooks …]``

Reported for each profile and notebook: cells that raise, anything on stderr, outputs that differ from the stored ones
after sanitizing, exact facts that do not hold, races between streams, and how many claims were measured. Measured values
are not judged: they are the CPU's. The exit status is 1 if there is a finding that ``explained.toml`` does not explain.
"""

import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Container
from dataclasses import dataclass, field
from pathlib import Path

from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from bilingual import toml_of
from tools.claim_summary import read_notes
from tools.cuda_standin.driver import build
from tools.cuda_standin.profiles import SOUND
from tools.notebook_file import ROOT, lessons, read, without_clocks
from tools.record import client
from tools.sanitized import sanitized
from tools.written import own_environment, workplace

_SETTINGS = toml_of(Path(__file__).with_name("explained"))
EXPLAINED, PROBES = _SETTINGS["explained"], _SETTINGS["probe"]
LESSONS = ("01", "02", "03", "04", "05", "06", "07", "08")
NOT_COMPARED = {"application/vnd.jupyter.widget-view+json", "image/png", "text/latex"}
CELL_TIMEOUT = 600  # seconds; the lessons' own limit is for a machine with a GPU


@dataclass(frozen=True)
class Finding:
    """Something that is not as it should be on a machine with CUDA.

    Its kind is ``raises``, ``stderr``, ``differs``, ``error`` (another type than the stored one), ``fails`` (an exact
    fact), ``race`` or ``tf32`` (a float32 product is measured in TF32, which the environment has switched on).
    """

    kind: str
    where: str  # the id of the cell, or of the claim
    what: str


@dataclass
class Report:
    """What a notebook did on one machine."""

    profile: str
    notebook: str
    seconds: float = 0.0
    cells: int = 0
    claims: dict[str, dict] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def explained(self, finding: Finding) -> bool:
        """Return whether ``explained.toml`` has a reason for a finding."""
        return any(
            (entry["notebook"], entry["kind"]) == (self.notebook[:2], finding.kind)
            and finding.where in entry["where"]
            and self.profile in entry.get("profiles", SOUND)
            for entry in EXPLAINED
        )

    def unexplained(self) -> list[Finding]:
        """Return the findings for which there is no explanation."""
        return [finding for finding in self.findings if not self.explained(finding)]


def compared(outputs: list[NotebookNode]) -> list[str]:
    """Return the lines of outputs that are compared."""
    streams: dict[str, str] = {}
    lines = []
    for output in without_clocks(outputs):
        if output.output_type == "stream":
            streams[output.name] = streams.get(output.name, "") + output.text
        for kind, data in sorted(output.get("data", {}).items()):
            if kind not in NOT_COMPARED:
                lines += [f"{kind}: {line}" for line in sanitized(str(data)).splitlines()]
    for name, text in streams.items():
        if name != "stderr":
            lines += [f"{name}: {line}" for line in sanitized(text).splitlines()]
    return lines


def shortened(before: str, after: str) -> str:
    """Return where two lines part, with what stands around it."""
    at = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
    begin = max(0, at - 60)
    return f"stored  …{before[begin : at + 160]}…\n      here    …{after[begin : at + 160]}…"


def errors(outputs: list[NotebookNode]) -> list[str]:
    """Return the types of the errors that `message(…)` shows, although their texts are not compared."""
    texts = [output.get("data", {}).get("text/plain", "") for output in outputs]
    return [found[1] for text in texts if (found := re.match("\u27e8(\\w+):", text))]


def differences(stored: list[NotebookNode], fresh: list[NotebookNode]) -> list[str]:
    """Return how the outputs of a cell differ from the stored ones, sanitized."""
    before, after = compared(stored), compared(fresh)
    changes = difflib.SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes()
    parts = [("\n".join(before[a:b]), "\n".join(after[c:d])) for tag, a, b, c, d in changes if tag != "equal"]
    return [shortened(*part) for part in parts]


def kernel_environment(profile: str, library: Path, scratch: Path) -> dict[str, str]:
    """Return the variables with which a kernel runs on a machine of this profile."""
    startup = Path(__file__).with_name("startup")
    return {
        **os.environ,
        **own_environment(scratch / "journal.jsonl", scratch),
        "CUDA_STANDIN": profile,
        "CUDA_STANDIN_LIBRARY": str(library),
        "PYTHONPATH": os.pathsep.join([str(startup), str(ROOT)]),
        "CUDA_STANDIN_NOTES": str(scratch / "notes.jsonl"),
        "COURSE_STRICT": "0",
    }


def run(path: Path, profile: str, library: Path, *, only: Container[str] = ()) -> Report:
    """Execute a notebook, or `only` some of its cells, on a machine of this profile.

    The file stays as it is. A kernel that dies or hangs is a finding in the cell that it was at.
    """
    notebook = read(path)
    report, started = Report(profile, path.stem), time.monotonic()
    notebook.cells = [cell for cell in notebook.cells if not only or cell.id in only]
    for probe in PROBES:  # what a lesson shows only in a picture, or in a text that is not compared
        places = [i for i, cell in enumerate(notebook.cells) if cell.id == probe["after"]]
        if path.name.startswith(probe["notebook"]) and places:
            notebook.cells.insert(places[0] + 1, new_code_cell(probe["code"], id=f"{probe['after']}-probe"))
    stored = {cell.id: cell.get("outputs", []) for cell in notebook.cells}
    at = {"id": "setup"}
    with tempfile.TemporaryDirectory(prefix="cuda-standin-") as folder:
        scratch = Path(folder)
        executing = client(
            notebook,
            workplace(path.parent, scratch),
            timeout=CELL_TIMEOUT,
            allow_errors=True,
            on_cell_execute=lambda cell, cell_index: at.update(id=cell.id),
            on_cell_executed=lambda **_: setattr(report, "cells", report.cells + 1),
        )
        try:
            environment = kernel_environment(profile, library, scratch)
            if any(".Stream(" in cell.source for cell in notebook.cells):
                environment["CUDA_STANDIN_RACES"] = "1"
            executing.execute(stderr=subprocess.DEVNULL, env=environment)
        except (CellTimeoutError, DeadKernelError) as error:
            what = f"{type(error).__name__}: the lesson ends here"
            report.findings.append(Finding("raises", at["id"], what))
        journal = read_notes(scratch / "journal.jsonl")
        report.claims = {line["key"]: line["values"] for line in journal if line["kind"] == "claim"}
        notes = read_notes(scratch / "notes.jsonl")
    for cell in notebook.cells:
        if cell.cell_type != "code" or cell.execution_count is None:
            continue
        for output in cell.outputs:
            if output.output_type == "error":
                report.findings.append(Finding("raises", cell.id, f"{output.ename}: {output.evalue}"))
            if output.output_type == "stream" and output.name == "stderr":
                report.findings.append(Finding("stderr", cell.id, output.text.strip()))
        if not any(output.output_type == "error" for output in cell.outputs):
            before, after = errors(stored[cell.id]), errors(cell.outputs)
            if before != after:
                what = f"it is {', '.join(after) or 'missing'}, stored is {', '.join(before) or 'none'}"
                report.findings.append(Finding("error", cell.id, what))
            for difference in differences(stored[cell.id], cell.outputs):
                report.findings.append(Finding("differs", cell.id, difference))
    for id, values in report.claims.items():
        if values["verdict"] == "fails" and isinstance(values["value"], bool):
            report.findings.append(Finding("fails", id, "an exact fact does not hold"))
    numbered = {cell.execution_count: cell.id for cell in notebook.cells if cell.cell_type == "code"}
    report.findings += [Finding(note["kind"], numbered[note["cell"]], note["what"]) for note in notes]
    report.seconds = time.monotonic() - started
    return report


def show(report: Report) -> None:
    """Print a report, with the findings that nothing explains."""
    walked = [id for id, values in report.claims.items() if values["verdict"] != "needs"]
    unexplained = report.unexplained()
    print(
        f"{report.profile} {report.notebook}: {report.cells} cells in {report.seconds:.0f} s, {len(walked)} claims measured,"
        f" {len(report.claims) - len(walked)} not, {len(report.findings) - len(unexplained)} explained findings,"
        f" {len(unexplained)} others"
    )
    for finding in unexplained:
        print(f"  {finding.kind} {finding.where}: {finding.what}")


def main() -> int:
    """Run the command line and return the exit status."""
    what = "Run lessons without a GPU as if on one."
    parser = argparse.ArgumentParser(prog="python -m tools.cuda_standin", description=what)
    parser.add_argument("notebooks", nargs="*", type=Path, help="default: lessons 01 to 08")
    parser.add_argument("--profile", nargs="+", choices=SOUND, default=SOUND, help="default: all")
    options = parser.parse_args()
    paths = options.notebooks or [lessons()[number] for number in LESSONS]
    measured: dict[str, bool] = {}
    failed = False
    with tempfile.TemporaryDirectory(prefix="cuda-standin-") as folder:
        library = build(Path(folder))
        for profile in options.profile:
            for path in paths:
                report = run(path.resolve(), profile, library)
                show(report)
                sys.stdout.flush()
                failed |= bool(report.unexplained())
                for id, values in report.claims.items():
                    measured[id] = measured.get(id, False) or values["verdict"] != "needs"
    never = [id for id, was in measured.items() if not was]
    print(f"claims that no profile measured: {', '.join(never) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
