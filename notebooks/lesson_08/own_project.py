"""The learner's own copy of the forecasting project: ``workers/forecast``, copied into ``mine/forecast``."""

import filecmp
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from IPython.display import display

from course_utils import Bilingual

COURSE, MINE = Path("workers/forecast"), Path("mine/forecast")
SERIES = Path("mine/series.csv")
# tensorboard, nvidia-ml-py and psutil are looked for where they are used.
NEEDED = ("numpy", "pandas", "matplotlib")


def own_copy() -> Path:
    """Return the folder of the learner's own project, from which its modules are imported from now on.

    The folder is made once and never changed here. Where it differs from the course's project, a sentence says which files do.

    Raises:
        ImportError: A package that the project needs is not installed.
    """
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        names = ", ".join(missing)
        raise ImportError(
            f"{names} not found: the course's packages were installed before it needed this. Run `make lab` again (without make: "
            "`python -m pip install -c constraints.txt -e .` in the course's folder), then restart the kernel. · "
            f"找不到 {names}：課程的套件是在需要它之前安裝的。請再執行一次 `make lab`（沒有 make 的話，在課程的資料夾執行 "
            "`python -m pip install -c constraints.txt -e .`），然後重新啟動 Jupyter 核心。"
        )
    if not MINE.exists():
        # Renamed when it is complete: an interrupted copy is made again.
        whole = MINE.with_name("forecast.part")
        shutil.rmtree(whole, ignore_errors=True)
        shutil.copytree(COURSE, whole, ignore=shutil.ignore_patterns("__pycache__"))
        whole.rename(MINE)
    elif names := ", ".join(f"`{name}`" for name in different()):
        display(
            Bilingual(
                en=f"Your copy in `mine/forecast` is used. It differs from the course's project in {names}. Did you change nothing there? Then "
                "the course has a newer version: rename the folder, restart the kernel, and run this cell again.",
                zh=f"使用的是 `mine/forecast` 裡你自己的複本。和課程的專案不同的檔案：{names}。如果你沒有改過，就是課程有了新版；"
                "請把資料夾改名，重新啟動 Jupyter 核心，再執行這一格。",
            )
        )
    if str(MINE) not in sys.path:
        sys.path.insert(0, str(MINE))
    return MINE


def own_series() -> Path:
    """Return the CSV file of sections 8.1, 8.2 and 8.8, and show which one it is: the learner's, or the one that is made."""
    from series import make_series

    made = make_series().to_csv(index=False)
    if not SERIES.exists():
        SERIES.write_text(made, encoding="utf-8")
    used = Bilingual(
        "In use: `mine/series.csv`, the made-up town.", "使用的資料：`mine/series.csv`，虛構的小鎮。"
    )
    if SERIES.read_text(encoding="utf-8", errors="replace") != made:
        used = Bilingual(
            "In use: your own `mine/series.csv`. What the text says about the data is about the town's: delete or rename the file, "
            "and this cell makes that one.",
            "使用的資料：你自己的 `mine/series.csv`。課文談到的資料是小鎮的；把這個檔案刪除或改名，這一格就會產生小鎮的檔案。",
        )
    display(used)
    return SERIES


def different() -> list[str]:
    """Return the names of the course's files that are not, or not the same, in the learner's project."""
    names = [path.name for path in COURSE.iterdir() if path.is_file()]
    _, changed, absent = filecmp.cmpfiles(COURSE, MINE, names, shallow=False)
    return sorted(changed + absent)
