"""Show a recorded timeline, without a GPU above the recorded GPU's timeline of the same name."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from bilingual import Bilingual, measured
from course_utils import figures, recordings, run_mode
from course_utils.lesson import text
from shared.timeline.drawing import draw, lane_name, panels
from shared.timeline.recording import save
from shared.timeline.spans import Timeline


def picture(timeline: Timeline, recorded: Mapping[str, Any] | None, caption: Bilingual) -> figures.Picture:
    """Return the picture that :func:`show` displays (pure).

    Args:
        timeline: What ran here.
        recorded: What :func:`recordings.recorded` returned, drawn below, or None.
        caption: What the reader should look for.
    """
    both = [(timeline, "")]
    if recorded:
        both.append((Timeline.from_json(recorded), figures.RECORDED_LABEL))
    figure, parts = panels([len(part.lanes()) for part, _ in both])
    for axes, (part, title) in zip(parts, both, strict=True):
        pair = part.busiest()
        draw(axes, part, shade=pair if len(pair) == 2 else ())
        if title:
            axes.set_title(title, loc="left")
    here = _numbers(timeline.to_json(most=0))
    if timeline.modelled:
        source = Bilingual(
            "From the log of the practice GPU; its times are modelled.",
            "取自練習用 GPU 的紀錄，時間是推算值。",
        )
    elif any(lane.startswith("GPU") for lane in timeline.lanes()):
        source = Bilingual("The GPU is this machine's own.", "GPU 就是這台機器的。")
    elif recorded:
        there = _numbers(recorded)
        source = Bilingual(
            f"Below, recorded on {recorded['run']}: {there.en}.",
            f"下圖是 GPU 參考紀錄，{recorded['run']}：{there.zh}。",
        )
    elif torch.cuda.is_available():
        source = Bilingual(
            "The profiler sees nothing of the GPU here, as is usual under WSL: only the host's side is drawn.",
            "效能分析器在這台機器上看不到 GPU（WSL 常常如此），所以只畫了主機這一邊。",
        )
    else:
        source = None
    return figures.Picture(
        figure,
        Bilingual(
            f"{caption.en} Here: {measured(here.en)}. {measured(source.en if source else '')}",
            f"{caption.zh}這台機器：{measured(here.zh)}。{measured(source.zh if source else '')}",
        ),
        Bilingual(
            "Timeline: a row per thread of the host and per stream of the GPU, a bar for each stretch of work.",
            "時間軸：主機的每個執行緒、GPU 的每條串流各一列，忙碌的時段畫成長條。",
        ),
    )


def _numbers(values: Mapping[str, Any]) -> Bilingual:
    """Return what was recorded as `values`, in a few words."""
    total = figures.duration(values["seconds"])
    if values["overlap_share"] is None:
        return Bilingual(f"{total} in all", f"共 {total}")
    one, other = (lane_name(lane) for lane in values["pair"])
    share = f"{values['overlap_share']:.0%}"
    both_zh = re.sub(r"(?<=[\u4e00-\u9fff]) (?=[\u4e00-\u9fff])", "", f"{one.zh} 與 {other.zh} 重疊")
    return Bilingual(
        f"{total} in all; {one.en} and {other.en} overlap for {share} of the shorter one's time",
        f"共 {total}；{both_zh}的時間，占較短一方的 {share}",
    )


def show(name: str, timeline: Timeline) -> None:
    """Show a timeline; without a GPU, the recorded GPU's timeline of the same name below it.

    Args:
        name: The figure's name: for its caption in the lesson's texts, and for the recording.
        timeline: What :func:`record` returned.

    Raises:
        ValueError: There is no text for `name`.
    """
    from IPython.display import display

    found = text("figure", name)
    if not timeline.modelled:
        run_mode.note("curve", name, timeline.to_json())
    if (traces := os.environ.get("COURSE_TRACES")) and timeline.trace is not None:
        save(timeline, Path(traces) / f"{name}.json.gz")
    recorded = None if torch.cuda.is_available() or timeline.modelled else recordings.recorded(name)
    display(picture(timeline, recorded, Bilingual(found["en"], found["zh"])))
