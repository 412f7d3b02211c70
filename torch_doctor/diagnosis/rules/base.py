"""What all rules share: how they are registered, and the questions that several of them ask.

A rule returns None, or how sure it is and the evidence for it (see :func:`lines`)::

    (SURE, [cuinit_line, "bus.fabric-manager", "bus: kernel {bus.kernel}"])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Optional

from torch_doctor.diagnosis.evidence import Evidence, Line, mentions

SURE, LIKELY, POSSIBLE = 3, 2, 1

# What `lspci -nnk -d 10de:` says, where it is not installed: the NVIDIA cards and their kernel drivers.
LIST_CARDS = "grep -H . $(grep -l 0x10de /sys/bus/pci/devices/*/vendor | sed s/vendor/uevent/)"

RuleResult = Optional["tuple[int, Any]"]
Rule = Callable[[Evidence], RuleResult]


def rule(table: dict[str, Rule], cause: str) -> Callable[[Rule], Rule]:
    """Register the decorated function in `table` as the rule for `cause`."""

    def register(function: Rule) -> Rule:
        table[cause] = function
        return function

    return register


def when(
    condition: Callable[[Evidence], object],
    certainty: int,
    *shown: Any,
    sure: Callable[[Evidence], object] = lambda e: False,
) -> Rule:
    """Return the rule of a cause that shows `shown` where `condition` is true of the evidence.

    It is as certain as `certainty` says, and sure where `sure` is true of the evidence, too.
    """
    return lambda e: (SURE if sure(e) else certainty, shown) if condition(e) else None


def said(sure: int, probe: str, text: Callable[[Evidence], str], *patterns: str) -> Rule:
    """Return the rule of a cause that a message proves, which it shows: the first line with one of the `patterns`."""
    return lambda e: (sure, Line(probe, line)) if (line := mentions(text(e), *patterns)) else None


def lines(e: Evidence, shown: Any) -> Iterator[Line]:
    """Yield the lines of what a rule shows; what is empty is left out.

    Args:
        e: The evidence.
        shown: A line, the text of one (see :meth:`Evidence.line`), a function of the evidence that returns any of this,
            or several of these.
    """
    while callable(shown):
        shown = shown(e)
    if isinstance(shown, Line):
        yield shown
    elif isinstance(shown, str) and shown:
        yield e.line(shown)
    else:
        for one in shown or ():
            yield from lines(e, one)


# --- questions that several rules ask -----------------------------------------------------------------


def failing(e: Evidence) -> bool:
    """Return whether the driver's library was loaded, but cuInit fails or finds no GPU."""
    return e.cuinit not in (0, None) or (e.cuinit == 0 and e.devices == 0)


def nothing_here(e: Evidence) -> bool:
    """Return whether the driver, NVML and the device files all show no GPU for this process."""
    return not (e.gpu_nodes or e.devices or e.get("nvml.count", 0) or e.get("bus.dxg") or e.jetson)


def explained(e: Evidence, *rules: Rule) -> bool:
    """Return whether one of `rules` is at least likely."""
    return any((found := rule(e)) and found[0] >= LIKELY for rule in rules)


# --- pieces of commands and texts ---------------------------------------------------------------------


def values(e: Evidence) -> dict[str, object]:
    """Return the values of the ``{placeholders}`` in the texts about the driver's library and about GPUs."""
    capability = e.capability
    hides = hiding_programs(e)
    holders = [str(card.get("driver") or "") for card in e.cards()]
    waited = [e.get(f"{one}.seconds", 0) for one in ("driver", "nvml", "smi", "usable") if e.hung(one)]
    return {
        "capability": f"{capability // 10}.{capability % 10}" if capability else "?",
        "driver_source": e.get("bus.driver_source") or "?",
        "built_for": (e.get("bus.module_files") or ["?"])[-1],
        "free_driver": next((name for name in holders if name not in ("", "nvidia")), "nouveau"),
        "list_cards": LIST_CARDS if e.get("bus.lspci") is False else "lspci -nnk -d 10de:",
        "cuinit": e.cuinit if e.cuinit is not None else "?",
        "distro": e.environment("WSL_DISTRO_NAME") or "Ubuntu",
        "hides": place_of(hides[0]) if hides else "?",
        "hides_value": hides[0]["value"] if hides else "?",
        "free_gpu": free_gpu(e) or 0,
        "library_folder": next(iter(e.get("driver.found_in", [])), "/usr/lib/wsl/lib"),
        "library_file": e.get("driver.path") or "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
        "patience_seconds": max(waited, default="?"),
    }


def free_gpu(e: Evidence) -> int | None:
    """Return the number of the GPU with the most free memory, if less than half of it is taken and there are others."""
    gpus = [gpu for gpu in e.get("nvml.devices", []) if gpu.get("memory") and "used" in gpu]
    best = min(gpus, key=lambda gpu: gpu["used"] / gpu["memory"], default=None)
    return best["index"] if best and len(gpus) > 1 and best["used"] < best["memory"] / 2 else None


def place_of(line: dict[str, Any]) -> str:
    """Return where a line is: ``"train.py:3"``; a notebook has no lines that its reader could count."""
    return line["file"] if line["file"].endswith(".ipynb") else f"{line['file']}:{line['line']}"


def hiding_programs(e: Evidence) -> list[dict[str, Any]]:
    """Return the lines in files of the current folder that set CUDA_VISIBLE_DEVICES so that no GPU is left here.

    CUDA ignores everything from the first number on that does not exist; names (``GPU-…``, ``MIG-…``) are not judged.
    """

    def hides(value: str) -> bool:
        first = value.split(",")[0].strip()
        return first in ("", "-1") or (first.isdigit() and int(first) >= e.devices)

    return [line for line in e.get("pytorch.hides", []) if hides(str(line.get("value", "?")))]
