"""The set-up cell of every lesson."""

import os

from bilingual import LANGUAGE_VARIABLE, Shown
from course_utils import class_mode, lesson, lesson_gpus, run_mode
from course_utils.front_end import front_end, notes
from course_utils.language import choice, style, switch, use
from course_utils.machine import badge, hide_unusable, silence_cuda_toolkit_warning
from torch_doctor import hook
from torch_doctor.style import use_page_styles


def setup(
    number: str | None = None,
    *,
    gpus: int = 0,
    enough: int | None = None,
    language: str | None = None,
    clinic: bool = True,
    present: bool = False,
) -> None:
    """Name the lesson, and show the language switch and the machine badge; for a notebook's first code cell.

    The switch starts with the language chosen last, in whatever notebook that was.

    Args:
        number: The lesson, ``"02"``: its questions, claims, captions and exercises are used from here on.
        gpus: How many GPUs the lesson uses; practice GPUs where the machine has fewer (see :func:`course_utils.gpus`).
        enough: How many real GPUs will do, where the lesson can say something with fewer than `gpus`.
        language: ``"en"``, ``"zh-TW"`` or ``"zh-CN"`` in a notebook in one language, which needs no switch; if not given,
            the environment variable ``COURSE_LANGUAGE``, else both languages (one where the page cannot switch).
        clinic: Whether a known error is explained below its traceback. The environment variable
            ``COURSE_CLINIC=off`` turns that off for every notebook.
        present: Class mode, for a projector; ``COURSE_MODE=class`` turns it on for every notebook.

    Raises:
        RuntimeError: PyTorch is too old for a practice GPU.
        ValueError: There is no such lesson, or no such language.
    """
    import ipywidgets as widgets
    from IPython.display import display

    asked, place = language or os.environ.get("COURSE_LANGUAGE") or None, front_end()
    only = asked or (place and ("zh-TW" if choice() == "zh" else "en"))
    use(only)
    lesson.use(number)
    use_page_styles()
    os.environ.setdefault(LANGUAGE_VARIABLE, choice())
    unusable = hide_unusable()
    lesson_gpus.start(gpus, enough)
    silence_cuda_toolkit_warning()
    (hook.install if clinic else hook.remove)()
    machine = badge()
    page = machine.html + (f'<p class="course-small">{unusable.html()}</p>' if unusable else "")
    for line in notes(place, asked) + [class_mode.RECORDED] * run_mode.on("recorded"):
        page += f'<p class="course-card course-needs">{line.html()}</p>'
    if present or run_mode.on("class"):
        page += class_mode.sheet()
    box = widgets.VBox([widgets.HTML(style()) if only else switch(), widgets.HTML(page)])
    display(Shown(box, machine.html, machine.text))
