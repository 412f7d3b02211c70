"""``python -m tools.site``: write the website into build/site."""

import argparse
import time
from pathlib import Path

from course_utils.language import EDITIONS
from tools import links
from tools.site.build import ROOT, build


def main() -> None:
    """Write the website, and say where it is and how large."""
    parser = argparse.ArgumentParser(prog="python -m tools.site", description=__doc__)
    parser.add_argument("lessons", nargs="*", help="numbers of lessons (01 05); default: all")
    parser.add_argument("--to", type=Path, default=ROOT / "build" / "site", help="default: build/site")
    parser.add_argument(
        "--languages", nargs="+", choices=EDITIONS, default=EDITIONS, help="default: all three"
    )
    options = parser.parse_args()
    links.warn()
    start = time.perf_counter()
    try:
        build(options.to, only=options.lessons, editions=options.languages, slides=ROOT / "build" / "slides")
    except (FileExistsError, ValueError) as error:
        parser.error(str(error))
    size = sum(path.stat().st_size for path in options.to.rglob("*") if path.is_file())
    seconds = time.perf_counter() - start
    print(
        f"{options.to / 'index.html'}: {size / 1e6:.1f} MB, {seconds:.0f} s · {size / 1e6:.1f} MB，{seconds:.0f} 秒"
    )


main()
