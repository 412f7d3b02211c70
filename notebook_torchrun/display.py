"""Show a launch in a notebook: while it runs, and when it is over."""

import html
import re
import signal
from dataclasses import astuple
from typing import Any

from IPython import get_ipython
from IPython.display import display

from bilingual import Bilingual, Block, measured, texts
from notebook_torchrun.result import Failure, Run

MOST_LIVE, MOST_FINAL = 12, 24  # lines; the second of each rank
_TEXTS = texts(__file__)


# What may differ between two runs or machines in a line that a rank prints: what the script marks itself, a decimal
# fraction (0.5, 1.3e-07, 12.5%; not 2.13.0) and the backend or device. With the spaces before it, as a column has them.
_MEASURED = re.compile(
    r"⟨[^⟨⟩]*⟩"
    r"| *(?:(?<![\w.])[-+])?(?<![\w.])(?:\d*\.\d+(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+)(?:%| %)?(?!\d|\.\d)"
    r"| *(?<![\w.:])(?:gloo|nccl|cpu|cuda(?::\d+)?)(?![\w:]|\.\w)",
    re.ASCII,
)


def _mark(text: str, form: str) -> str:
    """Return `text` with what may differ put into `form`, which has `{}` in its place."""
    return _MEASURED.sub(lambda found: form.format(found[0].strip("⟨⟩")), text)


def _console(text: str, compared: bool = False) -> str:
    """Return `text` as in a terminal; what may differ between two runs is marked as measured."""
    text, kind = html.escape(text, quote=False), " measured" * (not compared)
    text = _mark(text, '<span class="measured">{}</span>') if compared else re.sub("[⟨⟩]", "", text)
    return f'<pre class="course-console{kind}">{text}</pre>'


def _small(text: Bilingual) -> str:
    return f'<p class="course-small">{text.html()}</p>'


def _by_rank(run: Run, start: int) -> tuple[str, int]:
    """Return the lines of one start of the job, rank after rank, and how many were left out."""
    ranks = [run.printed(rank, start) for rank in range(run.ranks)]
    shown = [f"[rank {rank}] {line}" for rank, lines in enumerate(ranks) for line in lines[:MOST_FINAL]]
    return "\n".join(shown), sum(map(len, ranks)) - len(shown)


def _verdict(failure: Failure) -> Bilingual:
    names = {-known.value: known.name for known in signal.Signals}
    name = names.get(failure.exit or 0, f"signal {-(failure.exit or 0)}")
    kind = f"torchrun_{failure.kind}" if failure.rank is None else failure.kind
    return _TEXTS[kind].format(rank=failure.rank, exit=failure.exit, signal=name)


def _card(run: Run, state: str, verdict: Bilingual, body: str) -> str:
    facts = [measured(value) for value in (run.backend, f"{run.seconds:.1f} s") if value]
    ranks = Bilingual(f"{run.ranks} rank{'s' * (run.ranks > 1)}", f"{run.ranks} 個 rank")
    small = Bilingual(", ".join([ranks.en, *facts]), "，".join([ranks.zh, *facts]))
    return (
        f'<div class="course-card course-launch {state}"><p class="course-title">'
        f"<code>{html.escape(run.command, quote=False)}</code></p>"
        f'<p><span class="course-verdict">{verdict.html()}</span>'
        f' <span class="course-small">{small.html()}</span></p>{body}</div>'
    )


def final_box(run: Run) -> Block:
    """Return the box that stays: the same on every run of the same job, but for what is marked as measured."""
    body = ""
    for start in range(run.restarts + 1):
        text, left = _by_rank(run, start)
        body += _small(_TEXTS["restarted"].format(start=start)) if start else ""
        if not run.ok or start < run.restarts:  # how far the ranks come before they are stopped is chance
            body += _console(text + "\n…" * bool(left))
        elif text:
            body += _console(text, compared=True)
            body += _small(_TEXTS["more"].format(count=left)) if left else ""
    if failure := run.failure:
        state, verdict, plain = "course-error", _verdict(failure), measured("\n" + failure.text)
        others = ""
        for other in run.failures[1:]:  # whether it failed as well or was stopped before is chance
            outcome = Bilingual(*map(measured, astuple(_verdict(other))))
            others += f"<p>{outcome.html()}</p>{_console(other.text)}"
        ended = failure.rank is not None and failure.kind in ("exited", "killed")
        printed = ended and 'File "' not in failure.text
        evidence = _small(_TEXTS["last"]) * printed + _console(failure.text) if failure.text.strip() else ""
        for title, inside in (_TEXTS["others"], others), (_TEXTS["printed"], body):
            evidence += f"<details><summary>{title.html()}</summary>{inside}</details>"
        body = evidence
    elif run.interrupted:
        state, verdict, plain = "course-notyet", _TEXTS["interrupted"], ""
    else:
        state, verdict, plain = "course-solved", _TEXTS["well"], _mark(text, "⟨{}⟩")  # of the last start
    return Block(_card(run, state, verdict, body), f"{run.command}\n{verdict}\n{plain}".strip())


class LiveBox:
    """Two outputs: one that changes while the job runs and is empty afterwards, and one that stays (not for a `clock`).

    nbval compares the first state of an output, JupyterLab and nbclient store the last one, so these are the same.
    """

    def __init__(self, run: Run, clock: bool = False) -> None:
        self.run, self.clock = run, clock
        self.handle: Any = display(self._live(""), display_id=True) if get_ipython() else None

    def _live(self, card: str) -> Block:
        return Block(f'<div class="course-launch-live">{card}</div>', "launch")

    def update(self) -> None:
        """Show the newest lines."""
        if self.handle is not None:
            lines = [f"[rank {rank}] {line}" for rank, line in self.run.lines[-MOST_LIVE:]]
            body = _console("\n".join(lines)) if lines else ""
            self.handle.update(self._live(_card(self.run, "course-needs", _TEXTS["running"], body)))

    def finish(self) -> None:
        """Show the outcome."""
        if self.handle is not None:
            self.handle.update(self._live(""))
        if not self.clock:
            final = final_box(self.run)
            display(final) if self.handle is not None else print(final.text)
