"""Exercise ``rank0``: rank 0 downloads, the others wait, all read."""

from course_utils.exercises import Mistakes
from shared.script_exercise import Facts, on_script


@on_script()
def judge(found: Facts) -> Mistakes:
    """Look at who saved, who loaded, and whether a collective was between."""
    saved = [len(record["saved"]) for record in found.ranks]
    yield sum(saved) > 1, "both_download"
    yield saved != [1, 0], "rank_1_downloads"
    for rank, record in enumerate(found.ranks):
        yield not record["loaded"], "does_not_read", {"rank": rank}
    waits = found.called(1)
    yield not waits and found.has(r"exists\(|is_file\("), "name_only"
    yield not waits, "nobody_waits"


show = judge.show
