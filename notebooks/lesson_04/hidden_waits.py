"""In which lines of a training step does the host wait for the GPU? Each is run on the lesson's GPU, and answers."""

import contextlib
import html
import io
from typing import Any

import torch

from bilingual import Bilingual, Block, all_of, texts
from course_utils.lesson_gpus import ready
from shared.waiting import Waits

REASONS = texts(__file__)


def names() -> dict[str, Any]:
    """Return what the lines use."""
    (device,) = ready()
    host = torch.randn(1000)
    x = host.to(device)
    gpu = {"x": x, "mask": x > 0, "loss": x.sum(), "other": x.sum() + 1, "device": device}
    return gpu | {"batch": host, "pinned": host.pin_memory(), "log": [], "torch": torch}


def waits(code: str) -> bool:
    """Return whether the host waits in a line of code.

    Args:
        code: The line; it may use :func:`names`.
    """
    there, line = names(), compile(code, "<line>", "exec")
    with contextlib.redirect_stdout(io.StringIO()):
        exec(line, there)  # what a first use loads may wait
        with Waits() as found:
            exec(line, there)
    return bool(found.lines)


def answers() -> Block:
    """Return all lines; each opens, and says whether the host waits in it, and why."""
    said = {
        True: Bilingual("**The host waits.**", "**主機會等。**"),
        False: Bilingual("**The host does not wait.**", "**主機不用等。**"),
    }
    pages, plain = [], []
    for code, why in REASONS.items():
        verdict = said[waits(code)]
        text = all_of(verdict, why)
        pages.append(f"<details><summary><code>{html.escape(code)}</code></summary>{text.block()}</details>")
        plain.append(f"{code}: {text}")
    return Block("".join(pages), "\n".join(plain))
