"""Machines that do not exist: folders for /proc, /sys and /dev, a small driver library, a torch and an nvidia-smi.

The doctor's probes run on them for real, in their own processes. What a probe cannot be shown here (a file that root may
not open, another operating system) is changed in what it reported; see :meth:`Machine.report`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from torch_doctor.diagnosis.diagnose import Diagnosis, diagnose
from torch_doctor.diagnosis.run_probes import run_probes

_SOURCES = Path(__file__).with_name("fake_driver")  # two small libraries in C

# Asks the driver as the real one does, and fails as the real one does. What it was built for stands in FAKE_TORCH.
_TORCH = """
import builtins, ctypes, json, os, time, types
_fake = json.loads(os.environ["FAKE_TORCH"])
if _fake.get("slow"):
    time.sleep(60)
if _fake.get("raises"):
    _kind, _text = _fake["raises"]
    raise (ModuleNotFoundError(_text, name="torch") if _kind == "missing" else getattr(builtins, _kind)(_text))
__version__ = _fake["version"]
version = types.SimpleNamespace(cuda=_fake.get("cuda"), hip=_fake.get("hip"), xpu=_fake.get("xpu"))
_C = types.SimpleNamespace(_cuda_getArchFlags=lambda: " ".join(_fake.get("arch", [])))
backends = types.SimpleNamespace(mps=types.SimpleNamespace(is_available=lambda: False))
xpu = types.SimpleNamespace(is_available=lambda: bool(_fake.get("xpu")))
def _cudnn():
    if _fake.get("cudnn_error"):
        raise RuntimeError(_fake["cudnn_error"])
    return 91000
backends.cudnn = types.SimpleNamespace(version=_cudnn)
def get_num_threads():
    return _fake.get("threads", 8)
class _Tensor:
    def __matmul__(self, other):
        if _fake.get("use_error"):
            raise RuntimeError(_fake["use_error"])
        return self
    def reshape(self, *shape): return self
    def sum(self): return self
    def item(self): return _fake.get("result", _right)
_right = sum(sum(range(c, 64, 8)) * sum(range(8 * c, 8 * c + 8)) for c in range(8))
def arange(n, device):
    return _Tensor()
def _driver():
    if not (version.cuda or version.hip):
        return 0, "Torch not compiled with CUDA enabled"
    try:
        lib = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0, "Found no NVIDIA driver on your system."
    if version.hip:
        return _fake.get("count", 0), "No HIP GPUs are available"
    number = ctypes.c_int()
    lib.cuDriverGetVersion(ctypes.byref(number))
    if number.value // 1000 < int(version.cuda.split(".")[0]):
        return 0, f"The NVIDIA driver on your system is too old (found version {number.value})."
    code = lib.cuInit(0)
    if code:
        return 0, "No CUDA GPUs are available" if code == 100 else f"Unexpected error from cudaGetDeviceCount(). Error {code}: fake"
    lib.cuDeviceGetCount(ctypes.byref(number))
    return number.value, "No CUDA GPUs are available"
def _init():
    count, text = _driver()
    if not count:
        raise RuntimeError(text)
def _visible():
    value = os.environ.get("CUDA_VISIBLE_DEVICES")
    return [] if value in ("", "-1", "none", "all", "NoDevFiles", "0,0") else [0]
cuda = types.SimpleNamespace(
    device_count=lambda: _driver()[0], is_available=lambda: _driver()[0] > 0, init=_init, _parse_visible_devices=_visible,
    get_arch_list=lambda: _fake.get("arch", []), get_device_name=lambda i: "Fake GPU",
    get_device_capability=lambda i: divmod(int(os.environ.get("FAKE_CAPABILITY", 86)), 10),
)
"""

ARCH = ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"]
CUDA_BUILD = {"version": "2.13.0+cu130", "cuda": "13.0", "arch": ARCH}
CPU_BUILD = {"version": "2.13.0+cpu"}
BUILDS: dict[str, dict[str, Any]] = {"": {}, "cuda": CUDA_BUILD, "cpu": CPU_BUILD}
VENDORS = {"nvidia": "0x10de", "amd": "0x1002", "intel": "0x8086"}


def libraries(folder: Path) -> Path:
    """Compile both fake libraries once; without a C compiler the tests with machines are skipped."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("needs a C compiler")
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("cuda", "nvml"):
        source, target = _SOURCES / f"{name}.c", folder / f"{name}.so"
        subprocess.run([compiler, "-w", "-shared", "-fPIC", "-o", target, source], check=True)
    return folder


class Machine:
    """One machine under construction. Methods return the machine, so that they can be strung together."""

    def __init__(self, folder: Path, compiled: Path) -> None:
        self.folder, self.compiled = folder, compiled
        self.root = folder / "root"
        self.changes: dict[str, Any] = {}
        self.caller: dict[str, Any] = {}
        self.library_folder = self.root / "usr/lib/x86_64-linux-gnu"
        for path in ("bin", "home", "packages"):
            (folder / path).mkdir(parents=True)
        self.environment = {
            "PATH": str(folder / "bin"),
            "HOME": str(folder / "home"),
            "PYTHONPATH": str(folder / "packages"),
            "LD_LIBRARY_PATH": str(self.library_folder),
        }
        self.file("proc/version", "Linux version 6.8.0-45-generic").file(
            "proc/sys/kernel/osrelease", "6.8.0-45-generic"
        )
        self.file("sys/bus/pci/devices/0000:00:00.0/class", "0x060000").torch(**CPU_BUILD)
        # A library that cannot be loaded ends the search, so that the tests also run where there is a real one.
        self.library_folder.mkdir(parents=True)
        for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
            (self.library_folder / name).touch()

    # --- parts ----------------------------------------------------------------------------------------

    def _put(self, folder: str, path: str, text: str) -> Machine:
        target = self.folder / folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return self

    def file(self, path: str, text: str = "") -> Machine:
        """Put a file below the machine's root."""
        return self._put("root", path, text)

    def package(self, path: str, text: str = "") -> Machine:
        """Put a file where Python finds packages."""
        return self._put("packages", path, text)

    def project(self, path: str, text: str = "") -> Machine:
        """Put a file into the folder from which the program is started."""
        return self._put("project", path, text)

    def remove(self, path: str) -> Machine:
        """Take a file or a folder away (``"root/dev/nvidia-uvm"``, ``"packages/torch"``)."""
        target = self.folder / path
        shutil.rmtree(target) if target.is_dir() else target.unlink()
        return self

    def link(self, path: str, target: str) -> Machine:
        """Put a link below the machine's root."""
        (self.root / path).symlink_to(target)
        return self

    def set(self, **variables: object) -> Machine:
        """Set environment variables; ``{folder}`` is the machine's folder, ``{libraries}`` that of the driver."""
        for name, value in variables.items():
            text = str(value).replace("{libraries}", str(self.library_folder))
            self.environment[name] = text.replace("{folder}", str(self.folder))
        return self

    def command(self, name: str, script: str) -> Machine:
        """Put a command on the path."""
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return self

    def smi(self, text: str = "GPU 0: Fake GPU (UUID: GPU-12345678-1234)", code: int = 0) -> Machine:
        """Let ``nvidia-smi`` print `text` and exit with `code`."""
        return self.command("nvidia-smi", f"/bin/cat <<'EOF'\n{text}\nEOF\nexit {code}")

    def cards(
        self, count: int, driver: str = "nvidia", vendor: str = "nvidia", power: str = "active"
    ) -> Machine:
        """Put graphics cards on the bus."""
        for index in range(count):
            folder = f"sys/bus/pci/devices/0000:{VENDORS[vendor][-2:]}:{index:02x}.0"
            self.file(f"{folder}/vendor", VENDORS[vendor]).file(f"{folder}/class", "0x030000")
            self.file(f"{folder}/device", "0x2684").file(f"{folder}/power/runtime_status", power)
            if driver:
                (self.root / folder / "driver").symlink_to(f"../../../../bus/pci/drivers/{driver}")
        return self

    def device(self, number: str, kind: str = "0x030000") -> Machine:
        """Give the NVIDIA cards on the bus this PCI number (the model) and this class."""
        for folder in self.root.glob("sys/bus/pci/devices/0000:de:*"):
            (folder / "device").write_text(number)
            (folder / "class").write_text(kind)
        return self

    def gone(self, index: int) -> Machine:
        """Let an NVIDIA card on the bus not answer any more."""
        (self.root / f"sys/bus/pci/devices/0000:de:{index:02x}.0/config").write_bytes(b"\xff" * 64)
        return self

    def module(self, version: str = "580.65.06") -> Machine:
        """Load the driver's kernel module."""
        return self.file(
            "proc/driver/nvidia/version",
            f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {version}  Wed Jul 30 01:07:51 UTC 2025\n",
        )

    def nodes(self, *names: str) -> Machine:
        """Make files in /dev."""
        for name in names:
            self.file(f"dev/{name}")
        return self

    def library(self, path: str = "", version: str = "580.65.06", **answers: object) -> Machine:
        """Install the driver's library (in `path`), with the answers it gives."""
        self._install("cuda", "libcuda.so", path, version)
        return self.set(**answers)

    def nvml(self, **answers: object) -> Machine:
        """Install the managing half of the driver, with the answers it gives."""
        self._install("nvml", "libnvidia-ml.so", "", "580.65.06")
        return self.set(**answers)

    def _install(self, source: str, name: str, path: str, version: str) -> None:
        folder = self.root / path.strip("/") if path else self.library_folder
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.compiled / f"{source}.so", folder / f"{name}.{version}")
        (folder / f"{name}.1").unlink(missing_ok=True)
        (folder / f"{name}.1").symlink_to(f"{name}.{version}")
        if path:
            self.set(LD_LIBRARY_PATH=f"{folder}:{self.library_folder}")

    def torch(self, like: str = "", **build: Any) -> Machine:
        """Install a torch with this build, which is like a key of :data:`BUILDS` in what is not given."""
        build = {**BUILDS[like], **build}
        if isinstance(build.get("arch"), str):
            build["arch"] = build["arch"].split()
        self.package("torch/__init__.py", _TORCH).package("torch/version.py")
        return self.set(FAKE_TORCH=json.dumps(build))

    def gpus(
        self, count: int, build: dict[str, Any] | str = "cuda", name: str = "Fake GPU", version: str = "580.65.06",
        **answers: object,
    ) -> Machine:  # fmt: skip
        """Install `count` GPUs with everything that belongs to them, and a torch with CUDA."""
        self.cards(count).module(version).nodes(
            "nvidiactl", "nvidia-uvm", *[f"nvidia{i}" for i in range(count)]
        )
        self.library(version=version, FAKE_COUNT=count, **answers).nvml()
        self.smi("\n".join(f"GPU {i}: {name} (UUID: GPU-12345678-1234)" for i in range(count)))
        return self.torch(build) if isinstance(build, str) else self.torch(**build)

    def asks(self, **state: object) -> Machine:
        """Say what the notebook that asks knows about itself."""
        self.caller |= state
        return self

    def report(self, path: str, value: object) -> Machine:
        """Let a probe report something that cannot be shown to it here (``"bus.nodes.nvidia0"``, ``"EPERM"``)."""
        self.changes[path] = value
        return self

    # --- the examination ------------------------------------------------------------------------------

    def found(self, question: str = "cuda", patience: float = 1.0) -> dict[str, dict[str, Any]]:
        """Run the real probes on this machine."""
        found = run_probes(
            question, root=str(self.root), environment=self.environment, caller=self.caller, patience=patience
        )
        for path, value in self.changes.items():
            *parts, last = path.split(".")
            place: Any = found
            for part in parts:
                place = place.setdefault(part, {})
            place[last] = value
        return found

    def diagnosis(self, question: str = "cuda", patience: float = 1.0) -> Diagnosis:
        """Run the real probes and return the diagnosis."""
        return diagnose(self.found(question, patience), question)
