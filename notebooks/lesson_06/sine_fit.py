"""How one process trains what several scripts of the lesson train: a line, fitted to the sine."""

from collections.abc import Iterable, Sequence

import torch

RATE = 0.1


def _error(weights: Sequence[float], batch: Sequence[int], samples: int) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.linspace(-3, 3, samples)[list(batch)]
    return x, weights[0] * x + weights[1] - torch.sin(x)


def loss(weights: Sequence[float], batch: Sequence[int], samples: int) -> float:
    """Return the mean squared error for some of the samples.

    Args:
        weights: The line's slope, and its height at 0.
        batch: The numbers of the samples.
        samples: How many there are.
    """
    return float(_error(weights, batch, samples)[1].square().mean())


def gradient(weights: Sequence[float], batch: Sequence[int], samples: int) -> list[float]:
    """Return the gradient of the :func:`loss`; the arguments are the same."""
    x, error = _error(weights, batch, samples)
    return [float((2 * error * x).mean()), float((2 * error).mean())]


def descend(weights: Sequence[float], batches: Iterable[Sequence[int]], samples: int) -> list[float]:
    """Make a step with each batch, and return the weights at the end; the arguments are those of :func:`loss`."""
    for batch in batches:
        steps = zip(weights, gradient(weights, batch, samples), strict=True)
        weights = [weight - RATE * slope for weight, slope in steps]
    return [*weights]
