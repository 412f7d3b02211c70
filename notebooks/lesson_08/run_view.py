"""The picture of a run while it goes on, and the card that stays when it has ended. Pure functions that return HTML."""

import html
import math
from collections.abc import Sequence
from pathlib import Path

from bilingual import Bilingual, Block, markup, measured, texts
from course_utils import figures
from course_utils.figures import GREY, PALE, RECORDED, THIRD, YOURS
from course_utils.tables import html_table
from course_utils.units import amount
from lesson_08.run_log import Line, Progress, number
from notebook_torchrun.display import final_box
from notebook_torchrun.result import Run
from torch_doctor import explain

STOP, STATE, TIME, DEVICE, FACT, CURVES = texts(Path(__file__).with_name("live_run.toml")).values()
WIDTH, HEIGHT, MOST_POINTS = 340, 150, 200


def clock(seconds: float | None) -> Bilingual:
    """Return a time as people say it."""
    if seconds is None:
        return TIME["unknown"]
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    form = "hours" if hours else "minutes" if minutes else "seconds"
    return TIME[form].format(hours=hours, minutes=minutes, rest=rest)


def bar(share: float, colour: str) -> str:
    """Return a bar that is filled to `share`, from 0 to 1."""
    filled = 100 * min(1.0, max(0.0, share))
    return (
        f'<div style="background:{PALE}55;border-radius:3px;width:100%;height:10px">'
        f'<div style="background:{colour};border-radius:3px;width:{filled:.1f}%;height:10px"></div></div>'
    )


def thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return at most about `MOST_POINTS` of the points, the last one among them."""
    every = max(1, len(points) // MOST_POINTS)
    return [*points[:-1:every], *points[-1:]]


def losses(progress: Progress) -> str:
    """Return the training loss and the validation error over the steps, as a drawing."""
    series = ((YOURS, "loss", thinned(progress.points)), (RECORDED, "error", thinned(progress.errors)))
    values = [value for *_, points in series for _, value in points]
    if not values:
        return ""
    top, right = max(values) or 1.0, max(progress.steps, progress.step, 1)
    drawn = legend = ""
    for colour, name, points in series:
        places = [
            (36 + step / right * (WIDTH - 44), 10 + (1 - value / top) * (HEIGHT - 24))
            for step, value in points
        ]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        drawn += f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>'
        if name == "error":
            drawn += "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places)
        legend += f' <span style="color:{colour}">■</span> {CURVES[name].html()}'
    for value, y in ((top, 14), (0.0, HEIGHT - 12)):
        drawn += f'<text x="30" y="{y}" font-size="11" fill="{GREY}" text-anchor="end">{value:.2g}</text>'
    drawn += f'<path d="M36 6V{HEIGHT - 14}H{WIDTH - 6}" fill="none" stroke="{GREY}"/>'
    return (
        f'<div><svg width="{WIDTH}" height="{HEIGHT}" role="img">{drawn}</svg>'
        f'<div class="course-small">{legend}</div></div>'
    )


def _device(line: Line) -> str:
    """Return the row of one device: its name, its load and its memory as bars."""
    name = html.escape(str(line.get("name") or line.get("device")), quote=False)
    busy, used, total = (number(line, key) for key in ("busy", "memory", "total"))
    rows = [f"<strong>{name}</strong>"]
    if busy is not None:
        rows.append(f"{bar(busy / 100, THIRD)}{DEVICE['busy'].html()} {busy:.0f}%")
    if used is not None and total:
        of = f"{amount(used)} / {amount(total)}"
        rows.append(f"{bar(used / total, YOURS)}{DEVICE['memory'].html()} {of}")
    if len(rows) == 1:
        rows.append(DEVICE["nothing"].html())
    body = "".join(f"<div>{row}</div>" for row in rows)
    return f'<div class="course-small" style="margin-bottom:0.5em">{body}</div>'


def _card(look: str, command: str, state: str, body: str) -> str:
    return (
        f'<div class="course-card {look}"><p class="course-title"><code>{html.escape(command, quote=False)}</code></p>'
        f'<p><span class="course-verdict">{STATE[state].html()}</span></p>{body}</div>'
    )


def panel(command: str, state: str, progress: Progress | None) -> str:
    """Return the whole panel.

    Args:
        command: What was started, as one would type it.
        state: ``"starting"``, ``"running"`` or ``"stopping"``.
        progress: What the run's folder says, or None while there is none.
    """
    if progress is None:
        return _card("course-needs", command, state, "")
    steps, epoch, epochs = progress.steps, number(progress.last, "epoch"), number(progress.config, "epochs")
    where = f"epoch {epoch + 1:g}/{math.ceil(epochs)}, " if epoch is not None and epochs else ""
    where += f"step {progress.step:g}" + (f"/{steps:g}" if steps else "")
    left = TIME["left"].format(time=clock(progress.left))
    body = (
        f"{bar(progress.step / steps if steps else 0.0, YOURS)}<p>{where} · {left.html()}</p>"
        f'<div style="display:flex;flex-wrap:wrap;gap:1.2em">{losses(progress)}<div style="flex:1;min-width:14em">'
        f"{''.join(map(_device, progress.devices.values()))}</div></div>"
    )
    return _card("course-needs", command, state, body)


def curves(progress: Progress) -> str:
    """Return the losses as a picture with a caption, as HTML."""
    figure, axes = figures.new(height=2.4)
    for name, points, mark in (("loss", progress.points, ""), ("error", progress.errors, "o")):
        if points:
            axes.plot(*zip(*points, strict=True), marker=mark, label=figures.lettering(CURVES[name], " · "))
    axes.set_xlabel(CURVES["step"])
    axes.set_ylim(bottom=0)
    axes.legend()
    return figures.Picture(figure, CURVES["caption"], CURVES["alternative"]).html()


def _facts(progress: Progress) -> list[tuple[Bilingual, str]]:
    """Return what is known of the run: words, and what was measured."""
    best = min((value for _, value in progress.errors), default=None)
    rate = number(progress.metrics or {}, "windows_per_second") or number(progress.last, "windows_per_second")
    found = {
        "best": "–" if best is None else f"{best:.3g}",
        "took": f"{progress.seconds:.1f} s",
        "rate": "–" if rate is None else f"{rate:,.0f}",
        "devices": ", ".join(str(line.get("name") or name) for name, line in progress.devices.items()) or "–",
    }
    return [(FACT[name], measured(value)) for name, value in found.items()]


def end_box(command: str, state: str, progress: Progress | None, launched: Run | None = None) -> Block:
    """Return the card that stays: how the run ended, what it reached, what comes next.

    Args:
        command: What was started.
        state: ``"finished"``, ``"failed"``, ``"stopped"``, ``"silent"`` or ``"killed"``.
        progress: What its folder says, if there is one.
        launched: What its ranks printed; for a run that failed.
    """
    rows, body, resume = _facts(progress) if progress else [], "", ""
    text = "".join(f"\n{label}: {value}" for label, value in rows)
    if progress:
        body = html_table((label.html(), markup(value)) for label, value in rows)
        if progress.points or progress.errors:
            body += curves(progress)
        if state != "finished" and (progress.folder / "checkpoint.pt").exists():
            words = f"--resume {progress.folder.as_posix()}"
            resume = f"<p>{FACT['resume'].html()} <code>{html.escape(words, quote=False)}</code></p>"
            text += f"\n{FACT['resume']} {words}"
    if state == "failed" and launched is not None and launched.failure:
        box, why = final_box(launched), explain(launched.failure.text.strip() or "?")
        known = why._repr_mimebundle_()["text/html"] if why.name else ""
        return Block(f"{box.html}{known}{resume}{body}", f"{box.text}{text}")
    look = "course-solved" if state == "finished" else "course-notyet"
    return Block(_card(look, command, state, resume + body), f"{command}\n{STATE[state]}{text}")
