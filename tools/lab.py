"""Open JupyterLab on the start page of the course, in the environment that runs this file.

    make lab                                  (makes .venv first)
    make lab LAB_ARGS="--port=9000"           passes options on to JupyterLab
    python -m tools.lab --port=9000           in an environment of your own (conda, Binder)

Exit status: JupyterLab's; 2 when a port was asked for that is in use.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import shlex
import socket
import subprocess
import sys
from pathlib import Path

from tools.bootstrap import say

ROOT = Path(__file__).resolve().parent.parent
START = "/lab/tree/notebooks/00_start_here.ipynb"
USUAL_PORT = 8888
IN_USE = (errno.EADDRINUSE, errno.EACCES)


def given(arguments: list[str], *names: str) -> str | None:
    """Find an option among JupyterLab's arguments.

    Args:
        arguments: command line, for example `["--port", "9000"]` or `["--ServerApp.port=9000"]`.
        names: the ways to write it, for example `"--port"`, `"--ServerApp.port"`.
    Returns:
        Its value as text, an empty string for an option without one, or None if it is not there.
    """
    for position, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name in names:
            if equals:
                return value
            following = arguments[position + 1 : position + 2]
            return following[0] if following and not following[0].startswith("-") else ""
    return None


def is_free(port: int) -> bool:
    """Whether a server on this machine can listen on the port."""
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        try:
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                if os.name == "posix":
                    # As the server does it: a connection that has just been closed does not count.
                    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((host, port))
        except OSError as error:
            if family == socket.AF_INET or error.errno in IN_USE:
                return False
    return True


def choose_port(arguments: list[str]) -> tuple[int, list[str]]:
    """Choose the port, and say so where it is not the usual one.

    Returns:
        The port (0: JupyterLab chooses) and the options that ask for it.
    Raises:
        SystemExit: with status 2, when a port was asked for that is in use.
    """
    asked = given(arguments, "--port", "--ServerApp.port") or os.environ.get("JUPYTER_PORT")
    if asked is not None:
        port = int(asked) if asked.isdigit() else 0
        if port and not is_free(port):
            say(
                f"Port {port} is in use. Choose another (--port=…), or none: then a free one is found.",
                f"連接埠 {port} 已被使用。請改用別的（--port=…），或不指定，讓程式自動尋找。",
            )
            raise SystemExit(2)
        # JupyterLab would silently take another one, and the person would wait at the wrong address.
        return port, ["--ServerApp.port_retries=0"]
    port = next((port for port in range(USUAL_PORT, USUAL_PORT + 100) if is_free(port)), 0)
    if port == USUAL_PORT:
        return port, []  # also leaves room for a port in the person's own configuration
    say(
        f"Port {USUAL_PORT} is in use (another JupyterLab?); using {port or 'any free one'}.",
        f"連接埠 {USUAL_PORT} 已被使用（也許是另一個 JupyterLab）；改用 {port or '任一可用的連接埠'}。",
    )
    return port, [f"--port={port}"]


def has_display() -> bool:
    """Whether a browser opened here would be seen by the person who started this."""
    if os.environ.get("BROWSER"):
        return True
    if os.environ.get("SSH_CONNECTION") or sys.platform.startswith("linux"):
        return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return True


def lab_command(arguments: list[str]) -> list[str]:
    """Build the command line of JupyterLab for this machine.

    Args:
        arguments: what the person adds; it wins over what is chosen here.
    """
    port, port_options = choose_port(arguments)
    options = [f"--ServerApp.root_dir={ROOT}", f"--LabApp.default_url={START}", *port_options]
    if hasattr(os, "geteuid") and os.geteuid() == 0 and given(arguments, "--allow-root") is None:
        options.append("--allow-root")
        if given(arguments, "--ip", "--ServerApp.ip") is None:
            options.append("--ip=localhost")
            say(
                "Running as root: adding --allow-root; the server listens on this machine only (localhost).",
                "以 root 身分執行：加上 --allow-root；伺服器只在本機（localhost）接受連線。",
            )
        else:
            say("Running as root: adding --allow-root.", "以 root 身分執行：加上 --allow-root。")
    if not has_display() and given(arguments, "--no-browser") is None:
        options.append("--no-browser")
        say(
            "No display here: open the address printed below in a browser"
            f" (from another computer: ssh -L {port}:localhost:{port} user@this-machine).",
            "這裡沒有顯示器：請在瀏覽器開啟下方印出的網址"
            f"（從另一台電腦：ssh -L {port}:localhost:{port} user@this-machine）。",
        )
    return [sys.executable, "-m", "jupyterlab", *options, *arguments]


def main() -> int:
    """Start JupyterLab with LAB_ARGS and the arguments of the command line."""
    if importlib.util.find_spec("jupyterlab") is None:
        say(
            "JupyterLab is not installed in this environment. Run: make lab",
            "這個環境沒有安裝 JupyterLab。請執行：make lab",
        )
        return 1
    extra = shlex.split(os.environ.get("LAB_ARGS", ""), posix=os.name == "posix")
    command = lab_command([*extra, *sys.argv[1:]])
    # A kernel that somebody installed for all environments must not win over the one in this environment.
    environment = {**os.environ, "JUPYTER_PREFER_ENV_PATH": "1"}
    if os.name == "posix":
        os.execve(command[0], command, environment)  # Ctrl-C goes straight to JupyterLab
    try:
        return subprocess.call(command, env=environment)
    except KeyboardInterrupt:
        return 0


if __name__ == "__main__":
    raise SystemExit(main())
