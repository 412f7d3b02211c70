"""tools.perturb finds statements that depend on rounding or on the order inside a batch, also in other processes."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
import torch
from nbformat.v4 import new_code_cell, new_notebook

from tools import perturb
from tools.record import NOTEBOOKS

TRAIN = """
import torch

weights = torch.nn.Parameter(torch.ones(1000))
optimizer = torch.optim.SGD([weights], lr=0.125)
(weights * torch.linspace(1, 2, 1000)).sum().backward()
expected = weights.detach() - 0.125 * weights.grad  # exact
optimizer.step()
"""
CELLS = {
    "setup": "from course_utils import claim, run_fresh, setup\nsetup('09')",
    "train": TRAIN,
    "chaos": "claim('9.1', torch.equal(weights, expected))",
    "robust": "claim('9.2', torch.allclose(weights, expected, rtol=1e-5))",
    "child": f"print(run_fresh({TRAIN + 'print(torch.equal(weights, expected))'!r}))",
    "order": """
from torch.utils.data import DataLoader
batch = next(iter(DataLoader(range(100), 16, shuffle=True, generator=torch.Generator().manual_seed(0))))
print(batch)""",
    "same_batch": "print(sorted(batch.tolist()), next(iter(DataLoader(range(100), 4))))",
}
TEXTS = "".join(f'[claim."9.{n}"]\nen = "the weights are right"\nzh = "權重是對的"\n' for n in (1, 2))


def test_a_process_with_the_hook_trains_with_noise_and_keeps_each_batch(tmp_path: Path) -> None:
    shutil.copy(perturb.HOOK, tmp_path / "sitecustomize.py")
    program = "\n".join([TRAIN, CELLS["order"].replace("print(batch)", "")])
    plain: dict[str, Any] = {}
    exec(program, plain)
    assert torch.equal(plain["weights"], plain["expected"])
    program += "\nimport json; assert torch.allclose(weights, expected, rtol=1e-5)"
    program += "\nprint(json.dumps([torch.equal(weights, expected), batch.tolist()]))"
    added = {"PYTHONPATH": str(tmp_path), "COURSE_PERTURB_SEED": "1"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=os.environ | added, capture_output=True, check=True, text=True)
    equal, batch = json.loads(done.stdout)
    assert not equal
    assert batch != plain["batch"].tolist() and sorted(batch) == sorted(plain["batch"].tolist())


@pytest.mark.nightly
def test_a_planted_chaotic_claim_is_found(tmp_path: Path) -> None:
    room, notebook = tmp_path / "lesson_09", tmp_path / "09_planted.ipynb"
    room.mkdir()
    (room / "texts.toml").write_text(TEXTS, encoding="utf-8")
    made = new_notebook(cells=[new_code_cell(source, id=name) for name, source in CELLS.items()])
    nbformat.write(made, notebook)
    plain, noisy = (perturb.run(notebook, seed) for seed in (None, 1))
    assert plain[0] == {"9.1": "holds", "9.2": "holds"} and set(plain[1]) == set(CELLS)
    assert noisy[0] == {"9.1": "fails", "9.2": "holds"}
    assert perturb.differences(plain[1], noisy[1]) - {"chaos"} == {"child", "order"}


def test_what_differs_once_only_is_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = iter([({"1": "fails", "2": "fails"}, {"a": "x"}), ({"1": "fails", "2": "holds"}, {"a": "y"})])
    monkeypatch.setattr(perturb, "run", lambda notebook, seed: next(runs))
    found = perturb.findings(Path("05.ipynb"), ({"1": "holds", "2": "holds"}, {"a": "y"}), 7)
    assert found == ["05.ipynb, seed 7: claim 1: holds, perturbed fails"]


@pytest.mark.nightly
@pytest.mark.parametrize("notebook", sorted(NOTEBOOKS.glob("[0-9]*.ipynb")), ids=lambda path: path.stem)
def test_no_lesson_depends_on_rounding(notebook: Path) -> None:
    assert perturb.findings(notebook, perturb.run(notebook, None), 1) == []
