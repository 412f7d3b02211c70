"""The exercises of lesson 08, in their order. No verdict needs a GPU."""

from __future__ import annotations

from bilingual import Bilingual
from course_utils.exercises import Exercise
from lesson_08 import (
    check_best_epoch,
    check_better_at,
    check_decoder_input,
    check_measure,
    check_mend,
    check_per_horizon,
    check_scale,
    check_seen,
    check_split,
    check_time_left,
)
from lesson_08.check_gather import examine_gather, show_gather
from lesson_08.check_kept_lines import examine_kept_lines, show_kept_lines
from lesson_08.check_pays import examine_pays, show_pays
from lesson_08.check_quiet import examine_quiet, show_quiet
from lesson_08.check_rate import examine_rate, show_rate
from lesson_08.check_share import examine_share, show_share

EXERCISES: tuple[Exercise, ...] = (
    # data
    check_mend.EXERCISE,
    check_split.EXERCISE,
    check_scale.EXERCISE,
    check_per_horizon.EXERCISE,
    # model
    check_measure.EXERCISE,
    check_seen.EXERCISE,
    check_decoder_input.EXERCISE,
    # journey
    Exercise(
        "gather",
        Bilingual("all windows of a batch at once", "一次取出整批視窗"),
        examine_gather,
        (
            Bilingual(
                "Indexing with a tensor of row numbers of any shape gives a result of that shape, and the columns behind it.",
                "用列號的張量來索引：列號是什麼形狀，結果就是什麼形狀，最後再多一個欄的維度。",
            ),
            Bilingual(
                "The row numbers: a column of first rows plus a row of steps, `first[:, None] + torch.arange(length)`.",
                "列號等於一欄起點加上一列時間步：`first[:, None] + torch.arange(length)`。",
            ),
        ),
        level="medium",
        show=show_gather,
    ),
    Exercise(
        "new_rate",
        Bilingual("a rate for the larger batch", "批次變大，學習率跟著變"),
        examine_rate,
        (
            Bilingual(
                "For Adam: four times the batch, twice the rate.",
                "用 Adam 的話，批次變成四倍，學習率變成兩倍。",
            ),
            Bilingual(
                "The ratio of the batches, to the power of a half.", "兩個批次大小的比值，取 0.5 次方。"
            ),
        ),
        level="easy",
        show=show_rate,
    ),
    Exercise(
        "pays",
        Bilingual("when has compiling paid?", "編譯要多久才回本？"),
        examine_pays,
        (
            Bilingual("How much time does one step save?", "每一步省下多少時間？"),
            Bilingual(
                "The seconds of compiling, divided by what one step saves. If it saves nothing: `float('inf')`.",
                "編譯的秒數，除以每一步省下的秒數。如果沒有省下時間，請傳回 `float('inf')`。",
            ),
        ),
        level="easy",
        show=show_pays,
    ),
    Exercise(
        "quiet",
        Bilingual("a loop that waits once", "只等一次的迴圈"),
        examine_quiet,
        (
            Bilingual(
                "`item()` and the f-string both need the number now.",
                "`item()` 和 f-string 都要當場拿到數字。",
            ),
            Bilingual(
                "Collect `loss.detach()`; after the loop, one `torch.stack(losses).tolist()`.",
                "用 list 收集 `loss.detach()`，迴圈結束後呼叫一次 `torch.stack(losses).tolist()`。",
            ),
        ),
        level="medium",
        show=show_quiet,
    ),
    # ranks
    Exercise(
        "share",
        Bilingual("the windows of a rank in a step", "一個 rank 在某一步的視窗"),
        examine_share,
        (
            Bilingual(
                "`divmod(step, count // batch)` gives the epoch, and the place of the step in it.",
                "`divmod(step, count // batch)` 會得到訓練週期，以及這一步在其中的位置。",
            ),
            Bilingual(
                "Shuffle with a generator of the seed and the epoch, the same on all ranks; cut out the batch; of it, take every `world`-th window "
                "from `rank` on.",
                "先用由種子和訓練週期決定的亂數產生器打散順序，每個 rank 都一樣；再切出這個批次；最後從位置 `rank` 開始，每 `world` 個取一個。",
            ),
        ),
        level="medium",
        show=show_share,
    ),
    Exercise(
        "kept_lines",
        Bilingual("the log of a run that goes on", "接續之後的紀錄"),
        examine_kept_lines,
        (
            Bilingual(
                "Each line says after which step it was written.", "每一行都記著它是在第幾步之後寫下的。"
            ),
            Bilingual(
                'A list comprehension with a condition on `line["step"]`.',
                '用 list comprehension，條件看 `line["step"]`。',
            ),
        ),
        level="easy",
        show=show_kept_lines,
    ),
    # watch
    check_best_epoch.EXERCISE,
    check_time_left.EXERCISE,
    check_better_at.EXERCISE,
    # closing
)
