"""A checkpoint that was saved on another machine."""

import io
from typing import Any
from unittest.mock import patch

import torch


def saved_elsewhere(state: dict[str, torch.Tensor]) -> io.BytesIO:
    """Return an open file with `state`, labelled as saved from a GPU that this machine does not have.

    Only the label is invented (the number after this machine's last GPU); the rest is what ``torch.save`` writes. So
    loading the file fails in the same way on every machine, with and without GPUs.

    Args:
        state: Names and tensors on the CPU, as from ``model.state_dict()``.

    Returns:
        The file, positioned at its beginning.
    """
    file, label = io.BytesIO(), f"cuda:{torch.cuda.device_count()}"
    labelled: Any = patch("torch.serialization.location_tag", return_value=label)
    with labelled:
        torch.save(dict(state), file)
    file.seek(0)
    return file
