"""Exercise ``places``: a dictionary to fill in, on which of two GPUs DataParallel keeps what."""

from typing import Any

import torch
from torch import nn

from bilingual import Bilingual, Block
from course_utils import facts
from course_utils.exercises import Mistakes
from course_utils.lesson_gpus import ready
from course_utils.returned import filled_in

# Each line, and the mistake of who names the other GPU.
_MISTAKES = {
    "weight": "master",
    "pieces[1]": "order",
    "out": "gathered",
    "labels": "labels",
    "weight.grad": "gradients",
}
_AGREES = {True: Bilingual("right", "正確"), False: Bilingual("not there", "不在那裡")}


def _places() -> dict[str, int]:
    """Return the number of the GPU on which DataParallel keeps what, with the second GPU named first."""
    first, second = ready(2)
    net = nn.LayerNorm(4).to(second)
    ids = [second, first]
    x = torch.ones(4, 4, device=second)
    pieces, out = nn.parallel.scatter(x, ids), nn.DataParallel(net, device_ids=ids)(x)
    nn.functional.cross_entropy(out, torch.zeros(4, dtype=torch.int64, device=out.device)).backward()
    found = net.weight, pieces[1], out, out, net.weight.grad  # labels must be where the output is
    return {line: tensor.device.index for line, tensor in zip(_MISTAKES, found, strict=True)}


def _number(value: Any) -> int | None:
    """Return the number of the GPU that a learner names: 1, ``"cuda:1"``, or the device itself."""
    last = str(value).rpartition(":")[2]
    return int(last) if last in ("0", "1") and not isinstance(value, bool) else None


def judge(answer: Any) -> Mistakes:
    """Compare each line with what DataParallel does."""
    right = _places()
    for line, value in filled_in(answer, _MISTAKES).items():
        yield _number(value) is None, "no_device", {"line": line}
        yield _number(value) != right[line], _MISTAKES[line]


def show(answer: Any) -> Block:
    """Return which lines agree with what DataParallel does."""
    rows = {}
    for line, right in _places().items():
        given = str(answer.get(line, "…"))
        agrees = _AGREES[_number(given) == right]
        rows[line] = Bilingual(f"{given}, {agrees.en}", f"{given}，{agrees.zh}")
    return facts(fixed=rows)
