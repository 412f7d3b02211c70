"""A small but complete lesson with every kind of cell that the real ones have, for the tests of the checks."""

from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools.check.notebook import fix_notebook
from tools.notebook_file import canonical
from tools.record import execute

FACT, RATIO = "1.1", "1.2"
STATEMENT = "乙比甲快"  # the beginning of the claim RATIO
TEXTS = f"""[claim."{FACT}"]
en = "The tensor lives where it was sent."
zh = "張量在它被送去的地方。"

[claim."{RATIO}"]
en = "B is faster than A."
zh = "{STATEMENT}。"
"""
NAME = "01_small.ipynb"


def both(english: str, chinese: str) -> str:
    return f'<div lang="en">\n\n{english}\n\n</div>\n<div lang="zh-Hant">\n\n{chinese}\n\n</div>'


SOURCES = {
    "title": "# 1 A small lesson · 一堂小課\n\n"
    + both("Every kind of cell, once.", "每一種儲存格，各出現一次。"),
    "setup": "from course_utils import Bilingual, claim, setup, try_gpu\n\nsetup('01')",
    "facts": "## 1.1 Facts · 事實\n\n"
    + both(
        "A tensor of 1000 numbers takes **4000** bytes; see [the licence](../LICENSE). Its shape: `(10, 100)`.",
        "一千個數字的張量佔 **4000** 個位元組（bytes）；見[授權條款](../LICENSE)。形狀是 `(10, 100)`。",
    ),
    "bytes": "import torch\n\nx = torch.zeros(10, 100)\nprint(x.nbytes, 'bytes,', tuple(x.shape))",
    "device": "x = x.to(try_gpu())\nprint('x lives on', x.device)",
    "device-claim": f"claim('{FACT}', x.device.type == try_gpu().type)",
    "measure": "import time\n\nprint(f'⟨{time.time()}⟩ seconds since 1970, 3 pieces')",
    "ratio-claim": f"claim('{RATIO}', x.shape[0] / 2, at_least=2)",
    "note": "Bilingual(en='The sum is right.', zh='總和是對的。')",
    "picture-head": "## 1.2 A picture · 一張圖\n\n"
    + both("Look at the colours: they are two.", "看看顏色：一共有兩種。"),
    "picture": "import base64\nimport io\n\nfrom IPython.display import HTML\nfrom PIL import Image\n\n"
    "image = Image.linear_gradient('L')\nfile = io.BytesIO()\nimage.save(file, 'PNG')\n"
    "data = base64.b64encode(file.getvalue()).decode()\n"
    'HTML(f\'<figure class="course-figure"><img alt="A grey ramp · 灰階漸層" \'\n'
    "     f'src=\"data:image/png;base64,{data}\"></figure>')",
    "exercise-head": "## 1.3 Exercise · 練習\n\n" + both("Add two and two.", "二加二等於多少？"),
    "exercise": "answer = 2 + 2\nprint(answer)",
    "solution": '<details><summary><span lang="en">Solution</span><span lang="zh-Hant">解答</span></summary>\n\n'
    "```python\nanswer = 4\n```\n\n</details>",
    "exempt": "import random\n\nprint(random.random())",
}
MARKDOWN = {"title", "facts", "picture-head", "exercise-head", "solution"}


def write_room(folder: Path) -> None:
    """Write the lesson's room into the folder of its notebook."""
    room = folder / "lesson_01"
    room.mkdir(parents=True)
    (room / "texts.toml").write_text(TEXTS, encoding="utf-8")


def write(root: Path) -> Path:
    """Write the lesson into ``root/notebooks``, executed, with its room; return its path."""
    cells = []
    for name, source in SOURCES.items():
        make = new_markdown_cell if name in MARKDOWN else new_code_cell
        cells.append(make(source, id=name))
    cells[-1].metadata = nbformat.from_dict(
        {"tags": ["nbval-ignore-output"], "course": {"exempt": "shows a number drawn at random"}}
    )
    lesson = {
        "lesson": "01",
        "title": {"en": "A small lesson", "zh": "一堂小課"},
        "minutes": {"reading": 5, "exercises": 0},
    }
    path = root / "notebooks" / NAME
    write_room(path.parent)
    (root / "LICENSE").write_text("a licence\n", encoding="utf-8")
    path.write_text(
        canonical(fix_notebook(new_notebook(cells=cells, metadata={"course": lesson}))), encoding="utf-8"
    )
    execute(path, root / "journal.jsonl")
    return path
