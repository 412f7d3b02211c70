"""Several timelines, one above the other on the same scale: which of several ways keeps whom busy, and for how long."""

from collections.abc import Mapping

from bilingual import enumerated, measured_both, pair, texts
from course_utils import figures
from course_utils.lesson import text
from shared import timeline
from shared.charts import listed
from shared.timeline import Timeline

_TEXTS = texts(__file__)


def timelines(name: str, ways: Mapping[figures.Label, Timeline]) -> None:
    """Show several timelines on the same scale.

    Args:
        name: The figure's name, for its caption in the lesson's texts.
        ways: A name (a text, or bilingual) → who was busy when. Nothing is recorded for comparison.

    Raises:
        ValueError: There is no text for `name`.
    """
    from IPython.display import display

    longest = max(way.seconds() for way in ways.values())
    figure, parts = timeline.panels([len(way.lanes()) for way in ways.values()])
    for axes, (label, way) in zip(parts, ways.items(), strict=True):
        timeline.draw(axes, way, lanes=sorted(way.lanes()), until=longest)
        axes.set_title(figures.lettering(label, " · "), loc="left", fontsize=10)
    times = listed({label: figures.duration(way.seconds()) for label, way in ways.items()})
    if any(way.modelled for way in ways.values()):
        times = _TEXTS["modelled"].format(times=times)
    caption = _TEXTS["caption"].format(what=pair(text("figure", name)), times=measured_both(times))
    alternative = _TEXTS["alternative"].format(names=enumerated(map(figures.quoted, ways)))
    display(figures.Picture(figure, caption, alternative))
