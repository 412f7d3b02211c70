"""The launcher: what ranks print arrives, the root-cause rank is named first, and nothing is ever left behind."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import types
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from html_nesting import assert_nested
from tabled import tabled
from torch.distributed import AllreduceOptions, HashStore, ProcessGroupGloo

from course_utils import launch
from notebook_torchrun import agent, fork_server, report
from notebook_torchrun.display import MOST_FINAL, LiveBox, final_box
from notebook_torchrun.job import LogReader
from notebook_torchrun.rank import consequence
from notebook_torchrun.result import Failure, Run
from notebook_torchrun.root_cause import find_failures
from tools.sanitized import sanitized

ROOT = Path(__file__).parents[2]
TRACE = "COURSE_TEST_TRACE"
Write = Callable[[str], Path]  # a worker, which returns its path


# --- nothing is left ----------------------------------------------------------------------------------


def alive() -> dict[int, list[str]]:
    """Return the command lines of the processes that these tests have started."""
    found = {}
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.pid != os.getpid() and process.environ().get(TRACE) == os.environ[TRACE]:
                found[process.pid] = process.cmdline()
    return found


@pytest.fixture(scope="module", autouse=True)
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the folder in which all that these tests start keeps its temporary files."""
    folder = tmp_path_factory.mktemp("temporary")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        patch.setattr(tempfile, "tempdir", None)
        patch.setenv(TRACE, folder.parent.name)
        yield folder


WAIT_SECONDS = 60  # for what comes at once where nothing else runs; spent in full only where it never comes


def wait_until(done: Callable[[], bool], seconds: float = WAIT_SECONDS) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and not done():
        time.sleep(0.05)


def assert_nothing_left(folder: Path, seconds: float = 0.0) -> None:
    fork_server.close()
    wait_until(lambda: not alive() and not os.listdir(folder), seconds)
    assert alive() == {} and os.listdir(folder) == []


def ports() -> set[Any]:
    return {c.laddr for c in psutil.Process().net_connections("tcp") if c.status == psutil.CONN_LISTEN}


@pytest.fixture
def nothing_is_left(own: Path) -> Iterator[None]:
    before = ports()
    yield
    assert_nothing_left(own)
    assert ports() <= before


@pytest.fixture(scope="module")
def write(tmp_path_factory: pytest.TempPathFactory) -> Write:
    """Return a function that writes a worker and returns its path."""
    folder = tmp_path_factory.mktemp("workers")

    def write(text: str) -> Path:
        path = folder / f"worker{len(list(folder.iterdir()))}.py"
        path.write_text("import os, sys, time\nrank = int(os.environ['RANK'])\n" + textwrap.dedent(text))
        return path

    return write


@pytest.fixture
def script(write: Write, nothing_is_left: None) -> Write:
    """The same, for tests that launch themselves: afterwards, nothing may be left."""
    return write


# Instead of PyTorch, where only its start-up would be felt.
STAND_IN = {
    "torch/__init__.py": "",
    "torch/distributed/__init__.py": "",
    "torch/distributed/run.py": """
import os, subprocess, sys, time

class ChildFailedError(Exception):
    pass

class Failure:
    def __init__(self, exitcode):
        self.exitcode = exitcode

def main(argv):
    first = next(number for number, word in enumerate(argv) if not word.startswith("--"))
    ranks = [
        subprocess.Popen([sys.executable, *argv[first:]], env=os.environ | {"RANK": str(rank)})
        for rank in range(int(argv[first - 1].removeprefix("--nproc-per-node=")))
    ]
    while None in (statuses := [rank.poll() for rank in ranks]) and not any(statuses):
        time.sleep(0.02)
    for rank in ranks:
        rank.terminate()
        rank.wait()
    if any(statuses):
        error = ChildFailedError()
        error.failures = {rank: Failure(status) for rank, status in enumerate(statuses) if status}
        raise error
""",
}


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the environment in which the launcher starts a small program instead of torchrun."""
    folder = tmp_path_factory.mktemp("stand_in")
    for name, text in STAND_IN.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}


LAUNCHES: dict[str, tuple[str, tuple, dict[str, Any]]] = {}  # worker, its arguments, options of launch
WITH_TORCHRUN = {"hello", "restarts"}  # elsewhere it makes no difference
ENDED: dict[str, float] = {}


@pytest.fixture(scope="module")
def runs(write: Write, quick: dict[str, str], own: Path) -> dict[str, Future[Run]]:
    """Launch everything in LAUNCHES, in a row and two at a time: a launch leaves one of two processors idle."""
    before = ports()
    bystander = subprocess.Popen([sys.executable, "-c", "raise SystemExit(7)"])

    def run(name: str) -> Run:
        worker, words, options = LAUNCHES[name]
        where = ({} if name in WITH_TORCHRUN else quick) | options.get("environment", {})
        done = launch(write(worker), *words, show="quiet", **options | {"environment": where})
        ENDED[name] = time.time()
        return done

    with ThreadPoolExecutor(2) as pool:
        futures = {name: pool.submit(run, name) for name in LAUNCHES}
    assert bystander.wait() == 7, "a launch took the status of somebody else's process"
    assert all("fork_server.py" in words[2] for words in alive().values()) and len(alive()) <= 1
    assert_nothing_left(own)
    assert ports() <= before
    return futures


# --- what arrives -------------------------------------------------------------------------------------

LAUNCHES["hello"] = """
import torch, torch.distributed as dist
from notebook_torchrun import report
dist.init_process_group("gloo")
dist.all_reduce(value := torch.tensor([rank + 1.0]))  # every process now holds the sum
print(f"I am rank {rank}: together we have {value.item():g}.")
report(rank=rank, total=value.item())
dist.destroy_process_group()
""", (), {}  # fmt: skip


def test_the_smallest_example(runs: dict[str, Future[Run]]) -> None:
    run = runs["hello"].result()
    assert run.ok and run.failure is None and run.check() is run
    assert run.results == [{"rank": rank, "total": 3.0} for rank in (0, 1)]
    said = [(rank, f"I am rank {rank}: together we have 3.") for rank in (0, 1)]
    assert sorted(run.lines) == said, "also that no warning of anybody is among them"
    assert run.backend == "gloo" and 0 < run.seconds < 60 and run.restarts == 0


ORDINARY = """
import ctypes, multiprocessing, subprocess, threading
from notebook_torchrun import report

def double(x):
    return 2 * x

class Kept:
    pass

def shout():
    for number in range(200):
        print(f"thread {rank} {number} " + "y" * 300)

if __name__ == "__main__":
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=shout)
    thread.start()
    for number in range(200):
        print(f"main {rank} {number}", "x" * 300)
        print(f"stderr {rank} {number}", file=sys.stderr)
        os.write(1, f"raw {rank} {number}\\n".encode())
    thread.join()
    print("中文 ⟨0.5⟩", end="")  # no newline
    with multiprocessing.get_context("spawn").Pool(1) as pool:  # imports this file again
        doubled = pool.map(double, [1, 2])
    report(argv=sys.argv[1:], name=__name__, file=os.path.basename(__file__), path=sys.path[0], doubled=doubled)
    sleeper = [sys.executable, "-c", "import time; time.sleep(300)"]  # ends by itself where the tests are killed
    report(threads=os.environ["OMP_NUM_THREADS"], mine=os.environ["MINE"], input=sys.stdin.read(),
           orphan=subprocess.Popen(sleeper, env={}, start_new_session=True).pid,
           pickled=__import__("pickle").loads(__import__("pickle").dumps(Kept())).__class__.__name__)
    if rank == 2:
        sys.exit(0)
"""


LAUNCHES["ordinary"] = ORDINARY, ("a b", 3, "--é"), {"processes": 3, "environment": {"MINE": 7}}


def test_a_worker_is_an_ordinary_script(runs: dict[str, Future[Run]]) -> None:
    run = runs["ordinary"].result()
    assert run.ok, run.failure
    expected = {
        "argv": ["a b", "3", "--é"], "name": "__main__", "doubled": [2, 4],
        "threads": "1", "mine": "7", "input": "", "pickled": "Kept",
    }  # fmt: skip
    for result in run.results:
        assert expected.items() <= result.items()
        assert Path(result["path"], result["file"]).read_text().endswith(ORDINARY)
        assert not psutil.pid_exists(result["orphan"]), (
            "what it started elsewhere, without a trace of the run"
        )
    for rank in range(3):  # every line is whole, and has its rank
        lines = [text for who, text in run.lines if who == rank]
        for kind, rest in ("main", " " + "x" * 300), ("thread", " " + "y" * 300), ("stderr", ""), ("raw", ""):
            found = [line for line in lines if line.startswith(kind)]
            assert found == [f"{kind} {rank} {n}{rest}" for n in range(200)]
        assert len(lines) == 801 and lines[-1] == "中文 ⟨0.5⟩"


def test_a_learners_script_has_its_folder_beside_it(
    monkeypatch: pytest.MonkeyPatch, quick: dict[str, str], tmp_path: Path, nothing_is_left: None
) -> None:
    """A relative path, with spaces and characters beyond ASCII; the working directory is the notebook's."""
    home = tmp_path / "my course 課程"
    (home / "mine").mkdir(parents=True)
    (home / "mine" / "train.py").write_text("value = 7\n")
    (home / "mine" / "é 1.py").write_text(
        "import os, sys, train\nprint(train.value, os.path.basename(os.getcwd()), sys.argv)\nraise KeyError(7)\n"
    )
    monkeypatch.chdir(home)
    run = launch("mine/é 1.py", "a b", processes=1, environment=quick, show="quiet")
    assert run.lines == [(0, f"7 my course 課程 {[str(home / 'mine' / 'é 1.py'), 'a b']}")]
    assert run.command == "torchrun --standalone --nproc-per-node=1 'mine/é 1.py' 'a b'"
    assert 'File "mine/é 1.py", line 3' in run.failure.text and run.failure.text.endswith("KeyError: 7\n")


def log(folder: Path, rank: int, *records: dict[str, Any] | str, start: int = 0) -> None:
    """Append records (with a time) and printed text to the log of a rank."""
    for record in records:
        text = record if isinstance(record, str) else f"\x1e{json.dumps(record)}\n"
        with (folder / f"{start}-{rank}.log").open("a") as file:
            file.write(text)


def test_what_is_half_written_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run("torchrun x.py", 2, 60.0)
    reader = LogReader(tmp_path, run)

    def new(**options: bool) -> list[str]:
        before = len(run.lines)
        reader.read(**options)
        return [text for _, text in run.lines[before:]]

    log(tmp_path, 0, "first\n\n[Warning] mine\nhal", {"time": 4, "report": {"a": 1}}, '\x1e{"time": 5, "rep')
    assert new() == ["first", "", "[Warning] mine", "hal"] and run.results[0] == {"a": 1}
    log(tmp_path, 0, 'ort": {"b": 2}}\n')
    assert new() == [] and run.results[0] == {"a": 1, "b": 2}
    log(
        tmp_path,
        1,
        "[Gloo] Rank 0 is connected\n[W socket.cpp] warning\n[rank1]:[W1122 12:00:00 x.cpp:1] w\n",
    )
    log(tmp_path, 1, "NCCL version\n10%\r20%\r\nhalf")
    assert new() == ["NCCL version", "20%"]
    assert new(last=True) == ["half"] and new(last=True) == []
    monkeypatch.setattr("notebook_torchrun.job.MOST_BYTES", 1000)
    log(tmp_path, 0, "y" * 2000 + "\n")
    assert new() == [], "only a part of the line has been read"
    new(last=True)
    assert (tmp_path / "0-0.log").stat().st_size == 0
    log(tmp_path, 0, "and on\n")
    assert new() == ["and on"]


ENDLESS = "for number in range(30_000):\n    print(number, 'z' * 5000 * (number == 7))\n"
LAUNCHES["endless"] = ENDLESS, (), {"processes": 1}


def test_an_endless_print_does_not_fill_the_notebook(runs: dict[str, Future[Run]]) -> None:
    lines = [text for _, text in runs["endless"].result().lines]
    assert len(lines) == 10_000 and lines[0] == "0 " and lines[-1] == "…" and max(map(len, lines)) == 4_000


def test_without_a_launcher_a_report_is_printed_but_no_tensor(
    capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "3")
    report(loss=0.5, weights=[1.0, 2.0])
    assert json.loads(capsys.readouterr().out) == {"rank": 3, "loss": 0.5, "weights": [1.0, 2.0]}
    with pytest.raises(TypeError, match=r"report\(loss=…\): Tensor .*tolist"):
        report(loss=torch.ones(1))


# --- the rank that failed first -----------------------------------------------------------------------

# what rank 1 does, its kind of failure, its status, words of the text, further arguments
FAILING: dict[str, tuple[str, str, int | None, str, dict[str, Any]]] = {
    "raises": ("raise ValueError('the batch is empty')", "raised", 1, r"(?s)^Traceback.* line \d+, in <module>.*ValueError: the batch is empty$", {}),
    "exits": ("print('my last words'); sys.exit(3)", "exited", 3, "my last words", {}),
    "is killed": ("print('my last words'); os.kill(os.getpid(), 9)", "killed", -9, "my last words", {}),
    "hangs": ("def wait():\n        time.sleep(600)\n    wait()", "hangs", None, r"(?s)in wait.*time\.sleep\(600\)", {"limit": 5}),
}  # fmt: skip


for name, (deed, kind, _, _, options) in FAILING.items():
    LAUNCHES[name] = (
        "print(f'rank {rank} begins')\nfrom notebook_torchrun import report\nreport(at=time.time())\n"
        "import pathlib, tempfile\nready = pathlib.Path(tempfile.gettempdir(), 'ready')\n"  # a rank must not fail too early
        "while rank == 1 and not ready.exists(): time.sleep(0.05)\n"
        f"if rank == 1:\n    {deed}\nelse:\n    ready.touch()\n    time.sleep(0 if {kind == 'hangs'} else 100)"
    ), (), options  # fmt: skip


@pytest.mark.parametrize("how", FAILING)
def test_the_failing_rank_is_reported(how: str, runs: dict[str, Future[Run]]) -> None:
    _, kind, status, words, _ = FAILING[how]
    run = runs[how].result()
    failure = run.failure
    assert not run.ok and failure is not None
    assert (failure.rank, failure.kind, failure.exit) == (1, kind, status), failure
    assert re.search(words, failure.text.strip()), failure.text
    assert 'File "/' not in failure.text, "paths of this machine"
    assert ENDED[how] - run.results[1]["at"] < 90, "rank 0 sleeps for 100 seconds"
    assert (1, "rank 1 begins") in run.lines
    if how == "is killed":
        other = run.failures[1]
        assert (other.rank, other.kind) == (0, "stopped") and "time.sleep(" in other.text
    with pytest.raises(RuntimeError, match=rf"(?s)torchrun .*rank 1 \({kind}\)\n"):
        run.check()


# Rank 0 fails earlier, because of rank 1. The job is stopped when the first rank has ended: not before the cause.
LAUNCHES["consequence"] = """
import pathlib, tempfile
place = pathlib.Path(tempfile.gettempdir())  # of this launch
def meet(there):  # so that neither depends on when the other one has started
    (place / f"rank {rank} is here").touch()
    while not (place / there).exists(): time.sleep(0.01)

if rank == 0:
    meet("rank 1 is here")
    (place / "rank 0 fails").touch()
    raise RuntimeError("Connection closed by peer")
try:
    raise ValueError("the batch is empty")
finally:
    meet("rank 0 fails")
    time.sleep(0.2)  # a fifth of the time that rank 0 lives on
""", (), {}  # fmt: skip


def test_a_consequence_that_comes_earlier_is_not_first(runs: dict[str, Future[Run]]) -> None:
    run = runs["consequence"].result()
    assert [(failure.rank, failure.kind) for failure in run.failures] == [(1, "raised"), (0, "raised")]
    assert run.failure.text.strip().endswith("ValueError: the batch is empty")


def test_what_pytorch_says_of_other_ranks_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in agent.settings(Path("folder"), 60.0).items():
        monkeypatch.setenv(name, value)

    def messages(rank_1_leaves: bool, seconds: float) -> list[str]:
        store, limit = HashStore(), timedelta(seconds=WAIT_SECONDS)  # for both to meet
        with ThreadPoolExecutor() as pool:
            ranks = list(pool.map(lambda rank: ProcessGroupGloo(store, rank, 2, limit), range(2)))
        if rank_1_leaves:
            del ranks[1]
        options = AllreduceOptions()
        options.timeout = timedelta(seconds=seconds)
        found = []
        for _ in range(2):
            with pytest.raises(RuntimeError) as error:
                ranks[0].allreduce([torch.ones(1)], options).wait()
            found.append(str(error.value))
        return found

    waited, also_waited = messages(False, 0.5)
    assert waited != also_waited, "gloo blames another operation of this rank"
    with pytest.raises(RuntimeError) as missing:
        HashStore().wait(["a key that nobody sets"], timedelta(seconds=0.1))
    assert [consequence(text) for text in (waited, also_waited, str(missing.value))] == [2, 2, 2]
    assert [consequence(text) for text in messages(True, WAIT_SECONDS)] == [3, 3], "after those who waited"


PLACES = {
    "WORKER": "/a/b/w.py", "COLLECTIVE": "/py/site-packages/torch/distributed/distributed_c10d.py",
    "GPU": "/py/site-packages/torch/cuda/__init__.py", "THREADING": "/py/lib/python3.11/threading.py",
}  # fmt: skip
STACK = """Thread 0x9 (most recent call first):
  File "/x/notebook_torchrun/rank.py", line 1 in _exit_with_agent

Thread 0x7 (most recent call first):
  File "{}", line 3 in wait
  File "/a/b/w.py", line 9 in <module>
  File "/x/notebook_torchrun/rank.py", line 1 in main
"""
PRINTED = {
    "NCCL": "[E:ProcessGroupNCCL.cpp] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=5)\n",
    "30 frames": "".join(f"frame #{n}: c10d::x\n" for n in range(30)),
}


def written(what: str) -> dict[str, Any] | str:
    """Return the record, or the printed text, that the table calls `what`."""
    kind, _, text = what.partition(" ")
    if kind == "raised":
        return {
            "raised": f'Traceback (most recent call last):\n  File "/a/b/w.py", line 1\n{text}\n',
            "message": text,
        }
    if kind in ("exited", "done"):
        return {kind: int(text or 1)}
    return PRINTED.get(what, f"{text}\n")


@tabled
def test_the_cause_is_found(
    case: str, ranks: list[Any], statuses: dict, stacks: dict, why: str, expected: list[Any], tmp_path: Path
) -> None:
    (tmp_path / "torchrun.log").write_text("torchrun: error: what?\n")
    for rank, start, at, *records in ranks:
        for number, record in enumerate([{"began": 1}, *map(written, records)]):
            timed = {"time": at + number} | record if isinstance(record, dict) else record
            log(tmp_path, rank, timed, start=start)
    start = max([start for _, start, *_ in ranks], default=0)
    reads = tmp_path / "reads.py"
    reads.write_text("\n\nprint(total.item())\n")
    for rank, place in stacks.items():
        (tmp_path / f"{start}-{rank}.stacks").write_text(STACK.format(PLACES.get(place, reads)))
    reader = LogReader(tmp_path, Run("torchrun w.py", 2, 60.0))
    reader.read(last=True)
    codes = {int(rank): status for rank, status in statuses.items()}
    failures = find_failures(tmp_path, reader.run, reader.facts, why, codes, Path("/a/b/w.py"))
    assert [
        [-1 if failure.rank is None else failure.rank, failure.kind] for failure in failures
    ] == expected, case
    assert ranks or "what?" in failures[0].text
    assert not any("/a/b" in failure.text or "site-packages" in failure.text for failure in failures)


# --- restarts ------------------------------------------------------------------------------------------------


# The second start must not meet the addresses of the first, even if rank 0 is late. Each start reports where all
# processes of the launch listen after the ranks have found each other; only Linux shows the sockets of others.
LAUNCHES["restarts"] = """
imported = "torch" in sys.modules
from datetime import timedelta
import numpy, psutil, torch, torch.distributed as dist
from notebook_torchrun import report
start = os.environ["TORCHELASTIC_RESTART_COUNT"]
report(had_pytorch=imported, random=[float(numpy.random.rand()), torch.rand(1).item()])
print("start", start)
if (start, rank) == ("1", 0):
    time.sleep(1.5)
dist.init_process_group("gloo", timeout=timedelta(seconds=50))
x = torch.ones(1)
dist.all_reduce(x)
agent = psutil.Process().parent()
started = (agent, *agent.children(recursive=True)) if sys.platform == "linux" else ()
sockets = [c for process in started for c in process.net_connections("inet")]
report(**{start: [c.laddr.ip for c in sockets if c.status == psutil.CONN_LISTEN]}, start=start, x=x.item())
report(network=[os.environ["GLOO_SOCKET_IFNAME"], os.environ["NCCL_SOCKET_IFNAME"]])
dist.barrier()
if (start, rank) == ("0", 1):
    os._exit(5)
dist.destroy_process_group()
""", (), {"max_restarts": 1}  # fmt: skip


def test_torchrun_restarts_all_ranks(runs: dict[str, Future[Run]]) -> None:
    run = runs["restarts"].result()
    assert run.ok and run.restarts == 1, run.failure
    assert [(result["start"], result["x"]) for result in run.results] == [("1", 2.0)] * 2
    assert {"start 0", "start 1"} == {text for _, text in run.lines}
    # On Linux, ranks are forked: with PyTorch, but not with the same random numbers.
    assert {result["had_pytorch"] for result in run.results} == {sys.platform == "linux"}
    (numpy_0, torch_0), (numpy_1, torch_1) = (result["random"] for result in run.results)
    assert numpy_0 != numpy_1 and torch_0 != torch_1
    shown = box(run)["text/html"]
    assert shown.index("[rank 0] start 0") < shown.index("started anew (1)") < shown.index("[rank 0] start 1")
    assert "start 0" not in sanitized(shown), "which ranks came how far before is chance"
    for result in run.results if sys.platform == "linux" else ():  # nothing is reached from other machines
        assert (
            result["0"]
            and result["1"]
            and {*result["0"], *result["1"]} <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
        )
        assert result["network"] == ["lo", "lo"]


# --- notebooks ----------------------------------------------------------------------------------------

LAUNCHES["left open"] = """
import atexit, threading
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor()
pool.submit(print, "from a pool that nobody shut down")
threading.Thread(target=lambda: (time.sleep(0.3), print("from a thread that nobody waited for"))).start()
atexit.register(print, "from an exit function")
""", (), {"processes": 1}  # fmt: skip


def test_a_rank_ends_as_python_does(runs: dict[str, Future[Run]]) -> None:
    """It skips the unloading of PyTorch, and nothing else."""
    *others, last = (text.partition(" that")[0] for _, text in runs["left open"].result().check().lines)
    assert sorted(others) == ["from a pool", "from a thread"] and last == "from an exit function"


WAITING = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)  # not even this may keep it alive
print("here I am")
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
print("and here I go")
"""


class TimeUp(BaseException):
    """What the time limit of an exercise raises from a signal handler, once and then again every second."""


def time_is_up(_: int, frame: types.FrameType | None) -> None:
    """Raise it within a launch only: a moment after one, it would be an error of the test itself."""
    while frame and frame.f_code is not launch.__code__:
        frame = frame.f_back
    if frame:
        raise TimeUp


@pytest.mark.parametrize("after, again", [(0.001, 1.0), (0.3, 1.0), (1.0, 0.02)])
def test_exceptions_of_a_signal_handler_clean_up(
    after: float, again: float, script: Write, quick: dict[str, str], own: Path
) -> None:
    """Also a second one, of a learner who presses the stop button twice: it only ends the waiting."""
    before = signal.signal(signal.SIGALRM, time_is_up)
    signal.setitimer(signal.ITIMER_REAL, after, again)
    try:
        with pytest.raises(TimeUp) as kept:  # and with it the frames in which it was raised
            launch(script("time.sleep(600)"), environment=quick, show="quiet")
    finally:
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert_nothing_left(own, WAIT_SECONDS)
    assert kept.value is not None


def wait_for(number: int) -> int:
    """Wait until `number` processes are alive, and return the agent: the oldest that belongs to a run."""
    wait_until(lambda: len(alive()) >= number)
    return min(n for n in alive() if psutil.Process(n).environ().get(agent.FOLDER, "-").strip("-"))


FORKED = [False, *[True] * (sys.platform == "linux")]  # whether the agent comes from a fork server


@pytest.fixture(params=FORKED)
def servers(request: pytest.FixtureRequest) -> int:
    """Return how many fork servers a kernel has: none if a launch sets another variable."""
    return int(request.param)


@pytest.fixture
def kernel(
    servers: int, script: Write, quick: dict[str, str], tmp_path: Path
) -> Iterator[Callable[..., subprocess.Popen]]:
    """Return a function that starts a program which launches `WAITING` as in a notebook's kernel."""
    started = []

    def start(first: str = "") -> subprocess.Popen:
        own = {} if servers else {"OTHER": 1}
        words = f"{str(script(WAITING))!r}, {str(tmp_path / 'never')!r}, environment={own}, show='quiet'"
        code = (
            # A kernel can be interrupted, also where these tests run in the background and inherit that they cannot.
            "import os, signal, threading, time\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
            f"from notebook_torchrun import launch\n{first}\n"
            f"try:\n    launch({words})\nexcept KeyboardInterrupt:\n    print('interrupted', flush=True)\n"
            "    time.sleep(600)"
        )
        command, given = [sys.executable, "-W", "ignore", "-c", code], os.environ | quick
        started.append(subprocess.Popen(command, env=given, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()
    wait_until(lambda: not alive())  # a fork server notices that its kernel has ended


def test_a_kernel_is_interrupted(kernel: Any, servers: int, own: Path) -> None:
    """It lives on, and nothing else of the run does: at once, although these ranks would wait for ever."""
    process = kernel()
    wait_for(4 + servers)
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n" and process.poll() is None
    others = alive().keys() - {process.pid}
    assert len(others) == servers and os.listdir(own) == []


def test_a_kernel_is_killed_and_a_process_that_it_forked_holds_all_that_was_open(
    kernel: Any, servers: int, own: Path
) -> None:
    """A DataLoader's, say; the agent does not see the end of a pipe then."""
    fork = "def fork():\n    if os.fork() == 0:\n        os.setsid()\n        time.sleep(600)\n"
    process = kernel(fork + "threading.Timer(0.2, fork).start()")
    wait_for(5 + servers)
    process.kill()
    process.wait()
    wait_until(lambda: len(alive()) == 1 and not os.listdir(own))
    (forked,) = alive()
    os.kill(forked, signal.SIGKILL)
    assert_nothing_left(own, WAIT_SECONDS)


def test_torchrun_is_killed_as_well(kernel: Any, servers: int, own: Path) -> None:
    """Kernel and torchrun at once, as when memory runs out: the ranks hold a pipe, and end with its other end."""
    process = kernel()
    for number in wait_for(4 + servers), process.pid:
        os.kill(number, signal.SIGKILL)
    process.wait()
    wait_until(lambda: not alive())
    (left,) = own.glob("launch-*")  # nobody was left to remove it
    shutil.rmtree(left)


@pytest.fixture
def quick_server(quick: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let launches without variables of their own have a fork server with the stand-in."""
    monkeypatch.syspath_prepend(quick["PYTHONPATH"].partition(os.pathsep)[0])


@pytest.mark.parametrize("forked", FORKED)
def test_only_torchrun_is_killed(forked: bool, script: Write, quick_server: None, tmp_path: Path) -> None:
    worker, never = script(WAITING), tmp_path / "never"
    with ThreadPoolExecutor() as pool:
        own = {} if forked else {"OTHER": 1}
        run = pool.submit(launch, worker, never, environment=own, show="quiet")
        os.kill(wait_for(3 + forked), signal.SIGKILL)
        assert run.result(WAIT_SECONDS).failure.rank is None, "and nothing of it is left"
        assert len(alive()) == forked


@pytest.mark.nightly
def test_only_the_real_torchrun_is_killed(script: Write, tmp_path: Path) -> None:
    """With its template, and a fork server."""
    worker, never = script(WAITING), tmp_path / "never"
    with ThreadPoolExecutor() as pool:
        run = pool.submit(launch, worker, never, show="quiet")
        os.kill(wait_for(3 + 2 * (sys.platform == "linux")), signal.SIGKILL)
        assert run.result(WAIT_SECONDS).failure.rank is None


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, torchrun is not forked")
def test_launches_have_one_fork_server_as_long_as_it_fits(
    script: Write, quick_server: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = "import psutil\nagent = psutil.Process(os.getppid())\n"
    text += "print(agent.ppid(), os.getcwd(), *sys.argv[1:], os.environ.get('CUDA_VISIBLE_DEVICES'))\n"
    text += "print(*filter(None, agent.cmdline()))"
    worker = script(text)

    def server(*words: object, **own: object) -> tuple[int, list[str]]:
        run = launch(worker, *words, processes=1, environment=own, show="quiet").check()
        number, *others = run.lines[0][1].split()
        shown = " ".join(["rank.py", str(worker), *map(str, words)])
        assert run.lines[1][1].endswith(shown), "`ps` shows what is run"
        return int(number), others

    here = os.getcwd()
    first, seen = server("a")
    assert seen == [here, "a", "None"] and [*alive()] == [first]
    monkeypatch.chdir(tmp_path)
    assert server("b", CUDA_VISIBLE_DEVICES=7) == (first, [str(tmp_path), "b", "7"])
    assert server(OMP_NUM_THREADS=7)[0] == os.getpid(), "PyTorch reads that while it is imported"
    assert server()[0] == first, "and nothing of the others' is left in it"
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: psutil.Process(first).status() == psutil.STATUS_ZOMBIE)
    second, _ = server()
    assert second != first and [*alive()] == [second]
    monkeypatch.setenv("OTHER", "1")
    monkeypatch.setattr(fork_server, "IDLE_SECONDS", 0.6)
    third, _ = server()
    assert third != second and second not in alive()
    wait_until(lambda: psutil.Process(third).status() == psutil.STATUS_ZOMBIE)
    assert server()[0] not in (os.getpid(), third)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, torchrun is not forked")
def test_a_fork_server_outlives_the_runs_that_it_has_forked(
    script: Write, quick_server: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whether it waits for another launch for too long, or another one has replaced it."""
    monkeypatch.setattr(fork_server, "IDLE_SECONDS", 0.2)
    go = tmp_path / "go"
    with ThreadPoolExecutor() as pool:
        run = pool.submit(launch, script(WAITING), go, processes=1, show="quiet")
        agent_of = wait_for(3)
        server = psutil.Process(agent_of).ppid()
        time.sleep(1.5)
        monkeypatch.setenv("OTHER", "1")
        launch(script("pass"), processes=1, show="quiet").check()
        assert psutil.Process(agent_of).ppid() == server
        go.touch()
        assert run.result(WAIT_SECONDS).ok
    wait_until(lambda: psutil.Process(server).status() == psutil.STATUS_ZOMBIE)


def test_what_is_printed_is_seen_while_it_runs(
    script: Write, quick: dict[str, str], tmp_path: Path, monkeypatch: Any
) -> None:
    go = tmp_path / "go"  # the ranks wait for it, and whoever looks on makes it

    def look(run: Run, clock: bool) -> Any:
        def update() -> None:
            if {(0, "here I am"), (1, "here I am")} <= set(run.lines):
                go.touch()

        return types.SimpleNamespace(update=update, finish=lambda: None)

    monkeypatch.setattr("notebook_torchrun.display.LiveBox", look)
    run = launch(script(WAITING), go, environment=quick)
    assert run.ok and (1, "and here I go") in run.lines


def held(earlier: set[psutil.Process]) -> tuple[int, ...]:
    own = psutil.Process()
    return own.num_fds(), own.num_threads(), len({*own.children()} - earlier), len(own.net_connections())


def test_launches_leave_nothing_open_in_the_kernel(script: Write, quick: dict[str, str]) -> None:
    """Files, threads, processes, connections; and each launch of the same script finds the same."""
    worker = script("print('step 1')\nfrom notebook_torchrun import report\nreport(rank=rank)")
    earlier = {*psutil.Process().children()}  # of other tests; they may end in the meantime
    seen: list[tuple[int, ...]] = []
    for _ in range(3):
        run = launch(worker, processes=1, environment=quick, show="quiet").check()
        assert (run.lines, run.results) == ([(0, "step 1")], [{"rank": 0}])
        seen.append(held(earlier))
        wait_until(lambda: held(earlier) == seen[0])  # a thread of another test may just open or close a file
        assert held(earlier) == seen[0]


# --- the box ------------------------------------------------------------------------------------------


def box(run: Run) -> dict[str, str]:
    return final_box(run)._repr_mimebundle_()


def kept(run: Run) -> dict[str, str]:
    """Return what the notebook checks compare of a run's box."""
    return {form: sanitized(text) for form, text in box(run).items()}


def ran(**changes: Any) -> Run:
    run = Run("torchrun x.py", 2, 60.0, backend="gloo", seconds=3.0)
    for name, value in changes.items():
        setattr(run, name, value)
    run.starts = run.starts or [0] * len(run.lines)
    return run


def test_the_box_does_not_depend_on_the_order_of_arrival_or_the_time() -> None:
    first = ran(lines=[(0, "a"), (1, "b"), (0, "c")])
    second = ran(lines=[(1, "b"), (0, "a"), (0, "c")], seconds=7.0, backend="nccl")
    assert box(first) != box(second) and kept(first) == kept(second)
    assert "[rank 0] a\n[rank 0] c\n[rank 1] b" in box(first)["text/html"]
    assert "[rank 0] a" in box(first)["text/plain"]


@tabled
def test_only_decimal_fractions_and_devices_are_measured(one: str, other: str, compared: bool) -> None:
    first, second = ran(lines=[(0, one)]), ran(lines=[(0, other)])
    assert box(first) != box(second)
    assert all((text != kept(second)[form]) == compared for form, text in kept(first).items())
    page = box(first)["text/html"]
    plain = re.sub("<[^>]*>", "", re.findall("(?s)<pre.*?</pre>", page)[0])
    assert unescape(plain) == f"[rank 0] {re.sub('[⟨⟩]', '', one)}", "the learner sees what was printed"
    assert_nested(page)


@pytest.mark.parametrize("rank, kind, status, words", [
    (1, "raised", 1, "rank 1 raised"), (1, "exited", 3, "rank 1 ended with exit code 3"),
    (1, "killed", -9, "rank 1 was killed by <code>SIGKILL"), (1, "killed", -99, "rank 1 was killed by <code>signal 99"),
    (1, "hangs", None, "rank 1 hangs"), (None, "exited", None, "torchrun</code> itself failed"),
    (None, "hangs", None, "before any rank had started"),
])  # fmt: skip
def test_a_failure_is_shown_first(rank: int | None, kind: str, status: int | None, words: str) -> None:
    cause = Failure(rank, kind, "Error: <1> {x} ⟨2⟩", status)
    run = ran(failures=[cause, Failure(0, "stopped", "in all_reduce", None)], lines=[(0, "printed before")])
    page, stays = box(run)["text/html"], kept(run)
    places = [page.index(part) for part in (words, "Error: &lt;1&gt; {x}", "in all_reduce", "printed before")]
    assert places == sorted(places) and "course-error" in page
    assert_nested(page)
    assert words in stays["text/html"] and "printed before" not in stays["text/html"]
    assert not any("Error:" in text for text in stays.values())


def test_what_chance_decides_about_the_other_ranks_is_not_compared() -> None:
    cause, lines = Failure(1, "killed", "", -9), [(0, "epoch 1"), (0, "epoch 2")]
    stopped, earlier = ran(interrupted=True, lines=[(0, "a")]), ran(interrupted=True)
    assert "interrupted; everything" in box(stopped)["text/html"] and box(stopped) != box(earlier)
    assert kept(stopped) == kept(earlier)
    first = ran(failures=[cause, Failure(0, "raised", "Connection closed", 1)], lines=lines)
    second = ran(failures=[cause, Failure(0, "stopped", "", None)])
    assert box(first) != box(second) and kept(first) == kept(second)
    again, other = ran(restarts=1, lines=lines, starts=[0, 1]), ran(restarts=1, lines=lines[1:], starts=[1])
    assert kept(again)["text/html"] == kept(other)["text/html"]


def test_many_lines_are_cut() -> None:
    run = ran(lines=[(rank, f"line {n}") for n in range(MOST_FINAL + 5) for rank in (0, 1)])
    page = box(run)["text/html"]
    assert f"line {MOST_FINAL - 1}\n" in page and f"line {MOST_FINAL}\n" not in page
    assert "… 10 more lines" in page


# --- arguments ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("file, options, kind, words", [
    ("workers/none.py", {}, FileNotFoundError, "no file workers/none.py.*'mine/hello.py'"),
    ("workers", {}, FileNotFoundError, "no file workers"), ("00_start_here.ipynb", {}, ValueError, "no Python file"),
    (len, {}, TypeError, "path of a file, not builtin_function"), (Path(__file__), {"show": "loud"}, ValueError, "show='loud'"),
    *((Path(__file__), {"processes": bad}, ValueError, f"processes={bad!r}") for bad in (0, "2", 1.5)),
    (Path(__file__), {"max_restarts": -1}, ValueError, "max_restarts=-1"),
    *((Path(__file__), {"limit": bad}, ValueError, f"limit={bad}") for bad in (0, float("inf"), None)),
])  # fmt: skip
def test_bad_input_is_reported(file: Any, options: dict, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        launch(file, **options)


def test_the_box_in_a_notebook_ends_as_it_began(monkeypatch: pytest.MonkeyPatch) -> None:
    """And with the outcome below it, unless it was only a clock: nbval sees an output's first state, JupyterLab its last."""
    shown: list[Any] = []
    handle = types.SimpleNamespace(update=shown.append)
    monkeypatch.setattr("notebook_torchrun.display.get_ipython", lambda: True)
    monkeypatch.setattr("notebook_torchrun.display.display", lambda block, **_: shown.append(block) or handle)
    for clock in (False, True):
        made = LiveBox(ran(lines=[(1, "here I am")]), clock)
        made.update()
        made.finish()
    first, live, last, final, *of_clock = (block._repr_mimebundle_()["text/html"] for block in shown)
    assert first == last == '<div class="course-launch-live"></div>' and [first, live, last] == of_clock
    assert "[rank 1] here I am" in live and "running" in live and "all ranks are done" in final


def test_in_a_terminal_the_result_is_printed(capsys: pytest.CaptureFixture) -> None:
    for clock in (True, False):
        made = LiveBox(ran(lines=[(0, "hello")]), clock)
        made.update()
        made.finish()
    *_, done, printed = capsys.readouterr().out.splitlines()
    assert "all ranks are done" in done and printed == "[rank 0] hello"
