"""What the process that asks knows about itself, without starting CUDA in it."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any


def in_notebook() -> bool:
    """Return whether this process is a notebook's kernel."""
    return "ipykernel" in sys.modules and "IPython" in sys.modules


def variable_at_start(name: str) -> str | None:
    """Return the value that `name` had when this process began (Linux), or its value now."""
    try:
        with open("/proc/self/environ", "rb") as file:
            for entry in file.read().split(b"\0"):
                key, _, value = entry.partition(b"=")
                if key.decode("utf-8", "replace") == name:
                    return value.decode("utf-8", "replace")
        return None
    except OSError:
        return os.environ.get(name)


def driver_started(folder: str = "/proc/self/fd") -> bool:
    """Return whether the driver's computing half was started in this process, by its open files (Linux)."""
    try:
        opened = [os.readlink(os.path.join(folder, name)) for name in os.listdir(folder)]
    except OSError:
        return False
    return any(path in ("/dev/nvidia-uvm", "/dev/dxg", "/dev/kfd") for path in opened)


def _last_error(torch: Any) -> str:
    """Return the error that CUDA has kept in this process, or ``""``.

    Waiting for the GPU may take as long as what runs there, so it happens beside and is left alone after a second.
    """
    said: list[str] = []

    def ask() -> None:
        try:
            torch.cuda.synchronize()
        except Exception as error:
            said.append(f"{type(error).__name__}: {error}".splitlines()[0][:300])

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(1.0)
    return "".join(said)


def state() -> dict[str, Any]:
    """Return what is known about this process: notebook or not, whether CUDA has started in it, and its settings.

    Reads only what is there. CUDA is asked nothing unless it is running already, and torch is not imported.
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
        # Never device_count() or is_available() unasked: they would start CUDA. Not even a look at the loaded libraries
        # helps, since `import torch` may load the driver's; its open files tell whether it was started.
        found["cuda_asked"] = found["initialized"] or driver_started()
        if found["initialized"]:
            found["count"] = torch.cuda.device_count()  # remembered since the start
            found["cuda_error"] = _last_error(torch)
        elif found["cuda_asked"] and hasattr(torch._C, "_cuda_getDeviceCount"):
            # Asking starts nothing: the driver runs here already, and keeps to its first answer.
            found["count"] = torch._C._cuda_getDeviceCount()
    except Exception as error:
        found["error"] = f"{type(error).__name__}: {error}"[:300]
    return found
