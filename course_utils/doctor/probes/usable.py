"""Available is not usable: let each GPU compute something whose result is known."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

# The sum of all entries of M @ M for M = [[0 … 7], [8 … 15], …, [56 … 63]]: column sums times row sums.
EXPECTED = sum(sum(range(column, 64, 8)) * sum(range(8 * column, 8 * column + 8)) for column in range(8))


def probe(root: str, emit: Callable[..., None]) -> None:
    """Report, GPU by GPU, name, capability, whether torch has code for it, and whether a matrix product is right."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        import torch

        devices: dict[str, dict[str, Any]] = {}
        for index in range(torch.cuda.device_count()):
            one = devices.setdefault(str(index), {})
            try:
                major, minor = torch.cuda.get_device_capability(index)
                one |= {"name": torch.cuda.get_device_name(index), "capability": 10 * major + minor}
                one["fits"] = _fits(torch, one["capability"])
                emit(devices=devices)
                m = torch.arange(64.0, device=f"cuda:{index}").reshape(8, 8)
                result = (m @ m).sum().item()
                one["right"] = result == EXPECTED
                if not one["right"]:
                    one |= {"result": result, "expected": EXPECTED}
            except Exception as error:
                one |= {"right": None, "error": f"{type(error).__name__}: {error}"[:600]}
            emit(devices=devices)
        try:
            emit(cudnn=torch.backends.cudnn.version())
        except Exception as error:
            emit(cudnn_error=f"{type(error).__name__}: {error}"[:600])
    emit(warnings=[str(one.message)[:600] for one in caught])


def _fits(torch: Any, capability: int) -> bool | None:
    """Return whether torch's own rule finds machine code for `capability`; None where it has no such rule."""
    rule = getattr(torch.cuda, "_code_compatible_with_device", None)
    extract = getattr(torch.cuda, "_extract_arch_version", None)
    if rule is None or extract is None or not torch.version.cuda:
        return None
    codes = [(entry, extract(entry)) for entry in torch.cuda.get_arch_list()]
    if not codes:
        return None
    return any(
        rule(capability, code) or (entry.startswith("compute_") and code <= capability)
        for entry, code in codes
    )
