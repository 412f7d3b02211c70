"""Try a class on this machine: ``python -m tools.classroom.rehearsal [--students 3] [--lessons 05 06]``.

As root, it makes users of the system, starts JupyterHub with the course's configuration and made-up GPUs, lets all
users execute the same lessons at the same time, and removes everything again. It reports what failed, what the users
could see of each other, and the memory that each needed. Needs the extra ``hub`` and ``configurable-http-proxy``.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nbformat
import requests

from tools.classroom.accounts import GROUP, files_outside, memory, open_ports, processes, users
from tools.classroom.student import Student

COURSE = Path(__file__).resolve().parents[2]
LOG = Path(tempfile.gettempdir(), "course-rehearsal.log")  # of the hub and the servers
MIB = 2**20
_CONFIG = """
load_subconfig({config!r})
c.JupyterHub.bind_url = {bind!r}
c.JupyterHub.hub_bind_url = {hub!r}
c.ConfigurableHTTPProxy.api_url = {proxy!r}
c.JupyterHub.cleanup_servers = True
c.Spawner.environment = {{"PATH": {path!r}}}  # the made-up nvidia-smi is for the hub alone
c.LocalAuthenticator.allowed_groups = {{{group!r}}}
c.PAMAuthenticator.admin_groups = set()
"""
# Whose progress is where, and whether another's home can be read.
_LOOK = """
import os
from course_utils import settings
settings.mark_solved("01", os.environ["USER"])
assert set(settings.read("progress")["01"]) == {os.environ["USER"]}, "another's progress"
assert str(settings.folder()).startswith(os.environ["HOME"]), settings.folder()
for home in os.scandir(os.path.dirname(os.environ["HOME"])):
    if home.path != os.environ["HOME"]:
        assert not os.access(home.path, os.R_OK), f"{home.name} is open to others"
"""


def free_ports(number: int) -> list[int]:
    """Return ports that nobody listens on."""
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(number)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


@contextlib.contextmanager
def hub(folder: Path, gpus: int) -> Iterator[str]:
    """Start the hub with the course's configuration, and give its address; it ends at the end."""
    (folder / "bin").mkdir()
    smi = folder / "bin" / "nvidia-smi"
    lines = "".join(f"GPU {i}: NVIDIA Made Up (UUID: GPU-{i:08x})\n" for i in range(gpus))
    smi.write_text(f"#!/bin/sh\ncat <<END\n{lines}END\n")
    smi.chmod(0o755)
    public, inner, proxy = (f"http://127.0.0.1:{port}" for port in free_ports(3))
    config = folder / "config.py"
    course = str(Path(__file__).with_name("jupyterhub_config.py"))
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    texts = {"config": course, "bind": public, "hub": inner, "proxy": proxy, "group": GROUP, "path": path}
    config.write_text(_CONFIG.format(**texts))
    with open(folder / "hub.log", "w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterhub", "--config", str(config)],
            cwd=folder, env=os.environ | {"PATH": f"{folder / 'bin'}{os.pathsep}{path}"}, stdout=log, stderr=log,
        )  # fmt: skip
        try:
            for _ in range(240):
                with contextlib.suppress(requests.RequestException):
                    if requests.get(f"{public}/hub/api", timeout=5).ok:
                        break
                if process.poll() is not None:
                    break
                time.sleep(0.5)
            else:
                process.terminate()
            if process.poll() is not None:
                raise RuntimeError((folder / "hub.log").read_text()[-3000:])
            yield public
        finally:
            process.terminate()
            process.wait(60)
            shutil.copy(folder / "hub.log", LOG)


def _together(
    students: list[Student], file: str, cells: list[str]
) -> tuple[dict[str, float], dict[str, set[str]]]:
    """Let all execute a notebook at the same time; return their greatest memory, and what is open to others."""
    most: dict[str, float] = {}
    ports: dict[str, set[str]] = {}
    with ThreadPoolExecutor(len(students)) as pool:
        lessons = [pool.submit(student.lesson, file, cells) for student in students]
        while not all(lesson.done() for lesson in lessons):
            for name in (student.name for student in students):
                most[name] = max(most.get(name, 0.0), memory(name))
                ports.setdefault(name, set()).update(open_ports(name))
            time.sleep(1.0)
    for lesson in lessons:
        lesson.result()
    return most, ports


def _range(values: Iterable[float]) -> str:
    """Return the least and the greatest of some amounts of memory."""
    numbers = sorted(values)
    return f"{numbers[0] / MIB:.0f} to {numbers[-1] / MIB:.0f} MiB"


def rehearse(number: int, lessons: list[str], gpus: int) -> list[str]:
    """Let users execute lessons at the same time, print what was seen, and return what is wrong."""
    files = {path.name: path for path in sorted((COURSE / "notebooks").glob("*.ipynb"))}
    cells = {
        name: [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
        for name, path in files.items()
        if name[:2] in lessons
    }
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="class-") as scratch:
        folder = Path(scratch)
        folder.chmod(0o755)
        (folder / "home").mkdir(mode=0o755)
        (folder / "hub").mkdir(mode=0o755)
        with users(number, folder / "home") as known, hub(folder / "hub", gpus) as address:
            students = [Student(address, name, password) for name, password in known.items()]
            for student in students:
                student.sign_in()
            with ThreadPoolExecutor(number) as pool:
                list(pool.map(Student.start, students))
            servers = {name: memory(name) for name in known}
            seen = {s.name: _environment(s.name).get("CUDA_VISIBLE_DEVICES") for s in students}
            each = [list(seen.values()).count(f"GPU-{i:08x}") for i in range(gpus)]
            if gpus and max(each) - min(each) > 1:
                wrong.append(f"GPUs are not dealt evenly: {seen}")
            for student in students:
                for other in students:
                    if (student is other) != _may_use(student, other):
                        wrong.append(f"{student.name} at {other.name}'s server")
            print(f"servers: {_range(servers.values())} each; GPUs: {seen}")
            for file, code in {"look.ipynb": [_LOOK], **cells}.items():
                most, ports = _together(students, f"my_course/{file}", code)
                wrong += [f"{name} listens on {where}" for name in ports for where in sorted(ports[name])]
                took = max(student.seconds[f"my_course/{file}"] for student in students)
                print(f"{file}: {_range(most.values())} each, {took:.0f} s", flush=True)
            for student in students:
                wrong += [f"{student.name}: {error}" for error in student.errors]
                student.stop()
                print(f"{student.name}: claims {dict(student.verdicts)}")
            time.sleep(5)
            for name in known:
                left = [" ".join(process.cmdline())[:100] for process in processes(name)]
                wrong += [f"{name} left a process: {command}" for command in left]
                # PyTorch's cache and the kernels' sockets have a folder for each user.
                expected = ("torchinductor_", "jupyter-")
                wrong += [f"{name} left {p}" for p in files_outside(name) if not p.name.startswith(expected)]
    return wrong


def _environment(name: str) -> dict[str, str]:
    """Return the environment of a user's server."""
    found = [p for p in processes(name) if "jupyterhub.singleuser" in p.cmdline()]
    return found[0].environ() if found else {}


def _may_use(student: Student, other: Student) -> bool:
    try:
        student.ask("GET", f"{other.server}/api/kernels")
    except requests.HTTPError:
        return False
    return True


def main() -> None:
    """Rehearse a class, and exit with 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.classroom.rehearsal", description=__doc__)
    parser.add_argument("--students", type=int, default=3)
    parser.add_argument("--lessons", nargs="*", default=["05", "06", "07", "08"])
    parser.add_argument("--gpus", type=int, default=2, help="made-up GPUs of the machine")
    options = parser.parse_args()
    if os.geteuid():
        raise SystemExit("The rehearsal makes users of the system: start it as root.")
    wrong = rehearse(options.students, options.lessons, options.gpus)
    print("\n".join(wrong) or "Nothing is wrong.")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
