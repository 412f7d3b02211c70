"""Real images that need no download: the 1,797 handwritten digits that come with scikit-learn."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import torch

TEST = 360  # images; the other 1,437 are for training


class Digits(NamedTuple):
    """Images as float32 in 0 … 1, shape (n, 8, 8), and labels as int64 in 0 … 9, shape (n,)."""

    images: torch.Tensor
    labels: torch.Tensor
    test_images: torch.Tensor
    test_labels: torch.Tensor


@cache
def digits() -> Digits:
    """Return the digits on the CPU, always split in the same way into 1,437 for training and 360 for testing.

    Source: E. Alpaydin and C. Kaynak, "Optical Recognition of Handwritten Digits" (UCI, 1998), as shipped with
    scikit-learn (``sklearn.datasets.load_digits``); grey values 0 … 16 are divided by 16.
    """
    from sklearn.datasets import load_digits

    data = load_digits()
    images = torch.tensor(data.images / 16, dtype=torch.float32)
    labels = torch.tensor(data.target, dtype=torch.int64)
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
    train, test = order[:-TEST], order[-TEST:]
    return Digits(images[train], labels[train], images[test], labels[test])
