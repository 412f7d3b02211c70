"""Where tensors and models are: GPUs to move things to, real or pretended, and a table of places."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from bilingual import Bilingual, Block, measured
from course_utils.tables import html_table, message
from shared.pretended_gpus import PretendedTensor, Traffic, pretended_gpus


@contextmanager
def gpus(count: int = 1) -> Iterator[None]:
    """Let the block use the GPUs ``cuda:0``, ``cuda:1``, …: real ones where there are as many, otherwise pretended ones.

    Args:
        count: How many GPUs the block uses.
    """
    if torch.cuda.device_count() >= count:
        yield
        return
    with pretended_gpus(count):
        yield


_HEADER = (
    Bilingual("name", "名稱"),
    Bilingual("device", "裝置"),
    Bilingual("shape", "形狀"),
    Bilingual("type", "型別"),
    Bilingual("bytes", "位元組"),
)
_PRETENDED = Bilingual(
    "The GPU is pretended here: its tensors only say that they are there, and are computed on the CPU.",
    "這裡的 GPU 是模擬的，張量只是自稱在 GPU 上，其實由 CPU 計算。",
)
_PRETENDED_REFUSAL = Bilingual(
    "The GPU is pretended here; the refusal is PyTorch's own, for fake tensors of the same shapes and devices.",
    "這裡的 GPU 是模擬的，不過拒絕計算的是 PyTorch 本身，因為交給 PyTorch 的是形狀與裝置都相同的假張量（fake tensor）。",
)
_REAL = Bilingual("A real GPU of this machine.", "這是本機真正的 GPU。")
_NO_GPU = Bilingual("Only the CPU is used here.", "這裡只用到 CPU。")


def _tensors(thing: Any) -> list[torch.Tensor]:
    if isinstance(thing, nn.Module):
        return [*thing.parameters(), *thing.buffers()]
    return [thing]


def _row(name: str, thing: Any) -> tuple[str, ...]:
    tensors = _tensors(thing)
    if not all(isinstance(tensor, torch.Tensor) for tensor in tensors):
        return name, "–", "–", kind(thing), "–"
    devices = sorted({str(tensor.device) for tensor in tensors})
    types = sorted({str(tensor.dtype).removeprefix("torch.") for tensor in tensors})
    shape = (
        " × ".join(map(str, thing.shape)) or "()" if isinstance(thing, torch.Tensor) else type(thing).__name__
    )
    total = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    return name, " + ".join(devices), shape, ", ".join(types), f"{total:,}"


def note(things: list[Any]) -> Bilingual:
    """Return the sentence that says whether the GPU of `things` is a real one."""
    tensors = [t for thing in things for t in _tensors(thing) if isinstance(t, torch.Tensor)]
    if all(tensor.device.type == "cpu" for tensor in tensors):
        return _NO_GPU
    text = _PRETENDED if any(isinstance(tensor, PretendedTensor) for tensor in tensors) else _REAL
    return Bilingual(measured(text.en), measured(text.zh))


def places(things: dict[str, Any] | None = None, /, **named: Any) -> Block:
    """Return a table of tensors and modules: where each of them is, and how many bytes it takes.

    Args:
        things: By names that are no identifiers, such as ``"x + y"``.
        named: Tensors and modules by their names.
    """
    every = {**(things or {}), **named}
    rows = [_row(name, thing) for name, thing in every.items()]
    return table(_HEADER, rows, note(list(every.values())))


def table(
    header: tuple[Bilingual, ...], rows: list[tuple[Any, ...]], below: Bilingual | None = None
) -> Block:
    """Return rows of code (strings) and texts (:class:`Bilingual`) as a table with a header, and a small line below."""

    def cell(value: Any) -> str:
        return value.html() if isinstance(value, Bilingual) else f"<code>{html.escape(str(value))}</code>"

    small = f'<p class="course-small">{below.html()}</p>' if below else ""
    lines = [" | ".join(map(str, row)) for row in (header, *rows)] + ([str(below)] if below else [])
    cells = html_table([map(cell, row) for row in rows], map(cell, header))
    return Block(cells + small, "\n".join(lines))


def traffic_table(traffic: Traffic) -> Block:
    """Return what was moved between devices as a table: from where to where, how often, and how many bytes."""
    moved: dict[tuple[str, str], list[int]] = {}
    for one in traffic.transfers:
        moved.setdefault((one.source, one.target), []).append(one.bytes)
    rows = [
        (f"{source} → {target}", len(sizes), f"{sum(sizes):,}") for (source, target), sizes in moved.items()
    ]
    header = (
        Bilingual("from → to", "來源 → 目的地"),
        Bilingual("transfers", "搬移次數"),
        Bilingual("bytes", "位元組"),
    )
    fetches = Bilingual(
        f"Fetches by the host from the (pretended) GPU: {traffic.waits}",
        f"主機從（模擬的）GPU 取值的次數：{traffic.waits}",
    )
    return table(header, rows or [("–", 0, 0)], fetches)


def below(*blocks: Block) -> Block:
    """Return the blocks one below the other."""
    return Block("".join(block.html for block in blocks), "\n".join(block.text for block in blocks))


def or_error(show: Callable[[Any], Block]) -> Callable[[Any], Block]:
    """Return `show` for an answer that may raise: then its error is shown."""

    def shown(answer: Any) -> Block:
        try:
            return show(answer)
        except Exception as error:
            first = str(error).splitlines()[0] if str(error) else ""
            header = (Bilingual("your answer raised", "你的答案引發了例外"),)
            return table(header, [(f"{type(error).__name__}: {first}",)])

    return shown


def kind(value: Any) -> str:
    """Return the name of the type of `value`; a pretended tensor is a ``Tensor``."""
    return "Tensor" if isinstance(value, torch.Tensor) else type(value).__name__


def refusal(error: BaseException, *words: str) -> Block:
    """Return an error about devices as :func:`course_utils.message` does, and whether the GPU was a real one."""
    pretended = _PRETENDED_REFUSAL if not torch.cuda.is_available() else _REAL
    said = Bilingual(measured(pretended.en), measured(pretended.zh))
    return below(message(error, *words), Block(f'<p class="course-small">{said.html()}</p>', str(said)))


def outcomes(cases: dict[str, Callable[[], Any]]) -> Block:
    """Run each expression and return a table of what became of it: a device, a value, or an error."""
    rows, results = [], []
    for code, run in cases.items():
        try:
            result = run()
            results.append(result)
            if isinstance(result, torch.Tensor):
                end: Any = Bilingual(
                    f"computed, on `{result.device}`", f"算得出來，結果在 `{result.device}` 上"
                )
            else:
                end = str(result)
        except RuntimeError:
            end = Bilingual("refused: `RuntimeError`", "拒絕計算：`RuntimeError`")
        rows.append((code, end))
    return table((Bilingual("expression", "運算式"), Bilingual("what happens", "結果")), rows, note(results))
