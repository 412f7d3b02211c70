"""How a launch looks in a notebook: while it runs, and when it is over."""

from __future__ import annotations

import html
import re
import signal
from typing import Any

from course_utils.language import Bilingual, Block, measured
from course_utils.launcher.run import Failure, Run

EVERY_SECONDS = 0.15  # how often the box changes
MOST_LIVE, MOST_FINAL = 12, 24  # lines; the second of each rank
_RUNNING = Bilingual("running …", "執行中……")
_DONE = Bilingual("all ranks are done", "所有 rank 都已完成")
_STOPPED = Bilingual("interrupted; everything that was started has been ended", "已中斷，啟動的行程都已結束")
_KINDS = {
    "raised": Bilingual("rank {rank} raised an exception", "rank {rank} 引發例外"),
    "exited": Bilingual("rank {rank} ended with exit status {exit}", "rank {rank} 已結束，結束狀態為 {exit}"),
    "killed": Bilingual("rank {rank} was killed by `{signal}`", "rank {rank} 被 `{signal}` 強制結束"),
    "hangs": Bilingual("rank {rank} hangs; it was here", "rank {rank} 卡住了，停在這裡"),
    "stopped": Bilingual(
        "rank {rank} was stopped because of the failure; it was here", "rank {rank} 受到波及而中止，停在這裡"
    ),
    "done": Bilingual("rank {rank} had ended before", "rank {rank} 在這之前就已結束"),
}
_TORCHRUN = Bilingual("`torchrun` itself failed", "`torchrun` 本身失敗")
_SLOW = Bilingual("the time was up before any rank had started", "時間到了，卻還沒有任何 rank 啟動")
_OTHERS = Bilingual("The other ranks: what followed", "其他 rank：後來發生的事")
_PRINTED = Bilingual("What was printed", "印出的內容")
_LAST = Bilingual("The last that it printed:", "它最後印出的內容：")
_ANEW = Bilingual("started anew ({start})", "重新啟動（第 {start} 次）")
_MORE = Bilingual("… {count} more lines in `run.lines`", "……還有 {count} 行，見 `run.lines`")


def _console(text: str, compared: bool = False) -> str:
    """Return `text` as it stands in a terminal; what may differ between two runs is marked as measured."""
    escaped = html.escape(text, quote=False)
    if not compared:
        return f'<pre class="course-console measured">{re.sub("[⟨⟩]", "", escaped)}</pre>'
    marked = re.sub("⟨([^⟨⟩]*)⟩", r'<span class="measured">\1</span>', escaped)
    return f'<pre class="course-console">{marked}</pre>'


def _with_ranks(lines: list[tuple[int, str]]) -> str:
    return "\n".join(f"[rank {rank}] {line}" for rank, line in lines)


def _what(failure: Failure) -> Bilingual:
    if failure.rank is None:
        return _SLOW if failure.kind == "hangs" else _TORCHRUN
    names = {-one.value: one.name for one in signal.Signals}
    name = names.get(failure.exit or 0, f"signal {-(failure.exit or 0)}")
    return _KINDS[failure.kind].format(rank=failure.rank, exit=failure.exit, signal=name)


def _evidence(failure: Failure) -> str:
    """Return the traceback of the rank that failed first, or what it printed last."""
    if not failure.text.strip():
        return ""
    printed = (
        failure.kind in ("exited", "killed") and 'File "' not in failure.text and failure.rank is not None
    )
    label = f'<p class="course-small">{_LAST.html()}</p>' if printed else ""
    return label + _console(failure.text)


def _other(failure: Failure) -> str:
    """Return what became of another rank. Whether it failed as well or was stopped before is a matter of chance."""
    what = _what(failure)
    return f"<p>{Bilingual(measured(what.en), measured(what.zh)).html()}</p>{_console(failure.text)}"


class Box:
    """Two outputs: one that lives while the job runs and is empty afterwards, and one that stays.

    nbval compares the first state of an output, JupyterLab and nbclient store the last one, so these are the same. What
    stays is the same on every run of the same job, but for what is marked as measured.
    """

    def __init__(self, run: Run) -> None:
        from IPython import get_ipython
        from IPython.display import display

        self.run, self.display, self.notebook, self.at = run, display, get_ipython() is not None, 0.0
        self.handle: Any = display(self._live(""), display_id=True) if self.notebook else None

    def update(self) -> None:
        """Show the newest lines, if the last time was long enough ago."""
        if self.handle is not None and self.run.seconds > self.at + EVERY_SECONDS:
            self.at = self.run.seconds
            lines = self.run.lines[-MOST_LIVE:]
            body = _console(_with_ranks(lines)) if lines else ""
            self.handle.update(self._live(self._card("course-needs", _RUNNING, body)))

    def finish(self) -> None:
        """Show what came of it."""
        if self.handle is not None:
            self.handle.update(self._live(""))
        final = self.final()
        self.display(final) if self.notebook else print(final.text)

    def final(self) -> Block:
        """Return the box that stays."""
        run, printed = self.run, self._printed()
        if run.failure:
            verdict, state = _what(run.failure), "course-error"
            others = "".join(map(_other, run.failures[1:]))
            body = _evidence(run.failure)
            for title, inside in (_OTHERS, others), (_PRINTED, printed):
                body += f"<details><summary>{title.html()}</summary>{inside}</details>"
            plain = measured("\n" + run.failure.text)
        else:
            verdict, state = (_STOPPED, "course-notyet") if run.interrupted else (_DONE, "course-solved")
            body, plain = printed, "" if run.interrupted else _with_ranks(self._sorted(run.restarts)[0])
        text = f"{run.command}\n{verdict}\n{plain}".strip()
        return Block(self._card(state, verdict, body), text)

    def _live(self, card: str) -> Block:
        return Block(f'<div class="course-launch-live">{card}</div>', "launch")

    def _card(self, state: str, verdict: Bilingual, body: str) -> str:
        run = self.run
        facts = [measured(value) for value in (run.backend, f"{run.seconds:.1f} s") if value]
        ranks = Bilingual(f"{run.ranks} rank{'s' * (run.ranks > 1)}", f"{run.ranks} 個 rank")
        small = Bilingual(", ".join([ranks.en, *facts]), "，".join([ranks.zh, *facts]))
        return (
            f'<div class="course-card course-launch {state}"><p class="course-title">'
            f"<code>{html.escape(run.command, quote=False)}</code></p>"
            f'<p><span class="course-verdict">{verdict.html()}</span>'
            f' <span class="course-small">{small.html()}</span></p>{body}</div>'
        )

    def _sorted(self, start: int) -> tuple[list[tuple[int, str]], int]:
        """Return the lines of one start of the job, rank after rank, and how many were left out."""
        kept, left = [], 0
        for rank in range(self.run.ranks):
            pairs = zip(self.run.lines, self.run.starts, strict=True)
            own = [line for line, began in pairs if line[0] == rank and began == start]
            kept += own[:MOST_FINAL]
            left += len(own[MOST_FINAL:])
        return kept, left

    def _printed(self) -> str:
        run, parts = self.run, []
        for start in range(run.restarts + 1):
            lines, left = self._sorted(start)
            if start:
                parts.append(f'<p class="course-small">{_ANEW.format(start=start).html()}</p>')
            if not run.ok or start < run.restarts:  # how far the ranks come before they are stopped is chance
                parts.append(_console("\n".join([_with_ranks(lines), *(["…"] if left else [])])))
            elif lines:
                parts.append(_console(_with_ranks(lines), compared=True))
                if left:
                    parts.append(f'<p class="course-small">{_MORE.format(count=left).html()}</p>')
        return "".join(parts)
