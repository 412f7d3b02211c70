"""Several processes from a notebook: ``launch`` runs a script under torchrun and shows what its ranks print.

    kernel ── starts ──> torchrun (agent.py) ── starts ──> ranks (rank.py, which runs the worker)
       └───── reads ─────> the run's folder <───── write ────┘

When a process ends, however it ends, all to the right of it ends. On Linux, a process that has imported PyTorch stands
between kernel and torchrun, and waits for the next launch that it fits (fork_server.py).
"""

import sys
import time
from collections.abc import Mapping
from pathlib import Path

from notebook_torchrun.job import Job
from notebook_torchrun.rank import report as report
from notebook_torchrun.result import Run


def launch(
    script: str | Path,
    *arguments: object,
    processes: int = 2,
    limit: float = 60.0,
    max_restarts: int = 0,
    environment: Mapping[str, object] | None = None,
    show: str = "live",
) -> Run:
    """Run `script` in several processes under torchrun, show what they print, and return what they report.

    When it returns, all that belongs to the run is gone, also if a rank failed or hung, or the cell was interrupted. A
    rank that fails raises nothing here: it is shown in a red box and returned (``run.failure``; ``run.check()`` raises).

    Args:
        script: A Python file: relative to the working directory or to its folder ``notebooks``, or a whole path.
        arguments: Further arguments of the script.
        processes: How many processes to run (``--nproc-per-node``), one rank each.
        limit: Seconds after which ranks that still run count as hanging, from when the first one has begun.
        max_restarts: How often torchrun restarts all ranks after a failure.
        environment: Variables to set for the ranks. They get ``OMP_NUM_THREADS=1`` unless it says otherwise.
        show: ``"live"``; ``"clock"`` for a box that vanishes when the run ends; ``"quiet"`` for none at all.

    Returns:
        The run: ``results`` by rank, ``lines``, ``failure``, ``seconds``, ``backend``.

    Raises:
        FileNotFoundError: There is no such script.
        KeyboardInterrupt: The cell was interrupted.
        TypeError: The script is a function or another object; torchrun needs a file.
        ValueError: The script is no Python file, or another argument is out of range.
    """
    from notebook_torchrun.display import LiveBox  # IPython

    for name, value, least in ("processes", processes, 1), ("max_restarts", max_restarts, 0):
        if type(value) is not int or value < least:
            raise ValueError(
                f"launch(): {name}={value!r} must be an integer from {least} · 必須是 {least} 以上的整數"
            )
    if not isinstance(limit, (int, float)) or not 0 < limit < float("inf"):
        raise ValueError(f"launch(): limit={limit!r} must be seconds, more than 0 · 必須是大於 0 的秒數")
    if show not in ("live", "clock", "quiet"):
        raise ValueError(
            f"launch(): show={show!r} must be 'live', 'clock' or 'quiet' · 只能是 'live'、'clock' 或 'quiet'"
        )

    job = Job(script, arguments, processes, limit, max_restarts, environment)
    run, torch = job.run, sys.modules.get("torch")
    enough = torch and torch.cuda.device_count() >= processes
    # What a worker should choose here, until a rank says what it did choose.
    run.backend = "nccl" if enough and torch.distributed.is_nccl_available() else "gloo"
    box = None if show == "quiet" else LiveBox(run, clock=show == "clock")
    try:
        job.start()
        while job.running():
            if box:
                box.update()
            time.sleep(0.1)
    except BaseException:  # KeyboardInterrupt, or what another signal handler raises
        run.interrupted = True
        raise
    finally:
        job.stop()
        if box:
            box.finish()
    return run
