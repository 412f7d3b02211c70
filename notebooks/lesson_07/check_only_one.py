"""Exercise: which lines of a script does every rank run, which only one, which one on each machine?"""

from __future__ import annotations

from typing import Any

from bilingual import Bilingual, Block
from course_utils import facts
from course_utils.exercises import Wrong
from shared.dictionary_answers import filled_in

VALUES = ("all", "one", "one per machine")
RIGHT = {
    "loss.backward()": "all",
    "torch.save(state, shared_disk)": "one",
    "download(data, local_disk)": "one per machine",
    "dist.all_reduce(right)": "all",
    "print(epoch, mean_loss)": "one",
    "sampler.set_epoch(epoch)": "all",
}
WHY = {
    "loss.backward()": Bilingual(
        "DDP's all-reduces run in it: a rank that stays away makes all others wait.",
        "DDP 的 all-reduce 就在裡面進行，少了一個 rank，其他 rank 都會一直等。",
    ),
    "torch.save(state, shared_disk)": Bilingual(
        "All ranks hold the same state; several that write one file destroy it.",
        "每個 rank 的狀態都相同，好幾個 rank 同時寫同一個檔案，反而會寫壞。",
    ),
    "download(data, local_disk)": Bilingual(
        "Each machine has a disk of its own, and the ranks of one machine share it.",
        "每台機器有自己的磁碟，同一台機器的 rank 共用這個磁碟。",
    ),
    "dist.all_reduce(right)": Bilingual(
        "It is a collective: the sum needs the numbers of every rank.",
        "這是集體通訊，要有每個 rank 的數字才能加總。",
    ),
    "print(epoch, mean_loss)": Bilingual(
        "Everybody has the same mean; one line is enough.",
        "每個 rank 算出的平均都相同，印一行就夠了。",
    ),
    "sampler.set_epoch(epoch)": Bilingual(
        "The shares fit together only if all ranks shuffle in the same way.",
        "所有 rank 打散順序的方式都相同，各自分到的資料才拼得成完整的一份。",
    ),
}


def examine(answer: Any) -> None:
    """Examine the dictionary line → "all", "one" or "one per machine"."""
    for line, given in filled_in(answer, RIGHT).items():
        if not isinstance(given, str) or given not in VALUES:
            raise Wrong(
                en=f'`{line}`: choose one of "all", "one", "one per machine".',
                zh=f'`{line}`：請從 "all"、"one"、"one per machine" 選一個。',
            )
        if given != RIGHT[line]:
            raise Wrong(
                en=f'Not "{given}" for `{line}`. {WHY[line].en}',
                zh=f'`{line}` 不是 "{given}"。{WHY[line].zh}',
            )


def pictured(answer: Any) -> Block:
    """Return how often each line would run on two machines with four ranks each."""
    times = {"all": 8, "one": 1, "one per machine": 2}
    head = Bilingual("On 2 machines with 4 ranks each it runs", "2 台機器、每台 4 個 rank，會執行")
    rows = {
        line: Bilingual(f"{times[given]} times", f"{times[given]} 次")
        for line, given in filled_in(answer, RIGHT).items()
        if given in VALUES
    }
    return facts(fixed={head: "", **rows})
