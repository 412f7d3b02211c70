"""Exercise ``{"x * 2": torch.float32, …}``: expression → its data type under autocast to bfloat16."""

from typing import Any

import torch

from bilingual import Bilingual, Block
from course_utils.exercises import Mistakes
from course_utils.returned import filled_in
from course_utils.tables import RIGHT, YOURS, table

LINES = {  # the data type, and the mistake of taking it for the other one
    "layer(x)": (torch.bfloat16, "layer"),
    "torch.relu(layer(x))": (torch.bfloat16, "relu"),
    "layer(x) + x": (torch.float32, "wider"),
    "x * 2": (torch.float32, "untouched"),
    "x @ x.T": (torch.bfloat16, "matmul"),
    "cross_entropy(layer(x), labels)": (torch.float32, "loss"),
    "layer.weight.grad": (torch.float32, "gradient"),
}
_NAMES = {"bfloat16": torch.bfloat16, "float32": torch.float32}


def judge(answer: Any) -> Mistakes:
    """Compare line by line; a type may be given by its name, too."""
    for line, got in filled_in(answer, LINES).items():
        right, mistake = LINES[line]
        if isinstance(got, str):
            got = _NAMES.get(got.strip().removeprefix("torch."), got)
        yield got not in _NAMES.values(), "neither_type", {"line": line}
        yield got is not right, mistake


def show(answer: Any) -> Block:
    """Return which of the lines agree with what PyTorch does."""
    rows = []
    for line, (right, _) in LINES.items():
        given = answer.get(line, ...)
        text = "…" if given is ... else str(given).removeprefix("torch.")
        rows.append((f"`{line}`", f"`{text}`", RIGHT[text == str(right).removeprefix("torch.")]))
    return table((Bilingual("line", "這一行"), YOURS, Bilingual("PyTorch agrees", "和 PyTorch 一致")), rows)
