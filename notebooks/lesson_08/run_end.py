"""The card that stays when a run has ended: how it ended, what it reached, what comes next."""

from __future__ import annotations

import html

from bilingual import Bilingual, Block, markup, measured
from course_utils import figures
from lesson_08.live_view import ERROR, LOSS
from lesson_08.run_log import Progress, number
from notebook_torchrun.display import final_box
from notebook_torchrun.result import Run
from torch_doctor import explain

VERDICTS = {
    "finished": ("course-solved", Bilingual("finished", "已完成")),
    "stopped": (
        "course-notyet",
        Bilingual("stopped; its checkpoint is in its folder", "已停止，檢查點在這次訓練的資料夾裡"),
    ),
    "silent": (
        "course-notyet",
        Bilingual("nothing was heard of it any more: was it killed?", "已經沒有動靜了，是不是被強制結束了？"),
    ),
    "killed": (
        "course-notyet",
        Bilingual("ended at once; the last checkpoint remains", "已立即結束，最近一次的檢查點還在"),
    ),
}
RESUME = Bilingual("To go on:", "接續訓練：")


def curves(progress: Progress) -> str:
    """Return the losses as a picture with a caption, as HTML."""
    figure, axes = figures.new(height=2.4)
    for name, points, mark in ((LOSS, progress.points, ""), (ERROR, progress.errors, "o")):
        if points:
            axes.plot(*zip(*points, strict=True), marker=mark, label=figures.lettering(name, " · "))
    axes.set_xlabel(Bilingual("step", "步數"))
    axes.set_ylim(bottom=0)
    axes.legend()
    caption = Bilingual(
        "Training loss, and the validation error after each epoch.",
        "訓練損失，以及每個訓練週期結束時的驗證誤差。",
    )
    alternative = Bilingual("Line chart of loss and error by step.", "折線圖，橫軸是步數，縱軸是損失與誤差。")
    return figures.Picture(figure, caption, alternative).html()


def _facts(progress: Progress) -> list[tuple[Bilingual, str]]:
    """Return what is known of the run: words, and what was measured."""
    best = min((value for _, value in progress.errors), default=None)
    rate = number(progress.metrics or {}, "windows_per_second") or number(progress.last, "windows_per_second")
    devices = ", ".join(str(line.get("name") or name) for name, line in progress.devices.items())
    rows = [
        (Bilingual("best validation error", "最佳驗證誤差"), "" if best is None else f"{best:.3g}"),
        (Bilingual("training took", "訓練時間"), f"{progress.seconds:.1f} s"),
        (Bilingual("windows per second", "每秒視窗數"), "" if rate is None else f"{rate:,.0f}"),
        (Bilingual("devices", "裝置"), devices),
    ]
    return [(label, value or "–") for label, value in rows]


def end_box(command: str, state: str, progress: Progress | None, launched: Run | None) -> Block:
    """Return the card.

    Args:
        command: What was started.
        state: ``"failed"``, or a key of `VERDICTS`.
        progress: What its folder says, if there is one.
        launched: What its ranks printed; for a run that failed.
    """
    rows = _facts(progress) if progress else []
    table = "".join(
        f"<tr><td>{label.html()}</td><td>{markup(measured(value))}</td></tr>" for label, value in rows
    )
    body = f'<div class="course-scroll"><table class="course-table">{table}</table></div>' if rows else ""
    if progress and (progress.points or progress.errors):
        body += curves(progress)
    plain = "".join(f"\n{label}: {measured(value)}" for label, value in rows)
    resume = ""
    if progress and state != "finished" and (progress.folder / "checkpoint.pt").exists():
        place = html.escape(progress.folder.as_posix(), quote=False)
        resume = f"<p>{RESUME.html()} <code>--resume {place}</code></p>"
        plain += f"\n{RESUME} --resume {progress.folder.as_posix()}"
    if state == "failed" and launched is not None and launched.failure:
        box, why = final_box(launched), explain(launched.failure.text.strip() or "?")
        known = why._repr_mimebundle_()["text/html"] if why.name else ""
        return Block(f"{box.html}{known}{resume}{body}", f"{box.text}{plain}")
    look, verdict = VERDICTS[state]
    return Block(
        f'<div class="course-card {look}"><p class="course-title"><code>{html.escape(command, quote=False)}</code></p>'
        f'<p><span class="course-verdict">{verdict.html()}</span></p>{resume}{body}</div>',
        f"{command}\n{verdict}{plain}",
    )
