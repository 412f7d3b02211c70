"""Exercise ``seconds_per_call(action, synchronize, clock) -> float``: time an asynchronous device, here a simulated one."""

from typing import Any

from bilingual import Bilingual
from course_utils import figures
from course_utils.exercise_hints import WHAT
from course_utils.exercises import Mistakes
from course_utils.returned import number
from shared import timeline
from shared.timeline import Span, Timeline


class FakeDevice:
    """A simulated asynchronous device: its time passes only in launches and waits. It logs every call.

    Args:
        work: Seconds that one call's work takes on the device.
        left_over: Seconds of earlier work in the queue.
        first: Seconds that the first call takes longer.
    """

    LAUNCH = 1e-5  # seconds that the host needs to queue one call
    LEFT_OVER = 0.5
    FIRST = 3.0

    def __init__(self, work: float, *, left_over: float = LEFT_OVER, first: float = FIRST) -> None:
        self.work, self.first, self.now = work, first, 100.0
        self.free = self.now + left_over
        self.log: list[str] = []
        self.spans = [Span("device", "earlier", self.now, self.free)]
        self.looks: list[float] = []

    def action(self) -> None:
        """Queue one call's work and return at once."""
        extra = self.first if "action" not in self.log else 0.0
        self.log.append("action")
        self.now += self.LAUNCH
        start = max(self.now, self.free)
        self.free = start + self.work + extra
        self.spans.append(Span("device", "first" if extra else "work", start, self.free))

    def synchronize(self) -> None:
        """Wait until the device has nothing left to do."""
        self.log.append("synchronize")
        if self.free > self.now:
            self.spans.append(Span("host", "wait", self.now, self.free))
        self.now = self.free  # never in the past: all work takes longer than its launch

    def clock(self) -> float:
        """Return the host's time in seconds."""
        self.log.append("clock")
        self.looks.append(self.now)
        return self.now


def judge(answer: Any) -> Mistakes:
    """Look in the log for a step that is missing or in the wrong place, then at what was made of the times."""
    for work in (0.005, 0.04):
        device = FakeDevice(work)
        got = number(answer(device.action, device.synchronize, device.clock), WHAT["seconds"])
        if abs(got - work) <= 0.02 * work:
            continue
        log = device.log  # of a right answer: action, synchronize, clock, action, action, synchronize, clock
        yield "action" not in log, "no_action"
        yield "clock" not in log, "other_clock"
        begin, end = log.index("clock"), len(log) - 1 - log[::-1].index("clock")
        before, timed = log[:begin], log[begin:end]
        calls = timed.count("action")
        yield not calls, "nothing_timed"
        yield "synchronize" not in _after_last_call(timed), "not_done"
        yield "action" not in before, "first_call"
        yield "synchronize" not in _after_last_call(before), "still_busy"
        yield abs(got - work * calls) <= 0.02 * work * calls, "all_calls", {"calls": calls}
        yield abs(got - 1000 * work) <= 20 * work, "milliseconds"
        yield True, "other", {"work": work, "got": got}


def _after_last_call(log: list[str]) -> list[str]:
    return log[len(log) - log[::-1].index("action") :]


def show(answer: Any) -> figures.Picture:
    """Draw what the device did, where the host waited, and when the answer looked at the clock."""
    device = FakeDevice(0.04, left_over=0.06, first=0.12)
    answer(device.action, device.synchronize, device.clock)
    figure, (axes,) = timeline.panels([2])
    labels = {"host": Bilingual("host", "主機"), "device": Bilingual("device", "裝置")}
    timeline.draw(axes, Timeline(device.spans[:60]), lanes=("host", "device"), labels=labels)
    for look in device.looks[:1] + device.looks[-1:]:
        axes.axvline(look - device.spans[0].start, color=figures.RECORDED, linestyle="--", zorder=8)
    return figures.Picture(
        figure,
        Bilingual(
            "The device was busy with earlier work (earlier), then with the slow first call (first) and with yours (work). "
            "Dashed: your first and your last look at the clock.",
            "裝置先做完先前的工作（earlier），接著是較慢的第一次呼叫（first），然後是其他呼叫（work）。虛線是你第一次和最後一次看時鐘的時刻。",
        ),
        Bilingual(
            "Timeline of host and device, with dashed lines where the clock was read.",
            "主機與裝置的時間軸，虛線標出看時鐘的時刻。",
        ),
    )


_HEAD = "def seconds_per_call(action, synchronize, clock):\n    "
_WARM = _HEAD + "action()\n    synchronize()\n    start = clock()\n    "
_TIMED = _WARM + "for _ in range(10):\n        action()\n    synchronize()\n    "
WRONG = {
    "returned_none": _TIMED + "(clock() - start) / 10",
    "no_number": _TIMED + "return f'{(clock() - start) / 10:.3f} s'",
    "no_action": _HEAD + "return 0.005",
    "other_clock": "import time\n"
    + (_TIMED + "return (clock() - start) / 10").replace("clock()", "time.perf_counter()"),
    "nothing_timed": _HEAD + "action()\n    synchronize()\n    return clock()",
    "not_done": (
        _WARM + "for _ in range(10):\n        action()\n    return (clock() - start) / 10",
        _WARM + "synchronize()\n    action()\n    return clock() - start",
    ),
    "first_call": (
        _HEAD
        + "synchronize()\n    start = clock()\n    for _ in range(10):\n        action()\n    synchronize()\n"
        "    return (clock() - start) / 10",
        _HEAD + "start = clock()\n    action()\n    synchronize()\n    return clock() - start",
    ),
    "still_busy": _HEAD
    + "action()\n    start = clock()\n    action()\n    synchronize()\n    return clock() - start",
    "all_calls": _TIMED + "return clock() - start",
    "milliseconds": _TIMED + "return (clock() - start) * 100",
    "other": (_TIMED + "return (clock() - start) / 5", _TIMED + "return (start - clock()) / 10"),
}
