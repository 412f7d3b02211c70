"""Run the tests: `python -m tools.test` all of them, with arguments what pytest makes of those.

All means two runs. First the notebooks, one after the other and alone, because their claims measure time. Then everything
else in two processes at once: most of it waits for a browser, a kernel or a process. A file's tests stay together, so
that what they share (a JupyterLab, a lesson that was run) is made once, and files begin in alphabetical order: the
longest, those of the browser, come first and leave no tail.
"""

from __future__ import annotations

import subprocess
import sys

RUNS = (
    ["notebooks"],
    ["tests", "--numprocesses=2", "--dist=loadfile", "--no-loadscope-reorder"],
)


def main(arguments: list[str]) -> int:
    """Run the tests, the second part also when the first fails, and return the worst exit status."""
    statuses = []
    for options in [arguments] if arguments else RUNS:
        command = [sys.executable, "-m", "pytest", *options]
        print("+", " ".join(["pytest", *options]), flush=True)
        try:
            statuses.append(subprocess.run(command).returncode)
        except KeyboardInterrupt:
            return 130
    return max(map(abs, statuses))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
