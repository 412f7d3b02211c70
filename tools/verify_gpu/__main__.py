"""``python -m tools.verify_gpu``: run the whole course on this machine's GPU and leave one archive.

It has nine minutes for each of three parts of the course. Where a command may take ten minutes only, call it three times
(``--help`` says how), and ``python -m tools.take_evidence`` takes the three archives together.

Exit status: 0 if every step is ok or a remark, 1 if one is not (the archive is there all the same), 2 without a CUDA
GPU. On GitHub, the table is also part of the job's summary.
"""

import argparse
import datetime
import json
import shutil
import sys
import time
from contextlib import suppress
from pathlib import Path

from tools.claim_summary import write_job_summary
from tools.evidence import slug, write
from tools.notebook_file import ROOT, lessons
from tools.verify_gpu import archive
from tools.verify_gpu.findings import judge_claims, judge_shares, read_journals, summary
from tools.verify_gpu.session import Failed, Outcome, Remark, Session
from tools.verify_gpu.steps import CALLS, STEPS, TEXTS, WITH, NotCuda
from tools.verify_gpu.unverified import of_the_course

MINUTES = 8.8  # for each part
PLAN = "\n".join(f"  python -m tools.verify_gpu {' '.join(lessons)}" for lessons in CALLS)
THREE_CALLS = (
    f"Where a command may take ten minutes only, three calls of {MINUTES} minutes each do the same:\n"
    f"指令最多只能執行十分鐘時，請分成三次，每次 {MINUTES} 分鐘：\n{PLAN}"
)


def choose(words: list[str]) -> list[Path]:
    """Return the notebooks whose names begin with one of `words` (all without words), or raise a ValueError."""
    every = lessons().values()
    unknown = [word for word in words if not any(path.name.startswith(word) for path in every)]
    if unknown:
        names = ", ".join(path.stem for path in every)
        raise ValueError(f"no notebook begins with {', '.join(unknown)}; there are {names}.")
    return [path for path in every if not words or path.name.startswith(tuple(words))]


def minutes(notebooks: list[Path]) -> float:
    """Return the minutes that some lessons get if nothing else is asked for: as many as for the calls that have them."""
    return MINUTES * sum(any(path.name.startswith(lessons) for path in notebooks) for lessons in CALLS)


def run(session: Session) -> list[Outcome]:
    """Run every step, also after a failed one, and return their results; only that there is no GPU ends the run."""
    outcomes = []
    for name, step in STEPS.items():
        if name in WITH and not any(path.name.startswith(WITH[name]) for path in session.notebooks):
            continue
        print(f"{name} … ({session.left():.0f} s left)", flush=True)
        began, status = time.monotonic(), "ok"
        try:
            if session.left() < 5:
                message, status = "the time was up", "not run"
            else:
                message = step(session)
        except NotCuda:
            raise
        except Remark as remark:
            message, status = str(remark), "remark"
        except Failed as error:
            message, status = str(error), "failed"
        except Exception as error:  # a defect of a step must not cost what the others find
            message, status = f"{type(error).__name__}: {error}", "failed"
        outcomes.append(Outcome(name, status, time.monotonic() - began, message))
        print(f"  {status}: {message}", flush=True)
    message = judge_claims(session)
    outcomes.append(Outcome("claims", "failed" if "look at" in message else "ok", 0.0, message))
    outcomes.append(Outcome("shares", "ok", 0.0, judge_shares(session)))
    return outcomes


def store(session: Session, outcomes: list[Outcome], date: str) -> None:
    """Write evidence, table and manifest into the archive's folder."""
    lines = read_journals(session.folder.glob("recorded/*.jsonl"))
    kind = archive.REHEARSAL if session.rehearsal else archive.GPU
    written = write(lines, session.folder / "evidence", date=date, facts=session.machine) if lines else None
    if written and session.rehearsal:
        # By name and content: it must not be taken for a record, even when copied by hand.
        evidence = json.loads(written.read_text(encoding="utf-8"))
        session.keep("evidence/rehearsal.json", {"rehearsal": True, **evidence})
        written.unlink()
    session.file("summary.txt").write_text(summary(outcomes, session.rehearsal) + "\n", encoding="utf-8")
    chosen = {path.name for path in session.notebooks}
    lessons = {n: p for n, p in archive.on_disk().items() if n in chosen or not n.endswith(".ipynb")}
    manifest = {"format": archive.FORMAT, "kind": kind, "date": date, "machine": session.machine}
    manifest |= {"lessons": lessons, "outcomes": [vars(one) for one in outcomes]}
    session.keep(archive.MANIFEST, manifest)


def main() -> int:
    """Read the command line, run, and pack."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.verify_gpu", description=__doc__.splitlines()[0],
        epilog=THREE_CALLS, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add = parser.add_argument
    add("lessons", nargs="*", help="beginnings of notebooks' names, such as 04 (default: all)")
    add("--rehearse", action="store_true", help="try the command without a GPU; no evidence")
    add("--out", type=Path, default=ROOT / "gpu-runs", metavar="FOLDER", help="default: gpu-runs")
    add("--minutes", type=float, help=f"for everything (default: {MINUTES} for each of three parts)")
    add("--unverified", action="store_true", help="only print what no GPU has confirmed yet")
    options = parser.parse_args()
    if options.unverified:
        print(of_the_course())
        return 0
    try:
        notebooks = choose(options.lessons)
    except ValueError as error:
        parser.error(str(error))
    now = datetime.datetime.now()
    options.out.mkdir(parents=True, exist_ok=True)
    folder = options.out.resolve() / f"course-run-{now:%Y%m%d-%H%M%S}"
    if not options.minutes and minutes(notebooks) > MINUTES:
        print(THREE_CALLS, flush=True)
    session = Session(folder, options.rehearse, options.minutes or minutes(notebooks), notebooks)
    try:
        outcomes = run(session)
    except NotCuda as error:
        shutil.rmtree(folder)
        with suppress(OSError):  # it may hold archives
            options.out.rmdir()
        why, says = error.args[0], TEXTS["nothing_recorded"]
        print(says.en.format(why=why.en), says.zh.format(why=why.zh), sep="\n", file=sys.stderr)
        return 2
    store(session, outcomes, f"{now:%Y-%m-%d}")
    name = "rehearsal" if options.rehearse else slug(session.machine)
    packed = archive.pack(folder.rename(folder.with_name(f"course-{name}-{now:%Y%m%d-%H%M%S}")))
    shutil.rmtree(packed.with_name(packed.name.removesuffix(".tar.gz")))
    table = summary(outcomes, options.rehearse)
    write_job_summary({"make verify-gpu": [table]})
    print(f"\n{table}\n\n{packed.name}: {packed.stat().st_size / 2**20:.1f} MiB")
    return 0 if all(one.fine for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
