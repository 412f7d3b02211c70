"""Make PyTorch's CPU build believe that it is a CUDA build on one of the machines of :mod:`tools.cuda_standin.profiles`."""

import ctypes
import importlib
import logging
import os
import sys
from collections.abc import Callable
from functools import cache
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

from tools.cuda_standin import driver
from tools.cuda_standin.profiles import PROFILES, Profile

CUDA = 1  # the number of the device type
ARCHITECTURES = "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120"


def patch(profile_name: str) -> None:
    """Supply what `torch` asks a CUDA build and its driver for."""
    import torch

    from tools.cuda_standin import streams  # it needs PyTorch

    profile, lib = PROFILES[profile_name], driver.library
    torch.cuda._raw_device_count_nvml = lambda: profile.gpus
    visible = torch.cuda._device_count_nvml()
    lib.standin_start(visible, ctypes.c_int64(profile.memory))
    torch.cuda.default_generators = tuple(torch.Generator() for _ in range(visible))
    for i, generator in enumerate(torch.cuda.default_generators):
        torch.ops.cuda_standin.set_generator(i, generator)
    for name, function in (_devices(torch, profile, visible) | _memory() | _copies(torch)).items():
        # Dynamo needs functions that it can hash.
        setattr(torch._C, name, lambda *args, call=function, **kwargs: call(*args, **kwargs))
    _be_a_cuda_build(torch, profile)
    _make_storages(torch)
    _refuse_forks(torch)
    streams.replace()
    _without_a_compiler(torch)
    if profile.broken:
        lib.standin_break()
    if profile.tf32:
        torch.set_float32_matmul_precision("high")
        _note_tf32()
    if profile.fake_tensors_touch_the_gpu:
        _fake_tensors_touch_the_gpu()
    if os.environ.pop("CUDA_STANDIN_RACES", None):  # in this process, not in its children
        from tools.cuda_standin import races

        races.watch()


def _devices(torch: ModuleType, profile: Profile, visible: int) -> dict[str, Callable[..., Any]]:
    """Return what devices and their streams are asked for."""
    lib = driver.library

    def exchange(i: int) -> int:
        before = lib.standin_exchange_device(i)
        if before == -2:  # the real call, which says what is wrong
            torch.empty(1, device=f"cuda:{i}")
        return before

    def start() -> None:
        if visible == 0:
            raise RuntimeError("No CUDA GPUs are available")
        torch.cuda._get_device_properties = lambda i: _properties(profile, i)

    def set_stream(stream_id: int, device_index: int, device_type: int) -> None:
        exchange(device_index)
        lib.standin_set_stream(device_index, ctypes.c_int64(stream_id))

    torch.cuda._exchange_device = torch.cuda._maybe_exchange_device = exchange
    return {
        # As on a real machine: one that was hidden before CUDA was first asked is not there, and no other is.
        "_cuda_getDeviceCount": cache(lambda: min(visible, torch.cuda._device_count_nvml())),
        "_cuda_init": start,
        "_cuda_getDevice": lib.standin_device,
        "_cuda_setDevice": exchange,
        "_cuda_synchronize": lib.standin_synchronize,
        "_cuda_sleep": lambda ticks: lib.standin_sleep(),
        "_cuda_getArchFlags": lambda: ARCHITECTURES,
        "_cuda_set_sync_debug_mode": lib.standin_sync_debug,
        "_cuda_get_sync_debug_mode": lib.standin_get_sync_debug,
        "_cuda_setStream": set_stream,
        "_cuda_getCurrentStream": lambda i: (lib.standin_stream(i), i, CUDA),
        "_cuda_getCurrentRawStream": lib.standin_stream,
        "_cuda_getDefaultStream": lambda i: (0, i, CUDA),
        "_cuda_canDeviceAccessPeer": lambda i, j: True,
        "_cuda_clearCublasWorkspaces": lambda: None,
    }


def _properties(profile: Profile, i: int) -> SimpleNamespace:
    """Return what the driver says about GPU `i`."""
    major, minor = profile.capability
    return SimpleNamespace(
        name=profile.name, major=major, minor=minor, total_memory=profile.memory,
        multi_processor_count=profile.multiprocessors, clock_rate=profile.clocks[0],
        memory_clock_rate=profile.clocks[1], memory_bus_width=profile.bus, warp_size=32, is_integrated=0,
        is_multi_gpu_board=0, max_threads_per_multi_processor=1536, max_threads_per_block=1024,
        regs_per_multiprocessor=65536, shared_memory_per_block=49152, shared_memory_per_block_optin=101376,
        shared_memory_per_multiprocessor=102400, L2_cache_size=32 * 2**20, gcnArchName=profile.name,
        uuid=f"{i:08x}-0000-0000-0000-000000000000", pci_bus_id=i, pci_device_id=0, pci_domain_id=0,
    )  # fmt: skip


def _memory() -> dict[str, Callable[..., Any]]:
    """Return what the allocator is asked for."""
    lib, shares = driver.library, {}

    def stats(i: int) -> dict[str, Any]:
        m = driver.memory(i)
        allocated, requested = (m["allocated"], m["peak"]), (m["requested"], m["requested_peak"])
        reserved = m["reserved"], m["reserved_peak"]
        bytes_of = {"allocated": allocated, "active": allocated, "requested": requested, "reserved": reserved}
        counted = {
            f"{name}_bytes": {"all": {"current": now, "peak": peak, "allocated": peak, "freed": peak - now}}
            for name, (now, peak) in bytes_of.items()
        }
        return counted | {"num_ooms": m["refused"], "num_alloc_retries": m["refused"]}

    def set_share(share: float, i: int) -> None:
        shares[i] = share
        lib.standin_share(i, ctypes.c_double(share))

    return {
        "_cuda_setMemoryFraction": set_share,
        "_cuda_getMemoryFraction": lambda i: shares.get(i, 1.0),
        "_cuda_emptyCache": lib.standin_empty_cache,
        "_cuda_memoryStats": stats,
        "_cuda_resetPeakMemoryStats": lib.standin_reset_peak,
        "_cuda_getAllocatorBackend": lambda: "native",
        "_host_emptyCache": lambda: None,
    }


def _copies(torch: ModuleType) -> dict[str, Callable[..., Any]]:
    """Return what copies tensors between GPUs."""
    return {
        "_broadcast": lambda tensor, devices: [tensor.to(_cuda(d)) for d in devices],
        "_broadcast_coalesced": lambda tensors, devices, size: [
            [t.detach().to(_cuda(d)) for t in tensors] for d in devices
        ],
        "_scatter": _scatter,
        "_gather": lambda tensors, dim, to: torch.cat([t.to(_cuda(to)) for t in tensors], dim),
    }


def _be_a_cuda_build(torch: ModuleType, profile: Profile) -> None:
    """Set the facts of a build with CUDA and its libraries."""
    torch._C._has_cuda = torch._C._has_cudnn = True
    torch.version.cuda = "13.0"
    free = profile.memory - 400 * 2**20
    torch.cuda._cudart = SimpleNamespace(
        cudaMemGetInfo=lambda i: (free - driver.memory(i)["reserved"], profile.memory), cudaGetErrorString=str
    )
    torch.backends.cuda.is_built = lambda: True
    torch.backends.cudnn._init = lambda: True
    torch.backends.cudnn.version = lambda: 91900
    torch.cuda.nccl.is_available = lambda tensors: False  # then tensors are added one by one


def _make_storages(torch: ModuleType) -> None:
    """Let a storage on the GPU be made by the device, which a CPU build refuses."""
    new = torch.UntypedStorage.__new__

    def storage(cls: type, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        if device is not None and torch.device(device).type == "cuda":
            return torch.empty(args[0], dtype=torch.uint8, device=device).untyped_storage()
        return new(cls, *args, **kwargs | ({} if device is None else {"device": device}))

    torch.UntypedStorage.__new__ = storage


def _cuda(i: int) -> str:
    return "cpu" if i in (-1, None) else f"cuda:{i}"


def _scatter(tensor: Any, devices: list[int], sizes: Any, dim: int, streams: Any) -> list[Any]:
    """Do what the C++ function does: as many chunks as devices at most, each on its own."""
    pieces = tensor.split(list(sizes), dim) if sizes else tensor.chunk(len(devices), dim)
    return [piece.to(_cuda(d), non_blocking=True) for piece, d in zip(pieces, devices, strict=False)]


def _note_tf32() -> None:
    """Note where a lesson measures a float32 product while TF32 is on, which only the environment has switched on."""

    @ctypes.CFUNCTYPE(None)
    def note() -> None:
        frame, measured, own = sys._getframe(), False, []
        while frame:
            name = frame.f_code.co_filename
            measured |= name.endswith(os.path.join("course_utils", "measure.py"))
            if name.endswith(".py") and "notebooks" in name or "ipykernel_" in name:
                own.append(frame.f_code.co_qualname)
            frame = frame.f_back
        if measured and own:
            driver.write_note(kind="tf32", what=f"{own[0]} is measured with TF32")

    driver.library.keep = note
    driver.library.standin_on_tf32(note)


def _refuse_forks(torch: ModuleType) -> None:
    """After a fork the child may not use CUDA again, if its parent has."""
    forked = SimpleNamespace(bad=False)

    def note() -> None:
        forked.bad = torch.cuda._initialized

    os.register_at_fork(after_in_child=note)
    torch.cuda._is_in_bad_fork = torch._C._cuda_isInBadFork = lambda: forked.bad


def _without_a_compiler(torch: ModuleType) -> None:
    """Let `torch.compile` on the GPU run the function as it is, with what Inductor logs about a small GPU.

    Triton has to be found, but is never used.
    """
    if "triton" not in sys.modules:
        triton = ModuleType("triton")
        triton.__spec__ = ModuleSpec("triton", None)
        find = sys.modules["importlib.util"].find_spec
        sys.modules["importlib.util"].find_spec = lambda name, package=None: (
            triton.__spec__ if name == "triton" else find(name, package)
        )
    real = torch.compile

    def compile(model=None, **options):
        if model is None:
            return lambda function: compile(function, **options)
        logging.disable(logging.WARNING)  # it misses Triton
        compiled, asked = real(model, **options), []
        importlib.import_module("torch._inductor.utils")
        logging.disable(logging.NOTSET)

        def run(*args, **kwargs):
            if not any(isinstance(a, torch.Tensor) and a.is_cuda for a in args):
                return compiled(*args, **kwargs)
            if not asked:
                from torch._inductor import utils

                asked.append(utils.is_big_gpu(args[0].device))  # as for every matrix product
            return model(*args, **kwargs)

        return run

    torch.compile = compile


def _fake_tensors_touch_the_gpu() -> None:
    """As PyTorch 2.11 does for every fake tensor on a GPU."""
    import torch
    from torch._subclasses import fake_tensor

    def init_gpu_context(device: Any) -> None:
        if device.type == "cuda":
            torch.empty(1, device=device)

    fake_tensor.init_gpu_context = init_gpu_context
