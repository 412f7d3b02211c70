"""The first cell of an edition: it installs the course on Colab and Kaggle, and does nothing elsewhere."""

from tools.links import UNKNOWN, repository

from .one_language import TEXTS, words

ID = "course-first"
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
    raise RuntimeError("{no_address}")
"""


def first_cell(language: str, *, repo: str | None = None) -> str:
    """Return the first cell's source: it installs the course from `repo`, by default its own, or says why it cannot."""
    package = "pytorch-gpu-course[zh-cn]" if language == "zh-CN" else "pytorch-gpu-course"
    repo = repo or repository()
    say = {name: words(text.en, text.zh, language) for name, text in TEXTS["first_cell"].items()}
    if repo == UNKNOWN:
        source = _SOURCE.replace("import subprocess\n", "").replace("{about}", "{not_here}") + _STOP
    else:
        source = _SOURCE + _INSTALL
    return source.format(**say, course=f"{package} @ git+https://github.com/{repo}").rstrip()
