"""A dataset that is slow to read, for the loading examples."""

import time

import torch
from torch.utils.data import Dataset

from shared.digits import digits


class SlowImages(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Digits of 64 numbers with their labels; fetching one takes its time, as from a network drive.

    It is not defined in a notebook cell, because worker processes on Windows and macOS have to import it.

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
