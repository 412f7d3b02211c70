"""The set-up cell of every lesson."""

from __future__ import annotations

from course_utils.devices import machine, settle_cuda
from course_utils.language import Shown, switch


def setup() -> None:
    """Show the language switch and the machine badge; call it once, in a notebook's first code cell.

    The switch starts with the language chosen last, in whatever notebook that was.
    """
    import ipywidgets as widgets
    from IPython.display import display

    settle_cuda()
    badge = machine()
    row = switch()
    box = widgets.VBox([row, widgets.HTML(badge.html())])
    display(Shown(box, badge.html(), str(badge._repr_mimebundle_()["text/plain"])))
