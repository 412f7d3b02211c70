"""The steps of a run, each in processes of its own: a failure in one does not affect the others."""

import json
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bilingual import texts
from course_utils.machine import usable_cores
from tools.notebook_file import ROOT
from tools.scheduling import uses_gpu
from tools.verify_gpu.session import Failed, Remark, Session
from torch_doctor.errors import provoke
from torch_doctor.errors.catalogue import entries
from torch_doctor.errors.matching import find_cause

TEXTS = texts(__file__)
DISTURBED = 0.15  # share by which a ceiling may differ between the beginning and the end
TORCH = (2, 11)  # the oldest PyTorch on which the recorded evidence may be measured

# The lesson that measures nothing on a GPU. Where there are cores enough, it runs beside the others.
BESIDE = ("09",)
CORES_FOR_TWO = 8

# Calls of less than ten minutes each, by their lessons; together they verify everything.
CALLS = (("00", "01", "02", "03"), ("04", "05", "09"), ("06", "07", "08"))
# Steps that a machine needs once go with a lesson; none with 06 to 08, whose cells take four fifths of the time of all.
WITH = {"doctor": "00", "tests": "04", "clinic": "09", "ranks": "09"}

_MACHINE = """
import json
import torch
from course_utils.machine import machine_facts
facts = machine_facts()
if torch.cuda.is_available():
    facts["sum"] = torch.ones(8, device="cuda").sum().item()
print(json.dumps(facts))
"""

_CEILINGS = """
import json, sys
from course_utils.machine import smi_query
sys.path.append("notebooks")
from shared.ceilings import ceilings, rating
link = smi_query("pcie.link.gen.max,pcie.link.width.max,clocks.sm,clocks.max.sm,power.limit")
rated = {name: rating(name) for name in ("bandwidth", "half")}
print(json.dumps({"ceilings": ceilings(), "rated": rated, "smi": link}))
"""


class NotCuda(Exception):
    """There is no CUDA GPU to verify the course on; the argument says what was found, in both languages."""


def machine(session: Session) -> str:
    """Find out what this machine is, and make sure that it computes on a GPU.

    Raises:
        NotCuda: No GPU, a GPU that does not compute, or a PyTorch that is too old; not in a rehearsal.
    """
    facts = session.ask("machine", _MACHINE, 120)
    right = facts.pop("sum", None) == 8.0
    session.machine = facts
    session.keep("machine.json", facts)
    version = tuple(int(part) for part in facts["torch"].split("+")[0].split(".")[:2])
    if not session.rehearsal:
        here, oldest = f"PyTorch {facts['torch']}", ".".join(map(str, TORCH))
        if not (facts["gpus"] and facts["cuda"] and right):
            raise NotCuda(TEXTS["no_gpu"].format(here=here))
        if version < TORCH:
            raise NotCuda(TEXTS["too_old"].format(here=here, oldest=oldest))
    name = facts["gpus"][0]["name"] if facts["gpus"] else facts["cpu"]
    return f"{len(facts['gpus'])} GPU, {name}, PyTorch {facts['torch']}, Python {facts['python']}"


def _ceilings(session: Session, name: str) -> dict[str, float]:
    found = session.ask(name, _CEILINGS, 120)
    session.keep(f"{name}.json", found)
    return found["ceilings"]


def limits(session: Session) -> str:
    """Measure the ceilings, and note beside them what the hardware is rated at."""
    return ", ".join(f"{name} {value:.3g}" for name, value in _ceilings(session, "limits").items())


def quiet(session: Session) -> str:
    """Measure the ceilings once more: where they changed, something disturbed what was measured in between.

    Raises:
        Remark: They changed. Clocks drift on a warm or shared GPU; what a claim needs, it measures itself.
    """
    before = json.loads(session.file("limits.json").read_text(encoding="utf-8"))["ceilings"]
    found = _ceilings(session, "limits-again")
    changed = {name: value / before[name] - 1 for name, value in found.items()}
    message = ", ".join(f"{name} {change:+.0%}" for name, change in changed.items())
    # A rehearsal shares its machine with whatever else runs, and its figures do not count.
    if not session.rehearsal and max(abs(changed[name]) for name in ("copy", "matmul")) > DISTURBED:
        raise Remark(f"disturbed: {message}")
    return message


def doctor(session: Session) -> str:
    """Ask the doctor its three questions (in a rehearsal one); about CUDA it should find a healthy machine.

    Raises:
        Remark: It found something about CUDA. That the GPU computes is proven by the first step.
    """
    first = {}
    for question in ("cuda",) if session.rehearsal else ("cuda", "slow", "hang"):
        arguments = ["-m", "torch_doctor", question, "--json"]
        # 0: nothing is wrong, 1: a fault, 3: not known.
        message = session.python(f"doctor-{question}", arguments, 40, statuses=(0, 1, 3))
        report = json.loads(message)
        session.keep(f"doctor/{question}.json", report)
        first[question] = report["verdicts"][0]["cause"] if report["verdicts"] else "unknown"
    message = ", ".join(f"{question}: {cause}" for question, cause in first.items())
    if session.cuda and first["cuda"] != "healthy":
        raise Remark(message)
    return message


def clinic(session: Session) -> str:
    """Provoke the errors that need a GPU, and see whether the clinic knows them by what PyTorch says here."""
    if session.cuda:
        chosen = [name for name, entry in entries().items() if entry.requires == "cuda" or entry.provoke_cuda]
    else:  # a rehearsal: the way is the same, whatever the error
        chosen = [name for name, entry in entries().items() if entry.requires == "cpu"][:3]
    programs = {name: provoke.program(entries()[name], cuda=session.cuda) for name in chosen}
    seconds = min(60.0, session.left() / 2)
    with ThreadPoolExecutor(2) as pool:
        printed = pool.map(lambda program: provoke.run(program, seconds=seconds), programs.values())
        texts = dict(zip(programs, printed, strict=True))
    known = {}
    for name, text in texts.items():
        session.file(f"clinic/{name}.txt").write_text(text, encoding="utf-8")
        match = find_cause(text).match
        known[name] = match.entry.name if match else None
    session.keep("clinic.json", known)
    wrong = [f"{name} (taken for {found})" for name, found in known.items() if found != name]
    if wrong:
        raise Failed(f"{len(known) - len(wrong)} of {len(known)} recognised; not {', '.join(wrong)}")
    return f"all {len(known)} provoked errors recognised"


def ranks(session: Session) -> str:
    """Run several processes the ways that this machine's GPUs allow."""
    message = session.python("ranks", ["-m", "tools.verify_gpu.ranks", session.file("ranks.json")], 150)
    return message.strip().splitlines()[-1]


def tests(session: Session) -> str:
    """Run the unit tests that need a GPU; importing all files of tests takes long from a cold disk."""
    if not session.cuda:
        return "needs a GPU"
    files = [file for file in sorted((ROOT / "tests").rglob("test_*.py")) if uses_gpu(file)]
    arguments = ["-m", "pytest", *files, "-m", "cuda", "-q", "--continue-on-collection-errors"]
    return session.python("tests", arguments, 120).strip().splitlines()[-1].strip("= ")


# --- the lessons ---------------------------------------------------------------------------------------


Way = tuple[
    str, list[object], dict[str, str]
]  # to run a lesson: the log's name, what to run, the environment


def lanes(notebooks: Iterable[Path], cores: int) -> list[list[Path]]:
    """Return which lessons run one after the other: two rows side by side where there are cores enough."""
    notebooks = sorted(notebooks)
    if cores < CORES_FOR_TWO:
        return [notebooks]
    beside = [path for path in notebooks if path.name.startswith(BESIDE)]
    return [row for row in ([path for path in notebooks if path not in beside], beside) if row]


def run_lessons(session: Session, way: Callable[[Path], Way], seconds: float) -> dict[str, str | None]:
    """Run every lesson, in so many seconds for all, and return what went wrong with each (None: nothing)."""
    end = session.left() - seconds
    wrong: dict[str, str | None] = {}

    def run(path: Path) -> None:
        log, arguments, variables = way(path)
        try:
            if session.left() - end < 1:
                raise Failed("the time was up before it began")
            session.python(log, arguments, session.left() - end, **variables)
            wrong[path.stem] = None
        except Failed as error:
            wrong[path.stem] = str(error)
        print(f"    {path.stem}: {wrong[path.stem] or 'ok'}", flush=True)

    rows = lanes(session.notebooks, usable_cores())
    with ThreadPoolExecutor(len(rows)) as pool:
        list(pool.map(lambda row: [run(path) for path in row], rows))
    return wrong


def _lessons_that_ran(wrong: dict[str, str | None]) -> str:
    bad = sorted(name for name, why in wrong.items() if why)
    if bad:
        raise Failed("; ".join(f"{name[:2]}: {wrong[name]}" for name in bad))
    return f"{len(wrong)} lessons"


def strict(session: Session) -> str:
    """Execute every cell and compare it with the stored output; a claim that does not hold is an error."""

    def way(path: Path) -> Way:
        # conftest.py names the journals after the notebooks.
        journals = session.file(f"strict/{path.stem}.jsonl").parent
        variables = {"COURSE_STRICT": "1", "COURSE_JOURNALS": str(journals)}
        # Each cell is named in the log before it runs: the last one where the time was up.
        return f"strict-{path.stem}", ["-m", "pytest", path, "--verbose"], variables

    return _lessons_that_ran(run_lessons(session, way, session.left() * 0.45))


def record(session: Session) -> str:
    """Execute copies of the lessons; what they measure is noted three times over."""

    def way(path: Path) -> Way:
        variables = {"COURSE_STRICT": "0", "COURSE_REPEAT": "2"}
        arguments = ["-m", "tools.record", "--to", session.folder / "executed" / path.stem, path]
        return f"record-{path.stem}", arguments, variables

    wrong = run_lessons(session, way, session.left() - 30)  # for the last step
    for path in session.notebooks:  # one folder for the notebooks, one for the traces, one for the journals
        folder = session.folder / "executed" / path.stem
        for file in folder.iterdir() if folder.is_dir() else ():
            place = {".ipynb": "notebooks", ".jsonl": "recorded", ".gz": "timelines"}[file.suffix]
            name = f"{path.stem}.jsonl" if file.suffix == ".jsonl" else file.name
            shutil.move(file, session.file(f"{place}/{name}"))
    shutil.rmtree(session.folder / "executed", ignore_errors=True)
    return _lessons_that_ran(wrong)


STEPS: dict[str, Callable[[Session], str]] = {
    step.__name__: step for step in (machine, limits, doctor, clinic, ranks, tests, strict, record, quiet)
}
