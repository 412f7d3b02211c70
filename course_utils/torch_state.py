"""Restore PyTorch's global state after code that may change it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

_PRECISION_OWNERS = (
    "",
    "cudnn",
    "mkldnn",
    "cuda.matmul",
    "cudnn.conv",
    "cudnn.rnn",
    "mkldnn.matmul",
    "mkldnn.conv",
    "mkldnn.rnn",
)


def _precision_switches() -> list[tuple[Any, str]]:
    """Return (owner, attribute) of every switch of float32 precision; general ones before special ones."""
    found: list[tuple[Any, str]] = []
    for path in _PRECISION_OWNERS:
        owner: Any = torch.backends
        for part in filter(None, path.split(".")):
            owner = getattr(owner, part, None)
        if hasattr(owner, "fp32_precision"):
            found.append((owner, "fp32_precision"))
    return found


def _legacy_precision() -> str | None:
    try:
        return torch.get_float32_matmul_precision()
    except RuntimeError:  # newer releases refuse to answer once the switches above were used
        return None


def _full_precision() -> None:
    """Switch TF32 off for matrix products on GPUs."""
    if torch.backends.cuda.matmul.fp32_precision not in ("ieee", "none"):
        # Setting fp32_precision itself would make PyTorch refuse to answer `allow_tf32`, which torch.compile asks for.
        torch.set_float32_matmul_precision("highest")


def _default_device() -> torch.device | None:
    """Return the default device, or None where one is set that this machine does not have."""
    try:
        return torch.get_default_device()
    except (AssertionError, RuntimeError):
        return None


@contextmanager
def preserved_state(threads: int | None = 1) -> Iterator[None]:
    """Run measurements with `threads` CPU threads and without TF32, then put back whatever changed.

    What is measured as float32 is float32: `torch.set_float32_matmul_precision("high")` and
    ``TORCH_ALLOW_TF32_CUBLAS_OVERRIDE=1``, which some container images set, do not reach matrix products in here.

    Restored: thread count, float32 precision, the cuDNN switches, default dtype, default device, gradient mode.
    One thread is the default because threads that wait for each other turn a busy neighbour into a result a
    hundred times off. ``None`` leaves the thread count alone.
    """
    cudnn = torch.backends.cudnn
    saved_precision = [(owner, name, getattr(owner, name)) for owner, name in _precision_switches()]
    saved_legacy = _legacy_precision()
    saved_cudnn = cudnn.benchmark, cudnn.deterministic, cudnn.enabled
    saved_threads, saved_grad = torch.get_num_threads(), torch.is_grad_enabled()
    saved_dtype, saved_device = torch.get_default_dtype(), _default_device()
    try:
        if threads is not None:
            torch.set_num_threads(threads)
        _full_precision()
        yield
    finally:
        torch.set_num_threads(saved_threads)
        torch.set_grad_enabled(saved_grad)
        torch.set_default_dtype(saved_dtype)
        if _default_device() != saved_device:
            # "cpu" set as the default would slow down every later call; None means the same, for nothing.
            torch.set_default_device(None if saved_device == torch.device("cpu") else saved_device)
        cudnn.benchmark, cudnn.deterministic, cudnn.enabled = saved_cudnn
        if saved_legacy is not None and _legacy_precision() != saved_legacy:
            torch.set_float32_matmul_precision(saved_legacy)  # first, since it also sets some of those below
        for owner, name, value in saved_precision:
            if getattr(owner, name) != value:
                setattr(owner, name, value)
