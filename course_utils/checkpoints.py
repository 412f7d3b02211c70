"""A checkpoint as a machine with a GPU writes it, on every machine."""

from __future__ import annotations

import io
from typing import Any
from unittest.mock import patch

import torch


def saved_on_gpu(state: dict[str, torch.Tensor]) -> io.BytesIO:
    """Return an open file with `state` saved from ``cuda:0``, ready to be read.

    Without a GPU the tensors are saved from the host and only the label that says where each one was reads
    ``cuda:0``: the file is then the same as one that a GPU machine writes.

    Args:
        state: Names and tensors, as from ``model.state_dict()``.
    """
    file = io.BytesIO()
    if torch.cuda.is_available():
        torch.save({name: tensor.to("cuda:0") for name, tensor in state.items()}, file)
    else:
        label: Any = patch("torch.serialization.location_tag", return_value="cuda:0")
        with label:
            torch.save(dict(state), file)
    file.seek(0)
    return file
