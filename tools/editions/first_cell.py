"""The first cell of an edition: it installs the course on Colab and Kaggle, and does nothing elsewhere."""

from __future__ import annotations

from tools.links import repository
from torch_doctor.bilingual import Bilingual

from .one_language import words

ID = "course-first"
_ABOUT = Bilingual(
    "Colab and Kaggle: install the course beside what is there. Elsewhere this cell does nothing.",
    "在 Colab 與 Kaggle 上，這一格會安裝課程，原有的套件都不會更動；在其他地方不會做任何事。",
)
_KEEP = Bilingual(
    "All that is installed, PyTorch above all, keeps its version",
    "已經安裝的套件，尤其是 PyTorch，版本都維持不變",
)
_SOURCE = """\
# {about}
import os
import subprocess
import sys
from importlib.util import find_spec

cloud = "google.colab" in sys.modules or "KAGGLE_KERNEL_RUN_TYPE" in os.environ
if cloud and find_spec("course_utils") is None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    with open("installed.txt", "w") as file:  # {keep}
        subprocess.run([*pip, "list", "--format=freeze"], stdout=file, check=True)
    course = "{course}"
    subprocess.run([*pip, "install", "--quiet", "--constraint=installed.txt", course], check=True)
"""


def first_cell(language: str, *, repo: str | None = None) -> str:
    """Return the source of the first cell.

    Args:
        language: ``"en"``, ``"zh-TW"`` or ``"zh-CN"``.
        repo: ``"owner/name"``; by default the course's own.
    """
    package = "pytorch-gpu-course[zh-cn]" if language == "zh-CN" else "pytorch-gpu-course"
    about, keep = (words(text.en, text.zh, language) for text in (_ABOUT, _KEEP))
    course = f"{package} @ git+https://github.com/{repo or repository()}"
    return _SOURCE.format(about=about, keep=keep, course=course).rstrip()
