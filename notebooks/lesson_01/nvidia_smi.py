"""The output of ``nvidia-smi``: this machine's, else a recorded one, else a published example."""

import html
import subprocess

from bilingual import Bilingual, Block, measured
from course_utils import recordings, run_mode

# The first of four GPUs of a server, published by its user in June 2026 (README, section Diagnostics). The rows of the
# other three GPUs are left out, in both boxes.
PUBLISHED_SMI = """\
+---------------------------------------------------------------------------------------+
| NVIDIA-SMI 535.274.02             Driver Version: 535.274.02   CUDA Version: 12.2     |
|-----------------------------------------+----------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |         Memory-Usage | GPU-Util  Compute M. |
|                                         |                      |               MIG M. |
|=========================================+======================+======================|
|   0  NVIDIA A100-SXM-64GB           On  | 00000000:1D:00.0 Off |                    0 |
| N/A   44C    P0              76W / 467W |  33254MiB / 65536MiB |      0%      Default |
|                                         |                      |             Disabled |
+-----------------------------------------+----------------------+----------------------+"""
PUBLISHED_PROCESSES = """\
+---------------------------------------------------------------------------------------+
| Processes:                                                                            |
|  GPU   GI   CI        PID   Type   Process name                            GPU Memory |
|        ID   ID                                                             Usage      |
|=======================================================================================|
|    0   N/A  N/A    255872      C   ...pcx-cuda-booster-test/dist_matmul.x    33246MiB |
+---------------------------------------------------------------------------------------+"""
_PUBLISHED_BY = "github.com/formidablefrank/nvhpc-hpcx-cuda-booster-test"


def without_processes(text: str) -> str:
    """Return the output of ``nvidia-smi`` without its second box, the list of processes."""
    lines = text.splitlines()
    titles = [number for number, line in enumerate(lines) if line.lstrip("| ").startswith("Processes:")]
    # The line above the title is the upper edge of the second box; the first box has its own lower edge.
    return "\n".join(lines[: titles[0] - 1] if titles else lines).rstrip()


def console(text: str, source: Bilingual) -> Block:
    """Return terminal output as it is, with a line that says where it comes from; both may differ between machines."""
    page = f'<pre class="course-console measured">{html.escape(text)}</pre>'
    caption = Bilingual(measured(source.en), measured(source.zh))
    return Block(f'{page}<p class="course-small">{caption.html()}</p>', measured(text))


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
        # A recording has no list of processes; the published one shows what the lesson explains.
        return console(
            f"{recorded['text']}\n\n{PUBLISHED_PROCESSES}",
            Bilingual(
                f"Not your machine: recorded on {recorded['run']}; the list of processes is a published example "
                f"({_PUBLISHED_BY}).",
                f"這不是你的機器。上半部是參考紀錄（{recorded['run']}），行程清單則是公開的範例（{_PUBLISHED_BY}）。",
            ),
        )
    return console(
        f"{PUBLISHED_SMI}\n\n{PUBLISHED_PROCESSES}",
        Bilingual(
            f"Not your machine: a published example, the first of four GPUs, June 2026 ({_PUBLISHED_BY}).",
            f"這不是你的機器，而是 2026 年 6 月的公開範例，取自四張 GPU 裡的第一張（{_PUBLISHED_BY}）。",
        ),
    )
