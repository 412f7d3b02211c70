"""Command line: ``python -m tools.slides [LESSON …] [--language zh-TW]`` → ``build/slides/<language>/NN_name.html``."""

import argparse
import sys

from tools import links
from tools.editions import EDITIONS, chosen, lesson
from tools.editions.lessons import BUILD
from tools.slides import deck


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.slides", description="Make slides of the lessons.")
    parser.add_argument("lessons", nargs="*", help="two digits, such as 01; default: all")
    parser.add_argument("--language", choices=EDITIONS, action="append", help="default: all")
    options = parser.parse_args()
    try:
        names = chosen(options.lessons)
    except ValueError as error:
        parser.error(str(error))
    links.warn()
    for language in options.language or EDITIONS:
        for name in names:
            target = BUILD / "slides" / language / name.replace(".ipynb", ".html")
            target.parent.mkdir(parents=True, exist_ok=True)
            made = lesson(name, language, "instructor", outputs=True)
            target.write_text(deck(made, language), encoding="utf-8")
            print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
