"""What the probes find on a machine on which everything works, on one on which CUDA does not start, and on one without a GPU."""

from typing import Any

from fake_machines import ARCH

NO_GPU = {"bus__cards": [], "bus__nodes": {}, "driver__loaded": False, "driver__cuInit": None, "driver__count": 0,
          "nvml__init": None, "nvml__count": 0, "nvml__devices": [], "smi__gpus": 0, "smi__ended": "absent",
          "smi__text": "", "bus__module": "", "pytorch__available": False,
          "pytorch__count": 0, "usable__devices": {}}  # fmt: skip


def healthy(**more: Any) -> dict[str, dict[str, Any]]:
    """Return the evidence of a machine with two GPUs on which everything works; `more` is laid over it."""
    devices = {str(i): {"name": "Fake GPU", "capability": 86, "right": True} for i in range(2)}
    found: dict[str, dict[str, Any]] = {
        "caller": {},
        "interpreter": {"ended": "answered", "seconds": 0.1, "executable": "/env/bin/python", "environment": {}},
        "pytorch": {"ended": "answered", "seconds": 1.0, "imported": True, "version": "2.13.0+cu130", "cuda": "13.0",
                    "arch": ARCH, "available": True, "count": 2},
        "bus": {"ended": "answered", "seconds": 0.1, "os": "linux", "arch": "x86_64", "cores": 16, "load": 0.5,
                "cards": [{"vendor": "0x10de", "driver": "nvidia"}] * 2, "pci": 9, "module": "580.65.06",
                "nodes": {"nvidiactl": "ok", "nvidia0": "ok", "nvidia1": "ok", "nvidia-uvm": "ok"}},
        "driver": {"ended": "answered", "seconds": 0.1, "loaded": True, "cuInit": 0, "version": 13000, "count": 2,
                   "path": "/usr/lib/x86_64-linux-gnu/libcuda.so.580.65.06", "file_version": "580.65.06"},
        "nvml": {"ended": "answered", "seconds": 0.1, "loaded": True, "init": 0, "count": 2,
                 "devices": [{"index": i, "memory": 24 << 30, "used": 1 << 30, "busy": 0, "throttle": 1,
                              "processes": 0, "temperature": 40} for i in range(2)]},
        "smi": {"ended": "answered", "seconds": 0.1, "code": 0, "gpus": 2, "text": "GPU 0: Fake GPU"},
        "usable": {"ended": "answered", "seconds": 2.0, "devices": devices},
        "speed": {"ended": "answered", "seconds": 2.0, "threads": 16, "cores": 16, "gpu_over_cpu": 40.0},
        "job": {"ended": "answered", "seconds": 3.0, "port": 29500, "port_taken": False,
                "tries": {name: {"how": "right", "value": 101.0} for name in ("gloo", "copy", "nccl")}},
    }  # fmt: skip
    return laid_over(found, more)


def laid_over(found: dict[str, dict[str, Any]], more: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Put the values of `more` (``driver__cuInit``) into `found`, and return it."""
    for path, value in more.items():
        place: Any = found
        *parts, last = path.split("__")
        for part in parts:
            place = place.setdefault(part, {})
        place[last] = value
    return found


def broken(**more: Any) -> dict[str, dict[str, Any]]:
    """Return the evidence of a machine with two GPUs on which CUDA does not start; `more` is laid over it."""
    off = {"pytorch__available": False, "pytorch__count": 0, "usable__devices": {}, "driver__count": 0}
    return healthy(**{**off, **more})


def without_gpu(**more: Any) -> dict[str, dict[str, Any]]:
    """Return the evidence of a machine without a GPU; `more` is laid over it."""
    return healthy(**{**NO_GPU, **more})


def on_windows(**more: Any) -> dict[str, dict[str, Any]]:
    """Return the evidence of Windows with a CPU build beside a GPU, whose Python was started in cmd; `more` is laid over it."""
    packages = {"torch": "2.13.0", "torchvision": "0.28.0"}
    interpreter = {
        "home": r"C:\Users\ada",
        "folder": r"D:\work",
        "shell": "cmd",
        "pip": True,
        "packages": packages,
    }
    found: dict[str, dict[str, Any]] = {
        "interpreter": interpreter, "pytorch": {"imported": True, "version": "2.13.0+cpu"}, "smi": {"gpus": 1},
        "bus": {"os": "windows", "arch": "AMD64"}, "driver": {"version": 13000, "devices": [{"capability": 86}]},
    }  # fmt: skip
    return laid_over(found, more)
