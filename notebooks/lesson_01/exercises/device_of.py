"""Exercise ``device_of(job, devices) -> device``: the devices in turn."""

from typing import Any

import torch

from bilingual import Bilingual, Block
from course_utils.exercises import Mistake, Mistakes
from course_utils.tables import table, value
from lesson_01.asked import asked

THREE = [torch.device(f"cuda:{i}") for i in range(3)]
JOBS = range(7)


def _dealt(answer: Any) -> list[Any]:
    try:
        return [answer(job, [*THREE]) for job in JOBS]
    except IndexError:
        raise Mistake("beyond_the_list") from None


def judge(answer: Any) -> Mistakes:
    """Deal seven jobs to three devices, then one to the CPU alone."""
    first = answer(0, [*THREE])
    yield first is None, "returned_none"
    yield isinstance(first, (int, str)), "no_device", {"got": first, "kind": type(first).__name__}
    dealt, right = _dealt(answer), [THREE[job % 3] for job in JOBS]
    yield len(set(dealt)) == 1, "always_the_same", {"device": dealt[0]}
    yield dealt != right and dealt[:3] == right[:3], "not_anew", {"device": dealt[3]}
    yield dealt != right, "other_order", {"first": dealt[0], "second": dealt[1]}
    got = answer(4, [torch.device("cpu")])
    yield got != torch.device("cpu"), "not_from_the_list", {"got": got}


def show(answer: Any) -> Block:
    """Return which of three devices gets which jobs."""
    given = [value(asked(answer, job, [*THREE])) for job in JOBS]
    names = dict.fromkeys([*map(value, THREE), *given])
    rows = [(name, ", ".join(str(job) for job in JOBS if given[job] == name) or "-") for name in names]
    return table((Bilingual("device", "裝置"), Bilingual("jobs 0 to 6", "0 到 6 號工作")), rows)
