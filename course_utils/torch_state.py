"""Restore PyTorch's global state after code that may change it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch


def _precision_owners() -> list[Any]:
    """Return what has a switch `fp32_precision`: what is general before what is special."""
    cuda, cudnn, mkldnn = torch.backends.cuda, torch.backends.cudnn, torch.backends.mkldnn
    special = cuda.matmul, cudnn.conv, cudnn.rnn, mkldnn.matmul, mkldnn.conv, mkldnn.rnn
    return [torch.backends, cudnn, mkldnn, *special]


def answered(ask: Callable[[], Any]) -> Any:
    """Return what one of PyTorch's functions answers, or None where it refuses.

    Newer releases do not tell the older precision once the switches above were used, and no release the default device
    where one is set that this machine does not have.
    """
    try:
        return ask()
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
    saved_precision = [(owner, owner.fp32_precision) for owner in _precision_owners()]
    saved_legacy = answered(torch.get_float32_matmul_precision)
    saved_cudnn = cudnn.benchmark, cudnn.deterministic, cudnn.enabled
    saved_threads, saved_grad = torch.get_num_threads(), torch.is_grad_enabled()
    saved_dtype, saved_device = torch.get_default_dtype(), answered(torch.get_default_device)
    try:
        if threads is not None:
            torch.set_num_threads(threads)
        if torch.backends.cuda.matmul.fp32_precision not in ("ieee", "none"):
            # Setting fp32_precision itself would make PyTorch refuse to answer `allow_tf32`, which torch.compile asks for.
            torch.set_float32_matmul_precision("highest")
        yield
    finally:
        torch.set_num_threads(saved_threads)
        torch.set_grad_enabled(saved_grad)
        torch.set_default_dtype(saved_dtype)
        if answered(torch.get_default_device) != saved_device:
            # "cpu" set as the default would slow down every later call; None means the same, for nothing.
            torch.set_default_device(None if saved_device == torch.device("cpu") else saved_device)
        cudnn.benchmark, cudnn.deterministic, cudnn.enabled = saved_cudnn
        if saved_legacy is not None and answered(torch.get_float32_matmul_precision) != saved_legacy:
            torch.set_float32_matmul_precision(saved_legacy)  # first, since it also sets some of those below
        for owner, value in saved_precision:
            if owner.fp32_precision != value:
                owner.fp32_precision = value
