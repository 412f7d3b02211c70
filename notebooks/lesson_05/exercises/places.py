"""Exercise ``places``: a dictionary to fill in, on which device DataParallel keeps what."""

from typing import Any

import torch

from bilingual import Bilingual, Block
from course_utils import facts
from course_utils.exercises import Mistakes
from course_utils.returned import filled_in

# With device_ids=[2, 0, 1]: the line → the device, and the mistake of who names another.
_PLACES = {
    "weight": ("cuda:2", "master"),
    "pieces[1]": ("cuda:0", "order"),
    "out": ("cuda:2", "gathered"),
    "labels": ("cuda:2", "labels"),
    "weight.grad": ("cuda:2", "gradients"),
}
_AGREES = {True: Bilingual("right", "正確"), False: Bilingual("not there", "不在那裡")}


def _name(value: Any) -> str:
    """Return a device as text: ``cuda:2`` for ``"cuda:2"``, ``torch.device("cuda:2")`` and ``2``."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"cuda:{value}"
    return str(value).strip() if isinstance(value, (str, torch.device)) else ""


def judge(answer: Any) -> Mistakes:
    """Compare each line with what DataParallel does."""
    for line, value in filled_in(answer, _PLACES).items():
        right, mistake = _PLACES[line]
        given = _name(value)
        yield given == "cuda", "current_device"
        yield given not in ("cuda:0", "cuda:1", "cuda:2"), "no_device", {"line": line}
        yield given != right, mistake


def show(answer: Any) -> Block:
    """Return which lines agree with what DataParallel does."""
    rows = {}
    for line, (right, _) in _PLACES.items():
        given = _name(answer.get(line, ""))
        agrees = _AGREES[given == right]
        rows[line] = Bilingual(f"{given or '…'}, {agrees.en}", f"{given or '…'}，{agrees.zh}")
    return facts(fixed=rows)


def _filled(**given: str) -> str:
    """Return a filled-in dictionary: `given`, and ``cuda`` everywhere else."""
    return f"places = { ({line: given.get(line, 'cuda') for line in _PLACES})!r}"


_FIRST = {"weight": "cuda:2", "pieces[1]": "cuda:0"}
WRONG = {
    "current_device": _filled(),
    "no_device": _filled(weight="cpu"),
    "master": _filled(weight="cuda:0"),
    "order": _filled(weight="cuda:2", **{"pieces[1]": "cuda:1"}),
    "gathered": _filled(**_FIRST, out="cuda:0"),
    "labels": _filled(**_FIRST, out="cuda:2", labels="cuda:0"),
    "gradients": _filled(**_FIRST, out="cuda:2", labels="cuda:2", **{"weight.grad": "cuda:1"}),
}
