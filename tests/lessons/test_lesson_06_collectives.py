"""Pictures of collectives: the given numbers, the colours of their origins, and the texts."""

import pytest
from html_nesting import assert_nested

from course_utils.figures import png
from lesson_06.collectives import colours, picture
from shared.charts import RANK_COLOURS

pytestmark = pytest.mark.usefixtures("no_warnings")

A, B = [1, 2], [10, 20]
MOVES = {
    "broadcast": ([A, B], [A, A]),
    "all_reduce": ([A, B], [[11, 22], [11, 22]]),
    "all_gather": ([A, B], [A + B, A + B]),
}


def test_a_picture_with_its_texts() -> None:
    made = picture(MOVES)
    assert_nested(made.html())
    assert made.html().count("<img") == 1 and "3 collectives" in made.caption.en and "條紋" in made.caption.zh
    assert (
        "all_reduce: before 0: [1, 2] | 1: [10, 20]; after 0: [11, 22] | 1: [11, 22]." in made.alternative.en
    )
    assert "all_gather：之前 0: [1, 2] | 1: [10, 20]；之後 0: [1, 2, 10, 20] |" in made.alternative.zh


def test_the_boxes_hold_the_numbers_in_their_rows() -> None:
    """Texts as they stand in the axes, from left to right."""
    axes, rows = picture(MOVES).figure.axes[0], {0: [], 1: []}
    for text in sorted(axes.texts, key=lambda text: text.get_position()[0]):
        if text.get_position()[1] in rows and text.get_text():
            rows[text.get_position()[1]].append(text.get_text())
    assert rows == {0: ["1", "2", "1", "2"], 1: ["10", "20", "1", "2"]}


def test_a_number_has_the_colour_of_the_rank_it_came_from_and_a_sum_all() -> None:
    blue, orange = RANK_COLOURS[:2]
    assert [colours([A, B], value) for value in (2, 20, 22)] == [[blue], [orange], [blue, orange]]


def test_more_ranks_than_colours() -> None:
    held = [[rank] for rank in range(10)]
    assert colours(held, 9) == [RANK_COLOURS[1]]
    png(picture({"all_gather": (held, [list(range(10))] * 10)}).figure, small=False)
