"""The learner's own copy of the forecasting project: ``workers/forecast``, copied into ``mine/forecast``."""

import filecmp
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from IPython.display import display

from lesson_08.words import WORDS

COURSE, MINE = Path("workers/forecast"), Path("mine/forecast")
SERIES = Path("mine/series.csv")
# tensorboard, nvidia-ml-py and psutil are looked for where they are used.
_TEXTS = WORDS["own"]
NEEDED = ("numpy", "pandas", "matplotlib")


def own_copy() -> Path:
    """Return the folder of the learner's own project, from which its modules are imported from now on.

    The folder is made once and never changed here. Where it differs from the course's project, a sentence says which files do.

    Raises:
        ImportError: A package that the project needs is not installed.
    """
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise ImportError(str(_TEXTS["missing"].format(names=", ".join(missing))))
    if not MINE.exists():
        # Renamed when it is complete: an interrupted copy is made again.
        whole = MINE.with_name("forecast.part")
        shutil.rmtree(whole, ignore_errors=True)
        shutil.copytree(COURSE, whole, ignore=shutil.ignore_patterns("__pycache__"))
        whole.rename(MINE)
    else:
        files = [path.name for path in COURSE.iterdir() if path.is_file()]
        _, changed, absent = filecmp.cmpfiles(COURSE, MINE, files, shallow=False)
        if names := ", ".join(f"`{name}`" for name in sorted(changed + absent)):
            display(_TEXTS["differs"].format(names=names))
    if str(MINE) not in sys.path:
        sys.path.insert(0, str(MINE))
    return MINE


def own_series() -> Path:
    """Return the CSV file of sections 8.1, 8.2 and 8.8, and show which one it is: the learner's, or the one that is made."""
    from series import make_series

    made = make_series().to_csv(index=False)
    if not SERIES.exists():
        SERIES.write_text(made, encoding="utf-8")
    same = SERIES.read_text(encoding="utf-8", errors="replace") == made
    display(_TEXTS["series_made" if same else "series_yours"])
    return SERIES
