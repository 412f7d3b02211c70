"""The exercises of lesson 04. Each is checked with a simulation or a counter, so that no GPU is needed."""

from __future__ import annotations

from course_utils.exercises import Exercise
from lesson_04.check_prefetch import examine_prefetch
from lesson_04.check_race import examine_race
from lesson_04.check_stalls import examine_stalls
from lesson_04.check_timing import examine_fair_timing
from torch_doctor.bilingual import Bilingual

EXERCISES = (
    Exercise(
        "fair_timing",
        Bilingual("time an asynchronous device", "替非同步的裝置計時"),
        examine_fair_timing,
        (
            Bilingual(
                "Draw the queue at the moment when you look at the clock: is anything still in it?",
                "看時鐘的那一刻，佇列裡還有東西嗎？畫出來看看。",
            ),
            Bilingual(
                "One call to warm up. Then wait, start the clock, call several times, wait, stop the clock.",
                "先呼叫一次來暖身。接著：等、開始計時、呼叫幾次、等、停錶。",
            ),
            Bilingual("Divide by the number of calls.", "除以呼叫的次數。"),
        ),
    ),
    Exercise(
        "stalls",
        Bilingual("mend a loop that stalls", "修好走走停停的迴圈"),
        examine_stalls,
        (
            Bilingual(
                "Four lines in the loop ask for a value: `item()` twice, an `if`, and `max` of two numbers.",
                "迴圈裡有四行要取值：兩個 `item()`、一個 `if`，還有比較兩個數字大小的 `max`。",
            ),
            Bilingual(
                "Collect tensors (`loss.detach()`), and add up `right` as a tensor, too.",
                "收集張量（`loss.detach()`）；`right` 也用張量累加。",
            ),
            Bilingual(
                "After the loop: one `torch.stack(…).tolist()`, then check and compare ordinary Python numbers.",
                "迴圈之後：呼叫一次 `torch.stack(…).tolist()`，檢查和比較就都用普通的 Python 數字來做。",
            ),
        ),
    ),
    Exercise(
        "race",
        Bilingual("place the missing waits", "補上缺少的等待"),
        examine_race,
        (
            Bilingual(
                "For each step ask: who wrote what it reads, and who still uses what it overwrites?",
                "每一步都問：它要讀的是誰寫的？它要蓋掉的，還有誰在用？",
            ),
            Bilingual(
                "`work.wait_stream(copy)` means: what `work` is given from now on waits for all that `copy` has been given so far.",
                "`work.wait_stream(copy)` 的意思是：從現在起交給 `work` 的工作，都要等 `copy` 到目前為止收到的工作全部做完。",
            ),
            Bilingual(
                "Here every step needs the one before it: there is a wait in every gap.",
                "在這個程式裡，每一步都要等前一步：每兩步之間，都要有一個等待。",
            ),
        ),
    ),
    Exercise(
        "prefetch",
        Bilingual("a prefetcher as a generator", "用產生器寫預取器"),
        examine_prefetch,
        (
            Bilingual(
                "Keep the ticket of the copy that is under way in a variable; before the first batch it is `None`.",
                "用一個變數留住在路上那一批的號碼牌；第一批之前，它是 `None`。",
            ),
            Bilingual(
                "In each round: start the new copy first, then hand out the batch before it.",
                "每一輪都先開始新的複製，再交出前一批。",
            ),
            Bilingual(
                "After the loop one batch is still under way, unless there was none at all.",
                "迴圈結束後，還有一批在路上；除非根本沒有任何一批。",
            ),
        ),
    ),
)
