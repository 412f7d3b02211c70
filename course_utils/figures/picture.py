"""Pictures in one style, with a caption and a text alternative in both languages.

Figures are built as `matplotlib.figure.Figure` objects, never through pyplot: a widget may call from another thread,
where pyplot's hidden current figure would get mixed up. They are shown as HTML, because JupyterLab gives a plain PNG
output no text alternative.
"""

import base64
import html
import io
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from PIL import Image

from bilingual import Bilingual

# Okabe & Ito's palette: distinguishable with the common forms of colour blindness, and in grey.
YOURS, RECORDED, THIRD, FOURTH = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
LINES = (YOURS, RECORDED, FOURTH, "#56B4E9", "#E69F00")  # THIRD is what is published for a named card
PALE, GREY = "#B8C4CC", "#5F6B76"

COLOURS = 128  # in a picture: a dozen of its own, the others for smooth edges


@cache
def _families() -> list[str]:
    """Register the shipped Chinese font and return the families to draw text with, in order of preference."""
    path = str(resources.files("course_utils.figures").joinpath("fonts", "NotoSansCJKtc-subset.otf"))
    font_manager.fontManager.addfont(path)
    return ["DejaVu Sans", font_manager.FontProperties(fname=path).get_name()]


@cache
def style() -> dict[str, Any]:
    """Return matplotlib's settings for every picture of the course."""
    return {
        "font.family": _families(),
        "font.size": 11,
        "axes.titlesize": 11,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": "#E4E8EB",
        "axes.axisbelow": True,
        "axes.prop_cycle": mpl.cycler(color=LINES),
        "legend.frameon": False,
        "lines.linewidth": 2,
        "lines.markersize": 6,
        "figure.dpi": 110,
        "savefig.facecolor": "white",
    }


def new(
    width: float = 7.6, height: float = 3.4, columns: int = 1, rows: int = 1, **options: Any
) -> tuple[Figure, Any]:
    """Return a figure in the course's style, and its axes (one, a sequence, or a grid of rows × columns).

    Args:
        width: In inches; 7.6 fits a projector's narrow notebook.
        height: In inches.
        columns: How many axes side by side.
        rows: How many rows of them.
        options: Passed on to ``Figure.subplots``.
    """
    with mpl.rc_context(style()):
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots(rows, columns, **options)
    return figure, axes


def rectangle(x: float, y: float, width: float, height: float, colour: str) -> Any:
    """Return a filled rectangle to add to axes."""
    return Rectangle((x, y), width, height, facecolor=colour, edgecolor="none")


def _set_fonts(figure: Figure) -> None:
    """Set the fonts of texts that were added after `new`, outside its style.

    ``figure.findobj(Text)`` would find them as well, but it creates every tick first, which takes as long as drawing.
    """
    families = _families()
    labels = list(figure.texts)
    for axes in figure.axes:
        labels += [axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts]
        for tick in (*axes.xaxis.majorTicks, *axes.yaxis.majorTicks):
            labels += [tick.label1, tick.label2]
    for legend in (*(axes.get_legend() for axes in figure.axes), *figure.legends):
        labels += legend.get_texts() if legend is not None else []
    for label in labels:
        label.set_fontfamily(families)
        if label.get_fontweight() == "bold":
            # The shipped Chinese font has one weight. Where it is asked for bold, matplotlib writes a warning to stderr.
            if label.get_text().isascii():
                label.set_fontfamily(families[:1])
            else:
                label.set_fontweight("normal")


def png(figure: Figure, *, small: bool = True) -> bytes:
    """Return `figure` as a PNG file.

    The figure is drawn once: ``savefig`` draws it twice where a layout engine is used, which doubles the time.

    Args:
        figure: What to draw.
        small: Reduce the picture to a palette: a third of the bytes, but slower. Stored notebooks hold many pictures; a
            picture that the next move of a slider replaces does not need it.
    """
    _set_fonts(figure)
    canvas = FigureCanvasAgg(figure)
    with mpl.rc_context(style()):
        canvas.draw()
    image = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    buffer = io.BytesIO()
    if small:
        image.quantize(COLOURS, dither=Image.Dither.NONE).save(buffer, format="png", optimize=True)
    else:
        image.save(buffer, format="png", compress_level=1)
    return buffer.getvalue()


@dataclass(frozen=True)
class Picture:
    """A figure with its caption (shown below) and its text alternative (what a blind reader gets).

    `series` says which measured series it shows, for the plain text; the notebook checks compare it. `beside` is HTML
    below the caption: what another machine measured.
    """

    figure: Figure
    caption: Bilingual
    alternative: Bilingual
    series: str = ""
    beside: str = ""

    def html(self, *, small: bool = True) -> str:
        """Return the picture as an HTML ``<figure>``; see :func:`png` for `small`."""
        data = base64.b64encode(png(self.figure, small=small)).decode("ascii")
        text = html.escape(str(self.alternative), quote=True)
        return (
            f'<figure class="course-figure"><img alt="{text}" src="data:image/png;base64,{data}">'
            f"<figcaption>{self.caption.html()}{self.beside and f' {self.beside}'}</figcaption></figure>"
        )

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        text = f"figure: {self.alternative}"
        return {"text/html": self.html(), "text/plain": f"{text}\n{self.series}" if self.series else text}


def show(figure: Figure, *, caption: Bilingual, alternative: Bilingual) -> None:
    """Show a `figure` of your own (see :func:`new`).

    Args:
        figure: What to show.
        caption: The text below it.
        alternative: What a blind reader gets instead of it.
    """
    from IPython.display import display

    display(Picture(figure, caption, alternative))
