"""Rules about GPUs that are not ordinary NVIDIA cards (Jetson, Apple, AMD, Intel), and for which torch has no code."""

from __future__ import annotations

import re
from typing import Any

from torch_doctor.diagnosis import cuda_tables
from torch_doctor.diagnosis.evidence import Evidence, Line, mentions

from .base import LIKELY, SURE, Rule, RuleResult, rule, when
from .shown import build_line, bus_line

RULES: dict[str, Rule] = {}


def without_code(e: Evidence) -> list[dict[str, Any]]:
    """Return the GPUs for which this torch contains no machine code."""
    arch = e.get("pytorch.arch", [])
    found = []
    for gpu in e.tried or e.get("unmasked.devices", e.get("driver.devices", [])):
        error = no_kernel_image(gpu)
        fits = gpu.get("fits")
        if fits is None and gpu.get("capability") and arch:
            fits = cuda_tables.has_code_for(int(gpu["capability"]), arch)
        if not gpu.get("right") and (error or fits is False):
            found.append(gpu)
    return found


def no_kernel_image(gpu: dict[str, Any]) -> str:
    """Return the line in which CUDA or torch says that there is no machine code for `gpu`, or ``""``."""
    return mentions(str(gpu.get("error", "")), r"no kernel image", r"does not include kernels")


# A Jetson needs NVIDIA's own build of torch. Sure: this build has no code for its GPU, or there is none at all.
# In a container that did not get the GPU, another build does not help.
jetson = RULES["jetson"] = when(
    lambda e: e.jetson and not e.works and (e.get("bus.tegra_nodes") or not e.container)
    and (e.build == "cpu" or e.torch == "missing" or without_code(e)),
    SURE, lambda e: "bus.jetson" if e.get("bus.jetson") == "yes" else "bus: Jetson: {bus.jetson}",
    lambda e: build_line(e) if e.build else Line("pytorch", e.import_error),
)  # fmt: skip
# A Mac has no CUDA.
RULES["apple"] = when(lambda e: e.os == "darwin", SURE, "bus: macOS, {bus.arch}", lambda e: Line(
    "pytorch", f"torch.backends.mps.is_available() = {bool(e.get('pytorch.mps'))}"))  # fmt: skip

_KFD_OPENED = "bus: open(/dev/kfd) = {bus.nodes.kfd}"
_HIP = "pytorch: torch.version.hip = {pytorch.hip!r}, is_available() = False"


# A torch built for AMD, and an NVIDIA card, which this build never uses. Sure if there is no AMD card beside it.
rocm_build = RULES["rocm-build"] = when(
    lambda e: e.build == "hip" and not e.works and e.card_here,
    LIKELY, _HIP, bus_line, sure=lambda e: not e.cards("0x1002"),
)  # fmt: skip


def _kfd_refused(e: Evidence) -> bool:
    """Return whether this account may not open AMD's device file."""
    return e.build == "hip" and not e.works and not e.card_here and e.nodes.get("kfd") in ("EACCES", "EPERM")


@rule(RULES, "kfd-root-only")
def kfd_root_only(e: Evidence) -> RuleResult:
    """No group may open AMD's device file (ROCm/ROCT-Thunk-Interface#36). Sure: its owner and mode say so."""
    owner = re.fullmatch(r"(\d+) \d+ (\d+)", str(e.get("bus.node_owners.kfd", "")))  # mode, user, group
    if _kfd_refused(e) and owner and (owner[2] == "0" or not int(owner[1], 8) & 0o060):
        return SURE, [_KFD_OPENED, _HIP, e.line("bus.kfd", mode=owner[1], group=owner[2])]
    return None


# AMD's device file refuses this account. Sure: the probe, which runs in this same account, could not open it.
kfd_permission = RULES["kfd-permission"] = when(
    lambda e: _kfd_refused(e) and not kfd_root_only(e), SURE, _KFD_OPENED, _HIP
)


# A torch built for AMD and an AMD card, but no GPU: likely one that ROCm does not serve; rocminfo tells.
rocm_card = RULES["rocm-card"] = when(
    lambda e: e.build == "hip" and not (e.works or e.card_here) and e.cards("0x1002") and not _kfd_refused(e),
    LIKELY, _HIP, lambda e: Line("bus", f"open(/dev/kfd) = {e.nodes.get('kfd', 'ENOENT')}"),
)  # fmt: skip
# An AMD card with its driver, and a torch that was not built for it. Likely: perhaps no GPU was wanted.
amd_card = RULES["amd-card"] = when(
    lambda e: e.cards("0x1002") and not e.card_here and e.build in ("cuda", "cpu") and e.nodes.get("kfd"),
    LIKELY, lambda e: e.line("bus.amd-cards", count=len(e.cards("0x1002"))), build_line,
)  # fmt: skip


def amd(e: Evidence) -> RuleResult:
    """Return what one of the rules about AMD cards says."""
    return rocm_build(e) or kfd_root_only(e) or kfd_permission(e) or rocm_card(e) or amd_card(e)


# An Intel GPU is used through torch.xpu, not through CUDA.
intel = RULES["intel"] = when(
    lambda e: not e.card_here and (e.get("pytorch.xpu_available") or e.build == "xpu"), SURE, build_line,
    lambda e: Line("pytorch", f"torch.xpu.is_available() = {bool(e.get('pytorch.xpu_available'))}"),
)  # fmt: skip
