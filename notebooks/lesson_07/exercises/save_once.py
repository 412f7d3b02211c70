"""Exercise ``save_once``: rank 0 writes and renames, the other waits, both read."""

from __future__ import annotations

from course_utils.exercises import Mistakes
from shared.script_exercise import Facts, on_script


@on_script()
def judge(found: Facts) -> Mistakes:
    """Look at which files each rank wrote, renamed and read."""
    first, second = found.ranks
    yield second["saved"] and first["saved"], "both_write"
    yield found.has("LOCAL_RANK"), "writer_per_machine"
    yield second["saved"], "rank_1_writes"
    yield "checkpoint.pt" in first["saved"], "straight"
    yield "checkpoint.pt" not in first["moved"], "no_replace"
    for rank, record in enumerate(found.ranks):
        yield "checkpoint.pt" not in record["loaded"], "does_not_read", {"rank": rank}
    yield not found.called(1), "nobody_waits"


show, changed = judge.show, judge.changed
_REPLACE, _WAIT = '    os.replace("checkpoint.part", "checkpoint.pt")\n', "dist.barrier()"
WRONG = {
    "both_write": changed(
        ("if rank == 0:\n", "if rank >= 0:\n"), (_REPLACE, f"    if rank == 0:\n    {_REPLACE}")
    ),
    "writer_per_machine": changed(("if rank == 0", 'if os.environ["LOCAL_RANK"] == "0"')),
    "rank_1_writes": changed(("rank == 0", "rank == 1")),
    "straight": changed(('checkpoint.part")  #', 'checkpoint.pt")  #'), (_REPLACE, "")),
    "no_replace": changed(("import os\n", "import os, shutil\n"), ("os.replace(", "shutil.copy(")),
    "file_not_there": (changed((_REPLACE, "")), changed((f"{_WAIT}\n", ""))),
    "nobody_waits": changed((_WAIT, "time.sleep(2.5)")),
    "not_entered": changed((_WAIT, f"    {_WAIT}")),
    "out_of_step": changed((_WAIT, f"    {_WAIT}"), ("weights =", "time.sleep(2)\nweights =")),
    "does_not_read": changed(("weights = torch.load", "weights = rank and [1] or torch.load")),
}
