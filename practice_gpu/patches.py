"""Everything that practice_gpu registers with PyTorch, and everything in PyTorch that it replaces.

Registered for good (PyTorch cannot take it back): the name of the device, its kernels, its autocast rules, the methods
``Tensor.practice()`` and so on. Replaced, and put back by `undo`: what `_replacements` lists, each with its reason.
"""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._device import _device_constructors

from practice_gpu import autocast, copies, distributed, interface, kernels, memory, operators, stand_ins
from practice_gpu.state import NAME, state

_KEY = "PrivateUse1"
_libraries: list[Any] = []  # what they register ends with them
_before: list[tuple[Any, str, Any]] = []
_MISSING = object()


def register() -> None:
    """Register the device, once per process.

    Raises:
        RuntimeError: Another extension has taken PyTorch's place for a device of one's own.
    """
    from torch.utils import backend_registration

    backend_registration._setup_privateuseone_for_python_backend(
        NAME, backend_module=_module(), device_guard=stand_ins.Guard()
    )
    backend_registration._generate_storage_methods_for_privateuse1_backend(NAME)
    library = torch._C._dispatch_library("IMPL", "aten", "")
    own: dict[str, Callable[..., Any]] = {
        "copy_": copies.copy_,
        "_to_copy": copies.to_copy,
        **kernels.KERNELS,
    }
    for name, kernel in own.items():
        library.impl(name, _KEY, kernel)
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    for full in torch._C._dispatch_get_all_op_names():
        if full.startswith("aten::") and full[6:] not in own:
            if has(full, "CPU") or full in ("aten::convolution", "aten::convolution_backward"):
                library.impl(full[6:], _KEY, operators.Operator(full))
    for name, cell in kernels.CELLS.items():
        library.impl(name, _KEY, cell)
        library.impl(name, "Autograd" + _KEY, cell)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that kernels are replaced
        library.impl("is_pinned", "CPU", copies.is_pinned)
        library.impl("_pin_memory", "CPU", copies.pin_memory)
    missing = torch.library.Library("_", "IMPL")
    for key in (_KEY, "Sparse" + _KEY, "SparseCsr" + _KEY, "Quantized" + _KEY, "NestedTensor" + _KEY):
        missing.fallback(_refuse, key)
    if torch.distributed.is_available():
        distributed.register()
    _libraries.extend((library, missing, autocast.register(library)))


def _refuse(op: Any, *args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError(
        f"practice_gpu cannot run {op}: the CPU has no kernel for such tensors, or PyTorch no rule"
    )


def _module() -> types.ModuleType:
    from practice_gpu import Seconds, clock

    module = types.ModuleType(f"torch.{NAME}", "A GPU in software; see practice_gpu.")
    face = interface
    one = lambda value: lambda *_: value  # noqa: E731
    module.__dict__.update(
        Stream=face.Stream, Event=face.Event, stream=face.stream_context, current_stream=face.current_stream,
        default_stream=lambda device=None: face.Stream(device, stream_id=0), set_stream=face.set_stream,
        synchronize=face.synchronize, _sleep=face.sleep, device=face.on_device, _exchange_device=face.exchange_device,
        _maybe_exchange_device=face.exchange_device, device_of=lambda t: face.on_device(None if t.is_cpu else t.get_device()),
        device_count=lambda: state.count, is_available=lambda: state.count > 0, is_initialized=lambda: state.count > 0,
        current_device=lambda: state.chosen.device, set_device=lambda device: face.exchange_device(state.index(device)),
        memory_allocated=face.counted("allocated"), memory_reserved=face.counted("reserved"),
        max_memory_allocated=face.counted("allocated_peak"), max_memory_reserved=face.counted("reserved_peak"),
        memory_stats=face.memory_stats, reset_peak_memory_stats=face.reset_peak_memory_stats,
        mem_get_info=face.mem_get_info, empty_cache=lambda: memory.empty_cache(),
        get_device_name=lambda device=None: f"practice GPU (modelled on {state.profile.name})",
        get_device_properties=face.properties, get_device_capability=one((0, 0)),
        manual_seed=lambda seed: operators.generators[state.chosen.device].manual_seed(seed),
        manual_seed_all=face.seed_all, initial_seed=lambda: operators.generators[state.chosen.device].initial_seed(),
        get_rng_state=lambda device=None: operators.generators[state.index(device)].get_state(),
        set_rng_state=lambda new, device=None: operators.generators[state.index(device)].set_state(new),
        set_sync_debug_mode=face.set_sync_debug_mode, get_sync_debug_mode=lambda: state.sync_debug,
        get_amp_supported_dtype=lambda: [torch.float16, torch.bfloat16, torch.float32], is_bf16_supported=one(True),
        OutOfMemoryError=torch.OutOfMemoryError, _is_in_bad_fork=one(False), _lazy_init=one(None),
        clock=clock, Seconds=Seconds,
    )  # fmt: skip
    return module


def _replacements() -> Iterator[tuple[Any, str, Any]]:
    """Yield (where, name, what stands there from `start` on)."""
    # PyTorch's guard for devices in Python knows no streams and one device: bare streams and events would do nothing.
    yield torch, "Stream", interface.Stream
    yield torch, "Event", interface.Event
    yield torch, "Generator", stand_ins.generator_class(torch.Generator)
    core, face = torch._C, interface
    for name, function in {
        "getDeviceIndex": lambda: state.chosen.device, "setDeviceIndex": face.exchange_device,
        "exchangeDevice": face.exchange_device, "maybeExchangeDevice": face.exchange_device,
        "getStream": face.current_stream, "setStream": face.set_stream, "synchronizeDevice": face.synchronize,
        "emptyCache": lambda: memory.empty_cache(), "isAllocatorInitialized": lambda: True,
        "getDeviceStats": face.memory_stats, "resetPeakStats": face.reset_peak_memory_stats,
        "getMemoryInfo": face.mem_get_info,
    }.items():  # fmt: skip
        if hasattr(core, f"_accelerator_{name}"):
            yield core, f"_accelerator_{name}", function
    # The same guard lets the threads of autograd know one device only: backward runs in the thread that calls it.
    graph = torch.autograd.graph
    yield graph, "_engine_run_backward", stand_ins.single_thread(graph._engine_run_backward)
    yield torch.autograd, "_engine_run_backward", stand_ins.single_thread(torch.autograd._engine_run_backward)
    # Module.to keeps its Parameter objects only where `parameter.data = ...` may change the device.
    yield (
        torch,
        "_has_compatible_shallow_copy_type",
        stand_ins.compatible(torch._has_compatible_shallow_copy_type),
    )
    yield torch.Tensor, "data", stand_ins.data_property(torch.Tensor.data)
    # There is no allocator in C++ that could make a storage (torch.load, copy.deepcopy) or pinned memory.
    yield torch.UntypedStorage, "__new__", stand_ins.storage_maker(torch.UntypedStorage.__new__)
    _device_constructors()  # a cached set of the functions that are replaced now
    for name in "empty zeros ones full rand randn randint arange tensor empty_like zeros_like ones_like rand_like randn_like full_like".split():
        yield torch, name, stand_ins.pinned_maker(getattr(torch, name))
    # DataParallel's copies, which PyTorch has for CUDA only.
    for name in ("_scatter", "_gather", "_broadcast", "_broadcast_coalesced"):
        yield core, name, getattr(stand_ins, name[1:])


def replace() -> None:
    """Replace what `_replacements` lists, unless that is done."""
    if not _before:
        for where, name, new in [*_replacements()]:
            _before.append((where, name, vars(where).get(name, _MISSING)))
            setattr(where, name, new)


def undo() -> None:
    """Put back what was there before `replace`."""
    while _before:
        where, name, old = _before.pop()
        if old is _MISSING:
            delattr(where, name)
        else:
            setattr(where, name, old)
