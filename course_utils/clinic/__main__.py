"""Command line: ``python -m course_utils.clinic [FILE]`` explains an error output; ``--page FILE`` writes the catalogue."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from course_utils import language
from course_utils.clinic import explain


def main(arguments: list[str] | None = None) -> int:
    """Explain what stands in a file or comes in, and return the exit status: 1 where the clinic does not know it."""
    parser = argparse.ArgumentParser(
        prog="python -m course_utils.clinic",
        description="Explain an error output: a file, or what is piped in · 解釋錯誤輸出：給檔案，或用管線送進來",
    )
    parser.add_argument(
        "file", nargs="?", default="-", help="a log; without it, standard input · 記錄檔；不給就讀標準輸入"
    )
    parser.add_argument(
        "--language", choices=language.CHOICES, help="default: the one chosen in the notebooks"
    )
    parser.add_argument(
        "--page", metavar="FILE", help="write the whole catalogue as an HTML page · 把整份目錄寫成網頁"
    )
    options = parser.parse_args(arguments)
    if options.page:
        from course_utils.clinic.page import page

        Path(options.page).write_text(page(), encoding="utf-8", newline="\n")
        return 0
    if options.file == "-":
        if sys.stdin.isatty():
            parser.error(
                "give a file, or pipe an output into it: python train.py 2>&1 | python -m course_utils.clinic"
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
    choice = options.language or language.choice()
    # An old Windows terminal cannot show every character; a question mark is better than a traceback.
    sys.stdout.reconfigure(errors="replace")
    print(card.text(choice).replace("⟨", "").replace("⟩", ""))
    return 0 if card.entry else 1


if __name__ == "__main__":
    sys.exit(main())
