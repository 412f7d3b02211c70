"""The command line: make the learner's copy, or bring it up to date, and say in both languages what was done."""

import argparse
import sys
from pathlib import Path

from tools.my_course.update import update


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.my_course", description="Make or update your copy."
    )
    parser.add_argument("folder", nargs="?", type=Path, default=Path("my_course"), help="default: my_course")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal may not know Chinese
    for text in update(parser.parse_args(arguments).folder):
        print(text.en, text.zh, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
