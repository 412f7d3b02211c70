"""Make PyTorch's CPU build believe that it is a CUDA build on one of the machines of :mod:`tools.cuda_standin.profiles`."""

from __future__ import annotations

import ctypes
import importlib
import json
import logging
import os
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from tools.cuda_standin.profiles import PROFILES

SOURCE = Path(__file__).with_name("device.cpp")
CUDA = 1  # the number of the device type
ARCHITECTURES = "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120"
_library: ctypes.CDLL


def build(target: Path) -> Path:
    """Compile the device for the installed PyTorch (about 15 s), and return the library's path.

    Args:
        target: Folder for the library.

    Raises:
        RuntimeError: There is no compiler, or it refuses.
    """
    import torch

    folder, path = Path(torch.__file__).parent, target / "libcuda_standin.so"
    include = [f"-I{folder / 'include' / part}" for part in ("", "torch/csrc/api/include")]
    flags = [
        "-O1",
        "-std=c++20",
        "-fPIC",
        "-shared",
        "-w",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
    ]
    command = [os.environ.get("CXX", "g++"), *flags, *include, str(SOURCE), "-o", str(path)]
    command += [f"-L{folder / 'lib'}", "-ltorch_cpu", "-lc10"]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        raise RuntimeError(f"the stand-in needs a C++ compiler: {error}") from error
    if done.returncode:
        raise RuntimeError(f"the device of the stand-in does not compile:\n{done.stderr[-3000:]}")
    return path


def load(torch_folder: str) -> None:
    """Load the device. Must come before PyTorch is imported, which asks only once whether there is CUDA.

    Args:
        torch_folder: Where PyTorch is installed.
    """
    global _library
    for name in ("libc10.so", "libtorch_cpu.so"):
        ctypes.CDLL(os.path.join(torch_folder, "lib", name), mode=ctypes.RTLD_GLOBAL)
    _library = ctypes.CDLL(os.environ["CUDA_STANDIN_LIBRARY"], mode=ctypes.RTLD_GLOBAL)
    _library.standin_stream.restype = _library.standin_freed.restype = ctypes.c_int64


def memory(i: int) -> dict[str, int]:
    """Return the allocator's counters of GPU `i`, in bytes."""
    values = (ctypes.c_int64 * 7)()
    _library.standin_memory(i, values)
    names = ("allocated", "peak", "requested", "requested_peak", "reserved", "reserved_peak", "refused")
    return dict(zip(names, values, strict=True))


def freed() -> list[int]:
    """Return the addresses that were freed since the last call."""
    values = (ctypes.c_int64 * 4096)()
    found: list[int] = []
    while count := _library.standin_freed(values, ctypes.c_int64(4096)):
        found += values[:count]
    return found


def patch(profile_name: str) -> None:
    """Supply what `torch` asks a CUDA build and its driver for.

    Args:
        profile_name: A key of :data:`~tools.cuda_standin.profiles.PROFILES`.
    """
    import torch

    profile, lib = PROFILES[profile_name], _library
    gpus = profile.gpus
    torch.cuda._raw_device_count_nvml = lambda: gpus
    visible = torch.cuda._device_count_nvml()
    lib.standin_start(visible, ctypes.c_int64(profile.memory))
    generators = tuple(torch.Generator() for _ in range(visible))
    for i, generator in enumerate(generators):
        torch.ops.cuda_standin.set_generator(i, generator)
    torch.cuda.default_generators = generators

    def exchange(i: int) -> int:
        before = lib.standin_exchange_device(i)
        if before == -2:  # the real call, which says what is wrong
            torch.empty(1, device=f"cuda:{i}")
        return before

    def stats(i: int) -> dict[str, Any]:
        m = memory(i)
        held = SimpleNamespace(
            allocated=(m["allocated"], m["peak"]), requested=(m["requested"], m["requested_peak"]),
            reserved=(m["reserved"], m["reserved_peak"]),
        )  # fmt: skip
        bytes_of = {
            "allocated": held.allocated,
            "active": held.allocated,
            "requested": held.requested,
            "reserved": held.reserved,
        }
        counted = {
            f"{name}_bytes": {"all": {"current": now, "peak": peak, "allocated": peak, "freed": peak - now}}
            for name, (now, peak) in bytes_of.items()
        }
        return counted | {"num_ooms": m["refused"], "num_alloc_retries": m["refused"]}

    shares = {}

    def set_share(share: float, i: int) -> None:
        shares[i] = share
        lib.standin_share(i, ctypes.c_double(share))

    def properties(i: int) -> SimpleNamespace:
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

    def start() -> None:
        if visible == 0:
            raise RuntimeError("No CUDA GPUs are available")
        torch.cuda._get_device_properties = properties

    def stream_data(i: int) -> tuple[int, int, int]:
        return lib.standin_stream(i), i, CUDA

    functions = {
        "_cuda_getDeviceCount": lambda: visible,
        "_cuda_init": start,
        "_cuda_getDevice": lib.standin_device,
        "_cuda_setDevice": exchange,
        "_cuda_synchronize": lib.standin_synchronize,
        "_cuda_sleep": lambda ticks: lib.standin_sleep(),
        "_cuda_getArchFlags": lambda: ARCHITECTURES,
        "_cuda_set_sync_debug_mode": lib.standin_sync_debug,
        "_cuda_get_sync_debug_mode": lib.standin_get_sync_debug,
        "_cuda_setMemoryFraction": set_share,
        "_cuda_getMemoryFraction": lambda i: shares.get(i, 1.0),
        "_cuda_emptyCache": lib.standin_empty_cache,
        "_cuda_memoryStats": stats,
        "_cuda_resetPeakMemoryStats": lib.standin_reset_peak,
        "_cuda_setStream": lambda stream_id, device_index, device_type: (
            exchange(device_index), lib.standin_set_stream(device_index, ctypes.c_int64(stream_id))
        ),
        "_cuda_getCurrentStream": stream_data,
        "_cuda_getCurrentRawStream": lib.standin_stream,
        "_cuda_getDefaultStream": lambda i: (0, i, CUDA),
        "_cuda_getAllocatorBackend": lambda: "native",
        "_cuda_canDeviceAccessPeer": lambda i, j: True,
        "_cuda_clearCublasWorkspaces": lambda: None,
        "_host_emptyCache": lambda: None,
        "_broadcast": lambda tensor, devices: [tensor.to(_cuda(d)) for d in devices],
        "_broadcast_coalesced": lambda tensors, devices, size: [[t.detach().to(_cuda(d)) for t in tensors] for d in devices],
        "_scatter": _scatter,
        "_gather": lambda tensors, dim, to: torch.cat([t.to(_cuda(to)) for t in tensors], dim),
    }  # fmt: skip
    for name, function in functions.items():
        setattr(
            torch._C, name, lambda *args, call=function, **kwargs: call(*args, **kwargs)
        )  # Dynamo needs hashable ones
    torch._C._has_cuda = torch._C._has_cudnn = True
    torch.version.cuda = "13.0"
    torch.cuda._cudart = SimpleNamespace(
        cudaMemGetInfo=lambda i: (profile.memory - memory(i)["reserved"] - 400 * 2**20, profile.memory),
        cudaGetErrorString=str,
    )
    torch.cuda._exchange_device = torch.cuda._maybe_exchange_device = exchange
    torch.backends.cuda.is_built = lambda: True
    torch.backends.cudnn._init = lambda: True
    torch.backends.cudnn.version = lambda: 91900
    torch.cuda.nccl.is_available = lambda tensors: False  # then tensors are added one by one
    new_storage = torch.UntypedStorage.__new__

    def storage(cls: type, *args: Any, device: Any = None, **kwargs: Any) -> Any:
        if device is not None and torch.device(device).type == "cuda":
            return torch.empty(args[0], dtype=torch.uint8, device=device).untyped_storage()
        return (
            new_storage(cls, *args, **kwargs)
            if device is None
            else new_storage(cls, *args, device=device, **kwargs)
        )

    torch.UntypedStorage.__new__ = storage
    _refuse_forks(torch)
    _replace_classes(torch)
    _without_a_compiler(torch)
    if profile.broken:
        lib.standin_break()
    if profile.tf32:
        torch.set_float32_matmul_precision("high")
        _note_tf32(lib)
    if profile.fake_tensors_touch_the_gpu:
        _fake_tensors_touch_the_gpu()
    if os.environ.pop("CUDA_STANDIN_RACES", None):  # in this process, not in its children
        from tools.cuda_standin import races

        races.watch()


def _cuda(i: int) -> str:
    return "cpu" if i in (-1, None) else f"cuda:{i}"


def _scatter(tensor: Any, devices: list[int], sizes: Any, dim: int, streams: Any) -> list[Any]:
    """Do what the C++ function does: as many chunks as devices at most, each on its own."""
    pieces = tensor.split(list(sizes), dim) if sizes else tensor.chunk(len(devices), dim)
    return [piece.to(_cuda(d), non_blocking=True) for piece, d in zip(pieces, devices, strict=False)]


def _note_tf32(lib: ctypes.CDLL) -> None:
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
            write_note(kind="tf32", what=f"{own[0]} is measured with TF32")

    lib.keep = note
    lib.standin_on_tf32(note)


def write_note(**values: str) -> None:
    """Note something for the report, once, with the number of the cell that is running.

    Args:
        values: ``kind`` and ``what``.
    """
    from IPython import get_ipython

    shell, path = get_ipython(), os.environ.get("CUDA_STANDIN_NOTES")
    cell = len(shell.user_ns["In"]) - 1 if shell else 0
    note = values | {"cell": cell}
    if path and note not in _noted:
        _noted.append(note)
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(note, ensure_ascii=False) + "\n")


_noted: list[dict[str, Any]] = []


def _refuse_forks(torch: ModuleType) -> None:
    """After a fork the child may not use CUDA again, if its parent has."""
    forked = SimpleNamespace(bad=False)

    def note() -> None:
        forked.bad = torch.cuda._initialized

    os.register_at_fork(after_in_child=note)
    torch.cuda._is_in_bad_fork = torch._C._cuda_isInBadFork = lambda: forked.bad


def _replace_classes(torch: ModuleType) -> None:
    """Put streams, events and graphs in the place of the dummies that a CPU build has.

    The first two are PyTorch's own classes for all backends. They also report to `torch.cuda._gpu_trace`, as the real
    ones do, so that PyTorch's detector of races works.
    """
    from torch.cuda import _gpu_trace as trace

    fire = {name: getattr(trace, f"{name}Callbacks").fire_callbacks for name in (
        "EventCreation", "EventRecord", "EventWait", "EventSynchronization", "StreamCreation", "StreamSynchronization",
        "DeviceSynchronization")}  # fmt: skip

    class Event:
        def __init__(self, enable_timing=False, blocking=False, interprocess=False):
            self.event = torch.Event(torch.device("cuda", lib.standin_device()), enable_timing=True)
            self.timed, self.recorded = enable_timing, False
            fire["EventCreation"](id(self))

        def query(self):
            return self.event.query()

        def record(self, stream=None):
            stream = torch.cuda.current_stream() if stream is None else stream
            self.recorded = True
            self.event.record(stream)
            fire["EventRecord"](id(self), stream.stream_id)

        def wait(self, stream=None):
            stream = torch.cuda.current_stream() if stream is None else stream
            self.event.wait(stream)
            fire["EventWait"](id(self), stream.stream_id)

        def synchronize(self):
            self.event.synchronize()
            fire["EventSynchronization"](id(self))

        def elapsed_time(self, end_event):
            if not (self.timed and end_event.timed):
                raise ValueError("Both events must be created with argument 'enable_timing=True'.")
            if not (self.recorded and end_event.recorded):
                raise ValueError("Both events must be recorded before calculating elapsed time.")
            return self.event.elapsed_time(end_event.event)

    class Stream(torch.Stream):
        def __new__(cls, device=None, priority=0, **kwargs):
            if kwargs:
                return super().__new__(cls, **kwargs)
            i = torch.cuda._utils._get_device_index(device, optional=True)
            stream = super().__new__(cls, device=torch.device("cuda", i), priority=priority)
            fire["StreamCreation"](stream.stream_id)
            return stream

        def __init__(self, *_, **__):
            pass

        @property
        def cuda_stream(self):
            return self.stream_id

        def record_event(self, event=None):
            event = Event() if event is None else event
            event.record(self)
            return event

        def wait_event(self, event):
            event.wait(self)

        def wait_stream(self, stream):
            self.wait_event(Stream.record_event(stream))

        def synchronize(self):
            super().synchronize()
            fire["StreamSynchronization"](self.stream_id)

    class CUDAGraph:
        def capture_begin(self, *_, **__):
            capturing.add(id(self))
            lib.standin_graph_begin(ctypes.c_int64(id(self)))

        def capture_end(self):
            lib.standin_graph_end()
            capturing.clear()

        def replay(self):
            lib.standin_graph_replay(ctypes.c_int64(id(self)))

        def reset(self):
            lib.standin_graph_reset(ctypes.c_int64(id(self)))

        __del__ = reset

        def pool(self):
            return (0, id(self))

    lib, capturing = _library, set()
    torch.cuda.is_current_stream_capturing = lambda: bool(capturing)
    for owner in (torch.cuda, torch.cuda.streams, torch.cuda.graphs):
        owner.Stream, owner.Event, owner.CUDAGraph = Stream, Event, CUDAGraph
    wait = torch.cuda.synchronize

    def synchronize(device=None):
        wait(device)
        fire["DeviceSynchronization"]()

    torch.cuda.synchronize = synchronize


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
