"""Two hidden layers over a whole window: no attention, and far less to compute.

A model of your own is a file like this one, with `Model` and `SIZES`; then
python forecast.py --model NAME-OF-THE-FILE
"""

import torch
from torch import Tensor, nn

SIZES = {"small": {"past": 96, "ahead": 24, "width": 128}}
SIZES["full"] = {"past": 168, "ahead": 48, "width": 512}


class Model(nn.Module):
    """Forecast the next steps of all columns from all numbers of the past at once."""

    def __init__(
        self, columns: int, marks: int = 4, *, past: int, ahead: int, width: int
    ) -> None:
        super().__init__()
        self.shape = ahead, columns
        first = nn.Linear(past * columns + ahead * marks, width)
        inner = nn.Linear(width, width), nn.GELU()
        last = nn.Linear(width, ahead * columns)
        self.layers = nn.Sequential(first, nn.GELU(), *inner, last)

    def forward(
        self, past: Tensor, past_marks: Tensor, future_marks: Tensor
    ) -> Tensor:
        """Return (b, ahead, columns) from past (b, past, columns) and the calendar."""
        level = past[:, -1:]
        seen = torch.cat([(past - level).flatten(1), future_marks.flatten(1)], 1)
        return level + self.layers(seen).unflatten(1, self.shape)
