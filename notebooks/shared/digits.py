"""Real images that need no download: the 1,797 handwritten digits of UCI that lie beside this module."""

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

TEST = 360  # test images; the other 1,437 are for training


class Digits(NamedTuple):
    """Images as float32 in 0 … 1, shape (n, 8, 8), and labels as int64 in 0 … 9, shape (n,)."""

    images: torch.Tensor
    labels: torch.Tensor
    test_images: torch.Tensor
    test_labels: torch.Tensor


def _table() -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return 64 grey values (0 … 16) and the label of each image; shape (1797, 65)."""
    return np.loadtxt(Path(__file__).with_name("digits.csv.gz"), delimiter=",")


@cache
def digits() -> Digits:
    """Return the digits on the CPU, always with the same split: 1,437 for training and 360 for testing.

    Source: E. Alpaydin and C. Kaynak, "Optical Recognition of Handwritten Digits" (UCI, 1998, CC BY 4.0); grey values
    0 … 16 are divided by 16.
    """
    table = _table()
    images = torch.tensor(table[:, :-1].reshape(-1, 8, 8) / 16, dtype=torch.float32)
    labels = torch.tensor(table[:, -1], dtype=torch.int64)
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
    train, test = order[:-TEST], order[-TEST:]
    return Digits(images[train], labels[train], images[test], labels[test])
