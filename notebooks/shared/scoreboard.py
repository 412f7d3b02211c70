"""The scoreboard: how many images per second the program trains with after each lesson, kept with the learner's progress.

A number counts only under the rules of :mod:`shared.score_rules`. Each is kept with the machine, the version of PyTorch,
the date and the version of these rules, because it cannot be compared with others.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as distributed
from IPython.display import display
from torch import nn

from bilingual import Bilingual, Block, enumerated, measured_both
from course_utils import lesson, run_mode
from course_utils.machine import try_gpu
from course_utils.units import duration, number
from notebook_torchrun import launch
from shared import kept_rates, program, score_rules
from shared.score_rules import ENOUGH_SECONDS, MOST_RUNS, Refused, timed
from shared.scoreboard_picture import STAGES, TEXTS, Entry, board

LONG_SECONDS = 20.0  # beside a run as long, what a GPU's first call loads (some seconds) may be neglected
LIMIT = 240.0  # seconds for all runs of several processes
FILE = "scoreboard"  # beside the progress, see course_utils.settings


class ScoreError(AssertionError):
    """A score was refused, and the run is strict (``COURSE_STRICT=1``)."""


def quiet(value: Any) -> Any:
    """Return `value`, which as the last line of a cell shows nothing, since the board has shown it."""
    kind = type(value)
    return type(kind.__name__, (kind,), {"_ipython_display_": lambda self: None})(value)


def measure(
    train: Callable[..., nn.Module], device: torch.device, epochs: int, images: int = program.IMAGES
) -> tuple[float, float, list[float]]:
    """Return images per second, the lowest accuracy of the runs, and the seconds of each run.

    The fastest of two to five runs counts, so that a first call (loading, compiling, choosing algorithms) does not.
    A single epoch of more than two seconds, on a GPU of more than twenty, is run once: a first call adds little to it.

    Args:
        train: See :func:`score`.
        device: Where it trains.
        epochs: For how many epochs.
        images: With how many images in each; `train` is told if they are not all.

    Raises:
        Refused: The result does not count.
    """
    score_rules.examine_call(train, epochs)
    training = train if images == program.IMAGES else partial(train, images=images)
    times: list[float] = []
    shares: list[float] = []
    while len(times) < MOST_RUNS:
        network, seconds = timed(training, device, epochs)
        score_rules.examine_network(network)
        shares.append(score_rules.accuracy(network, device))
        times.append(seconds)
        once = epochs == 1 and (device.type == "cpu" or seconds > LONG_SECONDS)
        if sum(times) > ENOUGH_SECONDS and (len(times) > 1 or once):
            break
    score_rules.examine_learning(min(shares))
    rate = epochs * images / min(times)
    score_rules.examine_rate(rate, device)
    return rate, min(shares), times


def entries() -> dict[str, Entry]:
    """Return what this learner has reached, by lesson; whatever is damaged is left out."""
    return kept_rates.read(FILE, Entry, STAGES)


def _status(text: Bilingual) -> Block:
    """Return the line above the board. It has the same elements while training and afterwards, as nbval demands."""
    text = measured_both(text)
    return Block(f'<p class="course-small">{text.html()}</p>', str(text))


def _refusal(reason: Bilingual) -> Block:
    title, text = TEXTS["refused"], TEXTS["unchanged"].format(reason=reason)
    return Block(
        f'<div class="course-card course-exercise course-wrong"><p><span class="course-title">{title.html()}</span></p>'
        f"{text.block()}</div>",
        f"{title}: {text}",
    )


def score(
    train: Callable[..., nn.Module],
    epochs: int = 1,
    device: torch.device | str | None = None,
    images: int = program.IMAGES,
) -> float | None:
    """Train, time it, test the trained network, keep the number for this lesson, and show the board.

    Args:
        train: ``train(device, epochs)`` trains ``small_resnet()`` with all 1,437 images in each epoch and returns it, on
            `device`. It is called up to five times.
        epochs: For how many epochs.
        device: Where; by default the first GPU, or the CPU where there is none.
        images: Where they are fewer, ``train(device, epochs, images=images)`` is called, which takes the first ones.

    Returns:
        Images per second, or None if the score was refused; then a card says why, and nothing is kept.

    Raises:
        ScoreError: The score was refused and ``COURSE_STRICT=1`` is set.
        ValueError: The board has no place for the current lesson.
    """
    stage, device = _lesson(), try_gpu() if device is None else torch.device(device)
    line = display(_status(TEXTS["training"]), display_id=True)
    try:
        rate, share, times = measure(train, device, epochs, images)
    except BaseException as error:  # KeyboardInterrupt, too
        return _stopped(line, error)
    if line is not None:
        each = enumerated(map(duration, times))
        line.update(_status(TEXTS["trained"].format(device=device, times=each)))
    _keep_and_show(stage, rate, share, epochs, device)
    return quiet(rate)


def _keep_and_show(stage: str, rate: float, share: float, epochs: int, device: torch.device) -> None:
    """Keep the number for this lesson, and show the board."""
    new = Entry(rate, share, epochs, **kept_rates.circumstances(device, score_rules.RULE))
    kept_rates.keep(FILE, stage, new, "score-")
    display(board(entries() | {stage: new}, stage))


def _lesson() -> str:
    """Return the current lesson.

    Raises:
        ValueError: The board has no place for it.
    """
    stage = lesson.current()
    if stage not in STAGES:
        raise ValueError(f"lesson {stage} has no place on the scoreboard; there are {', '.join(STAGES)}.")
    return stage


def _in_processes(script: Path, processes: int, epochs: int, *, gpus: bool) -> dict[str, Any]:
    """Return what rank 0 measured when one process and `processes` processes trained in turn."""
    worker = Path(__file__).parents[1] / "workers" / "score_ranks.py"
    hidden = {} if gpus else {"CUDA_VISIBLE_DEVICES": ""}
    run = launch(worker, script, epochs, processes=processes, environment=hidden, show="quiet", limit=LIMIT)
    for result in filter(None, run.results):
        if "refused" in result:
            raise Refused(Bilingual(*result["refused"]))
    first = run.check().results[0]
    assert first is not None
    first["rates"] = {int(count): rate for count, rate in first["rates"].items()}
    return first


def _comparison(rates: Mapping[int, float], gpus: int) -> Block:
    """Return the line that compares one process with several."""
    (_, alone), (processes, together) = sorted(rates.items())
    compared = TEXTS["compared"].format(
        where=TEXTS["on_gpus" if gpus > 1 else "on_cpu"],
        alone=number(alone),
        processes=processes,
        together=number(together),
        share=f"{together / alone / processes:.0%}",
    )
    said = [compared]
    if together > 1.1 * processes * alone:
        said.append(TEXTS["disturbed"])
    if gpus == 1:
        said.append(TEXTS["one_gpu"])
    return _status(Bilingual("".join(text.en for text in said), "".join(text.zh for text in said)))


def score_ranks(script: str | Path, processes: int = 2, epochs: int = 5) -> dict[int, float] | None:
    """Train in one process and in several, compare, keep the number of several for this lesson, and show the board.

    With one GPU, the comparison takes place on the CPU, and the board gets the number of one process on the GPU.

    Args:
        script: A file that defines ``train(device, epochs)``. It is called in every process, after ``init_process_group``,
            and returns the network, the same in all processes, or the ``DistributedDataParallel`` around it.
        processes: How many; on several GPUs at most one for each.
        epochs: For how many epochs.

    Returns:
        Images per second of all processes together, by the number of processes, or None if the score was refused; then a
        card says why, and nothing is kept.

    Raises:
        FileNotFoundError: There is no such file.
        RuntimeError: The program failed in a process; the text is what it says there.
        ScoreError: The score was refused and ``COURSE_STRICT=1`` is set.
        ValueError: The board has no place for the current lesson, or `processes` is not at least 2.
    """
    stage, gpus = _lesson(), torch.cuda.device_count() if distributed.is_nccl_available() else 0
    path = next((p for p in (Path(script), Path("notebooks", script)) if p.is_file()), None)
    if path is None:
        raise FileNotFoundError(f"score_ranks(): there is no file {script} · 找不到檔案 {script}")
    if isinstance(processes, bool) or not isinstance(processes, int) or processes < 2:
        raise ValueError(f"score_ranks(): processes={processes!r} must be at least 2 · 至少要 2 個行程")
    together = min(processes, gpus) if gpus > 1 else processes
    line = display(_status(TEXTS["training"]), display_id=True)
    try:
        score_rules.examine_call(score_ranks, epochs)  # for `epochs`; `train` is in the file
        found = _in_processes(path.resolve(), together, epochs, gpus=gpus > 1)
        kept = _in_processes(path.resolve(), 1, epochs, gpus=True) if gpus == 1 else found
    except BaseException as error:  # KeyboardInterrupt, too
        return _stopped(line, error)
    rates = quiet(found["rates"])
    if line is not None:
        line.update(_comparison(rates, gpus))
    _keep_and_show(
        stage, kept["rates"][max(kept["rates"])], kept["accuracy"], epochs, torch.device(kept["device"])
    )
    return rates


def _stopped(line: Any, error: BaseException) -> None:
    """Show that nothing was kept, and why the score was refused; raise whatever else happened."""
    if line is not None:
        line.update(_status(TEXTS["stopped"]))
    if not isinstance(error, Refused):
        raise error
    display(_refusal(error.reason))
    if run_mode.strict():
        raise ScoreError(error.reason.en) from None
