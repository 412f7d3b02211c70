"""Measure the doctor on real cases from public threads, of which the cause and the cure are known.

A case is a thread in which somebody's PyTorch did not use the GPU, in which the cause was confirmed, and in which something
really cured it. Its symptoms are staged as a machine (:mod:`fake_machines`); what counts as the right cause and as a step
that works is written down before the doctor's answer is looked at::

    python tests/torch_doctor/real_cases.py              # the table of all cases
    python tests/torch_doctor/real_cases.py NAME …       # these cases, with the report of each
"""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

if __name__ == "__main__":  # as a program: the package is two folders up
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from fake_machines import Machine, libraries

from torch_doctor.diagnosis.diagnose import Diagnosis
from torch_doctor.diagnosis.plain_text import plain_text
from torch_doctor.diagnosis.rules.base import SURE

MODULES = ("open_cases", "held_back_cases")  # modules with cases; one that is not there is left out
WORDS = {3: "sure", 2: "likely", 1: "possible"}

Build = Callable[[Machine], object]


@dataclass(frozen=True)
class Case:
    """One thread, and the machine that shows its symptoms.

    Attributes:
        name: A short name.
        address: Where the thread stands.
        symptoms: What its author saw.
        confirmed: The cause that was confirmed there, and what cured it.
        causes: The names of the doctor's causes that are right; more than one only where they say the same here.
        cures: Alternatives, of which one has to be found. Each is a regular expression that is searched in a step (its
            text, its command and what follows it, a line each), or several that must all be found, each in some step.
        build: Stages the symptoms on a machine.
        question: The question for the doctor.
        patience: Factor on the time limits.
    """

    name: str
    address: str
    symptoms: str
    confirmed: str
    causes: tuple[str, ...]
    cures: tuple[str | tuple[str, ...], ...]
    build: Build
    question: str = "cuda"
    patience: float = 1.0


@dataclass(frozen=True)
class Score:
    """How good an answer is.

    Attributes:
        verdict: The name of the first verdict.
        sure: How sure it is (3 sure, 2 likely, 1 possible).
        right: Whether it names the confirmed cause.
        works: Whether one of its steps cures this machine as it is typed.
        false_sure: Whether it is wrong, and sure of it or declares that nothing is broken.
    """

    verdict: str
    sure: int
    right: bool
    works: bool
    false_sure: bool


CASES: dict[str, Case] = {}


def case(
    name: str, address: str, *, symptoms: str, confirmed: str, causes: Sequence[str] | str,
    cures: Iterable[str | tuple[str, ...]] | str, question: str = "cuda", patience: float = 1.0,
) -> Callable[[Build], Build]:  # fmt: skip
    """Register the decorated function, which builds the machine, as a case; the arguments are those of :class:`Case`."""

    def register(build: Build) -> Build:
        if name in CASES:
            raise ValueError(f"two cases are called {name!r}; give one of them another name.")
        right = (causes,) if isinstance(causes, str) else tuple(causes)
        working = (cures,) if isinstance(cures, str) else tuple(cures)
        CASES[name] = Case(name, address, symptoms, confirmed, right, working, build, question, patience)
        return build

    return register


# --- the score ----------------------------------------------------------------------------------------

# What has to be replaced by hand before the command runs. Of `docker run` only the option to add can be shown.
_UNFINISHED = re.compile(r"\.\.\.|…|XXX|\bNAME\b|\bVERSION\b|<[\w-]+>|\{\w+\}")
_ADDITION = re.compile(r"^\s*(?:sudo )?(?:docker|podman|apptainer|singularity|srun|salloc|sbatch|kubectl)\b")


def steps_of(diagnosis: Diagnosis) -> list[str]:
    """Return the steps that can be followed as they are, in English: text, command and what follows, a line each.

    They are those of the first verdict. If it says that nothing is broken, the remarks and their steps belong to the answer.
    """
    causes = [diagnosis.first.cause]
    found = []
    if diagnosis.kind == "fine":
        remarks = [remark.cause for remark in diagnosis.remarks]
        causes += remarks
        found += [remark.title.en for remark in remarks]
    for step in (step for cause in causes for step in cause.steps):
        if _UNFINISHED.search(step.run) and not _ADDITION.match(step.run):
            continue
        after = step.then.en if step.then else ""
        found.append("\n".join(part for part in (step.text.en, step.run, after) if part))
    return found


def score(case: Case, diagnosis: Diagnosis) -> Score:
    """Compare an answer with what the thread confirmed."""
    first, steps = diagnosis.first, steps_of(diagnosis)
    named = {first.cause.name}
    if first.cause.kind == "fine":  # nothing is broken on the machine: what it adds belongs to the answer
        named |= {remark.cause.name for remark in diagnosis.remarks}
    right = bool(named & set(case.causes))

    def there(pattern: str) -> bool:
        return any(re.search(pattern, step, re.M) for step in steps)

    works = any(all(map(there, (cure,) if isinstance(cure, str) else cure)) for cure in case.cures)
    false_sure = not right and (first.sure == SURE or first.cause.kind == "fine")
    return Score(first.cause.name, first.sure, right, works, false_sure)


def diagnosis_of(case: Case, machine: Machine) -> Diagnosis:
    """Stage `case` on `machine` and return the doctor's answer."""
    (machine.folder / "project").mkdir(exist_ok=True)
    case.build(machine)
    with contextlib.chdir(machine.folder / "project"):  # the probes look at the current folder
        return machine.diagnosis(case.question, case.patience)


def table(scores: dict[str, Score]) -> str:
    """Return the scores as a table, with their sums below."""
    width = max(map(len, [*scores, "case"]))
    lines = [f"{'case':{width}}  {'first verdict':24}  cause  step  certainty"]
    for name, one in scores.items():
        marks = [f"{'yes' if good else '-':5}" for good in (one.right, one.works)]
        word = WORDS[one.sure] + (" (FALSE)" if one.false_sure else "")
        lines.append(f"{name:{width}}  {one.verdict:24}  {'  '.join(marks)} {word}")
    count = len(scores) or 1
    sure = [one for one in scores.values() if one.sure == SURE]
    right, works = (sum(getattr(one, key) for one in scores.values()) for key in ("right", "works"))
    lines.append(
        f"\n{len(scores)} cases: the first verdict is right in {right} ({right / count:.0%}), a step works in {works} "
        f"({works / count:.0%}); sure of {len(sure)}, of which {sum(one.false_sure for one in sure)} false"
    )
    return "\n".join(lines)


# --- places -------------------------------------------------------------------------------------------

OS_RELEASE = {
    "ubuntu": 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\nVERSION_CODENAME=noble',
    "mint": 'ID=linuxmint\nID_LIKE="ubuntu debian"\nVERSION_ID="21.3"',
    "debian": 'ID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm',
    "fedora": "ID=fedora\nVERSION_ID=41",
    "rocky": 'ID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"',
    "arch": "ID=arch\nBUILD_ID=rolling",
    "cachyos": "ID=cachyos\nID_LIKE=arch\nBUILD_ID=rolling",
    "suse": 'ID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"\nVERSION_ID="20250601"',
    "nixos": 'ID=nixos\nVERSION_ID="24.11"',
    "alpine": "ID=alpine\nVERSION_ID=3.20.1",
}


def python(m: Machine, kind: str = "venv", prefix: str = "/home/ann/venv") -> Machine:
    r"""Say in which environment the probes ran, as they report it.

    Args:
        m: The machine.
        kind: ``"venv"`` (switched on, with pip), ``"uv"`` (made by uv: without pip), ``"conda"`` or ``"system"``.
        prefix: Its folder. If it begins with ``C:\``, this is Windows, and commands are typed in PowerShell.
    """
    on_windows = prefix.startswith("C:")
    if on_windows:
        executable = prefix + (r"\python.exe" if kind == "conda" else r"\Scripts\python.exe")
    else:
        executable = prefix + ("/bin/python3" if kind == "system" else "/bin/python")
    found = {
        "executable": executable,
        "prefix": prefix,
        "word": "python3" if kind == "system" else "python",
        "shell": "powershell" if on_windows else "posix",
        "home": r"C:\Users\ann" if on_windows else "/home/ann",
        "folder": r"C:\Users\ann\project" if on_windows else "/home/ann/project",
        "managed": False,
        "project": {},
        "pip": kind != "uv",
        "ensurepip": kind != "uv",
        "tools": [kind] if kind in ("uv", "conda") else [],
        "pythons": [],
        "conda": kind == "conda",
    }
    for key, value in found.items():
        m.report(f"interpreter.{key}", value)
    return m


def linux(m: Machine, distribution: str, kernel: str = "") -> Machine:
    """Say which Linux this is (a key of :data:`OS_RELEASE`), and which kernel it runs; Python is that of a venv."""
    if kernel:
        m.file("proc/version", f"Linux version {kernel}").file("proc/sys/kernel/osrelease", kernel)
    return python(m).file("etc/os-release", OS_RELEASE[distribution])


def windows(m: Machine, *video: str, kind: str = "venv", prefix: str = r"C:\Users\ann\venv") -> Machine:
    """Make it a Windows machine with these graphics cards, as the probes report them there."""
    found = {"os": "windows", "release": "11", "arch": "AMD64", "video": list(video), "module": "", "laptop": False,
             "kernel": "", "pci": 0, "prime": None, "cards": [], "nodes": {}, "module_files": []}  # fmt: skip
    for key, value in found.items():
        m.report(f"bus.{key}", value)
    return python(m, kind, prefix)


def container(m: Machine, kind: str = "docker") -> Machine:
    """Make it a container of this kind."""
    if kind == "podman":
        return m.file("run/.containerenv", 'engine="podman-5.2.0"\n')
    if kind == "lxc":  # with the second version of control groups only the first process's environment tells
        return m.file("proc/1/environ", "container=lxc\0").file("run/systemd/container", "lxc\n")
    if kind == "kubernetes":
        return m.set(KUBERNETES_SERVICE_HOST="10.96.0.1").file("proc/1/cgroup", "0::/\n")
    return m.file(".dockerenv")


def wsl(m: Machine) -> Machine:
    """Make it WSL 2 with a Windows that passes its GPU."""
    return m.file("proc/version", "Linux version 5.15.167.4-microsoft-standard-WSL2").nodes("dxg")


def modinfo(m: Machine, version: str, license: str = "NVIDIA") -> Machine:
    """Let the module on the disk, for the running kernel, be of this version; the open one is ``Dual MIT/GPL``."""
    fields = "".join(f"echo '{key}: {value}';" for key, value in (("version", version), ("license", license)))
    return m.command(
        "modinfo", f'case "$*" in *version*) echo {version};; *license*) echo "{license}";; *) {fields} esac'
    )


def measure(
    cases: Iterable[Case], show: Callable[[Case, Diagnosis], None] = lambda case, found: None
) -> dict[str, Score]:
    """Return the scores of `cases`, each examined on a new machine; call `show` with each answer."""
    scores = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compiled = libraries(folder / "libraries")
        for number, one in enumerate(cases):
            found = diagnosis_of(one, Machine(folder / f"machine{number}", compiled))
            scores[one.name] = score(one, found)
            show(one, found)
    return scores


def load(names: Iterable[str] = MODULES) -> dict[str, Case]:
    """Import the modules with cases, and return all cases by name."""
    for name in names:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
    return CASES


def _show(case: Case, found: Diagnosis) -> None:
    print(f"\n=== {case.name}: {case.address}\n{case.confirmed}\n")
    print(plain_text(found, "en"))


if __name__ == "__main__":
    # The modules with cases import this file by its name; both must share one list.
    sys.modules["real_cases"] = sys.modules[__name__]
    known = load()
    wanted = [known[name] for name in sys.argv[1:]] or list(known.values())
    print("\n" + table(measure(wanted, _show if sys.argv[1:] else lambda case, found: None)))
