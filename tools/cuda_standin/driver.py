"""The device of the stand-in, as a library in C++: build it, load it, ask it; and the notes for the report."""

import ctypes
import json
import os
import subprocess
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).with_name("device.cpp")
library: ctypes.CDLL  # from `load` on
_noted: list[dict[str, Any]] = []


def build(target: Path) -> Path:
    """Compile the device for the installed PyTorch (about 15 s) into a folder, and return the library's path."""
    import torch

    folder, path = Path(torch.__file__).parent, target / "libcuda_standin.so"
    include = [f"-I{folder / 'include' / part}" for part in ("", "torch/csrc/api/include")]
    flags = ["-O1", "-std=c++20", "-fPIC", "-shared", "-w"]
    flags.append(f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}")
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
    """Load the device. Must come before PyTorch is imported, which asks only once whether there is CUDA."""
    global library
    for name in ("libc10.so", "libtorch_cpu.so"):
        ctypes.CDLL(os.path.join(torch_folder, "lib", name), mode=ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(os.environ["CUDA_STANDIN_LIBRARY"], mode=ctypes.RTLD_GLOBAL)
    library.standin_stream.restype = library.standin_freed.restype = ctypes.c_int64


def memory(i: int) -> dict[str, int]:
    """Return the allocator's counters of GPU `i`, in bytes."""
    values = (ctypes.c_int64 * 7)()
    library.standin_memory(i, values)
    names = ("allocated", "peak", "requested", "requested_peak", "reserved", "reserved_peak", "refused")
    return dict(zip(names, values, strict=True))


def freed() -> list[int]:
    """Return the addresses that were freed since the last call."""
    values = (ctypes.c_int64 * 4096)()
    found: list[int] = []
    while count := library.standin_freed(values, ctypes.c_int64(4096)):
        found += values[:count]
    return found


def write_note(**values: str) -> None:
    """Note something (``kind`` and ``what``) for the report, once, with the number of the cell that is running."""
    from IPython import get_ipython

    shell, path = get_ipython(), os.environ.get("CUDA_STANDIN_NOTES")
    cell = len(shell.user_ns["In"]) - 1 if shell else 0
    note = values | {"cell": cell}
    if path and note not in _noted:
        _noted.append(note)
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(note, ensure_ascii=False) + "\n")
