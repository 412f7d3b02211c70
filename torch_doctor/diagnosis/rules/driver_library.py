"""Rules about the file of the driver's library (libcuda): not found, the wrong one, of another version; and about WSL."""

from __future__ import annotations

import re

from torch_doctor.diagnosis.evidence import Evidence, Line, mentions, numbers

from .base import LIKELY, POSSIBLE, SURE, Rule, RuleResult, explained, failing, nothing_here, rule, when
from .shown import build_line, cuinit_line, library_line, nvml_line

RULES: dict[str, Rule] = {}


# --- in WSL, GPU and driver come from Windows ---------------------------------------------------------


# WSL 1, in which Linux programs run without a Linux kernel: GPUs exist in WSL 2 only (Microsoft's manual).
# Sure for release 4.4, which WSL 1 always claims to be; a kernel that somebody built for WSL 2 may have any name.
RULES["wsl-1"] = when(
    lambda e: e.wsl == 1 and not e.container and not e.get("bus.dxg"),
    LIKELY, "bus.no-dxg", lambda e: Line("bus", f"kernel {e.get('bus.kernel', '')}"),
    sure=lambda e: str(e.get("bus.kernel")).startswith("4.4."),
)  # fmt: skip
# WSL 2, but Windows passes no GPU on. An old Windows or WSL, or the option gpuSupport: only likely.
RULES["wsl-old"] = when(
    lambda e: e.wsl == 2 and not e.get("bus.dxg") and not e.container and not e.devices,
    LIKELY, "bus.no-dxg", "bus: kernel {bus.kernel}",
)  # fmt: skip


# A Linux driver inside WSL is loaded instead of the one from Windows.
# Sure: the library is not the one that Windows provides, and cannot reach the GPU. If Windows provides none, the Linux
# driver hides nothing, and `wsl-without-driver` is as likely. In a container the toolkit mounts the right one into
# /usr/lib/x86_64-linux-gnu, so there the path proves nothing.
wsl_shadowed = RULES["wsl-shadowed"] = when(
    lambda e: e.wsl == 2 and e.get("bus.dxg") and e.library and failing(e) and not (e.container or compat(e) or stub(e))
    and e.get("driver.path") and "/usr/lib/wsl/" not in e.get("driver.path"),
    POSSIBLE, library_line, cuinit_line, "bus: /dev/dxg", sure=lambda e: e.get("driver.windows_library") is not False,
)  # fmt: skip
# WSL can use a GPU, but Windows gave it no NVIDIA driver. Only likely: that is also so without an NVIDIA card.
RULES["wsl-without-driver"] = when(
    lambda e: e.wsl == 2 and e.get("bus.dxg") and not e.container
    and (e.library is False or (e.get("driver.windows_library") is False and failing(e)))
    and not (e.get("smi.gpus") or e.get("nvml.count") or library_not_on_path(e)),
    LIKELY, "bus: /dev/dxg", "driver.no-windows-library", library_line,
)  # fmt: skip
# In a container on WSL, libcuda does not find its counterpart (500), because Docker mounted an incomplete driver.
# Updating Docker Desktop mended it in jhj0517/Whisper-WebUI#279 and YanWenKun/ComfyUI-Docker#74.
RULES["docker-desktop-old"] = when(
    lambda e: e.cuinit == 500 and e.wsl and e.container,
    LIKELY,
    cuinit_line,
    "bus.container-in-wsl",
    nvml_line,
)


# --- not found ----------------------------------------------------------------------------------------


@rule(RULES, "library-not-on-path")
def library_not_on_path(e: Evidence) -> RuleResult:
    """libcuda lies in a folder in which Python does not look (GKE, WSL, NixOS, or a stale cache of the linker).

    Sure where the library, loaded from there, reaches the GPU.
    """
    folders, reached = e.get("driver.found_in", []), e.get("driver.reached")
    if e.library is not False or not folders or (reached == 100 and nothing_here(e)):
        return None
    there = Line("driver", f"{folders[0]}/libcuda.so.1: cuInit() = {reached}")
    return (SURE if reached == 0 else LIKELY), [library_line, there]


@rule(RULES, "compute-not-passed")
def compute_not_passed(e: Evidence) -> RuleResult:
    """The container got nvidia-smi and NVML from the driver, but not libcuda.

    Sure where the list of what to pass is set and does not name it.
    """
    if not e.container or e.get("nvml.init") != 0 or e.library is not False or not e.gpu_nodes:
        return None
    if library_not_on_path(e):
        return None
    given = e.environment("NVIDIA_DRIVER_CAPABILITIES")
    # Without the variable, it depends on the toolkit's release whether "compute" is passed.
    named = set((given or "").replace(" ", "").split(","))
    passed = Line("interpreter", f"NVIDIA_DRIVER_CAPABILITIES = {given!r}")
    return (LIKELY if not given or named & {"compute", "all"} else SURE), [nvml_line, library_line, passed]


# The driver's kernel module is loaded, but libcuda is not installed.
# Sure: it is in none of the usual folders. A file that is there, but empty or of another architecture, looks alike.
RULES["library-missing"] = when(
    lambda e: (e.get("bus.module") or e.get("nvml.init") == 0) and e.os == "linux" and not (e.container or e.wsl)
    and e.library is False and e.gpu_nodes and not library_not_on_path(e),
    LIKELY, "bus: /proc/driver/nvidia/version: {bus.module}", library_line,
    sure=lambda e: not mentions(library_line(e).fact, r"file too short|invalid ELF header|wrong ELF class"),
)  # fmt: skip


# --- the wrong one ------------------------------------------------------------------------------------

# The toolkit's stub library was loaded instead of the driver's libcuda. Sure: only a stub returns 34 (cuda.h).
stub = RULES["stub"] = when(
    lambda e: e.cuinit == 34 or ("/stubs/" in str(e.get("driver.path", "")) and failing(e)),
    SURE, library_line, cuinit_line,
)  # fmt: skip


def _compatibility(e: Evidence) -> bool:
    """Return whether libcuda was loaded from a folder of CUDA's forward compatibility libraries."""
    return bool(re.search(r"/(cuda-)?compat(-[\w.-]+)?/", str(e.get("driver.path", ""))))


@rule(RULES, "compat")
def compat(e: Evidence) -> RuleResult:
    """CUDA's forward compatibility libraries are loaded on a machine that does not support them.

    Sure only where the path of libcuda proves it: 804 alone also follows an update without a restart
    (rapidsai/cusignal#398, pytorch/pytorch#40671).
    """
    message = mentions(e.complaints, r"Error 804", r"forward compatibility was attempted")
    lines = [cuinit_line, library_line, message and Line("pytorch", message)]
    if _compatibility(e) and failing(e):
        return (SURE if (e.cuinit in (803, 804) or message) and not _smi_disagrees(e) else LIKELY), lines
    if (e.cuinit == 804 or message) and not e.get("driver.path") and not _apart(e):
        return LIKELY, lines  # from where it was loaded is not known
    return None


# --- another version ----------------------------------------------------------------------------------


def _smi_disagrees(e: Evidence) -> bool:
    """Return whether NVML says that library and kernel module differ (18)."""
    said = mentions(e.smi_text, r"Driver/library version mismatch")
    return bool(e.get("nvml.init") == 18 or e.get("smi.code") == 18 or said)


def _apart(e: Evidence) -> bool:
    """Return whether the driver's kernel module and libcuda are of different versions; both must be known."""
    running, found = e.get("bus.module"), e.get("driver.file_version")
    return bool(running and found and running != found and not _compatibility(e))


def _versions(e: Evidence) -> Line:
    """Return the versions of the driver that runs and of its library."""
    running, library = e.get("bus.module") or "?", e.get("driver.file_version") or "?"
    return e.line("driver.versions", running=running, library=library)


def _differs(e: Evidence) -> bool:
    """Return whether module and library differ, as far as the driver itself says so."""
    if e.wsl or e.cuinit == 0:
        return False
    # Without any device file, a library of the image cannot tell anything about the host's driver.
    apart = _apart(e) and failing(e) and not nothing_here(e)
    return _smi_disagrees(e) or apart or (e.cuinit in (803, 804) and not _compatibility(e))


# The container's image brings a driver library of its own, which hides the host's.
# Sure where it is of another version than the host's module, and no toolkit mounted it.
driver_in_container = RULES["driver-in-container"] = when(
    lambda e: e.container and _differs(e) and e.get("driver.mounted") is False,
    LIKELY, library_line, "driver.not-mounted", _versions, cuinit_line, sure=_apart,
)  # fmt: skip


def _same_on_disk(e: Evidence) -> bool:
    """Return whether module and library differ, and the module on the disk is the running one: no restart is pending."""
    installed = str(e.get("bus.modinfo.version") or "")
    return not e.container and _differs(e) and _apart(e) and installed == e.get("bus.module")


@rule(RULES, "module-not-rebuilt")
def module_not_rebuilt(e: Evidence) -> RuleResult:
    """The library was updated, but the module for this kernel was not: a restart loads the same old module again.

    Only likely: another installed kernel may have the new module.
    """
    if not _same_on_disk(e) or library_left_over(e):
        return None
    others = [kernel for kernel in e.get("bus.module_files", []) if kernel != e.get("bus.kernel")]
    on_disk = "bus: modinfo nvidia: {bus.modinfo.version}"
    return (POSSIBLE if others else LIKELY), [_versions, on_disk, cuinit_line]


# A copy of libcuda from an older driver is found first, as NVIDIA's installer leaves it beside packages.
# The module on the disk is the running one, so no restart is pending. Only likely: an update may also have failed.
library_left_over = RULES["library-left-over"] = when(
    lambda e: _same_on_disk(e) and numbers(e.get("driver.file_version")) <= numbers(e.get("bus.module")),
    LIKELY, library_line, _versions, cuinit_line,
)  # fmt: skip


def _mismatch_line(e: Evidence) -> object:
    message = mentions(e.smi_text, r"Driver/library version mismatch")
    return Line("smi", message) if message else e.get("nvml.init") is not None and nvml_line


# The driver was updated, but the old kernel module is still loaded.
# Sure where the versions are known to differ, or NVML says so, and the module on the disk is not the old one.
mismatch = RULES["mismatch"] = when(
    lambda e: _differs(e) and not driver_in_container(e) and not explained(e, module_not_rebuilt, library_left_over),
    LIKELY, _mismatch_line, _versions, cuinit_line, sure=lambda e: _smi_disagrees(e) or _apart(e),
)  # fmt: skip
# What says that the parts of the driver do not belong together.
MIXED = (mismatch, driver_in_container, module_not_rebuilt, library_left_over, compat)


def _newest(e: Evidence) -> Line:
    """Return which CUDA the driver serves: ``CUDA 12.8 at most (cuDriverGetVersion() = 12080)``."""
    serves = e.driver_cuda
    if not serves:
        return Line("driver", f"cuDriverGetVersion() = {serves}")
    return e.line("driver.supports", cuda=f"{serves // 1000}.{serves % 1000 // 10}", serves=serves)


@rule(RULES, "driver-old")
def driver_old(e: Evidence) -> RuleResult:
    """The driver supports only an older CUDA than torch was built with.

    Sure: torch compares the same two numbers, and refuses. But it does so only where the driver finds a GPU.
    """
    wants = re.match(r"\d+", str(e.get("pytorch.cuda") or ""))
    message = mentions(e.complaints, r"driver on your system is too old")
    older = bool(wants and e.driver_cuda and e.driver_cuda // 1000 < int(wants[0]))
    if e.works or not (older or message or e.cuinit == 35) or mismatch(e) or stub(e):
        return None
    if e.container and e.cuinit == 100 and nothing_here(e):
        return None  # the library belongs to the image; no GPU was passed
    # Without a GPU (a login node, an image of a disk) a newer driver would not help.
    useless = e.cuinit == 100 and not e.card_here and not message
    return (POSSIBLE if useless else SURE), [build_line, _newest, message and Line("pytorch", message)]
