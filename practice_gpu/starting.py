"""Start and stop: the checks, and what is fresh each time."""

from __future__ import annotations

from typing import Any

try:
    import torch
except ImportError as error:
    raise RuntimeError(
        "practice_gpu needs PyTorch 2.10 or newer, and there is none: pip install torch"
    ) from error

from practice_gpu import copies, memory, operators, patches
from practice_gpu.profiles import profile
from practice_gpu.state import NAME, state

_registered: list[bool] = []


def _real_gpu() -> torch.device | None:
    """Return the real accelerator of this machine, if it has one."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    found: Any = None if _registered else torch.accelerator.current_accelerator(check_available=True)
    return None if found is None or found.type == NAME else found


def start(card: str, count: int, memory_limit: int | None, blocking: bool) -> list[torch.device]:
    """Start, as `practice_gpu.start` says."""
    if (real := _real_gpu()) is not None:
        raise RuntimeError(
            f"practice_gpu does not start beside a real GPU: use {real}. PyTorch knows one accelerator at a time, "
            "and modelled times are no match for measured ones"
        )
    if not hasattr(torch.utils.backend_registration, "_setup_privateuseone_for_python_backend"):
        raise RuntimeError(f"practice_gpu needs PyTorch 2.10 or newer; this is {torch.__version__}")
    if count < 1:
        raise ValueError(f"practice_gpu needs at least one device, not {count}")
    chosen = profile(card)
    with state.lock:
        if not _registered:
            patches.register()
            _registered.append(True)
        patches.replace()
        state.machine.run(float("inf"))  # what is under way still has its effect
        memory.forget()
        state.fresh()
        state.profile, state.count, state.memory = chosen, count, memory_limit or chosen.memory
        state.blocking, state.sync_debug = blocking, 0
        state.chosen.device = 0
        state.chosen.streams.clear()
        operators.generators[:] = [operators.Generator(index) for index in range(count)]
        for generator in operators.generators:
            generator.manual_seed(torch.initial_seed())
    return [torch.device(NAME, index) for index in range(count)]


def stop() -> None:
    """Stop, as `practice_gpu.stop` says."""
    with state.lock:
        if state.count:
            state.machine.run(float("inf"))
            patches.undo()
            copies.watch_the_host(False)
            state.count = 0


def device() -> torch.device:
    """Return a device, as `practice_gpu.device` says."""
    real = _real_gpu()
    if real is not None:
        return real
    return torch.device(NAME, 0) if state.count else start("T4", 1, None, False)[0]
