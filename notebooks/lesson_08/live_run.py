"""Start a run and watch it: progress, losses, every device, a button that stops it and leaves a checkpoint.

The functions are asynchronous (``await watch_run(...)``): while a cell awaits, the kernel answers the button.
"""

from __future__ import annotations

import asyncio
import html
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from IPython import get_ipython
from IPython.display import display

from bilingual import Bilingual, Block, Shown, by_language
from lesson_08.background_launch import BackgroundLaunch
from lesson_08.live_view import panel
from lesson_08.run_end import end_box
from lesson_08.run_log import Progress, Reader
from notebook_torchrun.result import Run

EVERY = 0.5  # seconds between two looks
SILENT = 60.0  # seconds in which a run that lives writes something: its devices, or a line of its log
AFTER_STOP = 5.0  # the same when it was asked to stop and has written a checkpoint
STOP = Bilingual("Stop, and leave a checkpoint", "停止，並留下檢查點")


@dataclass
class Watched:
    """A run that was watched to its end.

    Attributes:
        folder: Its results folder, or None if it did not come so far.
        state: ``"finished"``, ``"stopped"``, ``"failed"`` or ``"silent"`` (nothing was heard of it any more).
        launched: What its ranks printed and how they ended; None if it was started elsewhere.
        seconds: How long it was watched.
        watching: Processor seconds that this view and the sampler of devices took meanwhile.
    """

    folder: Path | None
    state: str
    launched: Run | None
    seconds: float
    watching: float


class View:
    """The panel and its button; the output is empty afterwards, as nbval compares its first state."""

    def __init__(self, command: str) -> None:
        self.command, self.folder, self.stopping, self.handle = command, None, False, None
        self.cost, self.began, self.widget = 0.0, time.monotonic(), None
        if get_ipython() is None:
            return
        import ipywidgets as widgets

        self.widget = widgets.HTML(panel(command, "starting", None))
        buttons = by_language(self._button)
        box = widgets.VBox([self.widget, *buttons])
        box.add_class("course-explorer")
        self.handle = display(Shown(box, "<div></div>", "live view"), display_id=True)

    def _button(self, pick: Callable[[Bilingual], str]) -> Any:
        import ipywidgets as widgets

        button = widgets.Button(
            description=pick(STOP), icon="stop", layout=widgets.Layout(width="auto", max_width="30em")
        )
        button.on_click(lambda _: self.stop())
        return button

    def stop(self) -> None:
        """Ask the run to stop, as soon as its folder is known."""
        self.stopping = True
        if self.folder is not None and self.folder.is_dir() and not (self.folder / "stop").exists():
            (self.folder / "stop").touch()

    def update(self, progress: Progress | None) -> None:
        """Show how far the run has come."""
        if self.stopping:
            self.stop()
        if self.widget is not None:
            state = "stopping" if self.stopping else "running" if progress else "starting"
            self.widget.value = panel(self.command, state, progress)

    def finish(self, box: Block) -> None:
        """Show the end instead."""
        if self.handle is None:
            print(box.text)
        else:
            self.handle.update(Block("<div></div>", "live view"))
            display(box)


@contextmanager
def interruptible(view: View) -> Iterator[list[int]]:
    """Let the first interrupt of the kernel (■) press the button; count them all."""
    seen: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield seen
        return

    def interrupted(number: int, _: object) -> None:
        seen.append(number)
        view.stop()

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, before)


async def _look(
    view: View, reader: Reader | None, running: Callable[[], Reader | None | bool]
) -> Reader | None:
    """Look at a run again and again while it is `running`, which returns its reader once there is one.

    Raises:
        KeyboardInterrupt: The kernel was interrupted for the second time.
    """
    with interruptible(view) as interrupts:
        while True:
            start = time.thread_time()
            found = running()
            reader = found if isinstance(found, Reader) else reader
            view.folder = reader and reader.folder
            view.update(reader and reader.read())
            view.cost += time.thread_time() - start
            if len(interrupts) > 1:
                raise KeyboardInterrupt
            if found is False:
                return reader
            await asyncio.sleep(EVERY)


def _watched(view: View, reader: Reader | None, launched: Run | None) -> Watched:
    """Show the end of a run, and return it."""
    progress = reader and reader.read()
    if progress and progress.metrics is not None:
        state = "finished"
    elif launched is not None and launched.failure:
        state = "failed"
    else:
        state = "stopped" if view.stopping or launched is not None else "silent"
    cost = view.cost + (progress.cost if progress else 0.0)
    run = Watched(reader and reader.folder, state, launched, time.monotonic() - view.began, cost)
    view.finish(end_box(view.command, state, progress, launched))
    return run


async def watch_run(script: str, *arguments: object, processes: int = 2, limit: float = 86_400.0) -> Watched:
    """Start a script under torchrun, and show how it goes on until it has ended.

    The button and the first interrupt of the kernel write the file `stop` into the run's folder; it then leaves a
    checkpoint. The second interrupt kills it. A script says where its folder is by a line ``results: PATH``.

    Args:
        script: A Python file.
        arguments: Its arguments.
        processes: How many ranks.
        limit: Seconds after which ranks that still run count as hanging.

    Returns:
        The run, which has ended.

    Raises:
        FileNotFoundError: There is no such script.
        KeyboardInterrupt: The kernel was interrupted twice.
    """
    job = BackgroundLaunch(script, arguments, processes, limit)
    view = View(job.run.command)
    known: list[Reader] = []

    def running() -> Reader | bool | None:
        alive, folder = job.running(), job.printed("results: ")
        if folder and not known:
            known.append(Reader(folder))
        return known[0] if alive and known else alive or False

    try:
        with job:
            await _look(view, None, running)
            job.find_failures()
    except BaseException:
        view.finish(end_box(view.command, "killed", known[0].read() if known else None, None))
        raise
    return _watched(view, known[0] if known else None, job.run)


def _ended(folder: Path, silent: float) -> bool:
    """Return whether a run has ended, as far as its folder tells."""

    def written(name: str) -> float:
        with suppress(OSError):
            return (folder / name).stat().st_mtime
        return 0.0

    quiet = time.time() - max(map(written, ("log.jsonl", "devices.jsonl", "config.json")))
    stopped = written("checkpoint.pt") >= written("stop") > 0
    return written("metrics.json") > 0 or quiet > (min(silent, AFTER_STOP) if stopped else silent)


async def watch_folder(folder: str | Path, *, silent: float = SILENT) -> Watched:
    """Show how a run goes on that was started elsewhere, for instance in a terminal, until it has ended.

    Args:
        folder: Its results folder.
        silent: Seconds without a sign of life after which it counts as ended.

    Returns:
        The run, which has ended.

    Raises:
        FileNotFoundError: There is no such folder.
        KeyboardInterrupt: The kernel was interrupted twice.
    """
    reader = Reader(folder)
    if not reader.folder.is_dir():
        raise FileNotFoundError(f"there is no folder {folder} · 找不到資料夾 {folder}")
    view = View(f"results: {html.escape(str(folder))}")

    def running() -> Reader | bool:
        return False if _ended(reader.folder, silent) else reader

    await _look(view, reader, running)
    return _watched(view, reader, None)
