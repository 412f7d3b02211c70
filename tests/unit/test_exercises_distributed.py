"""The exercises of lesson 06: the simulated ring, scripts that are right in another way, and processes that really run.

What a wrong answer is told is tested with those of all lessons, in ``test_exercises.py``.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from script_outcomes import run_together
from torch.utils.data import DistributedSampler

from course_utils import exercises as engine
from course_utils.exercises import Answer, distributed, examine
from course_utils.exercises.distributed import (
    LENGTH,
    SOLUTIONS,
    STUBS,
    Outcome,
    Ring,
    Wrong,
    examine_ring,
    examine_shares,
)

EXERCISES = {exercise.name: exercise for exercise in distributed.EXERCISES}


def value(source: str) -> Any:
    """Return what `source` defines: the answer of its exercise."""
    namespace: dict[str, Any] = {"torch": torch, "check": lambda *_: None}
    exec(compile(source, "<cell>", "exec"), namespace)
    return next(namespace[name] for name in ("ring_all_reduce", "answers", "script") if name in namespace)


@pytest.mark.parametrize("name", EXERCISES)
def test_the_stub_is_not_yet(name: str) -> None:
    assert examine(EXERCISES[name], value(STUBS[name])).state == "notyet"


def test_a_stub_fits_into_a_cell() -> None:
    for stub in STUBS.values():
        lines = stub.rstrip().splitlines()
        assert len(lines) <= 25 and max(map(len, lines)) <= 88


def test_a_comment_or_a_blank_line_mends_nothing() -> None:
    for name in ("mend_ddp", "distribute"):
        script = value(STUBS[name]).replace("for epoch", "# here?\n\n\nfor epoch")
        assert examine(EXERCISES[name], script).state == "notyet"
        assert examine(EXERCISES[name], "\n\n").state == "notyet"


# --- ring ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_the_solution_sends_what_the_formula_says(size: int) -> None:
    ring = Ring(size)
    ring.run(value(SOLUTIONS["ring_all_reduce"]))
    for rank in range(size):
        assert sum(tensor.numel() for tensor in ring.sent[rank]) == 2 * (size - 1) * LENGTH
        assert len(ring.sent[rank]) == len(ring.received[rank]) == 2 * (size - 1)
        for tensor, left in zip(ring.received[rank], ring.sent[rank - 1], strict=True):
            assert torch.equal(tensor, left), "what arrives is what the left neighbour sent in that step"


def test_the_sums_by_hand() -> None:
    """Chunks 0 and 1 bear the primes 7 and 11, and a rank counts as 1000 to its power."""
    ring = Ring(2)
    assert [float(chunk[0]) for chunk in ring.start(1)] == [7000, 11000]
    ring.run(value(SOLUTIONS["ring_all_reduce"]))
    assert [[float(chunk[0]) for chunk in held] for held in ring.held] == [[7007, 11011]] * 2
    assert distributed._shares(7007.0, 0, 2) == [1, 1] and distributed._shares(14007.0, 0, 2) == [1, 2]
    for no_sum in (7018.0, 3503.5, -7.0, float("inf"), float("nan"), 7_000_007_007.0):
        assert distributed._shares(no_sum, 0, 2) is None


ALSO_RIGHT = {
    "from the other end": """
def ring_all_reduce(chunks, rank, size, exchange):
    for step in range(size - 1):
        chunks[(rank - 1 - step) % size].add_(exchange(chunks[(rank - step) % size]))
    for step in range(size - 1):
        chunks[(rank - step) % size].copy_(exchange(chunks[(rank + 1 - step) % size]))
""",
    "with another first chunk": """
def ring_all_reduce(chunks, rank, size, exchange):
    k = (rank + 3) % size
    for step in range(2 * (size - 1)):
        received = exchange(chunks[k])
        k = (k - 1) % size
        chunks[k] = chunks[k] + received if step < size - 1 else received
""",
    "pieces of a chunk": """
def ring_all_reduce(chunks, rank, size, exchange):
    for step in range(2 * (size - 1)):
        mine, other = (rank - step) % size, (rank - step - 1) % size
        halves = [exchange(half) for half in chunks[mine].chunk(2)]
        received = torch.cat(halves)
        chunks[other] = chunks[other] + received if step < size - 1 else received
""",
}


@pytest.mark.parametrize("way", ALSO_RIGHT)
def test_other_rings_are_right_as_well(way: str) -> None:
    examine_ring(value(ALSO_RIGHT[way]))


def test_what_a_rank_prints_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    source = SOLUTIONS["ring_all_reduce"] + "    print('rank', rank, 'of', size)\n"
    assert examine(EXERCISES["ring_all_reduce"], value(source)).state == "solved"
    assert capsys.readouterr().out.count("of 4") == 4


# --- shares -------------------------------------------------------------------------------------------


def test_the_shares_are_what_the_sampler_gives() -> None:
    def share(samples: int, ranks: int, rank: int, **options: Any) -> list[int]:
        return list(DistributedSampler(range(samples), ranks, rank, shuffle=False, **options))

    sampler = DistributedSampler(range(100), 2, 0, shuffle=True)
    orders = [list(sampler) for _ in range(2)]
    sampler.set_epoch(1)
    right = (
        share(7, 2, 0), share(7, 2, 1), share(7, 2, 1, drop_last=True), share(5, 4, 3),
        len(share(7, 2, 0)) + len(share(7, 2, 1)), orders[0] == orders[1],
    )  # fmt: skip
    assert list(distributed._SHARES.values()) == list(right) and orders[0] != list(sampler)
    examine_shares(dict(zip(distributed._SHARES, right, strict=True)))
    examine_shares(dict(zip(distributed._SHARES, map(tuple, right[:4]), strict=False)) | {
        key: found for key, found in list(distributed._SHARES.items())[4:]
    })  # fmt: skip


# --- scripts ------------------------------------------------------------------------------------------


def mended(*changes: tuple[str, str]) -> str:
    script = value(SOLUTIONS["mend_ddp"])
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
    "reduce to rank 0": ("mend_ddp", mended(("dist.all_reduce(loss)", "dist.reduce(loss, 0)"))),
    "the mean by the backend": (
        "mend_ddp",
        mended(("all_reduce(loss)", "all_reduce(loss, dist.ReduceOp.AVG)"), (" / 2", "")),
    ),
    "each rank in its own branch": (
        "mend_ddp",
        mended(
            (f"{REDUCE}\n", ""),
            ("0:\n", f"0:\n    {REDUCE}\n"),
            (":.4f}\")", f":.4f}}\")\n    else:\n    {REDUCE}"),
        ),
    ),
    "gathered": (
        "mend_ddp",
        mended(
            ("loss.item()", "sum(losses)"),
            ("dist.all_reduce(loss)", "losses = [None, None]; dist.all_gather_object(losses, loss.item())"),
        ),
    ),
    "other names": (
        "mend_ddp",
        mended(("sampler = ", "s = "), ("sampler=sampler", "sampler=s"), ("sampler.set_epoch", "s.set_epoch")),
    ),
    "more is printed": ("mend_ddp", mended(("        print(", "        print('part', 1.5)\n        print("))),
    "mended in a function": ("mend_ddp", in_a_function(mended())),
    "in a function": ("distribute", in_a_function(value(SOLUTIONS["distribute"]))),
    "gradients averaged by hand": ("distribute", _BY_HAND),
}  # fmt: skip


@pytest.fixture(scope="module")
def known() -> Iterator[None]:
    run_together((EXERCISES[name].examine, script) for name, script in RIGHT.values())
    yield


@pytest.mark.parametrize("way", RIGHT)
def test_other_right_scripts_pass(way: str, known: None) -> None:
    name, script = RIGHT[way]
    assert examine(EXERCISES[name], script) == Answer("solved", engine._SOLVED)


@pytest.fixture
def forgotten(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is remembered, and the scripts lie in this test's own folder."""
    monkeypatch.setattr(distributed, "_outcomes", {})
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def processes(folder: Path) -> set[int]:
    """Return the processes that run a script in `folder` (Linux)."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in (process / "cmdline").read_bytes():
                found.add(int(process.name))
        except OSError:
            continue
    return found


def left_in(folder: Path, seconds: float = 10) -> list[Any]:
    """Return what is still there of a script that was stopped, when it has had time to go."""
    end = time.monotonic() + seconds
    while (left := [*processes(folder), *folder.iterdir()]) and time.monotonic() < end:
        time.sleep(0.05)
    return left


def test_a_launch_tidies_up_while_the_answer_is_interrupted_again_and_again(
    forgotten: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tidied: list[bool] = []

    def launch(*_: Any, wanted: Callable[[], bool], **__: Any) -> None:
        while wanted():
            time.sleep(0.001)
        for _ in range(300):  # as long as 150 interruptions
            time.sleep(0.001)
        tidied.append(True)
        raise KeyboardInterrupt

    monkeypatch.setattr("course_utils.launcher.launch", launch)
    answer = examine(EXERCISES["mend_ddp"], mended(), seconds=0.2)
    assert answer.state == "wrong" and "was stopped" in answer.message.en
    assert not left_in(tmp_path) and tidied


def test_what_keeps_a_script_from_being_launched_is_not_swallowed(
    forgotten: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def launch(*_: Any, **__: Any) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr("course_utils.launcher.launch", launch)
    with pytest.raises(OSError, match="no more processes"):
        distributed.outcome("pass")
    assert not distributed._outcomes


def test_a_script_is_really_launched_and_only_once(
    forgotten: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = value(SOLUTIONS["distribute"])
    assert examine(EXERCISES["distribute"], script).state == "solved"
    found = distributed._outcomes[script.rstrip() + "\n"]
    assert [len(notes["samples"]) for notes in found.notes if notes] == [30, 30]
    assert [notes["world_size"] for notes in found.notes if notes] == [2, 2]
    assert [len(lines) for lines in found.printed] == [3, 0]
    assert all(type(sample) is int for notes in found.notes if notes for sample in notes["samples"][0])
    monkeypatch.setattr("course_utils.launcher.launch", None)
    assert examine(EXERCISES["distribute"], script + "\n\n").state == "solved", "remembered"
    if sys.platform == "linux":
        assert not processes(tmp_path)


def test_a_rank_that_raises_is_named_by_the_real_launcher(forgotten: None) -> None:
    """Rank 1 raises while rank 0 waits for it: the cause is told, not what followed from it."""
    script = mended(
        ("    sampler.set_epoch(epoch)", "    sampler.set_epoch(epoch if dist.get_rank() == 0 else None)")
    )
    told = examine(EXERCISES["mend_ddp"], script).message
    assert (
        "Rank 1 of your script stopped in line 15: TypeError" in told.en and "rank 1 停在第 15 行" in told.zh
    )


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_script_that_never_ends_is_stopped_and_leaves_nothing(forgotten: None, tmp_path: Path) -> None:
    script = mended(("    dist.all_reduce(loss)", "    while True: pass\n    dist.all_reduce(loss)"))
    seen: set[int] = set()
    threading.Timer(2.5, lambda: seen.update(processes(tmp_path))).start()
    start = time.monotonic()
    answer = examine(EXERCISES["mend_ddp"], script, seconds=3)
    assert time.monotonic() - start < 3 + 2
    assert answer.state == "wrong" and "was stopped" in answer.message.en
    assert seen, "there was nothing to stop"
    assert not left_in(tmp_path)


def test_what_a_busy_machine_did_not_finish_is_tried_again(
    forgotten: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Late:
        results, lines, seconds = [None, None], [], 1e9

    launched: list[str] = []
    monkeypatch.setattr(
        "course_utils.launcher.launch", lambda script, *_, **__: launched.append(script) or Late
    )
    for _ in range(2):
        assert "out of step" in examine(EXERCISES["mend_ddp"], mended()).message.en
    assert len(launched) == 2 and not distributed._outcomes


def test_one_process_by_hand() -> None:
    """At slope 0 and offset 0, a batch of the samples -3 and 3: the gradients are -2 · 3 · sin 3 and 0."""
    sine = float(torch.sin(torch.tensor(3.0)))
    end, losses = distributed._one_process([0.0, 0.0], [[0, 639]])
    assert end == pytest.approx([0.1 * 2 * 3 * sine, 0.0]) and losses == pytest.approx([sine**2])


def test_the_trainings_differ_enough_to_be_told_apart() -> None:
    """Other batches, a summed gradient, another rate: none ends within the tolerance."""
    order = torch.randperm(640, generator=torch.Generator().manual_seed(1)).tolist()
    batches = [order[k : k + 64] for k in range(0, 640, 64)] * 3
    end, _ = distributed._one_process([0.5, 0.5], batches)
    others = [
        [order[k : k + 32] for k in range(0, 640, 32)] * 3,
        batches[::-1],
        [sorted(order)[k : k + 64] for k in range(0, 640, 64)] * 3,
    ]
    for other in others:
        assert not distributed._close(end, distributed._one_process([0.5, 0.5], other)[0])


def test_the_harness_can_fail() -> None:
    """An outcome in which nobody trained is no solution."""
    notes = {
        "samples": [],
        "start": [],
        "end": [],
        "epochs": [],
        "forwards": 0,
        "world_size": 2,
        "open": False,
    }
    with pytest.raises(Wrong, match="There should be 30 steps"):
        distributed._must_train_alike([notes, notes])
    with pytest.raises(Wrong, match="it prints 0 in all"):
        distributed._must_print_once(((), ()))
    assert not Outcome((None, None), ((), ()), True).notes[0]
