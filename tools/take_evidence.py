"""``python -m tools.take_evidence ARCHIVE …``: put what was measured on a GPU into the course.

Updates this GPU's file in ``recordings`` (claims, curves, recorded timelines) and README's table, from one archive or
from several of one machine. If one of them was not made on CUDA, or with other lessons than the last commit holds, it is
refused, and nothing is changed.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from tools.evidence import FOLDER, slug, write
from tools.record import write_table
from tools.verify_gpu.archive import Refused, check, committed, unpack


def take(archives: list[Path], folder: Path = FOLDER) -> tuple[Path, str]:
    """Write what the archives of one machine hold into its file in `folder`; return that file and the runs' tables.

    Of a claim in two of them, the later one's counts.

    Raises:
        Refused: One was not measured with the lessons that are committed here, or they come from different machines.
    """
    expected, taken = committed(), []
    for packed in sorted(archives, key=lambda path: path.name):  # a name ends in date and time
        with tempfile.TemporaryDirectory(prefix="course-archive-") as scratch:
            manifest, files = unpack(packed, Path(scratch))
            found = sorted((files / "evidence").glob("*.json"))
            if len(found) != 1:
                raise Refused(f"{packed.name} holds no recorded run: no lesson measured anything.")
            run = json.loads(found[0].read_text(encoding="utf-8"))
            check(packed.name, manifest, run, expected)
            taken.append((run, (files / "summary.txt").read_text(encoding="utf-8")))
    taken.sort(key=lambda one: one[0]["date"])
    machines = {f"{slug(run['machine'])}, PyTorch {run['machine']['torch']}" for run, _ in taken}
    if len(machines) > 1:
        raise Refused(
            f"these archives come from different machines ({'; '.join(sorted(machines))}). Take each alone."
        )
    lines = [
        {"kind": kind, "key": key, "values": values, "lesson": run.get("drawn_in", {}).get(key)}
        for run, _ in taken
        for kind in ("claim", "curve")
        for key, values in run[f"{kind}s"].items()
    ]
    last = taken[-1][0]
    written = write(lines, folder, date=last["date"], facts=last["machine"])
    return written, "\n".join(table for _, table in taken)


def main() -> int:
    """Read the command line and take the archives' evidence; the exit status is 1 if one is refused."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.take_evidence", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "archives", nargs="+", type=Path, metavar="ARCHIVE",
        help="course-….tar.gz, left by python -m tools.verify_gpu; several of one machine together",
    )  # fmt: skip
    options = parser.parse_args()
    try:
        written, table = take(options.archives)
    except Refused as error:
        print(f"Refused: {error} Nothing was changed.", file=sys.stderr)
        return 1
    write_table()
    print(f"{table}\nrecorded run: {written.name}; README's table is updated.")
    print(
        "Next: python -m tools.record --no-evidence (the cards show the new record), make test, look, commit."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
