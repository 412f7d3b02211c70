"""Find work of two CUDA streams on the same memory that nothing puts in order, with PyTorch's own detector."""

import os
from pathlib import Path
from typing import Any

import torch
from torch.cuda import _sanitizer

from tools.cuda_standin import driver


class _Handler(_sanitizer.EventHandler):
    """Notes races; the detector's own handler would raise an error in the lesson."""

    def _handle_kernel_launch(self, *arguments: Any) -> list[Any]:
        for address in driver.freed():  # the next tensor there is another one
            self.tensors_accessed.accesses.pop(address, None)
        if not arguments[1] and not arguments[2]:
            return []
        for error in super()._handle_kernel_launch(*arguments):
            now, before = (
                _own_line(one.stack_trace) for one in (error.current_access, error.previous_access)
            )
            driver.write_note(kind="race", what=f"`{now}` is not ordered behind `{before}`")
        return []


def _own_line(stack: Any) -> str:
    """Return the line of the lesson that launched a kernel."""
    folder = str(Path(__file__).parent)
    own = [
        one.line for one in stack if "-packages" not in one.filename and not one.filename.startswith(folder)
    ]
    return own[-1] if own else "?"


class _Mode(_sanitizer.CUDASanitizerDispatchMode):
    """The detector, off in the workers of a DataLoader, while a graph is captured, when nothing is carried out, and after `stop`."""

    off = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.off or torch.cuda.is_current_stream_capturing():
            return func(*args, **(kwargs or {}))
        return super().__torch_dispatch__(func, types, args, kwargs)


def watch() -> None:
    """Look for races from now on."""
    torch._C._activate_gpu_trace = lambda: None  # our own streams and events always report
    mode = _Mode()
    mode.event_handler.__class__ = _Handler
    os.register_at_fork(after_in_child=stop)
    mode.__enter__()


def stop() -> None:
    """Look no more: the detector takes a stack for every kernel, which a program of one stream need not pay."""
    _Mode.off = True
