"""Rules about GPUs that are not ordinary NVIDIA cards: Jetson, Apple, AMD, Intel."""

from __future__ import annotations

import re

from torch_doctor.diagnosis.evidence import Evidence, Line

from .base import LIKELY, SURE, Rule, RuleResult, rule, without_code
from .shown import build_line, bus_line

RULES: dict[str, Rule] = {}


@rule(RULES, "jetson")
def jetson(e: Evidence) -> RuleResult:
    """A Jetson needs NVIDIA's own build of torch. Sure: this build has no code for its GPU, or there is none at all."""
    # In a container that did not get the GPU, another build does not help.
    if not e.jetson or e.works or (e.container and not e.get("bus.tegra_nodes")):
        return None
    if e.build == "cpu" or e.torch == "missing" or without_code(e):
        return SURE, [
            Line(
                "bus", f"Jetson: {e.get('bus.jetson')}", "這是 Jetson" if e.get("bus.jetson") == "yes" else ""
            ),
            build_line(e) if e.build else Line("pytorch", e.import_error),
        ]
    return None


@rule(RULES, "apple")
def apple(e: Evidence) -> RuleResult:
    """A Mac has no CUDA."""
    if e.os == "darwin":
        return SURE, [
            Line("bus", f"macOS, {e.get('bus.arch')}"),
            Line("pytorch", f"torch.backends.mps.is_available() = {bool(e.get('pytorch.mps'))}"),
        ]
    return None


def _hip_line(e: Evidence) -> Line:
    return Line("pytorch", f"torch.version.hip = {e.get('pytorch.hip')!r}, is_available() = False")


@rule(RULES, "rocm-build")
def rocm_build(e: Evidence) -> RuleResult:
    """A torch built for AMD, and an NVIDIA card, which this build never uses. Sure if there is no AMD card beside it."""
    if e.build == "hip" and not e.works and e.card_here:
        return (LIKELY if e.cards("0x1002") else SURE), [_hip_line(e), bus_line(e)]
    return None


def _kfd_refused(e: Evidence) -> list[Line]:
    """Return the evidence that AMD's device file cannot be opened by this account, or an empty list."""
    refused = e.nodes.get("kfd")
    if e.build != "hip" or e.works or e.card_here or refused not in ("EACCES", "EPERM"):
        return []
    return [Line("bus", f"open(/dev/kfd) = {refused}"), _hip_line(e)]


@rule(RULES, "kfd-root-only")
def kfd_root_only(e: Evidence) -> RuleResult:
    """No group may open AMD's device file (ROCm/ROCT-Thunk-Interface#36). Sure: its owner and mode say so."""
    lines = _kfd_refused(e)
    owner = re.fullmatch(r"(\d+) \d+ (\d+)", str(e.get("bus.node_owners.kfd", "")))  # mode, user, group
    if lines and owner and (owner[2] == "0" or not int(owner[1], 8) & 0o060):
        return SURE, [
            *lines,
            Line(
                "bus",
                f"/dev/kfd: mode {owner[1]}, group {owner[2]}",
                f"/dev/kfd：權限 {owner[1]}，群組 {owner[2]}",
            ),
        ]
    return None


@rule(RULES, "kfd-permission")
def kfd_permission(e: Evidence) -> RuleResult:
    """AMD's device file refuses this account. Sure: the probe, which runs in this same account, could not open it."""
    lines = _kfd_refused(e)
    return (SURE, lines) if lines and not kfd_root_only(e) else None


@rule(RULES, "rocm-card")
def rocm_card(e: Evidence) -> RuleResult:
    """A torch built for AMD and an AMD card, but no GPU: likely one that ROCm does not serve; rocminfo tells."""
    if e.build == "hip" and not (e.works or e.card_here) and e.cards("0x1002") and not _kfd_refused(e):
        kfd = e.nodes.get("kfd", "ENOENT")
        return LIKELY, [_hip_line(e), Line("bus", f"open(/dev/kfd) = {kfd}")]
    return None


@rule(RULES, "amd-card")
def amd_card(e: Evidence) -> RuleResult:
    """An AMD card with its driver, and a torch that was not built for it. Likely: perhaps no GPU was wanted."""
    cards = e.cards("0x1002")
    if cards and not e.card_here and e.build in ("cuda", "cpu") and e.nodes.get("kfd"):
        return LIKELY, [
            Line(
                "bus",
                f"PCI: {len(cards)} AMD GPU, 0 NVIDIA GPU; /dev/kfd",
                f"PCI：{len(cards)} 張 AMD GPU、0 張 NVIDIA GPU；有 /dev/kfd",
            ),
            build_line(e),
        ]
    return None


def amd(e: Evidence) -> RuleResult:
    """Return what one of the rules about AMD cards says."""
    return rocm_build(e) or kfd_root_only(e) or kfd_permission(e) or rocm_card(e) or amd_card(e)


@rule(RULES, "intel")
def intel(e: Evidence) -> RuleResult:
    """An Intel GPU is used through torch.xpu, not through CUDA."""
    if e.card_here:
        return None
    if e.get("pytorch.xpu_available") or e.build == "xpu":
        return SURE, [
            build_line(e),
            Line("pytorch", f"torch.xpu.is_available() = {bool(e.get('pytorch.xpu_available'))}"),
        ]
    return None
