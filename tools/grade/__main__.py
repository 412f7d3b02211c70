"""``python -m tools.grade NOTEBOOK|FOLDER …``: examine the exercises of handed-in notebooks again.

Only the learner's answers are taken from a notebook; everything else is the course's own. Each answer runs in a
process of its own with limits of time, memory, files, output and processes, in an empty folder, without network and
without the caller's environment. That needs Linux. Exit status 2: nothing was executed.
"""

import argparse
import gc
import importlib
import os
import re
import sys
from pathlib import Path

from tools.grade.texts import TEXTS, visible

# Before PyTorch is imported: the process that is copied for each answer has one thread and no GPU. The verdict on an
# answer does not depend on either.
ALONE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1") | {
    "CUDA_VISIBLE_DEVICES": "",
    "COURSE_GRADING": "1",  # this process has no other variables than those below
}
# What this process keeps of the caller's environment: answers can read all of it.
ALLOWED = re.compile(
    r"PATH|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|LD_LIBRARY_PATH|PYTHON\w+|(COURSE|TORCH_DOCTOR)_LANGUAGE"
)


def arguments(given: list[str] | None) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.grade", description="Grade notebooks. · 為筆記本評分。"
    )
    add = parser.add_argument
    add("paths", nargs="+", type=Path, metavar="PATH", help="notebooks, or folders of them · 筆記本或資料夾")
    add("--lesson", help="two digits; other lessons are not graded · 只評這一課（兩位數字）")
    add("--json", type=Path, metavar="FILE", help="write everything there · 把完整結果寫到這個檔案")
    add("--csv", type=Path, metavar="FILE", help="write a table of the class · 把全班的表格寫到這個檔案")
    add("--points", nargs=3, type=int, default=(1, 2, 3), metavar=("EASY", "MEDIUM", "HARD"),
        help="points by level (1 2 3) · 三種難度的分數（1 2 3）")  # fmt: skip
    add("--memory", type=float, default=4.0, metavar="GB", help="for each answer (4) · 每份答案的上限（4）")
    add("--language", choices=("en", "zh-TW", "zh-CN"), help="of the terminal (both) · 終端機的語言")
    add("--details", action="store_true", help="every exercise with its hint · 列出每一題與提示")
    add("--unprotected", action="store_true", help="even if nothing protects you · 無法隔離時仍然執行")
    return parser.parse_args(given)


def refusal(options: argparse.Namespace) -> object:
    """Return why these options cannot work, None if they can."""
    from tools.grade import course

    why, known = TEXTS["refused"], course.lessons()
    for path in options.paths:
        if not path.exists():
            return why["no_file"].format(path=visible(str(path)))
        if not notebooks([path]):
            return why["no_notebook"].format(path=visible(str(path)))
    if options.lesson not in (None, *known):
        return why["no_lesson"].format(lesson=visible(options.lesson), known=", ".join(known))
    for path in filter(None, (options.json, options.csv)):
        if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
            return why["no_target"].format(path=visible(str(path)))
    return None


def notebooks(paths: list[Path]) -> list[tuple[Path, str]]:
    """Return the notebooks among the paths and below the folders, in their order, with names that tell them apart."""
    found: dict[Path, str] = {}
    for path in paths:
        inside = sorted(path.rglob("*.ipynb")) if path.is_dir() else [path]
        for file in inside:
            if not any(part.startswith(".") for part in file.relative_to(path).parts):  # checkpoints
                found.setdefault(file, str(file.relative_to(path) if path.is_dir() else file))
    names = list(found.values())
    return [(file, visible(name if names.count(name) == 1 else str(file))) for file, name in found.items()]


def main(given: list[str] | None = None) -> int:
    """Grade what the command line names, and return the exit status."""
    options = arguments(given)
    if not hasattr(os, "fork"):
        print(TEXTS["refused"]["windows"], file=sys.stderr)
        return 2
    # The memory of this process, with the old variables, is that of answers.
    if "COURSE_GRADING" not in os.environ:
        kept = {name: value for name, value in os.environ.items() if ALLOWED.fullmatch(name)}
        sys.stdout.flush()
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], kept | ALONE)
    if why := refusal(options):
        print(why, file=sys.stderr)
        return 2
    importlib.import_module("torch._dynamo")  # PyTorch replaces parts of itself when it imports this

    from course_utils import language
    from tools.grade import course, grading, report, sandbox

    course.make_importable()
    why = sandbox.obstacle(protected=True)
    if why and not (options.unprotected and not sandbox.obstacle(protected=False)):
        print(TEXTS["refused"]["unprotected"].format(why=why), file=sys.stderr)
        return 2
    language.use(options.language)
    rates = dict(zip(grading.POINTS, options.points, strict=True))
    limits = sandbox.Limits(memory=int(options.memory * 2**30))
    gc.freeze()  # or the collector of each copy of this process makes a copy of all objects, too
    files, grades = notebooks(options.paths), []
    for file, name in files:
        grades.append(grading.grade(file, name, limits, protected=not why, lesson=options.lesson))
        print(f"{len(grades)}/{len(files)} {name}", file=sys.stderr, flush=True)
    alike = grading.compare(grades)
    for grade in grades:
        print(report.terminal(grade, rates, details=options.details or len(grades) == 1))
    if options.json:
        options.json.write_text(report.as_json(grades, alike, rates, not why), encoding="utf-8")
    if options.csv:  # a spreadsheet recognizes UTF-8 by the mark at its beginning
        options.csv.write_text(report.as_csv(grades, rates), encoding="utf-8-sig", newline="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
