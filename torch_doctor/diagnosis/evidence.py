"""The evidence: what the probes found, as plain data, and the questions that many rules ask."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from torch_doctor.data import screen

PROBES = screen("report", "probe")  # in the order of a report
_FACTS = screen("evidence", "fact")


@dataclass(frozen=True)
class Line:
    """One piece of evidence: a probe and what it found.

    A fact that is code is the same in both languages. One that is said in words has its Chinese in `zh`.
    """

    probe: str
    fact: str
    zh: str = ""

    def said(self, language: str) -> str:
        """Return the fact in ``"en"`` or ``"zh"``."""
        return self.zh or self.fact if language == "zh" else self.fact


class _Filled(string.Formatter):
    """Fills in what stands in braces: one of the values that are given, or what the probes found there."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, str]:
        found = args[0].get(field_name) if "." in field_name else getattr(args[0], field_name, None)
        return kwargs.get(field_name, found), field_name


class Evidence:
    """What all probes found: ``{"driver": {"ended": "answered", "seconds": 0.2, "cuInit": 100, …}, …}``."""

    def __init__(self, found: Mapping[str, Mapping[str, Any]]) -> None:
        self.found = found

    def get(self, path: str, default: Any = None) -> Any:
        """Return the value at `path` (``"driver.cuInit"``), or `default` if no probe reported it."""
        probe, _, key = path.partition(".")
        value: Any = self.found.get(probe, {})
        for part in key.split(".") if key else ():
            value = value.get(part) if isinstance(value, Mapping) else None
        return default if value is None else value

    def line(self, what: str, **values: object) -> Line:
        """Return one piece of evidence.

        Args:
            what: The probe and a fact that is code (``"bus: kernel {bus.kernel}"``), or the probe and the name of a fact
                in ``screen/evidence.toml`` (``"bus.no-dxg"``). What stands in braces is what the probes found there, or
                one of `values`.
            values: What the evidence does not have as it is said. A :class:`Bilingual` is said in the same language.
        """
        probe, code, fact = what.partition(": ")
        if code:
            return Line(probe, _Filled().vformat(fact, [self], values))
        probe, _, name = what.partition(".")
        said = []
        for side in ("en", "zh"):
            here = {key: getattr(value, side, value) for key, value in values.items()}
            said.append(_Filled().vformat(getattr(_FACTS[name], side), [self], here))
        return Line(probe, *said)

    def ended(self, probe: str) -> str:
        """Return how `probe` ended.

        Returns:
            ``"answered"``, ``"slow"`` (killed at its time limit), ``"stuck"`` (could not even be killed), ``"failed"`` or
            ``"absent"`` (not started, or no such program).
        """
        return self.get(f"{probe}.ended", "absent")

    def hung(self, probe: str) -> bool:
        """Return whether `probe` reached its time limit."""
        return self.ended(probe) in ("slow", "stuck")

    # --- the machine ----------------------------------------------------------------------------------

    @property
    def os(self) -> str:
        """``"linux"``, ``"windows"`` or ``"darwin"``."""
        return self.get("bus.os", "linux")

    @property
    def shell(self) -> str:
        """Which kind of shell runs what is typed here: ``"posix"``, ``"powershell"`` or ``"cmd"``."""
        return "posix" if self.os != "windows" else self.get("interpreter.shell") or "powershell"

    @property
    def wsl(self) -> int:
        """1 or 2 inside the Windows Subsystem for Linux, else 0."""
        return self.get("bus.wsl", 0)

    @property
    def container(self) -> str:
        """``"docker"``, ``"apptainer"``, ``"kubernetes"`` … inside a container, else ``""``."""
        return self.get("bus.container", "")

    @property
    def jetson(self) -> bool:
        """Whether this is an NVIDIA Jetson, whose GPU is not on the PCI bus."""
        return bool(self.get("bus.jetson", False))

    def environment(self, name: str) -> str | None:
        """Return the variable `name` as the probes saw it, or None where it is not set."""
        return self.get("interpreter.environment", {}).get(name)

    def cards(self, vendor: str = "0x10de") -> list[dict[str, Any]]:
        """Return the graphics cards of `vendor` (NVIDIA's, if none is named) on the PCI bus."""
        return [card for card in self.get("bus.cards", []) if card.get("vendor") == vendor]

    @property
    def nodes(self) -> dict[str, str]:
        """The driver's files in /dev: name → ``"ok"`` or why it could not be opened (``"EACCES"`` …)."""
        return self.get("bus.nodes", {})

    @property
    def gpu_nodes(self) -> list[str]:
        """The names in :attr:`nodes` that belong to one GPU each: ``["nvidia0", "nvidia1"]``."""
        return [name for name in self.nodes if re.fullmatch(r"nvidia\d+", name)]

    # --- the driver -----------------------------------------------------------------------------------

    @property
    def module_built(self) -> bool:
        """Whether the driver's module is built for the running Linux kernel."""
        return self.get("bus.kernel") in self.get("bus.module_files", [])

    @property
    def library(self) -> bool | None:
        """Whether the driver's library could be loaded; None if that is not known."""
        return self.get("driver.loaded")

    @property
    def cuinit(self) -> int | None:
        """What cuInit returned with all GPUs visible (0: success), or None."""
        return self.get("unmasked.cuInit", self.get("driver.cuInit"))

    @property
    def devices(self) -> int:
        """How many GPUs the driver counts without CUDA_VISIBLE_DEVICES."""
        return self.get("unmasked.count", self.get("driver.count", 0))

    @property
    def visible(self) -> int:
        """How many GPUs the driver counts with CUDA_VISIBLE_DEVICES as it is."""
        return self.get("driver.count", 0)

    @property
    def driver_cuda(self) -> int | None:
        """The newest CUDA release the driver serves (12080 is 12.8), or None."""
        return self.get("driver.version") or self.get("unmasked.version")

    @property
    def smi_text(self) -> str:
        """Everything ``nvidia-smi -L`` wrote."""
        return self.get("smi.text", "")

    @property
    def card_here(self) -> bool:
        """Whether any evidence indicates an NVIDIA GPU in this machine."""
        return bool(
            self.cards()
            or self.gpu_nodes
            or self.devices
            or self.get("nvml.count", 0)
            or self.get("smi.gpus", 0)
            or self.jetson
            or (self.wsl == 2 and self.get("bus.dxg") and self.library)
        )

    # --- PyTorch --------------------------------------------------------------------------------------

    @property
    def other_environment(self) -> dict[str, Any]:
        """The environment beside this one that has torch, best one with CUDA, or an empty dictionary."""
        others = [other for other in self.get("interpreter.others", []) if other.get("torch")]
        return next((other for other in others if other.get("cuda")), next(iter(others), {}))

    @property
    def torch(self) -> str:
        """``"missing"``, ``"broken"`` (the import failed), ``"slow"`` (it did not end), or ``"imported"``."""
        if self.get("pytorch.imported"):
            return "imported"
        if self.get("pytorch.error"):
            return "missing" if self.get("pytorch.missing") else "broken"
        if self.hung("pytorch"):
            return "slow"
        return "broken" if self.ended("pytorch") == "failed" else "unknown"

    @property
    def build(self) -> str:
        """What torch was built for: ``"cuda"``, ``"hip"``, ``"xpu"``, ``"cpu"``, or ``""`` where it is not known."""
        if self.torch != "imported":
            return ""
        return next((kind for kind in ("hip", "cuda", "xpu") if self.get(f"pytorch.{kind}")), "cpu")

    @property
    def import_error(self) -> str:
        """The text of the error that ``import torch`` raised."""
        return "" if self.get("pytorch.imported") else self.get("pytorch.error", "")

    @property
    def complaints(self) -> str:
        """Everything that torch printed about CUDA: warnings, the error of its initialization, errors of the small job."""
        errors = [self.get(path) for path in ("usable.error", "usable.cudnn_error")]
        parts = [self.get("pytorch.init_error"), *(gpu.get("error") for gpu in self.tried), *errors]
        return "\n".join(str(part) for part in (*self.get("pytorch.warnings", []), *parts) if part)

    @property
    def tried(self) -> list[dict[str, Any]]:
        """The results of the small job, one per GPU."""
        return list(self.get("usable.devices", {}).values())

    @cached_property
    def works(self) -> int:
        """The number of GPUs if torch computed the right result on all that it sees, otherwise 0."""
        count = self.get("pytorch.count", 0)
        tried = self.tried
        if not self.get("pytorch.available") or not count or len(tried) != count:
            return 0
        return count if all(gpu.get("right") for gpu in tried) and not self.get("usable.cudnn_error") else 0

    @property
    def capability(self) -> int | None:
        """The lowest compute capability (times ten) of the GPUs, or None."""
        gpus = [*self.get("unmasked.devices", self.get("driver.devices", [])), *self.tried]
        return min((int(gpu["capability"]) for gpu in gpus if gpu.get("capability")), default=None)


def no_answer(e: Evidence, probe: str) -> Line:
    """Return that `probe` was stopped at its time limit."""
    return e.line(f"{probe}.no-answer", seconds=e.get(f"{probe}.seconds"))


def mentions(text: str, *patterns: str) -> str:
    """Return the first line of `text` that one of the `patterns` matches, or ``""``."""
    for pattern in patterns:
        found = re.search(rf"[^\n]*(?:{pattern})[^\n]*", text)
        if found:
            return found[0].strip()[:200]
    return ""


def numbers(version: object) -> list[int]:
    """Return the numbers in a version: ``"535.129.03"`` → ``[535, 129, 3]``."""
    return [int(number) for number in re.findall(r"\d+", str(version))]


def joined(names: Iterable[object]) -> str:
    """Return `names` with commas between them."""
    return ", ".join(map(str, names))
