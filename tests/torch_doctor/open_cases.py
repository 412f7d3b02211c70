"""Real cases for :mod:`real_cases`: twenty-five threads, each staged from what its author reported.

What a thread does not say (the number of a card, the driver's release) is filled in with what is usual there. The cures were
written from the threads; where a thread names one way, an equal one counts too, and so says the comment at it.
"""

from __future__ import annotations

from fake_machines import CUDA_BUILD, Machine
from real_cases import case, container, linux, modinfo, python, windows, wsl

GITHUB = "https://github.com"
NO_CODE = "CUDA error: no kernel image is available for execution on the device"
NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA "
    "driver is installed and running."
)
SM_50_TO_90 = ["sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"]
SM_70_TO_120 = ["sm_70", "sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"]
CARD = "sys/bus/pci/devices/0000:de:00.0"  # the first NVIDIA card of a made-up machine
P100, RTX_5090 = "0x15f8", "0x2b85"


def install(tags: str, *packages: str, start: str = "") -> str:
    """Return the pattern of a command that installs `packages` from the builds for `tags` (a regular expression).

    ``--torch-backend=auto`` counts too: uv then chooses by the driver.
    """
    names = "".join(rf"(?=.*\s{name}\b)" for name in ("torch", *packages))
    return rf"^{start}(?=.*\b(?:install|add)\b)(?=.*torch-backend[= ](?:{tags}|auto)\b){names}"


def packages(m: Machine, *names: str) -> Machine:
    """Install packages, of which only the metadata matters: ``"torchvision-0.20.1"``."""
    for name in names:
        package, version = name.split("-")
        m.package(
            f"{name}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"
        )
    return m


def driver(m: Machine, version: str, **answers: object) -> Machine:
    """Let this release of the driver be loaded and installed."""
    return m.module(version).library(version=version, **answers)


def no_module(m: Machine) -> Machine:
    """Let the driver's libraries be installed, and its kernel module not be loaded."""
    return m.library(FAKE_CUINIT=100).nvml(FAKE_NVML=9).smi(NO_DRIVER, 9)


# --- which build of PyTorch ---------------------------------------------------------------------------


@case(
    "windows-venv-cpu",
    f"{GITHUB}/ai-forever/Kandinsky-2/issues/34",
    symptoms="Windows, a venv, an NVIDIA card; after installing a package torch.cuda.is_available() is False.",
    confirmed="The package had brought the CPU build; torch, torchvision and torchaudio from the CUDA builds cured it.",
    causes="cpu-build",
    cures=install(r"cu1[123]\d", "torchvision", "torchaudio"),
)
def _(m: Machine) -> None:
    windows(m, "NVIDIA GeForce RTX 3080")
    m.gpus(1, {"version": "2.6.0+cpu"})
    m.report("interpreter.environment.VIRTUAL_ENV", r"C:\Users\ann\venv")
    packages(m, "torchvision-0.21.0", "torchaudio-2.6.0")


@case(
    "windows-conda-cpu",
    f"{GITHUB}/PacktPublishing/Modern-Time-Series-Forecasting-with-Python/issues/1",
    symptoms="Windows 11, RTX 3070, conda environment of a book: Torch not compiled with CUDA enabled, again and again.",
    confirmed="conda had installed its CPU build; the conda package was removed, and pip installed the CUDA build.",
    causes=("conda-cpu", "mixed-installers", "cpu-build"),
    # `py` is the launcher's Python there, never that of a conda environment.
    cures=(
        (r"^(?:conda|mamba) (?:remove|uninstall)\b.*\bpytorch\b", install(r"cu1[123]\d", start="(?!py )")),
    ),
)
def _(m: Machine) -> None:
    windows(m, "NVIDIA GeForce RTX 3070", kind="conda", prefix=r"C:\Users\ann\anaconda3\envs\modern_ts")
    m.gpus(1, {"version": "1.13.1"})
    m.report("interpreter.conda_torch", ["pytorch-1.13.1-py3.9_cpu_0"])
    m.report("interpreter.torch_copies", ["1.13.1"])
    m.report("interpreter.environment.CONDA_PREFIX", r"C:\Users\ann\anaconda3\envs\modern_ts")


@case(
    "windows-uv-project",
    f"{GITHUB}/ScrollPrize/villa/pull/1584",
    symptoms="Windows with a CUDA card: `uv sync` of a project installs torch 2.12.1+cpu, is_available() is False.",
    confirmed="pyproject.toml names the index of the CUDA builds for Linux only; naming it for Windows too cured it.",
    causes="cpu-build",
    cures=(
        r"^uv add\b.*\btorch\b",
        r"tool\.uv\.sources",
        # An equal way: install it by hand, and keep uv from taking it back.
        (install(r"cu1[23]\d", start="uv pip "), r"--no-sync"),
    ),
)
def _(m: Machine) -> None:
    windows(m, "NVIDIA GeForce RTX 4070", kind="uv", prefix=r"C:\src\spiral-fitting\.venv")
    m.report("interpreter.project", {"tool": "uv", "folder": r"C:\src\spiral-fitting"})
    m.gpus(1, {"version": "2.12.1+cpu"})
    m.project("uv.lock", 'version = 1\n[[package]]\nname = "torch"\nversion = "2.12.1"\n')
    m.project(
        "pyproject.toml",
        '[project]\nname = "spiral-fitting"\nversion = "0.1"\ndependencies = ["torch>=2.11"]\n'
        '[tool.uv.sources]\ntorch = [{ index = "pytorch-cu128", marker = "sys_platform == \'linux\'" }]\n',
    )


@case(
    "conda-rtx-5090",
    f"{GITHUB}/Hellod035/LeggedLab/issues/26",
    symptoms="RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation (sm_50 … sm_90).",
    confirmed="This PyTorch has no code for the new card; torch and torchvision from the cu128 builds cured it.",
    causes=("card-too-new", "too-old-or-new"),
    cures=install("cu12[89]", "torchvision"),  # its driver, 570, serves CUDA 12.8
)
def _(m: Machine) -> None:
    linux(m, "ubuntu")
    build = {"version": "2.5.1+cu124", "cuda": "12.4", "arch": SM_50_TO_90, "use_error": NO_CODE}
    m.gpus(1, build, FAKE_CAPABILITY=120, FAKE_DRIVER=12080).file(f"{CARD}/device", RTX_5090)
    driver(m, "570.144")
    python(m, "conda", "/home/ann/miniconda3/envs/legged")
    packages(m, "torchvision-0.20.1")


@case(
    "gtx-1050",
    f"{GITHUB}/bnsreenu/digitalsreeni-image-annotator/issues/57",
    symptoms="Ubuntu 24.04, GTX 1050, torch 2.8.0+cu128: no kernel image is available for execution on the device.",
    confirmed="Builds with CUDA 12.8 have no code for Pascal; torch, torchvision and torchaudio from an older line cured it.",
    causes=("card-too-old", "too-old-or-new"),
    cures=install("cu118|cu12[1-6]", "torchvision", "torchaudio"),
)
def _(m: Machine) -> None:
    linux(m, "ubuntu")
    build = {"version": "2.8.0+cu128", "cuda": "12.8", "arch": SM_70_TO_120, "use_error": NO_CODE}
    m.gpus(1, build, FAKE_CAPABILITY=61, FAKE_DRIVER=12040)
    driver(m, "550.163.01")
    packages(m, "torchvision-0.23.0", "torchaudio-2.8.0")


@case(
    "kaggle-p100",
    f"{GITHUB}/Kaggle/kaggle-cli/issues/1151",
    symptoms="Kaggle gives a P100, is_available() is True, and every operation fails: no kernel image is available.",
    confirmed="Kaggle's PyTorch (cu128) has no code for the P100; a T4 works. Kaggle recommends T4 or L4.",
    causes=("card-too-old", "too-old-or-new"),
    cures=(r"T4", install("cu118|cu12[1-6]", "torchvision")),
)
def _(m: Machine) -> None:
    build = {"version": "2.10.0+cu128", "cuda": "12.8", "arch": SM_70_TO_120, "use_error": NO_CODE}
    container(m).gpus(1, build, FAKE_CAPABILITY=60).file(f"{CARD}/device", P100)
    linux(m, "ubuntu").set(KAGGLE_KERNEL_RUN_TYPE="Interactive").asks(notebook=True)
    python(m, "system", "/usr")
    packages(m, "torchvision-0.25.0")


@case(
    "windows-c10",
    f"{GITHUB}/nagadomi/nunif/issues/701",
    symptoms=r"Windows: [WinError 1114] A dynamic link library (DLL) initialization routine failed. Error loading c10.dll.",
    confirmed="The Visual C++ runtime is too old for this PyTorch; its latest redistributable cures it.",
    causes="windows-dll",
    cures=r"(?i)vc_redist|visual c\+\+ redist|VCRedist",
)
def _(m: Machine) -> None:
    windows(m, "NVIDIA GeForce RTX 3060")
    text = (
        "[WinError 1114] A dynamic link library (DLL) initialization routine failed. Error loading "
        r'"C:\Users\ann\venv\Lib\site-packages\torch\lib\c10.dll" or one of its dependencies.'
    )
    m.gpus(1, CUDA_BUILD).torch(raises=["OSError", text])


@case(
    "macbook",
    f"{GITHUB}/declare-lab/tango/issues/12",
    symptoms="MacBook with an M1: Torch not compiled with CUDA enabled.",
    confirmed='A Mac has no CUDA; the program was given the device "mps".',
    causes="apple",
    cures=r"\bmps\b",
)
def _(m: Machine) -> None:
    python(m).torch(version="2.1.0").report("bus.os", "darwin").report("bus.arch", "arm64").report(
        "bus.pci", 0
    )
    m.report("pytorch.mps", True)


@case(
    "kfd-group",
    f"{GITHUB}/ROCm/legacy-rocm-build/issues/2232",
    symptoms="AMD card, PyTorch for ROCm; /dev/kfd: permission denied.",
    confirmed="The user was not in the groups video and render; added to both, and a restart, cured it.",
    causes="kfd-permission",
    cures=r"usermod -aG? ?-?G? ?\S*render",
)
def _(m: Machine) -> None:
    linux(m, "ubuntu").cards(1, "amdgpu", "amd").nodes("kfd").report("bus.nodes.kfd", "EACCES")
    m.report("bus.node_owners.kfd", "660 0 44")
    m.torch(version="2.3.0+rocm6.0", hip="6.0")


# --- the driver's kernel module -----------------------------------------------------------------------


@case(
    "debian-cloud-headers",
    f"{GITHUB}/GoogleCloudPlatform/compute-gpu-installation/issues/25",
    symptoms="Debian 11, Tesla P100 in a cloud; after a restart nvidia-smi cannot communicate with the driver.",
    confirmed="The kernel was updated and its headers were missing, so that DKMS built no module; installing them cured it.",
    causes=("driver-not-built", "driver-lost"),
    # linux-headers-amd64 belongs to another kernel than the one of the cloud. The driver is not a package of Debian there,
    # so that a command with one of its packages fails and installs nothing.
    cures=r"apt(?:-get)? install (?:-y )?linux-headers-(?:\$\(uname -r\)|5\.10\.0-25-cloud-amd64|cloud-amd64)$",
)
def _(m: Machine) -> None:
    linux(m, "debian", "5.10.0-25-cloud-amd64").cards(1, "").file(f"{CARD}/device", P100)
    m.file("lib/modules/5.10.0-23-cloud-amd64/updates/dkms/nvidia.ko")
    m.file("lib/modules/5.10.0-25-cloud-amd64/modules.dep").file(
        "sys/class/dmi/id/product_name", "Google Compute Engine"
    )
    m.command("dkms", "echo 'nvidia/525.85.12, 5.10.0-23-cloud-amd64, x86_64: installed'")
    no_module(m).torch(version="2.0.1+cu118", cuda="11.8", arch=["sm_37", *SM_50_TO_90])


@case(
    "cachyos-second-kernel",
    f"{GITHUB}/CachyOS/linux-cachyos/issues/118",
    symptoms="CachyOS with nvidia-dkms: the driver works under the kernel linux, not under linux-cachyos.",
    confirmed="There was no module for this kernel; `sudo pacman -S nvidia-dkms` once more built it.",
    causes=("driver-not-built", "driver-lost"),
    cures=(
        r"pacman -S\w*\b.*\bnvidia-(?:open-)?dkms",
        r"dkms (?:autoinstall|install)\b",
    ),  # DKMS itself does the same
)
def _(m: Machine) -> None:
    linux(m, "cachyos", "6.3.7-1-cachyos").cards(1, "")
    m.file("lib/modules/6.3.6-arch1-1/updates/dkms/nvidia.ko.zst")
    m.file("lib/modules/6.3.7-1-cachyos/modules.dep").file("lib/modules/6.3.7-1-cachyos/build/Makefile")
    m.command("dkms", "echo 'nvidia/530.41.03, 6.3.6-arch1-1, x86_64: installed'")
    no_module(m).torch(**{**CUDA_BUILD, "version": "2.0.1+cu118", "cuda": "11.8"})


@case(
    "fedora-secure-boot",
    f"{GITHUB}/gridhead/nvidia-auto-installer-for-fedora-linux/issues/107",
    symptoms="Fedora 36, Secure Boot on: nvidia kernel module missing, falling back to nouveau.",
    confirmed="The module's signature is not trusted; the key of akmods was enrolled with mokutil.",
    causes=("driver-not-signed", "driver-lost"),
    # Others on Fedora switched Secure Boot off in the firmware.
    cures=(
        r"mokutil --import /etc/pki/akmods/certs/public_key\.der",
        r"(?i)(?:disable|switch|turn)\b.{0,40}secure boot",
    ),
)
def _(m: Machine) -> None:
    linux(m, "fedora", "5.17.8-300.fc36.x86_64").cards(1, "nouveau")
    m.file("lib/modules/5.17.8-300.fc36.x86_64/extra/nvidia/nvidia.ko.xz")
    m.file("sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", "\6\0\0\0\1")
    m.file("etc/pki/akmods/certs/public_key.der")
    m.command("dmesg", "echo '[   9.1] Loading of module with unavailable key is rejected'")
    m.command("mokutil", "echo 'SecureBoot enabled'")
    no_module(m).torch(**{**CUDA_BUILD, "version": "1.13.1+cu117", "cuda": "11.7"})


@case(
    "ubuntu-rtx-50-closed",
    f"{GITHUB}/oddmario/NVIDIA-Ubuntu-Driver-Guide/issues/10",
    symptoms="Ubuntu 24.04, a card of the RTX 50 series, the driver 570 is installed; nvidia-smi: No devices were found.",
    confirmed="These cards need the open kernel modules; `sudo apt install nvidia-driver-570-open` cured it.",
    causes=("driver-not-for-card", "card-not-started"),
    cures=(
        r"apt(?:-get)? install\b.*nvidia-driver-\d+(?:-server)?-open",
        r"ubuntu-drivers install nvidia:\d+-open",
    ),
)
def _(m: Machine) -> None:
    linux(m, "ubuntu").cards(1).file(f"{CARD}/device", RTX_5090)
    m.nodes("nvidiactl", "nvidia0", "nvidia-uvm").report("bus.nodes.nvidia0", "EIO")
    driver(m, "570.133.07", FAKE_CUINIT=100).nvml(FAKE_NVML_COUNT=0).smi("No devices were found", 6)
    log = (
        "NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:2b85) NVRM: installed in this system requires use of the NVIDIA "
        "open kernel modules."
    )
    # On Ubuntu only root may read dmesg; the first user may read the journal.
    m.command("dmesg", "echo 'dmesg: read kernel buffer failed: Operation not permitted' >&2; exit 1")
    m.command("journalctl", f"echo 'Apr 07 10:00:00 pc kernel: {log}'")
    modinfo(m, "570.133.07")
    m.torch(**CUDA_BUILD)


@case(
    "ubuntu-pending-restart",
    f"{GITHUB}/NVIDIA/deepops/issues/1186",
    symptoms="Ubuntu, while software was installed: Failed to initialize NVML: Driver/library version mismatch.",
    confirmed="An update replaced the libraries while the old module was loaded; a restart cured it.",
    causes="mismatch",
    cures=r"\breboot\b|(?i:restart the (?:machine|computer))",
)
def _(m: Machine) -> None:
    linux(m, "ubuntu").gpus(
        1, {**CUDA_BUILD, "version": "2.4.0+cu124", "cuda": "12.4"}, FAKE_CUINIT=803, FAKE_NVML=18
    )
    m.module("550.90.07").library(version="550.107.02", FAKE_DRIVER=12040)
    modinfo(m, "550.107.02")
    m.smi("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.107", 18)


@case(
    "after-suspend",
    f"{GITHUB}/pytorch/pytorch/issues/49081",
    symptoms="Linux, after suspend: CUDA unknown error; nvidia-smi works.",
    confirmed="The module nvidia_uvm does not survive the suspend; reloading it cured it.",
    causes="after-sleep",
    cures=(
        r"(?:rmmod|modprobe -r) nvidia_uvm.*modprobe nvidia_uvm",
        (r"(?:rmmod|modprobe -r) nvidia_uvm", r"^sudo modprobe nvidia_uvm"),
    ),
)
def _(m: Machine) -> None:
    linux(m, "ubuntu").gpus(1, FAKE_CUINIT=999).report("bus.slept", 30_000.0)


@case(
    "h100-fabric-manager",
    f"{GITHUB}/gpustack/gpustack/issues/1254",
    symptoms="Eight GPUs, nvidia-smi lists them all; Error 802: system not yet initialized.",
    confirmed="Fabric Manager was not installed; installing it cured it.",
    causes="fabric",
    cures=(
        (
            r"apt(?:-get)? install\b.*(?:nvidia|cuda-drivers)-fabricmanager-570",
            r"systemctl (?:enable --now|start|restart) nvidia-fabricmanager",
        ),
    ),
)
def _(m: Machine) -> None:
    linux(m, "ubuntu").gpus(8, FAKE_CUINIT=802, FAKE_DRIVER=12080)
    driver(m, "570.158.01")
    m.torch(**{**CUDA_BUILD, "version": "2.7.1+cu128", "cuda": "12.8"})
    m.file("proc/driver/nvidia-nvswitch/devices/0000:00:01.0")


# --- WSL ----------------------------------------------------------------------------------------------


@case(
    "wsl-1",
    f"{GITHUB}/CompVis/stable-diffusion/issues/161",
    symptoms="Ubuntu 18.04 in WSL on Windows 10, RTX 3090, newest driver: Found no NVIDIA driver on your system.",
    confirmed="It was WSL 1; changed to WSL 2 it works.",
    causes=("wsl-1", "wsl-old"),
    cures=r"wsl(?:\.exe)? --set-version \"?Ubuntu-18\.04\"? 2",
)
def _(m: Machine) -> None:
    linux(m, "ubuntu", "4.4.0-19041-Microsoft").file(
        "proc/version", "Linux version 4.4.0-19041-Microsoft (Microsoft@Microsoft.com) (gcc version 5.4.0)"
    )
    m.set(WSL_DISTRO_NAME="Ubuntu-18.04").torch(**{**CUDA_BUILD, "version": "1.11.0+cu113", "cuda": "11.3"})


@case(
    "wsl-linux-driver",
    f"{GITHUB}/Genesis-Embodied-AI/genesis-world/issues/114",
    symptoms="WSL 2: nvidia-smi works, cuInit returns 100 (no device).",
    confirmed="A Linux driver had been installed inside WSL; its libcuda was loaded in place of /usr/lib/wsl/lib.",
    causes="wsl-shadowed",
    cures=(
        r"LD_LIBRARY_PATH=\"?/usr/lib/wsl/lib",
        r"apt(?:-get)? (?:purge|remove|autoremove)\b.*(?:nvidia|libcuda|cuda-drivers)",
    ),
)
def _(m: Machine) -> None:
    linux(wsl(m), "ubuntu").file("usr/lib/wsl/lib/libcuda.so.1").set(WSL_DISTRO_NAME="Ubuntu")
    m.library(version="550.120", FAKE_CUINIT=100).nvml(FAKE_NVML_COUNT=1).smi().torch(**CUDA_BUILD)


# --- containers ---------------------------------------------------------------------------------------


@case(
    "docker-without-uvm",
    f"{GITHUB}/NVIDIA/nvidia-docker/issues/1085",
    symptoms="Docker with the devices passed one by one: nvidia-smi works, torch.cuda.is_available() is False.",
    confirmed="--device /dev/nvidia-uvm:/dev/nvidia-uvm was forgotten.",
    causes="uvm-missing",
    cures=r"--device[= ]/dev/nvidia-uvm|--gpus[= ]all",
)
def _(m: Machine) -> None:
    linux(container(m), "ubuntu").gpus(1, FAKE_CUINIT=999)
    (m.root / "dev/nvidia-uvm").unlink()


@case(
    "podman-cdi-without-uvm",
    f"{GITHUB}/NVIDIA/nvidia-container-toolkit/issues/50",
    symptoms="Podman with --device nvidia.com/gpu=all: nvidia-smi works, torch.cuda.is_available() is False.",
    confirmed="The CDI file was written while the host had no /dev/nvidia-uvm; with its device nodes added, it works.",
    causes="uvm-missing",
    cures=(
        (r"nvidia-modprobe\b.*-u|modprobe nvidia[-_]uvm", r"nvidia-ctk cdi generate"),
        r"--device[= ]/dev/nvidia-uvm",
    ),
)
def _(m: Machine) -> None:
    linux(container(m, "podman"), "ubuntu").gpus(1, FAKE_CUINIT=999).file(f"{CARD}/device", P100)
    (m.root / "dev/nvidia-uvm").unlink()


@case(
    "container-old-driver",
    f"{GITHUB}/IEIT-Yuan/Yuan-2.0/issues/65",
    symptoms="A container with CUDA 12.1: the NVIDIA driver on your system is too old (found version 11000).",
    confirmed="The host's driver was too old for the image; it was updated to 535.",
    causes="driver-old",
    cures=r"(?i)driver\b.*\b(?:host|runs the machine)|(?:host|runs the machine)\b.*\bdriver",
)
def _(m: Machine) -> None:
    build = {"version": "2.1.0+cu121", "cuda": "12.1", "arch": SM_50_TO_90}
    linux(container(m), "ubuntu").gpus(8, build, FAKE_DRIVER=11000, FAKE_CAPABILITY=80)
    driver(m, "450.51.05")
    m.library(version="450.51.05").set(NVIDIA_VISIBLE_DEVICES="all")


@case(
    "compat-on-geforce",
    f"{GITHUB}/QuipNetwork/quip-miner/issues/24",
    symptoms="A container on an RTX 3060, driver 570: forward compatibility was attempted on non supported HW.",
    confirmed="The image's /usr/local/cuda/compat/libcuda.so was loaded; with LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu it works.",
    causes="compat",
    cures=(
        r"LD_LIBRARY_PATH=\"?/usr/lib/x86_64-linux-gnu",
        r"apt(?:-get)? (?:remove|purge)\b.*cuda-compat",
        r"rm -r\w* /usr/local/cuda\S*/compat",
    ),
)
def _(m: Machine) -> None:
    linux(container(m), "ubuntu").gpus(1, {**CUDA_BUILD, "version": "2.9.0+cu129", "cuda": "12.9"}).module(
        "570.211.01"
    )
    m.library(version="570.211.01").library(
        "/usr/local/cuda/compat", "575.57.08", FAKE_CUINIT=804, FAKE_DRIVER=12090
    )
    # The loader's own configuration names the folder there, not the variable.
    m.report("interpreter.environment.LD_LIBRARY_PATH", "/usr/local/nvidia/lib:/usr/local/nvidia/lib64")
    m.set(NVIDIA_VISIBLE_DEVICES="all")


# --- clouds, clusters, programs -----------------------------------------------------------------------


@case(
    "colab-without-gpu",
    f"{GITHUB}/googlecolab/colabtools/issues/482",
    symptoms="Colab: torch.cuda.is_available() is False.",
    confirmed="The runtime had no GPU; the runtime type had to be set to GPU.",
    causes="no-gpu-runtime",
    cures=r"(?i)change runtime type",
)
def _(m: Machine) -> None:
    linux(container(m), "ubuntu").set(COLAB_RELEASE_TAG="release-colab_20261101").asks(notebook=True)
    python(m, "system", "/usr")
    m.torch(version="2.9.0+cpu")


@case(
    "slurm-gres",
    f"{GITHUB}/phlippe/uvadlc_notebooks/issues/104",
    symptoms="A job of a course, on the cluster Snellius: no GPUs are available, though the script says --gres=gpu:1.",
    confirmed="On that cluster a job script asks with --gpus=1.",
    causes=("job-without-gpu", "batch-system"),
    cures=r"--gpus(?:-per-node)?[= ]1\b",
)
def _(m: Machine) -> None:
    linux(m, "rocky").gpus(4, FAKE_CUINIT=100, FAKE_NVML_COUNT=0).set(SLURM_JOB_ID=2841)
    m.smi("No devices were found", 6).command("srun", "exit 0").command("sbatch", "exit 0")
    for index in range(4):
        m.report(f"bus.nodes.nvidia{index}", "EPERM")


@case(
    "program-hides",
    f"{GITHUB}/ziplab/PTQD/issues/13",
    symptoms="One GPU; the program stops with: No CUDA GPUs are available.",
    confirmed="The program itself sets CUDA_VISIBLE_DEVICES to 7; without that line it runs.",
    causes="program-hides",
    cures=r"CUDA_VISIBLE_DEVICES",
)
def _(m: Machine) -> None:
    linux(m, "ubuntu").gpus(1)
    m.project("sample_lp.py", "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '7'\nimport torch\n")


# --- measured for the first time after the causes and steps had been mended ----------------------------


@case(
    "rocm-on-nvidia",
    f"{GITHUB}/AUTOMATIC1111/stable-diffusion-webui/issues/759",
    symptoms="Ubuntu, an AMD processor with graphics and an NVIDIA card: Torch is not able to use GPU.",
    confirmed="An installer had chosen torch and torchvision +rocm5.2; uninstalled, and the CUDA builds installed.",
    causes=("rocm-build", "amd"),
    cures=install(r"cu1[123]\d", "torchvision"),
)
def _(m: Machine) -> None:
    linux(m, "ubuntu").cards(1, "amdgpu", "amd").gpus(1, {"version": "2.4.0+rocm6.1", "hip": "6.1"}).nodes(
        "kfd"
    )
    packages(m, "torchvision-0.19.0")


@case(
    "amd-with-cpu-build",
    f"{GITHUB}/ROCm/legacy-rocm-build/issues/2354",
    symptoms="Radeon RX 6800, ROCm installed: torch.cuda.is_available() is False.",
    confirmed="The CPU build of PyTorch was installed, not the one for ROCm.",
    causes=("amd-card", "amd"),
    cures=r"(?i)rocm",
)
def _(m: Machine) -> None:
    linux(m, "ubuntu").cards(1, "amdgpu", "amd").nodes("kfd").torch(version="2.4.0+cpu")


@case(
    "kfd-root-only",
    f"{GITHUB}/ROCm/ROCT-Thunk-Interface/issues/36",
    symptoms="Ubuntu, AMD card: ROCm works for root only; /dev/kfd belongs to root, mode 600.",
    confirmed="No rule of udev gave /dev/kfd to a group; a file in /etc/udev/rules.d cured it, groups alone would not.",
    causes=("kfd-root-only", "kfd-permission"),
    cures=r'KERNEL=="kfd"',
)
def _(m: Machine) -> None:
    linux(m, "ubuntu").cards(1, "amdgpu", "amd").nodes("kfd").report("bus.nodes.kfd", "EACCES")
    m.report("bus.node_owners.kfd", "600 0 0").torch(version="2.4.0+rocm6.1", hip="6.1")


@case(
    "conda-linux-cpu",
    f"{GITHUB}/SupreethN/HOISTFormer/issues/3",
    symptoms="Linux: `conda install pytorch … cudatoolkit=11.1` installs the CPU build.",
    confirmed="conda chose its CPU build; with pip's CUDA build of torch and torchvision it works.",
    causes=("conda-cpu", "mixed-installers", "cpu-build"),
    cures=((r"^(?:conda|mamba) (?:remove|uninstall)\b.*\bpytorch\b", install(r"cu1[123]\d", "torchvision")),),
)
def _(m: Machine) -> None:
    linux(m, "ubuntu").gpus(1, {"version": "1.9.0"})
    python(m, "conda", "/home/ann/miniconda3/envs/hoist")
    m.report("interpreter.conda_torch", ["pytorch-1.9.0-py3.8_cpu_0"]).report(
        "interpreter.torch_copies", ["1.9.0"]
    )
    packages(m, "torchvision-0.10.0")


@case(
    "windows-c10-not-found",
    f"{GITHUB}/pytorch/pytorch/issues/39734",
    symptoms="Windows, Python from the store: FileNotFoundError: Could not find module c10.dll (or one of its dependencies).",
    confirmed="msvcp140.dll was missing; the Visual C++ redistributable cured it.",
    causes="windows-dll",
    cures=r"(?i)vc_redist|visual c\+\+ redist|VCRedist",
)
def _(m: Machine) -> None:
    windows(m, "Intel(R) UHD Graphics 620").torch(
        raises=[
            "FileNotFoundError",
            r"Could not find module 'C:\Users\ann\venv\Lib\site-packages\torch\lib\c10.dll' (or one of its dependencies). "
            "Try using the full path with constructor syntax.",
        ]
    )
    m.report("driver.loaded", False)


@case(
    "library-path-of-a-toolkit",
    f"{GITHUB}/pytorch/pytorch/issues/111469",
    symptoms="import torch: libcusparse.so.12: undefined symbol: __nvJitLinkAddData_12_1, version libnvJitLink.so.12.",
    confirmed="LD_LIBRARY_PATH names a CUDA toolkit, whose older nvJitLink is loaded; torch's own in front cured it.",
    causes="foreign-libraries",
    cures=(r"unset LD_LIBRARY_PATH", r"LD_LIBRARY_PATH=.*nvjitlink"),
)
def _(m: Machine) -> None:
    text = (
        "/home/ann/venv/lib/python3.10/site-packages/torch/lib/../../nvidia/cusparse/lib/libcusparse.so.12: undefined "
        "symbol: __nvJitLinkAddData_12_1, version libnvJitLink.so.12"
    )
    linux(m, "ubuntu").gpus(1).torch(raises=["ImportError", text])
    m.report("interpreter.environment.LD_LIBRARY_PATH", "/usr/local/cuda-12.0/lib64")


@case(
    "debian-mismatch-after-restart",
    f"{GITHUB}/illinois-scicomp/machine-shop-maintenance/issues/70",
    symptoms="Debian: Driver/library version mismatch, module 520.56.06, packages 525.85.12; a restart did not help.",
    confirmed="The packages had been updated halfway; `apt install --fix-broken` completed the update.",
    causes="module-not-rebuilt",
    # Only the old release's source is there for DKMS, so that `dkms autoinstall` builds nothing.
    cures=r"apt(?:-get)? (?:install --fix-broken|--fix-broken install|install\b.*nvidia-(?:kernel-dkms|driver)\b|full-upgrade)",
)
def _(m: Machine) -> None:
    build = {**CUDA_BUILD, "version": "1.13.1+cu117", "cuda": "11.7"}
    linux(m, "debian", "6.1.0-3-amd64").gpus(1, build, FAKE_CUINIT=803, FAKE_NVML=18)
    m.file("lib/modules/6.1.0-3-amd64/updates/dkms/nvidia-current.ko").file(
        "lib/modules/6.1.0-3-amd64/build/Makefile"
    )
    modinfo(m, "520.56.06")
    m.command("dkms", "echo 'nvidia-current/520.56.06, 6.1.0-3-amd64, x86_64: installed'")
    m.module("520.56.06").library(version="525.85.12", FAKE_DRIVER=12000)
    m.smi("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 525.85", 18)


@case(
    "ubuntu-without-dkms",
    f"{GITHUB}/qixuema/envs/issues/4",
    symptoms="Ubuntu: nvidia-smi cannot communicate with the driver; /usr/src/nvidia-… is there.",
    confirmed="The kernel was updated; `apt-get install dkms` and `dkms install -m nvidia -v …` built the module.",
    causes=("driver-not-built", "driver-lost"),
    cures=(r"dkms (?:autoinstall|install -m nvidia -v 515\.65\.01|install nvidia/515\.65\.01)",),
)
def _(m: Machine) -> None:
    linux(m, "ubuntu", "5.15.0-52-generic").cards(1, "")
    m.file("lib/modules/5.15.0-48-generic/kernel/drivers/video/nvidia.ko").file(
        "usr/src/nvidia-515.65.01/dkms.conf"
    )
    m.file("lib/modules/5.15.0-52-generic/modules.dep").file("lib/modules/5.15.0-52-generic/build/Makefile")
    no_module(m).torch(**{**CUDA_BUILD, "version": "1.13.0+cu117", "cuda": "11.7"})


@case(
    "fabric-manager-of-another-version",
    f"{GITHUB}/nanoporetech/dorado/issues/1214",
    symptoms="Ubuntu, eight GPUs of a cloud: cudaGetDeviceCount fails; Fabric Manager is installed and does not run.",
    confirmed="Fabric Manager had another version than the driver.",
    causes="fabric",
    cures=(
        (
            r"apt(?:-get)? install\b.*(?:nvidia|cuda-drivers)-fabricmanager-550",
            r"systemctl (?:enable --now|start|restart)",
        ),
    ),
)
def _(m: Machine) -> None:
    linux(m, "ubuntu").gpus(8, FAKE_CUINIT=802, FAKE_DRIVER=12040)
    driver(m, "550.127.05").torch(**{**CUDA_BUILD, "version": "2.5.1+cu124", "cuda": "12.4"})
    m.file("usr/bin/nv-fabricmanager").file("proc/driver/nvidia-nvswitch/devices/0000:00:01.0")


@case(
    "no-cgroups",
    f"{GITHUB}/NVIDIA/nvidia-container-toolkit/issues/580",
    symptoms="docker run --gpus all: Failed to initialize NVML: Unknown Error, from the first moment on.",
    confirmed="no-cgroups = true in the toolkit's config.toml; with false, and Docker restarted, it works.",
    causes="devices-denied",
    cures=r"no-cgroups",
)
def _(m: Machine) -> None:
    linux(container(m), "ubuntu").gpus(1, FAKE_CUINIT=100, FAKE_NVML=999).set(NVIDIA_VISIBLE_DEVICES="all")
    m.smi("Failed to initialize NVML: Unknown Error", 255)
    for name in ("nvidia0", "nvidiactl", "nvidia-uvm"):
        m.report(f"bus.nodes.{name}", "EPERM")


@case(
    "variable-names-another-card",
    f"{GITHUB}/pytorch/examples/issues/115",
    symptoms="`CUDA_VISIBLE_DEVICES=2 python main.py`, as the README says: no CUDA-capable device is detected.",
    confirmed="There is no third GPU; without the variable it works.",
    causes="hidden",
    cures=r"unset CUDA_VISIBLE_DEVICES|CUDA_VISIBLE_DEVICES=0\b",
)
def _(m: Machine) -> None:
    linux(m, "ubuntu").gpus(1).set(CUDA_VISIBLE_DEVICES="2", FAKE_VISIBLE=0)


@case(
    "function-without-gpu",
    f"{GITHUB}/aws-samples/aws-lambda-docker-serverless-inference/issues/7",
    symptoms="A container as a cloud function: Found no NVIDIA driver on your system.",
    confirmed="These functions have no GPUs; it runs on the CPU only.",
    causes=("no-gpu", "container-without-gpu"),
    cures=r"(?i)\bCPU\b",
)
def _(m: Machine) -> None:
    linux(container(m), "debian").torch(**{**CUDA_BUILD, "version": "2.0.1+cu118", "cuda": "11.8"})


# --- and these after that -------------------------------------------------------------------------------


@case(
    "notebook-image-without-gpus",
    f"{GITHUB}/iot-salzburg/gpu-jupyter/issues/22",
    symptoms="JupyterLab in Docker: nvidia-smi: command not found, is_available() is False; on the host all is well.",
    confirmed="The container was started without the GPU; `--gpus all` in `docker run` cured it.",
    causes="container-without-gpu",
    cures=r"--gpus[= ]all",
)
def _(m: Machine) -> None:
    linux(container(m), "ubuntu", "5.4.0-42-generic").cards(1).module("450.51.05").asks(notebook=True)
    m.torch(**{**CUDA_BUILD, "version": "1.6.0+cu101", "cuda": "10.1"})


@case(
    "python-of-32-bits",
    f"{GITHUB}/pytorch/pytorch/issues/27815",
    symptoms="Windows 10: pip finds no torch that fits (from versions: 0.1.2 …).",
    confirmed="Python is a build for 32 bits; PyTorch has wheels for 64 bits only.",
    causes="python-without-wheel",
    # uv for 32 bits looks for another Python of 32 bits, unless it is told.
    cures=(r"(?i)install.*64[- ]bit", r"--python \S*x86_64"),
)
def _(m: Machine) -> None:
    windows(m, "NVIDIA GeForce GTX 1660", prefix=r"C:\Users\ann\AppData\Local\Programs\Python\Python312-32")
    m.gpus(1).torch(raises=["missing", "No module named 'torch'"])
    m.report("interpreter.executable", r"C:\Users\ann\AppData\Local\Programs\Python\Python312-32\python.exe")
    m.report("interpreter.bits", 32).report("bus.arch", "AMD64")


@case(
    "intel-mac",
    f"{GITHUB}/mindverse/Second-Me/issues/32",
    symptoms="Mac: torch 2.5.1 cannot be installed, no candidate fits.",
    confirmed="An Intel Mac; 2.2.2 is the last release for it, and works.",
    causes=("python-without-wheel", "no-torch"),
    cures=(
        r"torch==2\.2\.2",
        r"pip install torch$",
    ),  # pip takes the newest release that it finds, which is this one
)
def _(m: Machine) -> None:
    python(m).torch(raises=["missing", "No module named 'torch'"]).report("bus.os", "darwin")
    m.report("bus.arch", "x86_64").report("bus.pci", 0)


@case(
    "group-unknown-in-container",
    f"{GITHUB}/gezp/docker-ubuntu-desktop/issues/40",
    symptoms="Docker: as a normal user Failed to initialize NVML: Insufficient Permissions; with sudo it works.",
    confirmed="The host gives /dev/nvidia0 to a group (660, gid 1002) that the user in the container is not in.",
    causes="no-permission",
    # The shell of the host may fill in the number.
    cures=(r"--group-add[= ](?:1002|\$\(stat -c %g /dev/nvidia\w+\))", r"groupadd\b.*\b1002\b"),
)
def _(m: Machine) -> None:
    linux(container(m), "ubuntu").gpus(1, FAKE_CUINIT=100, FAKE_NVML=4).set(NVIDIA_VISIBLE_DEVICES="all")
    m.smi("Failed to initialize NVML: Insufficient Permissions", 4)
    for name in ("nvidia0", "nvidiactl"):
        m.report(f"bus.nodes.{name}", "EACCES").report(f"bus.node_owners.{name}", "660 0 1002")


@case(
    "inside-the-source-tree",
    f"{GITHUB}/pytorch/pytorch/issues/574",
    symptoms="ImportError: No module named torch._C, though torch is installed.",
    confirmed="Python was started in a folder with a folder `torch` (the source tree); `cd ..` cured it.",
    causes=("source-tree", "shadowed"),
    cures=r"\bcd\b|(?i:another folder|other folder)",
)
def _(m: Machine) -> None:
    linux(m, "ubuntu").gpus(1)
    m.project("torch/__init__.py", "from torch._C import *\n").project("torch/nn/__init__.py").project(
        "setup.py"
    )


@case(
    "jetson-container",
    f"{GITHUB}/dusty-nv/jetson-containers/issues/141",
    symptoms="Jetson, NVIDIA's container with PyTorch: torch.cuda.is_available() is False.",
    confirmed="The container was started without `--runtime nvidia`.",
    causes="container-without-gpu",
    cures=r"--runtime[= ]nvidia",
)
def _(m: Machine) -> None:
    linux(container(m), "ubuntu", "5.10.104-tegra").report("bus.arch", "aarch64")
    m.torch(version="1.11.0", cuda="11.4", arch=["sm_72", "sm_87"])


@case(
    "v100-new-pytorch",
    f"{GITHUB}/FlashML-org/FreeToken/pull/253",
    symptoms="Tesla V100, driver 570, torch 2.11: no kernel image is available for execution on the device.",
    confirmed="torch 2.11 has no code for Volta any more; an earlier build with CUDA 12 has, and runs on this driver.",
    causes=("card-too-old", "too-old-or-new"),
    cures=install("cu118|cu12[1-68]"),
)
def _(m: Machine) -> None:
    build = {"version": "2.11.0+cu128", "cuda": "12.8", "arch": SM_70_TO_120[1:], "use_error": NO_CODE}
    linux(m, "ubuntu").gpus(1, build, FAKE_CAPABILITY=70, FAKE_DRIVER=12080)
    driver(m, "570.172.08")


@case(
    "portable-comfyui-old-driver",
    f"{GITHUB}/Tavris1/ComfyUI-Easy-Install/issues/116",
    symptoms="Windows laptop, RTX 5080, a portable ComfyUI: torch.cuda.is_available() is False; driver 573.24.",
    confirmed="Its PyTorch is built with CUDA 13, which needs driver 580 or newer; the driver had to be updated.",
    causes="driver-old",
    # A build with CUDA 12.8 or 12.9 runs on this driver, and has code for this card.
    cures=(r"(?i)nvidia\.com/.*driver|winget install .*nvidia", install("cu12[89]")),
)
def _(m: Machine) -> None:
    folder = r"C:\ComfyUI_windows_portable\python_embeded"
    windows(m, "NVIDIA GeForce RTX 5080 Laptop GPU", prefix=folder)
    m.report("interpreter.executable", rf"{folder}\python.exe")
    m.report("interpreter.word", "").report("interpreter.ensurepip", False)
    m.gpus(1, {**CUDA_BUILD, "version": "2.9.1+cu130"}, FAKE_DRIVER=12080, FAKE_CAPABILITY=120)


@case(
    "arch-forbidden-module",
    f"{GITHUB}/pedro00dk/nvidia-exec/issues/9",
    symptoms="Garuda (Arch): after a restart the NVIDIA modules are not loaded any more.",
    confirmed="A tool had written /etc/modprobe.d/nvx.conf, which blacklists them; without the file they load.",
    causes="driver-not-loaded",
    # To make comments of the lines in all files of that folder is the same.
    cures=(
        r"(?:rm|mv)\b.*/etc/modprobe\.d/nvx\.conf",
        r"sed -i\b.*blacklist.*/etc/modprobe\.d/(?:nvx|\*)\.conf",
    ),
)
def _(m: Machine) -> None:
    linux(m, "arch", "5.17.4-arch1-1").cards(1, "").file(
        "etc/modprobe.d/nvx.conf", "blacklist nvidia\nblacklist nvidia_uvm\n"
    )
    m.file("lib/modules/5.17.4-arch1-1/extramodules/nvidia.ko.xz").file(
        "lib/modules/5.17.4-arch1-1/modules.dep"
    )
    modinfo(m, "510.60.02")
    no_module(m).torch(**{**CUDA_BUILD, "version": "1.11.0+cu115", "cuda": "11.5"})


@case(
    "alma-missing-symbols",
    f"{GITHUB}/AlmaLinux/wiki/issues/814",
    symptoms="AlmaLinux 10.2, nvidia-open-kmod installed as the guide says: the module does not load after the restart.",
    confirmed="It needs the kernel's own module `video`: `dnf install kernel-modules-$(uname -r) kernel-modules-extra-$(uname -r)`.",
    causes="driver-not-loaded",
    cures=r"dnf install\b.*kernel-modules",
)
def _(m: Machine) -> None:
    linux(m, "rocky", "6.12.0-124.el10.x86_64").cards(1, "")
    m.file("lib/modules/6.12.0-124.el10.x86_64/extra/nvidia/nvidia.ko.xz")
    m.command("dmesg", "echo '[   4.2] nvidia: Unknown symbol acpi_video_register (err -2)'")
    modinfo(m, "580.105.08", "Dual MIT/GPL")
    no_module(m).torch(**CUDA_BUILD)
