"""Run many small programs in forks of one process that has imported PyTorch, because importing it takes seconds.

``python fork_programs.py programs.json outputs.json``; both files map a name to a text: the program, and what it printed.
"""

import functools
import json
import os
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path

import torch.multiprocessing

AT_ONCE = 3
LIMIT_SECONDS = 240


def run(code: str, name: str, output: Path) -> None:
    """Run `code` in this process, which was forked for it, and end the process."""
    os.setsid()
    handle = os.open(output, os.O_WRONLY | os.O_CREAT)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    warnings.simplefilter("always")
    torch.multiprocessing.spawn = functools.partial(
        torch.multiprocessing.start_processes, start_method="fork"
    )
    status = 0
    try:
        exec(compile(code, name, "exec"), {"__name__": "__main__"})
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def main(programs: dict[str, str], folder: Path) -> dict[str, str]:
    """Run all programs, a few at a time, and return what each one printed."""
    waiting, running = list(programs), dict[int, float]()
    while waiting or running:
        while waiting and len(running) < AT_ONCE:
            name = waiting.pop(0)
            if (child := os.fork()) == 0:
                run(programs[name], name, folder / f"{name}.txt")
            running[child] = time.monotonic() + LIMIT_SECONDS
        for child, end in list(running.items()):
            ended = os.waitpid(child, os.WNOHANG) != (0, 0)
            if ended or time.monotonic() > end:
                try:
                    os.killpg(child, signal.SIGKILL)  # also what it has started
                except ProcessLookupError:
                    pass
                if not ended:
                    os.waitpid(child, 0)
                del running[child]
        time.sleep(0.01)
    return {name: (folder / f"{name}.txt").read_text(encoding="utf-8", errors="replace") for name in programs}


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    target.write_text(json.dumps(main(json.loads(source.read_text(encoding="utf-8")), target.parent)))
