"""The pieces of evidence that several rules show."""

from __future__ import annotations

from torch_doctor.data import screen
from torch_doctor.diagnosis import cuda_tables
from torch_doctor.diagnosis.evidence import Evidence, Line, joined


def cuinit_line(e: Evidence) -> Line:
    """Return whether CUDA starts, and what cuInit returned."""
    code = e.cuinit
    probe = "unmasked" if e.get("unmasked.cuInit") is not None else "driver"
    if code is None:
        return Line(probe, "CUDA was not started", "沒有嘗試啟動 CUDA")
    english, chinese = {
        0: ("CUDA starts", "CUDA 可以啟動"),
        100: ("CUDA finds no GPU", "CUDA 找不到 GPU"),
    }.get(code, ("CUDA does not start", "CUDA 無法啟動"))
    call = f"cuInit() = {code}"
    meaning = cuda_tables.CUDA_CODES.get(code, "not in the table of errors")
    return Line(probe, f"{english}: {call} ({meaning})", f"{chinese}：{call}（{meaning}）")


def nvml_line(e: Evidence) -> Line:
    """Return what NVML answers: how many GPUs there are, or why it does not start."""
    code = e.get("nvml.init")
    if code is None:
        return Line("nvml", "does not answer", "沒有回應")
    call = f"nvmlInit() = {code}"
    if code:
        meaning = cuda_tables.NVML_CODES.get(code, "not in the table of errors")
        return Line("nvml", f"does not start: {call} ({meaning})", f"無法啟動：{call}（{meaning}）")
    count = e.get("nvml.count")
    if count is None:
        return Line("nvml", f"starts: {call}", f"可以啟動：{call}")
    return Line("nvml", f"{count} GPU ({call})", f"{count} 張 GPU（{call}）")


def bus_line(e: Evidence) -> Line:
    """Return how many NVIDIA cards the PCI bus shows, and their kernel drivers."""
    cards = e.cards()
    if not cards:
        return Line("bus", "no NVIDIA card in the list of devices", "裝置清單裡沒有 NVIDIA 顯示卡")
    drivers = joined(sorted({str(card["driver"]) for card in cards if card.get("driver")}))
    english, chinese = (f"driver in use: {drivers}", f"使用的驅動程式：{drivers}") if drivers else (
        "no driver in use", "沒有使用任何驅動程式")  # fmt: skip
    count = f"{len(cards)} NVIDIA card{'s' if len(cards) > 1 else ''}"
    return Line("bus", f"{count}, {english}", f"{len(cards)} 張 NVIDIA 顯示卡，{chinese}")


_OPENED = screen("evidence", "opened")


def node_line(name: str, how: str) -> Line:
    """Return how opening the device file `name` ended: ``/dev/nvidia0: no permission (EACCES)``."""
    said = _OPENED.get(how, _OPENED["other"])
    return Line("bus", f"/dev/{name}: {said.en} ({how})", f"/dev/{name}：{said.zh}（{how}）")


def node_lines(e: Evidence, *errors: str) -> list[Line]:
    """Return a line for each device file of the driver that failed to open with one of `errors` (``"EACCES"``)."""
    return [node_line(name, how) for name, how in e.nodes.items() if how in errors]


def build_line(e: Evidence) -> Line:
    """Return which PyTorch was imported, and for what it was built."""
    torch, cuda, hip = f"torch {e.get('pytorch.version')}", e.get("pytorch.cuda"), e.get("pytorch.hip")
    if cuda or hip:
        built = f"CUDA {cuda}" if cuda else f"ROCm {hip}"
        return Line("pytorch", f"{torch}, built for {built}", f"{torch}，用 {built} 編譯")
    return Line("pytorch", f"{torch}, built without CUDA (torch.version.cuda = None)",
                f"{torch}，不含 CUDA（torch.version.cuda = None）")  # fmt: skip


def library_fact(e: Evidence) -> str:
    """Return from which file libcuda was loaded, or why it was not."""
    if e.library:
        return f"libcuda = {e.get('driver.path') or '?'}"
    return e.get("driver.error", "libcuda: not found")
