"""Where tensors and models are, and what moved: tables of the lesson, and what its exercises share."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import torch
from torch import nn

from bilingual import Bilingual, Block, measured, measured_both, texts
from course_utils.exercises import Mistake
from course_utils.lesson_gpus import modelled
from course_utils.tables import table
from lesson_02.traffic import Traffic

_TEXTS = texts(__file__)


def code(value: object) -> str:
    """Return `value` as code in a table."""
    return "`" + str(value).replace("`", "'") + "`"


def below(*parts: Block | Bilingual) -> Block:
    """Return blocks and small lines of text one below the other."""
    blocks = [
        Block(f'<p class="course-small">{part.html()}</p>', str(part))
        if isinstance(part, Bilingual)
        else part
        for part in parts
    ]
    return Block("".join(block.html for block in blocks), "\n".join(block.text for block in blocks))


def tensors_in(thing: Any) -> list[torch.Tensor]:
    """Return every tensor of a tensor, a module, or a list or dictionary of them; none of anything else."""
    if isinstance(thing, torch.Tensor):
        return [thing]
    if isinstance(thing, nn.Module):
        return [*thing.parameters(), *thing.buffers()]
    inner = thing.values() if isinstance(thing, dict) else thing
    several = isinstance(thing, (dict, list, tuple, deque))
    return [tensor for part in inner for tensor in tensors_in(part)] if several else []


def _row(name: str, thing: Any, place: Callable[[object], str] = code) -> tuple[str, ...]:
    tensors = tensors_in(thing)
    if not tensors:
        return code(name), code("–"), code("–"), code(type(thing).__name__), code("–")
    devices = sorted({str(tensor.device) for tensor in tensors})
    types = sorted({str(tensor.dtype).removeprefix("torch.") for tensor in tensors})
    shape = (
        " × ".join(map(str, thing.shape)) or "()" if isinstance(thing, torch.Tensor) else type(thing).__name__
    )
    total = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    return code(name), place(" + ".join(devices)), code(shape), code(", ".join(types)), code(f"{total:,}")


def _note(things: list[Any]) -> Bilingual:
    """Return the sentence that says whether the GPU of `things` is a real one."""
    tensors = tensors_in(things)
    if all(tensor.device.type == "cpu" for tensor in tensors):
        return _TEXTS["no_gpu"]
    practice = any(modelled(tensor.device) for tensor in tensors)
    return measured_both(_TEXTS["practice" if practice else "real"])


def places(things: dict[str, Any] | None = None, /, *, vary: str = "", **named: Any) -> Block:
    """Return a table of tensors and modules: where each of them is, and how many bytes it takes.

    Args:
        things: By names that are no identifiers, such as ``"x + y"``.
        vary: The one whose GPU has not the same number on every machine.
        named: Tensors and modules by their names.
    """
    every = {**(things or {}), **named}
    rows = [_row(name, thing, measured if name == vary else code) for name, thing in every.items()]
    return below(table(tuple(_TEXTS["places"].values()), rows), _note([*every.values()]))


def outcomes(cases: dict[str, Callable[[], Any]], *, vary: str = "") -> Block:
    """Run each expression and return a table of what became of it: a device, a value, or an error.

    Args:
        cases: Expressions, and functions that compute them.
        vary: The expression for which this is not the same on every machine.
    """
    rows: list[tuple[str, str | Bilingual]] = []
    results = []
    for expression, run in cases.items():
        try:
            results.append(result := run())
        except RuntimeError:
            end = Bilingual("refused: RuntimeError", "拒絕計算：RuntimeError")
        else:
            place = getattr(result, "device", None)
            end = (
                Bilingual(f"computed, on {place}", f"算得出來，結果在 {place} 上") if place else code(result)
            )
        if expression == vary:
            end = measured_both(end)
        rows.append((code(expression), end))
    head = (Bilingual("expression", "運算式"), Bilingual("what happens", "結果"))
    return below(table(head, rows), _note(results))


# --- for the exercises --------------------------------------------------------------------------------


@contextmanager
def refusal_is(key: str, *words: str) -> Iterator[None]:
    """Let PyTorch's refusal be the mistake `key`, if its text has one of `words`.

    Raises:
        Mistake: The block was refused.
        AssertionError: It raised another one.
        RuntimeError: It raised another one.
    """
    try:
        yield
    except (AssertionError, RuntimeError) as error:
        if not any(word in str(error) for word in words):
            raise
        raise Mistake(key) from None


def name_is(key: str) -> AbstractContextManager[None]:
    """Let it be the mistake `key` that an answer asks for a CUDA GPU by name on a machine that has none."""
    return refusal_is(key, *() if torch.cuda.is_available() else ("CUDA", "NVIDIA"))


def traffic_table(traffic: Traffic) -> Block:
    """Return what was moved between devices as a table: from where to where, how often, and how many bytes."""
    moved: dict[tuple[str, str], list[int]] = {}
    for one in traffic.transfers:
        moved.setdefault((one.source, one.target), []).append(one.bytes)
    rows = [
        (code(f"{source} → {target}"), str(len(sizes)), f"{sum(sizes):,}")
        for (source, target), sizes in moved.items()
    ]
    head, fetches = tuple(_TEXTS["traffic"].values()), _TEXTS["fetches"].format(count=traffic.fetches)
    return below(table(head, rows or [("–", "0", "0")]), fetches)


def or_error(show: Callable[[Any], Block]) -> Callable[[Any], Block]:
    """Return `show` for an answer that may raise: then its error is shown."""

    def shown(answer: Any) -> Block:
        try:
            return show(answer)
        except Exception as error:
            first, *_ = str(error).splitlines() or [""]
            head = (Bilingual("your answer raised", "你的答案引發了例外"),)
            return table(head, [(code(f"{type(error).__name__}: {first}"),)])

    return shown
