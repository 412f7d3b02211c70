"""Front ends without JupyterLab's page: Colab and Kaggle lend GPUs, VS Code shows text cells apart from outputs.

No switch can reach their text cells, and in Colab each output is a page of its own. So they get one language, and the
style sheet with every output.
"""

import os
import shutil
import sys
from functools import cache
from pathlib import Path

import torch

from bilingual import Bilingual, texts
from course_utils import lesson
from course_utils.language import style

_TEXTS = texts(__file__)
# A frame is as high as what it holds, so that pictures limited to a part of its height would shrink to nothing.
_FRAMED = "<style>.course-figure img { max-height: none; }</style>"


def front_end() -> str | None:
    """Return ``"kaggle"``, ``"colab"`` or ``"vscode"``; None for JupyterLab and what is like it."""
    # Kaggle first: its machines are made from Colab's, variables included.
    if "KAGGLE_KERNEL_RUN_TYPE" in os.environ:
        return "kaggle"
    if "google.colab" in sys.modules:
        return "colab"
    # A JupyterLab that was started in VS Code's terminal has its variables, too.
    vscode = not {"VSCODE_PID", "VSCODE_CWD"}.isdisjoint(os.environ) and "JPY_PARENT_PID" not in os.environ
    return "vscode" if vscode else None


def given(place: str) -> Bilingual:
    """Return which GPUs Colab or Kaggle (`place`) has given to this machine, and how to get others."""
    count, menu, say = torch.cuda.device_count(), _TEXTS["menu"][place], _TEXTS["say"]
    if not count:
        return say["none"].format(menu=menu)
    name = torch.cuda.get_device_name(0)
    # PyTorch finds a card for which it holds no code; only the first computation fails.
    served = [int(arch[3:].rstrip("af")) for arch in torch.cuda.get_arch_list() if arch.startswith("sm_")]
    major, minor = torch.cuda.get_device_capability(0)
    if 10 * major + minor < min(served, default=0):
        return say["too_old"].format(name=name, menu=menu)
    return say["one" if count == 1 else "several"].format(count=count, name=name)


@cache
def _style_every_output() -> None:
    from IPython import get_ipython
    from IPython.display import HTML, display

    if shell := get_ipython():
        shell.events.register("pre_run_cell", lambda *_: display(HTML(style() + _FRAMED)))


def notes(place: str | None, language: str | None) -> list[Bilingual]:
    """Prepare the front end `place` for the lesson, and return what the set-up cell says about it.

    Args:
        place: From :func:`front_end`.
        language: The language that the notebook asks for, if any.
    """
    if place is None:
        return []
    _style_every_output()
    lines = [] if language else [_TEXTS["say"]["language"]]
    if place in ("colab", "kaggle"):
        lines.append(given(place))
        if not Path("workers").exists():  # lessons 06 to 08 start these scripts by their path
            shutil.copytree(lesson.notebooks() / "workers", "workers")
    return lines
