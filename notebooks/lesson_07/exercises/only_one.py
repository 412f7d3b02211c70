"""Exercise ``only_one``: which lines of a script does every rank run, which only one, which one on each machine?"""

from typing import Any

from bilingual import Bilingual, Block
from course_utils.exercises import Mistakes
from course_utils.returned import filled_in
from course_utils.tables import table

TIMES = {"all": 8, "one": 1, "one per machine": 2}  # on two machines with four ranks each
LINES = {  # the right value, and the mistake of another one
    "loss.backward()": ("all", "backward"),
    "torch.save(state, shared_disk)": ("one", "save"),
    "download(data, local_disk)": ("one per machine", "download"),
    "dist.all_reduce(right)": ("all", "all_reduce"),
    "print(epoch, mean_loss)": ("one", "print"),
    "sampler.set_epoch(epoch)": ("all", "set_epoch"),
}


def judge(answer: Any) -> Mistakes:
    """Compare the value of each line."""
    for line, given in filled_in(answer, LINES).items():
        right, mistake = LINES[line]
        yield not isinstance(given, str) or given not in TIMES, "no_choice", {"line": line}
        yield given != right, mistake, {"line": line, "given": given}


def show(answer: Any) -> Block:
    """Return how often each line would run."""
    head = ("", Bilingual("On 2 machines with 4 ranks each it runs", "2 台機器、每台 4 個 rank，會執行"))
    times = {line: TIMES[given] for line, given in filled_in(answer, LINES).items() if given in TIMES}
    return table(head, [(f"`{line}`", Bilingual(f"{n} times", f"{n} 次")) for line, n in times.items()])
