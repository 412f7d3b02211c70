"""The scripts that the tests of lesson 06 examine: solutions, typical wrong answers, and other right answers."""

from __future__ import annotations

from typing import Any

from script_outcomes import run_together

from lesson_06 import checks
from lesson_06.wrong_answers import SOLUTIONS, WRONG

EXERCISES = {exercise.name: exercise for exercise in checks.EXERCISES}


def text(source: str) -> Any:
    """Return what the learner's cell with `source` calls ``script``."""
    namespace: dict[str, Any] = {}
    exec(compile(source, "<cell>", "exec"), namespace)
    return namespace["script"]


def corrected(*changes: tuple[str, str]) -> str:
    script = text(SOLUTIONS["mend_ddp"])
    script = "\n".join(line.partition("  # ")[0] for line in script.split("\n"))
    return changed(script, *changes)


def changed(script: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in script
        script = script.replace(old, new)
    return script


REDUCE = "    dist.all_reduce(loss)"

_BY_HAND = """
import os
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

local_rank = int(os.environ["LOCAL_RANK"])
dist.init_process_group(backend="gloo")
world_size = dist.get_world_size()
x = torch.linspace(-3, 3, 640).unsqueeze(1)
dataset = TensorDataset(x, torch.sin(x))
sampler = DistributedSampler(dataset, world_size, dist.get_rank(), seed=7)
loader = DataLoader(dataset, 64 // world_size, False, sampler, num_workers=2, persistent_workers=True)
model = torch.nn.Linear(1, 1)
for parameter in model.parameters():
    dist.broadcast(parameter.data, 0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    sampler.set_epoch(epoch)
    for x, y in loader:
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= world_size
        optimizer.step()
    if not dist.get_rank():
        print(epoch, loss.item())
dist.destroy_process_group()
"""


def in_a_function(script: str) -> str:
    """Return the script with all that follows its imports in a function ``main``."""
    lines = script.strip().splitlines()
    first = next(place for place, line in enumerate(lines) if "init_process_group" in line)
    body = "".join(f"    {line}\n" for line in lines[first:])
    head = "\n".join(lines[:first])
    return f'{head}\n\ndef main():\n{body}\n\nif __name__ == "__main__":\n    main()\n'


# Right in another way: exercise, script.
RIGHT: dict[str, tuple[str, str]] = {
    "reduce to rank 0": ("mend_ddp", corrected(("dist.all_reduce(loss)", "dist.reduce(loss, 0)"))),
    "the mean by the backend": (
        "mend_ddp",
        corrected(("all_reduce(loss)", "all_reduce(loss, dist.ReduceOp.AVG)"), (" / 2", "")),
    ),
    "each rank in its own branch": (
        "mend_ddp",
        corrected(
            (f"{REDUCE}\n", ""),
            ("0:\n", f"0:\n    {REDUCE}\n"),
            (":.4f}\")", f":.4f}}\")\n    else:\n    {REDUCE}"),
        ),
    ),
    "gathered": (
        "mend_ddp",
        corrected(
            ("loss.item()", "sum(losses)"),
            ("dist.all_reduce(loss)", "losses = [None, None]; dist.all_gather_object(losses, loss.item())"),
        ),
    ),
    "other names": (
        "mend_ddp",
        corrected(("sampler = ", "s = "), ("sampler=sampler", "sampler=s"), ("sampler.set_epoch", "s.set_epoch")),
    ),
    "more is printed": ("mend_ddp", corrected(("        print(", "        print('part', 1.5)\n        print("))),
    "corrected, in a function": ("mend_ddp", in_a_function(corrected())),
    "in a function": ("distribute", in_a_function(text(SOLUTIONS["distribute"]))),
    "gradients averaged by hand": ("distribute", _BY_HAND),
}  # fmt: skip


def run_known_scripts() -> int:
    """Run all scripts in one launch, and return how many had to run.

    Not within the time limit of an answer, which is for one script.
    """
    answers = list(RIGHT.values())
    for name in ("mend_ddp", "distribute"):
        answers += [(name, text(source)) for source in (SOLUTIONS[name], *(row[0] for row in WRONG[name]))]
    return run_together((EXERCISES[name].examine, script) for name, script in answers)
