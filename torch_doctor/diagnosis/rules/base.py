"""What all rules share: how they are registered, and the pieces of evidence that several of them show.

A rule returns None, or how sure it is and the evidence for it::

    (SURE, [Line("driver", "cuInit() = 802 (system not ready)"), Line("bus", "nv-fabricmanager: not running")])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch_doctor.diagnosis import cuda_tables
from torch_doctor.diagnosis.evidence import Evidence, Line, joined, mentions

SURE, LIKELY, POSSIBLE = 3, 2, 1

RuleResult = tuple[int, list[Line]] | None
Rule = Callable[[Evidence], RuleResult]


def rule(table: dict[str, Rule], cause: str) -> Callable[[Rule], Rule]:
    """Register the decorated function in `table` as the rule for `cause`."""

    def register(function: Rule) -> Rule:
        table[cause] = function
        return function

    return register


# --- questions that several rules ask -----------------------------------------------------------------


def failing(e: Evidence) -> bool:
    """Return whether the driver's library was loaded, but cuInit fails or finds no GPU."""
    return e.cuinit not in (0, None) or (e.cuinit == 0 and e.devices == 0)


def nothing_here(e: Evidence) -> bool:
    """Return whether the driver, NVML and the device files all show no GPU for this process."""
    return not (e.gpu_nodes or e.devices or e.get("nvml.count", 0) or e.get("bus.dxg") or e.jetson)


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


# --- pieces of evidence -------------------------------------------------------------------------------


def cuinit_line(e: Evidence) -> Line:
    """Return what cuInit returned: ``cuInit() = 100 (no device)``."""
    code = e.cuinit
    probe = "unmasked" if e.get("unmasked.cuInit") is not None else "driver"
    meaning = cuda_tables.CUDA_CODES.get(code, "?") if code is not None else "not asked"
    return Line(probe, f"cuInit() = {code} ({meaning})")


def nvml_line(e: Evidence) -> Line:
    """Return what nvmlInit returned, and how many GPUs NVML counts."""
    code = e.get("nvml.init")
    count = f", {e.get('nvml.count')} GPU" if e.get("nvml.count") is not None else ""
    return Line("nvml", f"nvmlInit() = {code} ({cuda_tables.NVML_CODES.get(code, '?')}){count}")


def bus_line(e: Evidence) -> Line:
    """Return how many NVIDIA cards the PCI bus shows, and their kernel drivers."""
    cards = e.cards()
    drivers = joined(sorted({str(card.get("driver") or "none") for card in cards}))
    if not cards:
        return Line("bus", "PCI: 0 NVIDIA GPU", "PCI：沒有 NVIDIA GPU")
    return Line(
        "bus",
        f"PCI: {len(cards)} NVIDIA GPU, kernel driver: {drivers}",
        f"PCI：{len(cards)} 張 NVIDIA GPU，驅動程式：{drivers}",
    )


def node_lines(e: Evidence, *errors: str) -> list[Line]:
    """Return a line for each device file of the driver that failed to open with one of `errors` (``"EACCES"``)."""
    return [Line("bus", f"open(/dev/{name}) = {how}") for name, how in e.nodes.items() if how in errors]


def build_line(e: Evidence) -> Line:
    """Return which PyTorch was imported, and for which CUDA it was built."""
    cuda = e.get("pytorch.cuda")
    return Line("pytorch", f"torch {e.get('pytorch.version')}, torch.version.cuda = {cuda!r}")


def library_fact(e: Evidence) -> str:
    """Return from which file libcuda was loaded, or why it was not."""
    if e.library:
        return f"libcuda = {e.get('driver.path')}"
    return e.get("driver.error", "libcuda: not found")
