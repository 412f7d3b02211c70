"""Rules about the driver's kernel module: is it installed, built, signed and loaded?"""

from __future__ import annotations

import re

from torch_doctor.diagnosis.evidence import Evidence, Line, joined, mentions

from .base import LIKELY, SURE, Rule, RuleResult, rule
from .card_start import driver_not_for_card, holders, log_lines
from .machine import integrated_mode, traces
from .shown import bus_line, library_fact

RULES: dict[str, Rule] = {}


def _unloaded(e: Evidence) -> bool:
    """Return whether there is a card whose driver should be loaded on this system but is not."""
    if not e.cards() or e.wsl or e.container or e.get("bus.module") or e.jetson:
        return False
    return e.os == "linux" and e.cuinit != 0 and not e.get("nvml.count", 0) and not integrated_mode(e)


def _files(e: Evidence) -> Line:
    running, files = e.get("bus.kernel"), e.get("bus.module_files", [])
    english = f"running Linux kernel: {running}; nvidia.ko built for: {joined(files) or 'none'}"
    return Line(
        "bus", english, f"執行中的 Linux 核心：{running}；nvidia.ko 適用於：{joined(files) or '（沒有）'}"
    )


@rule(RULES, "given-away")
def given_away(e: Evidence) -> RuleResult:
    """The GPU is reserved for a virtual machine. Sure: the driver that holds it has no other purpose."""
    if _unloaded(e) and all(card.get("driver") == "vfio-pci" for card in e.cards()):
        return SURE, [bus_line(e)]
    return None


@rule(RULES, "nouveau")
def nouveau(e: Evidence) -> RuleResult:
    """NVIDIA's driver is built, but the free driver holds the card; only one of them can.

    Where Secure Boot refuses NVIDIA's module, the free driver takes the card in its place; that is another cause.
    """
    built = e.get("bus.kernel") in e.get("bus.module_files", [])
    if not _unloaded(e) or not built or not _free(e) or driver_not_signed(e):
        return None
    return SURE, [bus_line(e), _files(e)]


def _free(e: Evidence) -> bool:
    """Return whether a free driver holds a card; that of nova_core is named NovaCore."""
    return any(re.match(r"nouveau|nova", name, re.I) for name in holders(e))


@rule(RULES, "kernel-replaced")
def kernel_replaced(e: Evidence) -> RuleResult:
    """An update put a newer Linux kernel in place of the running one, and took its modules away.

    Sure: nothing can be loaded into a kernel whose folder of modules is gone. Typical of Arch Linux.
    """
    files, running = e.get("bus.module_files", []), str(e.get("bus.kernel"))
    if not _unloaded(e) or not files or e.get("bus.module_folder") is not False or running in files:
        return None
    newer = all(_numbers(file) > _numbers(running) for file in files)
    return (SURE, [_files(e), bus_line(e)]) if newer else None


def _numbers(version: str) -> list[int]:
    """Return the numbers in a version: ``"6.8.0-45-generic"`` → ``[6, 8, 0, 45]``."""
    return [int(number) for number in re.findall(r"\d+", version)]


@rule(RULES, "driver-not-built")
def driver_not_built(e: Evidence) -> RuleResult:
    """The driver is installed, but its module was not built for the running Linux kernel.

    Sure if it was built for another kernel. If it was built for none, something of the driver is here, but its module
    may lie where nobody looked: likely.
    """
    files = e.get("bus.module_files", [])
    if not _unloaded(e) or e.get("bus.kernel") in files or kernel_replaced(e) or e.get("bus.modinfo"):
        return None
    if files:
        return SURE, [_files(e), bus_line(e), *log_lines(e, "other-kernel")]
    return (LIKELY, [_files(e), *traces(e), bus_line(e)]) if traces(e) or e.get("bus.dkms") else None


@rule(RULES, "driver-not-signed")
def driver_not_signed(e: Evidence) -> RuleResult:
    """Secure Boot refuses the driver's module.

    Sure if the kernel logged it, or if the module has no signature at all. A signature alone proves nothing: its key may
    not be enrolled.
    """
    if not _built(e) or not e.get("bus.secure_boot") or driver_not_for_card(e) or e.get("bus.forbidden"):
        return None
    if e.get("bus.signatures") is False:
        return None  # Arch, or a switch of the boot loader's shim: Secure Boot is on, but the kernel loads any module
    on = Line("bus", "Secure Boot: on", "Secure Boot：已開啟")
    said, built = log_lines(e, "unsigned"), e.get("bus.modinfo", {})
    if said:
        return SURE, [on, *said, _files(e)]
    signer = str(built.get("signer", ""))
    if signer and signer != "a key of this machine":
        return None  # signed by the distribution, whose key the machine knows
    line = Line("bus", f"signer of nvidia.ko: {signer or 'none'}", f"nvidia.ko 的簽署者：{signer or '無'}")
    return (SURE if built and not signer else LIKELY), [on, _files(e), *([line] if built else [])]


def _built(e: Evidence) -> bool:
    """Return whether the module is built for the running kernel, but not loaded."""
    here = e.get("bus.kernel") in e.get("bus.module_files", []) or bool(e.get("bus.modinfo"))
    return _unloaded(e) and here and "vfio-pci" not in holders(e)


@rule(RULES, "driver-not-loaded")
def driver_not_loaded(e: Evidence) -> RuleResult:
    """The module is built for the running kernel, but it is not loaded. Sure if a file forbids it."""
    if not _built(e) or driver_not_signed(e) or driver_not_for_card(e) or nouveau(e):
        return None
    files = e.get("bus.forbidden", [])
    lines = [Line("bus", f"{file}: forbids nvidia", f"{file}：禁止載入 nvidia") for file in files]
    lines += log_lines(e, "missing-symbol")
    return (SURE if files else LIKELY), [*lines, bus_line(e), _files(e)]


@rule(RULES, "driver-absent")
def driver_absent(e: Evidence) -> RuleResult:
    """There is a GPU, but no NVIDIA driver. Sure: neither module nor library nor nvidia-smi is here."""
    if e.os == "windows" and not e.library and mentions(joined(e.get("bus.video") or []), "NVIDIA"):
        return SURE, [Line("bus", f"video: {joined(e.get('bus.video'))}"), Line("driver", library_fact(e))]
    if (
        not _unloaded(e)
        or e.get("bus.module_files")
        or e.get("bus.modinfo")
        or given_away(e)
        or driver_not_built(e)
    ):
        return None
    return SURE, [
        bus_line(e),
        Line("bus", "no /proc/driver/nvidia/version", "沒有驅動程式的檔案 /proc/driver/nvidia/version"),
    ]
