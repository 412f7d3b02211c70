"""The digits: real, complete, always split alike."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from course_utils import datasets
from course_utils.datasets import TEST, digits
from course_utils.processes import run_fresh


def test_the_digits_are_whole_and_split_once() -> None:
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
def test_they_are_scikit_learns(from_file: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether its file is where this course looks, or only its function knows where."""
    if from_file:
        monkeypatch.setattr("sklearn.datasets.load_digits", None)
    else:
        monkeypatch.setattr(datasets, "find_spec", lambda _: None)
    images, labels = load_digits(return_X_y=True)
    table = datasets._table()
    assert np.array_equal(table[:, :-1], images) and np.array_equal(table[:, -1], labels)


def test_a_process_does_not_wait_for_scikit_learn() -> None:
    printed = run_fresh(
        "import sys; from course_utils.datasets import digits; digits(); print('sklearn' in sys.modules)"
    )
    assert printed.strip() == "False"
