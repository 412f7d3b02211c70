"""Several processes from a notebook: ``launch`` runs a script under torchrun and shows what its ranks print.

    kernel ── starts ──> torchrun (agent.py) ── starts ──> ranks (rank.py, which runs the worker)
       └───── reads ─────> the run's folder <───── write ────┘

When a process ends, however it ends, all to the right of it ends.
"""

import json
import shlex
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping
from pathlib import Path

from notebook_torchrun import agent
from notebook_torchrun.log_reader import LogReader
from notebook_torchrun.rank import report as report
from notebook_torchrun.result import Run
from notebook_torchrun.root_cause import find_failures


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

    When it returns, all that it started is gone, also if a rank failed or hung, or the cell was interrupted. A rank
    that fails raises nothing here: it is shown in a red box and returned (``run.failure``; ``run.check()`` raises).

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

    path = _find(script)
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

    options = ["--standalone", f"--nproc-per-node={processes}"]
    options += [f"--max-restarts={max_restarts}"] * bool(max_restarts)
    words = [str(word) for word in arguments]
    typed = "/".join(path.parts[-2:]) if Path(script).is_absolute() else Path(script).as_posix()
    run = Run(shlex.join(["torchrun", *options, typed, *words]), processes, limit)
    torch = sys.modules.get("torch")  # what a worker should choose here, until a rank says what it did choose
    enough = torch and torch.cuda.device_count() >= processes
    run.backend = "nccl" if enough and torch.distributed.is_nccl_available() else "gloo"
    # What the ranks open below this folder must not exceed the 104 bytes of a socket's path on macOS, whose temporary
    # folder alone takes 49, and a DataLoader's "/torch-shm-dir-XXXXXX/manager.sock" 34.
    folder = Path(tempfile.gettempdir(), f"launch-{uuid.uuid4().hex[:8]}")
    logs, began = LogReader(folder, run), time.monotonic()
    box = None if show == "quiet" else LiveBox(run, clock=show == "clock")
    variables = {name: str(value) for name, value in (environment or {}).items()}
    command = [*options, str(Path(agent.__file__).with_name("rank.py")), str(path), *words]
    process = None
    try:
        process = agent.start(command, agent.settings(folder, limit) | variables)
        while process.poll() is None:
            time.sleep(0.1)
            logs.read()
            run.seconds = time.monotonic() - began
            if box:
                box.update()
        logs.read(last=True)
        why, statuses = json.loads((folder / agent.OUTCOME).read_text(encoding="utf-8"))
        if why != "well":
            run.failures = find_failures(folder, run, logs.facts, why, dict(statuses), path)
    except BaseException:  # KeyboardInterrupt, or what another signal handler raises
        run.interrupted = True
        raise
    finally:
        agent.stop(process, folder)
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
    # Some editors start kernels in the repository's root.
    files = [path for path in (Path(script), Path("notebooks", script)) if path.is_file()]
    if not files:
        raise FileNotFoundError(
            f"launch(): there is no file {script}; give a path such as 'mine/hello.py' · 找不到 {script}，請給檔案路徑，例如 'mine/hello.py'"
        )
    name = files[0].name
    if files[0].suffix != ".py":
        raise ValueError(f"launch(): {name} is no Python file (.py) · {name} 不是 Python 檔（.py）")
    return files[0].resolve()
