"""All exercises whose answers are scripts: stub, solution, wrong answers, and other right answers."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from script_outcomes import run_together

from course_utils.exercises import Exercise
from shared.script_exercise import Plan, changed

MODULES = {number: import_module(f"lesson_{number}.check_scripts") for number in ("06", "07")}
EXERCISES: dict[str, Exercise] = {
    f"{number}/{exercise.name}": exercise
    for number, module in MODULES.items()
    for exercise in module.EXERCISES
}


def _file(key: str, ending: str = "") -> Path:
    number, name = key.split("/")
    return MODULES[number].SCRIPTS / f"{name}{ending}.py"


STUBS = {key: _file(key).read_text(encoding="utf-8") for key in EXERCISES}
SOLUTIONS = {key: _file(key, "_solution").read_text(encoding="utf-8") for key in EXERCISES}
WRONG: dict[str, list[tuple[str, str, str]]] = {
    f"{number}/{name}": rows
    for number in MODULES
    for name, rows in import_module(f"lesson_{number}.wrong_scripts").WRONG_SCRIPTS.items()
}


def plan(key: str) -> Plan:
    """Return how the exercise runs a script."""
    return EXERCISES[key].examine.args[2]  # type: ignore[attr-defined]


def _other(key: str, *changes: tuple[str, str]) -> str:
    return changed(_file(key, "_solution"), *changes)


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
    "gathered": ("06/metrics", _other("06/metrics", (_COUNTS, _GATHER))),
    "from the environment": ("06/together", _other("06/together", ("import torch\n", "import os\n\nimport torch\n"), ("dist.get_rank(), dist.get_world_size()", 'int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])'))),
    "an address": ("06/together", _other("06/together", ('("gloo")', '("gloo", init_method="env://", rank=int(__import__("os").environ["RANK"]), world_size=2)'))),
    "wrapped": ("06/average", _other("06/average", ("model = torch.nn.Linear(1, 1)", "model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))"), ("model.weight.item()", "model.module.weight.item()"))),
    "a collective as a barrier": ("06/rank0", _other("06/rank0", ("dist.barrier()", "dist.all_reduce(torch.zeros(1))"))),
    "a barrier in each branch": ("06/rank0", _other("06/rank0", ("    download()\n", "    download()\n    dist.barrier()\nelse:\n    "))),
    "in a function": ("06/distribute", in_a_function(SOLUTIONS["06/distribute"])),
    "imported differently": ("06/accumulate", _other("06/accumulate", ("import torch.distributed as dist", "from torch import distributed as dist"), ("nullcontext() if last else ddp.no_sync()", "ddp.no_sync() if number < 3 else nullcontext()"))),
    "averaged by hand": ("06/distribute", _other("06/distribute", ("DistributedDataParallel(torch.nn.Linear(1, 1).to(device), device_ids=ids)", "torch.nn.Linear(1, 1).to(device)"), ("optimizer =", _BROADCAST), ("        optimizer.step()", _BY_HAND))),
    "workers": ("06/distribute", _other("06/distribute", ("sampler=sampler", "sampler=sampler, num_workers=2, prefetch_factor=2, persistent_workers=True"))),
    "renamed by the path": ("07/save_once", _other("07/save_once", ("import os\n", "from pathlib import Path\n"), ('os.replace("checkpoint.part", "checkpoint.pt")', 'Path("checkpoint.part").replace("checkpoint.pt")'))),
    "decided by rank 0": ("07/resume", _other("07/resume", ("if found", "there = [file.exists()]\ndist.broadcast_object_list(there, 0)\nif there[0]"))),
}  # fmt: skip


def run_known_scripts() -> int:
    """Run all scripts in one launch, and return how many had to run."""
    scripts: list[tuple[str, Any]] = [(script, plan(key)) for key, script in RIGHT.values()]
    scripts += [(script, plan(key)) for key, script in SOLUTIONS.items()]
    scripts += [(row[0], plan(key)) for key, rows in WRONG.items() for row in rows]
    return run_together(scripts)
