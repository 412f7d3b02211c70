"""The digits: complete, those of UCI, always the same split."""

import hashlib
from pathlib import Path

import torch

from shared import digits as module
from shared.digits import TEST, digits


def test_the_digits_are_complete_and_split() -> None:
    data = digits()
    assert data.images.shape == (1437, 8, 8) and data.test_images.shape == (TEST, 8, 8)
    assert data.images.dtype == data.test_images.dtype == torch.float32
    assert data.labels.dtype == data.test_labels.dtype == torch.int64
    everything = torch.cat([data.images, data.test_images])
    assert everything.min() == 0 and everything.max() == 1
    # What UCI documents: 1,797 digits, between 174 and 183 of each.
    counts = torch.cat([data.labels, data.test_labels]).bincount()
    assert len(counts) == 10 and counts.sum() == 1797 and counts.min() == 174 and counts.max() == 183


def test_the_split_is_the_same_every_time_and_mixes_the_classes() -> None:
    assert digits.__wrapped__().test_labels.equal(digits().test_labels)
    assert digits().test_labels.bincount().min() >= 25


def test_they_are_the_digits_that_the_lessons_were_recorded_with() -> None:
    """Byte for byte the file that scikit-learn 1.9.1 ships, and what it says."""
    file = Path(module.__file__).with_name("digits.csv.gz")
    assert hashlib.sha256(file.read_bytes()).hexdigest() == (
        "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22"
    )
    assert "Alpaydin" in file.with_name("digits_LICENSE.md").read_text(encoding="utf-8")
    first = module._table()[0]
    assert first[:8].tolist() == [0, 0, 5, 13, 9, 1, 0, 0] and first[-1] == 0
