"""What the automatic half of the final task's rubric says, in both languages."""

from __future__ import annotations

from bilingual import Bilingual

TITLE = Bilingual("Final task: the automatic half", "期末任務：自動評分的部分")
HEAD = (Bilingual("criterion", "項目"), Bilingual("points", "分數"), Bilingual("why", "理由"))
SUM = Bilingual(
    "{points} of {most} points; the other 50 are the teacher's",
    "得 {points} 分（滿分 {most} 分），另外 50 分由老師評分",
)
NO_RUN = Bilingual(
    "There is no run in `{folder}` yet. A results folder holds one folder for each run.",
    "`{folder}` 裡還沒有任何一次訓練。在結果資料夾裡，每次訓練各有一個資料夾。",
)
NOT_FINISHED = Bilingual(
    "Runs found: {count}, but none has finished (`metrics.json`). Go on with `--resume`.",
    "找到 {count} 次訓練，但都還沒完成（沒有 `metrics.json`）。請用 `--resume` 接續。",
)

# Of a finished run; without these something is missing.
FILES = (
    "config.json",
    "environment.json",
    "log.jsonl",
    "checkpoint.pt",
    "plots/loss.png",
    "plots/forecast.png",
)

NAMES = {
    "complete": Bilingual("Correct: the folder is complete", "正確：資料夾完整"),
    "tested": Bilingual("Correct: test part and scaling", "正確：測試區段與標準化"),
    "learned": Bilingual("Correct: it learned", "正確：有學到東西"),
    "simple": Bilingual("Correct: beats last value and seasonal", "正確：勝過最後一個值與季節性基準"),
    "linear": Bilingual("Correct: beats the linear model", "正確：勝過線性模型"),
    "fast": Bilingual("Speed, with evidence", "速度，要有證據"),
    "repeatable": Bilingual("Repeatable", "可重現"),
    "resumed": Bilingual("Resumed", "接續過"),
}
SAYS = {
    "complete": Bilingual("all files are there", "檔案都在"),
    "missing": Bilingual("not there: {names}", "缺少：{names}"),
    "tested": Bilingual(
        "computed anew, last value has the same error: {value}", "重新計算最後一個值的誤差，結果相同：{value}"
    ),
    "no_data": Bilingual(
        "the CSV is not there any more, so nothing was computed anew", "CSV 已經不在，無法重新計算"
    ),
    "learned": Bilingual(
        "validation error {first} after one epoch, {best} at best",
        "驗證誤差在第一個訓練週期後是 {first}，最好時是 {best}",
    ),
    "compared": Bilingual("{own} against {other} ({name})", "{own}，對照 {other}（{name}）"),
    "nothing": Bilingual("no such baseline in metrics.json", "metrics.json 裡沒有這類基準"),
    "fast": Bilingual(
        "the fastest run: {gain} times the windows per second of the slowest, {change}% of its test error",
        "最快的一次，每秒視窗數是最慢那次的 {gain} 倍，測試誤差是那次的 {change}%",
    ),
    "one_speed": Bilingual(
        "it takes two finished runs with different settings", "需要兩次設定不同、而且都已完成的訓練"
    ),
    "repeatable": Bilingual(
        "seed, versions, devices, commit and data are noted", "種子、版本、裝置、commit 與資料都記錄下來了"
    ),
    "lacking": Bilingual("not noted: {names}", "沒有記錄：{names}"),
    "no_commit": Bilingual(
        "the program was not committed before the run (`git init`, `git commit`)",
        "程式在執行前沒有 commit（`git init`、`git commit`）",
    ),
    "resumed": Bilingual("{run} was stopped, resumed and finished", "{run} 中斷後接續，並且完成"),
    "never": Bilingual("no run was stopped and resumed", "沒有任何一次訓練在中斷後接續"),
}
REFUSED = {
    "damaged": Bilingual(
        "`{run}` lacks numbers that every finished run has.", "每次完成的訓練都該有的數字，`{run}` 缺了一些。"
    ),
    "not_finite": Bilingual(
        "`{run}` has an error that is not a positive number.", "`{run}` 裡有一項誤差不是正數。"
    ),
    "horizons": Bilingual(
        "In `{run}`, the errors per horizon and their mean do not fit together.",
        "`{run}` 裡，各預測距離的誤差和它們的平均對不起來。",
    ),
    "steps": Bilingual(
        "The log of `{run}` does not hold the steps of a whole run.",
        "`{run}` 的紀錄裡，並沒有一次完整訓練的所有步。",
    ),
    "validation": Bilingual(
        "The best validation error of `{run}` is not in its log.",
        "`{run}` 最好的驗證誤差，在它的紀錄裡找不到。",
    ),
    "rate": Bilingual("The speed of `{run}` is not that of its log.", "`{run}` 的速度和它的紀錄不符。"),
    "data": Bilingual(
        "`{run}` was made with other data than the CSV that it names.",
        "`{run}` 用的資料，和它寫明的那個 CSV 檔不同。",
    ),
    "last_value": Bilingual(
        "Computed anew, the error of the last value differs from that of `{run}`: another test part, or another scaling.",
        "重新計算最後一個值的誤差，結果和 `{run}` 記錄的不同：測試區段或標準化不一樣。",
    ),
}
