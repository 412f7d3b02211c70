"""Every cause that can be staged is staged on a made-up machine, and the doctor must name it, and no other, first."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_machines import ARCH, CPU_BUILD, CUDA_BUILD, Machine

from torch_doctor.diagnosis.causes import catalogue
from torch_doctor.diagnosis.diagnose import CUDA_RULES
from torch_doctor.diagnosis.rules.base import LIKELY, SURE

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the made-up machines are Linux machines")

Stage = Callable[[Machine], object]
STAGES: dict[str, tuple[str, Stage]] = {}


def stage(cause: str, name: str = "") -> Callable[[Stage], Stage]:
    """Register a function that builds a machine with `cause`."""

    def register(build: Stage) -> Stage:
        STAGES[name or cause] = (cause, build)
        return build

    return register


NO_CODE = "CUDA error: no kernel image is available for execution on the device"
UNRESOLVED = "libnvJitLink.so.12: undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12"

ROCM_BUILD = {"version": "2.13.0+rocm7.2", "hip": "7.2"}

# --- the notebook that asks ---------------------------------------------------------------------------


@stage("forked")
def _(m: Machine) -> None:
    m.gpus(1).asks(bad_fork=True)


@stage("dead-context")
def _(m: Machine) -> None:
    m.gpus(1).asks(
        initialized=True, cuda_asked=True, count=1, cuda_error="AcceleratorError: device-side assert"
    )


@stage("stale")
def _(m: Machine) -> None:
    m.gpus(2).asks(cuda_asked=True, visible_at_start=None, visible_now="1", count=2).set(
        CUDA_VISIBLE_DEVICES=1, FAKE_VISIBLE=1
    )


@stage("stale", "stale: counted before the second one came")
def _(m: Machine) -> None:
    m.gpus(2).asks(initialized=True, cuda_asked=True, count=1)


# --- which Python, which build ------------------------------------------------------------------------


def environment(m: Machine, name: str, version: str, cuda: str) -> str:
    """Make another environment beside the machine's, with a torch in it."""
    folder = m.folder / name / "lib/python3.12/site-packages/torch"
    folder.mkdir(parents=True)
    (folder / "version.py").write_text(
        f"from typing import Optional\n__version__ = '{version}'\ncuda: Optional[str] = {cuda!r}\n"
    )
    return str(m.folder / name)


@stage("other-python")
def _(m: Machine) -> None:
    m.gpus(1, CPU_BUILD).set(VIRTUAL_ENV=environment(m, "good", "2.13.0+cu130", "13.0"))


@stage("other-python", "other-python: no torch here")
def _(m: Machine) -> None:
    m.gpus(1).torch(raises=["missing", "No module named 'torch'"])
    m.set(CONDA_PREFIX=environment(m, "conda", "2.13.0+cpu", ""))


@stage("shadowed")
def _(m: Machine) -> None:
    m.gpus(1)
    for file in (m.folder / "packages/torch").iterdir():
        file.unlink()
    (m.folder / "packages/torch").rmdir()
    m.package("torch.py", "x = 1\n")


@stage("source-tree")
def _(m: Machine) -> None:
    m.gpus(1).package("setup.py").package("torch/nn/__init__.py").package(
        "torch/__init__.py", "import torch._C\n"
    )
    (m.folder / "packages/torch/version.py").unlink()


@stage("no-torch")
def _(m: Machine) -> None:
    m.gpus(1).torch(raises=["missing", "No module named 'torch'"])


@stage("python-without-wheel")
def _(m: Machine) -> None:
    m.gpus(1).torch(raises=["missing", "No module named 'torch'"]).report("interpreter.python", "3.9.18")


@stage("python-without-wheel", "python-without-wheel: newer than all wheels")
def _(m: Machine) -> None:
    m.torch(raises=["missing", "No module named 'torch'"]).report("interpreter.python", "3.16.0")


@stage("python-without-wheel", "python-without-wheel: 32 bit")
def _(m: Machine) -> None:
    m.torch(raises=["missing", "No module named 'torch'"]).report("interpreter.bits", 32)
    m.report("bus.os", "windows").report("bus.cards", [])


@stage("foreign-libraries")
def _(m: Machine) -> None:
    m.gpus(1).torch(raises=["ImportError", UNRESOLVED])
    m.set(LD_LIBRARY_PATH=m.environment["LD_LIBRARY_PATH"] + ":/usr/local/cuda-12.1/lib64")


@stage("foreign-libraries", "foreign-libraries: another cuDNN")
def _(m: Machine) -> None:
    m.gpus(1).torch(
        **CUDA_BUILD, cudnn_error="cuDNN version incompatibility: PyTorch was compiled against (9, 10, 2)"
    )
    m.set(LD_LIBRARY_PATH=m.environment["LD_LIBRARY_PATH"] + ":/opt/cudnn/lib")


@stage("two-cudas")
def _(m: Machine) -> None:
    m.gpus(1).torch(raises=["ImportError", "undefined symbol: ncclCommResume"])
    for name in ("nvidia_nccl_cu12-2.27", "nvidia_nccl_cu13-2.28"):
        package, version = name.rsplit("-", 1)
        m.package(
            f"{name}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
        )


@stage("windows-dll")
def _(m: Machine) -> None:
    text = (
        r'[WinError 126] The specified module could not be found. Error loading "C:\x\torch\lib\fbgemm.dll"'
    )
    m.torch(raises=["OSError", text]).report("bus.os", "windows").report("bus.cards", [])


@stage("windows-dll", "windows-dll: Python finds the file, Windows does not")
def _(m: Machine) -> None:
    text = r"Could not find module 'C:\x\torch\lib\c10.dll' (or one of its dependencies)."
    m.torch(raises=["FileNotFoundError", text]).report("bus.os", "windows").report("bus.cards", [])


@stage("conda-cpu")
def _(m: Machine) -> None:
    m.gpus(1, CPU_BUILD).report("interpreter.conda_torch", ["pytorch-2.5.1-cpu_mkl_py312_0"])


@stage("mixed-installers")
def _(m: Machine) -> None:
    m.gpus(1).torch(raises=["ImportError", "cannot import name 'Tensor' from 'torch'"])
    m.report("interpreter.conda_torch", ["pytorch-2.5.1-py3.12_cuda12.4_cudnn9.1.0_0"])
    m.report("interpreter.torch_copies", ["2.13.0"])


@stage("torch-broken")
def _(m: Machine) -> None:
    m.gpus(1).torch(
        raises=["ImportError", "cannot import name 'Tensor' from partially initialized module 'torch'"]
    )


@stage("torch-slow")
def _(m: Machine) -> None:
    m.gpus(1).torch(slow=True)


@stage("jetson")
def _(m: Machine) -> None:
    m.file("etc/nv_tegra_release", "# R36").file("proc/device-tree/model", "NVIDIA Jetson Orin Nano\0")


@stage("jetson", "jetson: a build from PyPI")
def _(m: Machine) -> None:
    m.file("etc/nv_tegra_release", "# R36").library(FAKE_COUNT=1, FAKE_CAPABILITY=87)
    m.torch(**CUDA_BUILD, use_error=NO_CODE)


@stage("apple")
def _(m: Machine) -> None:
    m.report("bus.os", "darwin").report("bus.arch", "arm64").report("pytorch.mps", True)


@stage("jetson", "jetson: no torch")
def _(m: Machine) -> None:
    m.file("etc/nv_tegra_release", "# R36").torch(raises=["missing", "No module named 'torch'"])


@stage("amd-card")
def _(m: Machine) -> None:
    m.cards(1, "amdgpu", "amd").nodes("kfd").torch(**CUDA_BUILD)


@stage("kfd-permission")
def _(m: Machine) -> None:
    m.cards(1, "amdgpu", "amd").nodes("kfd").torch(**ROCM_BUILD).report("bus.nodes.kfd", "EACCES")
    m.report("bus.node_owners.kfd", "660 0 44")


@stage("kfd-root-only")
def _(m: Machine) -> None:
    m.cards(1, "amdgpu", "amd").nodes("kfd").torch(**ROCM_BUILD).report("bus.nodes.kfd", "EACCES")
    m.report("bus.node_owners.kfd", "600 0 0")


@stage("rocm-card")
def _(m: Machine) -> None:
    m.cards(1, "amdgpu", "amd").nodes("kfd").torch(**ROCM_BUILD)


@stage("rocm-build")
def _(m: Machine) -> None:
    m.gpus(1, ROCM_BUILD)


@stage("rocm-build", "rocm-build: beside the processor's AMD graphics")
def _(m: Machine) -> None:
    m.gpus(1, ROCM_BUILD).cards(1, "amdgpu", "amd").nodes("kfd")


@stage("intel")
def _(m: Machine) -> None:
    m.cards(1, "i915", "intel").torch(version="2.13.0+xpu", xpu="20250101")


@stage("cpu-build")
def _(m: Machine) -> None:
    m.gpus(1, CPU_BUILD)


@stage("cpu-build", "cpu-build: Windows")
def _(m: Machine) -> None:
    m.gpus(1, CPU_BUILD).report("bus.os", "windows").report("bus.cards", []).report("bus.nodes", {})


# --- is there a GPU -----------------------------------------------------------------------------------


@stage("no-gpu")
def _(m: Machine) -> None:
    pass


@stage("no-gpu", "no-gpu: with a build for CUDA")
def _(m: Machine) -> None:
    m.torch(**CUDA_BUILD)


@stage("no-gpu", "no-gpu: an Intel laptop")
def _(m: Machine) -> None:
    m.cards(1, "i915", "intel").file("sys/class/dmi/id/chassis_type", "10")


@stage("no-gpu", "no-gpu: in a container")
def _(m: Machine) -> None:
    m.file(".dockerenv")


@stage("no-gpu-runtime")
def _(m: Machine) -> None:
    m.set(COLAB_RELEASE_TAG="release-colab_20261101").file(".dockerenv")


@stage("no-gpu-runtime", "no-gpu-runtime: Kaggle")
def _(m: Machine) -> None:
    m.set(KAGGLE_KERNEL_RUN_TYPE="Interactive").file(".dockerenv").torch(**CUDA_BUILD)


@stage("job-without-gpu")
def _(m: Machine) -> None:
    m.gpus(4).set(SLURM_JOB_ID=4711, CUDA_VISIBLE_DEVICES="NoDevFiles", FAKE_VISIBLE=0)


@stage("job-without-gpu", "job-without-gpu: an empty variable")
def _(m: Machine) -> None:
    m.gpus(4).set(SLURM_JOB_ID=4711, CUDA_VISIBLE_DEVICES="", FAKE_VISIBLE=0)


@stage("login-node")
def _(m: Machine) -> None:
    m.command("sbatch", "exit 0").torch(**CUDA_BUILD)


@stage("job-without-gpu", "job-without-gpu: the control group refuses")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_CUINIT=100).set(SLURM_JOB_ID=4711).report("bus.nodes.nvidia0", "EPERM")


@stage("hub-without-gpu")
def _(m: Machine) -> None:
    m.set(JUPYTERHUB_API_URL="http://hub:8081/hub/api").file(".dockerenv").torch(**CUDA_BUILD)


@stage("integrated-mode")
def _(m: Machine) -> None:
    m.command("prime-select", "echo intel").torch(**CUDA_BUILD)


def windows(m: Machine, *video: str) -> Machine:
    """Turn the machine into one with Windows, which lists these graphics cards."""
    m.report("bus.os", "windows").report("bus.cards", []).report("bus.nodes", {}).report(
        "bus.video", list(video)
    )
    return m.report("bus.pci", None).torch(**CUDA_BUILD)


@stage("card-off")
def _(m: Machine) -> None:
    windows(m, "AMD Radeon(TM) Graphics").report("bus.laptop", True).library(FAKE_CUINIT=100)


@stage("card-disabled")
def _(m: Machine) -> None:
    card = "NVIDIA GeForce RTX 4060 Laptop GPU"
    windows(m, "Intel(R) UHD Graphics", card).library(FAKE_CUINIT=100).report("bus.video_errors", {card: 22})


@stage("card-not-listed")
def _(m: Machine) -> None:
    m.library(FAKE_CUINIT=100).nvml(FAKE_NVML=9).torch(**CUDA_BUILD)
    m.smi("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", 9)


# --- the driver's module and its files ----------------------------------------------------------------


@stage("driver-absent")
def _(m: Machine) -> None:
    m.cards(1, "nouveau").torch(**CUDA_BUILD)


@stage("driver-absent", "driver-absent: no driver at all")
def _(m: Machine) -> None:
    m.cards(1, "").torch(**CUDA_BUILD)


@stage("given-away")
def _(m: Machine) -> None:
    m.cards(1, "vfio-pci").torch(**CUDA_BUILD)


@stage("driver-not-built")
def _(m: Machine) -> None:
    m.cards(1, "").file("lib/modules/6.8.0-40-generic/updates/dkms/nvidia.ko.zst").torch(**CUDA_BUILD)
    m.smi("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", 9).library(
        FAKE_CUINIT=100
    )


@stage("driver-not-built", "driver-not-built: Debian names its module otherwise")
def _(m: Machine) -> None:
    m.cards(1, "").file("lib/modules/6.8.0-44-amd64/updates/dkms/nvidia-current.ko.xz").torch(**CUDA_BUILD)


@stage("driver-not-built", "driver-not-built: for no kernel at all")
def _(m: Machine) -> None:
    m.cards(1, "").library(FAKE_CUINIT=100).smi("NVIDIA-SMI has failed", 9).torch(**CUDA_BUILD)


@stage("kernel-replaced")
def _(m: Machine) -> None:
    m.cards(1, "").file("usr/lib/modules/6.9.1-arch1-1/extramodules/nvidia.ko.zst").torch(**CUDA_BUILD)
    (m.root / "lib").symlink_to("usr/lib")


NVIDIA_KO = "lib/modules/6.8.0-45-generic/updates/dkms/nvidia.ko"
SECURE_BOOT = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"


@stage("driver-not-signed")
def _(m: Machine) -> None:
    m.cards(1, "").file(NVIDIA_KO).file(SECURE_BOOT, "\6\0\0\0\1").torch(**CUDA_BUILD)
    m.command("dmesg", "echo '[    3.1] Loading of module with unavailable key is rejected'")


@stage("driver-not-signed", "driver-not-signed: nothing was logged")
def _(m: Machine) -> None:
    m.cards(1, "nouveau").file(NVIDIA_KO).file(SECURE_BOOT, "\6\0\0\0\1").torch(**CUDA_BUILD)


@stage("driver-not-signed", "driver-not-signed: no signature at all")
def _(m: Machine) -> None:
    m.cards(1, "").file(NVIDIA_KO).file(SECURE_BOOT, "\6\0\0\0\1").torch(**CUDA_BUILD)
    m.command("modinfo", "echo 'license:        NVIDIA'; echo 'version:        580.65.06'")


@stage("driver-not-loaded")
def _(m: Machine) -> None:
    m.cards(1, "").file(NVIDIA_KO).torch(**CUDA_BUILD)


@stage("driver-not-loaded", "driver-not-loaded: a file forbids it")
def _(m: Machine) -> None:
    m.cards(1, "").file(NVIDIA_KO).torch(**CUDA_BUILD).file("etc/modprobe.d/no.conf", "blacklist nvidia\n")


@stage("nouveau")
def _(m: Machine) -> None:
    m.cards(1, "nouveau").file(NVIDIA_KO).torch(**CUDA_BUILD)


def card(m: Machine, number: str) -> Machine:
    """Let the cards on the bus have this PCI number."""
    for file in m.root.glob("sys/bus/pci/devices/0000:de:*/device"):
        file.write_text(number)
    return m


RTX_5090, GTX_1080 = "0x2b85", "0x1b80"


@stage("driver-not-for-card")
def _(m: Machine) -> None:
    card(m.gpus(1, FAKE_NVML_COUNT=0, FAKE_CUINIT=100), RTX_5090).smi("No devices were found", 6)


@stage("driver-not-for-card", "driver-not-for-card: the log says so")
def _(m: Machine) -> None:
    m.cards(1, "").file(NVIDIA_KO).torch(**CUDA_BUILD)
    m.command(
        "dmesg",
        """/bin/cat <<'EOF'
[ 1157.0] NVRM: The NVIDIA GPU 0000:af:00.0 (PCI ID: 10de:1db5)
               NVRM: installed in this system is not supported by open
               NVRM: nvidia.ko because it does not include the required GPU
EOF""",
    )


@stage("driver-not-for-card", "driver-not-for-card: a GTX 10 and driver 590")
def _(m: Machine) -> None:
    card(m.cards(1, ""), GTX_1080).file(NVIDIA_KO).torch(**CUDA_BUILD)
    m.command("modinfo", "echo 'license:        NVIDIA'; echo 'version:        590.48.01'")


@stage("card-not-started")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_NVML_COUNT=0, FAKE_CUINIT=100).smi("No devices were found", 6)
    m.command("dmesg", "echo '[ 9.6] NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:884)'")


@stage("card-not-started", "card-not-started: seven of eight work")
def _(m: Machine) -> None:
    m.gpus(8).set(FAKE_COUNT=7).command(
        "dmesg", "echo 'NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x26)'"
    )


@stage("card-not-started", "card-not-started: code 43")
def _(m: Machine) -> None:
    name = "NVIDIA GeForce RTX 4090"
    windows(m, name).library(FAKE_CUINIT=100).report("bus.video_errors", {name: 43})


@stage("container-without-gpu")
def _(m: Machine) -> None:
    m.cards(2).file(".dockerenv").torch(**CUDA_BUILD)


@stage("container-without-gpu", "container-without-gpu: Docker on WSL is not WSL 1")
def _(m: Machine) -> None:
    m.file("proc/version", "Linux version 5.15.153.1-microsoft-standard-WSL2").file(".dockerenv")
    m.torch(**CUDA_BUILD)


@stage("container-without-gpu", "container-without-gpu: on a Jetson")
def _(m: Machine) -> None:
    m.file("proc/sys/kernel/osrelease", "5.15.148-tegra").file(".dockerenv").torch(**CUDA_BUILD)


@stage("host-without-driver")
def _(m: Machine) -> None:
    m.cards(1, "nouveau").file(".dockerenv").torch(**CUDA_BUILD)


@stage("nodes-missing")
def _(m: Machine) -> None:
    m.cards(1).module().library(FAKE_CUINIT=100).nvml(FAKE_NVML=9).torch(**CUDA_BUILD)


@stage("container-lost")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_CUINIT=100, FAKE_NVML=999).file(".dockerenv").smi(
        "Failed to initialize NVML: Unknown Error", 255
    )
    m.report("bus.nodes.nvidia0", "EPERM").report("bus.nodes.nvidiactl", "EPERM")


@stage("no-permission")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_CUINIT=304, FAKE_NVML=4).report("bus.nodes.nvidia0", "EACCES")


@stage("devices-denied")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_CUINIT=304, FAKE_NVML=4).file(".dockerenv").report("bus.nodes.nvidia0", "EPERM")


@stage("selinux")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_CUINIT=304, FAKE_NVML=4).file("run/.containerenv")
    m.file("proc/self/attr/current", "system_u:system_r:container_t:s0:c1,c2\n")
    m.report("bus.nodes.nvidia0", "EACCES").report("bus.node_owners", {"nvidia0": "666 65534 65534"})


# --- the library --------------------------------------------------------------------------------------


@stage("wsl-1")
def _(m: Machine) -> None:
    m.file("proc/version", "Linux version 4.4.0-19041-Microsoft (Microsoft@Microsoft.com)").torch(
        **CUDA_BUILD
    )
    m.file("proc/sys/kernel/osrelease", "4.4.0-19041-Microsoft")


def wsl2(m: Machine) -> Machine:
    return (
        m.file("proc/version", "Linux version 5.15.153.1-microsoft-standard-WSL2")
        .nodes("dxg")
        .torch(**CUDA_BUILD)
    )


@stage("wsl-old")
def _(m: Machine) -> None:
    m.file("proc/version", "Linux version 5.4.72-microsoft-standard-WSL2").torch(**CUDA_BUILD)


@stage("wsl-shadowed")
def _(m: Machine) -> None:
    wsl2(m).file("usr/lib/wsl/lib/libcuda.so.1", "of Windows").library(FAKE_CUINIT=100)


@stage("wsl-without-driver")
def _(m: Machine) -> None:
    wsl2(m)


@stage("docker-desktop-old")
def _(m: Machine) -> None:
    wsl2(m).file(".dockerenv").library(FAKE_COUNT=1, FAKE_CUINIT=500).nvml().smi()


def without_library(m: Machine) -> Machine:
    """Take libcuda away again; NVML stays."""
    file = m.library_folder / "libcuda.so.1"
    file.unlink()
    file.touch()
    return m.set(FAKE_LIBRARIES="libnvidia-ml.so.1")


@stage("library-not-on-path")
def _(m: Machine) -> None:
    path = m.environment["LD_LIBRARY_PATH"]
    m.gpus(1).file(".dockerenv").library("/usr/local/nvidia/lib64").set(LD_LIBRARY_PATH=path)
    without_library(m)


@stage("compute-not-passed")
def _(m: Machine) -> None:
    without_library(m.gpus(1).file(".dockerenv").set(NVIDIA_DRIVER_CAPABILITIES="utility"))


@stage("library-missing")
def _(m: Machine) -> None:
    without_library(m.gpus(1))
    m.report("driver.error", "libcuda.so.1: cannot open shared object file: No such file or directory")


@stage("stub")
def _(m: Machine) -> None:
    m.gpus(1).library("/usr/local/toolkit/lib64/stubs", FAKE_CUINIT=34)


@stage("compat")
def _(m: Machine) -> None:
    m.gpus(1).library("/usr/local/cuda-13.0/compat", "585.10.01", FAKE_CUINIT=804)


@stage("compat", "compat: 803")
def _(m: Machine) -> None:
    m.gpus(1).library("/usr/local/cuda-13.0/compat", "585.10.01", FAKE_CUINIT=803)


@stage("driver-in-container")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_CUINIT=803).module("535.129.03").file(".dockerenv")
    m.file("proc/self/mountinfo", "36 35 98:0 / / rw - overlay overlay rw")


@stage("mismatch")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_CUINIT=803, FAKE_NVML=18).module("535.129.03")
    m.smi("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.65", 18)


@stage("mismatch", "mismatch: CUDA calls it unknown")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_CUINIT=999).module("535.129.03")


@stage("mismatch", "mismatch: CUDA calls it forward compatibility")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_CUINIT=804).module("535.129.03").report("bus.modinfo", {"version": "580.65.06"})


@stage("module-not-rebuilt")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_CUINIT=803, FAKE_NVML=18).module("535.129.03")
    m.report("bus.modinfo", {"version": "535.129.03"})


@stage("library-left-over")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_CUINIT=803).module("585.10.01").report("bus.modinfo", {"version": "585.10.01"})


@stage("driver-old")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_DRIVER=12080)


@stage("driver-old", "driver-old: and an old card")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_DRIVER=12020, FAKE_CAPABILITY=61)


# --- starting the driver ------------------------------------------------------------------------------


@stage("uvm-missing")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_CUINIT=999)
    (m.root / "dev/nvidia-uvm").unlink()


@stage("fabric")
def _(m: Machine) -> None:
    m.gpus(8, FAKE_CUINIT=802)


@stage("fabric", "fabric: one GPU of eight, and NVML says so")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_CUINIT=802, FAKE_FABRIC=1)


@stage("confidential-vm")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_CUINIT=802, FAKE_CONFIDENTIAL=1)


@stage("address-limit")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_CUINIT=2).report("bus.address_limit", 8 << 30)


@stage("gpu-memory-full")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_CUINIT=2).report("nvml.devices", [{"index": 0, "memory": 24 << 30, "used": 24 << 30}])


@stage("gpu-memory-full", "gpu-memory-full: one of two, and PyTorch says so")
def _(m: Machine) -> None:
    m.gpus(2, {**CUDA_BUILD, "use_error": "CUDA error: out of memory"})
    m.report(
        "nvml.devices", [{"index": i, "memory": 24 << 30, "used": (23 - 20 * i) << 30} for i in range(2)]
    )


@stage("memory-error")
def _(m: Machine) -> None:
    m.gpus(1, {**CUDA_BUILD, "use_error": "CUDA error: uncorrectable ECC error encountered"})


@stage("init-memory")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_CUINIT=2)


@stage("mps")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_CUINIT=805).set(CUDA_MPS_PIPE_DIRECTORY="/tmp/nvidia-mps")


@stage("gpu-lost")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_CUINIT=999).smi(
        "Unable to determine the device handle for GPU 0000:01:00.0: GPU is lost.", 15
    )


@stage("uvm-hmm")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_CUINIT=3).file("sys/module/nvidia_uvm/parameters/uvm_disable_hmm", "N\n")


@stage("sandbox")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_CUINIT=304).file(".dockerenv")


@stage("after-sleep")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_CUINIT=999).report("bus.slept", 25_000.0)


@stage("partly-checked")
def _(m: Machine) -> None:
    m.gpus(8).report("usable", {"ended": "slow", "seconds": 8.5, "devices": {"0": {"right": True}, "1": {}}})


@stage("hangs")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_DRIVER_HANGS=1, FAKE_NVML_HANGS=1).command("nvidia-smi", "exec /bin/sleep 60")
    m.report("driver.seconds", 36.0)  # asked with --patience 6


@stage("hangs", "hangs: perhaps it is only slow")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_DRIVER_HANGS=1, FAKE_NVML_HANGS=1).command("nvidia-smi", "exec /bin/sleep 60")


@stage("hangs", "hangs: only what computes")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_DRIVER_HANGS=1)


# --- hidden, divided, taken, unusable -----------------------------------------------------------------


@stage("hidden")
def _(m: Machine) -> None:
    m.gpus(2).set(CUDA_VISIBLE_DEVICES="", FAKE_VISIBLE=0)


@stage("hidden", "hidden: a number that does not exist")
def _(m: Machine) -> None:
    m.gpus(1).set(CUDA_VISIBLE_DEVICES="7", FAKE_VISIBLE=0)


@stage("mig-empty")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_MIG=1, FAKE_CUINIT=100)


@stage("mig-gone")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_MIG=1, FAKE_PARTS=2).set(CUDA_VISIBLE_DEVICES="MIG-0f2a6b3c-0000", FAKE_VISIBLE=0)


BUSY = {**CUDA_BUILD, "use_error": "CUDA error: CUDA-capable device(s) is/are busy or unavailable"}


@stage("taken")
def _(m: Machine) -> None:
    m.gpus(1, BUSY, FAKE_MODE=3, FAKE_PROCESSES=1)


@stage("taken", "taken: by a process of another container")
def _(m: Machine) -> None:
    m.gpus(1, BUSY, FAKE_MODE=3)


@stage("prohibited")
def _(m: Machine) -> None:
    m.gpus(1, BUSY, FAKE_MODE=2)


@stage("vgpu-license")
def _(m: Machine) -> None:
    m.gpus(1, BUSY, FAKE_VGPU=2)


@stage("unavailable")
def _(m: Machine) -> None:
    m.gpus(1, BUSY)


@stage("unavailable", "unavailable: although the licence is there")
def _(m: Machine) -> None:
    m.gpus(1, BUSY, FAKE_VGPU=2, FAKE_LICENSED=1)


@stage("card-too-old")
def _(m: Machine) -> None:
    m.gpus(1, {**CUDA_BUILD, "use_error": NO_CODE}, FAKE_CAPABILITY=61)


@stage("card-too-new")
def _(m: Machine) -> None:
    build = {
        "version": "2.6.0+cu124",
        "cuda": "12.4",
        "arch": ["sm_80", "sm_86", "sm_90"],
        "use_error": NO_CODE,
    }
    m.gpus(1, build, FAKE_CAPABILITY=120)


@stage("cudnn")
def _(m: Machine) -> None:
    text = "cuDNN version 91100 is not compatible with devices with SM < 7.5"
    m.gpus(1, {**CUDA_BUILD, "arch": ["sm_70", *ARCH], "cudnn_error": text}, FAKE_CAPABILITY=70)


@stage("wrong-result")
def _(m: Machine) -> None:
    m.gpus(1, {**CUDA_BUILD, "result": 0.0})


@stage("nvml-only")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_CUINIT=101)


@stage("nvml-only", "nvml-only: and the weaker check")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_CUINIT=304).set(PYTORCH_NVML_BASED_CUDA_CHECK=1)


@stage("driver-fails")
def _(m: Machine) -> None:
    wsl2(m).library("/usr/lib/wsl/lib", FAKE_COUNT=1, FAKE_CUINIT=100).nvml(FAKE_NVML=9)


@stage("driver-fails", "driver-fails: Windows")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_CUINIT=999, FAKE_NVML=999).report("bus.os", "windows").report("bus.cards", [])
    m.report("bus.nodes", {}).report("bus.video", ["NVIDIA GeForce RTX 4070"])


@stage("unknown")
def _(m: Machine) -> None:
    m.gpus(1, FAKE_CUINIT=101, FAKE_NVML=3)


# --- the tests ----------------------------------------------------------------------------------------

NEEDS_COMPILER = {"stub", "compat", "compat: 803", "mismatch: CUDA calls it unknown", "wsl-shadowed",
                  "mismatch: CUDA calls it forward compatibility", "driver-in-container", "library-not-on-path",
                  "module-not-rebuilt", "library-left-over", "driver-fails"}  # fmt: skip
# What the evidence does not prove: the doctor says "likely" to these, and "sure" to all others.
ONLY_LIKELY = {
    "after-sleep",  # cuInit also returns 999 for other reasons
    "amd-card",  # perhaps no GPU was wanted
    "card-not-listed",  # a card that was taken out, or a disk from another machine, looks the same
    "card-not-started: seven of eight work",  # the eighth may have been lost later
    "card-off",  # an external GPU that is not plugged in looks the same
    "container-lost",  # a container that never had it looks the same
    "devices-denied",
    "driver-not-built: for no kernel at all",
    "driver-not-loaded",
    "driver-not-signed: nothing was logged",
    "hub-without-gpu",
    "job-without-gpu: an empty variable",  # the user may have set it, where Slurm hands no GPUs out
    "login-node",  # that the GPUs are in a job is a guess
    "no-gpu: an Intel laptop",  # its firmware may hide a card
    "no-gpu: in a container",
    "nodes-missing",
    "container-without-gpu: Docker on WSL is not WSL 1",
    "hangs: only what computes",
    "hangs: perhaps it is only slow",
    "address-limit",  # the limit may be high enough
    "docker-desktop-old",
    "gpu-memory-full",
    "gpu-memory-full: one of two, and PyTorch says so",
    "init-memory",
    "driver-fails",  # what the driver lacks, it does not say
    "driver-fails: Windows",
    "library-left-over",  # an update may also have failed
    "module-not-rebuilt",  # another kernel may have the new module
    "nvml-only",  # something denies CUDA what NVML may see; what, is not known
    "sandbox",
    "taken: by a process of another container",  # nobody is seen there
    "unavailable",
    "unavailable: although the licence is there",
    "uvm-hmm",
    "wsl-old",
    "wsl-without-driver",  # or there is no NVIDIA card
    "nvml-only: and the weaker check",
    "mixed-installers",  # both are there; that this breaks the import is an inference
    "partly-checked",
    "rocm-build: beside the processor's AMD graphics",
    "rocm-card",  # rocminfo tells
    "torch-broken",  # by an error that no other rule knows
    "torch-slow",  # a slow disk is one cause of several
    "unknown",
}
PATIENCE = {
    "hangs": 0.4,
    "hangs: only what computes": 0.4,
    "hangs: perhaps it is only slow": 0.4,
    "torch-slow": 0.4,
}


# One machine per cause on each change, the variants ("stale: counted before the second one came") every night.
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly) if ":" in name else name for name in STAGES]
)
def test_the_cause_is_the_first_verdict(name: str, machine: Machine, compiled: Path | None) -> None:
    if compiled is None and name in NEEDS_COMPILER:
        pytest.skip("needs a C compiler: the path of a loaded library is evidence")
    cause, build = STAGES[name]
    build(machine)
    found = machine.diagnosis(patience=PATIENCE.get(name, 1.0))
    told = [
        (one.cause.name, one.sure, [(line.probe, line.fact) for line in one.lines]) for one in found.verdicts
    ]
    assert found.first.cause.name == cause, (told, found.evidence.found)
    assert found.first.sure == (LIKELY if name in ONLY_LIKELY else SURE), told
    assert found.first.lines, "a verdict without evidence"
    # Other rows may stand below it, but none with the same right.
    rivals = [
        one[0] for one in told[1:] if one[1] >= found.first.sure and catalogue()[one[0]].get("kind") != "fine"
    ]
    assert not rivals, told


def test_every_rule_is_staged() -> None:
    assert {cause for cause, _ in STAGES.values()} == set(CUDA_RULES) | {"unknown"}
    assert set(STAGES) >= ONLY_LIKELY


@pytest.mark.parametrize("count", [0, 1, 4, 8])
def test_a_machine_without_a_fault_is_declared_healthy(count: int, machine: Machine) -> None:
    if count:
        machine.gpus(count)
    found = machine.diagnosis()
    assert found.kind == "fine"
    assert [one.cause.name for one in found.verdicts] == ["healthy" if count else "no-gpu"]
    assert not found.remarks
    if count:
        assert str(count) in found.first.cause.title.en and str(count) in found.first.cause.title.zh


@pytest.mark.parametrize(
    "name, remark",
    {
        "two of four are shown": "some-hidden",
        "nvidia-smi hangs": "slow-smi",
        "the weaker check": "weak-check",
        "a notebook that may have asked before": "restart-if",
        "divided": "mig-one",
        "docker without the toolkit": "container-toolkit",
        "a program of this folder hides them": "program-hides",
    }.items(),
)
def test_a_working_machine_is_healthy_with_a_remark(name: str, remark: str, machine: Machine) -> None:
    machine.gpus(4)
    {
        "two of four are shown": lambda: machine.set(CUDA_VISIBLE_DEVICES="0,1", FAKE_VISIBLE=2),
        "nvidia-smi hangs": lambda: machine.command("nvidia-smi", "exec /bin/sleep 60"),
        "a notebook that may have asked before": lambda: machine.asks(notebook=True, initialized=False),
        "the weaker check": lambda: machine.set(PYTORCH_NVML_BASED_CUDA_CHECK=1),
        "divided": lambda: machine.set(FAKE_MIG=1, FAKE_PARTS=1),
        "docker without the toolkit": lambda: machine.command("docker", "exit 0"),
        "a program of this folder hides them": lambda: machine.report(
            "pytorch.hides", [{"file": "train.py", "line": 3, "value": "7"}]
        ),
    }[name]()
    found = machine.diagnosis(patience=0.4 if "hangs" in name else 1.0)
    assert [one.cause.name for one in found.verdicts] == ["healthy"]
    assert [one.cause.name for one in found.remarks] == [remark]


@pytest.mark.parametrize(
    "name",
    [
        "container with GPUs",
        "WSL",
        "Slurm job with a GPU",
        "one card of a shared server",
        "first cell chose one",
    ],
)
def test_unusual_places_that_work_are_healthy(name: str, machine: Machine) -> None:
    if name == "WSL":
        wsl2(machine).library("/usr/lib/wsl/lib", FAKE_COUNT=1).nvml()
    elif name == "container with GPUs":
        machine.gpus(2).file(".dockerenv").set(NVIDIA_VISIBLE_DEVICES="0,1")
    elif name == "first cell chose one":  # the variable was changed, and in time
        machine.gpus(2).set(CUDA_VISIBLE_DEVICES=1, FAKE_VISIBLE=1)
        machine.asks(cuda_asked=True, visible_at_start=None, visible_now="1", count=1)
    elif name == "Slurm job with a GPU":
        machine.gpus(4).set(SLURM_JOB_ID=1, SLURM_JOB_GPUS=2, CUDA_VISIBLE_DEVICES=0, FAKE_VISIBLE=1)
    else:
        machine.gpus(1).cards(0).report("bus.nodes.nvidia1", "EPERM")
    found = machine.diagnosis()
    assert [one.cause.name for one in found.verdicts] == ["healthy"]


def test_unknown_lists_what_it_might_be(machine: Machine) -> None:
    found = machine.gpus(1, FAKE_CUINIT=999, FAKE_NVML=3).diagnosis()
    assert [one.cause.name for one in found.verdicts] == ["unknown", "after-sleep"]
    assert found.verdicts[1].cause.check, "no check that separates it"
    assert any("--json" in step.run for step in found.first.cause.steps)
    assert {line.probe for line in found.first.lines} >= {"pytorch", "bus", "driver", "nvml"}, (
        "the cross-check"
    )
