"""Exercise ``save_once``: rank 0 writes and renames, the other waits, both read."""

import ast

from course_utils.exercises import Mistakes
from shared.script_exercise import Facts, on_script


def _asks_local_rank(script: str) -> bool:
    """Return whether a script decides anything by LOCAL_RANK, itself or in a variable; a device may be named after it."""
    tree = ast.parse(script)
    given = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    values = [(ast.unparse(node.value), node.targets[0]) for node in given]
    names = {ast.unparse(to) for value, to in values if "LOCAL_RANK" in value and "device" not in value} | {
        "LOCAL_RANK"
    }
    tests = [node.test for node in ast.walk(tree) if isinstance(node, (ast.If, ast.IfExp))]
    parts = [part for test in tests if " in os.environ" not in ast.unparse(test) for part in ast.walk(test)]
    return any(getattr(part, "id", getattr(part, "value", None)) in names for part in parts)


@on_script()
def judge(found: Facts) -> Mistakes:
    """Look at which files each rank wrote, renamed and read."""
    first, second = found.ranks
    yield second["saved"] and first["saved"], "both_write"
    yield _asks_local_rank(found.text), "writer_per_machine"
    yield second["saved"], "rank_1_writes"
    yield "checkpoint.pt" in first["saved"], "straight"
    yield "checkpoint.pt" not in first["moved"], "no_replace"
    for rank, record in enumerate(found.ranks):
        yield "checkpoint.pt" not in record["loaded"], "does_not_read", {"rank": rank}
    yield not found.called(1), "nobody_waits"


show = judge.show
