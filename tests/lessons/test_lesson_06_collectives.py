"""Pictures of collectives: the given numbers, the colours of their origins, and the texts."""

from typing import Any

import pytest
from html_nesting import assert_nested

from course_utils.figures import png
from lesson_06 import collectives
from lesson_06.collectives import UNKNOWN, colours, gallery, picture
from shared.charts import RANK_COLOURS

pytestmark = pytest.mark.usefixtures("no_warnings")

A, B = [1, 2], [10, 20]
SEVEN: dict[str, tuple[list[Any], list[Any]]] = {
    "broadcast": ([A, [0, 0]], [A, A]),
    "scatter": ([[[1, 2], [3, 4]], None], [[1, 2], [3, 4]]),
    "gather": ([A, B], [[A, B], None]),
    "reduce": ([A, B], [[11, 22], UNKNOWN]),
    "all_reduce": ([A, B], [[11, 22], [11, 22]]),
    "all_gather": ([A, B], [[A, B], [A, B]]),
    "reduce_scatter": ([A, B], [[11], [22]]),
}
THREE = {
    "all_to_all": (
        [[[1], [2], [3]], [[10], [20], [30]], [[100], [200], [300]]],
        [[[1], [10], [100]], [[2], [20], [200]], [[3], [30], [300]]],
    )
}


@pytest.mark.parametrize("moves", [SEVEN, THREE], ids=["7", "3 ranks"])
def test_a_picture_with_its_texts(moves: dict[str, Any]) -> None:
    html = picture(moves).html()
    assert_nested(html)
    assert html.count("<img") == 1 and "measured" not in html
    for name in moves:
        assert f"{name}: before " in html and f"{name}：之前 " in html


def test_the_alternative_holds_every_number() -> None:
    text = picture({name: SEVEN[name] for name in ("gather", "reduce")}).alternative
    assert "gather: before 0: [1, 2] | 1: [10, 20]; after 0: [1, 2] [10, 20] | 1: –." in text.en
    assert "reduce：之前 0: [1, 2] | 1: [10, 20]；之後 0: [11, 22] | 1: [?]。" in text.zh


def test_the_boxes_hold_the_numbers_in_their_rows() -> None:
    """Texts as they stand in the axes: (row, number) from left to right."""
    axes = picture({"scatter": SEVEN["scatter"]}).figure.axes[0]
    rows: dict[float, list[str]] = {0: [], 1: []}
    for text in sorted(axes.texts, key=lambda text: text.get_position()[0]):
        if text.get_position()[1] in rows and text.get_text():
            rows[text.get_position()[1]].append(text.get_text())
    assert rows == {0: ["1", "2", "3", "4", "1", "2"], 1: ["–", "3", "4"]}


def test_a_number_has_the_colour_of_the_rank_it_came_from() -> None:
    blue, orange = RANK_COLOURS[:2]
    before = SEVEN["all_gather"][0]
    for rank in (0, 1):
        assert colours("all_gather", before, 2, rank) == [blue]
        assert colours("all_gather", before, 20, rank) == [orange]
        assert colours("all_gather", before, UNKNOWN, rank) == []


def test_only_a_sum_has_the_stripes_of_all_ranks() -> None:
    before = SEVEN["all_reduce"][0]
    assert colours("all_reduce", before, 22, 1) == list(RANK_COLOURS[:2])
    assert colours("broadcast", before, 22, 1) == [], "a broadcast adds nothing: the origin is not known"
    assert colours("all_reduce", THREE["all_to_all"][0], 111, 0) == list(RANK_COLOURS[:3])


def test_a_number_that_several_ranks_held_has_the_ranks_own_colour_or_none() -> None:
    before = [[0, 5], [0, 6], [7, 8]]
    assert colours("broadcast", before, 0, 1) == [RANK_COLOURS[1]]
    assert colours("broadcast", before, 0, 2) == []


def test_more_ranks_than_colours() -> None:
    held = [[rank] for rank in range(10)]
    assert colours("all_gather", held, 9, 0) == [RANK_COLOURS[1]]
    png(picture({"all_gather": (held, [held] * 10)}).figure, small=False)


def test_only_sums_have_stripes_and_every_collective_its_own_caption() -> None:
    captions = {name: picture({name: moves}).caption for name, moves in SEVEN.items()}
    assert {name for name, text in captions.items() if "stripes" in text.en} == set(collectives.SUMS)
    assert {name for name, text in captions.items() if "條紋" in text.zh} == set(collectives.SUMS)
    assert len({text.en for text in captions.values()}) == len({text.zh for text in captions.values()}) == 7
    assert set(SEVEN) | set(THREE) == set(collectives.MEANINGS)


def test_a_scalar_is_a_tensor_of_one_number() -> None:
    assert "before 0: [1] | 1: [10]" in picture({"all_reduce": ([1, 10], [11, 11])}).alternative.en


@pytest.mark.parametrize("moves, message", [
    ({}, "no collective"), ({"all_recude": SEVEN["all_reduce"]}, "'all_recude' is not known.*'all_reduce'"),
    ({"all_reduce": ([A, B], [A])}, "one entry per rank, but have 2 and 1"), ({"all_reduce": ([], [])}, "0 and 0"),
])  # fmt: skip
def test_invalid_input_is_refused(moves: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gallery(moves)
