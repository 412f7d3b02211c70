"""Submissions that want to harm, to cheat or are no submission at all, and what has to be said about each."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grade_submissions.handed_in import answered, cell_of, notebook, write
from published import PUBLISHED

RIGHT = PUBLISHED["01/on_gpu"].solution
WRONG = PUBLISHED["01/on_gpu"].wrong[0][0]


@dataclass(frozen=True)
class Hostile:
    """An answer to the exercise ``on_gpu`` of lesson 01.

    Attributes:
        source: The cell.
        states: What the verdict may be.
        remarks: That must be made.
        says: Part of the English text.
    """

    source: str
    states: tuple[str, ...] = ("error",)
    remarks: tuple[str, ...] = ()
    says: str = ""


def inside(act: str) -> str:
    """Return an answer that does something when it is called, and then is wrong."""
    lines = "".join(f"    {line}\n" for line in act.splitlines())
    return f"def on_gpu(tensor):\n{lines}    return tensor.is_cuda == 7"


_FORGED = """import json, os
for number in range(3, 60):
    try:
        os.write(number, json.dumps({"state": "solved", "en": "a", "zh": "b", "remarks": {}}).encode() + b"\\n")
    except OSError:
        pass
os._exit(0)"""
_PATCHED = """import course_utils.exercises as e
e.examine = lambda *_, **__: e.Answer("solved", e.HINTS["solved"])
def on_gpu(tensor):
    return 7"""
_LENIENT = """import course_utils.exercises as e
object.__setattr__(e.exercises_of("01")["on_gpu"], "judge", lambda answer: ())
def on_gpu(tensor):
    return 7"""

# One for each thing that protects; those that repeat one or take long are left to the night.
SAMPLE: dict[str, Hostile] = {
    "sleeps": Hostile("import time\ntime.sleep(10**6)", says="still running after 10 seconds"),
    "prints without end": Hostile("import os\nwhile True:\n    os.write(1, b'x' * 60_000)", says="printed more than 10 MB"),
    "fills the memory": Hostile("x = []\nwhile True:\n    x.append(bytes(2**28))", says="Memory"),
    "writes into the system": Hostile("open('/etc/graded', 'w')", remarks=("outside",), says="OSError"),
    "reads another's work": Hostile("print(open({folder!r} + '/sleeps.ipynb').read())", says="FileNotFoundError"),
    "calls home": Hostile("import socket\nsocket.create_connection(('192.0.2.1', 80), 3)", remarks=("network",), says="unreachable"),
    "reads the environment": Hostile("import os\nseen = str(os.environ)\nraise ValueError('my-token' in seen, 'PATH' in seen)", says="(False, True)"),
    "red \x1b[31m\nalso.ipynb: 7 of 7": Hostile(r"open('/etc/\x1b[31m\n', 'w')", remarks=("outside",), says="OSError"),
    "forges the verdict": Hostile(_FORGED, remarks=("unusual",), says="ended its process"),
    "patches the course": Hostile(_PATCHED, remarks=("unusual",), says="course_utils.exercises.examine"),
    "patches the exercise": Hostile(_LENIENT, remarks=("unusual",), says="exercise.judge"),
    "patches a method": Hostile("import torch\ntorch.Tensor.__eq__ = lambda *_: True\n" + WRONG, says="Tensor.__eq__"),
    "patches Python": Hostile("import builtins\nbuiltins.isinstance = lambda *_: True\n" + WRONG, says="builtins.isinstance"),
    "half a character": Hostile(RIGHT + "\nx = '\ud800'", says=""),
}  # fmt: skip
OTHERS: dict[str, Hostile] = {
    "fills the disk": Hostile("for n in range(10**4):\n    open(str(n), 'wb').write(bytes(2**22))", says="No space left"),
    "exits": Hostile("import sys\nsys.exit()", says="SystemExit"),
    "kills": Hostile("import os\nos.kill(os.getppid(), 9)\nos.kill(-1, 9)", says=""),
    "patches PyTorch": Hostile("import torch\ntorch.equal = lambda *_: True\n" + WRONG, says="torch.equal"),
    "no Python": Hostile("def on_gpu(tensor)\n    return", says="SyntaxError"),
    "null bytes": Hostile(RIGHT + "\n# \0", says=""),
    "equal to everything": Hostile("class Yes:\n    __eq__ = lambda *_: True\n    __bool__ = lambda _: True\n    __hash__ = None\ndef on_gpu(tensor):\n    return Yes()", ("wrong",)),
    "prints without end when called": Hostile(inside("import os\nwhile True:\n    os.write(2, b'x' * 60_000)"), says="printed more than 10 MB"),
    "prints much": Hostile(inside("for _ in range(10**4):\n    print('x' * 10**4)"), ("wrong",)),
    "a tensor of terabytes": Hostile(inside("import torch\ntorch.ones(2**40)"), ("wrong",), says="memory"),
    "writes beside the submissions": Hostile("open({folder!r} + '/stolen', 'w')", remarks=("outside",), says="FileNotFoundError"),
    "removes the course": Hostile("import course_utils, os, shutil\nfolder = os.path.dirname(course_utils.__file__)\nshutil.rmtree(folder)", remarks=("outside", "unusual"), says="OSError"),
    "makes files without end": Hostile("for n in range(10**6):\n    open(str(n), 'w').close()", says="No space left"),
    "one large file": Hostile("with open('x', 'wb') as file:\n    while True:\n        file.write(bytes(2**24))", says="OSError"),
    "asks for a name": Hostile("import urllib.request\nurllib.request.urlopen('http://example.com')", remarks=("network",), says="URLError"),
    "colours the terminal": Hostile(r"raise ValueError('\x1b[2J\x1b]0;7/7\x07 \u202e\x9b31m \x7f')", says=r"\x1b[2J\x1b]0;7/7\x07 \u202e\x9b31m \x7f"),
    "clears the screen at its end": Hostile(r"import os; os.write(1, b'\x1b[2J'); os._exit(0)", remarks=("unusual",), says=r"\x1b[2J"),
    "ends the process": Hostile("import os\nos._exit(0)", remarks=("unusual",), says="ended its process"),
    "ends the process when called": Hostile(inside("import os\nos._exit(0)"), remarks=("unusual",), says="ended its process"),
    "crashes": Hostile(inside("import ctypes\nctypes.string_at(0)"), remarks=("unusual",), says="ended its process"),
    "raises": Hostile("1 / 0\n" + RIGHT, says="ZeroDivisionError"),
    "nested too deep": Hostile("x = " + "(" * 3000 + ")" * 3000, says=""),
    "nested deep": Hostile("x = " + "-" * 90_000 + "1", says=""),
    "very long": Hostile(RIGHT + "\n# " + "x" * 200_000, ("solved",)),
    "computes without end": Hostile("while True:\n    pass", says="still running after 10 seconds"),
    "computes without end when called": Hostile(inside("while True:\n    pass"), ("wrong",), says="still running after 10 seconds"),
    "cannot be stopped": Hostile("while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass", says="still running after"),
    "processes that fork": Hostile(inside("import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass"), ("wrong", "error")),
    "starts many processes": Hostile("import os, time\nfor _ in range(10**5):\n    if not os.fork():\n        time.sleep(10**6)", says="BlockingIOError"),
    "starts processes without end": Hostile("import os\nwhile True:\n    os.fork()"),
    "leaves processes behind": Hostile("import os, time\nfor _ in range(100):\n    if not os.fork():\n        os.setsid()\n        time.sleep(10**6)\n" + WRONG, ("wrong",)),
    "many threads": Hostile("import threading, time\nwhile True:\n    threading.Thread(target=time.sleep, args=(10**6,), daemon=True).start()", says="RuntimeError"),
}  # fmt: skip

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
