"""Real images that need no download: the 1,797 handwritten digits that come with scikit-learn."""

from __future__ import annotations

import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.utils.data import Dataset

TEST = 360  # images; the other 1,437 are for training


class Digits(NamedTuple):
    """Images as float32 in 0 … 1, shape (n, 8, 8), and labels as int64 in 0 … 9, shape (n,)."""

    images: torch.Tensor
    labels: torch.Tensor
    test_images: torch.Tensor
    test_labels: torch.Tensor


def _table() -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return what ``load_digits`` reads: a row per image, 64 grey values (0 … 16) and the label; shape (1797, 65).

    Importing scikit-learn takes a second, and every process of a launch would pay it. Its file takes some milliseconds.
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
    """Return the digits on the CPU, always split in the same way into 1,437 for training and 360 for testing.

    Source: E. Alpaydin and C. Kaynak, "Optical Recognition of Handwritten Digits" (UCI, 1998), as shipped with
    scikit-learn (``sklearn.datasets.load_digits``); grey values 0 … 16 are divided by 16.
    """
    table = _table()
    images = torch.tensor(table[:, :-1].reshape(-1, 8, 8) / 16, dtype=torch.float32)
    labels = torch.tensor(table[:, -1], dtype=torch.int64)
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
    train, test = order[:-TEST], order[-TEST:]
    return Digits(images[train], labels[train], images[test], labels[test])


class SlowImages(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Digits of 64 numbers with their labels; fetching one takes its time, as from a network drive.

    It stands here and not in a notebook cell, because worker processes on Windows and macOS have to import it.

    Args:
        count: How many images, from the start of the training set.
        seconds: How long one takes to fetch.
    """

    def __init__(self, count: int = 32, seconds: float = 0.004) -> None:
        data = digits()
        self.images, self.labels = data.images[:count].flatten(1).clone(), data.labels[:count].clone()
        self.seconds = seconds

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, place: int) -> tuple[torch.Tensor, torch.Tensor]:
        time.sleep(self.seconds)
        return self.images[place], self.labels[place]
