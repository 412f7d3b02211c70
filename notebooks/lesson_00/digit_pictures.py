"""Pictures of handwritten digits, and of what a network takes them for."""

from typing import Any

import torch
from torch import nn

from bilingual import measured, texts
from course_utils import figures
from course_utils.units import duration
from shared import program
from shared.digits import digits

COLUMNS = 10
_TEXTS = texts(__file__)


def _draw(axes: Any, images: torch.Tensor, titles: list[str], colours: list[str]) -> None:
    """Draw `images` of shape (n, 8, 8) with a title each, on as many axes; the others stay empty."""
    for place in axes.flat:
        place.set_axis_off()
    for place, image, title, colour in zip(axes.flat, images, titles, colours, strict=False):
        place.imshow(image.numpy(), cmap="gray_r", vmin=0, vmax=1)
        place.set_title(title, color=colour, fontsize=12)


def _example(digit: int) -> torch.Tensor:
    """Return two training images of `digit`."""
    return program.small_images[program.labels == digit][:2]


def show_digits() -> None:
    """Show two training images of each digit."""
    figure, axes = figures.new(height=2.0, columns=COLUMNS, rows=2)
    images = torch.stack([_example(digit) for digit in range(COLUMNS)], dim=1).flatten(0, 1)
    names = [str(digit) for digit in range(COLUMNS)] + [""] * COLUMNS
    _draw(axes, images, names, [figures.GREY] * len(names))
    figures.show(figure, caption=_TEXTS["digits"], alternative=_TEXTS["digits_alternative"])


def guesses(network: nn.Module) -> torch.Tensor:
    """Return the digit that `network` takes each of the 360 test images for, on the CPU."""
    images, _ = program.test_set(next(network.parameters()).device)
    with torch.no_grad():
        return network(images).argmax(1).cpu()


def picture(network: nn.Module, seconds: float | None = None) -> figures.Picture:
    """Return the first ten test images and the first that `network` gets wrong, with its guesses above them.

    Args:
        network: What is asked.
        seconds: How long it was trained, if it was.
    """
    data, guessed = digits(), guesses(network)
    right = guessed == data.test_labels
    shown = torch.cat([torch.arange(COLUMNS), (~right).nonzero().flatten()[:COLUMNS]])
    figure, axes = figures.new(height=2.4, columns=COLUMNS, rows=2)
    answers = [(int(guessed[i]), int(data.test_labels[i])) for i in shown]
    titles = [str(answer) if answer == digit else f"{answer} ({digit})" for answer, digit in answers]
    colours = [figures.YOURS if answer == digit else figures.RECORDED for answer, digit in answers]
    _draw(axes, data.test_images[shown], titles, colours)
    count = measured(f"{int(right.sum())} / {len(right)}")
    trained = _TEXTS["trained"].format(time=measured(duration(seconds))) if seconds else _TEXTS["untrained"]
    caption = _TEXTS["guesses"].format(trained=trained, count=count)
    return figures.Picture(figure, caption, _TEXTS["guesses_alternative"])


def show_guesses(network: nn.Module, seconds: float | None = None) -> None:
    """Show what `network` takes test images for, and how many of the 360 it recognizes.

    Args:
        network: What is asked.
        seconds: How long it was trained, if it was.
    """
    from IPython.display import display

    display(picture(network, seconds))
