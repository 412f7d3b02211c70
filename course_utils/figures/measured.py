"""Show what was measured here beside what is recorded from another machine."""

from collections.abc import Callable
from typing import Any

from bilingual import Bilingual, all_of, measured, texts
from course_utils import published, recordings, run_mode
from course_utils.figures.picture import RECORDED, YOURS, Picture
from course_utils.measure import is_modelled
from course_utils.named_cards import NamedCard

_TEXTS = texts(__file__)
RECORDED_LABEL: Bilingual = _TEXTS["recorded"]  # name of the other machine in a legend
HERE: Bilingual = _TEXTS["here"]

Groups = dict[Any, dict[str, Any]]  # whose values (HERE, RECORDED_LABEL or both) → what was measured
COLOURS = {HERE: YOURS, RECORDED_LABEL: RECORDED}


def beside(name: str, recorded: dict[str, Any] | None, card: NamedCard | None = None) -> str:
    """Return the HTML below a caption: whose recording is shown, or else what is published for the figure `name`.

    Where the picture shows a named `card`, its source stands there in any case.
    """
    said = _TEXTS["run"].format(run=recorded["run"]) if recorded else None
    source = card.reference.html() if card else ""  # before it, where the style sheet leaves it alone
    return source + published.beside("" if card else name, said)


def _measured_only(values: dict[str, Any]) -> dict[str, Any]:
    """Return what may be recorded: all but the curves of practice GPUs; nothing if other times are theirs."""
    lines = {name: line for name, line in values.get("lines", {}).items() if not is_modelled(line)}
    kept = values | ({"lines": lines} if lines else {})
    return {} if is_modelled(kept) else kept


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
            first = inner[0] if inner else None
            if isinstance(first, str):
                found.append(f"{path}: {', '.join(inner)}")
            elif not isinstance(first, dict):  # numbers, or lists of x and y values
                found.append(f"{path}: {len(first if isinstance(first, (list, tuple)) else inner)} points")
        elif name:
            found.append(path)
    return found


def show_measured(
    name: str,
    values: dict[str, Any],
    draw: Callable[[Groups], Any],
    caption: Bilingual | Callable[[dict[str, Any], Bilingual], Bilingual],
    alternative: Bilingual,
    *,
    series_vary: bool = False,
    card: NamedCard | None = None,
) -> None:
    """Note measured values in the journal, draw them beside the recorded ones, and show the picture.

    With ``COURSE_MODE=recorded`` it shows the recorded ones alone, where there are any.

    Which series were measured, and how many points each has, is part of the picture's plain text, so that the notebook
    checks compare it.

    Args:
        name: The figure's name, also in recordings.
        values: What was measured, JSON-serialisable, in SI units.
        draw: Returns the figure; gets what was measured here, what is recorded, or both.
        caption: The text below, or a function of the values that it describes and of "Here" or "On the recorded
            machine"; what another machine measured is added.
        alternative: What a blind reader gets instead of the picture.
        series_vary: Whether the series or their points depend on the machine (a GPU adds a curve).
        card: The named card whose published values `draw` shows; its source is added below.
    """
    from IPython.display import display

    recorded, instead = recordings.recorded(name), recordings.instead(name)
    groups: Groups = {} if instead else {HERE: values}
    if instead or recorded:
        groups[RECORDED_LABEL] = instead or recorded
    if not isinstance(caption, Bilingual):
        caption = caption(instead or values, _TEXTS["place"]["there" if instead else "here"])
    if instead and not recorded:  # what is published about GPUs stays beside it
        caption = all_of(caption, _TEXTS["run"].format(run=measured(instead["run"])))
    if not instead and (noted := _measured_only(values)):
        run_mode.note("curve", name, noted)
    consists = "; ".join(series(values))
    consists = measured(consists) if series_vary else consists
    display(Picture(draw(groups), caption, alternative, consists, beside(name, recorded, card)))
