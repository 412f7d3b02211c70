"""The parts of a staged machine: each changes the environment or the command of a run, for as long as it lasts.

A stage is a context manager that changes a `Run`. It raises `NotStaged` where this machine cannot be made so.
``catalogue.toml`` calls them by their names.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".machines"  # environments and results; ignored by git

# Programs that compile C or C++, also with a target before the name and a version behind it.
COMPILER = re.compile(
    r"(.+-)?(cc|c\+\+|c89|c99|cpp|gcc|g\+\+|tcc|clang|clang\+\+|icx|icpx)(-[\d.]+)?(\.exe)?"
)

# Where matplotlib and fontconfig look for fonts on Linux, besides the home.
FONT_FOLDERS = (
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "/usr/lib/openoffice/share/fonts",
    "/usr/X11R6/lib/X11/fonts",
)
CACHES = ("XDG_*", "*_CACHE_DIR")  # variables that name folders of the user elsewhere than in the home


class NotStaged(Exception):
    """This machine cannot be made so; the message says why."""


class StagingError(Exception):
    """It should have been possible, but the staged machine is not what it should be."""


@dataclass
class Run:
    """How the lessons of one machine are run; stages change it."""

    scratch: Path  # an empty folder, removed at the end
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))  # of every process
    prefix: list[str] = field(
        default_factory=list
    )  # a command that runs the command behind it, such as taskset
    python: str = sys.executable
    checkout: Path = ROOT
    together: int = 1  # how many notebooks run at once

    def forget(self, *names: str) -> None:
        """Remove environment variables: these, and those that begin or end like one that has a ``*`` there."""
        for name in [one for one in self.environment if any(fnmatchcase(one, wanted) for wanted in names)]:
            del self.environment[name]


@contextmanager
def instructions(run: Run, aten: str, onednn: str, mkl: str, *needed: str) -> Iterator[None]:
    """Limit PyTorch, oneDNN and MKL to an instruction set of x86.

    Args:
        run: What is changed.
        aten: Value of ``ATEN_CPU_CAPABILITY``.
        onednn: Value of ``ONEDNN_MAX_CPU_ISA``.
        mkl: Value of ``MKL_ENABLE_INSTRUCTIONS``.
        needed: What ``/proc/cpuinfo`` must list: a library that is told to use what is not there crashes.

    Raises:
        NotStaged: It is another processor.
    """
    if platform.machine().lower() not in ("x86_64", "amd64"):
        raise NotStaged(f"not an x86 processor but {platform.machine()}")
    info = Path("/proc/cpuinfo")
    flags = info.read_text(encoding="utf-8", errors="replace").split() if needed and info.exists() else ()
    if lacking := sorted(set(needed) - set(flags)):
        raise NotStaged(f"this processor lacks {', '.join(lacking)}, or {info} does not say it")
    limits = {"ATEN_CPU_CAPABILITY": aten, "ONEDNN_MAX_CPU_ISA": onednn, "MKL_ENABLE_INSTRUCTIONS": mkl}
    run.environment |= limits
    yield


@contextmanager
def c_locale(run: Run, utf8: str | None = None) -> Iterator[None]:
    """Set the locale ``C``; with `utf8` "0", Python takes it at its word, and text files are ASCII."""
    if os.name != "posix":
        raise NotStaged("Windows takes its locale from elsewhere")
    python = ("PYTHONUTF8", "PYTHONCOERCECLOCALE")
    run.forget("LC_*", "LANGUAGE", "PYTHONIOENCODING", *python)
    run.environment |= {"LANG": "C", "LC_ALL": "C"} | (dict.fromkeys(python, utf8) if utf8 else {})
    yield


@contextmanager
def threads(run: Run, count: int) -> Iterator[None]:
    """Give every library `count` threads."""
    run.environment |= dict.fromkeys(
        ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(count)
    )
    run.environment["MKL_DYNAMIC"] = "FALSE"  # or MKL takes no more threads than there are cores
    yield


@contextmanager
def one_core(run: Run) -> Iterator[None]:
    """Allow one core to all processes."""
    if not shutil.which("taskset"):
        raise NotStaged("there is no taskset (Linux)")
    run.prefix = ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0))), *run.prefix]
    yield


def _memory_group(limit: int) -> Path | None:
    """Make a control group (of either version) with so many bytes of memory; return None where that is not allowed."""
    for parent, file in (("memory", "memory.limit_in_bytes"), (".", "memory.max")):
        group = Path("/sys/fs/cgroup", parent, f"course-machines-{os.getpid()}")
        with suppress(OSError):
            group.mkdir()
            (group / file).write_text(str(limit))
            return group
        with suppress(OSError):  # version 2 without the memory controller
            group.rmdir()
    return None


@contextmanager
def memory(run: Run, gib: float) -> Iterator[None]:
    """Limit the memory of all processes together, or that of each one where control groups cannot be changed."""
    limit = int(gib * 2**30)
    if psutil.virtual_memory().available < 1.5 * limit:
        raise NotStaged(f"less than {1.5 * gib:g} GiB are free: something else would be reached first")
    if group := _memory_group(limit):
        prefix = ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh"]
    elif shutil.which("prlimit"):
        prefix = ["prlimit", f"--data={limit}"]
    else:
        raise NotStaged("control groups cannot be changed here, and there is no prlimit")
    run.prefix = [*prefix, *run.prefix]
    try:
        yield
    finally:
        if group:
            with suppress(OSError):  # a process that is still ending keeps the group
                group.rmdir()


@contextmanager
def empty_home(run: Run) -> Iterator[None]:
    """Start with an empty home and no caches of anything."""
    home = run.scratch / "home"
    home.mkdir()
    run.forget(*CACHES)
    run.environment |= {"HOME": str(home), "USERPROFILE": str(home), "XDG_CACHE_HOME": str(home / ".cache")}
    run.environment |= {"MPLCONFIGDIR": str(home / ".matplotlib"), "TRITON_CACHE_DIR": str(home / ".triton")}
    run.environment["TORCHINDUCTOR_CACHE_DIR"] = str(home / ".inductor")
    yield


@contextmanager
def no_fonts(run: Run) -> Iterator[None]:
    """Hide the installed fonts; only what packages bring is left.

    Where folders cannot be hidden, matplotlib gets a list of fonts without them. ``MPL_IGNORE_SYSTEM_FONTS`` is not
    used for the run itself: it also ignores fonts that a program adds.
    """
    folders = [place for place in FONT_FOLDERS if Path(place).is_dir()]
    hide = " && ".join([*(f"mount -t tmpfs tmpfs {place}" for place in folders), 'exec "$@"'])
    for unshare in (["unshare", "--mount"], ["unshare", "--user", "--map-root-user", "--mount"]):
        prefix = [*unshare, "sh", "-c", hide, "sh"]
        if shutil.which("unshare") and not subprocess.run([*prefix, "true"], capture_output=True).returncode:
            run.prefix = [*prefix, *run.prefix]
            break
    else:
        cache = {"MPL_IGNORE_SYSTEM_FONTS": "1", "MPLCONFIGDIR": str(run.scratch / "fonts")}
        command = [run.python, "-c", "import matplotlib.font_manager"]
        subprocess.run(command, env=run.environment | cache, check=True)
        run.environment["MPLCONFIGDIR"] = cache["MPLCONFIGDIR"]
    yield


@contextmanager
def no_compiler(run: Run) -> Iterator[None]:
    """Make PATH a folder that links to every program but compilers."""
    if os.name != "posix":
        raise NotStaged("Windows finds its compiler in other ways than PATH")
    programs = run.scratch / "bin"
    programs.mkdir()
    for folder in run.environment.get("PATH", "").split(os.pathsep):
        for program in sorted(Path(folder).iterdir()) if Path(folder).is_dir() else ():
            link = programs / program.name
            if not COMPILER.fullmatch(program.name) and not link.is_symlink():
                link.symlink_to(program.absolute())
    run.environment["PATH"] = str(programs)
    run.forget("CC", "CXX", "CUDAHOSTCXX")
    yield


@contextmanager
def read_only_home(run: Run) -> Iterator[None]:
    """Make the home a folder that nobody may write to, not even root; Jupyter keeps a place for its connections."""
    home, runtime = run.scratch / "read-only home", run.scratch / "runtime"
    home.mkdir()
    runtime.mkdir()
    run.environment |= {"HOME": str(home), "JUPYTER_RUNTIME_DIR": str(runtime)}
    run.forget(*CACHES, "MPLCONFIGDIR", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # Root may write everywhere but to a read-only file system.
        if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode:
            raise NotStaged("root may write everywhere, and mounting is not allowed")
        mount = 'mount -t tmpfs -o ro tmpfs "$HOME" && exec "$@"'
        run.prefix = ["unshare", "--mount", "sh", "-c", mount, "sh", *run.prefix]
        yield
        return
    home.chmod(0o555)
    try:
        yield
    finally:
        home.chmod(0o755)


@contextmanager
def strange_path(run: Run) -> Iterator[None]:
    """Copy the checkout into a folder whose name has spaces, quotes and Chinese."""
    copy = run.scratch / "課程 it's (1) & more" / "the course"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=True, text=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    run.checkout = copy
    yield


@contextmanager
def together(run: Run, count: int) -> Iterator[None]:
    """Run `count` notebooks at once."""
    run.together = count
    yield


# It ends with the process that started it, however that ends: then its standard input is closed.
BUSY = """
import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
if sys.argv[1] == "copy":
    source, target = bytearray(2**25), bytearray(2**25)
    while True:
        target[:] = source
while True:
    pass
"""


@contextmanager
def loaded(run: Run, count: int) -> Iterator[None]:
    """Keep `count` other processes busy: they compute and take memory bandwidth in turns."""
    commands = [[sys.executable, "-c", BUSY, "copy" if n % 2 else "spin"] for n in range(count)]
    running = [subprocess.Popen(command, stdin=subprocess.PIPE) for command in commands]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()
