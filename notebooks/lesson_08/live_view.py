"""The picture of a run that goes on: progress, losses, devices. Pure functions that return HTML."""

from __future__ import annotations

import html
from collections.abc import Sequence

from bilingual import Bilingual
from course_utils.figures import GREY, PALE, RECORDED, THIRD, YOURS
from course_utils.units import amount
from lesson_08.run_log import Line, Progress, number

LOSS, ERROR = Bilingual("training loss", "訓練損失"), Bilingual("validation error", "驗證誤差")
WIDTH, HEIGHT, MOST_POINTS = 340, 150, 200

STATES = {
    "starting": Bilingual("starting …", "啟動中……"),
    "running": Bilingual("training", "訓練中"),
    "stopping": Bilingual("stopping: writing a checkpoint …", "正在停止：寫入檢查點……"),
}


def clock(seconds: float | None) -> Bilingual:
    """Return a time as people say it."""
    if seconds is None:
        return Bilingual("?", "？")
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return Bilingual(f"{hours} h {minutes:02} min", f"{hours} 小時 {minutes:02} 分")
    return (
        Bilingual(f"{minutes} min {rest:02} s", f"{minutes} 分 {rest:02} 秒")
        if minutes
        else Bilingual(f"{rest} s", f"{rest} 秒")
    )


def bar(share: float, colour: str, width: str = "100%") -> str:
    """Return a bar that is filled to `share`, from 0 to 1."""
    filled = 100 * min(1.0, max(0.0, share))
    return (
        f'<div style="background:{PALE}55;border-radius:3px;width:{width};height:10px">'
        f'<div style="background:{colour};border-radius:3px;width:{filled:.1f}%;height:10px"></div></div>'
    )


def thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return at most about `MOST_POINTS` of the points, the last one among them."""
    every = max(1, len(points) // MOST_POINTS)
    return [*points[:-1:every], *points[-1:]]


def losses(progress: Progress) -> str:
    """Return the training loss and the validation error over the steps, as a drawing."""
    series = {YOURS: thinned(progress.points), RECORDED: thinned(progress.errors)}
    values = [value for points in series.values() for _, value in points]
    if not values:
        return ""
    top, right = max(values) or 1.0, max(progress.steps, progress.step, 1)
    drawn = ""
    for colour, points in series.items():
        places = [
            (36 + step / right * (WIDTH - 44), 10 + (1 - value / top) * (HEIGHT - 24))
            for step, value in points
        ]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        drawn += f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>'
        if colour == RECORDED:
            drawn += "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places)
    for value, y in ((top, 14), (0.0, HEIGHT - 12)):
        drawn += f'<text x="30" y="{y}" font-size="11" fill="{GREY}" text-anchor="end">{value:.2g}</text>'
    drawn += f'<path d="M36 6V{HEIGHT - 14}H{WIDTH - 6}" fill="none" stroke="{GREY}"/>'
    labels = {YOURS: LOSS, RECORDED: ERROR}
    legend = " ".join(
        f'<span style="color:{colour}">■</span> {label.html()}' for colour, label in labels.items()
    )
    return (
        f'<div><svg width="{WIDTH}" height="{HEIGHT}" role="img">{drawn}</svg>'
        f'<div class="course-small">{legend}</div></div>'
    )


def _device(line: Line) -> str:
    """Return the row of one device: its name, its load and its memory as bars."""
    name = html.escape(str(line.get("name") or line.get("device")), quote=False)
    busy, used, total = (number(line, key) for key in ("busy", "memory", "total"))
    rows = [f"<div><strong>{name}</strong></div>"]
    if busy is not None:
        label = Bilingual("busy", "忙碌")
        rows.append(f"<div>{bar(busy / 100, THIRD)}{label.html()} {busy:.0f}%</div>")
    if used is not None and total:
        label = Bilingual("memory", "記憶體")
        rows.append(f"<div>{bar(used / total, YOURS)}{label.html()} {amount(used)} / {amount(total)}</div>")
    if len(rows) == 1:
        rows.append(f"<div>{Bilingual('tells nothing', '沒有資料').html()}</div>")
    return f'<div class="course-small" style="margin-bottom:0.5em">{"".join(rows)}</div>'


def panel(command: str, state: str, progress: Progress | None) -> str:
    """Return the whole panel.

    Args:
        command: What was started, as one would type it.
        state: A key of `STATES`.
        progress: What the run's folder says, or None while there is none.
    """
    body = ""
    if progress is not None:
        done = progress.step / progress.steps if progress.steps else 0.0
        epoch, epochs = number(progress.last, "epoch"), number(progress.config, "epochs")
        where = [f"epoch {epoch + 1:g}/{epochs:g}" if epoch is not None and epochs else ""]
        where += [
            f"step {progress.step:g}/{progress.steps:g}" if progress.steps else f"step {progress.step:g}"
        ]
        left = clock(progress.left)
        rest = Bilingual(f"{left.en} left", f"還要 {left.zh}")
        text = f"{', '.join(filter(None, where))} · {rest.html()}"
        devices = "".join(_device(line) for line in progress.devices.values())
        body = (
            f'{bar(done, YOURS)}<p>{text}</p><div style="display:flex;flex-wrap:wrap;gap:1.2em">'
            f'{losses(progress)}<div style="flex:1;min-width:14em">{devices}</div></div>'
        )
    return (
        f'<div class="course-card course-needs"><p class="course-title"><code>{html.escape(command, quote=False)}'
        f'</code></p><p class="course-verdict">{STATES[state].html()}</p>{body}</div>'
    )
