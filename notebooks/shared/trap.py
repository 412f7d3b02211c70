"""A trap for lines that make the host wait: it works without a GPU, and says which lines were caught how often."""

from __future__ import annotations

import html
import linecache
import sys
from collections import Counter
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from bilingual import Bilingual, Block
from course_utils.tables import html_table

_VALUES = {"cpu", "tolist", "numpy", "__array__", "__repr__", "__format__"}
_OPERATIONS = {"aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select"}
_OURS = ("-packages", "shared/trap", "shared\\trap", "<frozen")


def _line() -> str:
    """Return the innermost line of code that belongs neither to PyTorch nor to this module; nothing if nobody waits."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if frame.f_code.co_name == "_get_value" and "optim" in file:
            return ""  # Adam counts its steps on the host
        if not any(part in file for part in _OURS):
            return linecache.getline(file, frame.f_lineno).strip() or f"line {frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return "?"


def _tensors(values: Any) -> list[torch.Tensor]:
    """Return the tensors in nested tuples, lists and dictionaries."""
    return [x for x in tree_leaves(values) if isinstance(x, torch.Tensor)]


class Trap:
    """Note every line inside of ``with Trap() as trap:`` that needs a value from the device.

    A value is needed for a Python number, a truth value, a text, a copy to the host, and for a shape that depends on
    values (`nonzero`, ``x[mask]``). What was copied to the host once, and what is computed from it, is not waited for
    again, as on a GPU.

    Attributes:
        lines: How often each line was caught, in order of appearance.
    """

    def __init__(self) -> None:
        self.lines: Counter[str] = Counter()
        self._inside = False
        # Storages that would be on the host, kept so that no other gets their place.
        self._fetched: dict[int, Any] = {}
        trap = self

        class Calls(TorchFunctionMode):
            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                kwargs = kwargs or {}
                name = getattr(func, "__name__", "")
                data = args[0] if args else kwargs.get("data")
                if func in (torch.tensor, torch.as_tensor) and isinstance(data, (list, tuple)):
                    for x in _tensors(data):  # PyTorch fetches each of them, where no mode can see it
                        if not trap._all_fetched(x):
                            trap._note()
                to_host = name == "to" and any(str(a) == "cpu" for a in (*args[1:], *kwargs.values()))
                if name not in _VALUES and not to_host:
                    return func(*args, **kwargs)
                if not trap._all_fetched(args[:1]) and not (to_host and kwargs.get("non_blocking")):
                    trap._note()
                trap._inside = True
                try:
                    result = func(*args, **kwargs)
                finally:
                    trap._inside = False
                if name == "cpu" or to_host:
                    if result is args[0]:  # without a GPU; the tensor itself stays on the device
                        result = result.clone()
                    trap._keep(result)
                return result

        class Operations(TorchDispatchMode):
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                by_mask = func.name().startswith("aten::index") and any(
                    isinstance(i, torch.Tensor) and i.dtype == torch.bool
                    for part in args[1:]
                    for i in (part if isinstance(part, (list, tuple)) else ())
                )
                fetched = trap._all_fetched((args, kwargs))
                if not trap._inside and not fetched and (func.name() in _OPERATIONS or by_mask):
                    trap._note()
                result = func(*args, **(kwargs or {}))
                if fetched:
                    trap._keep(result)
                return result

        self._modes = (Operations(), Calls())

    def _note(self) -> None:
        """Count the line that waits."""
        if line := _line():
            self.lines[line] += 1

    def _keep(self, values: Any) -> None:
        """Note that these tensors are on the host from now on."""
        for x in _tensors(values):
            storage = x.untyped_storage()
            self._fetched[storage.data_ptr()] = storage

    def _all_fetched(self, values: Any) -> bool:
        """Return whether there are tensors in `values`, and all of them have been copied to the host."""
        pointers = [x.untyped_storage().data_ptr() for x in _tensors(values)]
        return bool(pointers) and all(pointer in self._fetched for pointer in pointers)

    def __enter__(self) -> Trap:
        for mode in self._modes:
            mode.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        for mode in reversed(self._modes):
            mode.__exit__(*error)

    def table(self) -> Block:
        """Return the lines that were caught, as a table."""
        return table(self.lines)


def table(lines: Counter[str]) -> Block:
    """Return lines of code and how often the host waited in each, as a table."""
    head = Bilingual("line in which the host waits", "讓主機等的程式碼"), Bilingual("times", "次數")
    if not lines:
        none = Bilingual("The host waits in no line.", "沒有任何一行會讓主機等。")
        return Block(f"<p>{none.html()}</p>", str(none))
    rows = [(f"<code>{html.escape(code)}</code>", str(n)) for code, n in lines.items()]
    return Block(
        html_table(rows, [title.html() for title in head]),
        "\n".join([f"{head[0]}: {head[1]}", *(f"{code}: {n}" for code, n in lines.items())]),
    )
