"""The picture that is updated during training."""

from typing import Any

import IPython.display
import pytest
from html_nesting import assert_nested
from unmarked import unmarked

from course_utils import lesson, recordings, run_mode
from shared.training_curves import Live

pytestmark = pytest.mark.usefixtures("no_warnings")


@pytest.fixture(autouse=True)
def texts_of_lesson_05() -> None:
    lesson.use("05")


def test_a_live_figure_is_updated_with_the_same_words(
    shown: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[Any] = []
    monkeypatch.setattr(run_mode, "note", lambda *what: noted.append(what))
    monkeypatch.setattr(recordings, "runs", list)
    figure = Live("resnet", 2)
    figure.add("one device", accuracy=50.0, seconds=2.5)
    figure.add("one device", accuracy=75.0, seconds=2.0)
    figure.add("parallel", accuracy=60.0, seconds=4.0)
    assert len(shown) == 4
    assert len({unmarked(str(picture._repr_mimebundle_())) for picture in shown}) == 1, (
        "nbval sees the first, the file the last"
    )
    assert_nested(shown[-1].html())
    assert "one device: 75, 2 s; parallel: 60, 4 s" in shown[-1].html()
    left, right = shown[-1].figure.axes
    assert [list(line.get_ydata()) for line in left.lines] == [[50, 75], [60]]
    assert [list(line.get_ydata()) for line in right.lines] == [[2.5, 2.0], [4.0]]
    assert left.get_xlim() == shown[0].figure.axes[0].get_xlim() == (0.5, 2.5)
    assert list(figure.last("accuracy")) == [75, 60]
    kind, name, values = noted[-1]
    assert (kind, name) == ("curve", "resnet")
    monkeypatch.setattr(recordings, "recorded", lambda name: values | {"run": "A GPU"})
    figure.add("one device", accuracy=80.0, seconds=2.0)
    again = shown[-1]
    assert "A GPU" in again.html() and len(again.figure.axes[0].lines) == 4, "recorded values can be drawn"


def test_a_live_figure_asks_for_a_value_for_every_panel(shown: list[Any]) -> None:
    figure = Live("resnet", 2)
    with pytest.raises(ValueError, match="panels"):
        figure.add("one device", accuracy=50.0)
    with pytest.raises(ValueError, match="no figure 'nobody'"):
        Live("nobody", 1)


def test_a_live_figure_works_without_a_front_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IPython.display, "display", lambda *_, **__: None)
    figure = Live("resnet", 1)
    figure.add("one device", accuracy=1.0, seconds=1.0)
    assert list(figure.last("seconds")) == [1.0]
