"""When a call returns, and when its work is done."""

from collections.abc import Callable, Mapping
from typing import Any

from IPython.display import display

from bilingual import Bilingual, all_of, measured_both, texts
from course_utils import figures
from course_utils.measure import is_modelled
from shared.host_clock import clock


def two_times(launch: Callable[[], Any], finish: Callable[[], Any], runs: int = 3) -> tuple[float, float]:
    """Return the seconds until `launch` returns and until its work is done, each the fastest of some runs.

    Lesson 04 builds it in the open, and then imports it from here.

    Args:
        launch: Starts the work.
        finish: Waits until it is done.
        runs: How often.
    """
    returned, done = [], []
    for _ in range(runs):
        finish()
        start = clock()
        launch()
        returned.append(clock() - start)
        finish()
        done.append(clock() - start)
    return min(returned), min(done)


def times_seen(demo: Callable[[int], tuple[bool, bool]], tries: int = 8) -> int:
    """Return how often a bug was seen in some tries on a GPU; 0 if its cure failed once.

    Args:
        demo: Called with the GPU clock ticks for which something should be late; returns whether the bug was seen, and
            whether the result was right after the cure.
        tries: How often. Streams may share a hardware queue, and then a bug does not show: once is enough.
    """
    demo(1)  # kernels are loaded on first use, which can make all streams wait
    found = [demo(100_000_000) for _ in range(tries)]  # some 50 ms each
    return sum(bug for bug, _ in found) if all(cured for _, cured in found) else 0


_TEXTS = texts(__file__)
_MODELLED = "#7a4fb3"  # the colour of what a model shows
_CHINESE = {"pageable": Bilingual("pageable", "可分頁"), "pinned": Bilingual("pinned", "鎖頁")}


def _label(name: str) -> str:
    """Return a row's name as it is drawn: code as it is, words in both languages."""
    first, *rest = name.split(", ", 1)
    return ", ".join([str(_CHINESE.get(first, first)), *rest])


def returns(name: str, times: Mapping[str, tuple[float, float]]) -> None:
    """Show when calls return and when their work is done, this machine's beside the recorded GPU's.

    Args:
        name: Name under which these times are recorded on other machines.
        times: A label in plain ASCII → (seconds until the call returns, seconds until the work is done).
    """
    modelled = is_modelled(dict(times))

    def draw(groups: figures.Groups) -> Any:
        colours = figures.COLOURS | ({figures.HERE: _MODELLED} if modelled else {})
        rows = [
            (name if whose == figures.HERE else f"{name} ({whose})", tuple(pair), colours[whose])
            for whose, found in groups.items()
            for name, pair in found["times"].items()
        ]
        rows.reverse()  # barh counts from below
        figure, axes = figures.new(height=0.9 + 0.5 * len(rows))
        places = range(len(rows))
        done, colours = [pair[1] for _, pair, _ in rows], [colour for *_, colour in rows]
        axes.barh(places, done, 0.62, color=colours, alpha=0.45)
        axes.barh(places, [pair[0] for _, pair, _ in rows], 0.3, color=figures.GREY)
        smallest, largest = min(min(pair) for _, pair, _ in rows), max(done)
        axes.set_xlim(smallest / 3, largest * 30)
        figures.logarithmic(axes.xaxis, "s")
        axes.set_yticks(places, [_label(name) for name, *_ in rows])
        axes.grid(visible=False, axis="y")
        for place, (_, (early, late), _) in zip(places, rows, strict=True):
            axes.annotate(
                f"{figures.duration(early)} / {figures.duration(late)}",
                (max(early, late), place),
                (6, 0),
                textcoords="offset points",
                va="center",
            )
        return figure

    alternative = _TEXTS["alternative"]
    values = {"times": {label: [float(t) for t in pair] for label, pair in times.items()}}
    if modelled:
        caption = all_of(_TEXTS["caption"], measured_both(_TEXTS["modelled"]))
        display(figures.Picture(draw({figures.HERE: values}), caption, alternative, "; ".join(times)))
    else:
        figures.show_measured(name, values, draw, _TEXTS["caption"], alternative)
