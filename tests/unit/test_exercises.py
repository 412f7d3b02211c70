"""Exercises: published solutions pass, stubs are "not yet", every wrong answer gets its own hint, nothing gets out.

Everything here runs for every exercise of the course; a new one needs its row in ``wrong_answers.py``.
"""

from __future__ import annotations

import _thread
import ast
import html
import inspect
import re
import signal
import sys
import textwrap
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from html_nesting import assert_nested
from lesson_cells import cells
from script_outcomes import run_together
from test_measure import snapshot
from torch import nn
from wrong_answers import WRONG

from course_utils import check, progress
from course_utils import exercises as module
from course_utils.exercises import Answer, Exercise, NotYet, Wrong, distributed, examine, exercises, is_stub
from course_utils.language import Bilingual
from course_utils.processes import run_fresh

pytestmark = pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")

ROOT = Path(__file__).parents[2]
NAMES = sorted(exercises())
GENERIC = ("Your answer raised", "The check cannot use", "still running after", "calls itself without end")


# --- what the lessons say -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Published:
    """An exercise as its lesson has it: the cell with the stub, what is checked in it, and the solution."""

    lesson: str
    stub: str
    checked: str
    solution: str


def published() -> dict[str, Published]:
    """Return what the lessons publish, by the exercise's name."""
    found: dict[str, Published] = {}
    course = cells("code", "markdown")
    for cell, following in zip(course, [*course[1:], None], strict=True):
        if cell.kind != "code" or not re.search(r"^check\(", cell.text, re.M):  # not run.check()
            continue
        last = ast.parse(cell.text).body[-1]
        assert isinstance(last, ast.Expr) and isinstance(last.value, ast.Call), (
            f"{cell.id}: check(…) comes last"
        )
        name, answer = ast.literal_eval(last.value.args[0]), ast.unparse(last.value.args[1])
        assert name not in found, f"{name} is checked twice"
        assert following is not None and following.kind == "markdown", f"{cell.id}: no solution follows"
        fenced = re.search(r"<details>.*?\n```python\n(.*?)\n```\n.*</details>", following.text, re.DOTALL)
        assert fenced, f"{following.id}: no <details> with a ```python fence"
        found[name] = Published(cell.lesson, cell.text, answer, fenced[1])
    return found


PUBLISHED = published()


@pytest.fixture(scope="module", autouse=True)
def scripts_run_once(request: pytest.FixtureRequest) -> None:
    """What answers launch in processes of their own is launched together, and the checker remembers it."""
    names = [name for name in NAMES if isinstance(run(PUBLISHED[name].stub, PUBLISHED[name].checked), str)]
    if any(name in item.name for item in request.session.items for name in names):
        run_together(
            (exercises()[name].examine, run(source, PUBLISHED[name].checked))
            for name in names
            for source in (PUBLISHED[name].solution, *(source for source, _, _ in WRONG[name]))
        )


def run(source: str, checked: str) -> Any:
    """Execute `source` as a cell of the lesson and return what it names as its answer."""
    namespace: dict[str, Any] = {"torch": torch, "nn": nn, "check": lambda *_: None}
    exec(compile(source, "<cell>", "exec"), namespace)
    return eval(checked, namespace)


def solution(name: str) -> Any:
    return run(PUBLISHED[name].solution, PUBLISHED[name].checked)


def generic(answer: Answer) -> bool:
    return any(words in answer.message.en for words in GENERIC)


def test_every_exercise_is_published_and_tested() -> None:
    assert len(NAMES) >= 8
    assert sorted(PUBLISHED) == NAMES, "lessons and course_utils.exercises disagree"
    assert sorted(WRONG) == NAMES, "wrong_answers.py lacks an exercise, or has one too many"
    for name, exercise in exercises().items():
        assert exercise.name == name and exercise.lesson == PUBLISHED[name].lesson


@pytest.mark.parametrize("name", NAMES)
def test_the_published_solution_passes(name: str) -> None:
    assert examine(exercises()[name], solution(name)) == Answer("solved", module._SOLVED)


ALSO_RIGHT = [
    ("mean_loss", "def mean_loss(losses):\n    return torch.stack(losses).cpu().mean().item()"),
    ("mean_loss", "def mean_loss(losses):\n    return float(torch.stack(losses).cpu().numpy().mean())"),
    ("mean_loss", "def mean_loss(losses):\n    return sum(losses).item() / len(losses)"),
    ("on_gpu", "def on_gpu(tensor):\n    return tensor.is_cuda"),
    ("on_gpu", "def on_gpu(tensor):\n    return str(tensor.device).startswith('cuda')"),
    (
        "freest_gpu",
        """def freest_gpu(report):
    best, most = None, -1
    for line in report.strip().split("\\n"):
        index, total, used = [int(x) for x in line.split(",")]
        if total - used > most:
            best, most = index, total - used
    return best""",
    ),
]


@pytest.mark.parametrize("name, source", ALSO_RIGHT)
def test_other_right_answers_pass(name: str, source: str) -> None:
    answer = examine(exercises()[name], run(source, PUBLISHED[name].checked))
    assert answer.state == "solved", answer.message.en


@pytest.mark.parametrize("name", NAMES)
def test_the_stub_is_not_yet(name: str) -> None:
    stub = run(PUBLISHED[name].stub, PUBLISHED[name].checked)
    answer = examine(exercises()[name], stub)
    assert answer.state == "notyet" and not generic(answer)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("nothing", [None, ...])
def test_nothing_at_all_is_not_yet(name: str, nothing: object) -> None:
    assert examine(exercises()[name], nothing).state == "notyet"


@pytest.mark.parametrize("name", NAMES)
def test_at_least_three_wrong_answers_and_as_many_hints(name: str) -> None:
    assert len(WRONG[name]) >= 3
    hints = {
        examine(exercises()[name], run(source, PUBLISHED[name].checked)).message
        for source, _, _ in WRONG[name]
    }
    assert len(hints) >= 3


@pytest.mark.parametrize(
    "name, source, en, zh",
    [pytest.param(name, *row, id=f"{name}-{row[1]}") for name in WRONG for row in WRONG[name]],
)
def test_a_wrong_answer_gets_its_own_hint(name: str, source: str, en: str, zh: str) -> None:
    answer = examine(exercises()[name], run(source, PUBLISHED[name].checked))
    assert answer.state == "wrong", f"{answer.state}: {answer.message.en}"
    assert not generic(answer), answer.message.en
    assert en in answer.message.en and zh in answer.message.zh


def lines_that_raise(function: Callable[..., Any]) -> dict[int, str]:
    """Return the first line of every ``raise Wrong(…)`` in the module of `function` → its text."""
    source = inspect.getsource(sys.modules[function.__module__])
    return {
        node.lineno: ast.unparse(node.exc)[:90]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Raise)
        and isinstance(node.exc, ast.Call)
        and ast.unparse(node.exc.func) == "Wrong"
    }


@pytest.mark.parametrize("lesson", sorted({exercise.lesson for exercise in exercises().values()}))
def test_every_hint_can_be_reached(lesson: str) -> None:
    """A hint that no answer gets may be wrong, and nobody would notice."""
    expected: dict[int, str] = {}
    reached: set[int] = set()
    for name, exercise in exercises().items():
        if exercise.lesson != lesson:
            continue
        expected |= lines_that_raise(exercise.examine)
        for source, _, _ in WRONG[name]:
            try:
                exercise.examine(run(source, PUBLISHED[name].checked))
            except Wrong as wrong:
                raised = [f for f in traceback.extract_tb(wrong.__traceback__) if f.filename != "<cell>"][-1]
                if raised.filename == inspect.getsourcefile(exercise.examine):  # not in a shared helper
                    reached.add(max(line for line in expected if line <= (raised.lineno or 0)))
    assert len(expected) >= 5
    assert not {line: text for line, text in expected.items() if line not in reached}


@pytest.mark.parametrize("name", NAMES)
def test_an_exercise_has_a_title_and_hints_in_steps(name: str) -> None:
    exercise = exercises()[name]
    assert isinstance(exercise.title, Bilingual) and len(exercise.hints) >= 2
    assert (
        len({hint.en for hint in exercise.hints})
        == len({h.zh for h in exercise.hints})
        == len(exercise.hints)
    )
    code = [line.strip() for line in PUBLISHED[name].solution.splitlines() if len(line.strip()) > 25]
    assert not [line for line in code for hint in exercise.hints if line in hint.en], "a hint is no solution"


# --- stubs --------------------------------------------------------------------------------------------

STUBS = {
    "def f(): ...": True,
    "def f(a, b=1): ...": True,
    "def f(x):\n    'Its docstring.'": True,
    "def f(x):\n    'Its docstring.'\n    ...": True,
    "def f(x):\n    # a comment\n    pass": True,
    "def f(x):\n    return None": True,
    "f = None": True,
    "f = ...": True,
    "def f(x): return True": False,
    "def f(x): return 0": False,
    "def f(x):\n    'Its docstring.'\n    return 'text'": False,
    "def f(x):\n    best = None\n    return best": False,
    "def f(x): return x": False,
    "def f(x): x.y": False,
    "def f(x): yield": False,
    "def f(x): raise ValueError": False,
    "f = lambda x: 0": False,
    "f = print": False,
    "class f: ...": False,
    "f = 0": False,
    "f = ''": False,
    "f = {}": False,
}


@pytest.mark.parametrize("source", STUBS)
def test_is_stub(source: str) -> None:
    assert is_stub(run(source, "f")) == STUBS[source]


# --- hostile answers ----------------------------------------------------------------------------------


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Sly(Exception):
    def __str__(self) -> str:
        raise SystemExit


class Nasty:
    """A result that resists every question."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not comparable")

    def __repr__(self) -> str:
        raise RuntimeError("not printable")

    __str__ = __repr__
    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("no attributes")

    def __bool__(self) -> bool:
        raise SystemExit


def forever(*_: object) -> None:
    while True:
        pass


def forever_and_careless(*_: object) -> None:
    """The usual way of it: whatever goes wrong in one round is swallowed, also an interruption."""
    while not over.is_set():
        try:
            sum(len(str(number)) for number in range(50))
        except:  # noqa: E722
            pass


def forever_and_deaf(*_: object) -> None:
    """No way of interrupting gets through to this one."""
    while not over.is_set():
        try:
            while not over.is_set():
                pass
        except:  # noqa: E722
            pass


over = threading.Event()  # lets go what cannot be stopped, when its test is over


@pytest.fixture(autouse=True)
def let_go() -> Iterator[None]:
    over.clear()
    yield
    over.set()


def without_end(*_: object) -> None:
    without_end()


def raises(error: BaseException | type[BaseException]) -> Callable[..., Any]:
    def act(*_: object) -> None:
        raise error

    return act


def disturbs(*_: object) -> None:
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    torch.set_grad_enabled(False)
    torch.set_num_threads(torch.get_num_threads() + 3)
    torch.backends.cudnn.benchmark = not torch.backends.cudnn.benchmark
    torch.set_float32_matmul_precision("medium")


def mutates(*given: Any) -> None:
    for thing in given:
        if isinstance(thing, torch.Tensor):
            thing.fill_(7)
        elif isinstance(thing, (list, dict)):
            thing.clear()


def shouts(*_: object) -> None:
    for _ in range(1000):
        print("x" * 1000)
        print("y" * 1000, file=sys.stderr)


# What an answer does, and what the learner is told at least.
ACTS: dict[str, tuple[Callable[..., Any], str]] = {
    "raises": (raises(ValueError("`on` purpose\nsecond line")), ""),
    "raises without text": (raises(AssertionError), ""),
    "raises unprintable": (raises(Unprintable()), ""),
    "raises and exits when asked why": (raises(Sly()), ""),
    "exits": (raises(SystemExit(1)), ""),
    "interrupts": (raises(KeyboardInterrupt), ""),
    "ends a generator": (raises(GeneratorExit), ""),
    "stops an iteration": (raises(StopIteration), ""),
    "pretends to be the checker": (raises(NotYet()), ""),
    "calls itself": (without_end, ""),
    "returns something nasty": (lambda *_: Nasty(), ""),
    "returns a class": (lambda *_: Nasty, ""),
    "returns a huge string": (lambda *_: "x" * 5_000_000, ""),
    "returns a huge number": (lambda *_: 10**6000, ""),
    "returns nan": (lambda *_: float("nan"), ""),
    "returns a generator": (lambda *_: (_ for _ in ()), ""),
    "returns a list in itself": (lambda *_: (loop := [], loop.append(loop))[0], ""),
    "returns an exception": (lambda *_: ValueError("as a value"), ""),
    "returns a tensor without data": (lambda *_: torch.empty(3, device="meta"), ""),
    "shouts": (shouts, ""),
    "disturbs": (disturbs, ""),
    "mutates": (mutates, ""),
}
ENDLESS: dict[str, Callable[..., Any]] = {
    "runs for ever": forever,
    "runs for ever and does not care": forever_and_careless,
    "runs for ever and does not listen": forever_and_deaf,
    "sleeps": lambda *_: over.wait(60),
}
VALUES: dict[str, Any] = {
    "a number": 3,
    "a text": "def f(x): ...",
    "a class": Nasty,
    "something nasty": Nasty(),
    "a built-in": len,
    "a module": sys,
    "a tensor": torch.zeros(3),
    "a list": [1, 2],
    "no arguments": lambda: 1,
    "too many arguments": lambda a, b, c, d, e: 1,
    "a class that asks for arguments": type("Asks", (nn.Module,), {"__init__": lambda self, a: None}),
    "a class without super": type("Forgot", (nn.Module,), {"__init__": lambda self: None, "forward": 3}),
    "a dictionary": {},
}


def vehicle(name: str, act: Callable[..., Any]) -> Any:
    """Return an answer of the kind that the exercise asks for, in which `act` runs when the checker touches it."""
    kind = run(PUBLISHED[name].stub, PUBLISHED[name].checked)
    if isinstance(kind, type):

        def create(self: Any, *arguments: Any) -> None:
            nn.Module.__init__(self)
            self.layers = nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 8)])
            self.register_buffer("scale", torch.ones(8))

        return type("Net", (nn.Module,), {"__init__": create, "forward": lambda self, x: act(x)})
    if isinstance(kind, dict):

        class Answers(dict):
            def __getitem__(self, key: object) -> Any:
                return act(key)

        return Answers(kind)
    if isinstance(kind, str):  # the text of a script: the checker takes the blank lines off its end

        class Text(str):
            def rstrip(self, *given: Any) -> Any:
                return act(*given)

        return Text(kind)
    assert callable(kind)
    return act


def assert_told(answer: Answer, exercise: Exercise) -> None:
    """A hostile answer is answered like any other: in both languages, briefly, without a traceback."""
    assert answer.state in ("wrong", "notyet")
    bundle = module.Card(exercise, answer)._repr_mimebundle_()
    assert_nested(bundle["text/html"])
    for text in (answer.message.en, answer.message.zh):
        assert 10 < len(text) < 1500
        assert "Traceback" not in text and "\n" not in text
    assert html.escape("Exercise: ") in bundle["text/html"]


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_answer_is_told_so(name: str, act: str, capsys: pytest.CaptureFixture[str]) -> None:
    exercise, before = exercises()[name], snapshot()
    answer = examine(exercise, vehicle(name, ACTS[act][0]))
    assert_told(answer, exercise)
    assert snapshot() == before, "what the answer changed is put back"
    printed = capsys.readouterr()
    assert len(printed.out) <= module.PRINTED_MOST + 10 and len(printed.err) <= module.PRINTED_MOST + 10
    assert "Traceback" not in printed.err
    assert examine(exercise, solution(name)).state == "solved", "and harms nobody after it"


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("name", NAMES)
def test_something_else_entirely_is_told_so(name: str, value: str) -> None:
    exercise = exercises()[name]
    assert_told(examine(exercise, VALUES[value]), exercise)


@pytest.mark.parametrize("act", ENDLESS)
@pytest.mark.parametrize("name", NAMES)
def test_the_time_limit_holds(name: str, act: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if act != "runs for ever":
        monkeypatch.setattr(module, "STOP_SECONDS", 0.2)
    exercise = exercises()[name]
    if exercise.prepare is not None:
        exercise.prepare()  # what it loads is not the answer's time
    start = time.monotonic()
    answer = examine(exercise, vehicle(name, ENDLESS[act]), seconds=0.1)
    assert time.monotonic() - start < 0.1 + 2
    assert answer.state == "wrong" and "0.1 seconds" in answer.message.en and "0.1 秒" in answer.message.zh
    stopped = "was stopped" in answer.message.en and "已經中止" in answer.message.zh
    assert stopped != ("restart the kernel" in answer.message.en and "重新啟動" in answer.message.zh)
    assert stopped or act != "runs for ever"  # the others may get away
    assert_told(answer, exercise)


@pytest.mark.parametrize("order", [1, -1])
def test_what_pytorch_loads_is_not_the_answers_time(order: int) -> None:
    """An import that the time limit interrupts never works again in the same kernel."""
    # One real launch of each script is enough: the other time, what came of it is known already.
    texts = [solution(name).rstrip() + "\n" for name in NAMES if isinstance(solution(name), str)]
    known = {text: distributed._outcomes[text] for text in texts if text in distributed._outcomes}
    code = textwrap.dedent(
        f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from test_exercises import NAMES, distributed, exercises, solution
        from course_utils.exercises.distributed import Outcome
        distributed._outcomes.update({known if order < 0 else {}!r})
        for name in NAMES[::{order}]:
            exercise, answer = exercises()[name], solution(name)
            if exercise.prepare:
                exercise.prepare()
            before = set(sys.modules)
            exercise.examine(answer)
            print(name, *sorted(set(sys.modules) - before))
        """
    )
    loaded = [line.split() for line in run_fresh(code, PYTHONPATH=str(ROOT)).splitlines()]
    assert [line[0] for line in loaded] == NAMES[::order]
    assert not [line[:4] for line in loaded if len(line) > 1]


def test_the_limits_of_the_course() -> None:
    start = time.monotonic()
    examine(endless(forever_and_deaf), forever_and_deaf, seconds=1)
    assert time.monotonic() - start < 1 + 2
    assert module.LIMIT_SECONDS + module.STOP_SECONDS < 7


def endless(act: Callable[..., Any]) -> Exercise:
    return Exercise("x", "01", Bilingual("a", "甲"), lambda answer: answer(), ())


def test_what_ran_for_ever_does_not_run_on() -> None:
    before = set(threading.enumerate())
    examine(endless(forever), forever, seconds=0.1)
    assert gone(set(threading.enumerate()) - before)


def gone(threads: set[threading.Thread]) -> bool:
    """Return whether threads that have finished their work also end."""
    for thread in threads:
        thread.join(2)
    return not any(thread.is_alive() for thread in threads)


class Late:
    """A lock whose first user is interrupted."""

    times = 0

    def __enter__(self) -> None:
        self.times += 1
        if self.times == 1:
            raise module._Stopped

    def __exit__(self, *_: object) -> None:
        pass


def stopped() -> None:
    raise module._Stopped


@pytest.mark.parametrize("act, state", [(list, "solved"), (stopped, None)])
def test_an_interruption_that_comes_too_late_does_not_escape(
    act: Callable[[], Any], state: str | None
) -> None:
    """Also one that comes after another."""
    worker = module._Worker(endless(act), act)
    worker.lock = Late()
    worker.run()
    assert worker.lock.times == 2 and worker.wait(0)
    assert (worker.result and worker.result.state) == state


def test_nothing_is_interrupted_but_the_answer() -> None:
    """Over and over, beside a thread that competes for Python: whatever hits our own code is reported by Python."""
    before, busy, reported = set(threading.enumerate()), threading.Event(), []
    hook, threading.excepthook = threading.excepthook, reported.append
    threading.Thread(target=lambda: [None for _ in iter(busy.is_set, True)]).start()
    try:
        told = [examine(endless(forever), forever, seconds=0.005).message.en for _ in range(40)]
    finally:
        busy.set()
        threading.excepthook = hook
    assert not reported and all("was stopped" in message for message in told)
    assert gone(set(threading.enumerate()) - before)


def test_an_answer_is_stopped_that_runs_through_destructors(capfd: pytest.CaptureFixture[str]) -> None:
    """An interruption in one of them is lost, and Python would report it."""

    class Heavy:
        def __del__(self) -> None:
            for _ in range(500):
                pass

    def act() -> None:
        while True:
            Heavy()
            for _ in range(500):
                pass

    hook = sys.unraisablehook
    for _ in range(5):
        assert "was stopped" in examine(endless(act), act, seconds=0.02).message.en
    assert sys.unraisablehook is hook
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("error, told", [(LookupError, [LookupError]), (module._Stopped, [])])
def test_what_a_destructor_raises_is_reported_unless_it_was_interrupted(
    error: type[BaseException], told: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda it: reported.append(it.exc_type))

    class Broken:
        def __del__(self) -> None:
            raise error

    assert examine(endless(Broken), Broken).state == "solved"
    assert reported == told


def test_a_destructor_is_not_interrupted_and_an_answer_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STOP_SECONDS", 0.1)
    begun, go, finished = threading.Event(), threading.Event(), []

    def act() -> None:
        begun.set()
        go.wait(10)
        finished.append(True)

    class Dying:
        def __del__(self) -> None:
            act()

    for answer, spared in ((Dying, True), (act, False)):
        worker = module._Worker(endless(answer), answer)
        assert not worker._in_the_answer(), "it has not begun"
        worker.start()
        assert begun.wait(10) and worker._in_the_answer() != spared
        assert not worker.stop()  # it waits inside Python's own C code
        go.set()
        assert worker.wait(10) and bool(finished) == spared
        assert not worker._in_the_answer(), "it is over"
        begun.clear(), go.clear(), finished.clear()


@pytest.fixture
def interruptible() -> Iterator[None]:
    """React to an interrupt as a kernel does; what a shell starts in the background inherits that it is ignored."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, handler)


@pytest.mark.usefixtures("interruptible")
def test_a_learner_who_interrupts_the_cell_stops_the_answer() -> None:
    before = set(threading.enumerate())

    def impatient() -> None:
        _thread.interrupt_main()
        forever()

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        examine(endless(impatient), impatient, seconds=60)
    assert time.monotonic() - start < 5 and gone(set(threading.enumerate()) - before)
    assert sys.stdout is not None and not isinstance(sys.stdout, module._Trimmed)


def test_the_state_is_put_back_after_an_endless_answer() -> None:
    before = snapshot()

    def act() -> None:
        disturbs()
        forever()

    examine(endless(act), act, seconds=0.2)
    assert snapshot() == before


def test_what_an_answer_prints_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    examine(endless(print), lambda: print("look", 3), seconds=5)
    assert capsys.readouterr().out == "look 3\n"


def test_the_learners_line_is_named() -> None:
    source = "def answer():\n    x = 1\n    return x / 0\n"
    told = examine(endless(print), run(source, "answer")).message
    assert "`ZeroDivisionError` in line 3: division by zero." in told.en and "第 3 行" in told.zh


def test_an_error_outside_the_learners_code_is_not_called_theirs() -> None:
    told = examine(endless(print), 3).message
    assert told.en.startswith("The check cannot use your answer (`TypeError`: 'int' object is not callable)")


def test_a_hint_of_any_length_is_short() -> None:
    def check_it(answer: object) -> None:
        raise Wrong(en=f"a {answer!r} b", zh=f"甲 {answer!r} 乙")

    exercise = Exercise("x", "01", Bilingual("a", "甲"), check_it, ())
    told = examine(exercise, "x" * 100_000).message
    assert len(told.en) < 1000 and told.en.startswith("a 'x") and told.en.endswith("x' b")


# --- in the lesson ------------------------------------------------------------------------------------


def test_a_solved_exercise_is_remembered(shown: list[Any]) -> None:
    for name in NAMES:
        check(name, solution(name))
        exercise = exercises()[name]
        assert name in progress.solved(exercise.lesson)
        bundle = shown[-1]._repr_mimebundle_()
        assert "course-solved" in bundle["text/html"] and "<details>" not in bundle["text/html"]
        assert bundle["text/plain"].startswith(f"exercise {name}: solved · 完成")


def test_what_is_not_solved_is_not_remembered_and_offers_hints(shown: list[Any]) -> None:
    for name in NAMES:
        check(name, None)
        check(name, run(WRONG[name][0][0], PUBLISHED[name].checked))
        assert not progress.solved(exercises()[name].lesson)
        for card, state in zip(shown[-2:], ("notyet", "wrong"), strict=True):
            page = card._repr_mimebundle_()["text/html"]
            assert_nested(page)
            assert f"course-{state}" in page
            assert page.count("<details>") == len(exercises()[name].hints)
            last = exercises()[name].hints[-1]
            assert last.block() in page


def test_hints_open_one_after_the_other(shown: list[Any]) -> None:
    check("on_gpu", None)
    page = shown[-1]._repr_mimebundle_()["text/html"]
    first, second = (page.index(hint.block()) for hint in exercises()["on_gpu"].hints[:2])
    assert "</details>" not in page[first:second], "the second stands inside the first"


def test_an_unknown_exercise_is_a_mistake_in_the_cell(shown: list[Any]) -> None:
    with pytest.raises(ValueError, match=r"check\('nobody', …\).*freest_gpu"):
        check("nobody", None)
    assert not shown


def test_progress_that_cannot_be_saved_stops_nobody(
    shown: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("COURSE_DATA_DIR", str(tmp_path / "file" / "data"))
    check("on_gpu", solution("on_gpu"))
    assert "course-solved" in shown[-1]._repr_mimebundle_()["text/html"]


def test_the_harness_can_fail() -> None:
    """A checker that solves everything, and one that says the same to everything."""
    lenient = Exercise("on_gpu", "01", Bilingual("a", "甲"), lambda _: None, ())
    wrong = run(WRONG["on_gpu"][0][0], "on_gpu")
    assert examine(lenient, wrong).state == "solved"
    with pytest.raises(AssertionError):
        assert_told(examine(lenient, wrong), lenient)
    blunt = Exercise("on_gpu", "01", Bilingual("a", "甲"), lambda answer: answer.nothing, ())
    assert generic(examine(blunt, wrong))
