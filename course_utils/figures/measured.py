"""Show what was measured here beside what is recorded from another machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from course_utils import published, recordings, run_mode
from course_utils.figures.picture import Picture
from torch_doctor.bilingual import Bilingual, measured

RECORDED_LABEL = "recorded · 參考紀錄"  # name of the other machine in a legend
HERE = "here · 這台機器"

Recorded = dict[str, Any] | None  # what another machine measured for the same name, if anything


def beside(name: str, recorded: Recorded) -> str:
    """Return the HTML below a caption: whose recording is shown, or else what is published for the figure `name`."""
    run = recorded and recorded["run"]
    return published.beside(name, Bilingual(f"Recorded on {run}.", f"GPU 參考紀錄：{run}。") if run else None)


def series(values: Any, name: str = "") -> list[str]:
    """Return what measured values consist of: ``["float32: 9 points", …]``, without the numbers themselves.

    Args:
        values: Nested dictionaries whose leaves are numbers or lists. Lists of dictionaries (spans of a recorded
            timeline) and single numbers at the top are left out.
        name: What precedes the names, for inner levels.
    """
    found = []
    for key, inner in values.items():
        path = f"{name} {key}".strip()
        if isinstance(inner, dict):
            found += series(inner, path)
        elif isinstance(inner, (list, tuple)):
            if inner and isinstance(inner[0], str):
                found.append(f"{path}: {', '.join(inner)}")
            elif inner and isinstance(inner[0], (list, tuple)):  # x and y values
                found.append(f"{path}: {len(inner[0])} points")
            elif not inner or not isinstance(inner[0], dict):
                found.append(f"{path}: {len(inner)} points")
        elif name:
            found.append(path)
    return found


def show_measured(
    name: str,
    values: dict[str, Any],
    draw: Callable[[Recorded], Any],
    caption: Bilingual,
    alternative: Bilingual,
    *,
    series_vary: bool = False,
) -> None:
    """Note measured values in the journal, draw them beside the recorded ones, and show the picture.

    Which series were measured, and how many points each has, is part of the picture's plain text, so that the notebook
    checks compare it.

    Args:
        name: The figure's name, also in recordings.
        values: What was measured, JSON-serialisable, in SI units.
        draw: Returns the figure; gets the recorded values, or None.
        caption: The text below; what another machine measured is added.
        alternative: What a blind reader gets instead of the picture.
        series_vary: Whether the series or their points depend on the machine (a GPU adds a curve).
    """
    from IPython.display import display

    run_mode.note("curve", name, values)
    recorded = recordings.recorded(name)
    consists = "; ".join(series(values))
    consists = measured(consists) if series_vary else consists
    display(Picture(draw(recorded), caption, alternative, consists, beside(name, recorded)))
