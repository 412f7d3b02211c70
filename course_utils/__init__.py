"""What the lessons of the course import: plumbing only. What is taught stands in the notebooks as plain PyTorch.

Names are loaded when they are first used, so that ``import course_utils`` costs almost nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "setup": "course_utils.start",
    "bi": "course_utils.language",
    "try_gpu": "course_utils.devices",
    "try_all_gpus": "course_utils.devices",
    "machine": "course_utils.devices",
    "compare": "course_utils.measure",
    "best_time": "course_utils.measure",
    "ceilings": "course_utils.measure",
    "claim": "course_utils.claims",
    "facts": "course_utils.tables",
    "recorded": "course_utils.evidence",
    "predict": "course_utils.questions",
    "check": "course_utils.exercises",
    "explain": "course_utils.clinic",
    "figures": "course_utils.figures",
    "explorers": "course_utils.explorers",
    "timeline": "course_utils.timeline",
    "doctor": "course_utils.doctor",
    "launch": "course_utils.launcher",
}
_MODULES = {"timeline", "figures", "explorers", "doctor"}

__all__ = sorted(_HOMES)

if TYPE_CHECKING:  # the same names, spelled out for editors and type checkers
    from course_utils import explorers as explorers
    from course_utils import figures as figures
    from course_utils import timeline as timeline
    from course_utils.claims import claim as claim
    from course_utils.clinic import explain as explain
    from course_utils.devices import machine as machine
    from course_utils.devices import try_all_gpus as try_all_gpus
    from course_utils.devices import try_gpu as try_gpu
    from course_utils.doctor import doctor as doctor
    from course_utils.evidence import recorded as recorded
    from course_utils.exercises import check as check
    from course_utils.language import bi as bi
    from course_utils.launcher import launch as launch
    from course_utils.measure import best_time as best_time
    from course_utils.measure import ceilings as ceilings
    from course_utils.measure import compare as compare
    from course_utils.questions import predict as predict
    from course_utils.start import setup as setup
    from course_utils.tables import facts as facts


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"course_utils has no {name!r}; it offers {', '.join(__all__)}.")
    module = importlib.import_module(_HOMES[name])
    value = module if name in _MODULES else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
