"""Real cases from public threads, kept apart from everything that the doctor was written with.

Accepted causes and cures were written down before the doctor's answer to any of them was looked at. What a thread does not
say is staged as such a machine usually shows it; a comment says so. What was changed afterwards (errors of staging only) is
listed in `CHANGES`.
"""

from __future__ import annotations

import os
from typing import Any

from fake_machines import Machine
from real_cases import case, container, linux, windows

CHANGES = [
    "wsl-driver-inside had a name that an open case has, too",
    "windows() takes the folder of the environment, no longer the file of its Python",
    "the cause of deforum-amd was renamed: amd, of which three causes were made, to amd-card",
]

# --- pieces of staging ---------------------------------------------------------------------------------

NOT_THERE = ": cannot open shared object file: No such file or directory"
ARCH_TORCH_2 = ["sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"]
WHOLE = "0 0 4294967295"  # /proc/self/uid_map without a user namespace


def cards(
    m: Machine, count: int = 1, device: str = "0x2204", driver: str = "nvidia", kind: str = "0x030000"
) -> Machine:
    """Put NVIDIA cards of the model `device` (PCI) on the bus."""
    m.cards(count, driver)
    for index in range(count):
        folder = f"sys/bus/pci/devices/0000:de:{index:02x}.0"
        m.file(f"{folder}/device", device).file(f"{folder}/class", kind)
    return m


def integrated(m: Machine) -> Machine:
    """Put Intel's integrated graphics on the bus."""
    return m.cards(1, "i915", "intel").file("sys/bus/pci/devices/0000:86:00.0/device", "0x9bc4")


def nvidia(
    m: Machine, version: str, cuda: int, build: dict[str, Any], *, name: str, count: int = 1, device: str = "0x2204",
    capability: int = 86, kind: str = "0x030000", nvml_works: bool = True, **answers: object,
) -> Machine:  # fmt: skip
    """Install cards with the driver `version`, which supports the CUDA release `cuda`, and a torch."""
    cards(m, count, device, kind=kind).module(version)
    m.nodes("nvidiactl", "nvidia-uvm", *[f"nvidia{index}" for index in range(count)])
    m.library(
        version=version, FAKE_COUNT=count, FAKE_DRIVER=cuda, FAKE_CAPABILITY=capability, **answers
    ).nvml()
    if nvml_works:
        m.report("nvml.driver", version)
    m.smi("\n".join(f"GPU {i}: {name} (UUID: GPU-12345678-1234-{i})" for i in range(count)))
    return m.torch(**build)


def python(
    m: Machine, executable: str, version: str, torch: str = "", *, word: str = "python", pip: bool = True,
    vision: str = "", audio: str = "", environment: dict[str, str] | None = None, conda: bool = False,
    conda_torch: tuple[str, ...] = (), tools: tuple[str, ...] = (), pythons: tuple[str, ...] = (),
    project: dict[str, str] | None = None, folder: str = "", home: str = "", shell: str = "posix", managed: bool = False,
    more: dict[str, str] | None = None,
) -> Machine:  # fmt: skip
    """Say which Python asks, and what is installed for it; `torch` etc. are the versions of the packages."""
    on_windows = "\\" in executable
    prefix = executable
    for end in ("\\python.exe", "\\Scripts", "/python", "/python3", "/bin"):
        prefix = prefix.removesuffix(end)
    packages = {"torch": torch, "torchvision": vision, "torchaudio": audio, **(more or {})}
    values = {
        "executable": executable, "prefix": prefix, "python": version, "word": word, "shell": shell,
        "home": home or (r"C:\Users\ann" if on_windows else "/home/ann"),
        "folder": folder or (r"C:\Users\ann" if on_windows else "/home/ann"),
        "environment": environment or {}, "pip": pip, "ensurepip": True, "tools": list(tools),
        "pythons": list(pythons), "project": project or {}, "managed": managed, "conda": conda,
        "conda_torch": list(conda_torch), "torch_copies": [torch.partition("+")[0]] if torch else [],
        "packages": {name: one for name, one in packages.items() if one},
    }  # fmt: skip
    if torch:
        values["torch_copies"] = [torch]
    for key, value in values.items():
        m.report(f"interpreter.{key}", value)
    return m


def without(m: Machine, *libraries: str) -> Machine:
    """Say that these libraries of the driver do not exist; a made-up machine has empty files in their place."""
    for name in libraries or ("libcuda.so.1", "libnvidia-ml.so.1"):
        m.report(f"{'driver' if 'cuda' in name else 'nvml'}.error", name + NOT_THERE)
    return m


def docker(m: Machine, *mounts: str) -> Machine:
    """Make it a Docker container of root, with Docker's small shared memory, and these files mounted from outside."""
    container(m).file("proc/self/uid_map", WHOLE).report("bus.shm", 64 * 2**20)
    lines = ["700 600 0:200 / / rw,relatime - overlay overlay rw"]
    lines += [
        f"{701 + i} 700 8:2 /{path} /{path} ro,nosuid,nodev - ext4 /dev/sda2 rw"
        for i, path in enumerate(mounts)
    ]
    return m.file("proc/self/mountinfo", "\n".join(lines) + "\n")


def kernel_log(m: Machine, *lines: str, restricted: bool = True) -> Machine:
    """Let the kernel have logged these lines; where the log is restricted, journalctl still shows it to administrators."""
    text = "\n".join(f"[    5.{100 + i}] {line}" for i, line in enumerate(lines))
    if restricted:
        m.command("dmesg", 'echo "dmesg: read kernel buffer failed: Operation not permitted" >&2\nexit 1')
        bare = "\n".join(lines)
        return m.command("journalctl", f"/bin/cat <<'EOF_LOG'\n{bare}\nEOF_LOG")
    return m.command("dmesg", f"/bin/cat <<'EOF_LOG'\n{text}\nEOF_LOG")


def modinfo(m: Machine, version: str, license_: str = "NVIDIA", signer: str = "") -> Machine:
    """Let ``modinfo nvidia`` describe the module that is installed for the running kernel."""
    text = f"version:        {version}\nlicense:        {license_}\nsupported:      external"
    text += f"\nsigner:         {signer}" if signer else ""
    both = f"case \"$*\" in *version*) echo {version};; *) /bin/cat <<'EOF_INFO'\n{text}\nEOF_INFO\n;; esac"
    return m.command("modinfo", both)


def no_modinfo(m: Machine) -> Machine:
    """Let ``modinfo nvidia`` find no module."""
    return m.command("modinfo", 'echo "modinfo: ERROR: Module nvidia not found." >&2\nexit 1')


def smi(m: Machine, text: str, code: int = 0) -> Machine:
    """Let ``nvidia-smi`` print `text` (with any words in it) and exit with `code`."""
    return m.command("nvidia-smi", f"/bin/cat <<'EOF_SMI'\n{text}\nEOF_SMI\nexit {code}")


def complains(m: Machine, text: str) -> Machine:
    """Let torch say what the real one says: in a warning of is_available(), and when it is initialized."""
    warning = f"CUDA initialization: {text} (Triggered internally at ../c10/cuda/CUDAFunctions.cpp:108.)"
    return m.report("pytorch.warnings", [warning]).report("pytorch.init_error", f"RuntimeError: {text}")


UNKNOWN = (
    "CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing env variable "
    "CUDA_VISIBLE_DEVICES after program start. Setting the available devices to be zero."
)
FORWARD = (
    "Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices() that might "
    "have already set an error? Error 804: forward compatibility was attempted on non supported HW"
)
NOT_COMMUNICATING = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA "
    "driver is installed and running."
)


def install(tags: str, *also: str, py: bool = False) -> str:
    """Return the pattern of a command that installs torch, and the packages `also`, for one of `tags` (``"cu126|auto"``)."""
    others = "".join(rf"(?=.*\b{package}\b)" for package in also)
    launcher = "" if py else r"(?!.*\bpy -)"  # the launcher does not know environments of conda
    return rf"^{launcher}(?=.*\b(?:install|add|sync)\b)(?=.*\btorch\b){others}.*(?:--torch-backend[= ]|/whl/(?:nightly/)?)(?:{tags})\b"


# --- installations -------------------------------------------------------------------------------------


@case(
    "paints-conda-windows",
    "https://github.com/lllyasviel/Paints-UNDO/issues/6",
    symptoms="Windows, RTX 3090; conda create -n paints_undo python=3.10, pip install xformers, pip install -r "
    "requirements.txt; then AssertionError: Torch not compiled with CUDA enabled.",
    confirmed="On Windows PyPI's wheel has no CUDA. pip install torch==2.3.0 torchvision torchaudio for cu121 "
    "(“Got it working”, “It works, thanks”).",
    causes="cpu-build",
    cures=[install(r"auto|cu118|cu12\d", "torchvision")],
)
def _(m: Machine) -> None:
    # Driver and versions of that summer (July 2024); the thread names the card only.
    nvidia(m, "555.85", 12050, {"version": "2.3.0+cpu"}, name="NVIDIA GeForce RTX 3090")
    windows(m, "NVIDIA GeForce RTX 3090", prefix=r"C:\Users\ann\miniconda3\envs\paints_undo")
    m.report("driver.path", "").report("driver.file_version", "")
    python(
        m, r"C:\Users\ann\miniconda3\envs\paints_undo\python.exe", "3.10.14", "2.3.0+cpu", vision="0.18.0+cpu",
        environment={"CONDA_PREFIX": r"C:\Users\ann\miniconda3\envs\paints_undo"}, conda=True, tools=("conda",),
        folder=r"C:\Users\ann\Paints-UNDO", shell="cmd",
    )  # fmt: skip


@case(
    "unilab-uv-windows",
    "https://github.com/Motphys/UniLab/issues/624",
    symptoms="Windows: `uv sync` of the project installs torch 2.7.0+cpu, torch.cuda.is_available() False.",
    confirmed="pyproject.toml maps torch to the CUDA index on Linux only; mended by using that index on Windows too.",
    causes="cpu-build",
    cures=[
        # The lock file would bring the CPU wheel back: the project's own settings have to change …
        r"tool\.uv\.sources|tool\.uv\.index|\buv add\b.*\btorch\b|UV_TORCH_BACKEND|\[tool\.uv(?:\.pip)?\]",
        # … or nothing may synchronize again.
        (install(r"auto|cu12[689]", py=True), r"--no-sync|UV_NO_SYNC"),
    ],
)
def _(m: Machine) -> None:
    # The thread names neither card nor driver: a common card with a driver of 2025.
    nvidia(
        m,
        "576.80",
        12090,
        {"version": "2.7.0+cpu"},
        name="NVIDIA GeForce RTX 4070",
        device="0x2786",
        capability=89,
    )
    windows(m, "NVIDIA GeForce RTX 4070", prefix=r"C:\Users\ann\UniLab\.venv\Scripts")
    m.report("driver.path", "").report("driver.file_version", "")
    python(
        m, r"C:\Users\ann\UniLab\.venv\Scripts\python.exe", "3.12.11", "2.7.0+cpu", pip=False, tools=("uv",),
        environment={"VIRTUAL_ENV": r"C:\Users\ann\UniLab\.venv"}, folder=r"C:\Users\ann\UniLab", shell="powershell",
        project={"tool": "uv", "folder": r"C:\Users\ann\UniLab"},
    )  # fmt: skip


@case(
    "deforum-amd",
    "https://github.com/XmYx/deforum-comfy-nodes/issues/55",
    symptoms="ComfyUI worked on an AMD card; after a plugin was installed: Found no NVIDIA driver on your system.",
    confirmed="The plugin's requirements replaced the ROCm build by the one for CUDA. pip uninstall torch torchaudio "
    "torchvision, then pip install of the three for rocm6.1 (two users).",
    causes="amd-card",
    cures=[install(r"rocm[\d.]+", "torchvision", "torchaudio")],
)
def _(m: Machine) -> None:
    # Distribution and card are not named; `python3 -m pip` was used in a virtual environment.
    without(linux(m, "ubuntu")).cards(1, "amdgpu", "amd").nodes("kfd", "dri/renderD128")
    m.file("sys/bus/pci/devices/0000:02:00.0/device", "0x744c")
    m.torch(version="2.4.1+cu121", cuda="12.1", arch=ARCH_TORCH_2)
    python(
        m, "/home/ann/ComfyUI/venv/bin/python3", "3.12.3", "2.4.1", word="python3", vision="0.19.1", audio="2.4.1",
        environment={"VIRTUAL_ENV": "/home/ann/ComfyUI/venv"}, folder="/home/ann/ComfyUI", pythons=("3.12",),
        more={"nvidia-cublas-cu12": "12.1.3.1", "nvidia-cudnn-cu12": "9.1.0.70", "triton": "3.0.0"},
    )  # fmt: skip


@case(
    "nvjitlink",
    "https://github.com/pytorch/pytorch/issues/144244",
    symptoms="torch 2.5.1 and CUDA 12.2: ImportError: …/nvidia/cusparse/lib/libcusparse.so.12: undefined symbol: "
    "__nvJitLinkComplete_12_4, version libnvJitLink.so.12.",
    confirmed="LD_LIBRARY_PATH names the folder of the installed CUDA 12.2; solved by resetting it.",
    causes="foreign-libraries",
    cures=[r"unset LD_LIBRARY_PATH|env -u LD_LIBRARY_PATH|LD_LIBRARY_PATH=(?:\"\"|''|\s|$)"],
)
def _(m: Machine) -> None:
    text = (
        "/home/ann/miniconda3/envs/work/lib/python3.11/site-packages/torch/lib/../../nvidia/cusparse/lib/"
        "libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12"
    )
    nvidia(m, "535.183.01", 12020, {"raises": ["ImportError", text]}, name="NVIDIA GeForce RTX 3080")
    linux(m, "ubuntu", "6.5.0-41-generic")
    python(
        m, "/home/ann/miniconda3/envs/work/bin/python", "3.11.9", "2.5.1", vision="0.20.1", conda=True, tools=("conda",),
        environment={"CONDA_PREFIX": "/home/ann/miniconda3/envs/work",
                     "LD_LIBRARY_PATH": "/usr/local/cuda-12.2/lib64:"},
        more={"nvidia-cusparse-cu12": "12.3.1.170", "nvidia-nvjitlink-cu12": "12.4.127", "nvidia-cublas-cu12": "12.4.5.8",
              "triton": "3.1.0"},
    )  # fmt: skip


@case(
    "onetrainer-dll",
    "https://github.com/Nerogar/OneTrainer/issues/487",
    symptoms="A clean Windows, a fresh virtual environment: error loading fbgemm.dll or one of its dependencies.",
    confirmed="Solved by installing the Visual C++ Redistributable.",
    causes="windows-dll",
    cures=[r"(?i)vc_?redist|visual c\+\+ redist"],
)
def _(m: Machine) -> None:
    text = (
        r"[WinError 126] The specified module could not be found. Error loading "
        r'"C:\Users\ann\OneTrainer\venv\lib\site-packages\torch\lib\fbgemm.dll" or one of its dependencies.'
    )
    # Card and driver are not named: one for training, of the time (October 2024).
    nvidia(
        m,
        "565.90",
        12070,
        {"raises": ["OSError", text]},
        name="NVIDIA GeForce RTX 4090",
        device="0x2684",
        capability=89,
    )
    windows(m, "NVIDIA GeForce RTX 4090", prefix=r"C:\Users\ann\OneTrainer\venv\Scripts")
    m.report("driver.path", "").report("driver.file_version", "")
    python(
        m, r"C:\Users\ann\OneTrainer\venv\Scripts\python.exe", "3.10.11", "2.4.1+cu124", vision="0.19.1+cu124",
        environment={"VIRTUAL_ENV": r"C:\Users\ann\OneTrainer\venv"}, folder=r"C:\Users\ann\OneTrainer", shell="cmd",
    )  # fmt: skip


@case(
    "jupyter-kernel",
    "https://github.com/jupyter/notebook/issues/4629",
    symptoms="PyTorch is installed and works in the terminal; in the notebook: ModuleNotFoundError: No module named "
    "'torch'. sys.executable is that of another conda environment.",
    confirmed="The notebook ran the kernel of the environment for TensorFlow; Kernel > Change kernel, and the one with "
    "PyTorch.",
    causes="other-python",
    cures=[r"(?i)(?:choose|select|change|pick|switch)[^\n]{0,60}kernel|kernel[^\n]{0,60}(?:choose|select|change|pick|switch)",
           r"ipykernel install"],
)  # fmt: skip
def _(m: Machine) -> None:
    linux(m, "ubuntu")
    nvidia(m, "550.90.07", 12040, {"raises": ["missing", "No module named 'torch'"]}, name="NVIDIA GeForce RTX 3060",
           device="0x2503")  # fmt: skip
    # Two kernels are registered: the running one, and that of the environment with PyTorch. The first is this Python.
    other = {
        "named_by": "kernelspec",
        "prefix": "/home/ann/anaconda3/envs/pytorch",
        "torch": "2.4.0+cu121",
        "cuda": "12.1",
    }
    m.report("interpreter.others", [other])
    python(
        m, "/home/ann/anaconda3/envs/tf/bin/python", "3.10.14", word="", conda=True, tools=("conda",),
        environment={}, more={"tensorflow": "2.16.1"},
    )  # fmt: skip
    m.report("interpreter.torch_file", None).report("interpreter.torch_is_real", None)
    m.asks(notebook=True, visible_at_start=None, visible_now=None)


@case(
    "jetson-venv",
    "https://github.com/ultralytics/ultralytics/issues/17345",
    symptoms="Jetson Xavier NX, JetPack 5.1.2; a virtual environment with pip install ultralytics: "
    "torch.cuda.is_available() False.",
    confirmed="pip had taken PyPI's wheel. pip install of NVIDIA's wheel torch-2.1.0a0+41361538.nv23.06 for JetPack 5.1.2: "
    "True.",
    causes="jetson",
    cures=[r"https?://\S*(?:jetson|jetpack|redist/jp)\S*", r"l4t-pytorch|l4t-ml|dustynv/"],
)
def _(m: Machine) -> None:
    m.file(
        "etc/nv_tegra_release",
        "# R35 (release), REVISION: 4.1, GCID: 33958178, BOARD: t186ref, EABI: aarch64",
    )
    m.file("proc/device-tree/model", "NVIDIA Jetson Xavier NX Developer Kit\0")
    m.file("etc/os-release", 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="20.04"\nVERSION_CODENAME=focal')
    m.file("proc/version", "Linux version 5.10.120-tegra").file("proc/sys/kernel/osrelease", "5.10.120-tegra")
    without(m, "libnvidia-ml.so.1").nodes("nvhost-gpu", "nvhost-ctrl-gpu", "nvmap").report(
        "bus.arch", "aarch64"
    )
    m.library("/usr/lib/aarch64-linux-gnu/tegra", "1.1", FAKE_COUNT=1, FAKE_DRIVER=11040, FAKE_CAPABILITY=72)
    m.torch(version="2.4.1", arch=[])  # PyPI's wheel for aarch64 of that time: without CUDA
    python(
        m, "/root/myenv/bin/python3", "3.8.10", "2.4.1", word="python3", vision="0.19.1", folder="/root/myenv/bin",
        home="/root", environment={"VIRTUAL_ENV": "/root/myenv"}, pythons=("3.8",),
    )  # fmt: skip


# --- cards and builds ----------------------------------------------------------------------------------

NO_CODE = "CUDA error: no kernel image is available for execution on the device"


@case(
    "rtx5080-cu118",
    "https://github.com/pytorch/pytorch/issues/153944",
    symptoms="Windows, Python 3.10, torch 2.7.0+cu118, YOLOv8: NVIDIA GeForce RTX 5080 with CUDA capability sm_120 is not "
    "compatible with the current PyTorch installation (sm_37 … sm_90 compute_37).",
    confirmed="CUDA 11.8 does not support Blackwell; with torch, torchvision and torchaudio for cu128 “problem solved”.",
    causes=("card-too-new", "too-old-or-new"),
    cures=[install(r"auto|cu12[89]", "torchvision", "torchaudio", py=True)],
)
def _(m: Machine) -> None:
    arch = ["sm_37", "sm_50", "sm_60", "sm_61", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90", "compute_37"]
    # What failed first is not said; here the small job does, as torch's warning announces.
    build = {"version": "2.7.0+cu118", "cuda": "11.8", "arch": arch, "use_error": NO_CODE}
    nvidia(m, "576.40", 12090, build, name="NVIDIA GeForce RTX 5080", device="0x2c02", capability=120)
    windows(m, "NVIDIA GeForce RTX 5080", prefix=r"C:\Users\ann\PycharmProjects\yolo\.venv\Scripts")
    m.report("driver.path", "").report("driver.file_version", "")
    m.report("pytorch.warnings", [
        "NVIDIA GeForce RTX 5080 with CUDA capability sm_120 is not compatible with the current PyTorch installation.\n"
        f"The current PyTorch install supports CUDA capabilities {' '.join(arch)}.\nIf you want to use the NVIDIA GeForce "
        "RTX 5080 GPU with PyTorch, please check the instructions at https://pytorch.org/get-started/locally/",
    ])  # fmt: skip
    python(
        m, r"C:\Users\ann\PycharmProjects\yolo\.venv\Scripts\python.exe", "3.10.11", "2.7.0+cu118", vision="0.22.0+cu118",
        audio="2.7.0+cu118", environment={"VIRTUAL_ENV": r"C:\Users\ann\PycharmProjects\yolo\.venv"}, shell="powershell",
        folder=r"C:\Users\ann\PycharmProjects\yolo",
    )  # fmt: skip


@case(
    "gtx1080ti-docker",
    "https://github.com/Kaouthia/ComfyUI-Docker/pull/11",
    symptoms="ComfyUI in a container, GTX 1080 Ti: Found GPU0 … cuda capability 6.1. Minimum and Maximum cuda capability "
    "supported by this version of PyTorch is (7.0) - (12.0); please install PyTorch with CUDA 12.6.",
    confirmed="torch, torchvision and torchaudio installed for CUDA 12.6 before the requirements.",
    causes=("card-too-old", "too-old-or-new"),
    cures=[install(r"cu126", "torchvision", "torchaudio")],
)
def _(m: Machine) -> None:
    arch = ["sm_70", "sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"]
    build = {"version": "2.9.1+cu128", "cuda": "12.8", "arch": arch, "use_error": NO_CODE}
    # 580 is the last driver for this card; the thread does not name the driver.
    nvidia(m, "580.95.05", 13000, build, name="NVIDIA GeForce GTX 1080 Ti", device="0x1b06", capability=61)
    libraries = [f"usr/lib/x86_64-linux-gnu/{name}.so.580.95.05" for name in ("libcuda", "libnvidia-ml")]
    docker(linux(m, "debian"), "usr/bin/nvidia-smi", *libraries)
    m.report("pytorch.warnings", [
        "\n    Found GPU0 NVIDIA GeForce GTX 1080 Ti which is of cuda capability 6.1.\n    Minimum and Maximum cuda capability "
        "supported by this version of PyTorch is\n    (7.0) - (12.0)\n    ",
        "\n    Please install PyTorch with a following CUDA\n    configurations:  12.6 following instructions at\n    "
        "https://pytorch.org/get-started/locally/\n    ",
        "\nNVIDIA GeForce GTX 1080 Ti with CUDA capability sm_61 is not compatible with the current PyTorch installation.\n"
        f"The current PyTorch install supports CUDA capabilities {' '.join(arch)}.\n",
    ])  # fmt: skip
    # The image is python:3.12; packages are installed for the user.
    python(
        m, "/usr/local/bin/python", "3.12.12", "2.9.1", vision="0.24.1", audio="2.9.1", home="/home/appuser",
        folder="/app/ComfyUI", pythons=("3.12",), environment={"NVIDIA_VISIBLE_DEVICES": "all",
        "NVIDIA_DRIVER_CAPABILITIES": "compute,utility"},
        more={"nvidia-cublas-cu12": "12.8.4.1", "nvidia-cudnn-cu12": "9.10.2.21", "triton": "3.5.1"},
    )  # fmt: skip


# --- the driver ----------------------------------------------------------------------------------------


@case(
    "compat-image-3090",
    "https://github.com/AIR-DISCOVER/ICRA2024-Sim2Real-AXS/issues/5",
    symptoms="RTX 3090, driver 525 on the host, an image with CUDA 12.1: Unexpected error from cudaGetDeviceCount(). Error "
    "804: forward compatibility was attempted on non supported HW.",
    confirmed="The image's compatibility libraries are for data-centre cards; fixed by updating the (host's) driver.",
    causes="compat",
    cures=[r"(?i)(?:update|upgrade)[^\n]{0,40}driver|newer[^\n]{0,20}driver|driver[^\n]{0,30}(?:newer|update|upgrade)",
           r"apt(?:-get)? (?:-y )?install [^\n]*nvidia-driver|ubuntu-drivers (?:auto)?install",
           r"^(?!.*sudo ).*apt(?:-get)? (?:-y )?(?:remove|purge)\b.*cuda-compat"],
)  # fmt: skip
def _(m: Machine) -> None:
    build = {"version": "2.1.2+cu121", "cuda": "12.1", "arch": ARCH_TORCH_2}
    nvidia(m, "525.147.05", 12010, build, name="NVIDIA GeForce RTX 3090", FAKE_CUINIT=804)
    # Images of NVIDIA hold libcuda of the driver that belongs to their CUDA release, here 530.
    complains(m.library("/usr/local/cuda-12.1/compat", "530.30.02"), FORWARD)
    names = [f"usr/lib/x86_64-linux-gnu/{name}.so.525.147.05" for name in ("libcuda", "libnvidia-ml")]
    docker(linux(m, "ubuntu", "5.15.0-91-generic"), "usr/bin/nvidia-smi", *names)
    python(
        m, "/opt/conda/bin/python", "3.10.13", "2.1.2", home="/root", folder="/workspace", conda=True, tools=("conda",),
        environment={"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
                     "LD_LIBRARY_PATH": "/usr/local/nvidia/lib:/usr/local/nvidia/lib64"},
        more={"nvidia-cublas-cu12": "12.1.3.1", "triton": "2.1.0"},
    )  # fmt: skip


@case(
    "pending-reboot-ubuntu",
    "https://github.com/oddmario/NVIDIA-Ubuntu-Driver-Guide/issues/4",
    symptoms="Ubuntu 24.04: nvidia-smi: Failed to initialize NVML: Driver/library version mismatch. The package is "
    "550.107.02, /proc/driver/nvidia/version says 550.90.07.",
    confirmed="An update of the driver; the old kernel module is still loaded. Rebooting fixes it.",
    causes="mismatch",
    cures=[r"(?i)\breboot|restart (?:the|this|your) (?:machine|computer|system|server|pc)\b"],
)
def _(m: Machine) -> None:
    build = {"version": "2.4.0+cu121", "cuda": "12.1", "arch": ARCH_TORCH_2}
    # A workstation's GeForce: its newer libcuda then answers 804 to the older module (pytorch#40671).
    nvidia(m, "550.107.02", 12040, build, name="x", nvml_works=False, FAKE_CUINIT=804, FAKE_NVML=18)
    complains(m.module("550.90.07"), FORWARD)
    m.smi("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.107", 18)
    linux(m, "ubuntu", "6.8.0-41-generic").file("lib/modules/6.8.0-41-generic/updates/dkms/nvidia.ko.zst")
    m.file("lib/modules/6.8.0-41-generic/modules.dep").file("var/lib/dkms/nvidia/550.107.02/source/dkms.conf")
    modinfo(m, "550.107.02")
    kernel_log(m, "NVRM: API mismatch: the client has the version 550.107.02, but", "NVRM: this kernel module has the "
               "version 550.90.07.  Please", "NVRM: make sure that this kernel module and all NVIDIA driver",
               "NVRM: components have the same version.")  # fmt: skip
    python(m, "/home/ann/venv/bin/python", "3.12.3", "2.4.0", environment={"VIRTUAL_ENV": "/home/ann/venv"},
           more={"nvidia-cublas-cu12": "12.1.3.1"}, pythons=("3.12",))  # fmt: skip


@case(
    "headers-elementary",
    "https://github.com/elementary/os-patches/issues/155",
    symptoms="elementary OS 6, a laptop with GeForce 940MX: nvidia-smi cannot communicate with the driver, although "
    "nvidia-driver-455 (and 450, 390) was installed.",
    confirmed="A kernel upgrade came without its headers, so the module was not built for it: sudo apt install "
    "linux-headers-$(uname -r) did the trick.",
    causes=("driver-not-built", "driver-lost"),
    cures=[r"apt(?:-get)? (?:-y )?install [^\n]*linux-headers"],
)
def _(m: Machine) -> None:
    integrated(cards(m, 1, "0x134d", driver="", kind="0x030200")).file("sys/class/dmi/id/chassis_type", "10")
    m.file("etc/os-release", 'ID=elementary\nID_LIKE=ubuntu\nVERSION_ID="6"\nVERSION_CODENAME=odin')
    m.file("proc/version", "Linux version 5.4.0-58-generic").file(
        "proc/sys/kernel/osrelease", "5.4.0-58-generic"
    )
    m.file("lib/modules/5.4.0-56-generic/updates/dkms/nvidia.ko")
    for kernel in ("56", "58"):
        m.file(f"lib/modules/5.4.0-{kernel}-generic/modules.dep")
        m.file(f"lib/modules/5.4.0-{kernel}-generic/kernel/drivers/gpu/drm/i915/i915.ko")
    m.file("usr/src/linux-headers-5.4.0-56-generic/Makefile").file("usr/src/nvidia-455.45.01/dkms.conf")
    m.file("var/lib/dkms/nvidia/455.45.01/5.4.0-56-generic/x86_64/module/nvidia.ko")
    m.command("dkms", "echo 'nvidia, 455.45.01, 5.4.0-56-generic, x86_64: installed'").command(
        "prime-select", "echo on-demand"
    )
    smi(m, NOT_COMMUNICATING, 9)
    m.library(version="455.45.01", FAKE_DRIVER=11010, FAKE_CUINIT=100).nvml(FAKE_NVML=9)
    kernel_log(no_modinfo(m), "i915 0000:00:02.0: fb0: i915drmfb frame buffer device", restricted=False)
    m.torch(version="1.7.1", cuda="10.2", arch=["sm_37", "sm_50", "sm_60", "sm_70"])
    python(m, "/home/ann/venv/bin/python3", "3.8.5", "1.7.1", word="python3", environment={"VIRTUAL_ENV": "/home/ann/venv"},
           pythons=("3.8",))  # fmt: skip


@case(
    "azure-secure-boot",
    "https://github.com/MicrosoftDocs/azure-docs/issues/111536",
    symptoms="A virtual machine on Azure (trusted launch, Ubuntu): after apt upgrade nvidia-smi stopped working.",
    confirmed="Secure Boot refuses the new module, whose key is not enrolled; with Secure Boot disabled in the machine's "
    "settings nvidia-smi works.",
    causes=("driver-not-signed", "driver-lost"),
    cures=[r"(?i)(?:turn|switch|disabl)[^\n]{0,40}secure boot|secure boot[^\n]{0,40}(?:\boff\b|disabl)",
           r"linux-modules-nvidia-\d+"],  # Canonical's signed modules
)  # fmt: skip
def _(m: Machine) -> None:
    kernel = "6.5.0-1018-azure"
    linux(cards(m, 1, "0x1eb8", driver="", kind="0x030200"), "ubuntu", kernel)
    m.file("etc/os-release", 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="22.04"\nVERSION_CODENAME=jammy')
    m.file("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme de pse tsc msr hypervisor lahf_lm\n")
    m.file("sys/class/dmi/id/chassis_type", "3").file("sys/class/dmi/id/sys_vendor", "Microsoft Corporation")
    m.file("sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", "\6\0\0\0\1")
    m.file(f"lib/modules/{kernel}/updates/dkms/nvidia.ko").file(f"lib/modules/{kernel}/modules.dep")
    m.file(f"var/lib/dkms/nvidia/535.161.08/{kernel}/x86_64/module/nvidia.ko").file(
        "var/lib/shim-signed/mok/MOK.der"
    )
    m.command("dkms", f"echo 'nvidia/535.161.08, {kernel}, x86_64: installed'").command(
        "mokutil", "echo 'SecureBoot enabled'"
    )
    modinfo(m, "535.161.08", signer="gpu-vm Secure Boot Module Signature key")
    kernel_log(m, "Loading of module with unavailable key is rejected")
    smi(m, NOT_COMMUNICATING, 9)
    m.library(version="535.161.08", FAKE_DRIVER=12020, FAKE_CUINIT=100).nvml(FAKE_NVML=9)
    m.torch(version="2.2.2+cu121", cuda="12.1", arch=ARCH_TORCH_2)
    python(m, "/home/ann/venv/bin/python", "3.10.12", "2.2.2", environment={"VIRTUAL_ENV": "/home/ann/venv"},
           more={"nvidia-cublas-cu12": "12.1.3.1"}, pythons=("3.10",))  # fmt: skip


@case(
    "chatglm-driver-old",
    "https://github.com/zai-org/ChatGLM3/issues/100",
    symptoms="RuntimeError: The NVIDIA driver on your system is too old (found version 11060).",
    confirmed="Ubuntu: a newer driver (apt-get install cuda-drivers); the users who did so had no problem any more.",
    causes="driver-old",
    cures=[
        r"apt(?:-get)? (?:-y )?install [^\n]*(?:nvidia-driver|cuda-drivers|nvidia-open)|ubuntu-drivers (?:auto)?install",
        install(r"cu118"),  # its wheels need driver 450 only
    ],
)
def _(m: Machine) -> None:
    # Card, kernel and versions are not named; torch of that month (November 2023).
    build = {"version": "2.1.0+cu121", "cuda": "12.1", "arch": ARCH_TORCH_2}
    nvidia(m, "510.108.03", 11060, build, name="NVIDIA GeForce RTX 3090")
    complains(m, "The NVIDIA driver on your system is too old (found version 11060). Please update your GPU driver by "
              "downloading and installing a new version from the URL: http://www.nvidia.com/Download/index.aspx "
              "Alternatively, go to: https://pytorch.org to install a PyTorch version that has been compiled with your "
              "version of the CUDA driver.")  # fmt: skip
    linux(m, "ubuntu", "5.15.0-88-generic").file("lib/modules/5.15.0-88-generic/updates/dkms/nvidia.ko")
    m.file("etc/os-release", 'ID=ubuntu\nID_LIKE=debian\nVERSION_ID="22.04"\nVERSION_CODENAME=jammy')
    m.file("lib/modules/5.15.0-88-generic/modules.dep")
    modinfo(m, "510.108.03")
    python(
        m, "/home/ann/miniconda3/envs/chatglm/bin/python", "3.10.13", "2.1.0", conda=True, tools=("conda",),
        environment={"CONDA_PREFIX": "/home/ann/miniconda3/envs/chatglm"}, folder="/home/ann/ChatGLM3",
        more={"nvidia-cublas-cu12": "12.1.3.1", "triton": "2.1.0"},
    )  # fmt: skip


@case(
    "lost-2080ti",
    "https://github.com/NVIDIA/open-gpu-kernel-modules/issues/387",
    symptoms="openSUSE Leap, four RTX 2080 Ti, driver 520.61.05: sometimes under load nvidia-smi prints Unable to determine "
    "the device handle for GPU 0000:0B:00.0: Unknown Error; GPU 1 falls off the bus.",
    confirmed="Fixed by reseating the GPU.",
    causes="gpu-lost",
    cures=[r"(?i)\bre-?seat|\bseat\b|\bslot\b|power (?:cable|connector|plug)"],
)
def _(m: Machine) -> None:
    build = {
        "version": "1.12.1+cu113",
        "cuda": "11.3",
        "arch": ["sm_37", "sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86"],
    }
    nvidia(m, "520.61.05", 11080, build, name="NVIDIA GeForce RTX 2080 Ti", count=4, device="0x1e07", capability=75,
           FAKE_CUINIT=999)  # fmt: skip
    complains(
        smi(m, "Unable to determine the device handle for GPU 0000:0B:00.0: Unknown Error", 255), UNKNOWN
    )
    m.report("nvml.codes", [0, 999, 0, 0]).report("bus.nodes.nvidia1", "EIO")
    m.report("nvml.devices", [{"index": i, "name": "NVIDIA GeForce RTX 2080 Ti", "compute_mode": 0, "memory": 11 << 30,
                               "used": 1 << 30, "busy": 0, "temperature": 45, "throttle": 0, "processes": 0}
                              for i in (0, 2, 3)])  # fmt: skip
    (m.root / "sys/bus/pci/devices/0000:de:01.0/config").write_bytes(
        b"\xff" * 64
    )  # it does not answer any more
    m.file("etc/os-release", 'ID="opensuse-leap"\nID_LIKE="suse opensuse"\nVERSION_ID="15.2"')
    m.file("proc/version", "Linux version 5.3.18-lp152.106-default")
    m.file("proc/sys/kernel/osrelease", "5.3.18-lp152.106-default")
    m.file("lib/modules/5.3.18-lp152.106-default/updates/nvidia.ko")
    m.file("lib/modules/5.3.18-lp152.106-default/modules.dep")
    modinfo(m, "520.61.05")
    kernel_log(m, "NVRM: Xid (PCI:0000:0b:00): 79, pid=4711, GPU has fallen off the bus.",
               "NVRM: GPU 0000:0b:00.0: GPU has fallen off the bus.")  # fmt: skip
    python(
        m, "/home/ann/miniconda3/envs/rl/bin/python", "3.9.13", "1.12.1+cu113", conda=True, tools=("conda",),
        environment={"CONDA_PREFIX": "/home/ann/miniconda3/envs/rl"},
    )  # fmt: skip


@case(
    "suspend-debian",
    "https://github.com/pytorch/pytorch/issues/88639",
    symptoms="Debian 11, torch 1.13.0+cu117: after the machine was suspended, CUDA unknown error - this may be due to an "
    "incorrectly set up environment, in every program.",
    confirmed="The driver does not survive the suspension; unloading and loading its modules (rmmod nvidia…) helps.",
    causes="after-sleep",
    cures=[
        r"(?:rmmod|modprobe -r) nvidia[_-]uvm",
        r"(?i)\breboot|restart (?:the|this|your) (?:machine|computer|system|server|pc)\b",
    ],
)
def _(m: Machine) -> None:
    build = {
        "version": "1.13.0+cu117",
        "cuda": "11.7",
        "arch": ["sm_37", "sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86"],
    }
    # Card and driver are not in what could be read of the thread: those of the time (November 2022).
    nvidia(
        m,
        "515.65.01",
        11070,
        build,
        name="NVIDIA GeForce GTX 1660 Ti",
        device="0x2191",
        capability=75,
        FAKE_CUINIT=999,
    )
    integrated(complains(m, UNKNOWN)).report("bus.slept", 31_400.0).file(
        "sys/class/dmi/id/chassis_type", "10"
    )
    linux(m, "debian", "5.10.0-19-amd64").file("lib/modules/5.10.0-19-amd64/updates/dkms/nvidia-current.ko")
    m.file("etc/os-release", 'ID=debian\nVERSION_ID="11"\nVERSION_CODENAME=bullseye')
    m.file("lib/modules/5.10.0-19-amd64/modules.dep")
    kernel_log(m, "PM: suspend entry (deep)", "PM: suspend exit")
    python(m, "/opt/anaconda3/bin/python", "3.8.2", "1.13.0+cu117", vision="0.14.0+cu117", conda=True, tools=("conda",),
           environment={"CONDA_PREFIX": "/opt/anaconda3"})  # fmt: skip


# --- places --------------------------------------------------------------------------------------------


@case(
    "compose-without-gpus",
    "https://github.com/kcosta42/VQGAN-CLIP-Docker/issues/1",
    symptoms="A container of docker-compose: RuntimeError: Found no NVIDIA driver on your system.",
    confirmed="The container was started without the GPU; docker run with --gpus all works.",
    causes="container-without-gpu",
    cures=[r"--gpus\b|\bgpus:|--runtime[= ]nvidia|runtime: nvidia|capabilities: ?\[?"],
)
def _(m: Machine) -> None:
    # A container sees the host's bus and the version of its module. The image is pytorch/pytorch with Python 3.7.
    docker(linux(without(cards(m, 1, "0x2204")).module("470.63.01"), "ubuntu", "5.11.0-27-generic"))
    m.torch(
        version="1.9.0", cuda="11.1", arch=["sm_37", "sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86"]
    )
    python(m, "/opt/conda/bin/python", "3.7.10", "1.9.0", vision="0.10.0", home="/root", folder="/app", conda=True,
           conda_torch=("pytorch-1.9.0-py3.7_cuda11.1_cudnn8.0.5_0",), tools=("conda",),
           environment={"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
                        "LD_LIBRARY_PATH": "/usr/local/nvidia/lib:/usr/local/nvidia/lib64"})  # fmt: skip


@case(
    "webui-capabilities",
    "https://github.com/AbdBarho/stable-diffusion-webui-docker/issues/348",
    symptoms="docker compose with a reservation of the GPU: Found no NVIDIA driver on your system, although nvidia-smi in "
    "the container shows it.",
    confirmed="The image names no capabilities, so only nvidia-smi's part was passed; NVIDIA_DRIVER_CAPABILITIES="
    "compute,utility and NVIDIA_VISIBLE_DEVICES=all in its environment solved it.",
    causes="compute-not-passed",
    cures=[r"NVIDIA_DRIVER_CAPABILITIES[\"']?\s*[=:]\s*[\"']?(?:all|compute)"],
)
def _(m: Machine) -> None:
    # The toolkit's default is "utility": no libcuda and no /dev/nvidia-uvm (libnvidia-container, nvc_mount.c).
    version = "525.85.12"
    cards(m, 1, "0x2504").module(version).nodes("nvidiactl", "nvidia0").nvml(FAKE_COUNT=1)
    m.report("nvml.driver", version).smi("GPU 0: NVIDIA GeForce RTX 3060 (UUID: GPU-12345678-1234)")
    without(
        docker(
            linux(m, "debian"), "usr/bin/nvidia-smi", f"usr/lib/x86_64-linux-gnu/libnvidia-ml.so.{version}"
        ),
        "libcuda.so.1",
    )
    m.torch(
        version="1.13.1+cu117",
        cuda="11.7",
        arch=["sm_37", "sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86"],
    )
    python(m, "/usr/local/bin/python", "3.10.10", "1.13.1", vision="0.14.1", home="/root",
           folder="/stable-diffusion-webui", environment={"NVIDIA_VISIBLE_DEVICES": "all"}, pythons=("3.10",),
           more={"nvidia-cublas-cu11": "11.10.3.66", "nvidia-cudnn-cu11": "8.5.0.96"})  # fmt: skip


@case(
    "slurm-no-gres",
    "https://github.com/3dem/model-angelo/issues/60",
    symptoms="A Slurm job on the partition with GPUs: torch.cuda.is_available() False, nvidia-smi could not communicate with "
    "the NVIDIA driver.",
    confirmed="The submission script did not ask for a GPU, so none was allocated; with the request all checks are right.",
    causes=("job-without-gpu", "batch-system"),
    cures=[r"--gres[= ]gpu|--gpus\b|--gpus-per-"],
)
def _(m: Machine) -> None:
    # The nodes are virtual machines (the P100 is 00:08.0): this one has the software of the driver and no GPU.
    linux(m, "rocky", "4.18.0-477.15.1.el8_8.x86_64")
    m.file("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme de pse tsc msr hypervisor lahf_lm\n")
    for tool in ("sbatch", "srun", "squeue"):
        m.command(tool, "exit 0")
    smi(m, NOT_COMMUNICATING, 9).library(version="525.85.12", FAKE_DRIVER=12000, FAKE_CUINIT=100).nvml(
        FAKE_NVML=9
    )
    m.set(SLURM_JOB_ID=1234567, SLURM_JOB_NAME="angelo")
    m.torch(
        version="1.12.1", cuda="11.6", arch=["sm_37", "sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86"]
    )
    python(
        m, "/home/ann/miniconda3/envs/model_angelo/bin/python", "3.9.17", "1.12.1", conda=True, tools=("conda",),
        conda_torch=("pytorch-1.12.1-py3.9_cuda11.6_cudnn8.3.2_0",),
        environment={"CONDA_PREFIX": "/home/ann/miniconda3/envs/model_angelo", "SLURM_JOB_ID": "1234567"},
    )  # fmt: skip


@case(
    "suse-video-group",
    "https://github.com/AUTOMATIC1111/stable-diffusion-webui/issues/3207",
    symptoms="openSUSE Tumbleweed, GTX 1050 Ti: torch.cuda.is_available() is True with sudo and False without.",
    confirmed="The user was not in the group video, to which the device files belong; adding the user to it worked.",
    causes="no-permission",
    cures=[r"(?:usermod|gpasswd|adduser)[^\n]*\bvideo\b"],
)
def _(m: Machine) -> None:
    build = {
        "version": "1.12.1+cu113",
        "cuda": "11.3",
        "arch": ["sm_37", "sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86"],
    }
    nvidia(
        m,
        "515.76",
        11070,
        build,
        name="x",
        device="0x1c82",
        capability=61,
        nvml_works=False,
        FAKE_CUINIT=100,
        FAKE_NVML=4,
    )
    m.smi("Failed to initialize NVML: Insufficient Permissions", 4)
    for name in ("nvidiactl", "nvidia-uvm", "nvidia0"):
        m.report(f"bus.nodes.{name}", "EACCES")
        os.chmod(m.root / "dev" / name, 0o660)
        try:
            os.chown(m.root / "dev" / name, 0, 44)  # root:video
        except OSError:
            pass
    linux(m, "suse", "6.0.2-1-default").file("lib/modules/6.0.2-1-default/updates/nvidia.ko.zst")
    m.file("lib/modules/6.0.2-1-default/modules.dep").file(
        "etc/group", "root:x:0:\nvideo:x:44:\nann:x:1000:\n"
    )
    modinfo(m, "515.76")
    python(m, "/home/ann/stable-diffusion-webui/venv/bin/python3", "3.10.8", "1.12.1+cu113", vision="0.13.1+cu113",
           word="python3", environment={"VIRTUAL_ENV": "/home/ann/stable-diffusion-webui/venv"},
           folder="/home/ann/stable-diffusion-webui", pythons=("3.10",))  # fmt: skip


@case(
    "program-hides-gpu",
    "https://github.com/xianlin7/SAMUS/issues/39",
    symptoms="RuntimeError: No CUDA GPUs are available in train.py; one GPU.",
    confirmed="The fourth line of train.py sets CUDA_VISIBLE_DEVICES to '3'; with one GPU it has to be 0.",
    causes=("healthy", "hidden"),  # the machine is in order; that alone does not help: see the cure
    cures=[r"CUDA_VISIBLE_DEVICES"],
)
def _(m: Machine) -> None:
    # Asked in a terminal, in the folder of the program.
    build = {"version": "2.5.1+cu124", "cuda": "12.4", "arch": ARCH_TORCH_2}
    nvidia(m, "560.35.03", 12060, build, name="NVIDIA GeForce RTX 4090", device="0x2684", capability=89)
    linux(m, "ubuntu").report("pytorch.hides", [{"file": "train.py", "line": 4, "value": "3"}])
    python(m, "/home/ann/miniconda3/envs/samus/bin/python", "3.10.15", "2.5.1", vision="0.20.1", conda=True, tools=("conda",),
           environment={"CONDA_PREFIX": "/home/ann/miniconda3/envs/samus"}, folder="/home/ann/SAMUS",
           more={"nvidia-cublas-cu12": "12.4.5.8", "triton": "3.1.0"})  # fmt: skip


@case(
    "wsl-driver-inside",
    "https://github.com/NVIDIA/cuml/issues/6218",
    symptoms="WSL 2: nvidia-smi shows the GPU, but cuInit results in CUDA_ERROR_NO_DEVICE (100).",
    confirmed="A Linux driver in WSL is found first; with /usr/lib/wsl/lib first in LD_LIBRARY_PATH it works (the "
    "maintainer: better remove the wrong driver).",
    causes="wsl-shadowed",
    cures=[r"export LD_LIBRARY_PATH=[\"']?/usr/lib/wsl/lib",
           r"apt(?:-get)? (?:-y )?(?:remove|purge|autoremove)\b[^\n]*nvidia"],
)  # fmt: skip
def _(m: Machine) -> None:
    linux(m, "ubuntu").file("proc/version", "Linux version 5.15.167.4-microsoft-standard-WSL2")
    m.file("proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2").nodes("dxg")
    # The thread asked with numba; torch finds the same library. The driver's number is not named.
    m.library(version="560.35.05", FAKE_DRIVER=12060, FAKE_CUINIT=100).nvml(FAKE_NVML=9)
    m.set(WSL_DISTRO_NAME="Ubuntu").file("usr/lib/wsl/lib/libcuda.so.1", "ELF")
    m.file("usr/lib/wsl/lib/libnvidia-ml.so.1", "ELF").smi(
        "GPU 0: NVIDIA GeForce RTX 4090 (UUID: GPU-12345678-1234)"
    )
    m.torch(version="2.5.1+cu124", cuda="12.4", arch=ARCH_TORCH_2)
    python(m, "/home/ann/hm-cuml/.venv/bin/python", "3.12.8", "2.5.1", pip=False, tools=("uv",), pythons=("3.12",),
           environment={"VIRTUAL_ENV": "/home/ann/hm-cuml/.venv", "WSL_DISTRO_NAME": "Ubuntu"}, folder="/home/ann/hm-cuml",
           project={"tool": "uv", "folder": "/home/ann/hm-cuml"}, more={"nvidia-cublas-cu12": "12.4.5.8"})  # fmt: skip


@case(
    "daemon-reload",
    "https://github.com/NVIDIA/nvidia-docker/issues/1671",
    symptoms="A container works for a while; then nvidia-smi in it: Failed to initialize NVML: Unknown Error.",
    confirmed="`systemctl daemon-reload` on the host takes the devices from the container; running the container again "
    "works.",
    causes="container-lost",
    cures=[
        r"docker (?:restart|start|run|compose)|(?i:(?:restart|start|recreate|create)[^\n]{0,30}container)"
    ],
)
def _(m: Machine) -> None:
    version = "510.68.02"
    build = {
        "version": "1.12.1+cu116",
        "cuda": "11.6",
        "arch": ["sm_37", "sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86"],
    }
    nvidia(m, version, 11060, build, name="x", device="0x20b0", capability=80, kind="0x030200", nvml_works=False,
           FAKE_CUINIT=100, FAKE_NVML=999)  # fmt: skip
    m.smi("Failed to initialize NVML: Unknown Error", 255)
    for name in ("nvidiactl", "nvidia-uvm", "nvidia0"):
        m.report(f"bus.nodes.{name}", "EPERM")
    names = [f"usr/lib/x86_64-linux-gnu/{name}.so.{version}" for name in ("libcuda", "libnvidia-ml")]
    docker(linux(m, "ubuntu", "5.15.0-46-generic"), "usr/bin/nvidia-smi", *names)
    python(m, "/usr/bin/python3", "3.8.10", "1.12.1+cu116", word="python3", home="/root", folder="/", pythons=("3.8",),
           environment={"NVIDIA_VISIBLE_DEVICES": "all", "NVIDIA_DRIVER_CAPABILITIES": "compute,utility",
                        "LD_LIBRARY_PATH": "/usr/local/nvidia/lib:/usr/local/nvidia/lib64"})  # fmt: skip


@case(
    "colab-cpu-runtime",
    "https://github.com/googlecolab/colabtools/issues/4425",
    symptoms="Colab: RuntimeError: Found no NVIDIA driver on your system.",
    confirmed="The runtime has no GPU: Runtime > Change runtime type, and a GPU accelerator.",
    causes="no-gpu-runtime",
    cures=[r"(?i)change runtime type"],
)
def _(m: Machine) -> None:
    m.set(COLAB_RELEASE_TAG="release-colab_20240305-060101_RC00", COLAB_GPU="")
    docker(linux(without(m), "ubuntu", "6.1.58+"))
    m.report("bus.shm", 6 << 30).file(
        "proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme de pse tsc msr hypervisor lahf_lm\n"
    )
    m.torch(version="2.1.0+cu121", cuda="12.1", arch=ARCH_TORCH_2)
    python(m, "/usr/bin/python3", "3.10.12", "2.1.0+cu121", word="python3", vision="0.16.0+cu121", audio="2.1.0+cu121",
           home="/root", folder="/content", pythons=("3.10",),
           environment={"LD_LIBRARY_PATH": "/usr/lib64-nvidia"})  # fmt: skip
    m.asks(notebook=True, visible_at_start=None, visible_now=None)
