"""What ``torch.get_device_module("practice")`` offers, in the words of ``torch.cuda``."""

import types
from collections import Counter
from typing import Any

import torch

from practice_gpu import Seconds, generators, memory, streams
from practice_gpu.looking import clock
from practice_gpu.simulation import Work
from practice_gpu.state import NAME, state

_TICKS = 1.5e9  # of the processor's clock, per second: what `_sleep` counts


def _sleep(ticks: int) -> None:
    """Let the current stream be busy with one small kernel, as ``torch.cuda._sleep`` does."""
    with state.lock:
        key = state.key(state.chosen.device)
        state.launch(Work("kernel", "spin", key, ticks / _TICKS, "compute", share=1e-6))


def _counted(name: str) -> Any:
    """Return a function that returns one of the counts of a device's memory, in bytes."""
    return lambda device=None: memory_stats(device)[name]


def reset_peak_memory_stats(device: Any = None) -> None:
    """Let the peaks of a device be what it holds now."""
    memory.reset_peaks(state.index(device))


def memory_stats(device: Any = None) -> Counter[str]:
    """Return the bytes of a device by the names that PyTorch gives them."""
    return Counter(memory.counts(state.index(device)))


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Return the free and all bytes of a device."""
    return state.memory - memory_stats(device)[memory.RESERVED], state.memory


def set_sync_debug_mode(mode: int | str) -> None:
    """Say what happens where the host waits although nobody asked it to.

    Args:
        mode: ``"default"``, ``"warn"`` or ``"error"``, or 0, 1, 2.

    Raises:
        ValueError: It is none of these.
    """
    names = ("default", "warn", "error")
    if mode not in (*names, 0, 1, 2):
        raise ValueError(f"the sync debug mode is one of {', '.join(names)} or 0, 1, 2, not {mode!r}")
    state.sync_debug = names.index(mode) if isinstance(mode, str) else mode


def get_device_name(device: Any = None) -> str:
    """Return the name of a device, which says on what it is modelled."""
    return f"practice GPU (modelled on {state.profile.name})"


def set_per_process_memory_fraction(fraction: float, device: Any = None) -> None:
    """Let each device hold at most this share of the card's memory.

    Args:
        fraction: Between 0 and 1.
        device: Which one; the limit is that of all.
    """
    state.fraction = fraction


def get_device_properties(device: Any = None) -> types.SimpleNamespace:
    """Return the name, the memory, the number of multiprocessors and the compute capability of a device."""
    names = "name", "total_memory", "multi_processor_count", "major", "minor"
    card = get_device_name(), state.memory, state.profile.multiprocessors, *get_device_capability(device)
    return types.SimpleNamespace(**dict(zip(names, card, strict=True)))


def get_device_capability(device: Any = None) -> tuple[int, int]:
    """Return the compute capability of the card that is modelled."""
    state.index(device)
    return divmod(round(10 * state.profile.capability), 10)


def module() -> types.ModuleType:
    """Return the module."""
    made = types.ModuleType(f"torch.{NAME}", "A GPU in software; see practice_gpu.")
    one = lambda value: lambda *_: value  # noqa: E731
    by_device = lambda device=None: generators.defaults[state.index(device)]  # noqa: E731
    for function in (
        _sleep, reset_peak_memory_stats, memory_stats, mem_get_info, set_per_process_memory_fraction,
        set_sync_debug_mode, get_device_name, get_device_capability, get_device_properties, streams.Stream,
        streams.Event, streams.current_stream, streams.set_stream, streams.synchronize, memory.empty_cache,
        torch.OutOfMemoryError, clock, Seconds,
    ):  # fmt: skip
        setattr(made, function.__name__, function)
    made.__dict__.update(
        stream=streams.stream_context, default_stream=lambda device=None: streams.Stream(device, stream_id=0),
        device=streams.on_device, _exchange_device=streams.exchange_device, _maybe_exchange_device=streams.exchange_device,
        device_of=lambda tensor: streams.on_device(None if tensor.is_cpu else tensor.get_device()),
        current_device=lambda: state.chosen.device, set_device=lambda device: streams.exchange_device(state.index(device)),
        device_count=lambda: state.count, is_available=lambda: state.count > 0, is_initialized=lambda: state.count > 0,
        memory_allocated=_counted(memory.ALLOCATED), memory_reserved=_counted(memory.RESERVED),
        max_memory_allocated=_counted("allocated_bytes.all.peak"),
        max_memory_reserved=_counted("reserved_bytes.all.peak"),
        # Every card can emulate bfloat16.
        is_bf16_supported=lambda including_emulation=True: including_emulation or state.profile.capability >= 8,
        manual_seed_all=lambda seed: [generator.manual_seed(seed) for generator in generators.defaults],
        manual_seed=lambda seed: by_device().manual_seed(seed), initial_seed=lambda: by_device().initial_seed(),
        get_rng_state=lambda device=None: by_device(device).get_state(),
        set_rng_state=lambda new, device=None: by_device(device).set_state(new),
        get_sync_debug_mode=lambda: state.sync_debug, get_amp_supported_dtype=lambda: [torch.float16, torch.bfloat16, torch.float32],
        _is_in_bad_fork=one(False), _lazy_init=one(None),
    )  # fmt: skip
    return made
