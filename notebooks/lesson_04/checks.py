"""The exercises of lesson 04. Each is checked with a simulation or a counter, so that no GPU is needed."""

from __future__ import annotations

from bilingual import Bilingual
from course_utils.exercises import Exercise
from lesson_04.check_biggest import examine_biggest, show_biggest
from lesson_04.check_dataset import examine_dataset, show_dataset
from lesson_04.check_fetch import examine_fetch, show_fetch
from lesson_04.check_launch_bound import examine_launch_bound, show_launch_bound
from lesson_04.check_prefetch import examine_prefetch, show_prefetch
from lesson_04.check_race import examine_race, show_race
from lesson_04.check_stalls import examine_stalls, show_stalls
from lesson_04.check_timing import examine_fair_timing, show_timing

EXERCISES = (
    Exercise(
        "launch_bound",
        Bilingual("who sets the pace?", "步調由哪一邊決定？"),
        examine_launch_bound,
        (
            Bilingual(
                "Two rows, launches above and kernels below: draw three kernels that are longer than a launch, then three that are shorter.",
                "畫兩列，上面是啟動，下面是 kernel：先畫三個比啟動久的 kernel，再畫三個比較短的。",
            ),
            Bilingual(
                "The first launch and the last kernel stand alone. What lies between them is n - 1 times the slower of the two.",
                "第一次啟動和最後一個 kernel 都無法重疊；中間還有 n - 1 輪，每一輪的時間由較慢的一方決定。",
            ),
        ),
        level="easy",
        show=show_launch_bound,
    ),
    Exercise(
        "fair_timing",
        Bilingual("time an asynchronous device", "替非同步的裝置計時"),
        examine_fair_timing,
        (
            Bilingual(
                "Draw the queue at the moment when you look at the clock: is anything still in it?",
                "看時鐘的那一刻，佇列裡還有工作嗎？畫出來看看。",
            ),
            Bilingual(
                "One call to warm up. Then wait, start the clock, call several times, wait, stop the clock.",
                "先呼叫一次當作暖身，接著依序是等待、開始計時、呼叫幾次、等待、停止計時。",
            ),
            Bilingual("Divide by the number of calls.", "除以呼叫的次數。"),
        ),
        level="medium",
        show=show_timing,
    ),
    Exercise(
        "biggest",
        Bilingual("the largest loss without waiting", "不必等待，就找出最大的損失"),
        examine_biggest,
        (
            Bilingual(
                "Python's `max` of two tensors asks which is larger, and needs the answer at once.",
                "Python 的 `max` 要比較兩個張量的大小，當下就需要答案。",
            ),
            Bilingual(
                "`torch.maximum` of two tensors stays on the device; so does `torch.stack` of a list.",
                "`torch.maximum` 可以比較兩個張量，`torch.stack` 可以把 list 裡的張量疊成一個，結果都留在裝置上。",
            ),
        ),
        level="easy",
        show=show_biggest,
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
                "list 裡改為收集張量（`loss.detach()`），`right` 也用張量累加。",
            ),
            Bilingual(
                "After the loop: one `torch.stack(…).tolist()`, then check and compare ordinary Python numbers.",
                "迴圈結束後，呼叫一次 `torch.stack(…).tolist()`，之後的檢查和比較都用普通的 Python 數字。",
            ),
        ),
        level="medium",
        show=show_stalls,
    ),
    Exercise(
        "race",
        Bilingual("place the missing waits", "補上缺少的等待"),
        examine_race,
        (
            Bilingual(
                "For each step ask: who wrote what it reads, and who still uses what it overwrites?",
                "每一步都問兩件事：它要讀的資料，是哪一步寫的？它要蓋掉的資料，還有哪一步在用？",
            ),
            Bilingual(
                "`work.wait_stream(copy)` means: what `work` is given from now on waits for all that `copy` has been given so far.",
                "`work.wait_stream(copy)` 的意思是，從現在起交給 `work` 的工作，都要等 `copy` 到目前為止收到的工作全部做完。",
            ),
            Bilingual(
                "Here every step needs the one before it: there is a wait in every gap.",
                "在這個程式裡，每一步都要等前一步，所以前後兩步之間都要有一個等待。",
            ),
        ),
        level="medium",
        show=show_race,
    ),
    Exercise(
        "fetch",
        Bilingual("read the result in time", "等複製完成再讀"),
        examine_fetch,
        (
            Bilingual(
                "An event marks a place in the stream. Where does it have to stand: before the copy, behind it, or behind the other work?",
                "事件標出串流裡的一個位置。它該放在複製前面、複製後面，還是其他工作後面？",
            ),
            Bilingual(
                "`event.synchronize()` makes the host wait for that place only. Do it as late as possible, just before reading.",
                "`event.synchronize()` 只讓主機等到那個位置。請盡量晚一點再等，讀取之前才呼叫。",
            ),
        ),
        level="easy",
        show=show_fetch,
    ),
    Exercise(
        "prefetch",
        Bilingual("a prefetcher as a generator", "用產生器寫預取器"),
        examine_prefetch,
        (
            Bilingual(
                "Keep the ticket of the copy that is under way in a variable; before the first batch it is `None`.",
                "用一個變數記住正在複製的那一批的號碼牌；第一批之前，這個變數是 `None`。",
            ),
            Bilingual(
                "In each round: start the new copy first, then hand out the batch before it.",
                "每一輪都先開始複製新的一批，再交出前一批。",
            ),
            Bilingual(
                "After the loop one batch is still under way, unless there was none at all.",
                "迴圈結束後，還有一批正在複製，除非一開始就沒有任何批次。",
            ),
        ),
        level="hard",
        show=show_prefetch,
    ),
    Exercise(
        "dataset",
        Bilingual("a Dataset of your own", "自己的 Dataset"),
        examine_dataset,
        (
            Bilingual(
                "`__init__` only keeps what it is given; `__len__` is the number of images.",
                "`__init__` 只要把收到的資料存起來，`__len__` 則傳回影像的張數。",
            ),
            Bilingual(
                "In `__getitem__`: take image `i`, `flatten()` it, turn it into float32, divide by 16.",
                "`__getitem__` 要做的是：取出第 `i` 張影像，用 `flatten()` 攤平，轉成 float32，再除以 16。",
            ),
        ),
        level="easy",
        show=show_dataset,
    ),
)
