"""Command line: ``python -m course_utils.doctor [--json] [--language en|zh|both] [slow|hang]``.

The exit status is 0 where nothing is wrong, 1 where a fault was found, 2 where the cause is not known.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys

from course_utils.doctor import doctor
from course_utils.language import CHOICES, choice


def _language() -> str:
    try:
        return choice()
    except ImportError:  # where this package's own requirements are missing, its settings are out of reach
        return "both"


def main(arguments: list[str] | None = None) -> int:
    """Ask, print the report, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m course_utils.doctor",
        description="Why is CUDA not available, why is it slow, why does it hang? · CUDA 為什麼不能用、為什麼慢、為什麼卡住？",
    )
    parser.add_argument("question", nargs="?", choices=("cuda", "slow", "hang"), default="cuda")
    parser.add_argument(
        "--json", action="store_true", help="for a report of a fault; holds no user or host names"
    )
    parser.add_argument("--language", choices=CHOICES, help="default: the one chosen in the notebooks")
    parser.add_argument(
        "--patience", type=float, default=1.0, help="factor on all time limits (default 1: 10 s)"
    )
    options = parser.parse_args(arguments)
    if not options.patience > 0:
        parser.error("--patience is a factor on the time limits; give a positive number")
    # A Windows console may know no Chinese: better a question mark than a traceback.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    report = doctor(options.question, patience=options.patience)
    if options.json:
        print(report.json())
    else:
        colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        width = min(shutil.get_terminal_size((88, 24)).columns, 100)
        print(report.text(options.language or _language(), max(width, 40), colour))
    return {"fine": 0, "fault": 1}.get(report.diagnosis.kind, 2)


if __name__ == "__main__":
    sys.exit(main())
