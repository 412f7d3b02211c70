"""Rules about the driver's kernel module: does it serve this card, is it built, signed and loaded, did it start the card?"""

from __future__ import annotations

import re
from typing import Any

from torch_doctor.data import screen
from torch_doctor.diagnosis.evidence import Evidence, Line, joined, mentions, numbers
from torch_doctor.diagnosis.places import BLACKWELL, MAXWELL, TURING, card_number

from .base import LIKELY, SURE, Rule, RuleResult, rule, when
from .machine import holding, integrated_mode, listed, traces
from .shown import bus_line, library_line, node_lines, nvml_line

RULES: dict[str, Rule] = {}


def holders(e: Evidence) -> set[str]:
    """Return the kernel drivers that hold the NVIDIA cards."""
    return {str(card.get("driver")) for card in e.cards() if card.get("driver")}


def log_lines(e: Evidence, *names: str) -> list[Line]:
    """Return the lines of the kernel's log with these names (see probes/kernel.py)."""
    found = e.get("bus.kernel_log", {})
    return [e.line("bus.kernel-log", said=found[name]) for name in names if name in found]


# --- does it serve this card, and did it start it? ----------------------------------------------------


@rule(RULES, "driver-not-for-card")
def driver_not_for_card(e: Evidence) -> RuleResult:
    """The installed driver does not serve this card: wrong flavour of its modules, or a release too new or too old.

    Sure: either the driver itself logged it, or its license and version contradict the card's number.
    """
    if not e.cards() or e.works or e.cuinit == 0 or e.wsl or e.container or e.jetson or e.os != "linux":
        return None
    if e.get("nvml.count", 0) or "vfio-pci" in holders(e):
        return None
    said = log_lines(e, "needs-open", "needs-closed", "legacy", "unserved")
    if said:
        return SURE, [said, bus_line]
    reasons = [_unfit(e, card) for card in e.cards()]
    return (SURE, [reasons[0], bus_line]) if all(reasons) else None


def _flavour(e: Evidence) -> tuple[str, str]:
    """Return flavour (``"open"``, ``"proprietary"`` or ``""``) and version of the loaded or built module."""
    if e.get("bus.module"):
        return "open" if e.get("bus.module_open") else "proprietary", str(e.get("bus.module"))
    license = {"NVIDIA": "proprietary", "Dual MIT/GPL": "open"}.get(str(e.get("bus.modinfo.license")), "")
    return license, str(e.get("bus.modinfo.version", ""))


_FLAVOURS, _UNFIT = screen("evidence", "module"), screen("evidence", "unfit")


def _unfit(e: Evidence, card: dict[str, Any]) -> Line | None:
    """Return why the driver cannot serve `card`, or None."""
    number, (flavour, version) = card_number(card), _flavour(e)
    if not number or not numbers(version):
        return None
    major = numbers(version)[0]
    wrong = {
        "open": number >= BLACKWELL and flavour == "proprietary",
        "from-570": number >= BLACKWELL and major < 570,
        "to-470": number < MAXWELL and major >= 495,
        "closed": number < TURING and flavour == "open",
        "to-580": number < TURING and major >= 590,
    }
    why = next((_UNFIT[name] for name, holds in wrong.items() if holds), None)
    return why and e.line("bus.module-unfit", flavour=_FLAVOURS.get(flavour, ""), version=version, why=why)


@rule(RULES, "card-not-started")
def card_not_started(e: Evidence) -> RuleResult:
    """The driver holds the card, but cannot start it, from the first moment on.

    Sure if the driver logged it. A card that ran and stopped answering is `gpu-lost`: it fell off the bus, or NVML calls
    it lost. The signs are those of open-gpu-kernel-modules#789, #862 and #872.
    """
    if e.os == "windows":
        codes = e.get("bus.video_errors", {}).items()
        failed = [one for one in codes if one[1] in (10, 12, 31, 43) and "NVIDIA" in one[0]]
        codes_said = [e.line("bus.problem-code", name=name, code=code) for name, code in failed]
        return (SURE, codes_said) if failed and not e.works else None
    bound = holding(e)
    if not bound or e.container or e.wsl or driver_not_for_card(e) or _stopped(e, bound):
        return None
    if e.get("bus.slurm") or node_lines(e, "EPERM", "EACCES"):
        return None  # NVML counts what this process may use
    counted = e.get("nvml.count") if e.get("nvml.init") == 0 else None
    none = counted == 0 or mentions(e.smi_text, r"No devices were found")
    fewer = bool(counted) and counted < len(bound)
    said, refused = log_lines(e, "invalid-region", "gsp", "not-started"), node_lines(e, "EIO")
    if not (none or refused or fewer):
        return None
    return (SURE if none and said else LIKELY), [said, bus_line, nvml_line, refused]


def _stopped(e: Evidence, bound: list[dict[str, Any]]) -> bool:
    """Return whether one of the cards ran, and does not answer any more."""
    lost = mentions(e.smi_text, r"Unable to determine the device handle", r"GPU is lost", r"\bERR!")
    return bool(lost or any(card.get("gone") for card in bound) or log_lines(e, "off-the-bus"))


# --- is it built, signed and loaded? ------------------------------------------------------------------


def _unloaded(e: Evidence) -> bool:
    """Return whether there is a card whose driver should be loaded on this system but is not."""
    if not e.cards() or e.wsl or e.container or e.get("bus.module") or e.jetson:
        return False
    return e.os == "linux" and e.cuinit != 0 and not e.get("nvml.count", 0) and not integrated_mode(e)


def _files(e: Evidence) -> Line:
    files = joined(e.get("bus.module_files", []))
    return e.line("bus.modules-built" if files else "bus.no-module-built", files=files)


# The GPU is reserved for a virtual machine. Sure: the driver that holds it has no other purpose.
given_away = RULES["given-away"] = when(
    lambda e: _unloaded(e) and all(card.get("driver") == "vfio-pci" for card in e.cards()), SURE, bus_line
)


# NVIDIA's driver is built, but the free driver holds the card; only one of them can. nova_core's is named NovaCore.
# Where Secure Boot refuses NVIDIA's module, the free driver takes the card in its place; that is another cause.
nouveau = RULES["nouveau"] = when(
    lambda e: _unloaded(e) and e.module_built and not driver_not_signed(e)
    and any(re.match(r"nouveau|nova", name, re.I) for name in holders(e)),
    SURE, bus_line, _files,
)  # fmt: skip


# An update put a newer Linux kernel in place of the running one, and took its modules away.
# Sure: nothing can be loaded into a kernel whose folder of modules is gone. Typical of Arch Linux.
kernel_replaced = RULES["kernel-replaced"] = when(
    lambda e: _unloaded(e) and e.get("bus.module_folder") is False and e.get("bus.module_files")
    and all(numbers(file) > numbers(e.get("bus.kernel")) for file in e.get("bus.module_files")),
    SURE, _files, bus_line,
)  # fmt: skip


@rule(RULES, "driver-not-built")
def driver_not_built(e: Evidence) -> RuleResult:
    """The driver is installed, but its module was not built for the running Linux kernel.

    Sure if it was built for another kernel. If it was built for none, something of the driver is here, but its module
    may lie where nobody looked: likely.
    """
    if not _unloaded(e) or e.module_built or kernel_replaced(e) or e.get("bus.modinfo"):
        return None
    if e.get("bus.module_files"):
        return SURE, [_files, bus_line, log_lines(e, "other-kernel")]
    return (LIKELY, [_files, traces, bus_line]) if traces(e) or e.get("bus.dkms") else None


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
    said, built = log_lines(e, "unsigned"), e.get("bus.modinfo", {})
    if said:
        return SURE, ["bus.secure-boot", said, _files]
    signer = str(built.get("signer", ""))
    if signer and signer != "a key of this machine":
        return None  # signed by the distribution, whose key the machine knows
    by = "bus.signer" if signer else built and "bus.no-signer"
    return (SURE if built and not signer else LIKELY), ["bus.secure-boot", _files, by]


def _built(e: Evidence) -> bool:
    """Return whether the module is built for the running kernel, but not loaded."""
    return _unloaded(e) and (e.module_built or bool(e.get("bus.modinfo"))) and "vfio-pci" not in holders(e)


# The module is built for the running kernel, but it is not loaded. Sure if a file forbids it.
RULES["driver-not-loaded"] = when(
    lambda e: _built(e) and not (driver_not_signed(e) or driver_not_for_card(e) or nouveau(e)), LIKELY,
    lambda e: [e.line("bus.forbids", file=file) for file in e.get("bus.forbidden", [])],
    lambda e: log_lines(e, "missing-symbol"), bus_line, _files, sure=lambda e: e.get("bus.forbidden"),
)  # fmt: skip


@rule(RULES, "driver-absent")
def driver_absent(e: Evidence) -> RuleResult:
    """There is a GPU, but no NVIDIA driver. Sure: neither module nor library nor nvidia-smi is here."""
    if e.os == "windows" and not e.library and listed(e):
        return SURE, [Line("bus", f"video: {joined(e.get('bus.video'))}"), library_line]
    if not _unloaded(e) or e.get("bus.module_files") or e.get("bus.modinfo"):
        return None
    return None if given_away(e) or driver_not_built(e) else (SURE, [bus_line, "bus.no-module"])
