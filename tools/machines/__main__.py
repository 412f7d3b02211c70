"""Run the lessons on staged machines, and show what holds where.

    python -m tools.machines                        all machines
    python -m tools.machines oldest-cpu no-fonts    these only
    python -m tools.machines --list                 what there is
    python -m tools.machines --only-missing         go on: run what has not run, or failed
    python -m tools.machines --table                show what is stored, run nothing

The exit status is 1 if anything failed. Results are stored in ``.machines/results/`` after each file.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil

from tools.machines import results as found
from tools.machines.catalogue import ALL, MACHINES, Machine
from tools.machines.results import MachineResults, Result
from tools.machines.staging import NotStaged, Run, StagingError
from tools.notebook_file import ROOT, lessons

LIMIT = 1800.0  # seconds for one file
STAGING = "(staging)"  # in the results, the file of a machine that could not be staged although it should


def files_of(machine: Machine, only: Sequence[str] = ()) -> list[str]:
    """Return the notebooks and test files that run on `machine`; of some lessons only, if they are given."""
    chosen = set(machine.lessons) & set(only or machine.lessons)
    notebooks = [path.relative_to(ROOT).as_posix() for number, path in lessons().items() if number in chosen]
    return [*notebooks, *machine.tests]


def check_staging(machine: Machine, run: Run) -> None:
    """Ask the staged machine itself whether it is what it should be; if not, that is a `StagingError`."""
    if not machine.expected:  # without a name, the probe would find out everything
        return
    command = [*run.prefix, run.python, "-m", "tools.machines.probe", *machine.expected]
    how = {"cwd": run.checkout, "env": run.environment, "encoding": "utf-8", "timeout": 300}
    done = subprocess.run(command, capture_output=True, **how)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise StagingError(f"it does not answer: {reason}")
    facts = json.loads(done.stdout.splitlines()[-1])
    for name, expected in machine.expected.items():
        if facts[name] != expected:
            raise StagingError(f"the stage has no effect: {name} is {facts[name]!r}, not {expected!r}")


def run_file(file: str, run: Run) -> Result:
    """Run a notebook or a test file with pytest on the machine that `run` describes, and return what it gave."""
    with tempfile.TemporaryDirectory(prefix="machine-", ignore_cleanup_errors=True) as folder:
        output = Path(folder, "output")
        journal = Path(folder, f"{Path(file).stem}.jsonl")  # conftest.py names it after the notebook
        environment = run.environment | {"COURSE_JOURNALS": folder}
        environment.pop("GITHUB_STEP_SUMMARY", None)  # the tables at the end say it all
        options = ["-p", "no:cacheprovider", "--quiet", "--color=no", "--tb=short"]
        command = [*run.prefix, run.python, "-m", "pytest", *options, file]
        how = {"cwd": run.checkout, "env": environment, "stdin": subprocess.DEVNULL}
        begin = time.monotonic()
        with open(output, "w", encoding="utf-8") as stream:
            process = subprocess.Popen(command, stdout=stream, stderr=stream, **how)
            try:
                status = process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                status = 124
                for ended in [*psutil.Process(process.pid).children(recursive=True), process]:
                    with suppress(psutil.NoSuchProcess):
                        ended.kill()
                process.wait()
        printed = output.read_text(encoding="utf-8", errors="replace")
        return found.result(time.monotonic() - begin, status, printed, journal)


def run_machine(machine: Machine, files: Sequence[str]) -> MachineResults:
    """Run `files` on `machine`, add the results to those that are stored, and return all of them."""
    now = MachineResults(files=found.read(machine.name).files)
    now.files.pop(STAGING, None)
    try:
        with ExitStack() as stack:
            scratch = tempfile.TemporaryDirectory(prefix="machine-", ignore_cleanup_errors=True)
            run = Run(Path(stack.enter_context(scratch)))
            run.environment.pop("PYTEST_CURRENT_TEST", None)
            for stage in machine.staged(run):
                stack.enter_context(stage)
            paths = os.pathsep.join(map(str, (run.checkout, run.checkout / "notebooks")))
            run.environment |= {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
            check_staging(machine, run)
            with ThreadPoolExecutor(run.together) as pool:
                ended = pool.map(lambda file: run_file(file, run), files)
                for file, result in zip(files, ended, strict=True):
                    now.files[file] = result
                    found.write(machine.name, now)
                    state = f"{result.failed} FAILED" if result.failed else "ok"
                    numbers = f"{result.passed:4} passed, {result.seconds:6.1f} s"
                    print(f"  {file:45} {numbers}  {state}", flush=True)
    except NotStaged as error:
        now = MachineResults(not_staged=str(error))
        print(f"  not staged here: {error}", flush=True)
    except (StagingError, subprocess.SubprocessError, OSError) as error:
        now.files[STAGING] = Result(failed=1, text=str(error))
        print(f"  FAILED to stage it: {error}", flush=True)
    found.write(machine.name, now)
    return now


def summary(machines: Sequence[Machine]) -> int:
    """Print the tables of the results of `machines`, and return the exit status."""
    everything = {machine.name: found.read(machine.name) for machine in MACHINES}
    stored = {machine.name: everything[machine.name] for machine in machines}
    stored = {name: results for name, results in stored.items() if results.files or results.not_staged}
    print("\n" + "\n".join(found.table(stored, {machine.name: files_of(machine) for machine in machines})))
    if failures := found.failures(stored):
        print("\nFailures, and claims that are not clear\n" + "\n".join(failures))
    if narrow := found.narrow(everything):
        title = f"Claims with less than {found.ENOUGH} to spare on one of all machines so far"
        print(f"\n{title}\n" + "\n".join(narrow))
    return int(any(results.failed for results in stored.values()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for, and return the exit status."""
    names = [machine.name for machine in MACHINES]
    parser = argparse.ArgumentParser(prog="python -m tools.machines", description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("machines", nargs="*", metavar="MACHINE", help="those to stage (default: all)")
    add("--list", action="store_true", help="say what there is")
    add("--table", action="store_true", help="show what is stored, run nothing")
    add("--only-missing", action="store_true", help="skip files that have passed")
    add("--lessons", nargs="+", default=(), choices=ALL, metavar="NN", help="only these lessons")
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.machines) - set(names)):
        parser.error(f"no machine is called {', '.join(unknown)}; there are {', '.join(names)}")
    machines = [machine for machine in MACHINES if not options.machines or machine.name in options.machines]
    if options.list:
        for machine in machines:
            files = f"lessons {' '.join(machine.lessons)}, {len(machine.tests)} test files"
            print(f"{machine.name:15} {machine.what} ({files})")
        return 0
    for number, machine in enumerate(machines if not options.table else [], start=1):
        files = files_of(machine, options.lessons)
        if options.only_missing:
            stored = found.read(machine.name).files
            files = [file for file in files if file not in stored or stored[file].failed]
        print(f"[{number}/{len(machines)}] {machine.name}: {machine.what}, {len(files)} files", flush=True)
        if files:
            run_machine(machine, files)
    return summary(machines)


if __name__ == "__main__":
    sys.exit(main())
