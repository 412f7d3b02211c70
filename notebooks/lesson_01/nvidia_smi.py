"""The output of ``nvidia-smi``: this machine's, else a recorded one, else a published example."""

from __future__ import annotations

import subprocess

from course_utils import recordings, run_mode
from course_utils.tables import console
from torch_doctor.bilingual import Bilingual, Block

# One GPU of an eight-GPU server, published by its user in May 2024.
PUBLISHED_SMI = """\
+---------------------------------------------------------------------------------------+
| NVIDIA-SMI 535.129.03             Driver Version: 535.129.03   CUDA Version: 12.2     |
|-----------------------------------------+----------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |         Memory-Usage | GPU-Util  Compute M. |
|                                         |                      |               MIG M. |
|=========================================+======================+======================|
|   0  NVIDIA H100 80GB HBM3          On  | 00000000:04:00.0 Off |                    0 |
| N/A   36C    P0             113W / 700W |  72459MiB / 81559MiB |      0%      Default |
|                                         |                      |             Disabled |
+-----------------------------------------+----------------------+----------------------+"""
_PUBLISHED_BY = "github.com/google/gvisor/issues/10413"


def without_processes(text: str) -> str:
    """Return the output of ``nvidia-smi`` without its second box, the list of processes."""
    lines = text.splitlines()
    titles = [number for number, line in enumerate(lines) if line.lstrip("| ").startswith("Processes:")]
    # The line above the title is the upper edge of the second box; the first box has its own lower edge.
    return "\n".join(lines[: titles[0] - 1] if titles else lines).rstrip()


def nvidia_smi() -> Block:
    """Show what ``nvidia-smi`` prints: this machine's, else the recorded GPU's, else a published example."""
    try:
        result = subprocess.run(["nvidia-smi"], capture_output=True, text=True, timeout=20)
        if result.returncode == 0:
            # On a shared server the list of processes shows other people's jobs: displayed here, but never recorded.
            run_mode.note("curve", "nvidia-smi", {"text": without_processes(result.stdout)})
            return console(result.stdout, Bilingual("This machine, just now.", "這台機器剛才的輸出。"))
    except (OSError, subprocess.TimeoutExpired):
        pass  # not installed, or the driver does not answer
    recorded = recordings.recorded("nvidia-smi")
    if recorded is not None:
        return console(
            recorded["text"], Bilingual(f"Recorded on {recorded['run']}.", f"錄自 {recorded['run']}。")
        )
    return console(
        PUBLISHED_SMI,
        Bilingual(
            f"Not your machine: a published example, the first of eight GPUs, May 2024 ({_PUBLISHED_BY}). "
            "The course has no recording of its own yet.",
            f"這不是你的機器，是公開的範例：2024 年 5 月，八張 GPU 裡的第一張（{_PUBLISHED_BY}）。本課程目前還沒有自己的紀錄。",
        ),
    )
