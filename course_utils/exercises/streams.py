"""The exercises of lesson 04, streams: each is checked against something that only keeps record, not against a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from course_utils.exercises import NO_RETURN, Exercise, NotYet, Wrong
from course_utils.exercises.waits import counting
from course_utils.language import Bilingual
from course_utils.measure import preserved_state

# --- timing an asynchronous device ---------------------------------------------------------------------


class FakeDevice:
    """An asynchronous device whose time only passes when somebody launches or waits; it notes what was asked of it.

    Args:
        work: Seconds that one call's work takes on the device.
    """

    LAUNCH = 1e-5  # seconds that the host needs to queue one call
    LEFT_OVER = 0.5  # seconds of somebody else's work that is queued already
    FIRST = 3.0  # seconds that the first call takes longer

    def __init__(self, work: float) -> None:
        self.work, self.now = work, 100.0
        self.free = self.now + self.LEFT_OVER
        self.log: list[str] = []

    def action(self) -> None:
        """Queue one call's work and return at once."""
        first = self.FIRST if "action" not in self.log else 0.0
        self.log.append("action")
        self.now += self.LAUNCH
        self.free = max(self.now, self.free) + self.work + first

    def synchronize(self) -> None:
        """Wait until the device has nothing left to do."""
        self.log.append("synchronize")
        self.now = self.free  # never in the past: all work takes longer than its launch

    def clock(self) -> float:
        """Return the host's time in seconds."""
        self.log.append("clock")
        return self.now


def examine_fair_timing(answer: Any) -> None:
    """Examine ``seconds_per_call(action, synchronize, clock) -> float``."""
    for work in (0.005, 0.04):
        device = FakeDevice(work)
        got = answer(device.action, device.synchronize, device.clock)
        _judge_timing(got, device)


def _judge_timing(got: Any, device: FakeDevice) -> None:
    log, work = device.log, device.work
    if got is None:
        raise Wrong(**NO_RETURN)
    if isinstance(got, bool) or not isinstance(got, (int, float)):
        raise Wrong(
            en=f"The answer should be a number of seconds, but yours is a `{type(got).__name__}`.",
            zh=f"答案應該是秒數，你傳回的卻是 `{type(got).__name__}`。",
        )
    if abs(got - work) <= 0.02 * work:
        return
    if "action" not in log:
        raise Wrong(
            en="You never call `action()`, so there is nothing to measure.",
            zh="你從頭到尾沒有呼叫 `action()`，也就沒有東西可量。",
        )
    if "clock" not in log:
        raise Wrong(
            en="Use the `clock` that you are given: this device's seconds pass on no other clock.",
            zh="請用傳進來的 `clock`：這個裝置的時間，別的時鐘都量不到。",
        )
    begin, end = log.index("clock"), len(log) - 1 - log[::-1].index("clock")
    timed = log[begin:end]
    calls = timed.count("action")
    if not calls:
        raise Wrong(
            en="No call of `action()` lies between your first and your last look at the clock.",
            zh="你第一次和最後一次看時鐘之間，一次 `action()` 也沒有呼叫。",
        )
    if "synchronize" not in timed[len(timed) - timed[::-1].index("action") :]:
        raise Wrong(
            en="When you stop the clock, the calls have been queued, but not done. What has to come before that last look?",
            zh="你停錶的時候，工作只是排進佇列，還沒做完。最後一次看時鐘之前，少了什麼？",
        )
    if "action" not in log[:begin]:
        raise Wrong(
            en="The first call takes far longer than the others, and you time it as well. Call `action()` once before "
            "you start the clock.",
            zh="第一次呼叫比之後慢很多，你卻把它也算進去了。開始計時之前，先呼叫一次 `action()`。",
        )
    last = max(place for place in range(begin) if log[place] == "action")
    if "synchronize" not in log[last:begin]:
        raise Wrong(
            en="When you start the clock, the device is still busy with what was queued before. Let it finish first.",
            zh="你開始計時的時候，裝置還在做先前排進去的工作。先等它做完。",
        )
    if abs(got - work * calls) <= 0.02 * work * calls:
        raise Wrong(
            en=f"That is the time of all {calls} calls together; the task asks for one.",
            zh=f"這是 {calls} 次呼叫加起來的時間，題目要的是一次。",
        )
    if abs(got - 1000 * work) <= 20 * work:
        raise Wrong(
            en="That is the right time in milliseconds; the task asks for seconds.",
            zh="時間對了，但單位是毫秒；題目要的是秒。",
        )
    raise Wrong(
        en=f"On this device one call takes {work:g} seconds, but you get {got:.6g}. You took the right steps; look at what you "
        "do with the two times.",
        zh=f"在這個裝置上，一次呼叫要 {work:g} 秒，你算出 {got:.6g}。步驟都對了，再看看那兩個時間是怎麼用的。",
    )


# --- a training loop that stalls -----------------------------------------------------------------------

STEPS = 20
WAITS_ALLOWED = 3


def _batches(device: str) -> list[tuple[torch.Tensor, torch.Tensor]]:
    make = torch.Generator().manual_seed(0)
    return [
        (torch.rand(8, 64, generator=make).to(device), torch.randint(10, (8,), generator=make).to(device))
        for _ in range(STEPS)
    ]


def _start(device: str) -> tuple[nn.Module, torch.optim.Optimizer]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = nn.Linear(64, 10)
    model = model.to(device)
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def _mended(
    model: nn.Module, optimizer: torch.optim.Optimizer, batches: list[tuple[torch.Tensor, torch.Tensor]]
) -> tuple[list[float], int, float]:
    """Train as the lesson's loop does, without its waits."""
    losses, right = [], 0
    for images, labels in batches:
        scores = model(images)
        loss = nn.functional.cross_entropy(scores, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        right = right + (scores.argmax(1) == labels).sum()
    numbers = torch.stack(losses).tolist()
    if any(number != number for number in numbers):
        raise ValueError("the loss is NaN")
    return numbers, int(right), max(numbers)


def _first_uses() -> None:
    """Make PyTorch load what the checker needs, so that the learner's time limit does not pay for it."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with preserved_state(), counting():
        _mended(*_start(device), _batches(device)[:2])
        f"{torch.zeros((), device=device):g}"


def examine_stalls(answer: Any) -> None:
    """Examine ``train(model, optimizer, batches) -> (losses, right, worst)``, which may wait only at the end."""
    with preserved_state():  # several threads would only wait for each other in a model this small
        _examine_stalls(answer, "cuda" if torch.cuda.is_available() else "cpu")


def _examine_stalls(answer: Any, device: str) -> None:
    batches = _batches(device)
    losses, right, worst = _mended(*_start(device), batches)
    model, optimizer = _start(device)
    with counting() as fetches:
        got = answer(model, optimizer, list(batches))
    waits = fetches.count
    if not isinstance(got, tuple) or len(got) != 3:
        raise Wrong(
            en=f"`train` should return three things, `losses, right, worst`; yours returns a `{type(got).__name__}`.",
            zh=f"`train` 應該傳回三樣東西：`losses, right, worst`；你傳回的是 `{type(got).__name__}`。",
        )
    if not isinstance(got[0], list) or not all(isinstance(loss, float) for loss in got[0]):
        raise Wrong(
            en="`losses` should be a list of Python floats, as before. One `tolist()` after the loop turns a whole tensor "
            "into such a list.",
            zh="`losses` 應該和原本一樣，是裝著 Python 浮點數的 list。迴圈結束後呼叫一次 `tolist()`，就能把整個張量變成這樣的 list。",
        )
    for name, number in (("right", got[1]), ("worst", got[2])):
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise Wrong(
                en=f"`{name}` should be a Python number at the end, but yours is a `{type(number).__name__}`. After the loop, one "
                "fetch is fine.",
                zh=f"`{name}` 最後應該是 Python 的數字，你的卻是 `{type(number).__name__}`。迴圈結束之後取一次值，沒有問題。",
            )
    if len(got[0]) != STEPS:
        raise Wrong(
            en=f"There were {STEPS} steps, but you return {len(got[0])} losses. Keep every one; only fetch them together.",
            zh=f"總共 {STEPS} 步，你卻傳回 {len(got[0])} 個損失。每一個都要留著，只是改成一起取值。",
        )
    if max(abs(mine - theirs) for mine, theirs in zip(got[0], losses, strict=True)) > 1e-3:
        raise Wrong(
            en="The losses are no longer those of the original loop. The training itself should stay as it was.",
            zh="損失和原本的迴圈不一樣了。訓練本身應該維持原樣。",
        )
    if got[1] != right:
        raise Wrong(
            en=f"Of {8 * STEPS} images, {right} were classified correctly during training; you count {got[1]:g}.",
            zh=f"{8 * STEPS} 張影像裡，訓練過程中答對的有 {right} 張，你數出 {got[1]:g} 張。",
        )
    if abs(got[2] - worst) > 1e-3:
        raise Wrong(
            en=f"The largest loss is {worst:.3f}, but your `worst` is {got[2]:.3f}.",
            zh=f"最大的損失是 {worst:.3f}，你的 `worst` 卻是 {got[2]:.3f}。",
        )
    if waits > WAITS_ALLOWED:
        each = round(waits / STEPS)
        if each >= 4:
            raise NotYet(
                en=f"Not yet: in {STEPS} steps the host waits {waits} times, {each} times in every step. Find these lines and mend "
                "them.",
                zh=f"還沒完成：{STEPS} 步裡，主機等了 {waits} 次，每一步等 {each} 次。找出這幾行，改掉。",
            )
        raise Wrong(
            en=f"The results are right, but in {STEPS} steps the host still waits at least {waits} times; allowed are {WAITS_ALLOWED}, "
            "after the loop. Which line inside it still asks for a value?",
            zh=f"結果都對，但 {STEPS} 步裡，主機還是至少等了 {waits} 次；只准在迴圈結束後等 {WAITS_ALLOWED} 次。迴圈裡還有哪一行在取值？",
        )
    _must_notice_nan(answer, batches, device)


def _must_notice_nan(answer: Any, batches: list[tuple[torch.Tensor, torch.Tensor]], device: str) -> None:
    spoilt = deepcopy(batches[:3])
    spoilt[1][0].fill_(float("nan"))
    try:
        answer(*_start(device), spoilt)
    except ValueError:
        return
    raise Wrong(
        en="No wait is left, but neither is the check: when a loss is NaN, `train` should still raise `ValueError`. It may do so "
        "after the loop.",
        zh="不會等了，但檢查也不見了：損失是 NaN 時，`train` 還是要引發 `ValueError`。迴圈結束後再檢查就行。",
    )


# --- waits between streams -----------------------------------------------------------------------------

PROGRAM = (
    ("copy", "load A", "", "batch"),
    ("work", "train A", "batch", "loss"),
    ("copy", "load B", "", "batch"),
    ("work", "train B", "batch", "loss"),
    ("copy", "fetch loss", "loss", ""),
)


@dataclass(frozen=True)
class Step:
    """One piece of work: its stream, its name, what it reads and what it writes, and all that is done before it."""

    stream: str
    name: str
    reads: str
    writes: str
    before: frozenset[int]


@dataclass
class Record:
    """What was queued on the streams of one run, and whether the host waited."""

    steps: list[Step] = field(default_factory=list)
    waits: int = 0
    host_waits: int = 0


class FakeEvent:
    """A moment in a stream: all that is done when it has passed."""

    def __init__(self, done: frozenset[int]) -> None:
        self.done = done


class FakeStream:
    """A stream that runs nothing, but knows of every step what must have happened before it.

    Args:
        name: ``"copy"`` or ``"work"``.
        record: Where its steps are noted.
    """

    def __init__(self, name: str, record: Record) -> None:
        self.name, self.record = name, record
        self.done: frozenset[int] = frozenset()

    def run(self, name: str, reads: str = "", writes: str = "") -> None:
        """Queue a step that reads and writes the named memory."""
        self.record.steps.append(Step(self.name, name, reads, writes, self.done))
        self.done |= {len(self.record.steps) - 1}

    def record_event(self) -> FakeEvent:
        """Return an event that stands behind everything queued so far."""
        return FakeEvent(self.done)

    def wait_event(self, event: FakeEvent) -> None:
        """Let everything queued from now on wait for `event`."""
        if not isinstance(event, FakeEvent):
            raise Wrong(
                en="`wait_event` takes an event: what `record_event()` of the other stream returned.",
                zh="`wait_event` 要的是事件，也就是另一條串流的 `record_event()` 傳回的東西。",
            )
        self.record.waits += 1
        self.done |= event.done

    def wait_stream(self, stream: FakeStream) -> None:
        """Let everything queued from now on wait for all that `stream` has been given so far."""
        if not isinstance(stream, FakeStream):
            raise Wrong(
                en="`wait_stream` takes the other stream: `work.wait_stream(copy)` or `copy.wait_stream(work)`.",
                zh="`wait_stream` 要的是另一條串流：`work.wait_stream(copy)` 或 `copy.wait_stream(work)`。",
            )
        self.wait_event(stream.record_event())

    def synchronize(self) -> None:
        """Let the host wait."""
        self.record.host_waits += 1


def first_race(steps: list[Step]) -> tuple[int, int] | None:
    """Return the first two steps that touch the same memory, one of them writing, in no order; or None.

    Steps on one stream are in order; steps on two are only if an event puts them so (the happens-before relation).
    """
    for later, b in enumerate(steps):
        for earlier, a in enumerate(steps[:later]):
            touched = {a.writes} & {b.reads, b.writes} | {a.reads} & {b.writes}
            if touched - {""} and earlier not in b.before:
                return earlier, later
    return None


def examine_race(answer: Any) -> None:
    """Examine ``two_batches(copy, work)``, which needs four waits between its streams."""
    record = Record()
    answer(FakeStream("copy", record), FakeStream("work", record))
    queued = [(step.stream, step.name, step.reads, step.writes) for step in record.steps]
    if queued != list(PROGRAM):
        raise Wrong(
            en="The five steps should stay as they were: the same order, the same streams, the same names. Only add waits "
            "between them.",
            zh="五個步驟要維持原樣：順序、串流、名稱都不變，只在中間加上等待。",
        )
    if record.host_waits:
        raise Wrong(
            en="`synchronize()` makes the **host** wait, and the queues run dry. Let one stream wait for the other instead.",
            zh="`synchronize()` 是讓主機等，佇列就空了。要改成讓一條串流等另一條。",
        )
    race = first_race(record.steps)
    if race is None:
        return
    if not record.waits:
        raise NotYet(
            en="Not yet: nothing waits for anything so far. Add the missing waits, then run the cell again.",
            zh="還沒完成：目前誰也沒在等誰。把缺的等待補上，再執行一次。",
        )
    first, second = (record.steps[place] for place in race)
    if second.reads and second.reads == first.writes:
        raise Wrong(
            en=f"Race: `{second.name}` may read `{second.reads}` before `{first.name}` has written it. Let `{second.stream}` wait for "
            f"`{first.stream}` before `{second.name}`.",
            zh=f"競爭條件：`{first.name}` 還沒寫好 `{second.reads}`，`{second.name}` 就可能來讀了。在 `{second.name}` 之前，要讓 "
            f"`{second.stream}` 等 `{first.stream}`。",
        )
    raise Wrong(
        en=f"Race: `{second.name}` may overwrite `{second.writes}` while `{first.name}` still uses it. A writer has to wait, too.",
        zh=f"競爭條件：`{first.name}` 還在用 `{second.writes}`，`{second.name}` 就可能把它蓋掉。要寫入的一方也得等。",
    )


# --- a prefetcher --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ticket:
    """A copy under way."""

    number: int


class Copies:
    """Starts copies and waits for them, and notes in which order."""

    def __init__(self) -> None:
        self.log: list[tuple[str, int]] = []

    def start_copy(self, batch: str) -> Ticket:
        """Start to copy `batch` and return at once."""
        number = int(batch.rsplit(" ", 1)[-1])
        self.log.append(("start", number))
        return Ticket(number)

    def wait(self, ticket: Ticket) -> str:
        """Wait for a copy and return the batch on the device."""
        if not isinstance(ticket, Ticket):
            raise Wrong(
                en=f"`wait` takes what `start_copy` returned, but you gave it a `{type(ticket).__name__}`.",
                zh=f"`wait` 要的是 `start_copy` 傳回的東西，你給的卻是 `{type(ticket).__name__}`。",
            )
        self.log.append(("wait", ticket.number))
        return f"batch {ticket.number} on the device"


def _deliver(answer: Callable[..., Any], count: int) -> tuple[list[Any], list[tuple[str, int]]]:
    """Return what a prefetcher delivers for `count` batches, and the log with its deliveries."""
    copies = Copies()
    batches: Iterator[str] = (f"batch {number}" for number in range(count))
    try:
        given = answer(batches, copies.start_copy, copies.wait)
        if given is None:
            raise Wrong(
                en="Your function returned `None`. Use `yield` to hand out one batch after the other.",
                zh="你的函式傳回 `None`。要用 `yield` 一批一批交出去。",
            )
        delivered = []
        for batch in given:
            copies.log.append(("use", len(delivered)))
            delivered.append(batch)
            if len(delivered) > count:
                break
    except RuntimeError as error:
        if "StopIteration" not in str(error):
            raise
        raise Wrong(
            en="`next(…)` raises `StopIteration` when no batch is left, and a generator may not let that out. Loop with "
            "`for`, or give `next` a default: `next(batches, None)`.",
            zh="沒有下一批的時候，`next(…)` 會引發 `StopIteration`，產生器不能讓它傳到外面。改用 `for` 迴圈，或給 `next` 一個預設值：`next(batches, None)`。",
        ) from None
    except TypeError as error:
        if "len()" not in str(error) and "subscriptable" not in str(error):
            raise
        raise Wrong(
            en="`batches` may be any iterable, also one without a length or an index. Go through it once, with a `for` loop.",
            zh="`batches` 可以是任何可迭代的物件，不一定有長度，也不一定能用索引。用 `for` 迴圈走一遍就好。",
        ) from None
    return delivered, copies.log


def examine_prefetch(answer: Any) -> None:
    """Examine the generator ``prefetch(batches, start_copy, wait)``."""
    for count in (4, 1, 0):
        delivered, log = _deliver(answer, count)
        _judge_prefetch(delivered, log, count)


def _judge_prefetch(delivered: list[Any], log: list[tuple[str, int]], count: int) -> None:
    if any(isinstance(batch, Ticket) for batch in delivered):
        raise Wrong(
            en="You hand out what `start_copy` returned: a copy that may still be under way. Hand out what `wait(…)` returns.",
            zh="你交出去的是 `start_copy` 傳回的東西，複製可能還沒完成。要交出去的是 `wait(…)` 的結果。",
        )
    right = [f"batch {number} on the device" for number in range(count)]
    if delivered == right[:-1] and count:
        raise Wrong(
            en=f"The last of {count} batches never comes out: when the loop ends, one copy is still under way.",
            zh=f"{count} 批裡，最後一批沒有交出來：迴圈結束時，還有一批在路上。",
        )
    if delivered != right:
        raise Wrong(
            en=f"For {count} batches you hand out {len(delivered)}, or in another order. Each should come out once, in order.",
            zh=f"輸入 {count} 批，你交出 {len(delivered)} 批，或順序不對。每一批都要照順序交出一次。",
        )
    for number in range(count):
        used = log.index(("use", number))
        if number + 1 < count and ("start", number + 1) not in log[:used]:
            raise Wrong(
                en=f"When batch {number} is handed out, the copy of batch {number + 1} has not been started: copy and work still "
                "take turns. Start the next copy first.",
                zh=f"第 {number} 批交出去的時候，第 {number + 1} 批還沒開始複製：複製和運算還是輪流做。要先開始下一批的複製。",
            )
        if ("start", number + 2) in log[:used]:
            raise Wrong(
                en=f"When batch {number} is handed out, the copy of batch {number + 2} has been started as well. There is room for "
                "two batches on the device: the one in use and the next.",
                zh=f"第 {number} 批交出去的時候，連第 {number + 2} 批都開始複製了。裝置上只放得下兩批：正在用的，和下一批。",
            )


# --- the list ------------------------------------------------------------------------------------------

EXERCISES = (
    Exercise(
        "fair_timing",
        "04",
        Bilingual("time an asynchronous device", "替非同步的裝置計時"),
        examine_fair_timing,
        (
            Bilingual(
                "Draw the queue at the moment when you look at the clock: is anything still in it?",
                "看時鐘的那一刻，佇列裡還有東西嗎？畫出來看看。",
            ),
            Bilingual(
                "One call to warm up. Then wait, start the clock, call several times, wait, stop the clock.",
                "先呼叫一次來暖身。接著：等、開始計時、呼叫幾次、等、停錶。",
            ),
            Bilingual("Divide by the number of calls.", "除以呼叫的次數。"),
        ),
    ),
    Exercise(
        "stalls",
        "04",
        Bilingual("mend a loop that stalls", "修好走走停停的迴圈"),
        examine_stalls,
        (
            Bilingual(
                "Four lines in the loop ask for a value: `item()` twice, an `if`, and `max` of two numbers.",
                "迴圈裡有四行要取值：兩個 `item()`、一個 `if`，還有比較兩個數字大小的 `max`。",
            ),
            Bilingual(
                "Collect tensors (`loss.detach()`), and add up `right` as a tensor, too.",
                "收集張量（`loss.detach()`）；`right` 也用張量累加。",
            ),
            Bilingual(
                "After the loop: one `torch.stack(…).tolist()`, then check and compare ordinary Python numbers.",
                "迴圈之後：呼叫一次 `torch.stack(…).tolist()`，檢查和比較就都用普通的 Python 數字來做。",
            ),
        ),
        prepare=_first_uses,
    ),
    Exercise(
        "race",
        "04",
        Bilingual("place the missing waits", "補上缺少的等待"),
        examine_race,
        (
            Bilingual(
                "For each step ask: who wrote what it reads, and who still uses what it overwrites?",
                "每一步都問：它要讀的是誰寫的？它要蓋掉的，還有誰在用？",
            ),
            Bilingual(
                "`work.wait_stream(copy)` means: what `work` is given from now on waits for all that `copy` has been given so far.",
                "`work.wait_stream(copy)` 的意思是：從現在起交給 `work` 的工作，都要等 `copy` 到目前為止收到的工作全部做完。",
            ),
            Bilingual(
                "Here every step needs the one before it: there is a wait in every gap.",
                "在這個程式裡，每一步都要等前一步：每兩步之間，都要有一個等待。",
            ),
        ),
    ),
    Exercise(
        "prefetch",
        "04",
        Bilingual("a prefetcher as a generator", "用產生器寫預取器"),
        examine_prefetch,
        (
            Bilingual(
                "Keep the ticket of the copy that is under way in a variable; before the first batch it is `None`.",
                "用一個變數留住在路上那一批的號碼牌；第一批之前，它是 `None`。",
            ),
            Bilingual(
                "In each round: start the new copy first, then hand out the batch before it.",
                "每一輪都先開始新的複製，再交出前一批。",
            ),
            Bilingual(
                "After the loop one batch is still under way, unless there was none at all.",
                "迴圈結束後，還有一批在路上；除非根本沒有任何一批。",
            ),
        ),
    ),
)
