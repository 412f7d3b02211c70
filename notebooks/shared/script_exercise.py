"""Exercises whose answer is a script: it runs in several processes on the CPU, and is judged by what it did there.

``check("distribute", "mine/distribute.py")`` runs the learner's file in a folder of its own, observed by
``observed_script``. An exercise is a function that judges the :class:`Facts`; the text of a file only words a hint.
"""

from __future__ import annotations

import ast
import json
import re
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from bilingual import Bilingual, Block
from course_utils.exercises import Exercise, NotYet, Wrong
from course_utils.tables import html_table
from notebook_torchrun import launch
from notebook_torchrun.rank import consequence
from shared import observed_script

LIMIT_SECONDS = 45.0  # usually 5 or less; the notebook may share the machine
SECONDS = 75.0  # for the answer: more than a launch may take, so that it is the launch that stops a script

_TEXTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _text(name: str, /, **values: object) -> Bilingual:
    return Bilingual(**_TEXTS["text"][name]).format(**values)


def _words(name: str, /, **values: object) -> dict[str, str]:
    return asdict(_text(name, **values))


@dataclass(frozen=True)
class Facts:
    """What a script did.

    Attributes:
        text: The script.
        ranks: What each rank did, in the last start; see :class:`shared.observed_script.Recorder`.
        printed: The lines that each rank printed.
        alone: What one process alone did, if the exercise asks for that.
        before: What each rank did in the first start, where torchrun started the ranks twice.
    """

    text: str
    ranks: list[dict[str, Any]]
    printed: list[list[str]]
    alone: dict[str, Any] | None = None
    before: list[dict[str, Any]] | None = None

    def has(self, pattern: str) -> bool:
        """Return whether the script has `pattern`, a regular expression, outside of its comments."""
        return bool(re.search(pattern, ast.unparse(ast.parse(self.text))))

    def called(self, rank: int) -> list[str]:
        """Return the names of the collectives that a rank called."""
        return [name for name, _ in self.ranks[rank]["collectives"]]


@dataclass(frozen=True)
class Outcome:
    """What became of a script: what each process reported and printed, by its number, and where it was if it hung."""

    records: list[dict[str, Any] | None]
    printed: list[list[str]]
    stuck: dict[int, int]


@dataclass(frozen=True)
class Plan:
    """How a script is run.

    Attributes:
        worlds: How many processes each job has: ``(2,)``, or ``(2, 1)`` to try it in one process as well.
        stop: If not 0, all ranks are stopped before the optimizer step with this number, and started once more.
    """

    worlds: tuple[int, ...] = (2,)
    stop: int = 0


outcomes: dict[tuple[str, Plan], Outcome] = {}  # checking the same script again costs nothing


def outcome(path: Path, text: str, plan: Plan) -> Outcome:
    """Return what a run of the script at `path`, which has this `text`, leads to; the same text runs only once."""
    if (text, plan) in outcomes:
        return outcomes[text, plan]
    with tempfile.TemporaryDirectory(prefix="exercise-", ignore_cleanup_errors=True) as folder:
        arguments = path.resolve(), folder, json.dumps(plan.worlds), plan.stop
        run = launch(
            observed_script.__file__, *arguments, processes=sum(plan.worlds), limit=LIMIT_SECONDS, show="quiet",
            max_restarts=int(plan.stop > 0), environment={"CUDA_VISIBLE_DEVICES": ""},
        )  # fmt: skip
    stuck = {}
    for failure in run.failures:
        lines = re.findall(rf'[/\\]{re.escape(path.name)}", line (\d+)', failure.text)
        if lines and failure.rank is not None:
            stuck[failure.rank] = int(lines[-1])
    found = Outcome(list(run.results), [run.printed(rank) for rank in range(run.ranks)], stuck)
    if run.seconds < LIMIT_SECONDS:  # otherwise the machine may have been busy: the next try may end in time
        outcomes[text, plan] = found
    return found


def read(answer: Any, stub: str) -> tuple[Path, str]:
    """Return the learner's file and its text.

    Raises:
        NotYet: There is no such file yet, or it is still the `stub`, or has a ``...`` to replace.
        Wrong: The answer is no path, or the file is no Python.
    """
    if type(answer) is not str or not answer.endswith(".py") or "\0" in answer or len(answer) > 200:
        raise Wrong(**_words("no_name"))
    path = Path(answer)
    if not path.is_file():
        raise NotYet(**_words("no_file", answer=answer))
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        line, message = getattr(error, "lineno", 1), getattr(error, "msg", str(error))
        raise Wrong(**_words("no_python", line=line, message=message)) from None
    indices = [node.slice for node in ast.walk(tree) if isinstance(node, ast.Subscript)]
    inside = {id(part) for index in indices for part in ast.walk(index)}  # x[..., 0] is no blank
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value is ... and id(node) not in inside:
            raise NotYet(**_words("blank", line=node.lineno))
    if not tree.body or ast.dump(tree) == ast.dump(ast.parse(stub)):
        raise NotYet(**_words("unchanged"))
    return path, text


def facts(answer: Any, stub: str, plan: Plan) -> Facts:
    """Run the learner's file and return what it did.

    Raises:
        NotYet: There is nothing to run yet.
        Wrong: A rank raised, or waited in vain for another, or did not end.
    """
    path, text = read(answer, stub)
    found = outcome(path, text, plan)
    size, last = plan.worlds[0], f"start {int(plan.stop > 0)}"
    records = [(record or {}).get(last) for record in found.records]
    _check_raised(text, records, size)
    _check_steps(records[:size], found.stuck)
    if len(records) > size and records[size] is None:
        raise Wrong(**_words("not_alone"))
    ended = [record for record in records if record]
    before = [record["start 0"] for record in found.records[:size] if record] if plan.stop else None
    return Facts(text, ended[:size], found.printed[:size], ended[size] if len(ended) > size else None, before)


def _out_of_step(message: str) -> bool:
    """Return whether a rank waited for one that has stopped, or is in another collective."""
    return bool(consequence(message)) or "op.preamble" in message


def _not_entered(text: str, record: dict[str, Any]) -> dict[str, Any] | None:
    """Return line and name of a collective inside an `if`, above the line where a rank stopped, that it never called."""
    called = {name for name, _ in record["collectives"]}
    branches = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.If)]
    for call in (node for branch in branches for node in ast.walk(branch) if isinstance(node, ast.Call)):
        name = ast.unparse(call.func).rpartition(".")[2]
        if name in observed_script.COLLECTIVES and name not in called and call.lineno < record["line"]:
            return {"at": call.lineno, "name": name}
    return None


def _check_raised(text: str, records: list[dict[str, Any] | None], size: int) -> None:
    """Require that no rank raised, unless because of another one."""
    for number, record in enumerate(records):
        if record and "raised" in record and not _out_of_step(record["raised"]):
            error = " ".join(record["raised"].split()).replace("`", "'").rstrip(".")[:300]
            known = [known for known in _TEXTS["explained"] if re.search(known["error"], error)]
            why = Bilingual(known[0]["en"], known[0]["zh"]) if known else _text("other_error", error=error)
            who = _text("rank", rank=number) if number < size else _text("alone")
            if number < size and "FileNotFoundError" in error and (missed := _not_entered(text, record)):
                why = _text("not_entered", rank=number, **missed)
            raise Wrong(**_words("raised", who=who, line=record["line"], why=why))


def _check_steps(records: list[dict[str, Any] | None], stuck: dict[int, int]) -> None:
    """Require that every rank came to its end; if one did not, say where each of them is."""
    if all(record and "raised" not in record for record in records):
        return
    places, problem = [], "no_end"
    for rank, record in enumerate(records):
        steps = len(record["gradients"]) if record else 0
        after = _text("after", steps=steps) if steps else ""
        if record and "raised" in record:
            line, problem = record["line"], "out_of_step"
            calls = [_text("call", name=name) for name, own in record["collectives"][-1:] if own == line]
            places.append(_text("waits", rank=rank, line=line, call=calls[0] if calls else "", after=after))
        elif record:
            places.append(_text("ended", rank=rank, after=after))
        elif rank in stuck:
            places.append(_text("stuck", rank=rank, line=stuck[rank]))
        else:
            places.append(_text("stopped", rank=rank))
    where = Bilingual(", ".join(place.en for place in places), "，".join(place.zh for place in places))
    raise Wrong(**_words(problem, where=where))


# --- what is shown ------------------------------------------------------------------------------------

_HEAD = {name: Bilingual(**text) for name, text in _TEXTS["head"].items()}


def _counted(names: Sequence[str]) -> str:
    return ", ".join(f"{name} × {names.count(name)}" for name in dict.fromkeys(names)) or "–"


def _row(found: Facts, rank: int) -> dict[str, str]:
    record, first = found.ranks[rank], found.ranks[0]
    row = {"rank": str(rank)}
    if samples := record["samples"][0]:
        row["samples"] = f"{len(samples)}: {', '.join(map(str, samples[:3]))} …"
        row["epochs"] = ", ".join(map(str, record["epochs"])) or "–"
    if record["gradients"]:
        row["steps"] = str(len(record["gradients"]))
    if record["wrapped"]:
        row["synchronized"] = (
            f"{sum(s for _, s in record['forwards'])} / {sum(f for f, _ in record['forwards'])}"
        )
    row["collectives"] = _counted(found.called(rank))
    if any(other["saved"] for other in found.ranks):
        row["files"] = _counted(record["saved"])
    if first["end"]:
        row["weights"] = "✓" if close(record["end"], first["end"]) else "✗"
    row["printed"] = found.printed[rank][-1][:60] if found.printed[rank] else "–"
    return row


def pictured(stub: str, plan: Plan, answer: Any) -> Block:
    """Return a table of what each rank of the learner's script did."""
    found = facts(answer, stub, plan)
    rows = [_row(found, rank) for rank in range(len(found.ranks))]
    names = [name for name in _HEAD if any(name in row for row in rows)]
    cells = [[escape(row.get(name, "–")) for name in names] for row in rows]
    page = html_table(cells, [_HEAD[name].html() for name in names])
    lines = [" | ".join(row.get(name, "–") for name in names) for row in rows]
    head = " | ".join(_HEAD[name].en for name in names)
    return Block(f'{page}<p class="course-small">{_text("caption").html()}</p>', "\n".join([head, *lines]))


# --- an exercise --------------------------------------------------------------------------------------


def close(a: Sequence[float], b: Sequence[float]) -> bool:
    """Return whether two lists of parameters or gradients are the same but for rounding."""
    return len(a) == len(b) and all(abs(x - y) <= 1e-4 for x, y in zip(a, b, strict=True))


def numbers(lines: Sequence[str]) -> list[float]:
    """Return all numbers in `lines`."""
    return [float(number) for line in lines for number in re.findall(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", line)]


def quoted(lines: Sequence[str]) -> str:
    """Return the first of `lines` for a hint."""
    return f"`{lines[0][:100].replace('`', chr(39))}`" if lines else "–"


def changed(file: Path, *changes: tuple[str, str]) -> str:
    """Return the text of a file with pieces of it replaced, each of which must be there: a wrong answer."""
    source = file.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in source, f"{file.name} has no {old!r}"
        source = source.replace(old, new)
    return source


Mistakes = Iterator[tuple[Any, ...]]  # whether it was made, the name of its hint, and what to fill in
Judge = Callable[[Facts], Mistakes]


def _examine(judge: Judge, stub: str, plan: Plan, hints: dict[str, Any], answer: Any) -> None:
    """Raise :class:`Wrong` with the hint for the first mistake that was made."""
    for made, name, *values in judge(facts(answer, stub, plan)):
        if made:
            hint = Bilingual(**hints[name]).format(**dict(*values))
            raise Wrong(**asdict(hint))


def script_exercises(module: Path, **judges: Judge | tuple[Judge, Plan]) -> tuple[Exercise, ...]:
    """Return a lesson's exercises whose answers are files.

    Args:
        module: The module that judges. A file beside it, ``.toml`` instead of ``.py``, has the texts: of each exercise,
            and in ``[wrong]`` the hint for each mistake. The folder ``scripts`` has the stubs, ``NAME.py``.
        judges: By the name of the exercise: a function that yields mistakes in the order in which they are looked for;
            with a plan if the script is not just run in two processes.
    """
    texts = tomllib.loads(module.with_suffix(".toml").read_text(encoding="utf-8"))
    exercises = []
    for name, given in judges.items():
        judge, plan = given if isinstance(given, tuple) else (given, Plan())
        stub = (module.parent / "scripts" / f"{name}.py").read_text(encoding="utf-8")
        own = texts["exercise"][name]
        title, *hints = (Bilingual(**text) for text in (own["title"], *own["hints"]))
        examine, shown = partial(_examine, judge, stub, plan, texts["wrong"]), partial(pictured, stub, plan)
        exercises.append(
            Exercise(name, title, examine, tuple(hints), seconds=SECONDS, level=own["level"], show=shown)
        )
    return tuple(exercises)
