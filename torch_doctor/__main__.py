"""Command line: ``torch-doctor``, which is the same as ``python -m torch_doctor``."""

from __future__ import annotations

import argparse
import codecs
import os
import shutil
import sys
from typing import BinaryIO

from bilingual import CHOICES
from torch_doctor import doctor, explain
from torch_doctor.data import screen
from torch_doctor.diagnosis import QUESTIONS
from torch_doctor.diagnosis.this_process import command
from torch_doctor.terminal import in_language, label, language
from torch_doctor.version import __version__

COMMANDS = (*QUESTIONS, "explain", "errors")


# Help and errors are for every reader: argparse writes them before a language is chosen.
_HELP = {name: label(text, "both") for name, text in screen("command_line", "help").items()}
_HEAD, _FOOT = (f"{text.en}\n{text.zh.lstrip()}" for text in screen("command_line", "page").values())
_EXAMPLES = "".join(
    f"\n  {run}\n      {label(text, 'both')}" for run, text in screen("command_line", "example").items()
)
_WRONG = {name: label(text, "both") for name, text in screen("command_line", "wrong").items()}
_LISTED, _NOT_FOUND = screen("command_line", "text").values()
_MAX_BYTES = 1_000_000  # of the beginning, and of the end, of a long output; more than explain() looks at
_EXIT = {"fine": 0, "fault": 1, "unknown": 3}


def _parser() -> argparse.ArgumentParser:
    program = "torch-doctor" if command()[0] == "torch-doctor" else "python -m torch_doctor"
    parser = argparse.ArgumentParser(
        prog=program,
        description=f"{_HEAD}\n{_EXAMPLES.format(program=program)}",
        epilog=_FOOT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("words", nargs="*", metavar="|".join(COMMANDS), help=_HELP["command"])
    parser.add_argument("--python", metavar="PATH", help=_HELP["python"])
    parser.add_argument("--details", action="store_true", help=_HELP["details"])
    parser.add_argument("--json", action="store_true", help=_HELP["json"])
    parser.add_argument("--language", choices=CHOICES, help=_HELP["language"])
    parser.add_argument("--patience", type=float, default=1.0, metavar="FACTOR", help=_HELP["patience"])
    parser.add_argument("--version", action="version", version=f"torch_doctor {__version__}")
    return parser


def _print(text: str) -> None:
    """Print `text`; if nobody reads on (``torch-doctor | head``), end without a traceback."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more as it ends


def _diagnose(question: str, options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    try:
        report = doctor(question, patience=options.patience, python=options.python)
    except ValueError as error:
        parser.error(str(error))
    if options.json:
        _print(report.json())
    else:
        colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        width = min(shutil.get_terminal_size((88, 24)).columns, 100)
        in_language = options.language or language()
        _print(report.text(in_language, max(width, 40), colour, options.details))
    return _EXIT[report.diagnosis.kind]


def _text(output: BinaryIO) -> str:
    """Return beginning and end of `output`, however long it is."""
    begin, end = output.read(_MAX_BYTES), b""
    while more := output.read(_MAX_BYTES):
        end = (end + more)[-_MAX_BYTES:]
    text = begin + end
    # Windows PowerShell 5 writes UTF-16 into the file of `python train.py > output.txt`.
    wide = text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and b"\0" in text
    return text.decode("utf-16" if wide else "utf-8-sig", "replace")


def _explain(file: str | None, options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    if file in (None, "-"):
        if file is None and sys.stdin.isatty():
            parser.error(_WRONG["nothing"].format(program=parser.prog))
        text = _text(sys.stdin.buffer)
    else:
        try:
            with open(file, "rb") as output:
                text = _text(output)
        except OSError as error:
            parser.error(_WRONG["unreadable"].format(file=file, why=error.strerror))
    if not text.strip():
        parser.error(_WRONG["empty"])
    card = explain(text)
    _print(_card(card, options, parser))
    return 0 if card.entry else _EXIT["unknown"]


def _card(card: object, options: argparse.Namespace, parser: argparse.ArgumentParser) -> str:
    text = card.text(options.language or language(), program=parser.prog)  # type: ignore[attr-defined]
    return text.replace("⟨", "").replace("⟩", "")


def _errors(words: list[str], options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    """Print one error as a card, or several as a list: name and message."""
    from torch_doctor.errors.catalogue import entries
    from torch_doctor.errors.search import search

    named = entries().get(words[0]) if len(words) == 1 else None
    found = [named] if named else search(" ".join(words))
    if len(found) == 1:
        _print(_card(explain(found[0].samples[0]), options, parser))
    else:
        _print("\n".join(f"{entry.name:20} {entry.message}" for entry in found) or label(_NOT_FOUND, "both"))
        if found and sys.stdout.isatty():  # a pipe gets the list alone
            how = in_language(_LISTED, options.language or language())
            _print("\n" + "\n".join(how).format(program=parser.prog, name=found[0].name))
    return 0 if found else _EXIT["unknown"]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit status.

    Args:
        arguments: The arguments; default: those of this process.

    Raises:
        SystemExit: The arguments are wrong (2), or ``--help`` was given (0).
    """
    # An old Windows console cannot show Chinese: a question mark is better than a traceback.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    parser = _parser()
    options = parser.parse_intermixed_args(arguments)
    name, *words = options.words or ["cuda"]
    if name not in COMMANDS:
        parser.error(_WRONG["command"].format(command=name, commands=", ".join(COMMANDS)))
    if len(words) > {"explain": 1, "errors": len(words)}.get(name, 0):
        parser.error(_WRONG["too many"].format(words=" ".join(words)))
    if name not in QUESTIONS and (options.json or options.details or options.python):
        parser.error(_WRONG["diagnosis only"])
    if not 0 < options.patience < float("inf"):
        parser.error(_WRONG["patience"])
    if name == "errors":
        return _errors(words, options, parser)
    if name == "explain":
        return _explain(words[0] if words else None, options, parser)
    return _diagnose(name, options, parser)


if __name__ == "__main__":
    sys.exit(main())
