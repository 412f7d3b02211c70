"""Real images that need no download: the 1,797 handwritten digits that come with scikit-learn."""

from functools import cache
from importlib.util import find_spec
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
    """Return the rows that ``load_digits`` reads: 64 grey values (0 … 16) and the label of an image; shape (1797, 65).

    Importing scikit-learn takes a second in every process of a launch. Reading its file takes some milliseconds.
    """
    package = find_spec("sklearn")
    if package and package.origin:
        file = Path(package.origin).with_name("datasets") / "data" / "digits.csv.gz"
        if file.is_file():
            return np.loadtxt(file, delimiter=",")
    from sklearn.datasets import load_digits

    return np.column_stack(load_digits(return_X_y=True))


@cache
def digits() -> Digits:
    """Return the digits on the CPU, always with the same split: 1,437 for training and 360 for testing.

    Source: E. Alpaydin and C. Kaynak, "Optical Recognition of Handwritten Digits" (UCI, 1998), as shipped with
    scikit-learn (``sklearn.datasets.load_digits``); grey values 0 … 16 are divided by 16.
    """
    table = _table()
    images = torch.tensor(table[:, :-1].reshape(-1, 8, 8) / 16, dtype=torch.float32)
    labels = torch.tensor(table[:, -1], dtype=torch.int64)
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
    train, test = order[:-TEST], order[-TEST:]
    return Digits(images[train], labels[train], images[test], labels[test])
