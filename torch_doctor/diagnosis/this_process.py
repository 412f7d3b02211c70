"""The state of the calling process, read without initializing CUDA."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from pathlib import Path
from typing import Any


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    return "ipykernel" in sys.modules and "IPython" in sys.modules


def command() -> list[str]:
    """Return the arguments that start the doctor again in the same way: ``["torch-doctor"]``."""
    program = os.path.abspath(sys.argv[0]) if sys.argv and sys.argv[0] else ""
    if os.path.basename(program) in ("torch-doctor", "torch-doctor.exe"):
        found = shutil.which("torch-doctor") or ""
        # On Windows, the ending of the program is not part of sys.argv[0].
        same = os.path.splitext(os.path.abspath(found))[0] == os.path.splitext(program)[0]
        return ["torch-doctor" if found and same else program]
    return [sys.executable, "-m", "torch_doctor"]


def variable_at_start(name: str) -> str | None:
    """Return the value of the environment variable `name` when this process began (Linux), or its current value."""
    try:
        entries = Path("/proc/self/environ").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        return os.environ.get(name)
    return dict(entry.partition("=")[::2] for entry in entries).get(name)


def driver_started(folder: str = "/proc/self/fd") -> bool:
    """Return whether this process has initialized the GPU driver, which then has its device files open (Linux)."""
    try:
        opened = [os.readlink(os.path.join(folder, name)) for name in os.listdir(folder)]
    except OSError:
        return False
    return any(path in ("/dev/nvidia-uvm", "/dev/dxg", "/dev/kfd") for path in opened)


def _last_error(torch: Any) -> str:
    """Return the CUDA error of this process (``"RuntimeError: CUDA error: …"``), or ``""``.

    Synchronizing may take as long as the running kernels, so it happens in a thread that is left alone after a second.
    """
    errors: list[str] = []

    def synchronize() -> None:
        try:
            torch.cuda.synchronize()
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}".splitlines()[0][:300])

    thread = threading.Thread(target=synchronize, daemon=True)
    thread.start()
    thread.join(1.0)
    return "".join(errors)


def state() -> dict[str, Any]:
    """Return whether this process is a notebook, whether it has initialized CUDA, and its settings.

    Does not import torch, and calls CUDA only if it is initialized already. An example::

        {"notebook": True, "visible_at_start": None, "visible_now": "0", "bad_fork": False, "initialized": True,
         "anomaly": False, "deterministic": False, "default_dtype": "float32", "cuda_asked": True, "count": 1,
         "cuda_error": ""}
    """
    name = "CUDA_VISIBLE_DEVICES"
    found: dict[str, Any] = {
        "notebook": in_notebook(),
        "visible_at_start": variable_at_start(name),
        "visible_now": os.environ.get(name),
    }
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "cuda"):
        return found
    try:
        found["bad_fork"] = bool(torch.cuda._is_in_bad_fork())
        found["initialized"] = bool(torch.cuda.is_initialized())
        found["anomaly"] = bool(torch.is_anomaly_enabled())
        found["deterministic"] = bool(torch.are_deterministic_algorithms_enabled())
        found["default_dtype"] = str(torch.get_default_dtype()).removeprefix("torch.")
        if found["bad_fork"]:
            return found
        # device_count() and is_available() would initialize CUDA. Whether the driver's library is loaded says nothing,
        # because `import torch` may load it; its open device files do.
        found["cuda_asked"] = found["initialized"] or driver_started()
        if found["initialized"]:
            found["count"] = torch.cuda.device_count()
            found["cuda_error"] = _last_error(torch)
        elif found["cuda_asked"] and hasattr(torch._C, "_cuda_getDeviceCount"):
            # The driver is initialized already, and repeats its first answer.
            found["count"] = torch._C._cuda_getDeviceCount()
    except Exception as error:
        found["error"] = f"{type(error).__name__}: {error}"[:300]
    return found
