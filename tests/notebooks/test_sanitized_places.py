"""Every place in the stored outputs that is not compared is listed, with a reason."""

import nbformat
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tools import sanitized
from tools.sanitized import LIST, REASONS, listing, places

HTML = (
    '<div class="course-card course-claim course-holds"><p><span class="course-verdict"><span class="measured">a</span>'
    '</span></p><br></div><table class="course-table"><tr><td>1</td><td><span class="measured">2</span></td></tr></table>'
    '<figure class="course-figure"><img alt="" src="data:image/png;base64,AA"></figure><p class="course-new">'
    '<span class="measured">3</span></p>'
)


def notebook() -> nbformat.NotebookNode:
    outputs = [
        new_output("display_data", data={"text/html": HTML, "text/plain": "⟨a⟩"}),
        new_output("stream", name="stdout", text="⟨1⟩ and ⟨2⟩\nWriting mine/x.py\n"),
        new_output("display_data", data={"text/markdown": "```\nprint('⟨1⟩')\n```"}),
    ]
    return new_notebook(cells=[new_code_cell("x", id="a", outputs=outputs), new_code_cell("y", id="b")])


def test_the_list_is_complete() -> None:
    assert LIST.read_text(encoding="utf-8") == listing(), (
        "what is not compared has changed; look at it, then run: python -m tools.sanitized --write"
    )


def test_every_reason_is_used() -> None:
    rows = [line.split(",")[2] for line in listing().splitlines()[1:]]
    assert set(rows) == set(REASONS)


def test_places_are_found_by_what_is_around_them() -> None:
    assert sorted(places(notebook())) == sorted([
        ("a", "course-claim", 1), ("a", "course-table", 1), ("a", "picture", 1), ("a", "course-new", 1),
        ("a", "marks", 3), ("a", "written", 1),
    ])  # fmt: skip
    assert not {"course-new", "marks"} & set(sanitized.REASONS), (
        "a place without a reason is a KeyError of the listing"
    )
