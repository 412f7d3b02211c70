"""The journey as a table and as a board: a bar for each step, this machine's beside a recorded one's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bilingual import Bilingual, Block, measured, measured_spans
from course_utils import figures, published, recordings
from course_utils.tables import html_table
from course_utils.units import number
from shared.scoreboard_picture import draw_bars, recorded

STEPS = {
    "slow": Bilingual("a slow program", "很慢的程式"),
    "loader": Bilingual("device, DataLoader", "選擇裝置、DataLoader"),
    "gather": Bilingual("gathered on the device", "在裝置上取出視窗"),
    "batch": Bilingual("batch size", "批次大小"),
    "dtype": Bilingual("data type", "資料型別"),
    "compile": Bilingual("torch.compile", "torch.compile"),
    "waits": Bilingual("no hidden waits", "不再等待"),
    "ranks": Bilingual("several processes", "多個行程"),
}
LIMITS = {
    "": Bilingual("–", "–"),
    "data": Bilingual("waiting for data", "等資料"),
    "launch": Bilingual("Python and launches", "Python 與啟動 kernel"),
    "compute": Bilingual("computing", "計算"),
}
NOTHING = "–"


@dataclass(frozen=True)
class Row:
    """What a step of the journey has reached.

    Attributes:
        rate: Windows per second in training.
        error: Mean squared error of the validation windows after 2,048 training windows, scaled; None: not measured.
        waits: How often the host waits for a value in a step; None: not counted.
        limit: A key of `LIMITS`.
        note: What belongs beside the step's name.
        device: ``cpu`` or ``cuda``.
        machine: Name of the processor that trained.
        cpu: Name of the computer's CPU.
        torch: Version of PyTorch.
        date: ISO date.
        rule: Version of the rules under which it was measured.
    """

    rate: float
    error: float | None
    waits: float | None
    limit: str
    note: str
    device: str
    machine: str
    cpu: str
    torch: str
    date: str
    rule: int

    def comparable(self, other: Row) -> bool:
        """Return whether both come from the same computer, PyTorch and rules; the slow program runs on the CPU everywhere."""
        same = (self.cpu, self.torch, self.rule) == (other.cpu, other.torch, other.rule)
        return same and (self.device != other.device or self.machine == other.machine)


def table_of(rows: Mapping[str, Row]) -> Block:
    """Return all steps of the journey as a table; what was not measured here is a dash."""
    heads = (
        Bilingual("step", "步驟"),
        Bilingual("windows/s", "每秒視窗數"),
        Bilingual("times the slow program", "是最初的幾倍"),
        Bilingual("validation error", "驗證誤差"),
        Bilingual("waits in a step", "每步等待次數"),
        Bilingual("what limits now", "目前的瓶頸"),
    )
    lines, plain = [], [" | ".join(map(str, heads))]
    for key, name in STEPS.items():
        cells = _cells(rows.get(key), rows.get("slow"))
        lines.append([name.html(), *(measured_spans(cell) for cell in cells)])
        plain.append(" | ".join([str(name), *(str(measured(str(cell))) for cell in cells)]))
    return Block(html_table(lines, [head.html() for head in heads]), "\n".join(plain))


def _cells(row: Row | None, slow: Row | None) -> list[Bilingual]:
    """Return what stands in a row behind the step's name."""
    if row is None:
        return [LIMITS[""]] * 5
    gain = f"{number(row.rate / slow.rate)} ×" if slow and slow.comparable(row) else NOTHING
    texts = [
        f"{number(row.rate)} {f'({row.note})' if row.note else ''}".strip(),
        gain,
        NOTHING if row.error is None else f"{row.error:.3f}",
        NOTHING if row.waits is None else f"{row.waits:g}",
    ]
    return [*(Bilingual(text, text) for text in texts), LIMITS[row.limit]]


def board(rows: Mapping[str, Row], key: str) -> figures.Picture:
    """Return the board's picture.

    Args:
        rows: What was reached, by step.
        key: The step that was measured last: what cannot be compared with it is hatched.
    """
    there, run = recorded(STEPS, "journey-")
    figure, axes = figures.new(height=3.8)
    names = {step: str(text) for step, text in STEPS.items()}
    draw_bars(axes, names, rows, rows[key], there, Bilingual("windows per second", "每秒視窗數"))
    label = recordings.label(run) if run else ""
    whose = Bilingual(f"Recorded on {label}.", f"參考紀錄：{label}。") if run else None
    on_gpu = bool(run and run["machine"]["gpus"])
    numbers = [f"{step}: {number(row.rate)}/s" for step, row in rows.items()]
    other_en, other_zh = (whose.en, whose.zh) if whose and not on_gpu else ("", "")
    return figures.Picture(
        figure,
        Bilingual(
            f"Windows per second in training, after each step: {measured('; '.join(numbers))}. {measured(other_en)} A CPU "
            "computes with one thread. Hatched bars come from another machine or PyTorch.",
            f"每一步之後，訓練時每秒處理的視窗數：{measured('；'.join(numbers))}。{measured(other_zh)}CPU 只用一個執行緒（thread）計算。"
            "畫有斜線的長條，是在其他機器或用其他版本的 PyTorch 量到的。",
        ),
        Bilingual(
            "Bar chart with a logarithmic scale: windows per second after each step of the journey.",
            "對數刻度的長條圖，顯示每一步之後，每秒能處理的視窗數。",
        ),
        beside=published.beside("journey", whose if on_gpu else None),
    )
