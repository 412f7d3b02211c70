"""Several processes from a notebook: ``launch`` runs a script under torchrun and shows what its ranks print.

    kernel ── pipe ──> supervisor ── pipe ──> torchrun (one per machine) ───> ranks (rank.py, which runs the worker)
       └──────────── reads ────────────> the run's folder <──────── write ──────┘

When a process ends, however it ends, the operating system closes its pipe, and then all to the right of it ends.
"""

import shlex
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping
from pathlib import Path

from notebook_torchrun import supervisor
from notebook_torchrun.log_reader import LogReader
from notebook_torchrun.rank import choose as choose
from notebook_torchrun.rank import report as report
from notebook_torchrun.result import Run
from notebook_torchrun.root_cause import find_failures


def launch(
    script: str | Path,
    *arguments: object,
    processes: int = 2,
    limit: float = 60.0,
    nodes: int = 1,
    max_restarts: int = 0,
    environment: Mapping[str, object] | None = None,
    show: str = "live",
) -> Run:
    """Run `script` in several processes under torchrun, show what they print, and return what they report.

    When it returns, all that it started is gone, also if a rank failed or hung, or the cell was interrupted. A rank
    that fails raises nothing here: it is shown in a red box and returned (``run.failure``; ``run.check()`` raises).

    Args:
        script: A Python file: relative to the working directory or to its folder ``notebooks``, or a whole path.
        arguments: Further arguments of the script.
        processes: How many processes each machine runs (``--nproc-per-node``), one rank each.
        limit: Seconds after which ranks that still run count as hanging, from when the first one has begun.
        nodes: How many machines to rehearse on this one, each with an agent (torchrun) of its own, and without GPUs.
        max_restarts: How often torchrun restarts all ranks after a failure.
        environment: Variables to set for the ranks. They get ``OMP_NUM_THREADS=1`` unless it says otherwise.
        show: ``"live"``, or ``"quiet"`` for no box at all.

    Returns:
        The run: ``results`` by rank, ``lines``, ``failure``, ``seconds``, ``backend``.

    Raises:
        FileNotFoundError: There is no such script.
        KeyboardInterrupt: The cell was interrupted.
        TypeError: The script is a function or another object; torchrun needs a file.
        ValueError: The script is no Python file, or another argument is out of range.
    """
    from notebook_torchrun.display import LiveBox  # IPython

    path = _find(script)
    counts = {"processes": (processes, 1), "nodes": (nodes, 1), "max_restarts": (max_restarts, 0)}
    for name, (value, least) in counts.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ValueError(
                f"launch(): {name}={value!r} must be an integer from {least} · 必須是 {least} 以上的整數"
            )
    if not isinstance(limit, (int, float)) or not 0 < limit < float("inf"):
        raise ValueError(f"launch(): limit={limit!r} must be seconds, more than 0 · 必須是大於 0 的秒數")
    if show not in ("live", "quiet"):
        raise ValueError(f"launch(): show={show!r} must be 'live' or 'quiet' · 只能是 'live' 或 'quiet'")

    options = [f"--nnodes={nodes}" if nodes > 1 else "--standalone", f"--nproc-per-node={processes}"]
    options += [f"--max-restarts={max_restarts}"] * bool(max_restarts)
    words = [str(word) for word in arguments]
    typed = "/".join(path.parts[-2:]) if Path(script).is_absolute() else Path(script).as_posix()
    meet = ["--rdzv-backend=c10d", "--rdzv-endpoint=HOST:PORT"] if nodes > 1 else []
    run = Run(shlex.join(["torchrun", *options, *meet, typed, *words]), processes * nodes, limit)
    torch = sys.modules.get("torch")  # what a worker should choose here, until a rank says what it did choose
    run.backend = choose(0, processes, torch.cuda.device_count() if torch and nodes == 1 else 0)[0]
    # What the ranks open below this folder must not exceed the 104 bytes of a socket's path on macOS, whose temporary
    # folder alone takes 49, and a DataLoader's "/torch-shm-dir-XXXXXX/manager.sock" 34.
    folder = Path(tempfile.gettempdir(), f"launch-{uuid.uuid4().hex[:8]}")
    logs, outcome, began = LogReader(folder, run), None, time.monotonic()
    box = LiveBox(run) if show == "live" else None
    variables = supervisor.settings(folder, limit, nodes, max_restarts)
    variables |= {name: str(value) for name, value in (environment or {}).items()}
    process = supervisor.start(nodes, options, [str(path), *words], variables)
    try:
        while outcome is None:
            time.sleep(0.05)
            over = [word for word in supervisor.OUTCOMES if (folder / word).exists()]
            killed = process.poll() is not None  # the supervisor
            outcome = over[0] if over else "failed" if killed else None
            logs.read(last=outcome is not None)
            run.seconds = time.monotonic() - began
            if box:
                box.update()
        if outcome != "well":
            run.failures = find_failures(folder, run, logs.facts, outcome, path)
    except BaseException:  # KeyboardInterrupt, or what another signal handler raises
        run.interrupted = True
        raise
    finally:
        supervisor.stop(process, folder)
        run.seconds = time.monotonic() - began
        if box:
            box.finish()
    return run


def _find(script: str | Path) -> Path:
    """Return the whole path of `script`, or raise with words that say what to give."""
    if not isinstance(script, (str, Path)):
        raise TypeError(
            f"launch() takes the path of a file, not {type(script).__name__}: fresh processes cannot see what the notebook holds · 請給檔案路徑：新的行程看不到筆記本裡的物件"
        )
    for path in (
        Path(script),
        Path("notebooks", script),
    ):  # some editors start kernels in the repository's root
        if path.is_file():
            if path.suffix != ".py":
                raise ValueError(
                    f"launch(): {path.name} is no Python file (.py) · {path.name} 不是 Python 檔（.py）"
                )
            return path.resolve()
    raise FileNotFoundError(
        f"launch(): there is no file {script}; give a path such as 'workers/hello_ranks.py' · 找不到 {script}，請給檔案路徑，例如 'workers/hello_ranks.py'"
    )
