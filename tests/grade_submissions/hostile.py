"""Submissions that want to harm, to cheat or are no submission at all, and what has to be said about each."""

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import Any

from grade_submissions.handed_in import answered, cell_of, notebook, write
from published import PUBLISHED

RIGHT = PUBLISHED["01/on_gpu"].solution
WRONG = PUBLISHED["01/on_gpu"].wrong[0][0]


@dataclass(frozen=True)
class Hostile:
    """An answer to the exercise ``on_gpu`` of lesson 01."""

    source: str  # the cell
    states: tuple[str, ...] = ("error",)  # what the verdict may be
    remarks: tuple[str, ...] = ()  # that must be made
    says: str = ""  # part of the English text


def read(group: str) -> dict[str, Hostile]:
    """Return the answers of a group in ``hostile.toml`` by name."""
    found = {}
    for name, entry in LISTED[group].items():
        source = entry["source"].replace("{right}", RIGHT).replace("{wrong}", WRONG)
        if entry.get("called"):  # it does something when it is called, and then is wrong
            source = f"def on_gpu(tensor):\n{indent(source, '    ')}\n    return tensor.is_cuda == 7"
        states, remarks = (tuple(entry.get(key, ())) for key in ("states", "remarks"))
        found[name] = Hostile(source, states or ("error",), remarks, entry.get("says", ""))
    return found


LISTED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
# One for each thing that protects; those that repeat one or take long are left to the night.
SAMPLE: dict[str, Hostile] = read("sample") | {
    "half a character": Hostile(RIGHT + "\nx = '\ud800'", says=""),
}
OTHERS: dict[str, Hostile] = read("others") | {
    "null bytes": Hostile(RIGHT + "\n# \0", says=""),
    "nested too deep": Hostile("x = " + "(" * 3000 + ")" * 3000, says=""),
    "nested deep": Hostile("x = " + "-" * 90_000 + "1", says=""),
    "very long": Hostile(RIGHT + "\n# " + "x" * 200_000, ("solved",)),
}

UNREADABLE: dict[str, tuple[bytes, str]] = {
    "text": (b"on_gpu = lambda t: t.is_cuda", "no_notebook"),
    "empty": (b"", "no_notebook"),
    "cut off": (json.dumps(notebook("01")).encode()[:5000], "no_notebook"),
    "binary": (bytes(range(256)) * 10, "no_notebook"),
    "a list": (b"[1, 2]", "no_notebook"),
    "a null": (b"null", "no_notebook"),
    "no cells": (b'{"cells": 3}', "no_notebook"),
    "odd cells": (b'{"cells": [{"cell_type": "code", "source": [1]}]}', "no_notebook"),
    "deep": (b"[" * 100_000, "no_notebook"),
    "large": (b" " * 50_000_001, "too_large"),
    "no lesson": (b'{"cells": [], "metadata": {}}', "no_lesson"),
    "unknown lesson": (b'{"cells": [], "metadata": {"course": {"lesson": "77"}}}', "no_lesson"),
    "odd metadata": (b'{"cells": [], "metadata": {"course": ["lesson"]}}', "no_lesson"),
}


def write_all(folder: Path, answers: dict[str, Hostile]) -> None:
    """Write a notebook for each hostile answer, and each file that is no notebook."""
    folder.mkdir(exist_ok=True)
    for place, (name, one) in enumerate(answers.items()):
        given = {"on_gpu": one.source.replace("{folder!r}", repr(str(folder)))}
        if place % 5 == 0:  # another answer in the same notebook keeps its points
            given["intensity"] = PUBLISHED["01/intensity"].solution
        write(answered("01", given), folder / f"{name}.ipynb")
    for name, (data, _) in UNREADABLE.items():
        (folder / f"{name}.ipynb").write_bytes(data)
    write(pretending(), folder / "pretending.ipynb")
    write(notebook("02"), folder / "other lesson.ipynb")


def pretending() -> dict[str, Any]:
    """Return a notebook with another ``check``, and outputs that no code has made."""
    book = answered("01", {"on_gpu": WRONG})
    setup = next(cell for cell in book["cells"] if "setup(" in cell["source"])
    setup["source"] += "\n\ndef check(name, answer):\n    print(f'exercise {name}: solved')"
    for name in ("on_gpu", "intensity"):
        text = {"output_type": "stream", "name": "stdout", "text": [f"exercise {name}: solved · 完成\n"]}
        cell_of(book, "01", name)["outputs"] = [text]
    return book
