"""Rules about the file of the driver's library (libcuda): not found, the wrong one, or of another version."""

from __future__ import annotations

import re

from torch_doctor.diagnosis.evidence import Evidence, Line, mentions

from .base import LIKELY, POSSIBLE, SURE, Rule, RuleResult, explained, failing, nothing_here, rule
from .shown import build_line, cuinit_line, library_fact, nvml_line

RULES: dict[str, Rule] = {}


# --- not found ----------------------------------------------------------------------------------------


@rule(RULES, "library-not-on-path")
def library_not_on_path(e: Evidence) -> RuleResult:
    """libcuda lies in a folder in which Python does not look (GKE, WSL, NixOS, or a stale cache of the linker).

    Sure where the library, loaded from there, reaches the GPU.
    """
    folders, reached = e.get("driver.found_in", []), e.get("driver.reached")
    if e.library is not False or not folders or (reached == 100 and nothing_here(e)):
        return None
    lines = [
        Line("driver", library_fact(e)),
        Line("driver", f"{folders[0]}/libcuda.so.1: cuInit() = {reached}"),
    ]
    return (SURE if reached == 0 else LIKELY), lines


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
    lines = [
        nvml_line(e),
        Line("driver", library_fact(e)),
        Line("interpreter", f"NVIDIA_DRIVER_CAPABILITIES = {given!r}"),
    ]
    # Without the variable, it depends on the toolkit's release whether "compute" is passed.
    named = set((given or "").replace(" ", "").split(","))
    return (LIKELY if not given or named & {"compute", "all"} else SURE), lines


@rule(RULES, "library-missing")
def library_missing(e: Evidence) -> RuleResult:
    """The driver's kernel module is loaded, but libcuda is not installed.

    Sure: it is in none of the usual folders. A file that is there, but empty or of another architecture, looks alike.
    """
    there = e.get("bus.module") or e.get("nvml.init") == 0
    here = e.os == "linux" and not e.container and not e.wsl
    if there and here and e.library is False and e.gpu_nodes and not library_not_on_path(e):
        damaged = mentions(library_fact(e), r"file too short|invalid ELF header|wrong ELF class")
        return (LIKELY if damaged else SURE), [
            Line("bus", f"/proc/driver/nvidia/version: {e.get('bus.module')}"),
            Line("driver", library_fact(e)),
        ]
    return None


# --- the wrong one ------------------------------------------------------------------------------------


@rule(RULES, "stub")
def stub(e: Evidence) -> RuleResult:
    """The toolkit's stub library was loaded instead of the driver's libcuda. Sure: only a stub returns 34 (cuda.h)."""
    path = str(e.get("driver.path", ""))
    if e.cuinit == 34 or ("/stubs/" in path and failing(e)):
        return SURE, [Line("driver", library_fact(e)), cuinit_line(e)]
    return None


def _compatibility(e: Evidence) -> bool:
    """Return whether libcuda was loaded from a folder of CUDA's forward compatibility libraries."""
    return bool(re.search(r"/(cuda-)?compat(-[\w.-]+)?/", str(e.get("driver.path", ""))))


def _refused(e: Evidence) -> str:
    """Return torch's complaint about forward compatibility (error 804), or ``""``."""
    return mentions(e.complaints, r"Error 804", r"forward compatibility was attempted")


@rule(RULES, "compat")
def compat(e: Evidence) -> RuleResult:
    """CUDA's forward compatibility libraries are loaded on a machine that does not support them.

    Sure only where the path of libcuda proves it: 804 alone also follows an update without a restart
    (rapidsai/cusignal#398, pytorch/pytorch#40671).
    """
    lines = [cuinit_line(e), Line("driver", library_fact(e))]
    message = _refused(e)
    lines += [Line("pytorch", message)] if message else []
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
    return Line("driver", f"running: {running}, library: {library}", f"執行中：{running}，函式庫：{library}")


def _differs(e: Evidence) -> bool:
    """Return whether module and library differ, as far as the driver itself says so."""
    if e.wsl or e.cuinit == 0:
        return False
    # Without any device file, a library of the image cannot tell anything about the host's driver.
    apart = _apart(e) and failing(e) and not nothing_here(e)
    return _smi_disagrees(e) or apart or (e.cuinit in (803, 804) and not _compatibility(e))


@rule(RULES, "driver-in-container")
def driver_in_container(e: Evidence) -> RuleResult:
    """The container's image brings a driver library of its own, which hides the host's.

    Sure: it is of another version than the host's module, and no toolkit mounted it.
    """
    if not e.container or not _differs(e) or e.get("driver.mounted") is not False:
        return None
    mounted = Line("driver", "not mounted from the host", "不是從主機掛載進來的")
    return (SURE if _apart(e) else LIKELY), [
        Line("driver", library_fact(e)),
        mounted,
        _versions(e),
        cuinit_line(e),
    ]


def module_for_this_kernel(e: Evidence) -> str:
    """Return the version of the nvidia.ko that is installed for the running kernel, or ``""``."""
    return str(e.get("bus.modinfo.version") or "")


@rule(RULES, "module-not-rebuilt")
def module_not_rebuilt(e: Evidence) -> RuleResult:
    """The library was updated, but the module for this kernel was not: a restart loads the same old module again.

    Only likely: another installed kernel may have the new module.
    """
    if e.container or not _differs(e) or not _apart(e) or module_for_this_kernel(e) != e.get("bus.module"):
        return None
    if library_left_over(e):
        return None
    others = [kernel for kernel in e.get("bus.module_files", []) if kernel != e.get("bus.kernel")]
    installed = f"modinfo nvidia: {module_for_this_kernel(e)}"
    return (POSSIBLE if others else LIKELY), [_versions(e), Line("bus", installed), cuinit_line(e)]


def _number(version: object) -> tuple[int, ...]:
    """Return a version as numbers: ``"535.129.03"`` → ``(535, 129, 3)``."""
    return tuple(int(part) for part in str(version).split(".") if part.isdigit())


@rule(RULES, "library-left-over")
def library_left_over(e: Evidence) -> RuleResult:
    """A copy of libcuda from an older driver is found first, as NVIDIA's installer leaves it beside packages.

    The module on the disk is the running one, so no restart is pending. Only likely: an update may also have failed.
    """
    if e.container or not _differs(e) or not _apart(e) or module_for_this_kernel(e) != e.get("bus.module"):
        return None
    if _number(e.get("driver.file_version")) > _number(e.get("bus.module")):
        return None
    return LIKELY, [Line("driver", library_fact(e)), _versions(e), cuinit_line(e)]


@rule(RULES, "mismatch")
def mismatch(e: Evidence) -> RuleResult:
    """The driver was updated, but the old kernel module is still loaded.

    Sure where the versions are known to differ, or NVML says so, and the module on the disk is not the old one.
    """
    if not _differs(e) or driver_in_container(e) or explained(e, module_not_rebuilt, library_left_over):
        return None
    message = mentions(e.smi_text, r"Driver/library version mismatch")
    lines = [Line("smi", message)] if message else [nvml_line(e)] if e.get("nvml.init") is not None else []
    lines += [_versions(e), cuinit_line(e)]
    return (SURE if _smi_disagrees(e) or _apart(e) else LIKELY), lines


def _newest(serves: int | None) -> Line:
    """Return which CUDA the driver serves: ``CUDA 12.8 at most (cuDriverGetVersion() = 12080)``."""
    if not serves:
        return Line("driver", f"cuDriverGetVersion() = {serves}")
    cuda, call = f"CUDA {serves // 1000}.{serves % 1000 // 10}", f"cuDriverGetVersion() = {serves}"
    return Line("driver", f"supports {cuda} at most ({call})", f"最高支援 {cuda}（{call}）")


@rule(RULES, "driver-old")
def driver_old(e: Evidence) -> RuleResult:
    """The driver supports only an older CUDA than torch was built with.

    Sure: torch compares the same two numbers, and refuses. But it does so only where the driver finds a GPU.
    """
    wants = re.match(r"\d+", str(e.get("pytorch.cuda") or ""))
    serves = e.driver_cuda
    message = mentions(e.complaints, r"driver on your system is too old")
    older = bool(wants and serves and serves // 1000 < int(wants[0]))
    if e.works or not (older or message or e.cuinit == 35) or mismatch(e) or stub(e):
        return None
    if e.container and e.cuinit == 100 and nothing_here(e):
        return None  # the library belongs to the image; no GPU was passed
    # Without a GPU (a login node, an image of a disk) a newer driver would not help.
    useless = e.cuinit == 100 and not e.card_here and not message
    return (POSSIBLE if useless else SURE), [
        build_line(e),
        _newest(serves),
        *([Line("pytorch", message)] if message else []),
    ]
