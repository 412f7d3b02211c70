"""Start a run and watch it: progress, losses, every device, a button that stops it and leaves a checkpoint.

The functions are asynchronous (``await watch_run(...)``): while a cell awaits, the kernel answers the button.
"""

import asyncio
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
from lesson_08.run_log import Progress
from lesson_08.run_view import STOP, end_box, panel
from notebook_torchrun.job import Job
from notebook_torchrun.result import Run

EVERY = 0.5  # seconds between two looks
SILENT = 60.0  # seconds in which a run that lives writes something: its devices, or a line of its log
AFTER_STOP = 5.0  # the same when it was asked to stop and has written a checkpoint


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
    """The panel and its button; the output is empty afterwards, as nbval compares its first state.

    Args:
        command: What was started, as one would type it.
        progress: What the run's folder says, once it is known.
    """

    def __init__(self, command: str, progress: Progress | None = None) -> None:
        self.command, self.progress, self.stopping = command, progress, False
        self.cost, self.began, self.widget = 0.0, time.monotonic(), None
        if get_ipython() is None:
            return
        import ipywidgets as widgets

        def button(pick: Callable[[Bilingual], str]) -> Any:
            layout = widgets.Layout(width="auto", max_width="30em")
            made = widgets.Button(description=pick(STOP), icon="stop", layout=layout)
            made.on_click(lambda _: self.stop())
            return made

        self.widget = widgets.HTML(panel(command, "starting", None))
        box = widgets.VBox([self.widget, *by_language(button)])
        box.add_class("course-explorer")
        self.handle = display(Shown(box, "<div></div>", "live view"), display_id=True)

    def stop(self) -> None:
        """Ask the run to stop, as soon as its folder is known."""
        self.stopping = True
        folder = self.progress and self.progress.folder
        if folder and folder.is_dir() and not (folder / "stop").exists():
            (folder / "stop").touch()

    def update(self) -> None:
        """Show how far the run has come."""
        if self.progress:
            self.progress.read()
        if self.stopping:
            self.stop()
        if self.widget is not None:
            state = "stopping" if self.stopping else "running" if self.progress else "starting"
            self.widget.value = panel(self.command, state, self.progress)

    async def look(self, running: Callable[[], bool]) -> None:
        """Look at the run again and again while it is `running`.

        Raises:
            KeyboardInterrupt: The kernel was interrupted for the second time.
        """
        alive = True
        with self._interruptible() as interrupts:
            while alive:
                start = time.thread_time()
                alive = running()
                self.update()
                self.cost += time.thread_time() - start
                if len(interrupts) > 1:
                    raise KeyboardInterrupt
                if alive:
                    await asyncio.sleep(EVERY)

    @contextmanager
    def _interruptible(self) -> Iterator[list[int]]:
        """Let the first interrupt of the kernel (■) press the button; count them all."""
        seen: list[int] = []
        if threading.current_thread() is not threading.main_thread():
            yield seen
            return

        def interrupted(number: int, _: object) -> None:
            seen.append(number)
            self.stop()

        before = signal.signal(signal.SIGINT, interrupted)
        try:
            yield seen
        finally:
            signal.signal(signal.SIGINT, before)

    def finish(self, state: str, launched: Run | None = None) -> None:
        """Show the end instead."""
        box = end_box(self.command, state, self.progress, launched)
        if self.widget is None:
            print(box.text)
        else:
            self.handle.update(Block("<div></div>", "live view"))
            display(box)

    def ended(self, launched: Run | None) -> Watched:
        """Show how the run ended, and return it."""
        progress = self.progress and self.progress.read()
        if progress and progress.metrics is not None:
            state = "finished"
        elif launched is not None and launched.failure:
            state = "failed"
        else:
            state = "stopped" if self.stopping or launched is not None else "silent"
        seconds, cost = time.monotonic() - self.began, self.cost + (progress.cost if progress else 0.0)
        self.finish(state, launched)
        return Watched(progress and progress.folder, state, launched, seconds, cost)


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
    job = Job(script, arguments, processes, limit)
    view = View(job.run.command)

    def running() -> bool:
        alive, folder = job.running(), job.printed("results: ")
        if folder and view.progress is None:
            view.progress = Progress(Path(folder))
        return alive

    try:
        job.start()
        await view.look(running)
    except BaseException:
        view.finish("killed")
        raise
    finally:
        job.stop()
    return view.ended(job.run)


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
    path = Path(folder)
    if not path.is_dir():
        raise FileNotFoundError(f"there is no folder {folder} · 找不到資料夾 {folder}")
    view = View(f"results: {folder}", Progress(path))
    await view.look(lambda: not _ended(path, silent))
    return view.ended(None)
