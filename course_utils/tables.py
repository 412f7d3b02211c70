"""Small tables and console texts: facts of this machine, error messages, recorded terminal output."""

from __future__ import annotations

import html
import subprocess

from course_utils import evidence
from course_utils.language import Bilingual, Block, measured


def facts(rows: dict[str, object]) -> Block:
    """Show expressions and what they are on this machine, as a table.

    Args:
        rows: The expression as a learner would type it → its value. Values may differ between machines; the
            expressions may not.

    Returns:
        What a notebook shows as a table, and a terminal as lines.
    """
    lines = "".join(
        f'<tr><td><code>{html.escape(code)}</code></td><td><span class="measured">{html.escape(str(value))}</span></td></tr>'
        for code, value in rows.items()
    )
    return Block(
        f'<div class="course-scroll"><table class="course-table">{lines}</table></div>',
        "\n".join(f"{code} = {measured(value)}" for code, value in rows.items()),
    )


def console(text: str, caption: Bilingual, *, varies: bool = True) -> Block:
    """Show terminal output as it is, with a line that says where it comes from.

    Args:
        text: The output.
        caption: Whose output it is.
        varies: Whether it may differ between machines or runs.
    """
    kind = ' class="course-console measured"' if varies else ' class="course-console"'
    source = Bilingual(measured(caption.en), measured(caption.zh)) if varies else caption
    return Block(
        f"<pre{kind}>{html.escape(text)}</pre><p>{source.html()}</p>",
        measured(text) if varies else text,
    )


_NO_ERROR = Bilingual("no error on this machine", "這台機器沒有出錯")


def message(error: BaseException | None) -> Block:
    """Show an error that was really raised: its type and its text, without the traceback.

    The text may differ between machines and releases of PyTorch. None stands for a machine on which the same line
    raises nothing.
    """
    text = f"{type(error).__name__}: {error}" if error else str(_NO_ERROR)
    return Block(
        f'<div class="course-card course-error"><pre class="course-console measured">{html.escape(text)}</pre></div>',
        measured(text),
    )


# One GPU of an eight-GPU server, as its user published it in May 2024.
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
    """Return what ``nvidia-smi`` printed without its second box, the list of processes."""
    lines = text.splitlines()
    ends = [number for number, line in enumerate(lines) if line.lstrip("| ").startswith("Processes:")]
    # The line above the list's title is its upper edge; the box before it is closed by its own edge.
    return "\n".join(lines[: ends[0] - 1] if ends else lines).rstrip()


def nvidia_smi() -> Block:
    """Show what ``nvidia-smi`` prints: this machine's, else the recorded GPU's, else a published example."""
    try:
        asked = subprocess.run(["nvidia-smi"], capture_output=True, text=True, timeout=20)
        if asked.returncode == 0:
            # On a shared server the list of processes names other people's work: it is shown, but never recorded.
            evidence.note("curve", "nvidia-smi", {"text": without_processes(asked.stdout)})
            return console(asked.stdout, Bilingual("This machine, just now.", "這台機器剛才的輸出。"))
    except (OSError, subprocess.TimeoutExpired):
        pass  # not installed, or the driver does not answer: an example it is
    recorded = evidence.recorded("nvidia-smi")
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
