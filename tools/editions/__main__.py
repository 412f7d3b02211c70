"""``python -m tools.editions [--execute] [NN …]``: write the editions to ``build/editions/LANGUAGE/AUDIENCE/``.

Three languages, each for students and for instructors; the notebooks have no outputs, as they are to be run. What is wrong
with them (words of another language, dead links) is listed, with exit status 1. ``--execute`` also
executes each lesson once per language, for pages and slides with outputs in one language (``build/executed/``); a lesson
that has not changed is not executed again. ``--comments`` lists the comments in code that have no Chinese yet.
"""

import argparse
import itertools
import shutil
import sys

from course_utils.language import EDITIONS
from tools import links
from tools.notebook_file import NOTEBOOKS, canonical, read
from tools.record import CellFailed, replace

from .check import problems
from .code import missing
from .lessons import BUILD, chosen, lesson, run
from .making import AUDIENCES


def write(names: list[str]) -> list[str]:
    """Write all editions of the lessons; return what is wrong with them, one line each."""
    found = []
    everything = names == chosen()
    for language, audience in itertools.product(EDITIONS, AUDIENCES):
        folder = BUILD / "editions" / language / audience
        beside = folder if everything else NOTEBOOKS  # links to lessons that are not written now are right
        # Lessons 06 to 08 launch these scripts and show them by their path.
        left_out = shutil.ignore_patterns("__pycache__")
        shutil.copytree(NOTEBOOKS / "workers", folder / "workers", dirs_exist_ok=True, ignore=left_out)
        made = {name: lesson(name, language, audience) for name in names}
        for name, notebook in made.items():
            replace(folder / name, canonical(notebook))
        for name, notebook in made.items():
            found += [f"{language}/{audience}/{name}: {problem}" for problem in problems(notebook, beside)]
    return found


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.editions", description=__doc__.partition("\n")[0])
    parser.add_argument("lessons", nargs="*", metavar="NN", help="default: all")
    parser.add_argument("--execute", action="store_true", help="also execute each lesson in each language")
    parser.add_argument("--languages", nargs="+", choices=EDITIONS, default=EDITIONS, help="those to execute")
    parser.add_argument("--comments", action="store_true", help="only list comments that have no Chinese yet")
    options = parser.parse_args()
    try:
        names = chosen(options.lessons)
    except ValueError as error:
        parser.error(str(error))
    if options.comments:
        left = [f"{name[:2]}: {text!r}" for name in names for text in missing(read(NOTEBOOKS / name))]
        print("\n".join(left))
        return int(bool(left))
    links.warn()
    found = write(names)
    print(
        *found, f"{len(names)} lessons in {BUILD / 'editions'}, {len(found)} problems", sep="\n", flush=True
    )
    failed = bool(found)
    for language in options.languages if options.execute else ():
        for name in names:
            try:
                seconds = run(name, language)
            except CellFailed as error:
                failed = True
                print(f"{name} in {language}: FAILED; {error}", file=sys.stderr)
            else:
                took = "nothing new" if seconds is None else f"{seconds:.0f} s"
                print(f"{name} in {language}: {took}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
