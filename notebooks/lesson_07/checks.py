"""The exercises of lesson 07. No verdict needs a GPU; those of scripts start processes on the CPU."""

from __future__ import annotations

from bilingual import Bilingual
from course_utils.exercises import Exercise
from lesson_07 import (
    check_efficiency,
    check_fewest_gpus,
    check_only_one,
    check_plan,
    check_ring,
    check_scripts,
    check_traffic,
)

EXERCISES = (
    Exercise(
        "sent_bytes",
        Bilingual("bytes that a rank sends", "一個 rank 送出多少位元組"),
        check_traffic.examine,
        (
            Bilingual(
                "How many steps are there with 4 ranks? Move the explorer to its end and count.",
                "4 個 rank 要走幾步？把上面的圖拉到最後，數數看。",
            ),
            Bilingual(
                "In each step every rank sends one chunk: `size / ranks` bytes.",
                "每一步，每個 rank 都送出一塊，也就是 `size / ranks` 個位元組。",
            ),
        ),
        level="easy",
        show=check_traffic.pictured,
    ),
    Exercise(
        "ring_all_reduce",
        Bilingual("a ring all-reduce", "環狀的 all-reduce"),
        check_ring.examine,
        (
            Bilingual(
                "Look at one chunk only: it travels once round the ring and grows, then once more, finished.",
                "只看其中一塊：它先走一圈，一路加上去；加好之後，再走一圈發給每個 rank。",
            ),
            Bilingual(
                "Before the first exchange, rank r sends chunk r. What arrives from the left, then, is chunk r − 1, and that is the one to send next.",
                "第一次交換，rank r 送第 r 塊。這時從左邊收到的是第 r − 1 塊，下一次要送的就是它。",
            ),
            Bilingual(
                "After size − 1 exchanges, chunk r + 1 is finished on rank r. It starts the second half, in which nothing is added. `%` keeps the numbers in the ring.",
                "交換 size − 1 次之後，rank r 手上加好的是第 r + 1 塊。後半段就從它開始，而且不再相加。用 `%` 讓編號接成一圈。",
            ),
        ),
        level="hard",
        show=check_ring.pictured,
    ),
    Exercise(
        "only_one",
        Bilingual("who runs which line?", "哪一行由哪些 rank 執行？"),
        check_only_one.examine,
        (
            Bilingual(
                "Is it a collective, or does one happen inside it? Then all ranks have to come.",
                "這一行是不是集體通訊，或者裡面會做集體通訊？是的話，每個 rank 都要執行。",
            ),
            Bilingual(
                "Does it leave something behind, such as a file or a line? Then ask who shares the place where it lies.",
                "這一行會不會留下東西，例如檔案或一行字？會的話，再看留下的地方由哪些 rank 共用。",
            ),
        ),
        level="easy",
        show=check_only_one.pictured,
    ),
    Exercise(
        "plan",
        Bilingual("global batch and steps", "整體批次與步數"),
        check_plan.examine,
        (
            Bilingual(
                "How many images are in the gradient of one optimizer step: of one rank, of all ranks, of all that is accumulated?",
                "最佳化器更新一次所用的梯度，來自幾張影像？先看一個 rank，再看所有 rank，最後看累積幾次。",
            ),
            Bilingual(
                "A step uses up one global batch, and what is left at the end is dropped.",
                "每一步用掉一個整體批次，最後剩下不足一批的就丟掉。",
            ),
        ),
        level="easy",
        show=check_plan.pictured,
    ),
    Exercise(
        "efficiency",
        Bilingual("read an efficiency", "算出效率"),
        check_efficiency.examine,
        (
            Bilingual(
                "What rate would `ranks` ranks reach if they never waited?",
                "如果 `ranks` 個 rank 都不必互相等待，速率會是多少？",
            ),
            Bilingual(
                "Divide what was reached by that ideal.",
                "用實際的速率除以這個理想值。",
            ),
        ),
        level="easy",
        show=check_efficiency.pictured,
    ),
    Exercise(
        "fewest_gpus",
        Bilingual("how many GPUs does it take?", "最少要幾張 GPU？"),
        check_fewest_gpus.examine,
        (
            Bilingual(
                "16 bytes for each parameter are to be divided. The activations are not.",
                "每個參數要分攤 16 個位元組，活化值則不分攤。",
            ),
            Bilingual(
                "How much of a GPU is left beside its activations? How many times do you need that?",
                "一張 GPU 扣掉活化值之後還剩多少？這樣的空間需要幾份？",
            ),
            Bilingual(
                "`math.ceil` rounds up; without room there is no answer.",
                "`math.ceil` 會無條件進位；如果沒有剩餘空間，不管幾張都放不下。",
            ),
        ),
        level="medium",
        show=check_fewest_gpus.pictured,
    ),
    *check_scripts.EXERCISES,
)
