"""The parts of a staged machine: each changes the environment or the command of a run, for as long as it lasts.

A stage is a context manager that changes a `Run`. It raises `NotStaged` where this machine cannot be made so.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
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


class NotStaged(Exception):
    """This machine cannot be made so; the message says why."""


class StagingError(Exception):
    """It should have been possible, but the staged machine is not what it should be."""


@dataclass
class Run:
    """How the lessons of one machine are run; stages change it.

    Attributes:
        scratch: An empty folder, removed at the end.
        environment: The environment variables of every process.
        prefix: A command that runs the command behind it, such as ``taskset``.
        python: The interpreter.
        checkout: The course's folder.
        together: How many notebooks run at once.
    """

    scratch: Path
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    prefix: list[str] = field(default_factory=list)
    python: str = sys.executable
    checkout: Path = ROOT
    together: int = 1


Stage = Callable[[Run], AbstractContextManager[None]]


def variables(**values: str | None) -> Stage:
    """Return a stage that sets environment variables, and removes those whose value is None."""

    @contextmanager
    def stage(run: Run) -> Iterator[None]:
        for name, value in values.items():
            run.environment.pop(name, None)
            if value is not None:
                run.environment[name] = value
        yield

    return stage


def instructions(aten: str, onednn: str, mkl: str, *needed: str) -> Stage:
    """Return a stage that limits PyTorch, oneDNN and MKL to an instruction set of x86.

    Args:
        aten: Value of ``ATEN_CPU_CAPABILITY``.
        onednn: Value of ``ONEDNN_MAX_CPU_ISA``.
        mkl: Value of ``MKL_ENABLE_INSTRUCTIONS``.
        needed: What ``/proc/cpuinfo`` must list: a library that is told to use what is not there crashes.
    """

    @contextmanager
    def stage(run: Run) -> Iterator[None]:
        if platform.machine().lower() not in ("x86_64", "amd64"):
            raise NotStaged(f"not an x86 processor but {platform.machine()}")
        if needed:
            try:
                flags = set(Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split())
            except OSError:
                raise NotStaged("there is no /proc/cpuinfo that lists the instruction sets") from None
            if lacking := sorted(set(needed) - flags):
                raise NotStaged(f"this processor lacks {', '.join(lacking)}")
        limits = {"ATEN_CPU_CAPABILITY": aten, "ONEDNN_MAX_CPU_ISA": onednn, "MKL_ENABLE_INSTRUCTIONS": mkl}
        run.environment |= limits
        yield

    return stage


def c_locale(**more: str | None) -> Stage:
    """Return a stage with the locale ``C``, and more environment variables (None: removed)."""

    @contextmanager
    def stage(run: Run) -> Iterator[None]:
        if os.name != "posix":
            raise NotStaged("Windows takes its locale from elsewhere")
        for name in [name for name in run.environment if name.startswith("LC_")]:
            del run.environment[name]
        with variables(LANG="C", LC_ALL="C", LANGUAGE=None, PYTHONIOENCODING=None, **more)(run):
            yield

    return stage


def threads(count: int) -> Stage:
    """Return a stage that gives every library `count` threads."""
    limits = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(count))
    return variables(**limits, MKL_DYNAMIC="FALSE")  # or MKL takes no more threads than there are cores


@contextmanager
def one_core(run: Run) -> Iterator[None]:
    """Allow one core to all processes."""
    if not shutil.which("taskset"):
        raise NotStaged("there is no taskset (Linux)")
    run.prefix = ["taskset", "--cpu-list", str(min(os.sched_getaffinity(0))), *run.prefix]
    yield


def memory(gib: float) -> Stage:
    """Return a stage that limits the memory of all processes together, or that of each one where this is not allowed."""
    limit = int(gib * 2**30)

    @contextmanager
    def stage(run: Run) -> Iterator[None]:
        if psutil.virtual_memory().available < 1.5 * limit:
            raise NotStaged(f"less than {1.5 * gib:g} GiB are free: something else would be reached first")
        name = f"course-machines-{os.getpid()}"
        for parent, file in (
            (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
            (Path("/sys/fs/cgroup"), "memory.max"),
        ):
            group = parent / name
            try:
                group.mkdir()
            except OSError:
                continue
            try:
                (group / file).write_text(str(limit))
            except OSError:  # version 2 without the memory controller
                group.rmdir()
                continue
            enter = f'echo $$ > {group}/cgroup.procs && exec "$@"'
            run.prefix = ["sh", "-c", enter, "sh", *run.prefix]
            try:
                yield
            finally:
                with suppress(OSError):  # a process that is still ending keeps the group
                    group.rmdir()
            return
        if not shutil.which("prlimit"):
            raise NotStaged("control groups cannot be changed here, and there is no prlimit")
        run.prefix = ["prlimit", f"--data={limit}", *run.prefix]
        yield

    return stage


def _forget_caches(run: Run) -> None:
    """Remove the variables that name folders of the user elsewhere than in the home."""
    for name in [name for name in run.environment if name.startswith("XDG_") or name.endswith("_CACHE_DIR")]:
        del run.environment[name]


@contextmanager
def empty_home(run: Run) -> Iterator[None]:
    """Start with an empty home and no caches of anything."""
    home = run.scratch / "home"
    home.mkdir()
    _forget_caches(run)
    run.environment |= {
        "HOME": str(home),
        "USERPROFILE": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "MPLCONFIGDIR": str(home / ".matplotlib"),
        "TORCHINDUCTOR_CACHE_DIR": str(home / ".inductor"),
        "TRITON_CACHE_DIR": str(home / ".triton"),
    }
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
    for name in ("CC", "CXX", "CUDAHOSTCXX"):
        run.environment.pop(name, None)
    yield


@contextmanager
def read_only_home(run: Run) -> Iterator[None]:
    """Make the home a folder that nobody may write to, not even root; Jupyter keeps a place for its connections."""
    home, runtime = run.scratch / "read-only home", run.scratch / "runtime"
    home.mkdir()
    runtime.mkdir()
    run.environment |= {"HOME": str(home), "JUPYTER_RUNTIME_DIR": str(runtime)}
    _forget_caches(run)
    for name in ("MPLCONFIGDIR", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR"):
        run.environment.pop(name, None)
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


def together(count: int) -> Stage:
    """Return a stage that runs `count` notebooks at once."""

    @contextmanager
    def stage(run: Run) -> Iterator[None]:
        run.together = count
        yield

    return stage


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


def loaded(count: int) -> Stage:
    """Return a stage that keeps `count` other processes busy: they compute and take memory bandwidth in turns."""

    @contextmanager
    def stage(run: Run) -> Iterator[None]:
        commands = [[sys.executable, "-c", BUSY, "copy" if n % 2 else "spin"] for n in range(count)]
        running = [subprocess.Popen(command, stdin=subprocess.PIPE) for command in commands]
        try:
            yield
        finally:
            for process in running:
                process.kill()
                process.wait()

    return stage
