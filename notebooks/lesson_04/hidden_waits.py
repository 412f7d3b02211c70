"""Which lines of a training step make the host wait for the GPU, and what does the wait cost?

Which line waits is PyTorch's doing (releases 2.7.1 to 2.13) and tested against it. The times are a model: in each of
three steps the host first does other things (the next batch, Python), then queues operations at a fixed price each;
the GPU takes them in order, as soon as they are queued. A line that waits is at the end of a step: the host goes
on when the GPU has done all that was queued.

It is a simplification. The queue has no limit here (a real one holds about a thousand operations), all operations
take the same time, and a line that does not wait costs nothing.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from bilingual import Bilingual
from course_utils.explorer import Control, Explorer
from course_utils.figures import Picture
from shared import timeline
from shared.timeline import Span, Timeline

STEPS = 3
OPERATIONS = 20  # per step
LAUNCH = 10e-6  # seconds to queue one operation
OTHER = 200e-6  # seconds of the host's other work per step


@dataclass(frozen=True)
class Line:
    """A line of code: does the host wait in it, and why or why not."""

    code: str
    waits: bool
    why: Bilingual


_TEXTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
LINES = {code: Line(code, line["waits"], Bilingual(line["en"], line["zh"])) for code, line in _TEXTS.items()}


@dataclass(frozen=True)
class Waits:
    """The line, and the three steps with it and without it."""

    line: Line
    seconds: float
    with_line: Timeline
    without: Timeline

    @staticmethod
    def idle_share(steps: Timeline) -> float:
        """Return for which share of the time after the first step the GPU has nothing to do, 0 to 1."""
        begin = max(span.end for span in steps.spans if span.name == "work 0")
        end = max(span.end for span in steps.spans)
        busy = sum(
            span.end - span.start for span in steps.spans if span.lane == "GPU" and span.start >= begin
        )
        return 1 - busy / (end - begin)


def steps(seconds: float, *, waits: bool) -> Timeline:
    """Return the lanes ``host`` and ``GPU`` of three steps.

    Args:
        seconds: How long the GPU works per step.
        waits: Whether the host waits at the end of each step until the GPU is done.
    """
    host: list[Span] = []
    gpu: list[Span] = []
    now = done = 0.0
    for step in range(STEPS):
        host.append(Span("host", "python", now, now + OTHER))
        now += OTHER
        host.append(Span("host", f"launch {step}", now, now + OPERATIONS * LAUNCH))
        for _ in range(OPERATIONS):
            now += LAUNCH
            start = max(now, done)
            if gpu and start == done and gpu[-1].name == f"work {step}":
                start = gpu.pop().start  # drawn as one bar
            done = max(now, done) + seconds / OPERATIONS
            gpu.append(Span("GPU", f"work {step}", start, done))
        if waits:
            host.append(Span("host", "wait", now, done))
            now = done
    return Timeline(host + gpu)


def compute(*, line: str, seconds: float) -> Waits:
    """Return what `line` does to three steps in which the GPU works `seconds` each.

    Args:
        line: A key of :data:`LINES`.
        seconds: How long the GPU works per step.

    Raises:
        ValueError: The line is not known, or the time is not positive.
    """
    if line not in LINES or seconds <= 0:
        raise ValueError(
            f"needs one of the lines {', '.join(LINES)} and a positive time, but got {line!r}, {seconds}."
        )
    found = LINES[line]
    return Waits(found, seconds, steps(seconds, waits=found.waits), steps(seconds, waits=False))


def render(result: Waits) -> Picture:
    """Return the picture of `result`: the three steps with the line above, without it below."""
    figure, axes = timeline.panels([2, 2])
    until = max(result.with_line.seconds(), result.without.seconds())
    titles = (Bilingual(f"with {result.line.code}", "有這一行"), Bilingual("without it", "沒有這一行"))
    for part, title, plan in zip(axes, titles, (result.with_line, result.without), strict=True):
        labels = {"host": Bilingual("host", "主機"), "GPU": "GPU"}
        timeline.draw(part, plan, lanes=("host", "GPU"), labels=labels, until=until)
        part.set_title(title, loc="left")
    there, usual = (f"{result.idle_share(plan):.0%}" for plan in (result.with_line, result.without))
    said = Bilingual("**The host does not wait.**", "**主機不用等。**")
    idle = Bilingual(
        f"After the first step the GPU is idle for {there} of the time, with or without this line.",
        f"第一步之後，不管有沒有這一行，GPU 都有 {there} 的時間閒著。",
    )
    if result.line.waits:
        said = Bilingual("**The host waits.**", "**主機會等。**")
        idle = Bilingual(
            f"After the first step the GPU is idle for {there} of the time, without this line for {usual}.",
            f"第一步之後，GPU 有 {there} 的時間閒著；沒有這一行的話，則是 {usual}。",
        )
    why = result.line.why
    caption = Bilingual(f"{said.en} {why.en} {idle.en}", f"{said.zh}{why.zh}{idle.zh}")
    alternative = Bilingual(
        "Two timelines of the host and the GPU over three steps: with the chosen line, and without it.",
        "兩條時間軸，分別畫出有這一行和沒有這一行時，主機與 GPU 執行三步的情形。",
    )
    return Picture(figure, caption, alternative)


EXPLORER = Explorer(
    title=Bilingual("Does the host wait in this line?", "主機會不會停在這一行等？"),
    controls=(
        Control(
            "line",
            Bilingual("at the end of each step", "每一步的最後一行"),
            [(code, code) for code in LINES],
            "loss.item()",
            slider=False,
        ),
        Control(
            "seconds",
            Bilingual("the GPU works per step", "GPU 每一步算多久"),
            [
                ("0.1 ms", 1e-4),
                ("0.2 ms", 2e-4),
                ("0.5 ms", 5e-4),
                ("1 ms", 1e-3),
                ("2 ms", 2e-3),
                ("5 ms", 5e-3),
            ],
            "1 ms",
        ),
    ),
    compute=compute,
    render=render,
)
