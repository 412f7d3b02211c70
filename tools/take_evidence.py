"""``python -m tools.take_evidence ARCHIVE``: put what was measured on a GPU into the course.

Updates this GPU's file in ``recordings`` (claims, curves, recorded timelines) and README's table. An archive
that was not made on CUDA, or with other lessons than the last commit holds, is refused, and nothing is changed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from tools.evidence import FOLDER, write
from tools.record import write_table
from tools.verify_gpu.archive import Refused, check, committed, unpack


def take(packed: Path, folder: Path = FOLDER) -> tuple[Path, str]:
    """Write the archive's recorded run into `folder`.

    Args:
        packed: What ``python -m tools.verify_gpu`` left.
        folder: The folder with the recorded runs of all machines.

    Returns:
        The file that was written, and the run's table.

    Raises:
        Refused: The archive was not measured with the lessons that are committed here.
    """
    with tempfile.TemporaryDirectory(prefix="course-archive-") as scratch:
        manifest, files = unpack(packed, Path(scratch))
        found = sorted((files / "evidence").glob("*.json"))
        if len(found) != 1:
            raise Refused(f"{packed.name} holds no recorded run: no lesson measured anything.")
        run = json.loads(found[0].read_text(encoding="utf-8"))
        check(manifest, run, committed())
        lines = [
            {"kind": kind, "key": key, "values": values}
            for kind in ("claim", "curve")
            for key, values in run[f"{kind}s"].items()
        ]
        table = (files / "summary.txt").read_text(encoding="utf-8")
        return write(lines, folder, date=run["date"], facts=run["machine"]), table


def main() -> int:
    """Read the command line and take the archive's evidence; the exit status is 1 if it is refused."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.take_evidence", description=__doc__.splitlines()[0]
    )
    parser.add_argument("archive", type=Path, help="course-….tar.gz, left by python -m tools.verify_gpu")
    options = parser.parse_args()
    try:
        written, table = take(options.archive)
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
