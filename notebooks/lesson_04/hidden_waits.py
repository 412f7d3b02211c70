"""Which lines of a training step make the host wait for the GPU, and what does the wait cost?

Which line waits is PyTorch's doing (releases 2.7.1 to 2.13) and tested against it. The times are a model: in each of
three steps the host first does other things (the next batch, Python), then queues operations at a fixed price each;
the GPU takes them in order, as soon as they are queued. A line that waits is at the end of a step: the host goes
on when the GPU has done all that was queued.

It is a simplification. The queue has no limit here (a real one holds about a thousand operations), all operations
take the same time, and a line that does not wait costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

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


def _line(code: str, waits: bool, en: str, zh: str) -> Line:
    return Line(code, waits, Bilingual(en, zh))


# Names: `x`, `mask`, `loss`, `other` are on the GPU; `batch` and `pinned` on the host; `log` is a list.
LINES = {
    line.code: line
    for line in (
        _line(
            "loss.item()", True,
            "A Python number is a value, and the value has to come from the GPU first.",
            "Python 的數字就是值，而值要等 GPU 算完才拿得到。",
        ),
        _line(
            "loss.detach()", False,
            "The result is another tensor on the same memory; no value is needed.",
            "傳回的是另一個張量，共用同一塊記憶體，並不讀取其中的值。",
        ),
        _line(
            "print(loss)", True,
            "To print a number, one must know it: there is an `.item()` inside.",
            "要印出數字，就得先知道數字：裡面其實有一個 `.item()`。",
        ),
        _line(
            "log.append(loss.detach())", False,
            "The list keeps tensors, not numbers; read them once, at the end.",
            "list 裡放的是張量，不是數字；最後一起取值就好。",
        ),
        _line(
            "if loss > 3: ...", True,
            "`if` needs `True` or `False` now, to know where to go on.",
            "`if` 當下就要知道是 `True` 還是 `False`，才知道往哪裡走。",
        ),
        _line(
            "loss == other", False,
            "The comparison is computed on the GPU and its result stays there, a tensor of one bool.",
            "比較在 GPU 上算，結果也留在 GPU 上，是只有一個布林值的張量。",
        ),
        _line(
            "max(loss, other)", True,
            "Python's `max` asks `loss > other` and needs the answer as a bool.",
            "Python 的 `max` 會比較 `loss > other`，而且當下就要拿到布林值。",
        ),
        _line(
            "torch.maximum(loss, other)", False,
            "The larger one is picked on the GPU; the host need not know which.",
            "較大的一個由 GPU 挑出來，主機不必知道是哪一個。",
        ),
        _line(
            "x[mask]", True,
            "How many elements are chosen depends on values, and the host must know the size to make room.",
            "會選出幾個元素，取決於張量的值；主機得先知道有幾個，才能配置記憶體。",
        ),
        _line(
            "torch.where(mask, x, 0)", False,
            "The result has the shape of `x`, whatever the mask says.",
            "不管遮罩（mask）的內容是什麼，結果的形狀都和 `x` 一樣。",
        ),
        _line(
            "x.nonzero()", True,
            "The number of rows depends on values, as with `x[mask]`.",
            "結果有幾列，取決於張量的值，和 `x[mask]` 一樣。",
        ),
        _line(
            "x.shape", False,
            "The host made the tensor and knows its shape; it does not ask the GPU.",
            "張量是主機建立的，主機本來就知道形狀，不必詢問 GPU。",
        ),
        _line(
            "len(x)", False,
            "The length is part of the shape, which the host knows.",
            "長度是形狀的一部分，主機本來就知道。",
        ),
        _line(
            "x.numel()", False,
            "A number, but one that follows from the shape, which the host knows.",
            "雖然是數字，但從形狀就算得出來，而主機本來就知道形狀。",
        ),
        _line(
            "x.sum().tolist()", True,
            "A list of Python numbers is made of values, like `.item()`.",
            "Python 數字組成的 list 也是值，和 `.item()` 一樣。",
        ),
        _line(
            "x.cpu()", True,
            "The copy must have arrived when the line returns, or the next one would read garbage.",
            "這一行結束時，資料必須已經送到，否則下一行會讀到無意義的內容。",
        ),
        _line(
            'x.to("cpu", non_blocking=True)', False,
            "The copy is only queued. The host does not wait, and must not read the result yet.",
            "這一行只是把複製排進佇列，主機不用等，但結果也還不能讀。",
        ),
        _line(
            "batch.to(device)", True,
            "A copy without `non_blocking=True` is waited for, and it stands in the queue behind all the work.",
            "複製時沒寫 `non_blocking=True`，主機就會等到複製完成，而這次複製又排在所有工作後面。",
        ),
        _line(
            "pinned.to(device, non_blocking=True)", False,
            "From pinned memory the GPU fetches the data by itself; the copy is only queued.",
            "資料在鎖頁記憶體裡，GPU 會自己來取，主機只是把複製排進佇列。",
        ),
        _line(
            "torch.tensor(3.0, device=device)", True,
            "The number is first put into host memory, then copied, and that copy is waited for.",
            "數字會先放進主機記憶體，再複製到 GPU，而主機會等這次複製。",
        ),
        _line(
            "torch.full((), 3.0, device=device)", False,
            "The number travels along with the launch, as an argument of the kernel that fills the tensor.",
            "數字是 kernel 的引數，跟著啟動一起送到 GPU，再由這個 kernel 填進張量。",
        ),
    )
}  # fmt: skip


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
    verdict = (
        Bilingual("**The host waits.**", "**主機會等。**")
        if result.line.waits
        else Bilingual("**The host does not wait.**", "**主機不用等。**")
    )
    there, usual = (f"{result.idle_share(plan):.0%}" for plan in (result.with_line, result.without))
    idle = (
        Bilingual(
            f"After the first step the GPU is idle for {there} of the time, without this line for {usual}.",
            f"第一步之後，GPU 有 {there} 的時間閒著；沒有這一行的話，則是 {usual}。",
        )
        if result.line.waits
        else Bilingual(
            f"After the first step the GPU is idle for {there} of the time, with or without this line.",
            f"第一步之後，不管有沒有這一行，GPU 都有 {there} 的時間閒著。",
        )
    )
    caption = Bilingual(
        f"{verdict.en} {result.line.why.en} {idle.en}", f"{verdict.zh}{result.line.why.zh}{idle.zh}"
    )
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
