"""The pieces of evidence that several rules show."""

from __future__ import annotations

from torch_doctor.data import screen
from torch_doctor.diagnosis import cuda_tables
from torch_doctor.diagnosis.evidence import Evidence, Line, joined


def cuinit_line(e: Evidence) -> Line:
    """Return whether CUDA starts, and what cuInit returned."""
    if e.cuinit is None:
        return e.line("driver.cuda-not-started")
    probe = "unmasked" if e.get("unmasked.cuInit") is not None else "driver"
    name = {0: "cuda-starts", 100: "cuda-finds-no-gpu"}.get(e.cuinit, "cuda-fails")
    meaning = cuda_tables.CUDA_CODES.get(e.cuinit, "not in the table of errors")
    return e.line(f"{probe}.{name}", code=e.cuinit, meaning=meaning)


def nvml_line(e: Evidence) -> Line:
    """Return what NVML answers: how many GPUs there are, or why it does not start."""
    code = e.get("nvml.init")
    if code:
        meaning = cuda_tables.NVML_CODES.get(code, "not in the table of errors")
        return e.line("nvml.nvml-fails", meaning=meaning)
    if code is None:
        return e.line("nvml.nvml-silent")
    return e.line("nvml.nvml-starts" if e.get("nvml.count") is None else "nvml.nvml-counts")


def bus_line(e: Evidence) -> Line:
    """Return how many NVIDIA cards the PCI bus shows, and their kernel drivers."""
    count = len(e.cards())
    drivers = joined(sorted({str(card["driver"]) for card in e.cards() if card.get("driver")}))
    name = "no-card" if not count else "cards-held" if drivers else "cards-free"
    return e.line(f"bus.{name}", count=count, s="s" if count > 1 else "", drivers=drivers)


_OPENED = screen("evidence", "opened")


def node_line(e: Evidence, name: str, how: str) -> Line:
    """Return how opening the device file `name` ended: ``/dev/nvidia0: no permission (EACCES)``."""
    return e.line("bus.node", name=name, how=how, said=_OPENED.get(how, _OPENED["other"]))


def node_lines(e: Evidence, *errors: str) -> list[Line]:
    """Return a line for each device file of the driver that failed to open with one of `errors` (``"EACCES"``)."""
    return [node_line(e, name, how) for name, how in e.nodes.items() if how in errors]


def build_line(e: Evidence) -> Line:
    """Return which PyTorch was imported, and for what it was built."""
    kind = next((kind for kind in ("cuda", "hip") if e.get(f"pytorch.{kind}")), "cpu")
    return e.line(f"pytorch.build-{kind}")


def library_line(e: Evidence) -> Line:
    """Return from which file libcuda was loaded, or why it was not."""
    if e.library:
        return Line("driver", f"libcuda = {e.get('driver.path') or '?'}")
    return Line("driver", e.get("driver.error", "libcuda: not found"))
