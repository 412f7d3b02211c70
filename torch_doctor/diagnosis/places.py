"""The properties of a place that ``on`` and ``off`` of a step name: system, distribution, container, notebook and so on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch_doctor.diagnosis.evidence import Evidence
from torch_doctor.diagnosis.releases import build_here, fitting
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


def places_of(e: Evidence) -> frozenset[str]:
    """Return the properties of the place that the evidence `e` describes."""
    found = {{"darwin": "macos"}.get(e.os, e.os)}
    if e.wsl:
        found.add("wsl")
    if e.container:
        found |= {"container", e.container}
        if e.get("bus.rootless"):
            found.add("rootless")
    if e.get("bus.laptop"):
        found.add("laptop")
    if e.os == "linux":
        found |= _linux_places(e)
    for flag in ("colab", "kaggle", "slurm", "jupyterhub"):
        if e.get(f"bus.{flag}"):
            found.add(flag)
    if e.jetson:
        found.add("jetson")
    found.add("notebook" if e.get("caller.notebook") else "terminal")
    if e.get("interpreter.conda"):
        found.add("conda")
    found.add(e.shell)
    if e.get("interpreter.pip") is False:
        found.add("no-pip")
    if e.get("interpreter.managed"):
        found.add("system-python")  # its packages belong to the system's package manager
    if e.get("interpreter.embedded"):
        found.add("embedded")
    if e.torch == "missing":
        found.add("no-torch")
    tool = e.get("interpreter.project.tool")
    if tool:  # its next run installs again what its lock file says
        found.add({"uv": "uvproject"}.get(tool, tool))
    if free_gpu(e) is not None:
        found.add("free-gpu")  # of several GPUs, one has much free memory
    if any(e.hung(probe) and e.get(f"{probe}.seconds", 0) >= 30 for probe in e.found):
        found.add("patient")  # asked with `--patience 6`, and still no answer
    build = fitting(e)
    if e.card_here and build.tag == "cpu":
        found.add("unserved")  # no build with CUDA fits this driver and this GPU
    if build.new_python:
        found.add("new-python")  # the build that fits has no wheel for this Python …
        found |= {"older-wheel"} if build_here(e) else set()  # … but an older one has
    return frozenset(found)


def _root_only(e: Evidence) -> bool:
    """Return whether no group but that of root may read and write the GPUs' device files: there is none to join."""
    rights = [text.split() for text in e.get("bus.node_owners", {}).values()]
    closed = [
        mode[-1:] not in "67" and (group == "0" or mode[-2:-1] not in "67") for mode, _, group in rights
    ]
    return bool(closed) and all(closed)


def _linux_places(e: Evidence) -> set[str]:
    """Return distribution and hardware, what NVIDIA's module needs here, and the tool that switched the card off."""
    cards = [number for number in map(card_number, e.cards()) if number] or [TURING]
    said = e.get("bus.kernel_log", {})
    found = {
        "vm": e.get("bus.vm"),
        "proxmox": "pve" in str(e.get("bus.kernel")),
        "dkms": e.get("bus.dkms"),
        "no-dkms": not e.get("bus.dkms"),
        "forbidden": e.get("bus.forbidden"),
        "source-only": e.get("bus.driver_source") and not e.get("bus.dkms"),
        "gpus-asked": e.environment("NVIDIA_VISIBLE_DEVICES") not in (None, "", "void", "none"),
        "missing-symbol": "missing-symbol" in said,
        "open-only": min(cards) >= BLACKWELL or "needs-open" in said,
        "legacy-only": MAXWELL <= max(cards) < TURING or "needs-closed" in said,
        "kepler": max(cards) < MAXWELL,
    }
    found["no-legacy"] = not found["legacy-only"]
    found["before-blackwell"] = not found["open-only"]
    found["root-only"] = _root_only(e)
    names = {name for name, holds in found.items() if holds}
    return names | {name for name in (e.get("bus.family"), e.get("bus.switched_off")) if name}
