"""What every device does: GPUs by name (NVML), the CPU and its memory (psutil).

    with Sampler(folder / "devices.jsonl"):
        train()

Neither library must be there: what cannot be asked is None, and a line says why.
"""

import json
import os
import platform
import re
import threading
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType

import torch


@cache
def say(text: str) -> None:
    """Print a line, each only once."""
    print(f"devices: {text}", flush=True)


@cache
def nvml() -> ModuleType | None:
    """Return NVIDIA's library about GPUs, ready to be asked, or None."""
    try:
        import pynvml  # of the package nvidia-ml-py

        pynvml.nvmlInit()
    except ImportError:
        say("for the load of GPUs: pip install nvidia-ml-py")
    except pynvml.NVMLError as error:
        say(f"NVML does not start ({error})")
    else:
        return pynvml
    return None


@cache
def gpus() -> list[tuple[str, object]]:
    """Return the name and NVML's handle (or None) of each GPU that this process sees.

    NVML counts all GPUs of the machine, in another order than CUDA, and knows nothing
    of CUDA_VISIBLE_DEVICES. So a GPU is found by its UUID.
    """
    found = []
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    for card in map(torch.cuda.get_device_properties, range(count)):
        uuid = getattr(card, "uuid", None)
        handle = uuid and ask("HandleByUUID", f"GPU-{uuid}")
        if uuid and handle is None:
            handle = ask("HandleByUUID", f"MIG-{uuid}")  # a slice of a GPU
        found.append((card.name, handle))
    return found


def ask(what: str, about: object) -> object:
    """Return what NVML's function nvmlDeviceGet… answers, or None if it cannot."""
    library = nvml()
    if library is None or about is None:
        return None
    try:
        return getattr(library, f"nvmlDeviceGet{what}")(about)
    except library.NVMLError as error:
        # A MIG slice has no load of its own; a GPU may also fall off the bus.
        if what != "HandleByUUID":
            say(f"NVML cannot tell {what} ({error})")
        return None


@cache
def cpu() -> str:
    """Return the name of the processor."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        text = ""
    model = re.search(r"^model name\s*:\s*(.+)", text, re.M)
    return model[1] if model else platform.processor() or platform.machine()


class Job:
    """The load of this program's processes: of all ranks, if torchrun started it."""

    def __init__(self) -> None:
        import psutil

        self.psutil, self.known, self.asked = psutil, {}, 0
        self.root = os.getppid() if "LOCAL_RANK" in os.environ else os.getpid()

    def load(self) -> dict:
        """Return the share of the whole processor, and the bytes of memory."""
        if self.asked % 20 == 0:  # finding children means looking at all processes
            with suppress(self.psutil.Error):
                root = self.psutil.Process(self.root)
                now = [root, *root.children(recursive=True)]
                self.known = {one.pid: self.known.get(one.pid, one) for one in now}
        self.asked += 1
        busy = memory = 0
        for process in self.known.values():
            with suppress(self.psutil.Error):  # it has ended, or is not ours
                busy += process.cpu_percent() / (os.cpu_count() or 1)
                memory += process.memory_info().rss
        return {"job_busy": round(busy, 1), "job_memory": memory}


@cache
def job() -> Job | None:
    try:
        return Job()
    except ImportError:
        say("for the load of the CPU: pip install psutil")
        return None


def names() -> list[str]:
    """Return the names of all devices: each GPU, then the CPU."""
    return [name for name, _ in gpus()] + [cpu()]


def sample() -> list[dict]:
    """Return what each device does: busy in %, memory and total in bytes."""
    lines = []
    for number, (name, handle) in enumerate(gpus()):
        load, memory = ask("UtilizationRates", handle), ask("MemoryInfo", handle)
        line = {"device": f"cuda:{number}", "name": name, "busy": load and load.gpu}
        line |= {"memory": memory and memory.used, "total": memory and memory.total}
        lines.append(line)
    line = {"device": "cpu", "name": cpu(), "busy": None}
    line |= {"memory": None, "total": None}
    if mine := job():  # busy since the last call, of which there is none at first
        memory = mine.psutil.virtual_memory()
        line |= {"busy": mine.psutil.cpu_percent(), "total": memory.total}
        line |= {"memory": memory.total - memory.available} | mine.load()
    return [*lines, line]


class Sampler:
    """A thread that appends what each device does to a file, until it is stopped.

    "cost" in each line: the processor time, in seconds, that the thread itself took.
    """

    def __init__(self, path: Path, every: float = 0.5) -> None:
        self.path, self.every = Path(path), every
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.run, name="devices", daemon=True)

    def __enter__(self) -> "Sampler":
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.done.set()
        self.thread.join(timeout=2)  # a driver that hangs must not hold the training

    def run(self) -> None:
        start = time.monotonic()
        try:
            sample()
            with self.path.open("a", encoding="utf-8") as file:
                while not self.done.wait(self.every):
                    lines, seconds = sample(), round(time.monotonic() - start, 2)
                    head = {"seconds": seconds, "cost": round(time.thread_time(), 4)}
                    text = [json.dumps(head | line) + "\n" for line in lines]
                    file.write("".join(text))
                    file.flush()  # whole lines, whenever this program is killed
        except Exception as error:  # a full disk: training goes on without it
            say(f"not watched any more ({type(error).__name__}: {error})")
