"""The journey's table: what each step of the capstone has brought, measured, kept, and shown as a table and a board.

A row is kept with the machine, the version of PyTorch, the date and the version of these rules, because it cannot be compared
with others.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from IPython.display import display

from bilingual import Bilingual, Block, measured_both
from course_utils import facts, needs
from course_utils.exercises import examine, exercises_of
from course_utils.machine import machine_facts, try_gpu
from course_utils.torch_state import preserved_state
from course_utils.units import duration, number
from lesson_08 import programs
from lesson_08.journey_measuring import Train, limit, timed
from lesson_08.journey_measuring import counted_on as counted_on
from lesson_08.journey_measuring import rate as rate
from lesson_08.journey_measuring import waits as waits
from lesson_08.journey_picture import LIMITS, STEPS, Row, board, table_of
from lesson_08.words import WORDS
from shared import kept_rates

RULE = 2  # raise it when other numbers than before would come out
FILE = "journey"
SAME_LOSSES = ("slow", "loader")  # shown to be equal, loss by loss, to the program that gathers
ON_CPU = ("slow",)
_SAID, _COMPILED = WORDS["journey"], WORDS["compiled"]


def try_compile(
    train: Train, steps_to_pay: Callable[[float, float, float], float], patient: bool, **part: Any
) -> Block:
    """Compile the model, keep the row, and return seconds, and after how many steps they have paid, as a table.

    Args:
        train: As in :func:`measure`.
        steps_to_pay: From the seconds of compiling, of a step before, and of one after.
        patient: Whether to compile at all: on a CPU it takes a minute or more.
        part: The program so far; its `wrap` comes first.
    """
    device, batch = try_gpu(), part.get("batch", 8)
    inner = part.get("wrap", lambda model: model)
    compiled = part | {"wrap": lambda model: torch.compile(inner(model))}
    why = needs.missing("compiler") if patient else _COMPILED["impatient"]
    shown: list[Any] = ["–"] * 5
    if why is None:
        try:
            before = batch / rate(train, device, learn=False, **part)[0]
            with preserved_state(threads=1):
                seconds = timed(train, device, 2 * batch, **compiled)[1]
            speed, found = rate(train, device, **compiled)
            what = limit(train, device, speed, wrap_alone=inner, **compiled)
            add("compile", speed, error=found, waits=waits(programs.report_each), limit=what)
            after = batch / speed
            paid = f"{steps_to_pay(seconds, before, after):,.0f}"
            shown = [duration(seconds), duration(before), duration(after), paid, LIMITS[what]]
        except Exception as error:  # whatever a compiler may lack
            text = str(error).strip().splitlines() or [type(error).__name__]
            why = _COMPILED["failed"].format(why=text[0][:90])
    *names, here = WORDS["compiling"].values()
    return facts(dict(zip(names, shown, strict=True)) | {here: why or _COMPILED["yes"]})


def yours(name: str, answer: Any, ours: Any) -> Any:
    """Return the learner's `answer` to an exercise if it is right, else the course's own, and say which."""
    right = examine(exercises_of("08")[name], answer).state == "solved"
    _say(_SAID["yours" if right else "ours"])
    return answer if right else ours


def _say(text: Bilingual) -> None:
    shown = measured_both(text)
    display(Block(f'<p class="course-small">{shown.html()}</p>', str(shown)))


def rows() -> dict[str, Row]:
    """Return what this learner has reached, by step, in the order of the journey; whatever is damaged is left out."""
    found = kept_rates.read(FILE, Row, STEPS)
    return {key: found[key] for key in STEPS if key in found}


def add(
    key: str, windows_per_second: float, *, device: torch.device | str | None = None, **known: Any
) -> None:
    """Keep a row that was measured elsewhere, such as by several processes.

    Args:
        key: Which step, one of `STEPS`.
        windows_per_second: Of all processes together.
        device: Where it was measured; by default on the first GPU, or the CPU where there is none.
        known: `error`, `waits`, `limit` and `note` of a :class:`Row`, as far as they are known.

    Raises:
        ValueError: There is no such step, or the rate is no positive number.
    """
    if key not in STEPS:
        raise ValueError(f"journey.add({key!r}): the steps are {', '.join(STEPS)} · 步驟只有這些")
    if not 0 < windows_per_second < math.inf:
        raise ValueError(f"journey.add(…, {windows_per_second!r}): not a number above 0 · 必須大於 0")
    place = try_gpu() if device is None else torch.device(device)
    fields = {"error": None, "waits": None, "limit": "", "note": ""} | known
    fields |= {"cpu": machine_facts()["cpu"]} | kept_rates.circumstances(place, RULE)
    row = Row(float(windows_per_second), **fields)
    kept_rates.keep(FILE, key, row, "journey-")
    _last[key] = row


_last: dict[str, Row] = {}  # of this session, in case that nothing can be saved


def measure(key: str, train: Train, **part: Any) -> None:
    """Time ``train(device, order, **part)``, look at what it learned, keep the row, and say what limits now.

    Args:
        key: Which step of the journey this is.
        train: Trains with the windows in `order`, and returns the model and the losses.
        part: What it gets besides: `batches`, `loop`, `batch`, `rate`, `dtype`, `wrap`.
    """
    device = torch.device("cpu") if key in ON_CPU else try_gpu()
    speed, error = rate(train, device, learn=key not in SAME_LOSSES, **part)
    held = waits(part.get("loop", programs.report_each))
    what = limit(train, device, speed, **part)
    add(key, speed, error=error, waits=held, limit=what, device=device)
    if key != "slow":  # its timeline was just looked at
        _say(_SAID["now"].format(name=STEPS[key], rate=number(speed), limit=LIMITS[what]))


def known() -> Mapping[str, Row]:
    """Return the rows kept so far, and those of this session that could not be kept, in the order of the journey."""
    found = rows() | _last
    return {key: found[key] for key in STEPS if key in found}


def table() -> Block:
    """Return all steps as a table: windows per second, gain, error, waits in a step, and what limits."""
    return table_of(known())


def show(key: str) -> None:
    """Show the board, on which `key` is the step that was measured last."""
    display(board(known(), key))
