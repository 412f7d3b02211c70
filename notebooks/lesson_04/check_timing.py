"""Exercise: time an asynchronous device, checked with a simulated one."""

from __future__ import annotations

from typing import Any

from bilingual import Bilingual
from course_utils import figures
from course_utils.exercises import Wrong
from shared import timeline
from shared.given_number import SECONDS, number
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


def examine_fair_timing(answer: Any) -> None:
    """Examine ``seconds_per_call(action, synchronize, clock) -> float``."""
    for work in (0.005, 0.04):
        device = FakeDevice(work)
        got = answer(device.action, device.synchronize, device.clock)
        _judge_timing(got, device)


def _judge_timing(got: Any, device: FakeDevice) -> None:
    """Raise the hint for a wrong number of seconds, from the log of what the answer did.

    A right answer's log, for example: action, synchronize, clock, action, action, synchronize, clock.
    """
    log, work = device.log, device.work
    number(got, SECONDS)
    if abs(got - work) <= 0.02 * work:
        return
    calls = _timed_calls(log)
    if abs(got - work * calls) <= 0.02 * work * calls:
        raise Wrong(
            en=f"That is the time of all {calls} calls together; the task asks for one.",
            zh=f"這是 {calls} 次呼叫加起來的時間，題目要的是一次呼叫的時間。",
        )
    if abs(got - 1000 * work) <= 20 * work:
        raise Wrong(
            en="That is the right time in milliseconds; the task asks for seconds.",
            zh="時間對了，但單位是毫秒；題目要的是秒。",
        )
    raise Wrong(
        en=f"On this device one call takes {work:g} seconds, but you get {got:.6g}. You took the right steps; look at what you "
        "do with the two times.",
        zh=f"在這個裝置上，一次呼叫要 {work:g} 秒，你算出 {got:.6g}。步驟都對了，請再檢查兩次看時鐘得到的時間是怎麼算的。",
    )


def _timed_calls(log: list[str]) -> int:
    """Return how many calls were timed; raise the hint for a step that is missing or in the wrong place."""
    if "action" not in log:
        raise Wrong(
            en="You never call `action()`, so there is nothing to measure.",
            zh="你從頭到尾沒有呼叫 `action()`，也就沒有東西可量。",
        )
    if "clock" not in log:
        raise Wrong(
            en="Use the `clock` that you are given: this device's seconds pass on no other clock.",
            zh="請用傳進來的 `clock`，因為這個裝置有自己的時間，別的時鐘都量不到。",
        )
    begin, end = log.index("clock"), len(log) - 1 - log[::-1].index("clock")
    timed = log[begin:end]
    calls = timed.count("action")
    if not calls:
        raise Wrong(
            en="No call of `action()` lies between your first and your last look at the clock.",
            zh="你第一次和最後一次看時鐘之間，一次也沒有呼叫 `action()`。",
        )
    if "synchronize" not in timed[len(timed) - timed[::-1].index("action") :]:
        raise Wrong(
            en="When you stop the clock, the calls have been queued, but not done. What has to come before that last look?",
            zh="你停止計時的時候，工作只是排進佇列，還沒做完。最後一次看時鐘之前，少了什麼？",
        )
    if "action" not in log[:begin]:
        raise Wrong(
            en="The first call takes far longer than the others, and you time it as well. Call `action()` once before "
            "you start the clock.",
            zh="第一次呼叫比之後的呼叫慢很多，你卻把第一次也算進去了。開始計時之前，先呼叫一次 `action()`。",
        )
    last = max(place for place in range(begin) if log[place] == "action")
    if "synchronize" not in log[last:begin]:
        raise Wrong(
            en="When you start the clock, the device is still busy with what was queued before. Let it finish first.",
            zh="你開始計時的時候，裝置還在做先前排進去的工作。先等它做完。",
        )
    return calls


def show_timing(answer: Any) -> figures.Picture:
    """Draw what the device did, where the host waited, and when the answer looked at the clock."""
    device = FakeDevice(0.04, left_over=0.06, first=0.12)
    answer(device.action, device.synchronize, device.clock)
    figure, (axes,) = timeline.panels([2])
    labels = {"host": Bilingual("host", "主機"), "device": Bilingual("device", "裝置")}
    timeline.draw(axes, Timeline(device.spans[:60]), lanes=("host", "device"), labels=labels)
    for look in (device.looks[:1] + device.looks[-1:]) if device.looks else ():
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
