"""Check what Colab has installed, and execute lessons with it.

    python -m tools.colab                           compare Colab's published list with our requirements
    python -m tools.colab --write                   the same, and store what concerns the course
    python -m tools.colab 01_cuda_check.ipynb       execute an edition with Colab's versions, --language=zh-TW

The exit status is 1 if a requirement is not met, a cell fails, or the first cell changes what is installed.
"""

import argparse
import datetime
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tools.colab import requirements
from tools.colab.stage import errors, executed


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 if all is well."""
    parser = argparse.ArgumentParser(prog="python -m tools.colab", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NOTEBOOK", help="lessons to execute")
    parser.add_argument("--language", default="en", choices=("en", "zh-TW", "zh-CN"))
    parser.add_argument("--place", default="colab", choices=("colab", "kaggle"))
    parser.add_argument("--write", action="store_true", help="store the part that concerns the course")
    options = parser.parse_args(arguments)
    if options.names:
        from tools.editions import lesson

        bad = 0
        for name in options.names:
            notebook = lesson(name, options.language, "student")
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as work:
                done, changed = executed(notebook, options.language, Path(work), place=options.place)
            extra = set(changed) - {"pytorch-gpu-course", "opencc"}
            problems = errors(done) + [f"the first cell changed {name}" for name in sorted(extra)]
            print(f"{name}: {len(problems)} problems", *problems, sep="\n  ")
            bad += len(problems)
        return int(bad > 0)
    text = requirements.published()
    if options.write:
        today = datetime.date.today().isoformat()
        requirements.STORED.write_text(requirements.excerpt(text, today), encoding="utf-8")
    lines = requirements.unmet(requirements.parsed(text))
    print(*lines or ["All requirements of the lessons are met by what Colab has installed."], sep="\n")
    return int(bool(lines))


if __name__ == "__main__":
    raise SystemExit(main())
