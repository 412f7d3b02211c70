"""Exercises whose answer is a script: it runs in several processes on the CPU, and is judged by what it did there.

``check("distribute", "mine/distribute.py")`` runs the learner's file in a folder of its own, observed by
``observed_script``. An exercise's module puts :func:`on_script` around a judge of the :class:`Facts`; the text of a file
words a hint, and decides only what no run on one machine shows (who writes where there are several machines, say).
What any script may be told is in ``course_utils/exercise_hints.toml``, the words of tables in ``script_exercise.toml``.
"""

import ast
import inspect
import json
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bilingual import Bilingual, Block, texts
from course_utils.exercises import Mistake, Mistakes, NotYet
from course_utils.tables import RIGHT, table
from notebook_torchrun import launch
from notebook_torchrun.rank import consequence
from shared import observed_script

LIMIT_SECONDS = 45.0  # usually 5 or less; an exercise has more, so that it is the launch that stops a script

_TEXTS = texts(__file__)
_WORDS, _HEAD = _TEXTS["words"], _TEXTS["head"]


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

    def said(self) -> dict[str, str]:
        """Return what rank 0 and rank 1 printed first, for a hint."""
        return {"first": quoted(self.printed[0]), "second": quoted(self.printed[1])}

    def steps(self, steps: int) -> tuple[bool, str, dict[str, int]]:
        """Return the mistake of another number of optimizer steps, for a judge to yield."""
        made = len(self.ranks[0]["gradients"])
        return made != steps, "steps", {"steps": steps, "made": made}


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
            observed_script.__file__, *arguments, processes=sum(plan.worlds), limit=LIMIT_SECONDS, show="clock",
            max_restarts=int(plan.stop > 0), environment={"CUDA_VISIBLE_DEVICES": ""},
        )  # fmt: skip
    stuck = {}
    for failure in run.failures:
        lines = re.findall(rf'[/\\]{re.escape(path.name)}", line (\d+)', failure.text)
        if lines and failure.rank is not None:
            stuck[failure.rank] = int(lines[-1])
    found = Outcome(list(run.results), [run.printed(rank) for rank in range(run.ranks)], stuck)
    if (
        run.ok or run.seconds < LIMIT_SECONDS
    ):  # else the machine may have been busy: the next try may end in time
        outcomes[text, plan] = found
    return found


def read(answer: Any, stub: str) -> tuple[Path, str]:
    """Return the learner's file and its text.

    Raises:
        NotYet: There is no such file yet, or it is still the `stub`, or has a ``...`` to replace.
        Mistake: The answer is no path, or the file is no Python.
    """
    if type(answer) is not str or not answer.endswith(".py") or "\0" in answer or len(answer) > 200:
        raise Mistake("no_name")
    path = Path(answer)
    if not path.is_file():
        raise NotYet("no_file", answer=answer)
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        line, message = getattr(error, "lineno", 1), getattr(error, "msg", str(error))
        raise Mistake("no_python", line=line, message=message) from None
    indices = [node.slice for node in ast.walk(tree) if isinstance(node, ast.Subscript)]
    inside = {id(part) for index in indices for part in ast.walk(index)}  # x[..., 0] is no blank
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value is ... and id(node) not in inside:
            raise NotYet("blank", line=node.lineno)
    if not tree.body or ast.dump(tree) == ast.dump(ast.parse(stub)):
        raise NotYet("unchanged")
    return path, text


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
            known = [key for key, pattern in _TEXTS["meaning"].items() if re.search(pattern, error)]
            key = known[0] if known else "rank_raised"
            who = _WORDS["rank" if number < size else "alone"].format(rank=number)
            values = {"who": who, "line": record["line"], "error": error, "rank": number}
            if number < size and "FileNotFoundError" in error and (missed := _not_entered(text, record)):
                key, values = "not_entered", values | missed
            raise Mistake(key, **values)


def _check_steps(records: list[dict[str, Any] | None], stuck: dict[int, int]) -> None:
    """Require that every rank came to its end; if one did not, say where each of them is."""
    if all(record and "raised" not in record for record in records):
        return
    places, problem = [], "no_end"
    for rank, record in enumerate(records):
        steps = len(record["gradients"]) if record else 0
        after, call = _WORDS["after"].format(steps=steps) if steps else "", ""
        line = record.get("line") if record else stuck.get(rank)
        if record and "raised" in record:
            where, problem = "waits", "out_of_step"
            for name, own in record["collectives"][-1:]:
                call = _WORDS["call"].format(name=name) if own == line else ""
        else:
            where = "ended" if record else "stuck" if rank in stuck else "stopped"
        places.append(_WORDS[where].format(rank=rank, line=line, call=call, after=after))
    where_all = Bilingual(", ".join(place.en for place in places), "，".join(place.zh for place in places))
    raise Mistake(problem, where=where_all)


# --- what is shown ------------------------------------------------------------------------------------


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
        passes, averaging = map(sum, zip(*record["forwards"], strict=True))
        row["synchronized"] = f"{averaging} / {passes}"
    row["collectives"] = _counted(found.called(rank))
    if any(other["saved"] for other in found.ranks):
        row["files"] = _counted(record["saved"])
    if first["end"]:
        row["weights"] = RIGHT[close(record["end"], first["end"])]
    row["printed"] = found.printed[rank][-1][:60] if found.printed[rank] else "–"
    return row


# --- an exercise --------------------------------------------------------------------------------------


class ScriptJudge:
    """The judge of an exercise whose answer is a script; :func:`on_script` makes it.

    Attributes:
        plan: How a script is run.
        stub: What the learner begins with: ``scripts/NAME.py`` in the lesson's room.
        solution: The text of ``scripts/NAME_solution.py``.
    """

    def __init__(self, judge: Callable[[Facts], Mistakes], plan: Plan) -> None:
        file = Path(inspect.getfile(judge))
        scripts = file.parents[1] / "scripts"
        self.plan, self._judge = plan, judge
        self.stub = (scripts / file.name).read_text(encoding="utf-8")
        self.solution = (scripts / f"{file.stem}_solution.py").read_text(encoding="utf-8")

    def __call__(self, answer: Any) -> Mistakes:
        """Run the learner's file, and look for mistakes in what it did."""
        yield from self._judge(self.facts(answer))

    def facts(self, answer: Any) -> Facts:
        """Run the learner's file and return what it did.

        Raises:
            NotYet: There is nothing to run yet.
            Mistake: A rank raised, or waited in vain for another, or did not end.
        """
        path, text = read(answer, self.stub)
        plan, found = self.plan, outcome(path, text, self.plan)
        size, last = plan.worlds[0], f"start {int(plan.stop > 0)}"
        records = [(record or {}).get(last) for record in found.records]
        _check_raised(text, records, size)
        _check_steps(records[:size], found.stuck)
        if len(records) > size and records[size] is None:
            raise Mistake("not_alone")
        ended = [record for record in records if record]
        before = [record["start 0"] for record in found.records[:size] if record] if plan.stop else None
        return Facts(
            text, ended[:size], found.printed[:size], ended[size] if len(ended) > size else None, before
        )

    def show(self, answer: Any) -> Block:
        """Return a table of what each rank of the learner's script did."""
        found = self.facts(answer)
        rows = [_row(found, rank) for rank in range(len(found.ranks))]
        names = [name for name in _HEAD if any(name in row for row in rows)]
        made = table(
            [_HEAD[name] for name in names], [[row.get(name, "–") for name in names] for row in rows]
        )
        return Block(f'{made.html}<p class="course-small">{_WORDS["caption"].html()}</p>', made.text)


def on_script(worlds: tuple[int, ...] = (2,), stop: int = 0) -> Callable[..., ScriptJudge]:
    """Make the judge of an exercise from a function that judges what the learner's script did.

    Args:
        worlds: How many processes each job has; see :class:`Plan`.
        stop: Before which optimizer step the ranks are stopped and started once more; 0 for never.
    """
    return partial(ScriptJudge, plan=Plan(worlds, stop))


def close(a: Sequence[float], b: Sequence[float]) -> bool:
    """Return whether two lists of parameters or gradients are the same but for rounding."""
    return len(a) == len(b) and all(abs(x - y) <= 1e-4 for x, y in zip(a, b, strict=True))


def numbers(lines: Sequence[str]) -> list[float]:
    """Return all numbers in `lines`."""
    return [float(number) for line in lines for number in re.findall(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", line)]


def quoted(lines: Sequence[str]) -> str:
    """Return the first of `lines` for a hint."""
    return f"`{lines[0][:100].replace('`', chr(39))}`" if lines else "–"
