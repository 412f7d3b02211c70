"""Show a recorded timeline, without a GPU above the recorded GPU's timeline of the same name."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from bilingual import Bilingual, measured, measured_both, pair, texts
from course_utils import figures, recordings, run_mode
from course_utils.lesson import text
from shared.timeline.drawing import draw, lane_name, panels
from shared.timeline.recording import save
from shared.timeline.spans import Timeline

_TEXTS = texts(__file__)


def picture(timeline: Timeline, recorded: Mapping[str, Any] | None, caption: Bilingual) -> figures.Picture:
    """Return the picture that :func:`show` displays (pure).

    Args:
        timeline: What ran here.
        recorded: What :func:`recordings.recorded` returned, drawn below, or None.
        caption: What the reader should look for.
    """
    both = [(timeline, "")]
    if recorded:
        both.append((Timeline.from_json(recorded), figures.RECORDED_LABEL))
    figure, parts = panels([len(part.lanes()) for part, _ in both])
    for axes, (part, title) in zip(parts, both, strict=True):
        pair = part.busiest()
        draw(axes, part, shade=pair if len(pair) == 2 else ())
        if title:
            axes.set_title(title, loc="left")
    if timeline.modelled:
        source = measured_both(_TEXTS["modelled"])
    elif any(lane.startswith("GPU") for lane in timeline.lanes()):
        source = measured_both(_TEXTS["own"])
    elif recorded:
        source = measured_both(_TEXTS["recorded"].format(run=recorded["run"], numbers=_numbers(recorded)))
    else:
        source = measured_both(_TEXTS["unseen"]) if torch.cuda.is_available() else measured("")
    here = measured_both(_numbers(timeline.to_json(most=0)))
    caption = _TEXTS["caption"].format(what=caption, numbers=here, source=source)
    return figures.Picture(figure, caption, _TEXTS["alternative"])


def _numbers(values: Mapping[str, Any]) -> Bilingual:
    """Return what was recorded as `values`, in a few words."""
    total = figures.duration(values["seconds"])
    if values["overlap_share"] is None:
        return _TEXTS["total"].format(total=total)
    one, other = (lane_name(lane) for lane in values["pair"])
    share = f"{values['overlap_share']:.0%}"
    said = _TEXTS["overlap"].format(total=total, one=one, other=other, share=share)
    return Bilingual(said.en, re.sub(r"(?<=[\u4e00-\u9fff]) (?=[\u4e00-\u9fff])", "", said.zh))


def show(name: str, timeline: Timeline) -> None:
    """Show a timeline; without a GPU, the recorded GPU's timeline of the same name below it.

    Args:
        name: The figure's name: for its caption in the lesson's texts, and for the recording.
        timeline: What :func:`record` returned.

    Raises:
        ValueError: There is no text for `name`.
    """
    from IPython.display import display

    found = text("figure", name)
    if not timeline.modelled:
        run_mode.note("curve", name, timeline.to_json())
    if (traces := os.environ.get("COURSE_TRACES")) and timeline.trace is not None:
        save(timeline, Path(traces) / f"{name}.json.gz")
    recorded = None if torch.cuda.is_available() or timeline.modelled else recordings.recorded(name)
    display(picture(timeline, recorded, pair(found)))
