"""Rules about the driver and the card: does this driver serve it, and did it start it?"""

from __future__ import annotations

from typing import Any

from torch_doctor.data import screen
from torch_doctor.diagnosis.evidence import Evidence, Line, mentions
from torch_doctor.diagnosis.places import BLACKWELL, MAXWELL, TURING, card_number

from .base import LIKELY, SURE, Rule, RuleResult, rule
from .shown import bus_line, node_lines, nvml_line

RULES: dict[str, Rule] = {}


def holders(e: Evidence) -> set[str]:
    """Return the kernel drivers that hold the NVIDIA cards."""
    return {str(card.get("driver")) for card in e.cards() if card.get("driver")}


def log_lines(e: Evidence, *names: str) -> list[Line]:
    """Return the lines of the kernel's log with these names (see probes/kernel.py)."""
    found = e.get("bus.kernel_log", {})
    return [
        Line("bus", f"kernel log: {found[name]}", f"Linux 核心的紀錄：{found[name]}")
        for name in names
        if name in found
    ]


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
        return SURE, [*said, bus_line(e)]
    reasons = [_unfit(e, card) for card in e.cards()]
    return (SURE, [reasons[0], bus_line(e)]) if reasons and reasons[0] and all(reasons) else None


def _flavour(e: Evidence) -> tuple[str, str]:
    """Return flavour (``"open"``, ``"proprietary"`` or ``""``) and version of the loaded or built module."""
    if e.get("bus.module"):
        return "open" if e.get("bus.module_open") else "proprietary", str(e.get("bus.module"))
    built = e.get("bus.modinfo", {})
    license = str(built.get("license", ""))
    return {"NVIDIA": "proprietary", "Dual MIT/GPL": "open"}.get(license, ""), str(built.get("version", ""))


_FLAVOURS, _UNFIT = screen("evidence", "module"), screen("evidence", "unfit")


def _unfit(e: Evidence, card: dict[str, Any]) -> Line | None:
    """Return why the driver cannot serve `card`, or None."""
    number, (flavour, version) = card_number(card), _flavour(e)
    major = int(version.split(".")[0]) if version.split(".")[0].isdigit() else 0
    if not number or not major:
        return None
    wrong = {
        "open": number >= BLACKWELL and flavour == "proprietary",
        "from-570": number >= BLACKWELL and major < 570,
        "to-470": number < MAXWELL and major >= 495,
        "closed": number < TURING and flavour == "open",
        "to-580": number < TURING and major >= 590,
    }
    for why in (_UNFIT[name] for name, holds in wrong.items() if holds):
        chinese = _FLAVOURS[flavour].zh if flavour else ""
        return Line("bus", f"module: {flavour} {version}, {why.en}", f"{chinese}模組 {version}；{why.zh}")
    return None


@rule(RULES, "card-not-started")
def card_not_started(e: Evidence) -> RuleResult:
    """The driver holds the card, but cannot start it, from the first moment on.

    Sure if the driver logged it. A card that ran and stopped answering is `gpu-lost`: it fell off the bus, or NVML calls
    it lost. The signs are those of open-gpu-kernel-modules#789, #862 and #872.
    """
    if e.os == "windows":
        lines = _problem_codes(e)
        return (SURE, lines) if lines and not e.works else None
    bound = [card for card in e.cards() if card.get("driver") == "nvidia"]
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
    return (SURE if none and said else LIKELY), [*said, bus_line(e), nvml_line(e), *refused]


def _problem_codes(e: Evidence) -> list[Line]:
    """Return the NVIDIA cards that Windows reports with a code for a device that did not start."""
    codes = e.get("bus.video_errors", {}).items()
    failed = {name: code for name, code in codes if code in (10, 12, 31, 43) and "NVIDIA" in name}
    return [Line("bus", f"{name}: code {code}", f"{name}：問題代碼 {code}") for name, code in failed.items()]


def _stopped(e: Evidence, bound: list[dict[str, Any]]) -> bool:
    """Return whether one of the cards ran, and does not answer any more."""
    lost = mentions(e.smi_text, r"Unable to determine the device handle", r"GPU is lost", r"\bERR!")
    return bool(lost or any(card.get("gone") for card in bound) or log_lines(e, "off-the-bus"))
