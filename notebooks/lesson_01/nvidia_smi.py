"""The output of ``nvidia-smi``: this machine's, else a recorded one, else a published example."""

import html
import subprocess

from bilingual import Bilingual, Block, measured, measured_both, texts
from course_utils import recordings, run_mode

_TEXTS = texts(__file__)
PUBLISHED_SMI, PUBLISHED_PROCESSES, _PUBLISHED_BY = (
    _TEXTS["example"][part] for part in ("smi", "processes", "by")
)


def without_processes(text: str) -> str:
    """Return the output of ``nvidia-smi`` without its second box, the list of processes."""
    lines = text.splitlines()
    titles = [number for number, line in enumerate(lines) if line.lstrip("| ").startswith("Processes:")]
    # The line above the title is the upper edge of the second box; the first box has its own lower edge.
    return "\n".join(lines[: titles[0] - 1] if titles else lines).rstrip()


def console(text: str, source: Bilingual) -> Block:
    """Return terminal output as it is, with a line that says where it comes from; both may differ between machines."""
    page = f'<pre class="course-console measured">{html.escape(text)}</pre>'
    return Block(f'{page}<p class="course-small">{measured_both(source).html()}</p>', measured(text))


def nvidia_smi() -> Block:
    """Show what ``nvidia-smi`` prints: this machine's, else the recorded GPU's, else a published example."""
    try:
        result = subprocess.run(["nvidia-smi"], capture_output=True, text=True, timeout=20)
        if result.returncode == 0:
            # On a shared server the list of processes shows other people's jobs: displayed here, but never recorded.
            run_mode.note("curve", "nvidia-smi", {"text": without_processes(result.stdout)})
            return console(result.stdout, _TEXTS["here"])
    except (OSError, subprocess.TimeoutExpired):
        pass  # not installed, or the driver does not answer
    recorded = recordings.recorded("nvidia-smi")
    if recorded is not None:
        # A recording has no list of processes; the published one shows what the lesson explains.
        source = _TEXTS["recorded"].format(run=recorded["run"], by=_PUBLISHED_BY)
        return console(f"{recorded['text']}\n\n{PUBLISHED_PROCESSES}", source)
    example = f"{PUBLISHED_SMI}\n\n{PUBLISHED_PROCESSES}"
    return console(example, _TEXTS["published"].format(by=_PUBLISHED_BY))
