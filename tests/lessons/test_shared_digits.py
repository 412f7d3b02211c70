"""The digits: complete, the same as scikit-learn's, always the same split."""

from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from course_utils.fresh_process import run_fresh
from shared import digits as module
from shared.digits import TEST, digits


def test_the_digits_are_complete_and_split() -> None:
    data = digits()
    assert data.images.shape == (1437, 8, 8) and data.test_images.shape == (TEST, 8, 8)
    assert data.images.dtype == data.test_images.dtype == torch.float32
    assert data.labels.dtype == data.test_labels.dtype == torch.int64
    everything = torch.cat([data.images, data.test_images])
    assert everything.min() == 0 and everything.max() == 1
    # What scikit-learn documents: 1,797 digits, between 174 and 183 of each.
    counts = torch.cat([data.labels, data.test_labels]).bincount()
    assert len(counts) == 10 and counts.sum() == 1797 and counts.min() == 174 and counts.max() == 183


def test_the_split_is_the_same_every_time_and_mixes_the_classes() -> None:
    assert digits.__wrapped__().test_labels.equal(digits().test_labels)
    assert digits().test_labels.bincount().min() >= 25


@pytest.mark.parametrize("from_file", [True, False])
def test_they_are_the_digits_of_scikit_learn(from_file: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read from its file, and through its function where the file is somewhere else."""
    if from_file:
        monkeypatch.setattr("sklearn.datasets.load_digits", None)
    else:
        monkeypatch.setattr(module, "find_spec", lambda _: None)
    images, labels = load_digits(return_X_y=True)
    table = module._table()
    assert np.array_equal(table[:, :-1], images) and np.array_equal(table[:, -1], labels)


def test_scikit_learn_is_not_imported() -> None:
    printed = run_fresh(
        "import sys; from shared.digits import digits; digits(); print('sklearn' in sys.modules)",
        PYTHONPATH=str(Path(__file__).parents[2] / "notebooks"),
    )
    assert printed.strip() == "False"
