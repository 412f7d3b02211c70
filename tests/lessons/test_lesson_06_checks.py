"""The checkers of lesson 06: the simulated ring, other right answers, and scripts that really run in two processes.

What wrong answers get is tested with those of all lessons, in ``test_exercises.py``.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from lesson_06_scripts import EXERCISES, RIGHT, corrected
from lesson_cells import cells
from torch.utils.data import DistributedSampler

from course_utils.exercises import Wrong, examine
from lesson_06 import check_ring, check_scripts, check_shares, checks, script_run
from lesson_06.check_ring import LENGTH, Ring
from lesson_06.script_run import Outcome
from lesson_06.wrong_answers import SOLUTIONS

STUBS = Path(checks.__file__).with_name("stubs")


def value(source: str) -> Any:
    """Return what `source` defines: the answer of its exercise."""
    namespace: dict[str, Any] = {"torch": torch}
    exec(compile(source, "<cell>", "exec"), namespace)
    return next(namespace[name] for name in ("ring_all_reduce", "answers", "script") if name in namespace)


def test_a_stub_fits_into_a_cell() -> None:
    stubs = [cell.text for cell in cells("code") if cell.lesson == "06" and "\ncheck(" in cell.text]
    assert len(stubs) == len(EXERCISES)
    for stub in stubs:
        lines = stub.rstrip().splitlines()
        assert len(lines) <= 25 and max(map(len, lines)) <= 88


def test_a_comment_or_a_blank_line_is_no_answer() -> None:
    for name in ("mend_ddp", "distribute"):
        stub = (STUBS / f"{name}.py").read_text(encoding="utf-8")
        script = stub.replace("for epoch", "# here?\n\n\nfor epoch")
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
    """Chunks 0 and 1 have the primes 7 and 11, and rank r the factor 1000 ** r."""
    ring = Ring(2)
    assert [float(chunk[0]) for chunk in ring.start(1)] == [7000, 11000]
    ring.run(value(SOLUTIONS["ring_all_reduce"]))
    assert [[float(chunk[0]) for chunk in chunks] for chunks in ring.chunks] == [[7007, 11011]] * 2
    assert check_ring._contributions(7007.0, 0, 2) == [1, 1]
    assert check_ring._contributions(14007.0, 0, 2) == [1, 2]
    assert check_ring._contributions(22011.0, 1, 2) == [1, 2], "chunk 1"
    for no_sum in (7018.0, 3503.5, -7.0, float("inf"), float("nan"), 7_000_007_007.0):
        assert check_ring._contributions(no_sum, 0, 2) is None


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
    check_ring.examine(value(ALSO_RIGHT[way]))


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
    assert list(check_shares.RIGHT.values()) == list(right) and orders[0] != list(sampler)
    check_shares.examine(dict(zip(check_shares.RIGHT, right, strict=True)))
    check_shares.examine(dict(zip(check_shares.RIGHT, map(tuple, right[:4]), strict=False)) | {
        key: found for key, found in list(check_shares.RIGHT.items())[4:]
    })  # fmt: skip


# --- scripts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", RIGHT)
def test_other_right_scripts_pass(way: str, known_scripts: None) -> None:
    name, script = RIGHT[way]
    assert examine(EXERCISES[name], script).state == "solved"


@pytest.fixture
def no_outcomes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Empty the cache of outcomes, and put scripts into this test's own folder."""
    monkeypatch.setattr(script_run, "outcomes", {})
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


def test_a_failing_launch_is_not_hidden(no_outcomes: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def launch(*_: Any, **__: Any) -> None:
        raise OSError("no more processes")

    monkeypatch.setattr(script_run, "launch", launch)
    with pytest.raises(OSError, match="no more processes"):
        script_run.outcome("pass")
    assert not script_run.outcomes


def test_a_script_is_really_launched_and_only_once(
    no_outcomes: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = value(SOLUTIONS["distribute"])
    assert examine(EXERCISES["distribute"], script).state == "solved"
    found = script_run.outcomes[script.rstrip() + "\n"]
    records = [record for record in found.records if record]
    assert [len(record["samples"]) for record in records] == [30, 30]
    assert [record["world_size"] for record in records] == [2, 2]
    assert [len(lines) for lines in found.printed] == [3, 0]
    assert all(type(sample) is int for record in records for sample in record["samples"][0])
    monkeypatch.setattr(script_run, "launch", None)
    assert examine(EXERCISES["distribute"], script + "\n\n").state == "solved", "from the cache"
    assert not list(tmp_path.iterdir())
    if sys.platform == "linux":
        assert not processes(tmp_path)


@pytest.mark.nightly  # the other tests see both parts: hints in one shared launch, the launcher its own failures
def test_a_rank_that_raises_is_named_and_an_endless_one_is_stopped(no_outcomes: None, tmp_path: Path) -> None:
    """With the real launcher: rank 1 raises while rank 0 never ends."""
    endless = "    while dist.get_rank() == 0: pass\n    sampler.set_epoch(None)"
    script = corrected(("    sampler.set_epoch(epoch)", endless))
    seen: set[int] = set()
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.2):
            seen.update(processes(tmp_path))

    (watcher := threading.Thread(target=look)).start()
    try:
        message = examine(EXERCISES["mend_ddp"], script).message
    finally:
        over.set()
        watcher.join()
    assert "Rank 1 of your script stopped in line 16: TypeError" in message.en
    assert "rank 1 停在第 16 行" in message.zh
    assert not list(tmp_path.iterdir())
    if sys.platform == "linux":
        assert seen, "there was nothing to stop"
        assert not processes(tmp_path)


def test_what_a_busy_machine_did_not_finish_is_tried_again(
    no_outcomes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Late:
        results, lines, seconds = [None, None], [], 1e9

    launched: list[str] = []
    monkeypatch.setattr(script_run, "launch", lambda script, *_, **__: launched.append(script) or Late)
    for _ in range(2):
        assert "out of step" in examine(EXERCISES["mend_ddp"], corrected()).message.en
    assert len(launched) == 2 and not script_run.outcomes


def test_the_launch_ends_before_the_time_limit_of_the_answer() -> None:
    """Otherwise the learner would get the hint of an endless answer, not that of a script."""
    for name in ("mend_ddp", "distribute"):
        assert EXERCISES[name].seconds >= script_run.LIMIT_SECONDS + 15


def test_one_process_by_hand() -> None:
    """At slope 0 and offset 0, a batch of the samples -3 and 3: the gradients are -2 · 3 · sin 3 and 0."""
    sine = float(torch.sin(torch.tensor(3.0)))
    end, losses = check_scripts._one_process([0.0, 0.0], [[0, 639]])
    assert end == pytest.approx([0.1 * 2 * 3 * sine, 0.0]) and losses == pytest.approx([sine**2])


def test_trainings_that_differ_end_with_different_weights() -> None:
    """Other batches, a summed gradient, another rate: none ends within the tolerance."""
    order = torch.randperm(640, generator=torch.Generator().manual_seed(1)).tolist()
    batches = [order[k : k + 64] for k in range(0, 640, 64)] * 3
    end, _ = check_scripts._one_process([0.5, 0.5], batches)
    others = [
        [order[k : k + 32] for k in range(0, 640, 32)] * 3,
        batches[::-1],
        [sorted(order)[k : k + 64] for k in range(0, 640, 64)] * 3,
    ]
    for other in others:
        assert not check_scripts._close(end, check_scripts._one_process([0.5, 0.5], other)[0])


def test_the_checks_can_fail() -> None:
    """Records of ranks that did not train are no solution."""
    record = {
        "samples": [],
        "start": [],
        "end": [],
        "epochs": [],
        "forwards": 0,
        "world_size": 2,
        "open": False,
    }
    with pytest.raises(Wrong, match="There should be 30 steps"):
        check_scripts._check_training(record, record)
    with pytest.raises(Wrong, match="it prints 0 in all"):
        check_scripts._check_printing(((), ()))
    assert not Outcome((None, None), ((), ())).records[0]
