"""Several processes from a notebook: ``launch`` runs a script under torchrun and shows what its ranks say.

`starting` and `supervisor` run torchrun and leave nothing behind, `rank` runs the script in each rank, `channel` is how
the ranks talk to the notebook, `blame` finds the rank that failed first, `box` is what the learner sees.
"""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from course_utils.launcher.channel import Reader
from course_utils.launcher.channel import report as report
from course_utils.launcher.choosing import choose as choose

if TYPE_CHECKING:
    from course_utils.launcher.run import Run

_NOTEBOOKS = Path(__file__).parents[2] / "notebooks"


def launch(
    script: str | Path,
    *arguments: object,
    processes: int = 2,
    limit: float = 60.0,
    nodes: int = 1,
    max_restarts: int = 0,
    environment: Mapping[str, object] | None = None,
    show: str = "live",
    wanted: Callable[[], bool] | None = None,
) -> Run:
    """Run `script` in several processes under torchrun, show what they print, and return what they report.

    When it returns, all that it started is gone, also if a rank failed or hung, or the cell was interrupted. A rank
    that fails raises nothing here: it is shown in a red box and returned (``run.failure``; ``run.check()`` raises).

    Args:
        script: A Python file: beside the notebook, in the course's folder ``notebooks``, or a whole path.
        arguments: Further arguments of the script.
        processes: How many processes each machine runs (``--nproc-per-node``), one rank each.
        limit: Seconds after which ranks that still run count as hanging, from when the first one has begun.
        nodes: How many machines to rehearse on this one, each with an agent (torchrun) of its own, and without GPUs.
        max_restarts: How often torchrun starts all ranks anew after a failure.
        environment: Variables to set for the ranks. They get ``OMP_NUM_THREADS=1`` unless it says otherwise.
        show: ``"live"``, or ``"quiet"`` for no box at all.
        wanted: Asked many times a second while the ranks run. When it answers False, the run ends as if somebody had
            interrupted the cell; for a program that launches from a thread, which Ctrl-C does not reach.

    Returns:
        The run: ``results`` by rank, ``lines``, ``failure``, ``seconds``, ``backend``.

    Raises:
        FileNotFoundError: There is no such script.
        KeyboardInterrupt: The cell was interrupted, or the run is no longer `wanted`.
        TypeError: The script is a function or another object; torchrun needs a file.
        ValueError: The script is no Python file, or another argument is out of range.
    """
    from course_utils.launcher.blame import find_failures
    from course_utils.launcher.box import Box
    from course_utils.launcher.run import Run
    from course_utils.launcher.starting import settings, torchrun

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
    box = Box(run) if show == "live" else None
    variables = {name: str(value) for name, value in (environment or {}).items()}
    began, records = time.monotonic(), []
    try:
        with torchrun(
            options, [str(path), *words], limit, settings(nodes, max_restarts) | variables, nodes
        ) as (folder, over):
            reader, why = Reader(folder), None
            while why is None:
                time.sleep(0.05)
                if wanted is not None and not wanted():
                    raise KeyboardInterrupt
                why = over()
                for record in reader.new(last=why is not None):
                    records.append(record)
                    run.add(record)
                run.seconds = time.monotonic() - began
                if box:
                    box.update()
            if why != "well":
                run.failures = find_failures(folder, records, why, run.ranks, path)
    except BaseException:  # above all KeyboardInterrupt
        run.interrupted = True
        raise
    finally:
        run.seconds = time.monotonic() - began
        if box:
            box.finish()
    return run


def _find(script: str | Path) -> Path:
    if not isinstance(script, (str, Path)):
        raise TypeError(
            f"launch() takes the path of a file, not {type(script).__name__}: fresh processes cannot see what the "
            "notebook holds · 請給檔案路徑：新的行程看不到筆記本裡的物件"
        )
    for path in (Path(script), _NOTEBOOKS / script):
        if path.is_file():
            if path.suffix != ".py":
                raise ValueError(
                    f"launch(): {path.name} is no Python file (.py) · {path.name} 不是 Python 檔（.py）"
                )
            return path.resolve()
    raise FileNotFoundError(
        f"launch(): there is no file {script}; give a path such as 'workers/hello_ranks.py' · 找不到 {script}，"
        "請給檔案路徑，例如 'workers/hello_ranks.py'"
    )
