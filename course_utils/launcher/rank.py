"""What torchrun starts in the place of a worker: it sets up what reports on the worker, then runs it as it is.

The worker is an ordinary script, which bare torchrun would run as well. Here, what it prints goes to the notebook in
whole lines, an exception or a hang leaves a traceback, and it ends when the notebook does.
"""

from __future__ import annotations

import atexit
import faulthandler
import importlib.util
import io
import os
import signal
import sys
import threading
import time
import traceback
import types
from collections.abc import Callable
from pathlib import Path

MOST_LINES, MOST_CHARACTERS = 10_000, 4_000  # an endless loop that prints must not fill the disk
VICTIM_SECONDS = 1.0  # how much later a rank ends that failed because of another one


class Lines(io.RawIOBase):
    """A stream that hands over whole lines, each in one piece."""

    def __init__(self, emit: Callable[..., None], descriptor: int) -> None:
        self.emit, self.descriptor, self.left = emit, descriptor, MOST_LINES
        self.begun: dict[int, bytes] = {}  # by thread: two that print at once must not share a line

    def writable(self) -> bool:
        """Return that one can write to it, which Python asks."""
        return True

    def fileno(self) -> int:
        """Return the descriptor that a child process may write to."""
        return self.descriptor

    def write(self, data: bytes) -> int:
        """Take in `data`, and hand over the lines that are whole."""
        thread = threading.get_ident()
        *whole, self.begun[thread] = (self.begun.get(thread, b"") + bytes(data)).split(b"\n")
        self.begun[thread] = self.begun[thread].rpartition(b"\r")[2]  # a progress bar writes over itself
        for line in whole:
            self._hand_over(line)
        return len(data)

    def finish(self) -> None:
        """Hand over lines that were begun and never ended."""
        for line in filter(None, self.begun.values()):
            self._hand_over(line)
        self.begun.clear()

    def _hand_over(self, line: bytes) -> None:
        self.left -= 1
        if self.left >= 0:
            text = line.removesuffix(b"\r").rpartition(b"\r")[2].decode("utf-8", "replace")
            self.emit(line=text[:MOST_CHARACTERS] if self.left else "…")


def end_with_the_notebook(pipe: int) -> None:
    """Wait until nobody holds the other end of `pipe` any more, then end this process and what it started."""
    while os.read(pipe, 1024):
        pass
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def write_down_where_it_is(path: str, seconds: float) -> None:
    """Write the traceback of every thread to `path` after a crash, when the time is up, or when this rank is stopped.

    faulthandler does so without Python's help, thus also in a rank that is stuck inside C++ code.
    """
    file = open(path, "wb", buffering=0)
    faulthandler.enable(file)
    faulthandler.dump_traceback_later(max(0.1, seconds), file=file)
    if hasattr(faulthandler, "register"):
        faulthandler.register(signal.SIGTERM, file, chain=True)  # what torchrun stops a rank with
        os.register_at_fork(after_in_child=lambda: faulthandler.unregister(signal.SIGTERM))  # its own only


def main() -> None:
    """Run the worker that the command line names, with its arguments."""
    script = os.path.abspath(sys.argv[1])
    del sys.argv[0]
    if not sys.flags.safe_path:
        sys.path[0] = os.path.dirname(script)  # as Python sets it for a script
    if importlib.util.find_spec("course_utils") is None:
        sys.path.append(str(Path(__file__).parents[2]))
    from course_utils.launcher import channel
    from course_utils.launcher.blame import is_consequence

    seconds_left = channel.begin()
    pipe = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    threading.Thread(target=end_with_the_notebook, args=(pipe,), daemon=True).start()

    raw = os.open(channel.file("raw"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(raw, 1)  # what C++ code and child processes print
    os.dup2(raw, 2)
    streams = Lines(channel.emit, 1), Lines(channel.emit, 2)
    sys.stdout, sys.stderr = (io.TextIOWrapper(s, "utf-8", "replace", write_through=True) for s in streams)

    write_down_where_it_is(channel.file("stacks"), seconds_left)

    module = sys.modules["__main__"] = types.ModuleType("__main__")
    module.__file__ = script
    status: object = 0
    try:
        exec(compile(Path(script).read_bytes(), script, "exec"), module.__dict__)
    except SystemExit as end:
        status = end.code or 0
        if not isinstance(status, int):
            print(status, file=sys.stderr)
            status = 1
        if status:
            channel.emit(exited=status)
    except BaseException as error:
        status, place = 1, error.__traceback__
        while place and place.tb_frame.f_code.co_filename != script:
            place = place.tb_next
        said = f"{type(error).__name__}: {error}"
        channel.emit(raised="".join(traceback.format_exception(type(error), error, place)), said=said)
        if is_consequence(said):  # the cause shall come to its own end: torchrun stops all ranks at the first
            time.sleep(VICTIM_SECONDS)
    threading._shutdown()  # waits for threads and pools, as Python does at its end; then what atexit knows
    atexit._run_exitfuncs()
    for stream in streams:
        stream.finish()
    if not status:
        channel.emit(done=True, backend=channel.backend())
    # Unloading PyTorch would abort now and then: gloo's threads outlive their group ("terminate called without …").
    os._exit(status)


if __name__ == "__main__":
    main()
