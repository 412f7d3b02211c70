"""The first cell of an edition: it installs the course on Colab and Kaggle, and does nothing elsewhere."""

from __future__ import annotations

from bilingual import Bilingual
from tools.links import UNKNOWN, repository

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
_NOT_HERE = Bilingual(
    "This copy cannot install the course on Colab and Kaggle. Elsewhere this cell does nothing.",
    "這份筆記本無法在 Colab 與 Kaggle 上安裝課程；在其他地方，這一格不會做任何事。",
)
_NO_ADDRESS = Bilingual(
    "This copy was made without the course's public address, so it cannot install the course here. Run it on a"
    " computer on which the course is installed, or open the published copy.",
    "產生這份筆記本時還沒有課程的公開網址，因此無法在這裡安裝課程。請在已經安裝課程的電腦上執行，或改用公開發布的版本。",
)
_SOURCE = """\
# {about}
import os
import subprocess
import sys
from importlib.util import find_spec

cloud = "google.colab" in sys.modules or "KAGGLE_KERNEL_RUN_TYPE" in os.environ
if cloud and find_spec("course_utils") is None:
"""
_INSTALL = """\
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    with open("installed.txt", "w") as file:  # {keep}
        subprocess.run([*pip, "list", "--format=freeze"], stdout=file, check=True)
    course = "{course}"
    subprocess.run([*pip, "install", "--quiet", "--constraint=installed.txt", course], check=True)
"""
_STOP = """\
    raise RuntimeError("{reason}")
"""


def first_cell(language: str, *, repo: str | None = None) -> str:
    """Return the source of the first cell: it installs the course, or says why it cannot.

    Args:
        language: ``"en"``, ``"zh-TW"`` or ``"zh-CN"``.
        repo: ``"owner/name"``; by default the course's own.
    """
    package = "pytorch-gpu-course[zh-cn]" if language == "zh-CN" else "pytorch-gpu-course"
    repo = repo or repository()
    known = repo != UNKNOWN
    about, keep, reason = (
        words(text.en, text.zh, language) for text in (_ABOUT if known else _NOT_HERE, _KEEP, _NO_ADDRESS)
    )
    course = f"{package} @ git+https://github.com/{repo}"
    source = _SOURCE + _INSTALL if known else _SOURCE.replace("import subprocess\n", "") + _STOP
    return source.format(about=about, keep=keep, course=course, reason=reason).rstrip()
