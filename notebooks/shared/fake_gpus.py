"""Fake GPUs: tensors that know their device and shape, but hold no data."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from torch._subclasses import fake_tensor


@contextmanager
def fake_gpus() -> Iterator[None]:
    """Make all new tensors fake, on ``cuda:1`` as well where there is one GPU or none.

    PyTorch's own fake mode initializes the GPU of each fake tensor. In some releases (2.11) this raises
    ``invalid device ordinal`` for a GPU that does not exist, instead of the error that a lesson wants to show.

    Yields:
        Nothing; it is a context manager.
    """
    with (
        patch.object(fake_tensor, "init_gpu_context", lambda *_: None, create=True),
        fake_tensor.FakeTensorMode(),
    ):
        yield
