"""Show what was measured here beside what is recorded from another machine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from course_utils import recordings, run_mode
from course_utils.figures.picture import Picture
from torch_doctor.bilingual import Bilingual, measured

RECORDED_LABEL = "recorded · 參考"  # name of the other machine in a legend
HERE = "here · 這台機器"

Recorded = dict[str, Any] | None  # what another machine measured for the same name, if anything


def recording(values: dict[str, Any] | None) -> Bilingual:
    """Return the second half of a caption: whose recording is shown, or that there is none.

    Args:
        values: What :func:`course_utils.recordings.recorded` returned.
    """
    if values is None:
        none = recordings.NOT_RECORDED
        text = Bilingual(f"Recorded GPU: {none.en}.", f"GPU 參考：{none.zh}。")
    else:
        text = Bilingual(f"Recorded on {values['run']}.", f"GPU 參考：{values['run']}。")
    return Bilingual(measured(text.en), measured(text.zh))


def show_measured(
    name: str,
    values: dict[str, Any],
    draw: Callable[[Recorded], Any],
    caption: Bilingual,
    alternative: Bilingual,
) -> None:
    """Note measured values in the journal, draw them beside the recorded ones, and show the picture.

    Args:
        name: The figure's name, also in recordings.
        values: What was measured, JSON-serialisable, in SI units.
        draw: Returns the figure; gets the recorded values, or None.
        caption: The text below; the line about the recording is added.
        alternative: What a blind reader gets instead of the picture.
    """
    from IPython.display import display

    run_mode.note("curve", name, values)
    recorded = recordings.recorded(name)
    source = recording(recorded)
    whole = Bilingual(f"{caption.en} {source.en}", f"{caption.zh}{source.zh}")
    display(Picture(draw(recorded), whole, alternative))
