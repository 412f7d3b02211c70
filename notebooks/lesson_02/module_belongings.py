"""What belongs to a module? Create a part in one of several ways, move the module, and see what moved with it.

There is no model here: each choice is executed on a real module.
"""

import html
from dataclasses import dataclass

import torch
from torch import nn

from bilingual import Block, texts
from course_utils.explorer import Control, Explorer
from course_utils.lesson_gpus import ready
from lesson_02.places import tensors_in

_TEXTS = texts(__file__)
# The line that the learner sees is the line that is executed.
WAYS = {
    "nn.Linear": "self.part = nn.Linear(2, 2)",
    "nn.Parameter": "self.part = nn.Parameter(torch.zeros(2))",
    "register_buffer": 'self.register_buffer("part", torch.zeros(2))',
    "persistent=False": 'self.register_buffer("part", torch.zeros(2), persistent=False)',
    "tensor": "self.part = torch.zeros(2)",
    "list": "self.part = [nn.Linear(2, 2)]",
    "nn.ModuleList": "self.part = nn.ModuleList([nn.Linear(2, 2)])",
    "dict": 'self.part = {"a": nn.Linear(2, 2)}',
}
MOVES = {".to(device)": "module.to(device)", ".half()": "module.half()"}


@dataclass(frozen=True)
class Belongings:
    """What happened to the part of the module.

    Attributes:
        line: Code that created the part.
        call: Code that moved the module.
        moved: Whether the part moved with the module.
        trained: Whether the optimizer trains it.
        saved: Whether it is in the state dict.
    """

    line: str
    call: str
    moved: bool
    trained: bool
    saved: bool


def compute(*, way: str, move: str) -> Belongings:
    """Return what happens to the part of a module when the module moves.

    Args:
        way: How the part is created, a key of :data:`WAYS`.
        move: How the module is moved, a key of :data:`MOVES`.
    """
    line, call = WAYS[way], MOVES[move]
    module = nn.Module()
    # The line is one of WAYS, never text of the learner.
    exec(line, {"self": module, "nn": nn, "torch": torch})
    before = [(t.device, t.dtype) for t in tensors_in(module.part)]
    module.to(*ready()) if move == ".to(device)" else module.half()
    after = [(t.device, t.dtype) for t in tensors_in(module.part)]
    return Belongings(
        line,
        call,
        moved=all(a != b for a, b in zip(after, before, strict=True)),
        trained=bool(list(module.parameters())),
        saved=bool(module.state_dict()),
    )


def render(result: Belongings) -> Block:
    """Return `result` as a small table below the code that was executed."""
    code = html.escape(f"{result.line}        # in __init__\n…\n{result.call}")
    rows = "".join(
        f"<tr><td>{_TEXTS['yes' if getattr(result, name) else 'no'].html()}</td><td>{text.html()}</td></tr>"
        for name, text in _TEXTS["questions"].items()
    )
    table = f'<div class="course-card"><pre>{code}</pre><table class="course-table">{rows}</table></div>'
    return Block(table, result.line)


EXPLORER = Explorer(
    title=_TEXTS["title"],
    controls=(
        Control("way", _TEXTS["way"], [(name, name) for name in WAYS], "list", slider=False),
        Control("move", _TEXTS["move"], [(name, name) for name in MOVES], ".to(device)", slider=False),
    ),
    compute=compute,
    render=render,
)
