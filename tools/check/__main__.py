"""Command line: ``python -m tools.check [--fix] [paths …]``; exit status 1 where something is wrong."""

import argparse
import sys
from pathlib import Path

from . import DEFAULT, ROOT, check_file, files, fix


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.check", description="Check notebooks and texts.")
    parser.add_argument("paths", nargs="*", type=Path, help=f"default: {' '.join(DEFAULT)}")
    parser.add_argument("--fix", action="store_true", help="first fix what is mechanical in the notebooks")
    options = parser.parse_args()
    try:
        paths = files(options.paths or [ROOT / name for name in DEFAULT if (ROOT / name).exists()])
    except FileNotFoundError as error:
        parser.error(str(error))
    if options.fix:
        for path in paths:
            if path.suffix == ".ipynb" and fix(path):
                print(f"fixed {path.name}")
    findings = [finding for path in paths for finding in check_file(path)]
    for finding in findings:
        print(finding)
    print(f"{len(findings)} findings in {len(paths)} files", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
