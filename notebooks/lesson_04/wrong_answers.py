"""Typical wrong answers to the exercises of lesson 04: source, English words, Chinese words of the hint they must get."""

from __future__ import annotations

_TIME = "def seconds_per_call(action, synchronize, clock):\n    "
_WARM = _TIME + "action()\n    synchronize()\n    start = clock()\n    "
_TIMED = _WARM + "for _ in range(10):\n        action()\n    synchronize()\n    "
_WAIT = "    work.wait_stream(copy)\n", "    copy.wait_stream(work)\n"
_PREFETCH = "def prefetch(batches, start_copy, wait):\n    "


def _train(
    *, each: str, end: str, before: str = "losses, right = [], 0", step: str = "optimizer.step()"
) -> str:
    """Return a training loop for the exercise "stalls"; `each` is its lines at the end of a step."""
    lines = (
        "scores = model(images)", "loss = nn.functional.cross_entropy(scores, labels)", "optimizer.zero_grad()",
        "loss.backward()", step, *each.split("; "),
    )  # fmt: skip
    return (
        f"def train(model, optimizer, batches):\n    {before}\n    for images, labels in batches:\n"
        + "".join(f"        {line}\n" for line in lines)
        + "".join(f"    {line}\n" for line in end.split("; "))
    )


_KEEP = "losses.append(loss.detach()); right = right + (scores.argmax(1) == labels).sum()"
_FETCH = "losses = torch.stack(losses).tolist(); "


def _two_batches(*waits: str, steps: tuple[str, ...] = ()) -> str:
    """Return the program of the exercise "race" with something before each step."""
    steps = steps or (
        "copy.run('load A', writes='batch')", "work.run('train A', reads='batch', writes='loss')",
        "copy.run('load B', writes='batch')", "work.run('train B', reads='batch', writes='loss')",
        "copy.run('fetch loss', reads='loss')",
    )  # fmt: skip
    gaps = [*waits, *[""] * (len(steps) - len(waits))]
    body = "".join(f"{gap}    {step}\n" for gap, step in zip(gaps, steps, strict=True))
    return f"def two_batches(copy, work):\n{body}"


_BOUND = "def done_after(n, launch, work):\n    return "
_FETCH_BODY = "def fetch(result, host, stream, launch_more):\n    "
_COPY = "host.copy_(result, non_blocking=True)\n    "


def _grey(item: str, *, size: str = "return len(self.images)") -> str:
    """Return a Dataset for the exercise "dataset"; `item` is the body of its last function."""
    return (
        "class Grey(Dataset):\n"
        "    def __init__(self, images, labels):\n        self.images, self.labels = images, labels\n"
        f"    def __len__(self):\n        {size}\n"
        f"    def __getitem__(self, i):\n        {item}"
    )


WRONG: dict[str, list[tuple[str, str, str]]] = {
    "launch_bound": [
        ("def done_after(n, launch, work):\n    total = n * launch + work", "`None`", "`None`"),
        (_BOUND + "f'{n * work} s'", "a `str`", "`str`"),
        (_BOUND + "n * (launch + work)", "That is the sum", "全部加起來了"),
        (_BOUND + "n * max(launch, work)", "sets the pace, that is right", "這點沒錯"),
        (_BOUND + "launch + n * work", "Right if the GPU is the slower side", "GPU 較慢的時候，這樣算是對的"),
        (_BOUND + "launch + work", "Draw it for three kernels", "先畫三個 kernel"),
    ],
    "biggest": [
        (
            "def biggest(losses):\n    return torch.stack(losses).max(0)",
            "take `.max()`",
            "請改用不指定維度的 `.max()`",
        ),
        ("def biggest(losses):\n    torch.stack(losses).max()", "`None`", "`None`"),
        (
            "def biggest(losses):\n    return torch.stack(losses).max().item()",
            "already been waited for",
            "已經等過了",
        ),
        ("def biggest(losses):\n    return losses[0]", "The largest of", "最大的是"),
        (
            "def biggest(losses):\n    return torch.tensor(losses).max()",
            "waits 6 times, in the lines below",
            "等了 6 次（見下表）",
        ),
        ("def biggest(losses):\n    return max(losses)", "waits 5 times, in", "等了 5 次（見"),
        (
            "def biggest(losses):\n    worst = torch.stack(losses).max()\n    print(worst)\n    return worst",
            "still waits 1 times",
            "還是等了 1 次",
        ),
        (
            "def biggest(losses):\n    every = torch.stack(losses)\n    return every[every >= every.max()][0]",
            "still waits 1 times",
            "還是等了 1 次",
        ),
    ],
    "fetch": [
        (_FETCH_BODY + _COPY + "launch_more()\n    return result", "Read from `host`", "請從 `host` 讀取"),
        (_FETCH_BODY + _COPY + "launch_more()", "`None`", "`None`"),
        (
            _FETCH_BODY + "host.copy_(result)\n    launch_more()\n    return host.tolist()",
            "Without `non_blocking=True`",
            "沒有 `non_blocking=True`",
        ),
        (_FETCH_BODY + _COPY + "return host.tolist()", "`launch_more()` once", "各呼叫一次"),
        (
            _FETCH_BODY
            + "copied = stream.record_event()\n    "
            + _COPY
            + "launch_more()\n    copied.synchronize()\n    return host.tolist()",
            "stands before the copy",
            "事件排在複製前面",
        ),
        (
            _FETCH_BODY + _COPY + "launch_more()\n    stream.synchronize()\n    return [1, 2, 3][:2]",
            "you return [1, 2]",
            "你傳回的是 [1, 2]",
        ),
        (
            _FETCH_BODY + _COPY + "launch_more()\n    stream.synchronize()\n    return host.tolist()",
            "the work behind the copy",
            "複製後面的工作都一起等",
        ),
        (
            _FETCH_BODY
            + _COPY
            + "launch_more()\n    copied = stream.record_event()\n    copied.synchronize()\n    return host.tolist()",
            "the work behind the copy",
            "複製後面的工作都一起等",
        ),
        (
            _FETCH_BODY
            + _COPY
            + "copied = stream.record_event()\n    launch_more()\n    stream.wait_event(copied)\n    return host.tolist()",
            "make a **stream** wait",
            "只會讓**串流**等",
        ),
        (
            _FETCH_BODY
            + _COPY
            + "copied = stream.record_event()\n    launch_more()\n    copied.wait()\n    return host.tolist()",
            "make a **stream** wait",
            "只會讓**串流**等",
        ),
        (
            _FETCH_BODY
            + _COPY
            + "copied = stream.record_event()\n    while not copied.query():\n        pass\n    launch_more()\n    return host.tolist()",
            "Wait as late as you can",
            "請盡量晚一點再等",
        ),
        (
            _FETCH_BODY
            + _COPY
            + "copied = stream.record_event()\n    copied.synchronize()\n    launch_more()\n    return host.tolist()",
            "Wait as late as you can",
            "請盡量晚一點再等",
        ),
    ],
    "dataset": [
        ("def Grey(images, labels):\n    return list(zip(images, labels))", "the class itself", "類別本身"),
        (
            "class Grey(Dataset):\n    def __init__(self, images, labels):\n        self.images = images\n"
            "    def __getitem__(self, i):\n        return self.images[i]",
            "`__len__` is still missing",
            "還缺 `__len__`",
        ),
        (
            _grey("return self.images[i].flatten().float() / 16, self.labels[i]", size="return 8"),
            "There are 10 images",
            "影像有 10 張",
        ),
        (_grey("return self.images[i].flatten().float() / 16"), "return a pair", "傳回一對"),
        (_grey("return self.images[i].flatten(), self.labels[i]"), "float32 tensor", "float32 張量"),
        (_grey("return self.images[i].float() / 16, self.labels[i]"), "the shape (64,)", "應該是 (64,)"),
        (
            _grey("return self.images[i].flatten().float(), self.labels[i]"),
            "should become 0 to 1",
            "換算成 0 到 1",
        ),
        (_grey("return self.images[i].flatten().float() / 16, i"), "does not belong", "對不起來"),
    ],
    "fair_timing": [
        (_TIMED + "(clock() - start) / 10", "`None`", "`None`"),
        (_TIMED + "return f'{(clock() - start) / 10:.3f} s'", "a `str`", "`str`"),
        (_TIME + "return 0.005", "never call `action()`", "沒有呼叫 `action()`"),
        (
            "import time\n"
            + (_TIMED + "return (clock() - start) / 10").replace("clock()", "time.perf_counter()"),
            "Use the `clock`",
            "請用傳進來的 `clock`",
        ),
        (
            _TIME + "action()\n    synchronize()\n    return clock()",
            "No call of `action()`",
            "一次也沒有呼叫 `action()`",
        ),
        (
            _WARM + "for _ in range(10):\n        action()\n    return (clock() - start) / 10",
            "queued, but not done",
            "還沒做完",
        ),
        (
            _WARM + "synchronize()\n    action()\n    return clock() - start",
            "queued, but not done",
            "還沒做完",
        ),
        (
            _TIME
            + "synchronize()\n    start = clock()\n    for _ in range(10):\n        action()\n    synchronize()\n"
            "    return (clock() - start) / 10",
            "The first call takes far longer",
            "第一次呼叫比之後的呼叫慢很多",
        ),
        (
            _TIME + "start = clock()\n    action()\n    synchronize()\n    return clock() - start",
            "The first call takes far longer",
            "第一次呼叫比之後的呼叫慢很多",
        ),
        (
            _TIME
            + "action()\n    start = clock()\n    action()\n    synchronize()\n    return clock() - start",
            "still busy",
            "還在做先前",
        ),
        (_TIMED + "return clock() - start", "all 10 calls together", "10 次呼叫加起來"),
        (_TIMED + "return (clock() - start) * 100", "milliseconds", "毫秒"),
        (_TIMED + "return (clock() - start) / 5", "but you get 0.01", "你算出 0.01"),
        (_TIMED + "return (start - clock()) / 10", "but you get -0.005", "你算出 -0.005"),
    ],
    "stalls": [
        (_train(each=_KEEP, end=_FETCH + "return losses"), "three things", "三樣東西"),
        (_train(each=_KEEP, end="print(losses)"), "three things", "三樣東西"),
        (
            _train(each=_KEEP, end="return losses, int(right), torch.stack(losses).max().item()"),
            "list of Python floats",
            "Python 浮點數的 list",
        ),
        (
            _train(
                each=_KEEP, end="losses = torch.stack(losses); return losses, int(right), losses.max().item()"
            ),
            "list of Python floats",
            "Python 浮點數的 list",
        ),
        (
            _train(each=_KEEP, end=_FETCH + "return losses, right, max(losses)"),
            "`right` should be",
            "`right` 最後應該",
        ),
        (
            _train(
                each=_KEEP,
                end="worst = torch.stack(losses).max(); " + _FETCH + "return losses, int(right), worst",
            ),
            "`worst` should be",
            "`worst` 最後應該",
        ),
        (
            _train(each=_KEEP, end="losses = [losses[-1].item()]; return losses, int(right), losses[0]"),
            "but you return 1 losses",
            "卻傳回 1 個損失",
        ),
        (
            _train(each=_KEEP, step="pass", end=_FETCH + "return losses, int(right), max(losses)"),
            "no longer those of the original",
            "和原本的迴圈不一樣",
        ),
        (
            _train(
                each=_KEEP,
                before="losses, right = [], 1",
                end=_FETCH + "return losses, int(right), max(losses)",
            ),
            "were classified correctly",
            "答對的有",
        ),
        (
            _train(each=_KEEP, end=_FETCH + "return losses, int(right), losses[-1]"),
            "The largest loss is",
            "最大的損失是",
        ),
        (
            _train(
                each="losses.append(loss.item()); right = right + (scores.argmax(1) == labels).sum()",
                end="return losses, int(right), max(losses)",
            ),
            "still waits at least 21 times",
            "還是至少等了 21 次",
        ),
        (
            _train(
                each=_KEEP + "; worst = max(worst, loss.detach())",
                before="losses, right, worst = [], 0, 0.0",
                end=_FETCH + "return losses, int(right), float(worst)",
            ),
            "still waits at least 23 times",
            "還是至少等了 23 次",
        ),
        (
            _train(each=_KEEP, end=_FETCH + "return losses, int(right), max(losses)"),
            "a NaN is no longer noticed",
            "不再察覺 NaN",
        ),
        (
            _train(
                each=_KEEP,
                end=_FETCH
                + "worst = max(losses); if worst != worst: raise ValueError('NaN'); return losses, int(right), worst",
            ),
            "`max` can lose a NaN",
            "`max` 可能漏掉 NaN",
        ),
        (
            _train(
                each=_KEEP,
                end="losses = [l.item() for l in losses]; return losses, int(right), max(losses)",
            ),
            "Also after the loop: one `tolist()`",
            "請呼叫一次 `tolist()`",
        ),
        (
            _train(
                each=_KEEP,
                end="stacked = torch.stack(losses); bad = stacked.isnan().any().item(); worst = stacked.max().item(); "
                "return stacked.tolist(), right.item(), worst",
            ),
            "still waits at least 4 times",
            "還是至少等了 4 次",
        ),
    ],
    "race": [
        (_two_batches(steps=("copy.run('load A', writes='batch')",)), "The five steps", "五個步驟"),
        (
            _two_batches().replace("copy.run('load B'", "work.run('load B'"),
            "The five steps",
            "五個步驟",
        ),
        (
            _two_batches(
                "", "    copy.synchronize()\n", "    work.synchronize()\n", "    copy.synchronize()\n"
            ),
            "makes the **host** wait",
            "讓**主機**等",
        ),
        (_two_batches("", "    work.wait_event(copy)\n"), "takes an event", "要的是事件"),
        (_two_batches("", "    work.wait_stream(copy.record_event())\n"), "the other stream", "另一條串流"),
        (
            _two_batches("", "    copy.wait_stream(work)\n"),
            "`train A` may read `batch` before",
            "`train A` 就可能來讀",
        ),
        (_two_batches("", _WAIT[0], "", _WAIT[0], _WAIT[1]), "`load B` may overwrite `batch`", "把它蓋掉"),
        (
            _two_batches("", _WAIT[0], _WAIT[1], "", _WAIT[1]),
            "`train B` may read `batch` before",
            "`train B` 就可能來讀",
        ),
        (
            _two_batches("", _WAIT[0], _WAIT[1], _WAIT[0]),
            "`fetch loss` may read `loss` before",
            "`fetch loss` 就可能來讀",
        ),
        (
            _two_batches("", "", "    e = copy.record_event()\n    work.wait_event(e)\n"),
            "`train A` may read `batch` before",
            "`train A` 就可能來讀",
        ),
    ],
    "prefetch": [
        (_PREFETCH + "for batch in batches:\n        wait(start_copy(batch))", "Use `yield`", "要用 `yield`"),
        (
            _PREFETCH + "for batch in batches:\n        yield wait(start_copy(batch))",
            "still take turns",
            "還是輪流做",
        ),
        (
            _PREFETCH + "for batch in batches:\n        yield wait(batch)",
            "`wait` takes what `start_copy` returned",
            "`start_copy` 傳回的東西",
        ),
        (
            _PREFETCH + "last = None\n    for batch in batches:\n        ticket = start_copy(batch)\n"
            "        if last:\n            yield last\n        last = ticket\n    if last:\n        yield last",
            "a copy that may still be under way",
            "複製可能還沒完成",
        ),
        (
            _PREFETCH + "last = None\n    for batch in batches:\n        ticket = start_copy(batch)\n"
            "        if last:\n            yield wait(last)\n        last = ticket",
            "The last of 4 batches never comes out",
            "最後一批沒有交出來",
        ),
        (
            _PREFETCH + "last = None\n    for batch in batches:\n        ticket = start_copy(batch)\n"
            "        yield wait(last or ticket)\n        last = ticket",
            "in another order",
            "順序不對",
        ),
        (
            _PREFETCH
            + "tickets = [start_copy(batch) for batch in batches]\n    return [wait(t) for t in tickets]",
            "the copy of batch 2 has been started as well",
            "連第 2 批都開始複製了",
        ),
        (
            _PREFETCH
            + "batches = iter(batches)\n    ticket = start_copy(next(batches))\n    for batch in batches:\n"
            "        coming = start_copy(batch)\n        yield wait(ticket)\n        ticket = coming\n    yield wait(ticket)",
            "`StopIteration`",
            "`StopIteration`",
        ),
        (
            _PREFETCH + "for k in range(len(batches)):\n        yield wait(start_copy(batches[k]))",
            "any iterable",
            "可迭代",
        ),
        (_PREFETCH + "ticket = start_copy(batches[0])\n    yield wait(ticket)", "any iterable", "可迭代"),
    ],
}
