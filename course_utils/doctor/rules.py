"""Why is CUDA not available? One function for each cause, in the order in which the doctor asks.

Each looks at the evidence and returns None, or how sure it is and the lines that made it so. Which cause they speak
for, in words and with the next step, stands in ``causes.toml``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from course_utils.doctor import dated
from course_utils.doctor.evidence import Evidence, Line, joined, mentions

SURE, LIKELY, POSSIBLE = 3, 2, 1

Finding = tuple[int, list[Line]] | None
Rule = Callable[[Evidence], Finding]

RULES: dict[str, Rule] = {}


def rule(cause: str) -> Callable[[Rule], Rule]:
    """Register a function as the rule for `cause`."""

    def register(function: Rule) -> Rule:
        RULES[cause] = function
        return function

    return register


def cu_line(e: Evidence) -> Line:
    """Return what cuInit said, with the number's meaning."""
    code = e.cu
    probe = "unmasked" if e.get("unmasked.cuInit") is not None else "driver"
    return Line(
        probe, f"cuInit() = {code} ({dated.NUMBERS.get(code, '?') if code is not None else 'not asked'})"
    )


def nvml_line(e: Evidence) -> Line:
    """Return what NVML said: its number, and how many GPUs it counts."""
    code = e.get("nvml.init")
    count = f", {e.get('nvml.count')} GPU" if e.get("nvml.count") is not None else ""
    return Line("nvml", f"nvmlInit() = {code} ({dated.NVML_NUMBERS.get(code, '?')}){count}")


def bus_line(e: Evidence) -> Line:
    """Return which NVIDIA cards the bus shows, and which kernel driver holds them."""
    cards = e.cards()
    held = joined(sorted({str(card.get("driver") or "none") for card in cards}))
    return Line("bus", f"PCI: {len(cards)} NVIDIA GPU" + (f", kernel driver: {held}" if cards else ""))


def node_lines(e: Evidence, *kinds: str) -> list[Line]:
    """Return a line for each file of the driver whose opening ended in one of `kinds`."""
    return [Line("bus", f"open(/dev/{name}) = {how}") for name, how in e.nodes.items() if how in kinds]


def build_line(e: Evidence) -> Line:
    """Return which PyTorch was imported, and what it was built for."""
    cuda = e.get("pytorch.cuda")
    return Line("pytorch", f"torch {e.get('pytorch.version')}, torch.version.cuda = {cuda!r}")


# --- 0. the notebook that asks ------------------------------------------------------------------------


@rule("forked")
def forked(e: Evidence) -> Finding:
    """Row 33: this process was forked from one that had used CUDA."""
    if e.get("caller.bad_fork"):
        return SURE, [Line("caller", "torch.cuda._is_in_bad_fork() = True")]
    return None


@rule("dead-context")
def dead_context(e: Evidence) -> Finding:
    """Row 40: a kernel crashed, and every CUDA call of this process fails since."""
    if e.get("caller.cuda_error") and e.works:
        return SURE, [
            Line("caller", f"torch.cuda.synchronize(): {e.get('caller.cuda_error')}"),
            Line("usable", f"fresh process: {e.works} GPU, correct"),
        ]
    return None


@rule("stale")
def stale(e: Evidence) -> Finding:
    """Row 8: this process asked for GPUs once and remembers the answer."""
    asked, before, now = (e.get(f"caller.{key}") for key in ("cuda_asked", "visible_at_start", "visible_now"))
    counted = e.get("caller.count")
    changed = [Line("caller", f"CUDA_VISIBLE_DEVICES: {before!r} -> {now!r}")] if before != now else []
    if counted is not None and e.works and counted != e.works:
        lines = [
            Line("caller", f"torch.cuda.device_count() = {counted}"),
            Line("usable", f"fresh process: {e.works}"),
        ]
        return SURE, [*lines, *changed]
    if asked and changed:
        # Set in the first cell, before CUDA was asked, it took effect, and both count the same.
        return (LIKELY if counted is None else POSSIBLE), changed
    return None


# --- 1. which Python ----------------------------------------------------------------------------------


def other_torch(e: Evidence) -> dict[str, str]:
    """Return another environment's torch that would serve better than this one's, or an empty dictionary."""
    others = [other for other in e.get("interpreter.others", []) if other.get("torch")]
    with_cuda = [other for other in others if other.get("cuda")]
    if e.torch == "missing":
        return (with_cuda or others or [{}])[0]
    if e.build == "cpu" and e.card_here:
        return (with_cuda or [{}])[0]
    return {}


@rule("other-python")
def other_python(e: Evidence) -> Finding:
    """Row 27: the notebook's kernel (or this terminal) runs another Python than the one with the right torch."""
    other = other_torch(e)
    if not other:
        return None
    here = "no torch" if e.torch == "missing" else f"torch {e.get('pytorch.version')}"
    lines = [
        Line("interpreter", f"sys.executable = {e.get('interpreter.executable')}: {here}"),
        Line("interpreter", f"{other.get('named_by')} = {other.get('prefix')}: torch {other.get('torch')}"),
    ]
    # A kernel that is merely installed may be an old one; an environment that is switched on is what one means.
    return (SURE if other.get("named_by") in ("VIRTUAL_ENV", "CONDA_PREFIX") else LIKELY), lines


@rule("shadowed")
def shadowed(e: Evidence) -> Finding:
    """Row 29: a file or folder called torch stands in front of the real one."""
    if e.get("interpreter.torch_is_real") is False and e.get("interpreter.torch_file"):
        return SURE, [
            Line("interpreter", f"torch = {e.get('interpreter.torch_file')}"),
            Line("interpreter", "no torch/_C, no torch/version.py beside it"),
        ]
    return None


@rule("no-torch")
def no_torch(e: Evidence) -> Finding:
    """PyTorch is not installed for this Python."""
    if e.torch == "missing" and not other_torch(e) and e.get("interpreter.torch_is_real") is not False:
        return SURE, [
            Line("pytorch", e.import_error),
            Line("interpreter", f"sys.executable = {e.get('interpreter.executable')}"),
        ]
    return None


# --- 2. which build -----------------------------------------------------------------------------------

_UNRESOLVED = r"undefined symbol|cannot open shared object|symbol lookup error|version `[^']+' not found"
_CUDNN_MIX = r"cuDNN version incompatibility"


def mixed_majors(e: Evidence) -> list[str]:
    """Return the CUDA majors of the installed ``nvidia-…-cuNN`` packages, where there is more than one."""
    majors = sorted(
        {
            found[1]
            for name in e.get("interpreter.packages", {})
            if (found := re.fullmatch(r"nvidia-.+-cu(\d\d)", name))
        }
    )
    return majors if len(majors) > 1 else []


def foreign_path(e: Evidence) -> str:
    """Return LD_LIBRARY_PATH if it leads to CUDA's own libraries."""
    path = e.environment("LD_LIBRARY_PATH") or ""
    return path if re.search(r"cuda|cudnn|nccl|tensorrt", path, re.I) else ""


@rule("foreign-libraries")
def foreign_libraries(e: Evidence) -> Finding:
    """Row 25: LD_LIBRARY_PATH puts other CUDA libraries before those of torch."""
    said = mentions(e.import_error, _UNRESOLVED) or mentions(e.complaints, _CUDNN_MIX)
    loaded = e.get("pytorch.foreign", [])
    path = foreign_path(e)
    if not said or not (path or loaded):
        return None
    lines = [Line("pytorch", said)]
    if path:
        lines.append(Line("interpreter", f"LD_LIBRARY_PATH = {path}"))
    lines += [Line("pytorch", f"loaded: {library}") for library in loaded[:3]]
    return SURE, lines


@rule("two-cudas")
def two_cudas(e: Evidence) -> Finding:
    """Row 26: libraries of two CUDA releases are installed side by side."""
    said = mentions(e.import_error, _UNRESOLVED)
    majors = mixed_majors(e)
    if said and majors:
        sure = LIKELY if foreign_path(e) else SURE
        return sure, [Line("pytorch", said), Line("interpreter", f"nvidia-*: cu{', cu'.join(majors)}")]
    return None


@rule("windows-dll")
def windows_dll(e: Evidence) -> Finding:
    """Row 42: Windows cannot load a library of torch."""
    said = mentions(
        e.import_error, r"WinError (?:126|127|1114|182)", r"Error loading .*\.dll", r"DLL load failed"
    )
    return (SURE, [Line("pytorch", said)]) if said else None


@rule("mixed-installers")
def mixed_installers(e: Evidence) -> Finding:
    """Row 28: conda and pip both installed a torch."""
    builds = e.get("interpreter.conda_torch", [])
    copies = e.get("interpreter.torch_copies", [])
    cpu = [build for build in builds if "cpu" in build]
    lines = [Line("interpreter", f"conda: {build}") for build in builds]
    if len(copies) > 1:
        lines.append(Line("interpreter", f"pip: torch {joined(copies)}"))
    if cpu and e.build == "cpu" and e.card_here:
        return SURE, [*lines, build_line(e)]
    if (len(copies) > 1 or (builds and copies)) and (
        e.torch == "broken" or (e.build == "cpu" and e.card_here)
    ):
        if _explained_import(e):
            return None
        return LIKELY, [*lines, Line("pytorch", e.import_error) if e.import_error else build_line(e)]
    return None


def _explained_import(e: Evidence) -> bool:
    """Return whether the failing import has a cause of its own."""
    return any(one(e) for one in (shadowed, foreign_libraries, two_cudas, windows_dll))


@rule("torch-broken")
def torch_broken(e: Evidence) -> Finding:
    """The import fails, and nothing above says why."""
    if e.torch != "broken" or _explained_import(e):
        return None
    said = e.import_error or f"import torch: {e.get('pytorch.exit', 'the process died')}"
    return LIKELY, [Line("pytorch", said[:300])]


@rule("torch-slow")
def torch_slow(e: Evidence) -> Finding:
    """The import did not end in time, while the driver answers."""
    if e.torch == "slow" and not e.hung("driver") and not e.hung("interpreter"):
        return LIKELY, [Line("pytorch", f"import torch: > {e.get('pytorch.seconds')} s")]
    return None


@rule("jetson")
def jetson(e: Evidence) -> Finding:
    """Row 43: a Jetson's GPU needs NVIDIA's own build of torch."""
    if e.jetson and not e.works and (e.build == "cpu" or no_code(e)):
        return SURE, [Line("bus", f"Jetson: {e.get('bus.jetson')}"), build_line(e)]
    return None


@rule("apple")
def apple(e: Evidence) -> Finding:
    """Row 31: a Mac has no CUDA."""
    if e.os == "darwin":
        return SURE, [
            Line("bus", f"macOS, {e.get('bus.arch')}"),
            Line("pytorch", f"torch.backends.mps.is_available() = {bool(e.get('pytorch.mps'))}"),
        ]
    return None


@rule("amd")
def amd(e: Evidence) -> Finding:
    """Row 30: an AMD GPU, or the build for AMD, or both but not together."""
    cards = [card for card in e.cards("0x1002") if not e.cards()]
    if e.build == "hip" and e.cards() and not e.works:
        return SURE, [Line("pytorch", f"torch.version.hip = {e.get('pytorch.hip')!r}"), bus_line(e)]
    if e.build == "hip" and not e.works:
        line = Line("pytorch", f"torch.version.hip = {e.get('pytorch.hip')!r}, is_available() = False")
        kfd = e.nodes.get("kfd")
        return SURE, [line, *([Line("bus", f"open(/dev/kfd) = {kfd}")] if kfd else [])]
    if cards and not e.card_here and e.build in ("cuda", "cpu", "") and e.nodes.get("kfd"):
        return LIKELY, [Line("bus", f"PCI: {len(cards)} AMD GPU, 0 NVIDIA GPU; /dev/kfd"), build_line(e)]
    return None


@rule("intel")
def intel(e: Evidence) -> Finding:
    """Row 32: an Intel GPU is used through torch.xpu, not through CUDA."""
    if e.card_here:
        return None
    if e.get("pytorch.xpu_available") or e.build == "xpu":
        return SURE, [
            build_line(e),
            Line("pytorch", f"torch.xpu.is_available() = {bool(e.get('pytorch.xpu_available'))}"),
        ]
    return None


@rule("cpu-build")
def cpu_build(e: Evidence) -> Finding:
    """Row 1: this torch was built without CUDA, and there is a GPU for which that matters."""
    better = (other_python(e), mixed_installers(e), e.jetson, e.os == "darwin")
    if e.build == "cpu" and e.card_here and not any(better):
        seen = bus_line(e) if e.cards() else cu_line(e) if e.devices else Line("smi", e.smi_text[:80] or "-")
        return SURE, [build_line(e), seen]
    return None


# --- 3. is there a GPU, and may we expect one ---------------------------------------------------------


def nothing_here(e: Evidence) -> bool:
    """Return whether the driver, NVML and the device files all show no GPU that this process could use."""
    return not (e.gpu_nodes or e.devices or e.get("nvml.count", 0) or e.get("bus.dxg") or e.jetson)


@rule("no-gpu-runtime")
def no_gpu_runtime(e: Evidence) -> Finding:
    """Row 37: Colab or Kaggle, and the runtime has no GPU."""
    where = [name for name in ("colab", "kaggle") if e.get(f"bus.{name}")]
    if where and nothing_here(e):
        return SURE, [Line("bus", f"{where[0].capitalize()}: no /dev/nvidia0"), Line("driver", _loaded(e))]
    return None


def _loaded(e: Evidence) -> str:
    if e.library:
        return f"libcuda = {e.get('driver.path')}"
    return e.get("driver.error", "libcuda: not found")


@rule("batch-system")
def batch_system(e: Evidence) -> Finding:
    """Row 38: the batch system or the hub gave this job no GPU, or this is the login node."""
    if e.works:
        return None
    hidden = e.environment("CUDA_VISIBLE_DEVICES")
    refused = [name for name in e.gpu_nodes if e.nodes[name] in ("EPERM", "EACCES")]
    gave = [e.environment(name) for name in ("SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "SLURM_GPUS_ON_NODE")]
    if e.get("bus.slurm") and not any(gave):
        line = Line("interpreter", f"SLURM_JOB_ID = {e.environment('SLURM_JOB_ID')}, SLURM_JOB_GPUS = None")
        if hidden is not None and hidden.strip() in ("", "NoDevFiles", "-1"):
            return SURE, [line, Line("interpreter", f"CUDA_VISIBLE_DEVICES = {hidden!r}")]
        if e.gpu_nodes and len(refused) == len(e.gpu_nodes):
            return SURE, [line, *node_lines(e, "EPERM", "EACCES")]
        if nothing_here(e) and not e.cards():
            return SURE, [line, bus_line(e)]
    if e.get("bus.slurm_tools") and not e.get("bus.slurm") and nothing_here(e) and not e.cards():
        return LIKELY, [Line("bus", f"command: {e.get('bus.slurm_tools')}; SLURM_JOB_ID = None"), bus_line(e)]
    if e.get("bus.jupyterhub") and nothing_here(e):
        return LIKELY, [Line("bus", "JUPYTERHUB_API_URL; no /dev/nvidia0"), bus_line(e)]
    return None


@rule("integrated-mode")
def integrated_mode(e: Evidence) -> Finding:
    """Row 36: a laptop runs on its built-in graphics, with the NVIDIA GPU switched off."""
    mode = e.get("bus.prime")
    if mode == "intel" and not e.works and e.cu != 0:
        return SURE, [Line("bus", "prime-select query: intel"), bus_line(e)]
    asleep = [
        card for card in e.cards() if card.get("power") == "suspended" and card.get("driver") != "nvidia"
    ]
    if (
        asleep
        and e.get("bus.laptop")
        and e.cu != 0
        and not e.get("bus.module")
        and not e.get("bus.module_files")
    ):
        return LIKELY, [Line("bus", "power/runtime_status = suspended"), bus_line(e)]
    return None


@rule("no-gpu")
def no_gpu(e: Evidence) -> Finding:
    """Row 2: no NVIDIA GPU in this machine. Nothing is broken."""
    if e.card_here or e.wsl or e.jetson or e.os == "darwin":
        return None
    if any(one(e) for one in (no_gpu_runtime, batch_system, integrated_mode, amd, intel)):
        return None
    if e.os == "windows":
        names = e.get("bus.video")
        if names is None:
            lines = [Line("driver", _loaded(e)), Line("smi", e.ended("smi"))]
            return (LIKELY, lines) if e.library is False else None
        return None if mentions(joined(names), "NVIDIA") else (SURE, [Line("bus", f"video: {joined(names)}")])
    if e.library is None and not e.get("bus.pci"):
        return None
    # A virtual machine may have no PCI bus at all; then there is no list that would name the GPU.
    return (SURE if e.get("bus.pci") else LIKELY), [bus_line(e), Line("driver", _loaded(e))]


# --- 4. the driver's kernel module --------------------------------------------------------------------


@rule("container-without-gpu")
def container_without_gpu(e: Evidence) -> Finding:
    """Row 9: a container that was started without the GPU."""
    if not e.container or e.gpu_nodes or e.get("bus.dxg") or no_gpu_runtime(e) or batch_system(e) or e.works:
        return None
    if e.cu not in (None, 100):
        return None  # then the driver does reach something
    asked = e.environment("NVIDIA_VISIBLE_DEVICES")
    lines = [
        Line("bus", f"container: {e.container}; no /dev/nvidia0"),
        bus_line(e),
        Line("interpreter", f"NVIDIA_VISIBLE_DEVICES = {asked!r}"),
    ]
    # The bus of WSL shows no card; a container with the GPU would have /dev/dxg.
    if e.wsl and not e.cards():
        return LIKELY, lines
    return (SURE if e.cards() else POSSIBLE), lines


def _unloaded(e: Evidence) -> bool:
    """Return whether a card is there whose driver does not run, on a system where it should run."""
    if not e.cards() or e.wsl or e.container or e.get("bus.module") or e.jetson:
        return False
    return e.os == "linux" and e.cu != 0 and not e.get("nvml.count", 0)


@rule("given-away")
def given_away(e: Evidence) -> Finding:
    """The GPU is reserved for a virtual machine."""
    if _unloaded(e) and all(card.get("driver") == "vfio-pci" for card in e.cards()):
        return SURE, [bus_line(e)]
    return None


@rule("driver-lost")
def driver_lost(e: Evidence) -> Finding:
    """Row 4: the driver is installed but was not loaded: a new kernel, or Secure Boot refuses it."""
    files = e.get("bus.module_files", [])
    held = {card.get("driver") for card in e.cards()}
    if not _unloaded(e) or not files or held & {"nouveau", "nova", "vfio-pci"} or integrated_mode(e):
        return None
    running = e.get("bus.kernel")
    lines = [bus_line(e), Line("bus", f"kernel {running}; nvidia.ko for: {joined(files)}")]
    if e.get("bus.secure_boot"):
        lines.append(Line("bus", "Secure Boot: on"))
    return (SURE if running not in files or e.get("bus.secure_boot") else LIKELY), lines


@rule("driver-absent")
def driver_absent(e: Evidence) -> Finding:
    """Row 3: there is a GPU, but NVIDIA's driver does not run it."""
    if e.os == "windows" and not e.library and mentions(joined(e.get("bus.video", [])), "NVIDIA"):
        return SURE, [Line("bus", f"video: {joined(e.get('bus.video'))}"), Line("driver", _loaded(e))]
    if not _unloaded(e) or given_away(e) or driver_lost(e) or integrated_mode(e):
        return None
    return SURE, [bus_line(e), Line("bus", "no /proc/driver/nvidia/version")]


# --- 5. its device files ------------------------------------------------------------------------------


def _failing(e: Evidence) -> bool:
    """Return whether the driver's library is there and cannot start (it found no GPU, or said why)."""
    return e.cu not in (0, None) or (e.cu == 0 and e.devices == 0)


@rule("container-lost")
def container_lost(e: Evidence) -> Finding:
    """Row 11: a running container lost its GPU."""
    unknown = e.get("nvml.init") == 999 or mentions(e.smi_text, r"NVML: Unknown Error")
    if not (e.container and unknown and e.gpu_nodes):
        return None
    refused = node_lines(e, "EPERM")
    return (SURE if refused else LIKELY), [Line("bus", f"container: {e.container}"), nvml_line(e), *refused]


@rule("no-permission")
def no_permission(e: Evidence) -> Finding:
    """Row 18: the driver's files are there, and this user may not open them."""
    refused = [line for line in node_lines(e, "EACCES", "EPERM") if "kfd" not in line.fact]
    if not refused or container_lost(e) or batch_system(e) or (e.cu == 0 and e.devices):
        return None
    return SURE, [*refused, cu_line(e)]


@rule("uvm-missing")
def uvm_missing(e: Evidence) -> Finding:
    """Row 17: /dev/nvidia-uvm is missing, which CUDA needs and nvidia-smi does not."""
    if (
        e.nodes.get("nvidiactl") == "ok"
        and e.nodes.get("nvidia-uvm") == "ENOENT"
        and _failing(e)
        and not e.wsl
    ):
        if mismatch(e) or fabric(e) or compat(e):
            return None
        return SURE, [
            Line("bus", "open(/dev/nvidia-uvm) = ENOENT"),
            Line("bus", "open(/dev/nvidiactl) = ok"),
            cu_line(e),
        ]
    return None


# --- 6. its library -----------------------------------------------------------------------------------


@rule("hangs")
def hangs(e: Evidence) -> Finding:
    """Row 39: the driver does not answer."""
    silent = [probe for probe in ("driver", "nvml", "smi") if e.hung(probe)]
    if e.hung("usable") and e.get("pytorch.count"):  # else it may have waited for torch, not for the GPU
        silent.append("usable")
    if not silent or e.works or e.hung("interpreter") or partly_checked(e):
        return None
    if e.cu == 0 and e.devices and not {"driver", "usable"} & set(silent):
        return POSSIBLE, [Line(probe, f"> {e.get(f'{probe}.seconds')} s") for probe in silent]
    lines = [Line(probe, f"no answer in {e.get(f'{probe}.seconds')} s") for probe in silent]
    lines += [Line(probe, "stuck: cannot be stopped") for probe in silent if e.ended(probe) == "stuck"]
    return (SURE if len(silent) > 1 or any(e.ended(p) == "stuck" for p in silent) else LIKELY), lines


@rule("partly-checked")
def partly_checked(e: Evidence) -> Finding:
    """The first GPUs compute correctly, and the time was over before the last one was asked."""
    right = [one for one in e.tried if one.get("right")]
    if e.hung("usable") and right and all(one.get("right") is not False for one in e.tried) and e.cu == 0:
        return LIKELY, [
            Line("usable", f"{len(right)} of {e.get('pytorch.count')} GPU, correct; then time over")
        ]
    return None


@rule("wsl-old")
def wsl_old(e: Evidence) -> Finding:
    """Row 15: WSL 1, or a Windows that is too old to lend its GPU."""
    if e.wsl and not e.get("bus.dxg") and not e.container:
        return SURE, [Line("bus", f"WSL {e.wsl}, kernel {e.get('bus.kernel')}"), Line("bus", "no /dev/dxg")]
    return None


@rule("wsl-shadowed")
def wsl_shadowed(e: Evidence) -> Finding:
    """Row 14: a Linux driver inside WSL stands in front of the one from Windows."""
    path = str(e.get("driver.path", ""))
    if compat(e) or stub(e):
        return None
    if e.wsl == 2 and e.get("bus.dxg") and e.library and _failing(e) and path and "/usr/lib/wsl/" not in path:
        return SURE, [Line("driver", f"libcuda = {path}"), cu_line(e), Line("bus", "/dev/dxg")]
    return None


@rule("wsl-without-driver")
def wsl_without_driver(e: Evidence) -> Finding:
    """Windows lends its GPU, but has no NVIDIA driver for it."""
    if e.wsl == 2 and e.get("bus.dxg") and e.library is False:
        return SURE, [Line("bus", "/dev/dxg"), Line("driver", _loaded(e))]
    return None


@rule("compute-not-passed")
def compute_not_passed(e: Evidence) -> Finding:
    """Row 12: the container got the tools of the driver, not its library for computing."""
    if e.container and e.get("nvml.init") == 0 and e.library is False and e.gpu_nodes:
        given = e.environment("NVIDIA_DRIVER_CAPABILITIES")
        lines = [
            nvml_line(e),
            Line("driver", _loaded(e)),
            Line("interpreter", f"NVIDIA_DRIVER_CAPABILITIES = {given!r}"),
        ]
        named = set((given or "").replace(" ", "").split(","))
        return (LIKELY if named & {"compute", "all"} else SURE), lines
    return None


@rule("library-missing")
def library_missing(e: Evidence) -> Finding:
    """The driver's kernel module runs, but its library for computing is not installed."""
    there = e.get("bus.module") or e.get("nvml.init") == 0
    if there and e.library is False and not e.container and not e.wsl and e.os == "linux" and e.gpu_nodes:
        return SURE, [
            Line("bus", f"/proc/driver/nvidia/version: {e.get('bus.module')}"),
            Line("driver", _loaded(e)),
        ]
    return None


@rule("stub")
def stub(e: Evidence) -> Finding:
    """The toolkit's stub was loaded in place of the driver's library."""
    path = str(e.get("driver.path", ""))
    if e.cu == 34 or ("/stubs/" in path and _failing(e)):
        return SURE, [Line("driver", f"libcuda = {path}"), cu_line(e)]
    return None


@rule("compat")
def compat(e: Evidence) -> Finding:
    """Row 13: CUDA's compatibility libraries are loaded on a machine that they are not for."""
    path = str(e.get("driver.path", ""))
    ours = "/compat/" in path
    said = mentions(e.complaints, r"Error 804", r"forward compatibility was attempted")
    if e.cu == 804 or said or (ours and e.cu == 803):
        return SURE, [
            cu_line(e),
            Line("driver", f"libcuda = {path or '?'}"),
            *([Line("pytorch", said)] if said else []),
        ]
    return (LIKELY, [cu_line(e), Line("driver", f"libcuda = {path}")]) if ours and _failing(e) else None


@rule("mismatch")
def mismatch(e: Evidence) -> Finding:
    """Row 6: the driver was updated, and the old one is still running."""
    running, found = e.get("bus.module"), e.get("driver.file_version")
    said = mentions(e.smi_text, r"Driver/library version mismatch")
    apart = bool(running and found and running != found)
    if compat(e) or e.wsl or e.cu == 0:
        return None
    if e.get("nvml.init") == 18 or e.get("smi.code") == 18 or said or (apart and _failing(e)):
        versions = f"running: {running}, library: {found or e.get('nvml.file_version') or '?'}"
        return SURE, [nvml_line(e) if not said else Line("smi", said), Line("driver", versions), cu_line(e)]
    if e.cu == 803:
        return LIKELY, [cu_line(e), Line("driver", f"running: {running}, library: {found}")]
    return None


@rule("driver-old")
def driver_old(e: Evidence) -> Finding:
    """Row 5: the driver serves only an older CUDA than torch was built with."""
    wants = re.match(r"\d+", str(e.get("pytorch.cuda") or ""))
    serves = e.driver_cuda
    said = mentions(e.complaints, r"driver on your system is too old")
    older = bool(wants and serves and serves // 1000 < int(wants[0]))
    if e.works or not (older or said or e.cu == 35) or mismatch(e):
        return None
    return SURE, [
        build_line(e),
        Line("driver", f"cuDriverGetVersion() = {serves}"),
        *([Line("pytorch", said)] if said else []),
    ]


@rule("fabric")
def fabric(e: Evidence) -> Finding:
    """Row 20: the service that joins the GPUs of a large server has not made them ready."""
    if e.cu == 802 or mentions(e.complaints, r"Error 802"):
        running = e.get("bus.fabric_manager")
        return SURE, [cu_line(e), Line("bus", f"nv-fabricmanager: {'running' if running else 'not running'}")]
    return None


@rule("init-memory")
def init_memory(e: Evidence) -> Finding:
    """Row 16: not enough memory already while CUDA starts."""
    said = mentions(e.complaints, r"Error 2: out of memory")
    if e.cu == 2 or said:
        limit = e.get("bus.address_limit")
        return SURE, [
            cu_line(e),
            *([Line("pytorch", said)] if said else []),
            *([Line("bus", f"ulimit -v: {limit // 1024} KiB")] if limit else []),
        ]
    return None


@rule("mps")
def mps(e: Evidence) -> Finding:
    """Row 41: the server that shares a GPU between processes (CUDA MPS) does not answer."""
    said = mentions(e.complaints, r"MPS client failed to connect", r"Error 80[567]", r"MPS server")
    if e.cu in (805, 806, 807) or said:
        pipe = e.environment("CUDA_MPS_PIPE_DIRECTORY")
        return SURE, [cu_line(e), Line("interpreter", f"CUDA_MPS_PIPE_DIRECTORY = {pipe!r}")]
    return None


@rule("gpu-lost")
def gpu_lost(e: Evidence) -> Finding:
    """Row 35: a GPU stopped answering while the machine was running."""
    said = mentions(e.smi_text, r"Unable to determine the device handle", r"GPU is lost", r"\bERR!")
    lines = [Line("smi", said)] if said else []
    if e.get("nvml.init") == 15 or 15 in e.get("nvml.codes", []):
        lines.append(Line("nvml", "15 (GPU is lost)"))
    lines += node_lines(e, "EIO")
    if lines:
        return SURE, [*lines, bus_line(e)]
    bound = [card for card in e.cards() if card.get("driver") == "nvidia"]
    counted = e.get("nvml.count")
    limited = e.container or e.get("bus.slurm") or e.wsl or not bound
    if not limited and e.get("nvml.init") == 0 and counted is not None and counted < len(bound):
        return LIKELY, [bus_line(e), nvml_line(e)]
    return None


@rule("after-sleep")
def after_sleep(e: Evidence) -> Finding:
    """Row 19: unknown error after the machine slept."""
    if e.cu != 999 or any(
        one(e) for one in (uvm_missing, no_permission, mismatch, wsl_shadowed, compat, gpu_lost)
    ):
        return None
    slept = e.get("bus.slept", 0)
    if slept > 60:
        return LIKELY, [cu_line(e), Line("bus", f"slept since boot: {slept:.0f} s"), nvml_line(e)]
    return POSSIBLE, [cu_line(e)]


# --- 7. what is hidden --------------------------------------------------------------------------------


@rule("mig")
def mig(e: Evidence) -> Finding:
    """Row 21: the GPU is divided (MIG), and no part of it is visible here."""
    if e.works:
        return None
    devices = e.get("nvml.devices", [])
    on = [one for one in devices if one.get("mig")]
    parts = sum(one.get("mig_parts", 0) for one in on)
    hidden = e.environment("CUDA_VISIBLE_DEVICES") or ""
    if hidden.strip().startswith("MIG-") and not e.visible and (e.devices or parts):
        return SURE, [
            Line("interpreter", f"CUDA_VISIBLE_DEVICES = {_short(hidden)}"),
            Line("driver", "0 GPU"),
            Line("nvml", f"MIG: {parts} instance"),
        ]
    if on and len(on) == len(devices) and not parts and not e.devices:
        return SURE, [Line("nvml", f"MIG: {len(on)} GPU on, 0 instance"), cu_line(e)]
    return None


def _short(value: str) -> str:
    return repr(value if len(value) <= 16 else value[:16] + "…")


@rule("hidden")
def hidden(e: Evidence) -> Finding:
    """Row 7: CUDA_VISIBLE_DEVICES hides every GPU."""
    value = e.environment("CUDA_VISIBLE_DEVICES")
    if value is None or e.works or mig(e) or batch_system(e):
        return None
    nothing = e.get("pytorch.visible") == []
    lines = [Line("interpreter", f"CUDA_VISIBLE_DEVICES = {_short(value)}")]
    if e.devices and not e.visible and e.get("driver.cuInit") is not None:
        return SURE, [*lines, Line("driver", "0 GPU"), Line("unmasked", f"{e.devices} GPU")]
    if nothing and e.card_here and e.build == "cuda":
        lines.append(Line("pytorch", "torch.cuda._parse_visible_devices() = []"))
        return (SURE if e.devices else LIKELY), lines
    return None


# --- 8. usable ----------------------------------------------------------------------------------------


def no_code(e: Evidence) -> list[dict[str, object]]:
    """Return the GPUs for which this torch holds no machine code."""
    arch = e.get("pytorch.arch", [])
    found = []
    for one in e.tried or e.get("unmasked.devices", e.get("driver.devices", [])):
        said = mentions(str(one.get("error", "")), r"no kernel image", r"does not include kernels")
        fits = one.get("fits")
        if fits is None and one.get("capability") and arch:
            fits = dated.has_code_for(int(one["capability"]), arch)
        if not one.get("right") and (said or fits is False):
            found.append(one)
    return found


@rule("too-old-or-new")
def too_old_or_new(e: Evidence) -> Finding:
    """Row 23: torch holds no machine code for this GPU."""
    found = [] if e.jetson or e.build != "cuda" or e.cu != 0 or driver_old(e) else no_code(e)
    if not found:
        return None
    lines = [
        Line("usable" if e.tried else "driver", f"{one.get('name')}: sm_{one.get('capability')}")
        for one in found[:4]
    ]
    said = mentions(str(found[0].get("error", "")), r"no kernel image", r"does not include kernels")
    lines.append(Line("pytorch", f"get_arch_list() = {joined(e.get('pytorch.arch', []))}"))
    return SURE, [*lines, *([Line("usable", said)] if said else [])]


@rule("cudnn")
def cudnn(e: Evidence) -> Finding:
    """Row 24: cuDNN no longer serves this GPU."""
    said = mentions(e.complaints, r"not compatible with devices with SM")
    return (SURE, [Line("usable", said)]) if said else None


@rule("taken")
def taken(e: Evidence) -> Finding:
    """Row 22: only one process may use the GPU, and another one does."""
    said = mentions(e.complaints, r"busy or unavailable", r"CUDA error: .*\b46\b", r"Error 46")
    if not said and e.cu != 46:
        return None
    modes = [one.get("compute_mode") for one in e.get("nvml.devices", [])]
    exclusive = [mode for mode in modes if mode in (1, 2, 3)]
    lines = [Line("usable", said)] if said else [cu_line(e)]
    if exclusive:
        named = {1: "exclusive thread", 2: "prohibited", 3: "exclusive process"}
        lines.append(Line("nvml", f"compute mode: {joined(sorted({named[mode] for mode in exclusive}))}"))
    if e.get("caller.initialized"):
        lines.append(Line("caller", "torch.cuda.is_initialized() = True"))
    return (SURE if exclusive else LIKELY), lines


@rule("wrong-result")
def wrong_result(e: Evidence) -> Finding:
    """A GPU computes, and the result is wrong."""
    wrong = [one for one in e.tried if one.get("right") is False and one.get("result") is not None]
    return (SURE, [Line("usable", f"{one.get('name')}: {one['result']} != {one.get('expected')}") for one in wrong]) \
        if wrong else None  # fmt: skip


@rule("nvml-only")
def nvml_only(e: Evidence) -> Finding:
    """Row 34: the half of the driver that manages GPUs works, the half that computes does not."""
    if e.works or e.get("nvml.init") != 0 or not e.get("nvml.count") or e.cu in (0, None):
        return None
    lines = [nvml_line(e), cu_line(e)]
    if e.environment("PYTORCH_NVML_BASED_CUDA_CHECK") == "1":
        lines.append(Line("interpreter", "PYTORCH_NVML_BASED_CUDA_CHECK = 1"))
    explained = (hangs, container_lost, no_permission, uvm_missing, wsl_shadowed, stub, compat, mismatch, driver_old,
                 fabric, init_memory, mps, gpu_lost, mig, hidden, batch_system, taken, integrated_mode)  # fmt: skip
    known = any((found := one(e)) and found[0] >= LIKELY for one in explained)
    return (POSSIBLE if known or (after_sleep(e) or (0,))[0] >= LIKELY else LIKELY), lines


def first_of(e: Evidence, causes: Iterable[str]) -> str | None:
    """Return the first of `causes` that the evidence speaks for, or None."""
    return next((cause for cause in causes if RULES[cause](e)), None)
