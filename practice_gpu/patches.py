"""Everything that practice_gpu registers with PyTorch, and everything in PyTorch that it replaces.

Registered for good (PyTorch cannot take it back): the name of the device, its kernels, its autocast rules, the methods
``Tensor.practice()`` and so on. Replaced, and put back by `undo`: what `_replacements` lists, each with its reason.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._device import _device_constructors

from practice_gpu import autocast, copies, interface, kernels, memory, operators, stand_ins, streams
from practice_gpu.state import NAME, state

_KEY = "PrivateUse1"
_libraries: list[Any] = []  # what they register ends with them
_before: list[tuple[Any, str, Any]] = []
_MISSING = object()


def registered() -> bool:
    """Return whether the device is registered."""
    return bool(_libraries)


def register() -> None:
    """Register the device, unless that is done: once per process.

    Raises:
        RuntimeError: Another extension has taken PyTorch's place for a device of one's own.
    """
    if registered():
        return
    torch.utils.backend_registration._setup_privateuseone_for_python_backend(
        NAME, backend_module=interface.module(), device_guard=stand_ins.Guard()
    )
    torch.utils.backend_registration._generate_storage_methods_for_privateuse1_backend(NAME)
    library = torch._C._dispatch_library("IMPL", "aten", "")
    own: dict[str, Any] = {"copy_": copies.copy_, "_to_copy": copies.to_copy, **kernels.KERNELS}
    for name, kernel in own.items():
        library.impl(name, _KEY, kernel)
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    for full in torch._C._dispatch_get_all_op_names():
        if full.startswith("aten::") and full[6:] not in own and not full.startswith("aten::quantize"):
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
        from practice_gpu import distributed

        distributed.register()
    _libraries.extend((library, missing, autocast.register(library)))


def _refuse(op: Any, *args: Any, **kwargs: Any) -> Any:
    raise NotImplementedError(
        f"practice_gpu cannot run {op}: the CPU has no kernel for such tensors, or PyTorch no rule"
    )


def _replacements() -> Iterator[tuple[Any, str, Any]]:
    """Yield (where, name, what stands there from `start` on)."""
    # PyTorch's guard for devices in Python knows no streams and one device: bare streams and events would do nothing.
    yield torch, "Stream", streams.Stream
    yield torch, "Event", streams.Event
    yield torch, "Generator", stand_ins.generator_class(torch.Generator)
    core = torch._C
    for name, function in {
        "getDeviceIndex": lambda: state.chosen.device, "setDeviceIndex": streams.exchange_device,
        "exchangeDevice": streams.exchange_device, "maybeExchangeDevice": streams.exchange_device,
        "getStream": streams.current_stream, "setStream": streams.set_stream, "synchronizeDevice": streams.synchronize,
        "emptyCache": lambda: memory.empty_cache(), "isAllocatorInitialized": lambda: True,
        "getDeviceStats": interface.memory_stats, "resetPeakStats": interface.reset_peak_memory_stats,
        "getMemoryInfo": interface.mem_get_info,
    }.items():  # fmt: skip
        if hasattr(core, f"_accelerator_{name}"):
            yield core, f"_accelerator_{name}", function
    # The same guard lets the threads of autograd know one device only: backward runs in the thread that calls it.
    for where in (torch.autograd, torch.autograd.graph):
        yield where, "_engine_run_backward", stand_ins.single_thread(where._engine_run_backward)
    # Module.to keeps its Parameter objects only where `parameter.data = ...` may change the device.
    name = "_has_compatible_shallow_copy_type"
    yield torch, name, stand_ins.compatible(getattr(torch, name))
    yield torch.Tensor, "__setitem__", stand_ins.item_setter(torch.Tensor.__setitem__)
    yield torch.Tensor, "data", stand_ins.data_property(torch.Tensor.data)
    # There is no allocator in C++ that could make a storage (torch.load, copy.deepcopy) or pinned memory.
    yield torch.UntypedStorage, "__new__", stand_ins.storage_maker(torch.UntypedStorage.__new__)
    _device_constructors()  # a cached set of the functions that are replaced now
    makers = "empty zeros ones full rand randn randint arange tensor".split()
    makers += "empty_like zeros_like ones_like rand_like randn_like full_like".split()
    for name in makers:
        yield torch, name, stand_ins.pinned_maker(getattr(torch, name))
    # DataParallel's copies, which PyTorch has for CUDA only.
    for function in stand_ins.PARALLEL:
        yield core, function.__name__, function


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
