r"""What runs in a rank: torchrun starts this file as a script, and it runs the worker, an ordinary script of its own.

It writes ``START-RANK.log`` into the run's folder: what is printed, and records (RFC 7464), which begin with the byte
0x1E: ``\x1e{"time": 81236543, "report": {"loss": 0.5}}``. The time is of a clock that all processes of a machine share. Nothing of the course is imported here: that would take seconds.
"""

import atexit
import faulthandler
import json
import os
import re
import signal
import sys
import threading
import time
import traceback
import types
from contextlib import suppress
from pathlib import Path
from typing import Any

LOG = "COURSE_RUN_LOG"  # environment variable: the log of this rank
CONSEQUENCE_SECONDS = 1.0  # how much longer a rank lives that failed because of another one
# What a rank's exception says if it waited too long for another rank, or if another rank is gone. Where several
# operations wait, gloo says of the others that a timeout of this rank, not of another one, closed the connection.
_WAITED = (
    r"[Tt]imed out|[Ww]ait timeout|[Tt]imeout\(ms\)|Socket Timeout|collective operation timeout|"
    r"Application timeout caused pair closure"
)
_LOST = (
    r"closed by peer|reset by peer|Broken pipe|Connection was likely closed|Connection refused|"
    r"failed to recv|DistNetworkError|DistStoreError|remote process exited|ncclRemoteError|communicator was aborted"
)


def consequence(message: str) -> int:
    """Return 0 for a cause, 2 if the rank waited too long for another one, 3 if a connection was lost after that."""
    return 2 if re.search(_WAITED, message) else 3 if re.search(_LOST, message) else 0


def report(**values: Any) -> None:
    """Pass values of this rank to the notebook (``run.results[rank]``); without a launcher, print them.

    Args:
        values: Numbers, strings, lists and dictionaries (what JSON can hold). A later report adds to an earlier one.

    Raises:
        TypeError: JSON cannot hold a value, such as a tensor.
    """
    for name, value in values.items():
        try:
            json.dumps(value)
        except (TypeError, ValueError):
            raise TypeError(
                f"report({name}=…): {type(value).__name__} cannot be handed back; give numbers, strings, lists or "
                "dictionaries, for a tensor tensor.tolist() · 無法傳回這種型別的值，請改用數字、字串、list 或 dict；張量可以用 tensor.tolist()"
            ) from None
    if LOG in os.environ:
        _record(report=values)
    else:  # in one piece, unlike print: other ranks write as well
        sys.stdout.write(json.dumps({"rank": int(os.environ.get("RANK", "0"))} | values) + "\n")
        sys.stdout.flush()


def _record(**facts: Any) -> None:
    """Append a record to this rank's log. Opened each time: threads and child processes may write as well."""
    distributed = sys.modules.get("torch.distributed")
    if distributed and distributed.is_available() and distributed.is_initialized():
        facts["backend"] = distributed.get_backend()
    line = json.dumps({"time": time.monotonic_ns()} | facts)
    # If there is no such file any more, the run is over.
    with suppress(FileNotFoundError), open(os.environ[LOG], "ab", buffering=0) as file:
        file.write(f"\x1e{line}\n".encode())


def _exit_with_agent(pipe: int) -> None:
    """Wait until nobody holds the other end of `pipe`, then kill this process and its children."""
    while os.read(pipe, 1024):
        pass
    with suppress(AttributeError, OSError):  # on Windows, and if this process does not lead a group
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def _run(script: str) -> int:
    """Run the worker as the main module, record how it fails, and return its exit status."""
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    module.__file__ = script
    try:
        exec(compile(Path(script).read_bytes(), script, "exec"), module.__dict__)
        return 0
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            print(end.code, file=sys.stderr)
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if status:
            _record(exited=status)
        return status
    except BaseException as error:
        place, message = error.__traceback__, f"{type(error).__name__}: {error}"
        while place and place.tb_frame.f_code.co_filename != script:
            place = place.tb_next
        _record(raised="".join(traceback.format_exception(type(error), error, place)), message=message)
        if consequence(message):  # the cause has to exit first: then torchrun stops all ranks
            time.sleep(CONSEQUENCE_SECONDS)
        return 1


def main() -> None:
    """Run the worker that the command line names, with its arguments."""
    script = os.path.abspath(sys.argv[1])
    del sys.argv[0]
    if "PYTHONSAFEPATH" not in os.environ:
        sys.path[0] = os.path.dirname(script)  # as Python sets it for a script
    rank, folder = os.environ["RANK"], Path(os.environ["COURSE_RUN_FOLDER"])
    start = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    os.environ[LOG] = str(folder / f"{start}-{rank}.log")
    _record(began=os.getpid())
    with suppress(FileExistsError):
        (folder / "began").touch(exist_ok=False)  # the time limit counts from the first rank
    seconds = (folder / "began").stat().st_mtime + float(os.environ["COURSE_RUN_LIMIT"]) - time.time()

    threading.Thread(target=_exit_with_agent, args=(os.dup(0),), daemon=True).start()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for stream in (sys.stdout, sys.stderr):  # with what C++ code and child processes print
        os.dup2(os.open(os.environ[LOG], os.O_WRONLY | os.O_APPEND), stream.fileno())
        # Whole lines at once: threads that print at the same time do not share one.
        stream.reconfigure(encoding="utf-8", errors="replace", line_buffering=True, write_through=False)

    # The stacks of all threads after a crash, when the time is up, and when torchrun stops this rank. faulthandler runs
    # no Python code for that, so it also works in a rank that is stuck inside C++ code.
    stacks = open(folder / f"{start}-{rank}.stacks", "wb", buffering=0)
    faulthandler.enable(stacks)
    faulthandler.dump_traceback_later(max(0.1, seconds), file=stacks)
    if hasattr(faulthandler, "register"):
        faulthandler.register(signal.SIGTERM, stacks, chain=True)  # not for its children:
        os.register_at_fork(after_in_child=lambda: faulthandler.unregister(signal.SIGTERM))
    status = _run(script)
    threading._shutdown()  # waits for threads and pools, as Python does at its end; then what atexit knows
    atexit._run_exitfuncs()
    sys.stdout.flush()
    if not status:
        _record(done=True)
    # Unloading PyTorch aborts now and then: gloo's threads outlive their group ("terminate called without …").
    os._exit(status)


if __name__ == "__main__":
    main()
