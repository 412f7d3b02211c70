"""The exercises of lesson 05, data parallelism: the same verdict with 0, 1 or N GPUs."""

from __future__ import annotations

from bilingual import Bilingual
from course_utils.exercises import Exercise
from lesson_05 import (
    check_batches,
    check_checkpoint,
    check_gradients,
    check_loss,
    check_places,
    check_step,
    check_traffic,
)

EXERCISES = (
    Exercise(
        "splits",
        Bilingual("predict every split", "預測批次怎麼切"),
        check_batches.examine_splits,
        (
            Bilingual(
                "Look at the first piece in the figure: how does its size follow from the two numbers?",
                "看圖裡的第一份，它的大小怎麼由批次的筆數和裝置數算出來？",
            ),
            Bilingual(
                "Rounded up: `-(-batch // devices)`, or `math.ceil(batch / devices)`.",
                "無條件進位：`-(-batch // devices)`，或 `math.ceil(batch / devices)`。",
            ),
            Bilingual(
                "Then take pieces of that size until nothing is left; the last is what remains.",
                "接著每次拿走這麼多，直到分完為止；最後一份就是剩下的。",
            ),
        ),
        level="easy",
        show=check_batches.show_splits,
    ),
    Exercise(
        "uneven",
        Bilingual("combine uneven pieces", "各份大小不一時，合併梯度"),
        check_gradients.examine_uneven,
        (
            Bilingual(
                "A mean over 4 examples stands for 4 examples, a mean over 2 only for 2.",
                "4 筆的平均代表 4 筆資料，2 筆的平均只代表 2 筆。",
            ),
            Bilingual(
                "Turn each mean back into a sum (times its size), add up, divide once by the whole batch.",
                "先把每個平均乘以自己的筆數，變回總和；全部加起來，最後除以整個批次的筆數。",
            ),
        ),
        level="easy",
        show=check_gradients.show_uneven,
    ),
    Exercise(
        "all_reduce",
        Bilingual("write all-reduce", "寫出 all-reduce"),
        check_gradients.examine_all_reduce,
        (
            Bilingual(
                "Two halves: add everything up on one device, then send the sum to all.",
                "分成兩半來做：先在一個裝置上全部加起來，再把總和送到每個裝置。",
            ),
            Bilingual(
                "Operands must be on one device: `t.to(tensors[0].device)`. `copy_` may cross.",
                "相加的兩個張量要在同一個裝置上：`t.to(tensors[0].device)`。`copy_` 則可以跨裝置。",
            ),
            Bilingual(
                "Add up in a new tensor (`clone()`), or in the first one; at the end, `copy_` into each of the others.",
                "加在新的張量（`clone()`）或第一個張量裡；最後用 `copy_` 寫進其他每一個。",
            ),
        ),
        level="medium",
        show=check_gradients.show_all_reduce,
    ),
    Exercise(
        "step",
        Bilingual("the gradients of a step", "一步的梯度"),
        check_step.examine_step,
        (
            Bilingual(
                "Two loops: over the copies, each with its own loss; then over the parameters, each with a gradient per copy.",
                "需要兩個迴圈：先對每個複本計算自己的損失，再對每個參數，把各複本的梯度加總。",
            ),
            Bilingual(
                "`all_reduce` adds up. So which share of the mean loss must each copy contribute?",
                "`all_reduce` 做的是相加。那麼每個複本的損失，在平均損失裡該占多少比例？",
            ),
            Bilingual(
                "`zip(*(model.parameters() for model in copies))` gives, parameter by parameter, those of all copies.",
                "`zip(*(model.parameters() for model in copies))` 會逐一給出同一個參數在各複本裡的版本。",
            ),
        ),
        level="medium",
        show=check_step.show_step,
    ),
    Exercise(
        "places",
        Bilingual("where things live", "什麼東西在哪個裝置上"),
        check_places.examine_places,
        (
            Bilingual(
                "`device_ids` is a list in an order, and its first entry is special.",
                "`device_ids` 有順序，而且第一個特別重要。",
            ),
            Bilingual(
                "Only one of the five is not on the main device.",
                "這五項裡，只有一項不在主裝置上。",
            ),
        ),
        level="easy",
        show=check_places.show_places,
    ),
    Exercise(
        "losses",
        Bilingual("one loss from several", "把好幾個損失變成一個"),
        check_loss.examine_losses,
        (
            Bilingual(
                "A mean is a sum divided by a count. Which sum do you have, and which count?",
                "平均就是總和除以筆數。手上有哪個總和，又有哪個筆數？",
            ),
            Bilingual(
                "Stay with tensors, so that `backward()` finds the way back: `sums.sum()`.",
                "全程都用張量，`backward()` 才找得到回去的路：`sums.sum()`。",
            ),
        ),
        level="easy",
        show=check_loss.show_losses,
    ),
    Exercise(
        "checkpoint",
        Bilingual("take the prefix away", "拿掉前綴"),
        check_checkpoint.examine_checkpoint,
        (
            Bilingual(
                "Build a new dictionary from `state.items()`, with other names and the same tensors.",
                "用 `state.items()` 建一個新的字典：換名稱，張量不變。",
            ),
            Bilingual(
                "Strings have a method that takes a word away from the beginning, and only if it is there.",
                "字串有個方法，可以拿掉開頭的某個詞；開頭沒有這個詞時，字串不變。",
            ),
        ),
        level="easy",
        show=check_checkpoint.show_checkpoint,
    ),
    Exercise(
        "traffic",
        Bilingual("count the bytes", "數一數位元組"),
        check_traffic.examine_traffic,
        (
            Bilingual(
                "How many bytes are all weights together? And how many devices do not have them yet?",
                "全部的權重一共幾個位元組？還沒有權重的裝置有幾個？",
            ),
            Bilingual(
                "Each of those devices receives all weights and sends back all gradients, four bytes a number.",
                "這樣的裝置，每個都要收下全部的權重，再送回全部的梯度，每個數四個位元組。",
            ),
        ),
        level="easy",
        show=check_traffic.show_traffic,
    ),
)
