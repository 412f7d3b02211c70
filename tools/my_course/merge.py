"""Merge a learner's notebook with the course's new version of it, cell by cell."""

import hashlib
import re
from typing import Any

import nbformat
from nbformat import NotebookNode

NEW = "-new-"  # in the id of a cell that shows a new version, after the id of the learner's cell
_NOTE = """<div lang="en">

**The course has a new version of the cell above.** You had changed that cell, so yours stayed. This cell is only a note: delete it when you like.

</div>
<div lang="zh-Hant">

課程更新了**上面這一格**。因為你改過，所以保留的是你的內容；這一格只是說明，看完就可以刪掉。

</div>
<details><summary><span lang="en">The course's new version</span><span lang="zh-Hant">課程的新版</span></summary>

{fence}{language}
{source}
{fence}

</details>"""


def _read(content: bytes) -> NotebookNode:
    """Return a notebook whose cells all have an id of their own; nbformat gives one to a cell without.

    Raises:
        ValueError: The content is no notebook.
    """
    return nbformat.v4.upgrade(nbformat.reads(content.decode("utf-8"), as_version=4))


def _written(notebook: NotebookNode) -> bytes:
    return f"{nbformat.writes(notebook).rstrip()}\n".encode()


def without_outputs(content: bytes) -> bytes:
    """Return a notebook of the course as a learner gets it: nothing is run, no answer is seen.

    Raises:
        ValueError: The content is no notebook.
    """
    notebook = _read(content)
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            cell.metadata.pop("course", None)  # which code it was that has left the outputs
    return _written(notebook)


def _same(one: NotebookNode | None, other: NotebookNode | None) -> bool:
    """Return whether two cells say the same; what is folded and what was printed does not count."""
    return bool(one and other) and (one.cell_type, one.source) == (other.cell_type, other.source)


def _known_by_text(mine: NotebookNode, base: NotebookNode) -> None:
    """Give a cell of the learner its id of the course back: a cell that was cut and pasted has a new one."""
    ids = {cell["id"] for cell in mine.cells}
    missing = {(cell.cell_type, cell.source): cell["id"] for cell in base.cells if cell["id"] not in ids}
    known = {cell["id"] for cell in base.cells}
    for cell in mine.cells:
        if cell["id"] not in known:
            cell["id"] = missing.pop((cell.cell_type, cell.source), cell["id"])


def _in_order(skeleton: list[str], other: list[str], wanted: set[str]) -> list[str]:
    """Return the ids of both lists: those that only `other` has follow the one that they follow there."""
    order = [name for name in skeleton if name in wanted or name in other]
    previous = None
    for name in other:
        if name not in order:
            order.insert(order.index(previous) + 1 if previous else 0, name)
        previous = name
    return [name for name in order if name in wanted]


def _note(cell: NotebookNode) -> NotebookNode:
    """Return a cell that shows the course's new version of one that the learner has changed."""
    longest = max(map(len, re.findall("`+", cell.source)), default=0)
    language = "python" if cell.cell_type == "code" else "markdown"
    source = _NOTE.format(fence="`" * max(3, longest + 1), language=language, source=cell.source)
    end = NEW + hashlib.sha256(cell.source.encode()).hexdigest()[:8]
    return nbformat.v4.new_markdown_cell(source, id=cell["id"][: 64 - len(end)] + end)


def merged(before: bytes | None, mine: bytes, course: bytes) -> tuple[bytes, list[str]]:
    """Merge what a learner made of a notebook with the course's new version.

    A cell that the learner has not changed becomes the course's. One that the learner has changed or written stays as it is, one
    that the learner has deleted stays deleted. Outputs stay below code that stays.

    Args:
        before: What the learner had got, without outputs; None if that is not known.
        mine: What the learner made of it.
        course: What the course delivers now, without outputs.

    Returns:
        The notebook, and the ids of the cells that both have changed: below each one, a new cell shows the course's version.

    Raises:
        ValueError: The learner's file is no notebook.
    """
    result, new = _read(mine), _read(course)
    base = _read(before) if before else nbformat.v4.new_notebook()
    _known_by_text(result, base if before else new)
    old, own, now = ({cell["id"]: cell for cell in nb.cells} for nb in (base, result, new))

    cells: dict[str, Any] = {}
    both: list[str] = []
    for name in own | now:
        ours, its, was = own.get(name), now.get(name), old.get(name)
        if not ours:
            cells[name] = None if was else its  # deleted by the learner; new in the course
        elif not its:
            cells[name] = None if _same(ours, was) else ours  # deleted by the course; the learner's
        else:
            if _same(ours, was) and not _same(ours, its):
                its.metadata = NotebookNode(ours.metadata | its.metadata)
                cells[name] = its
                continue
            ours.metadata.update(its.metadata)
            cells[name] = ours
            both += [name] * (not _same(ours, its) and not _same(its, was))
    wanted = {name for name, cell in cells.items() if cell}

    kept = [name for name in own if name in old]
    moved = kept != [name for name in old if name in own]  # the learner has put cells into another order
    order = _in_order(list(own), list(now), wanted) if moved else _in_order(list(now), list(own), wanted)
    for name in both:
        note, last = _note(now[name]), _note(old[name]) if name in old else None
        if last and _same(own.get(last["id"]), last):  # of the version before, as it was written
            order.remove(last["id"])
        if note["id"] not in cells:
            order.insert(order.index(name) + 1, note["id"])
            cells[note["id"]] = note
    result.cells = [cells[name] for name in order]
    result.metadata.update(course=new.metadata.get("course", {}))  # the kernel is the learner's choice
    return _written(result), both
