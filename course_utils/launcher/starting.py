"""The kernel's side of the pipe: starts the supervisor, and lets go of it however the cell ends."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from course_utils.launcher import channel
from course_utils.launcher.supervisor import FOLDERS, end_all

_HERE = Path(__file__).parent
_LOOPBACK = "127.0.0.1"


def settings(nodes: int, max_restarts: int) -> dict[str, str]:
    """Return what is set for the ranks: one thread each, the loopback network, no chatter from C++ code."""
    chosen = {"OMP_NUM_THREADS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "5"}
    if hasattr(socket, "if_nameindex"):
        # gloo would look up this machine's name, which name servers may not know, or know for another machine.
        for name in {"lo", "lo0"} & {name for _, name in socket.if_nameindex()}:
            chosen["GLOO_SOCKET_IFNAME"] = name
    if sys.platform == "win32":
        # PyTorch has no libuv there. Ranks know that, torchrun does not (torch.distributed.elastic.utils.distributed).
        chosen["USE_LIBUV"] = "0"
    if max_restarts:
        # The ranks would find each other through a store that still holds the addresses of those which were stopped:
        # https://github.com/pytorch/pytorch/issues/135712
        chosen["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
    # Rehearsed machines would all take the same GPUs.
    return chosen | ({"CUDA_VISIBLE_DEVICES": ""} if nodes > 1 else {})


@contextmanager
def torchrun(
    options: list[str], script: list[str], limit: float, environment: dict[str, str], nodes: int
) -> Iterator[tuple[Path, Callable[[], str | None]]]:
    """Run torchrun; at the end of the ``with`` block, nothing of it is left.

    Args:
        options: Of torchrun.
        script: The worker and its arguments.
        limit: Seconds that the ranks may take.
        environment: Variables for agents and ranks.
        nodes: How many agents to start.

    Yields:
        The run's folder, and a function that says why the job is over: ``"well"``, ``"ended"`` (with a failure),
        ``"limit"``, or None while it runs.
    """
    run_id = str(uuid.uuid4())
    if nodes > 1:  # the agents meet through a file in the run's folder: no port that somebody else could take
        options = [*options, "--rdzv-backend=c10d", "--rdzv-conf=store_type=file", f"--rdzv-id={run_id}"]
    # -P: files beside a script must not stand in for modules.
    command = [sys.executable, "-P", str(_HERE / "agent.py"), f"--local-addr={_LOOPBACK}", *options]
    plan = {
        "command": [*command, str(_HERE / "rank.py"), *script],
        "agents": nodes,
        "run_id": run_id,
        "limit": limit,
        "environment": environment | {channel.LIMIT: str(limit)},
    }
    supervisor = subprocess.Popen(
        [sys.executable, "-P", str(_HERE / "supervisor.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # an interrupt of the kernel must not reach it
    )
    folder = Path(os.devnull)
    try:
        supervisor.stdin.write(json.dumps(plan).encode() + b"\n")
        supervisor.stdin.flush()
        folder = Path(os.fsdecode(supervisor.stdout.readline().rstrip(b"\r\n")) or folder)

        def over() -> str | None:
            if (folder / "ended.json").exists():
                ended = json.loads((folder / "ended.json").read_text())
                return "well" if ended["why"] == "ended" and not any(ended["statuses"]) else ended["why"]
            return None if supervisor.poll() is None else "ended"

        yield folder, over
    finally:
        with suppress(OSError):  # from here on it ends by itself, also if this is interrupted once more
            supervisor.stdin.write(b"\n")  # heard even if a fork of this process keeps the pipe open
            supervisor.stdin.close()
        supervisor.stdout.close()
        with suppress(subprocess.TimeoutExpired):
            supervisor.wait(15)
        supervisor.kill()  # does nothing if it has ended
        supervisor.wait()
        end_all(run_id)  # should the supervisor not have come to it
        if folder.name.startswith(FOLDERS):
            shutil.rmtree(folder, ignore_errors=True)
