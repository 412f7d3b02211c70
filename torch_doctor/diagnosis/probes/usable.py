"""Let each GPU compute a small matrix product with a known result."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

# The sum of all entries of M @ M for M = [[0 … 7], [8 … 15], …, [56 … 63]]: column sums times row sums.
EXPECTED = sum(sum(range(column, 64, 8)) * sum(range(8 * column, 8 * column + 8)) for column in range(8))


def probe(root: str, emit: Callable[..., None]) -> None:
    """Report for each GPU its name, its capability, whether torch has code for it, and whether the result is right."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        import torch

        devices: dict[str, dict[str, Any]] = {}
        for index in range(torch.cuda.device_count()):
            gpu = devices.setdefault(str(index), {})
            try:
                major, minor = torch.cuda.get_device_capability(index)
                gpu.update(name=torch.cuda.get_device_name(index), capability=10 * major + minor)
                gpu["fits"] = _fits(torch, gpu["capability"])
                emit(devices=devices)
                m = torch.arange(64.0, device=f"cuda:{index}").reshape(8, 8)
                result = (m @ m).sum().item()
                gpu["right"] = result == EXPECTED
                if not gpu["right"]:
                    gpu.update(result=result, expected=EXPECTED)
            except Exception as error:
                gpu.update(right=None, error=f"{type(error).__name__}: {error}"[:600])
            emit(devices=devices)
        try:
            emit(cudnn=torch.backends.cudnn.version())
        except Exception as error:
            emit(cudnn_error=f"{type(error).__name__}: {error}"[:600])
    emit(warnings=[str(warning.message)[:600] for warning in caught])


def _fits(torch: Any, capability: int) -> bool | None:
    """Return whether torch has machine code for `capability` by its own rule; None if it has no such rule."""
    rule = getattr(torch.cuda, "_code_compatible_with_device", None)
    extract = getattr(torch.cuda, "_extract_arch_version", None)
    if rule is None or extract is None or not torch.version.cuda:
        return None
    codes = [(entry[:8] == "compute_", extract(entry)) for entry in torch.cuda.get_arch_list()]
    fits = [rule(capability, code) or (compute and code <= capability) for compute, code in codes]
    return any(fits) if codes else None
