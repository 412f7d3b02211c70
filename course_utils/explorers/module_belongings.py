"""What belongs to a module? Build one in one of several ways, move it for real, and see what came along."""

from __future__ import annotations

import html
from dataclasses import dataclass

import torch
from torch import nn

from course_utils.explorers import Control, Explorer
from course_utils.language import Bilingual

# What the learner sees is what runs: each line is executed inside __init__ of a real module.
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
    """What became of the part: did it move, is it trained, is it saved."""

    line: str
    call: str
    moved: bool
    trained: bool
    saved: bool


def _tensors(part: object) -> list[torch.Tensor]:
    if isinstance(part, torch.Tensor):
        return [part]
    if isinstance(part, nn.Module):
        return [*part.parameters(), *part.buffers()]
    if isinstance(part, dict):
        part = list(part.values())
    assert isinstance(part, list)
    return [tensor for item in part for tensor in _tensors(item)]


def compute(*, way: str, move: str) -> Belongings:
    """Build a module with one part made in the given `way`, move it, and look at what happened.

    Args:
        way: A key of :data:`WAYS`.
        move: A key of :data:`MOVES`.
    """
    line, call = WAYS[way], MOVES[move]
    module = nn.Module()
    exec(
        line, {"self": module, "nn": nn, "torch": torch}
    )  # one of our own lines above, never the learner's text
    # Without a GPU the "meta" device stands in for the other place: what is registered goes there, the rest stays.
    other = torch.device("cuda" if torch.cuda.is_available() else "meta")
    before = [(t.device, t.dtype) for t in _tensors(module.part)]
    module.to(other) if move == ".to(device)" else module.half()
    after = [(t.device, t.dtype) for t in _tensors(module.part)]
    return Belongings(
        line,
        call,
        moved=all(a != b for a, b in zip(after, before, strict=True)),
        trained=bool(list(module.parameters())),
        saved=bool(module.state_dict()),
    )


_QUESTIONS = (
    ("moved", Bilingual("comes along with the call", "會跟著這次呼叫一起轉換")),
    (
        "trained",
        Bilingual("is in `parameters()`: the optimizer trains it", "在 `parameters()` 裡：最佳化器會訓練它"),
    ),
    ("saved", Bilingual("is in `state_dict()`: saved and loaded", "在 `state_dict()` 裡：會跟著存檔、載入")),
)
_YES, _NO = Bilingual("✓ yes", "✓ 是"), Bilingual("✗ no", "✗ 否")


def render(result: Belongings) -> str:
    """Return `result` as a small table under the code that made it."""
    code = html.escape(f"{result.line}        # in __init__\n…\n{result.call}")
    rows = "".join(
        f"<tr><td>{(_YES if getattr(result, name) else _NO).html()}</td><td>{text.html()}</td></tr>"
        for name, text in _QUESTIONS
    )
    return f'<div class="course-card"><pre>{code}</pre><table class="course-table">{rows}</table></div>'


EXPLORER = Explorer(
    title=Bilingual("What belongs to a module?", "什麼才算模組的一部分？"),
    controls=(
        Control(
            "way",
            Bilingual("the part is made as", "這個部分寫成"),
            [(name, name) for name in WAYS],
            "list",
            slider=False,
        ),
        Control(
            "move",
            Bilingual("then we call", "接著呼叫"),
            [(name, name) for name in MOVES],
            ".to(device)",
            slider=False,
        ),
    ),
    compute=compute,
    render=render,
)
