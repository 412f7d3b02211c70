"""The properties of a place that ``on`` and ``off`` of a step name: system, distribution, container, notebook and so on."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from torch_doctor.diagnosis.evidence import Evidence
from torch_doctor.diagnosis.releases import build_here, fitting
from torch_doctor.diagnosis.rules import hang
from torch_doctor.diagnosis.rules.base import free_gpu

# PCI numbers of the first card with a GSP (TU102; GTX 16 and RTX 20) and of the first Blackwell. Older cards than the first
# have no open modules and no driver since 590, Blackwell has only open modules. (NVIDIA's README, "Supported NVIDIA GPU
# products" and "Open Linux kernel modules".) No driver since 495 serves what is older than the first Maxwell (GM108).
MAXWELL, TURING, BLACKWELL = 0x1340, 0x1E00, 0x2900


def card_number(card: Mapping[str, Any]) -> int:
    """Return a card's PCI number, or 0 if it is not known."""
    try:
        return int(str(card.get("device")), 16)
    except ValueError:
        return 0


@lru_cache(maxsize=4)  # each cause of a report asks for them
def places_of(e: Evidence) -> frozenset[str]:
    """Return the properties of the place that the evidence `e` describes."""
    build, notebook = fitting(e), e.get("caller.notebook")
    found = {
        "wsl": e.wsl,
        "container": e.container,
        "rootless": e.container and e.get("bus.rootless"),
        "jetson": e.jetson,
        "thor": e.jetson and ("thor" in str(e.get("bus.jetson")).lower() or e.capability in (101, 110)),
        "notebook": notebook,
        "terminal": not notebook,
        "conda": e.get("interpreter.conda"),
        "no-pip": e.get("interpreter.pip") is False,
        "system-python": e.get("interpreter.managed"),  # its packages belong to the system's package manager
        "no-torch": e.torch == "missing",
        "nameless": str(e.get("job.resolves")).startswith("not found"),
        "nccl-file": hang.in_nccl_file(e, hang.wrong_interface(e)),
        "free-gpu": free_gpu(e) is not None,  # of several GPUs, one has much free memory
        # asked with `--patience 6`, and still no answer
        "patient": any(e.hung(probe) and e.get(f"{probe}.seconds", 0) >= 30 for probe in e.found),
        "unserved": e.card_here and build.tag == "cpu",  # no build with CUDA fits this driver and this GPU
        "new-python": build.new_python,  # the build that fits has no wheel for this Python …
        "older-wheel": build.new_python and build_here(e),  # … but an older one has
        **{flag: e.get(f"bus.{flag}") for flag in ("colab", "kaggle", "slurm", "jupyterhub", "laptop")},
    }
    tool = e.get("interpreter.project.tool")  # its next run installs again what its lock file says
    system = "macos" if e.os == "darwin" else e.os
    names = [system, e.shell, e.container, "uvproject" if tool == "uv" else tool]
    if e.os == "linux":
        found |= _linux_places(e)
        names += [e.get("bus.family"), e.get("bus.switched_off")]
    return frozenset([name for name, holds in found.items() if holds] + [name for name in names if name])


def _root_only(e: Evidence) -> bool:
    """Return whether no group but that of root may read and write the GPUs' device files: there is none to join."""
    rights = [text.split() for text in e.get("bus.node_owners", {}).values()]
    others = any(mode[-1:] in "67" for mode, _, _ in rights)
    groups = any(mode[-2:-1] in "67" for mode, _, group in rights if group != "0")
    return bool(rights) and not others and not groups


def _linux_places(e: Evidence) -> dict[str, object]:
    """Return of what kind the machine is, and what NVIDIA's module needs here."""
    cards = [number for number in map(card_number, e.cards()) if number] or [TURING]
    said = e.get("bus.kernel_log", {})
    open_only = min(cards) >= BLACKWELL or "needs-open" in said
    legacy_only = MAXWELL <= max(cards) < TURING or "needs-closed" in said
    return {
        "proxmox": "pve" in str(e.get("bus.kernel")),
        "no-dkms": not e.get("bus.dkms"),
        "other-kernel": e.get("bus.module_files"),
        "source-only": e.get("bus.driver_source") and not e.get("bus.dkms"),
        "gpus-asked": e.environment("NVIDIA_VISIBLE_DEVICES") not in (None, "", "void", "none"),
        "missing-symbol": "missing-symbol" in said,
        "open-only": open_only,
        "before-blackwell": not open_only,
        "legacy-only": legacy_only,
        "no-legacy": not legacy_only,
        "kepler": max(cards) < MAXWELL,
        "root-only": _root_only(e),
        **{flag: e.get(f"bus.{flag}") for flag in ("vm", "dkms", "forbidden")},
    }
