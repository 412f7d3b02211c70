"""All exercises whose answers are scripts: stub, solution, wrong answers, and other right answers.

By day, one wrong answer of each exercise is run, and the solution; at night, all.
"""

import pytest
from script_outcomes import run_together

from course_utils.exercises import Exercise, exercises_of
from shared.script_exercise import ScriptJudge

EXERCISES: dict[str, Exercise] = {
    f"{number}/{name}": exercise
    for number in ("06", "07")
    for name, exercise in exercises_of(number).items()
    if isinstance(exercise.judge, ScriptJudge)
}
JUDGES: dict[str, ScriptJudge] = {key: exercise.judge for key, exercise in EXERCISES.items()}
STUBS = {key: judge.stub for key, judge in JUDGES.items()}
SOLUTIONS = {key: judge.solution for key, judge in JUDGES.items()}


def marks(key: str, mistake: str) -> list[pytest.MarkDecorator]:
    """Return the mark of tests that need the outcome of a wrong answer to an exercise, if that is run at night only."""
    by_day = key not in EXERCISES or mistake == next(iter(EXERCISES[key].wrong))
    return [] if by_day else [pytest.mark.nightly]


def _other(key: str, *changes: tuple[str, str]) -> tuple[str, str]:
    """Return the solution with pieces of its text replaced, each of which must be there."""
    source = SOLUTIONS[key]
    for old, new in changes:
        assert old in source, f"the solution has no {old!r}"
        source = source.replace(old, new)
    return key, source


def in_a_function(script: str) -> str:
    """Return the script with all that follows its imports in a function ``main``."""
    lines = script.strip().splitlines()
    first = max(place for place, line in enumerate(lines) if line.startswith(("import", "from"))) + 1
    body = "".join(f"    {line}\n" for line in lines[first:])
    head = "\n".join(lines[:first])
    return f'{head}\n\ndef main():\n{body}\n\nif __name__ == "__main__":\n    main()\n'


_GATHER = "everything = [None] * world_size\ndist.all_gather_object(everything, right.item())\naccuracy = sum(everything) / 7"
_BY_HAND = "        for p in model.parameters():\n            dist.all_reduce(p.grad)\n            p.grad /= world_size\n        optimizer.step()"
_BROADCAST = "for p in model.parameters():\n    dist.broadcast(p.data, 0)\noptimizer ="
_COUNTS = "accuracy = (counts[0] / counts[1]).item()"
# Right in another way: exercise, script.
RIGHT: dict[str, tuple[str, str]] = {
    "gathered": _other("06/metrics", (_COUNTS, _GATHER)),
    "from the environment": _other("06/together", ("import torch\n", "import os\n\nimport torch\n"), ("dist.get_rank(), dist.get_world_size()", 'int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])')),
    "an address": _other("06/together", ('("gloo")', '("gloo", init_method="env://", rank=int(__import__("os").environ["RANK"]), world_size=2)')),
    "wrapped": _other("06/average", ("model = torch.nn.Linear(1, 1)", "model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))"), ("model.weight.item()", "model.module.weight.item()")),
    "a collective as a barrier": _other("06/rank0", ("dist.barrier()", "dist.all_reduce(torch.zeros(1))")),
    "a barrier in each branch": _other("06/rank0", ("    download()\n", "    download()\n    dist.barrier()\nelse:\n    ")),
    "in a function": ("06/distribute", in_a_function(SOLUTIONS["06/distribute"])),
    "imported differently": _other("06/accumulate", ("import torch.distributed as dist", "from torch import distributed as dist"), ("nullcontext() if last else ddp.no_sync()", "ddp.no_sync() if number < 3 else nullcontext()")),
    "averaged by hand": _other("06/distribute", ("DistributedDataParallel(torch.nn.Linear(1, 1).to(device), device_ids=ids)", "torch.nn.Linear(1, 1).to(device)"), ("optimizer =", _BROADCAST), ("        optimizer.step()", _BY_HAND)),
    "workers": _other("06/distribute", ("sampler=sampler", "sampler=sampler, num_workers=2, prefetch_factor=2, persistent_workers=True")),
    "renamed by the path": _other("07/save_once", ("import os\n", "from pathlib import Path\n"), ('os.replace("checkpoint.part", "checkpoint.pt")', 'Path("checkpoint.part").replace("checkpoint.pt")')),
    "a device by the local rank": _other("07/save_once", ("import torch\n", 'import torch\n\nlocal = int(os.environ.get("LOCAL_RANK", 0))\ndevice = f"cuda:{local}" if torch.cuda.device_count() > 1 else "cpu"\n')),
    "decided by rank 0": _other("07/resume", ("if found", "there = [file.exists()]\ndist.broadcast_object_list(there, 0)\nif there[0]")),
}  # fmt: skip


def run_known_scripts(night: bool) -> int:
    """Run the scripts of the day, or all, in one launch, and return how many had to run."""
    known = [*SOLUTIONS.items(), *(RIGHT.values() if night else [])]
    known += [
        (key, text)
        for key, exercise in EXERCISES.items()
        for mistake, texts in exercise.wrong.items()
        for text in texts
        if night or not marks(key, mistake)
    ]
    return run_together([(text, JUDGES[key].plan) for key, text in known])
