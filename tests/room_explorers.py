"""All explorers of the lessons' rooms, found by themselves: modules with ``EXPLORER``, or ``explorer(…)`` and ``EXAMPLE``."""

import re
from importlib import import_module
from pathlib import Path

from course_utils.explorer import Explorer

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


def explorers() -> dict[str, Explorer]:
    """Return every explorer by the name of its module, such as ``"lesson_02.transfer_cost"``.

    An explorer that needs measurements is built with ``EXAMPLE``, the keyword arguments of a made-up machine.
    """
    found = {}
    for path in sorted(NOTEBOOKS.glob("lesson_*/*.py")):
        if not re.search(r"^(EXPLORER\b|def explorer\()", path.read_text(encoding="utf-8"), re.M):
            continue
        name = f"{path.parent.name}.{path.stem}"
        module = import_module(name)
        found[name] = module.EXPLORER if hasattr(module, "EXPLORER") else module.explorer(**module.EXAMPLE)
    return found
