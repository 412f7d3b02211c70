"""The exercises of lesson 05, data parallelism: the same verdict with 0, 1 or N GPUs."""

from __future__ import annotations

from course_utils.exercises import Exercise
from lesson_05 import check_batches, check_checkpoint, check_gradients
from torch_doctor.bilingual import Bilingual

EXERCISES = (
    Exercise(
        "splits",
        Bilingual("predict every split", "預測所有的切法"),
        check_batches.examine_splits,
        (
            Bilingual(
                "Look at the first piece in the figure: how does its size follow from the two numbers?",
                "看圖裡的第一份：怎麼用那兩個數字算出它的大小？",
            ),
            Bilingual(
                "Rounded up: `-(-batch // devices)`, or `math.ceil(batch / devices)`.",
                "無條件進位：`-(-batch // devices)`，或 `math.ceil(batch / devices)`。",
            ),
            Bilingual(
                "Then take pieces of that size until nothing is left; the last is what remains.",
                "接著每次拿走這麼多，拿到沒有為止；最後一份就是剩下的。",
            ),
        ),
    ),
    Exercise(
        "all_reduce",
        Bilingual("write all-reduce", "寫出全歸約"),
        check_gradients.examine_all_reduce,
        (
            Bilingual(
                "Two halves: add everything up on one device, then send the sum to all.",
                "分兩半：先在一個裝置上全部加起來，再把總和送給大家。",
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
    ),
    Exercise(
        "uneven",
        Bilingual("combine uneven pieces", "合併份量不同的梯度"),
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
                "字串有個方法，會拿掉開頭的某個詞，而且有才拿。",
            ),
        ),
    ),
    Exercise(
        "scaled",
        Bilingual("scale batch and learning rate", "放大批次與學習率"),
        check_batches.examine_scaled,
        (
            Bilingual(
                "One loader for all devices: its batch is the sum of theirs.",
                "所有裝置共用一個載入器：它的批次，就是每個裝置分到的加起來。",
            ),
            Bilingual(
                "The last step of an epoch may be smaller, but it is a step: round up.",
                "一個 epoch 的最後一步可能比較小，但也算一步：要無條件進位。",
            ),
        ),
    ),
)
