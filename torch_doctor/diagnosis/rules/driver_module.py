"""Rules about the driver's kernel module and its device files."""

from __future__ import annotations

from torch_doctor.diagnosis.evidence import Evidence, Line, joined, mentions
from torch_doctor.diagnosis.rules.base import (
    LIKELY,
    SURE,
    Rule,
    RuleResult,
    bus_line,
    cuinit_line,
    library_fact,
    node_lines,
    nvml_line,
    rule,
)
from torch_doctor.diagnosis.rules.machine import batch_system, integrated_mode

RULES: dict[str, Rule] = {}


def _unloaded(e: Evidence) -> bool:
    """Return whether there is a card whose driver should be loaded on this system but is not."""
    if not e.cards() or e.wsl or e.container or e.get("bus.module") or e.jetson:
        return False
    return e.os == "linux" and e.cuinit != 0 and not e.get("nvml.count", 0)


@rule(RULES, "given-away")
def given_away(e: Evidence) -> RuleResult:
    """The GPU is reserved for a virtual machine."""
    if _unloaded(e) and all(card.get("driver") == "vfio-pci" for card in e.cards()):
        return SURE, [bus_line(e)]
    return None


@rule(RULES, "driver-lost")
def driver_lost(e: Evidence) -> RuleResult:
    """The driver is installed but not loaded: after a kernel update, or because of Secure Boot."""
    files = e.get("bus.module_files", [])
    held = {card.get("driver") for card in e.cards()}
    if not _unloaded(e) or not files or held & {"nouveau", "nova", "vfio-pci"} or integrated_mode(e):
        return None
    running = e.get("bus.kernel")
    english = f"kernel {running}; nvidia.ko for: {joined(files)}"
    chinese = f"Linux 核心 {running}；nvidia.ko 適用於：{joined(files)}"
    lines = [bus_line(e), Line("bus", english, chinese)]
    if e.get("bus.secure_boot"):
        lines.append(Line("bus", "Secure Boot: on", "Secure Boot：已開啟"))
    return (SURE if running not in files or e.get("bus.secure_boot") else LIKELY), lines


@rule(RULES, "driver-absent")
def driver_absent(e: Evidence) -> RuleResult:
    """There is a GPU, but no NVIDIA driver."""
    if e.os == "windows" and not e.library and mentions(joined(e.get("bus.video", [])), "NVIDIA"):
        return SURE, [Line("bus", f"video: {joined(e.get('bus.video'))}"), Line("driver", library_fact(e))]
    if not _unloaded(e) or given_away(e) or driver_lost(e) or integrated_mode(e):
        return None
    return SURE, [
        bus_line(e),
        Line("bus", "no /proc/driver/nvidia/version", "沒有驅動程式的檔案 /proc/driver/nvidia/version"),
    ]


@rule(RULES, "container-lost")
def container_lost(e: Evidence) -> RuleResult:
    """A running container lost its GPU."""
    unknown = e.get("nvml.init") == 999 or mentions(e.smi_text, r"NVML: Unknown Error")
    if not (e.container and unknown and e.gpu_nodes):
        return None
    refused = node_lines(e, "EPERM")
    where = Line("bus", f"container: {e.container}", f"容器：{e.container}")
    return (SURE if refused else LIKELY), [where, nvml_line(e), *refused]


@rule(RULES, "no-permission")
def no_permission(e: Evidence) -> RuleResult:
    """The driver's device files exist, but this user may not open them."""
    refused = [line for line in node_lines(e, "EACCES", "EPERM") if "kfd" not in line.fact]
    if not refused or container_lost(e) or batch_system(e) or (e.cuinit == 0 and e.devices):
        return None
    return SURE, [*refused, cuinit_line(e)]
