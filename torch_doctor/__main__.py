"""Command line: ``python -m torch_doctor [cuda|slow|hang]`` and ``python -m torch_doctor explain [FILE]``."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from torch_doctor import doctor, explain
from torch_doctor.bilingual import CHOICES, chosen_language

_EXIT = {"fine": 0, "fault": 1, "unknown": 2}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m torch_doctor",
        description="Why does CUDA not work, why is it slow, why does it hang? And what does this error mean?"
        " · CUDA 為什麼不能用、為什麼慢、為什麼卡住？這個錯誤訊息是什麼意思？",
        epilog="Exit status: 0 nothing is wrong, 1 a fault was found, 2 the cause is not known;"
        " of explain: 0 the error is known, 1 it is not.",
    )
    parser.add_argument(
        "command", nargs="?", choices=("cuda", "slow", "hang", "explain"), default="cuda",
        help="cuda (default): why is CUDA not available? slow: why is it slow? hang: why does training with several"
        " processes hang? explain: explain an error output",
    )  # fmt: skip
    parser.add_argument("file", nargs="?", help="for explain: a log (default: standard input)")
    parser.add_argument(
        "--language", choices=CHOICES, help="default: TORCH_DOCTOR_LANGUAGE if it is set, otherwise both"
    )
    parser.add_argument(
        "--json", action="store_true", help="JSON without user names and host names, for a bug report"
    )
    parser.add_argument(
        "--patience",
        type=float,
        default=1.0,
        metavar="FACTOR",
        help="factor on all time limits (default 1: 10 s)",
    )
    parser.add_argument(
        "--page", metavar="OUT.html", help="for explain: write all known errors as one HTML page"
    )
    return parser


def _diagnose(options: argparse.Namespace) -> int:
    report = doctor(options.command, patience=options.patience)
    if options.json:
        print(report.json())
    else:
        colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        width = min(shutil.get_terminal_size((88, 24)).columns, 100)
        print(report.text(options.language or chosen_language(), max(width, 40), colour))
    return _EXIT[report.diagnosis.kind]


def _explain(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    if options.file is None:
        if sys.stdin.isatty():
            parser.error(
                "give a file, or pipe an output: python train.py 2>&1 | python -m torch_doctor explain"
            )
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
    else:
        try:
            text = Path(options.file).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            parser.error(f"{options.file} cannot be read: {error.strerror}")
    if not text.strip():
        parser.error("there is no text to explain")
    card = explain(text)
    print(card.text(options.language or chosen_language()).replace("⟨", "").replace("⟩", ""))
    return 0 if card.entry else 1


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit status.

    Args:
        arguments: The arguments; default: those of this process.

    Raises:
        SystemExit: The arguments are wrong (2), or ``--help`` was given (0).
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    explaining = options.command == "explain"
    if (options.file or options.page) and not explaining:
        parser.error("a file and --page belong to explain: python -m torch_doctor explain FILE")
    if explaining and options.json:
        parser.error("--json belongs to a diagnosis (cuda, slow, hang), not to explain")
    if not options.patience > 0:
        parser.error("--patience is a factor on the time limits; give a positive number")
    # An old Windows console cannot show Chinese: a question mark is better than a traceback.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    if options.page:
        from torch_doctor.errors.page import page

        Path(options.page).write_text(page(), encoding="utf-8", newline="\n")
        return 0
    return _explain(options, parser) if explaining else _diagnose(options)


if __name__ == "__main__":
    sys.exit(main())
