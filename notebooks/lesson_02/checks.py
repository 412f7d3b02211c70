"""The exercises of lesson 02, moving tensors and models."""

from __future__ import annotations

from bilingual import Bilingual
from course_utils.exercises import Exercise
from lesson_02.check_accuracy import examine_accuracy, show_accuracy
from lesson_02.check_move import examine_move, show_move
from lesson_02.check_places import (
    examine_empty_mask,
    examine_scores_of,
    examine_to_device,
    show_empty_mask,
    show_scores_of,
    show_to_device,
)
from lesson_02.check_stays_behind import examine_stays_behind, show_stays_behind
from lesson_02.check_training import examine_mend, examine_meter, show_mend, show_meter
from lesson_02.places import or_error

EXERCISES = (
    Exercise(
        "empty_mask",
        Bilingual("a mask beside its tensor", "和張量在同一個裝置的遮罩"),
        examine_empty_mask,
        (
            Bilingual(
                "A function with `_like` in its name takes shape and device from another tensor.",
                "名稱裡有 `_like` 的函式，會沿用另一個張量的形狀和裝置。",
            ),
            Bilingual(
                "`torch.zeros_like` also takes a `dtype=`; `False` is the zero of `torch.bool`.",
                "`torch.zeros_like` 也可以指定 `dtype=`；`torch.bool` 的零就是 `False`。",
            ),
        ),
        level="easy",
        show=or_error(show_empty_mask),
    ),
    Exercise(
        "scores_of",
        Bilingual("the batch goes to the model", "把批次送到模型那裡"),
        examine_scores_of,
        (
            Bilingual(
                "Where is the model? One of its parameters knows.", "模型在哪裡？看任何一個參數在哪裡就知道。"
            ),
            Bilingual(
                "`next(model.parameters()).device` is a place to move the batch to.",
                "批次就該搬到 `next(model.parameters()).device` 這個裝置。",
            ),
        ),
        level="easy",
        show=or_error(show_scores_of),
    ),
    Exercise(
        "stays_behind",
        Bilingual("a module whose parts stay behind", "搬家時漏帶東西的模組"),
        examine_stays_behind,
        (
            Bilingual(
                "Print `list(net.parameters())` and `net.state_dict()`: what is missing?",
                "印出 `list(net.parameters())` 和 `net.state_dict()`，看看少了什麼。",
            ),
            Bilingual("For the layers: `nn.ModuleList`.", "各層要用 `nn.ModuleList`。"),
            Bilingual(
                "For the constant: `self.register_buffer(name, tensor)`.",
                "常數要用 `self.register_buffer(名稱, 張量)`。",
            ),
        ),
        level="medium",
        show=or_error(show_stays_behind),
    ),
    Exercise(
        "mend",
        Bilingual("two things left behind", "漏搬了兩樣東西"),
        examine_mend,
        (
            Bilingual(
                "Which three tensors does `cross_entropy` get, and where is each?",
                "`cross_entropy` 收到哪三個張量？各在哪個裝置上？",
            ),
            Bilingual(
                "`labels` must be moved; `weight` can be created in the right place with `device=`.",
                "`labels` 要搬；`weight` 可以用 `device=` 直接在對的裝置上建立。",
            ),
        ),
        level="easy",
        show=or_error(show_mend),
    ),
    Exercise(
        "move",
        Bilingual("move a nested batch", "搬移巢狀的批次"),
        examine_move,
        (
            Bilingual(
                "Four cases: a tensor, a dictionary, a list or tuple, anything else.",
                "請分成四種情況：張量、字典、list 或 tuple，以及其他東西。",
            ),
            Bilingual(
                "For a container: call `move` on everything in it.", "遇到容器，就對裡面的每一項呼叫 `move`。"
            ),
            Bilingual(
                "`type(batch)(move(v, device) for v in batch)` returns a list for a list and a tuple for a tuple.",
                "`type(batch)(move(v, device) for v in batch)` 能讓 list 維持 list，tuple 維持 tuple。",
            ),
        ),
        level="medium",
        show=or_error(show_move),
    ),
    Exercise(
        "to_device",
        Bilingual("many rows, one transfer", "很多列，只搬一次"),
        examine_to_device,
        (
            Bilingual(
                "Put the rows together while they are on the CPU: `torch.stack`.",
                "趁各列還在 CPU 上，先用 `torch.stack` 合併起來。",
            ),
            Bilingual(
                "`list(…)` of a tensor is the list of its rows, without a copy.",
                "對張量呼叫 `list(…)`，會得到由各列組成的 list，而且不會複製。",
            ),
        ),
        level="easy",
        show=or_error(show_to_device),
    ),
    Exercise(
        "meter",
        Bilingual("a loss meter that does not wait", "不必等待的損失計量器"),
        examine_meter,
        (
            Bilingual(
                "`float(loss)`, `loss.item()` and `print(loss)` all fetch, and wait.",
                "`float(loss)`、`loss.item()`、`print(loss)` 都會取值，主機也都得等。",
            ),
            Bilingual(
                "Keep `self.total`, a tensor on the device, and `self.count`, a Python number.",
                "只留下 `self.total`（裝置上的張量）和 `self.count`（Python 的數字）。",
            ),
            Bilingual(
                "`detach()` gives the loss without its graph, and adding on the device does not wait. A sum of many losses wants `double()`.",
                "`detach()` 傳回不帶計算圖的損失，而且在裝置上累加時，主機不必等。累加很多損失時，最好再加上 `double()`。",
            ),
        ),
        level="medium",
        show=or_error(show_meter),
    ),
    Exercise(
        "accuracy",
        Bilingual("evaluate a model", "評估一個模型"),
        examine_accuracy,
        (
            Bilingual(
                "`model.eval()` first, `model.train()` at the end, and the loop under `with torch.no_grad():`.",
                "先呼叫 `model.eval()`，最後呼叫 `model.train()`；迴圈放在 `with torch.no_grad():` 裡面。",
            ),
            Bilingual(
                "Count right answers and images; divide once, at the end.",
                "累計答對的張數和總張數，到最後才相除。",
            ),
            Bilingual(
                "`right = right + (model(images).argmax(1) == labels).sum()` stays on the device.",
                "`right = right + (model(images).argmax(1) == labels).sum()` 會留在裝置上。",
            ),
        ),
        level="hard",
        show=or_error(show_accuracy),
    ),
)
