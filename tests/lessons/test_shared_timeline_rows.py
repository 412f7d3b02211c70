"""Several timelines in one picture: the same scale, and rows in the order of the devices."""

from __future__ import annotations

from typing import Any

import pytest
from html_nesting import assert_nested

from course_utils import lesson
from course_utils.figures import png
from shared import timeline_rows
from shared.timeline import Span, Timeline

pytestmark = pytest.mark.usefixtures("no_warnings")

WAYS = {
    "slow": Timeline([Span("device 0", "A", 5.0, 5.004), Span("device 1", "B", 5.004, 5.010)]),
    "fast": Timeline([Span("device 1", "B", 0.0, 0.003), Span("device 0", "A", 0.0, 0.002)]),
}


def test_timelines_share_a_scale(shown: list[Any]) -> None:
    lesson.use("05")
    timeline_rows.timelines("three_ways", WAYS)
    (drawn,) = shown
    page = drawn.html()
    assert_nested(page)
    assert (
        "slow: 10 ms; fast: 3 ms" in page
        and "slow：10 ms；fast：3 ms" in page
        and png(drawn.figure).startswith(b"\x89PNG")
    )
    above, below = drawn.figure.axes
    assert above.get_xlim() == below.get_xlim()
    assert [above.get_title(loc="left"), below.get_title(loc="left")] == ["slow", "fast"]
    for axes in (above, below):
        assert [t.get_text() for t in axes.get_yticklabels()] == ["device 1", "device 0"], "0 at the top"
    with pytest.raises(ValueError, match="at least one"):
        timeline_rows.timelines("three_ways", {})
