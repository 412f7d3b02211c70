"""Examine another Python than the one that runs the doctor: find it, and check that it can run the probes.

The probes are plain files of the standard library, so nothing has to be installed there.
"""

from __future__ import annotations

import os
import shutil
import sys
import time

from torch_doctor.data import screen
from torch_doctor.diagnosis.run_probes import Running
from torch_doctor.terminal import label

OLDEST = (3, 8)  # what the probes are written for
_LIMIT = 5.0  # seconds; a Python that starts more slowly is examined all the same
_INSIDE = ("bin/python", "bin/python3", "Scripts/python.exe", "python.exe")  # of an environment's folder
_VERSION = "import sys; print(sys.version_info[0] * 100 + sys.version_info[1])"  # also runs on Python 2
_WRONG = {name: label(text, "both") for name, text in screen("command_line", "python").items()}


def find(given: str) -> str:
    """Return the absolute path of the Python that `given` names, after it has told its version.

    Links are kept: in a virtual environment, ``bin/python`` is a link, and where it lies decides what it imports.

    Args:
        given: A file, the folder of an environment, or a command on the path (``"python3.12"``).

    Raises:
        ValueError: There is no Python, it does not start, or it is too old.
    """
    path = os.path.expanduser(given)
    if os.path.isdir(path):
        inside = [os.path.join(path, *name.split("/")) for name in _INSIDE]
        path = next(filter(os.path.isfile, inside), "")
    found = shutil.which(path) if path else None
    if not found:
        raise ValueError(_WRONG["absent"].format(given=given))
    python = os.path.abspath(found)
    asked = Running([python, "-c", _VERSION], os.environ, _LIMIT)
    while not asked.poll():
        time.sleep(0.01)
    if asked.ended in ("slow", "stuck"):
        return python  # the probes say so, each within its own time limit
    answer = "".join(asked.out).strip()
    if any(_VERSION in line for line in (*asked.out, *asked.err)):  # a program that quotes what it was given
        raise ValueError(_WRONG["other"].format(given=given))
    if asked.ended != "answered" or not answer.isdigit():
        why = next((line.strip() for line in reversed(asked.err) if line.strip()), answer)[:200]
        raise ValueError(_WRONG["fails"].format(given=given, why=why or "?"))
    version = divmod(int(answer), 100)
    if version < OLDEST:
        raise ValueError(_WRONG["old"].format(given=given, version="{}.{}".format(*version)))
    return python


def environment_for(python: str) -> dict[str, str]:
    """Return the environment variables with which the probes run in `python`.

    The doctor's own virtual environment is left out: it may be active only because the doctor is installed there.
    """
    variables = dict(os.environ)
    named = variables.get("VIRTUAL_ENV", "")
    if python != sys.executable and named and os.path.realpath(named) == os.path.realpath(sys.prefix):
        del variables["VIRTUAL_ENV"]
    return variables
