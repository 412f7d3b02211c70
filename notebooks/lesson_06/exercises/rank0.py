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


show, changed = judge.show, judge.changed
_WAIT, _READ = "dist.barrier()  # all ranks, rank 0 after the download", "data = torch.load(file)"
WRONG = {
    "both_download": changed(("if rank == 0:\n    download()", "download()")),
    "rank_1_downloads": changed(("rank == 0", "rank == 1")),
    "file_not_there": (
        changed((_WAIT, "pass")),
        changed((_WAIT, ""), ("if rank == 0", "dist.barrier()\nif rank == 0")),
    ),
    "not_entered": changed((_WAIT, "    dist.barrier()")),
    "out_of_step": changed((_WAIT, "    dist.barrier()"), (_READ, f"time.sleep(2)\n{_READ}")),
    "name_only": changed((_WAIT, "while not file.exists():\n    time.sleep(0.1)\ntime.sleep(0.5)")),
    "nobody_waits": changed((_WAIT, "time.sleep(2.5)")),
    "does_not_read": changed((_READ, f"{_READ} if rank == 0 else []")),
}
