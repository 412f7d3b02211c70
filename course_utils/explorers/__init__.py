"""Interactive figures: a widget is a view of a pure function, ``render(compute(**choices))``.

Each explorer is a module with its `compute` (numbers from choices, tested over the whole grid) and its `render`
(HTML from numbers). The view with the default choices is also the stored, static picture.
"""

from __future__ import annotations

import html
import itertools
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from course_utils.language import Bilingual, Shown


@dataclass(frozen=True)
class Control:
    """One thing the learner can choose.

    Attributes:
        name: The parameter of `compute` that it sets.
        label: What stands beside it.
        options: (text, value) pairs; the texts are numbers or code, the same in every language.
        default: The text of the option to start with.
        slider: A slider for ordered values, or a drop-down list for named ones.
    """

    name: str
    label: Bilingual
    options: Sequence[tuple[str, Any]]
    default: str
    slider: bool = True


@dataclass(frozen=True)
class Explorer:
    """An interactive figure: its controls, the pure function behind it, and how its result looks."""

    title: Bilingual
    controls: tuple[Control, ...]
    compute: Callable[..., Any]
    render: Callable[[Any], str]

    def defaults(self) -> dict[str, Any]:
        """Return the choices that the static picture shows."""
        return {control.name: dict(control.options)[control.default] for control in self.controls}

    def grid(self) -> Iterator[dict[str, Any]]:
        """Yield every combination of choices (for tests)."""
        names = [control.name for control in self.controls]
        for values in itertools.product(*([value for _, value in c.options] for c in self.controls)):
            yield dict(zip(names, values, strict=True))

    def html(self, **choices: Any) -> str:
        """Return what the explorer shows for `choices`."""
        return self.render(self.compute(**choices))

    def show(self) -> None:
        """Display the explorer: live controls where a kernel runs, the default picture elsewhere."""
        from IPython.display import display

        display(Shown(_widget(self), self.html(**self.defaults()), f"explorer: {self.title}"))


def _widget(explorer: Explorer) -> Any:
    import ipywidgets as widgets

    view = widgets.HTML(explorer.html(**explorer.defaults()))
    lock = threading.Lock()  # front ends may deliver two changes in two threads
    inputs: dict[str, Any] = {}

    def redraw(_: object) -> None:
        with lock:
            choices = {c.name: c.options[inputs[c.name].index][1] for c in explorer.controls}
            try:
                view.value = explorer.html(**choices)
            except Exception:
                # A callback's exception would only reach a log; a learner who reports it needs to see it.
                view.value = (
                    f'<pre class="course-card course-fails">{html.escape(traceback.format_exc())}</pre>'
                )
                raise

    rows = []
    for control in explorer.controls:
        kind = widgets.SelectionSlider if control.slider else widgets.Dropdown
        settings = {"continuous_update": False} if control.slider else {}
        # The widget knows the texts only: a value such as None means "nothing chosen" to ipywidgets.
        widget = kind(options=[text for text, _ in control.options], value=control.default, **settings)
        widget.layout.width = "24em"
        widget.observe(redraw, "index")
        inputs[control.name] = widget
        label = widgets.HTML(control.label.html())
        label.layout.width = "15em"
        row = widgets.HBox([label, widget])
        row.add_class("course-control")
        rows.append(row)
    title = widgets.HTML(f'<p class="course-title">{explorer.title.html()}</p>')
    box = widgets.VBox([title, *rows, view])
    box.add_class("course-explorer")
    return box


def crossover(cpu: tuple[Sequence[int], Sequence[float]]) -> None:
    """Explore from which matrix size on a GPU wins over this machine's measured CPU.

    Args:
        cpu: Matrix sizes and the measured seconds of one product of two n × n matrices on the CPU.
    """
    from course_utils.explorers import matmul_crossover as module

    module.explorer(cpu).show()


def visibility() -> None:
    """Explore which physical GPU a program sees as ``cuda:0``, ``cuda:1`` … for a value of CUDA_VISIBLE_DEVICES."""
    from course_utils.explorers import visible_devices as module

    module.EXPLORER.show()


def transfer(call_seconds: float, bytes_per_second: float) -> None:
    """Explore what a transfer costs, cut into pieces, from two numbers measured on this machine.

    Args:
        call_seconds: Price of one call that moves (almost) nothing.
        bytes_per_second: Speed of one large transfer.
    """
    from course_utils.explorers import transfer_cost as module

    module.explorer(call_seconds, bytes_per_second).show()


def belongings() -> None:
    """Explore what moves with a module: build one, move it, and see what came along."""
    from course_utils.explorers import module_belongings as module

    module.EXPLORER.show()


def numbers() -> None:
    """Explore what a number becomes in each data type: its bits, its neighbours, and what every type can hold."""
    from course_utils.explorers import number_formats as module

    module.EXPLORER.show()


def roofline(flops: float, bandwidth: float, half: float | None = None) -> None:
    """Explore whether memory or arithmetic limits an operation, on this machine and on well-known GPUs.

    Args:
        flops: Measured float32 operations per second.
        bandwidth: Measured bytes per second, read plus written.
        half: Measured half-precision operations per second, if there are any.
    """
    from course_utils.explorers import roofline_model as module

    module.explorer(flops, bandwidth, half).show()


def batch(
    points: tuple[Sequence[float], Sequence[float]],
    bytes_points: tuple[Sequence[float], Sequence[float]] | None = None,
) -> None:
    """Explore what a batch size means for throughput, memory and an epoch, from what was measured.

    Args:
        points: Batch sizes (ascending) and measured seconds of one training step.
        bytes_points: Batch sizes (ascending) and measured peak bytes; without it, memory is left out.
    """
    from course_utils.explorers import batch_size as module

    module.explorer(points, bytes_points).show()


def pipeline(copy_seconds: float, work_seconds: float) -> None:
    """Explore how much of the copying hides behind the work, from two numbers measured on this machine.

    Args:
        copy_seconds: Seconds to copy one chunk to the device.
        work_seconds: Seconds to work on one chunk.
    """
    from course_utils.explorers import copy_pipeline as module

    module.explorer(copy_seconds, work_seconds).show()


def waits() -> None:
    """Explore which lines of a training step make the host wait for the GPU, and what that costs."""
    from course_utils.explorers import hidden_waits as module

    module.EXPLORER.show()


def streams() -> None:
    """Explore why the kernels of two streams overlap, or do not."""
    from course_utils.explorers import stream_overlap as module

    module.EXPLORER.show()


def ring() -> None:
    """Explore all-reduce step by step: which chunk is where in a ring, and what each rank sends."""
    from course_utils.explorers import ring_all_reduce as module

    module.EXPLORER.show()


def scaling(
    link: tuple[float, float] | None = None,
    points: tuple[Sequence[float], Sequence[float]] | None = None,
    *,
    size: int | None = None,
) -> None:
    """Explore how efficient training with N processes is, from a model or from what was measured on this machine.

    Args:
        link: a (seconds) and B (bytes per second) of t = a + 2 (N - 1) / N · S / B, fitted with two processes.
        points: Seconds of work per step (one process alone), and the measured efficiencies with two processes.
        size: Bytes of gradients in those measurements.
    """
    from course_utils.explorers import scaling_efficiency as module

    module.explorer(link, points, size=size).show()


def split() -> None:
    """Explore how DataParallel splits a batch, and which devices get nothing."""
    from course_utils.explorers import batch_split as module

    module.EXPLORER.show()


def traffic() -> None:
    """Explore what travels between the devices in one step: DataParallel against an all-reduce."""
    from course_utils.explorers import parallel_traffic as module

    module.EXPLORER.show()
