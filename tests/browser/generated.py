"""Generate one notebook with every question, every explorer and every exercise of the lessons, and no training."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lesson_cells
import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from published import PUBLISHED
from room_explorers import explorers

NAME = "generated.ipynb"

WRONG_ANSWERS = (
    '{name} = lambda *given: "nonsense"',
    "def {name}(*given):\n    raise KeyError('planted')",
)

SETUP = """from pathlib import Path

from course_utils import check, lesson, predict, setup
import torch
from torch import nn
from torch.utils.data import Dataset

Path("mine").mkdir(exist_ok=True)
setup()"""

# A display that is updated while a cell runs, the browser of the error catalogue, and what explains an error.
DISPLAYS = (
    """from shared.training_curves import Live

lesson.use("05")
chart = Live("resnet", rounds=2)
for loss in (2.0, 1.0):
    chart.add("one device", accuracy=1 / loss, seconds=0.5)""",
    "from torch_doctor import browse, explain\n\nbrowse()",
    'explain("RuntimeError: CUDA error: out of memory")',
)


@dataclass(frozen=True)
class Answer:
    """An answer to an exercise, and the state that its card must show."""

    lesson: str
    exercise: str
    state: str


@dataclass(frozen=True)
class Generated:
    """The generated notebook, and what it must show."""

    notebook: Any
    questions: list[tuple[str, str]]  # lesson, name
    explorers: list[str]  # "lesson_01.visible_devices"
    answers: list[Answer]


def generate(folder: Path, only: str = "") -> Generated:
    """Return the notebook for the lessons in `folder`, or for one of them ("02")."""
    made: list[Any] = []
    questions: list[tuple[str, str]] = []
    shown: list[str] = []
    answers: list[Answer] = []

    def code(*lines: str) -> None:
        made.append(new_code_cell("\n".join(lines), id=f"cell-{len(made)}"))

    made.append(
        new_markdown_cell(
            '# Generated · 自動產生\n\n<div lang="en">\n\nAll questions.\n\n</div>\n\n'
            '<div lang="zh-Hant">\n\n所有題目。\n\n</div>',
            id="title",
        )
    )
    code(SETUP)
    for source in DISPLAYS:
        code(source)
    cells = lesson_cells.everything()
    modules = list(explorers())
    for lesson in sorted(
        path.parent.name[-2:] for path in folder.glob(f"lesson_{only or '[0-9][0-9]'}/exercises.toml")
    ):
        asked, checks = [], []
        for cell in cells:
            if cell.lesson != lesson or cell.kind != "code":
                continue
            asked += re.findall(r'^predict\("([^"]+)"\)', cell.text, re.M)
            for exercise, name in re.findall(r'^check\("([^"]+)", (\w+|"[\w./]+")\)', cell.text, re.M):
                check, own = f'check("{exercise}", {name})', PUBLISHED[f"{lesson}/{exercise}"]
                if own.file:  # its solution starts processes, which takes 5 to 10 s; tests/lessons runs it
                    written = {"notyet": own.stub, "wrong": "def"}
                    sources = {
                        state: f"_ = Path({own.file!r}).write_text({text!r}, encoding='utf-8')\n{check}"
                        for state, text in written.items()
                    }
                else:
                    wrong = WRONG_ANSWERS[len(answers) % 2].format(name=name)
                    sources = {"notyet": cell.text, "wrong": f"{wrong}\n{check}"}
                    sources["solved"] = f"{own.solution.strip()}\n{check}"
                answers += [Answer(lesson, exercise, state) for state in sources]
                checks += sources.values()
        if lesson == "08":  # its set-up cell makes the project importable
            code("from lesson_08.own_project import own_copy", "own_copy();")
        # Few cells with many displays: JupyterLab draws them much faster than many cells.
        code(f'lesson.use("{lesson}")', *(f'predict("{name}")' for name in asked))
        code(*checks)
        questions += [(lesson, name) for name in asked]
        for module in (name for name in modules if name.startswith(f"lesson_{lesson}.")):
            shown.append(module)
            code(
                f"import {module} as m",
                "(m.EXPLORER if hasattr(m, 'EXPLORER') else m.explorer(**m.EXAMPLE)).show()",
            )
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return Generated(new_notebook(cells=made, metadata=metadata), questions, shown, answers)


def write(folder: Path, only: str = "") -> Generated:
    """Write the notebook into `folder`, beside the lessons, and return it."""
    generated = generate(folder, only)
    nbformat.write(generated.notebook, folder / NAME)
    return generated
