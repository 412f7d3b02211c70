"""The picture of the scoreboard: a bar for each lesson, this machine's beside a recorded one's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib import ticker

from bilingual import Bilingual, all_of, measured_both, texts
from course_utils import figures, published, recordings
from course_utils.units import number

STAGES = {
    "00": Bilingual("a beginner's program", "初學者的寫法"),
    "01": Bilingual("device, whole batches", "選擇裝置、整批計算"),
    "02": Bilingual("moved in one piece", "一次搬完"),
    "03": Bilingual("batch size, data type", "批次大小、資料型別"),
    "04": Bilingual("no waiting", "不再等待"),
    "06": Bilingual("several processes", "多個行程"),
}
TEXTS = texts(Path(__file__).with_name("scoreboard.toml"))
IMAGES_PER_SECOND = Bilingual("images per second", "每秒影像張數")
NOISE = 1.1  # two numbers this close are the same


@dataclass(frozen=True)
class Entry:
    """What a lesson's program reached.

    Attributes:
        rate: Images per second in training.
        accuracy: Share of the test images that the trained network recognizes.
        epochs: For how many epochs it was trained.
        device: ``cpu`` or ``cuda``.
        machine: Name of the processor.
        torch: Version of PyTorch.
        date: ISO date.
        rule: Version of the rules under which it was measured.
    """

    rate: float
    accuracy: float
    epochs: int
    device: str
    machine: str
    torch: str
    date: str
    rule: int

    def sound(self) -> bool:
        """Return whether the share of images can be one."""
        return 0 <= self.accuracy <= 1

    def comparable(self, other: Entry) -> bool:
        """Return whether both numbers come from the same machine, PyTorch and rules."""
        mine, theirs = ((e.device, e.machine, e.torch, e.rule) for e in (self, other))
        return mine == theirs


def gain(entries: Mapping[str, Entry], lesson: str) -> Bilingual:
    """Return what `lesson` has gained over the lesson before that can be compared with it."""
    now = entries[lesson]
    before = [key for key in sorted(entries) if key < lesson and entries[key].comparable(now)]
    if not before:
        return TEXTS["alone"]

    def compared(which: str, key: str) -> Bilingual:
        return TEXTS[which].format(ratio=number(now.rate / entries[key].rate), lesson=key, number=int(key))

    first, last = before[0], before[-1]
    ratio = now.rate / entries[last].rate
    what = compared("gain" if ratio > NOISE else "no_gain" if ratio >= 1 / NOISE else "slower", last)
    if first != last:
        what = TEXTS["and"].format(one=what, other=compared("gain", first))
    return TEXTS["lesson"].format(what=what, lesson=lesson, number=int(lesson))


def recorded(names: Iterable[str], curve: str) -> tuple[dict[str, float], dict[str, Any] | None]:
    """Return recorded rates by name, and the run: the newest with a GPU, or else the newest on a CPU.

    Args:
        names: The bars of a board: lessons, or steps.
        curve: What the names of the recorded curves begin with, for instance "score-".
    """
    for on_gpu in (True, False):
        for run in recordings.runs():
            found = {name: run["curves"].get(f"{curve}{name}") for name in names}
            rates = {name: values["rate"] for name, values in found.items() if values}
            if rates and bool(run["machine"]["gpus"]) == on_gpu:
                return rates, run
    return {}, None


def board(entries: Mapping[str, Entry], lesson: str) -> figures.Picture:
    """Return the scoreboard's picture.

    Args:
        entries: What was reached, by lesson.
        lesson: The lesson that was just measured.
    """
    there, run = recorded(STAGES, "score-")
    now = entries[lesson]
    figure, axes = figures.new(height=3.4)
    names = {key: f"{key}  {text}" for key, text in STAGES.items()}
    draw_bars(axes, names, entries, now, there)
    numbers = [
        f"{key}: {number(entry.rate)}/s, {entry.accuracy:.0%}" for key, entry in sorted(entries.items())
    ]
    whose = TEXTS["recorded"].format(run=recordings.label(run)) if run else None
    on_gpu = bool(run and run["machine"]["gpus"])
    beside = published.beside("scoreboard", whose if on_gpu else None)
    # What is published about GPUs stays beside it.
    said = all_of(gain(entries, lesson), *about_bars(entries, now, None if on_gpu else whose))
    both = measured_both(Bilingual("; ".join(numbers), "；".join(numbers)))
    caption = TEXTS["caption"].format(numbers=both, gain=measured_both(said))
    return figures.Picture(figure, caption, TEXTS["alternative"], beside=beside)


def about_bars(entries: Mapping[str, Any], now: Any, whose: Bilingual | None) -> list[Bilingual]:
    """Return what a caption says about bars: `whose` the recorded ones are, if given, and what hatched ones are, if any."""
    hatched = not all(entry.comparable(now) for entry in entries.values())
    return [whose] * (whose is not None) + [TEXTS["hatched"]] * hatched


def draw_bars(
    axes: Any,
    names: Mapping[str, str],
    entries: Mapping[str, Any],
    now: Any,
    there: Mapping[str, float],
    unit: figures.Label = IMAGES_PER_SECOND,
) -> None:
    """Draw two bars for each stage, this machine's above the recorded one's.

    Args:
        axes: Where.
        names: All stages and what stands beside their bars, from top to bottom.
        entries: What was reached, by stage: like an :class:`Entry` with rate, machine, torch and comparable().
        now: The last of them; what cannot be compared with it is hatched.
        there: What a recorded machine reached, by stage.
        unit: Of the rates, in both languages.
    """
    rows = {key: place for place, key in enumerate(names)}
    thick, shift = (0.38, 0.19) if there else (0.62, 0.0)
    for key, entry in entries.items():
        same = entry.comparable(now)
        colours = (figures.YOURS, figures.YOURS) if same else ("white", figures.YOURS)
        place, hatch = rows[key] - shift, None if same else "///"
        axes.barh(place, entry.rate, thick, facecolor=colours[0], edgecolor=colours[1], hatch=hatch)
        whose = "" if same else f"  ({entry.machine[:24]}, PyTorch {entry.torch[:12]})"
        axes.text(entry.rate, place, f" {number(entry.rate)}{whose}", va="center", fontsize=9)
    for key, rate in there.items():
        axes.barh(rows[key] + shift, rate, thick, color=figures.RECORDED)
        axes.text(rate, rows[key] + shift, f" {number(rate)}", va="center", fontsize=9)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), list(names.values()), fontsize=9)
    rate_axis(axes, [*there.values(), *(entry.rate for entry in entries.values())], unit)
    if there:
        bars = [figures.rectangle(0, 0, 0, 0, colour) for colour in (figures.YOURS, figures.RECORDED)]
        whose = [figures.HERE, figures.RECORDED_LABEL]
        axes.legend(bars, whose, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, fontsize=9)


def rate_axis(axes: Any, rates: Sequence[float], unit: figures.Label = IMAGES_PER_SECOND) -> None:
    """Make the horizontal axis one of images per second, with the same scale for all but extreme rates.

    Args:
        axes: A bar chart's, whose bars are all there.
        rates: What it shows; room for the numbers beside the bars is left.
        unit: What is counted in a second, in both languages.
    """
    axes.set_xlim(min(10.0, *rates) * 0.9, max(20_000.0, *rates) * 12)
    axes.set_xlabel(unit, fontsize=10)
    axes.grid(visible=False, axis="y")
    figures.logarithmic(axes.xaxis)
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:,.0f}"))
