"""Run the tests: `python -m tools.test` all of them, with arguments what pytest makes of those.

All means two runs. First what compares times, one after the other and alone: the notebooks whose claims do so, and the
tests of measuring. Then everything else in three processes at once: much of it waits for a browser, a kernel or a
process. A file's tests stay together, so that what they share (a kernel, a JupyterLab, a lesson that was run) is made
once; of the browser's file, which takes longest, those of a lesson. The last table counts the cells of both runs.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

BESIDE = [
    "notebooks/06_distributed_data_parallel.ipynb",
    "notebooks/08_error_clinic.ipynb",
]  # they compare no times
TIMED = "tests/unit/test_measure.py"
RUNS = (
    ["notebooks", TIMED, *(f"--ignore={notebook}" for notebook in BESIDE)],
    [*BESIDE, "tests", f"--ignore={TIMED}", "--numprocesses=3", "--dist=loadfile", "--no-loadscope-reorder"],
)


def share(test: str) -> str:
    """Return what all tests have in common that run in the same process as the test of this id."""
    file = test.split("::")[0]
    lesson = re.search(r"(?<!\d)\d\d_[a-z_]+", test.removeprefix(file))
    return f"{file} {lesson[0]}" if lesson and file == "tests/browser/test_lessons.py" else file


def main(arguments: list[str]) -> int:
    """Run the tests, the second part also when the first fails, and return the worst exit status."""
    statuses = []
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"COURSE_SUMMARY": str(Path(folder) / "summary.json")}
        for options in [arguments] if arguments else RUNS:
            command = [sys.executable, "-m", "pytest", *options]
            print("+", " ".join(["pytest", *options]), flush=True)
            try:
                statuses.append(subprocess.run(command, env=environment).returncode)
            except KeyboardInterrupt:
                return 130
    return max(map(abs, statuses))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
