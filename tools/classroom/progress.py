"""Who of a class has solved what: ``python -m tools.classroom.progress [FILE …] [--group students] [--csv F] [--page F]``.

Every learner's solved exercises are in a file ``progress.json`` of their own. On a shared server this reads those of a
group's members (as root); elsewhere, those that students have handed in: ``NAME.json``, or ``NAME/progress.json``. A learner
can write into that file, so it shows where a class stands and proves nothing; ``python -m tools.grade`` does.
"""

import argparse
import csv
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

from bilingual import Bilingual, toml_of
from course_utils import lesson
from tools.classroom.progress_page import SAY, Exercises, Learner, page

FILE = ".local/share/pytorch-gpu-course/progress.json"  # in a home on Linux
MOST_BYTES = 1_000_000
PROBLEM = SAY["problem"]
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def exercises() -> dict[str, dict[str, Bilingual]]:
    """Return the titles of all exercises of the course."""
    found = {}
    for file in sorted(lesson.notebooks().glob("lesson_[0-9][0-9]/exercises.toml")):
        titles = {name: Bilingual(**entry["title"]) for name, entry in toml_of(file).items()}
        found[file.parent.name[-2:]] = titles
    return found


def read(path: Path, name: str, known: Exercises, owner: int | None = None) -> Learner:
    """Return what a file says; whatever is in it, this neither raises nor waits.

    Args:
        path: The file.
        name: Of the learner.
        known: The exercises of the course; others are left out.
        owner: Whose file it must be: root must not read another's through a link that a student has made.
    """
    try:
        # A named pipe would keep the reader waiting.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return Learner(name, problem=PROBLEM["nothing"])
    except OSError:
        return Learner(name, problem=PROBLEM["unreadable"])
    with os.fdopen(handle, "rb") as file:
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode) or about.st_size > MOST_BYTES or owner not in (None, about.st_uid):
            return Learner(name, problem=PROBLEM["not_theirs"])
        try:
            data = json.loads(file.read(MOST_BYTES))
            solved = {
                number: {
                    exercise: str(date)
                    for exercise, date in data.get(number, {}).items()
                    if exercise in titles and _DATE.fullmatch(str(date))
                }
                for number, titles in known.items()
            }
        except (ValueError, AttributeError, RecursionError):
            return Learner(name, problem=PROBLEM["damaged"])
    return Learner(name, solved)


def members(group: str) -> Iterator[tuple[str, Path, int]]:
    """Give the name, the file and the number of each user of a group."""
    import grp
    import pwd

    found = grp.getgrnam(group)
    for user in sorted(pwd.getpwall()):
        if user.pw_name in found.gr_mem or user.pw_gid == found.gr_gid:
            yield user.pw_name, Path(user.pw_dir, FILE), user.pw_uid


def handed_in(paths: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    """Give the name and the file of each learner among the given files and folders."""
    for path in paths:
        inside = sorted([*path.glob("*.json"), *path.glob("*/progress.json")]) if path.is_dir() else [path]
        for file in inside:
            yield (file.absolute().parent.name if file.name == "progress.json" else file.stem), file


def write_csv(file: TextIO, learners: Sequence[Learner], known: Exercises) -> None:
    """Write a line for each learner and a column for each exercise, with the date on which it was solved."""
    table = csv.writer(file)
    columns = [(number, name) for number, titles in known.items() for name in titles]
    table.writerow(["learner", "solved", *(f"{number} {name}" for number, name in columns), "problem"])
    for learner in learners:
        dates = [learner.solved.get(number, {}).get(name, "") for number, name in columns]
        # A spreadsheet takes a name that begins like a formula for one.
        name = f"'{learner.name}" if learner.name[:1] in "=+-@" else learner.name
        table.writerow([name, sum(map(bool, dates)), *dates, learner.problem.en if learner.problem else ""])


def lines(learners: Sequence[Learner], known: Exercises) -> Iterator[str]:
    """Give the lines for the terminal: how many exercises of each lesson everybody has solved."""
    width = max([len(learner.name) for learner in learners] + [8])
    yield f"{'':{width}}  {'  '.join(known)}   {SAY['page']['by_lesson']}"
    for learner in learners:
        counts = "  ".join(f"{len(learner.solved.get(number, ())) or '·':>2}" for number in known)
        yield f"{learner.name:{width}}  {counts}   {learner.problem or ''}".rstrip()
    yield f"{'of':{width}}  {'  '.join(f'{len(titles):>2}' for titles in known.values())}"


def main() -> None:
    """Read the progress of a class, print it, and write it as CSV and as a page."""
    what = __doc__.split("\n\n")[0]
    parser = argparse.ArgumentParser(prog="python -m tools.classroom.progress", description=what)
    add = parser.add_argument
    add("files", nargs="*", type=Path, help="NAME.json, or folders of NAME.json, NAME/progress.json")
    add("--group", help="all users of a group of this machine")
    add("--csv", type=Path, help="write a table for a spreadsheet")
    add("--page", type=Path, help="write a page for the browser")
    options = parser.parse_args()
    if not options.files and not options.group:
        parser.error("give files, folders or --group · 請指定檔案、資料夾，或用 --group")
    known = exercises()
    learners = [read(path, name, known) for name, path in handed_in(options.files)]
    if options.group:
        learners += [read(path, name, known, owner) for name, path, owner in members(options.group)]
    learners.sort(key=lambda learner: learner.name)
    print("\n".join(lines(learners, known)))
    if options.csv:
        with open(options.csv, "w", encoding="utf-8-sig", newline="") as file:  # Excel then reads it as UTF-8
            write_csv(file, learners, known)
    if options.page:
        options.page.write_text(page(learners, known), encoding="utf-8")


if __name__ == "__main__":
    main()
