"""What the text of a script shows before it runs: calls that are missing, wrong, or made by some ranks only."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from course_utils.exercises import NotYet, Wrong

_COLLECTIVES = ("all_reduce", "reduce", "broadcast", "all_gather", "gather", "scatter", "barrier")


def parse(answer: Any, name: str) -> tuple[str, ast.Module]:
    """Return the script with one line break at its end, and its syntax tree.

    Args:
        answer: What the learner passed to ``check``.
        name: The exercise, whose script as the lesson gives it is in the folder ``stubs``. Comments and blank lines do not
            count as a change of it.

    Raises:
        NotYet: The script is empty, or still the stub.
        Wrong: It is no text, or no Python.
    """
    if not isinstance(answer, str):
        raise Wrong(
            en=f'The answer is the text of a script, between `"""` and `"""`; yours is a `{type(answer).__name__}`.',
            zh=f'答案是程式的內容，寫在 `"""` 和 `"""` 之間的字串；你給的卻是 `{type(answer).__name__}`。',
        )
    try:
        # Blank lines at the beginning stay: line numbers are those of the learner's cell.
        text = answer.rstrip() + "\n"
        tree = ast.parse(text)
    except SyntaxError as error:
        raise Wrong(
            en=f"Python cannot read line {error.lineno} of your script: {error.msg}.",
            zh=f"Python 看不懂程式的第 {error.lineno} 行：{error.msg}。",
        ) from None
    if not tree.body or ast.dump(tree) == ast.dump(ast.parse(_stub(name))):
        raise NotYet(
            en="Not yet: change the text of the script, and run the cell again.",
            zh="還沒完成：修改程式的內容，再執行一次。",
        )
    return text, tree


def _stub(name: str) -> str:
    return (Path(__file__).with_name("stubs") / f"{name}.py").read_text(encoding="utf-8")


def calls(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    """Yield every call of a function `name`, with or without its module (``dist.reduce``, ``reduce``)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == name:
            yield node


def check_sampler(tree: ast.Module) -> None:
    """Require that a ``DistributedSampler`` is used, and set to a new order in every epoch."""
    if not any(calls(tree, "DistributedSampler")):
        raise Wrong(
            en="There is no `DistributedSampler`: both processes would go through all 640 samples, and do the same work twice.",
            zh="沒有 `DistributedSampler`：兩個行程都會跑完全部 640 個樣本，同樣的工作做兩遍。",
        )
    for call in calls(tree, "DataLoader"):
        options = {keyword.arg: keyword.value for keyword in call.keywords}
        if "sampler" not in options and "batch_sampler" not in options and len(call.args) < 4:
            raise Wrong(
                en="The `DataLoader` knows nothing of the sampler, so both processes go through all samples. Hand it over.",
                zh="`DataLoader` 不知道有 sampler，所以兩個行程都會跑完全部的樣本。把 sampler 交給它吧。",
            )
        shuffle = options.get("shuffle")
        if isinstance(shuffle, ast.Constant) and shuffle.value:
            raise Wrong(
                en="`shuffle=True` and a sampler exclude each other: with a sampler, it is the sampler that shuffles, and `DistributedSampler` does so by itself.",
                zh="`shuffle=True` 和 sampler 不能同時用：有 sampler，就由 sampler 洗牌，`DistributedSampler` 本來就會洗。",
            )
    if not any(calls(tree, "set_epoch")):
        raise Wrong(
            en="Without `sampler.set_epoch(epoch)` every epoch has the same order. It belongs at the start of each epoch.",
            zh="沒有 `sampler.set_epoch(epoch)`，每個 epoch 的順序都一樣。每個 epoch 一開始就要呼叫。",
        )


def check_collectives(tree: ast.Module) -> None:
    """Refuse a collective that is in one branch of an ``if`` about the rank, and not in the other."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.If) and "rank" in ast.unparse(node.test)):
            continue
        for name in _COLLECTIVES:
            inside = [call for part in node.body for call in calls(part, name)]
            otherwise = [call for part in node.orelse for call in calls(part, name)]
            if bool(inside) != bool(otherwise):
                call = (inside or otherwise)[0]
                raise Wrong(
                    en=f"Line {call.lineno}: only some ranks come to this `{name}`. A collective returns when **all** ranks have called it, so those wait for ever.",
                    zh=f"第 {call.lineno} 行：這個 `{name}` 只有部分 rank 會執行到。集體通訊要**所有的** rank 都呼叫了才會傳回，先到的會永遠等下去。",
                )


def check_process_group(text: str, tree: ast.Module) -> None:
    """Require a process group that does without GPUs, and a GPU of its own for each process."""
    if not any(calls(tree, "init_process_group")):
        raise Wrong(
            en="The processes do not know of each other yet: there is no `init_process_group`.",
            zh="兩個行程還不知道彼此的存在：沒有 `init_process_group`。",
        )
    for call in calls(tree, "init_process_group"):
        backend = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "backend")]
        if any(isinstance(value, ast.Constant) and value.value == "nccl" for value in backend):
            raise Wrong(
                en="`nccl` needs a GPU for every process, and the script should run without as well: then the backend is `gloo`.",
                zh="`nccl` 要每個行程各有一張 GPU；程式在沒有 GPU 的機器上也要能跑，這時後端要用 `gloo`。",
            )
    if not re.search("local_?rank", text, re.I):
        raise Wrong(
            en='`"cuda"` means the same GPU in both processes. Which one is this process\'s own? torchrun says so in the variable '
            "`LOCAL_RANK`.",
            zh='在兩個行程裡，`"cuda"` 指的都是同一張 GPU。自己該用哪一張，torchrun 寫在環境變數 `LOCAL_RANK` 裡。',
        )
