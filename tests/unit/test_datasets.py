"""The digits: real, complete, always split alike."""

from __future__ import annotations

import torch

from course_utils.datasets import TEST, digits


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
