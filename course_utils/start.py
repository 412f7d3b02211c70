"""The set-up cell of every lesson."""

from __future__ import annotations

from course_utils.clinic import hook
from course_utils.devices import machine, settle_cuda
from course_utils.language import Shown, switch


def setup(*, clinic: bool = True) -> None:
    """Show the language switch and the machine badge; call it once, in a notebook's first code cell.

    The switch starts with the language chosen last, in whatever notebook that was.

    Args:
        clinic: Whether an error that the course knows is explained below its traceback. The environment variable
            ``COURSE_CLINIC=off`` switches that off for every notebook.
    """
    import ipywidgets as widgets
    from IPython.display import display

    settle_cuda()
    if clinic:
        hook.install()
    else:
        hook.remove()
    badge = machine()
    row = switch()
    box = widgets.VBox([row, widgets.HTML(badge.html())])
    display(Shown(box, badge.html(), str(badge._repr_mimebundle_()["text/plain"])))
