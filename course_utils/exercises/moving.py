"""The exercises of lesson 02, moving tensors and models."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from course_utils.exercises import NO_RETURN, Exercise, NotYet, Wrong
from course_utils.exercises.dictionary import filled_in
from course_utils.exercises.waits import counting
from course_utils.language import Bilingual

# Where there is no GPU to move to, the meta device stands in: it keeps shapes and devices, but no data. Nothing is
# computed there; only who moved is looked at.
ELSEWHERE = torch.device("cuda" if torch.cuda.is_available() else "meta")

_RIGHT_PLACES: dict[str, tuple[object, Bilingual]] = {
    "x.to('cpu') is x": (
        True,
        Bilingual(
            "`x` is on the CPU already, and `.to` copies only when something has to change.",
            "`x` 本來就在 CPU 上；只有東西需要改變時，`.to` 才會複製。",
        ),
    ),
    "x.to(torch.float64) is x": (
        False,
        Bilingual(
            "Another data type means other bytes, so this must be a new tensor.",
            "換了資料型別，內容的位元組也跟著變，所以一定是新的張量。",
        ),
    ),
    "x.to('cpu', copy=True) is x": (
        False,
        Bilingual(
            "`copy=True` asks for a copy even where none is needed.",
            "`copy=True` 就是要求複製，就算不需要也一樣。",
        ),
    ),
    "model.to(torch.float64) is model": (
        True,
        Bilingual(
            "A module changes its own parameters and returns itself; only tensors return something new.",
            "模組會改自己的參數，再傳回自己；只有張量才會傳回新的東西。",
        ),
    ),
    "x.dtype after x.to(torch.float64)": (
        "torch.float32",
        Bilingual(
            "The result was thrown away: `Tensor.to` leaves `x` as it was.",
            "結果沒人接住，就丟掉了：`Tensor.to` 不會改動 `x` 本身。",
        ),
    ),
}


def examine_identity(answer: Any) -> None:
    """Examine a dictionary: expression → True, False or the name of a dtype."""
    values = filled_in(answer, _RIGHT_PLACES)
    for key, (right, why) in _RIGHT_PLACES.items():
        value = values[key]
        given = str(value) if isinstance(right, str) else value
        if isinstance(right, bool) and not isinstance(value, bool):
            raise Wrong(
                en=f"The answer to `{key}` is `True` or `False`.",
                zh=f"`{key}` 的答案是 `True` 或 `False`。",
            )
        if given != right:
            raise Wrong(en=f"`{key}`: look again. {why.en}", zh=f"`{key}`：再想想。{why.zh}")


def examine_move(answer: Any) -> None:
    """Examine ``move(batch, device)`` for nested batches."""

    def batch() -> dict[str, Any]:
        return {
            "image": torch.zeros(2, 3),
            "extra": {"mask": torch.ones(2), "names": ["a", "b"]},
            "pair": (torch.zeros(1), [torch.ones(1), 7]),
            "none": None,
        }

    alone = answer(torch.zeros(2), ELSEWHERE)
    if alone is None:
        raise Wrong(
            en="For a single tensor your function returns `None`. `Tensor.to` returns the moved tensor: return that.",
            zh="傳入單一張量時，你的函式傳回 `None`。`Tensor.to` 會傳回搬好的張量，你的函式也要把結果傳回來。",
        )
    if not isinstance(alone, torch.Tensor) or alone.device.type != ELSEWHERE.type:
        raise Wrong(
            en="A single tensor does not arrive. `x.to(device)` on its own changes nothing: use what it returns.",
            zh="傳入單一張量時，張量沒有搬過去。光寫 `x.to(device)` 什麼都不會變，要用傳回的結果。",
        )
    given = batch()
    try:
        moved = answer(given, ELSEWHERE)
    except RecursionError:
        raise Wrong(
            en="Endless recursion: every item of a string is again a string, so going into `'a'` never ends. Go into "
            "dictionaries, lists and tuples only.",
            zh="遞迴停不下來：字串的每一項還是字串，走進 `'a'` 就出不來了。只有字典、list 和 tuple 才要往裡面走。",
        ) from None
    except (AttributeError, TypeError) as error:
        if "'to'" in str(error) or "not iterable" in str(error):
            raise Wrong(
                en=f"Not everything in a batch is a tensor or a container ({error}). Anything else stays as it is.",
                zh=f"批次裡的東西，不一定都是張量或容器（{error}）。兩者都不是的，就原樣傳回。",
            ) from None
        raise
    if not isinstance(moved, dict) or set(moved) != set(given):
        raise Wrong(
            en="What comes back should be a dictionary with the same keys.",
            zh="傳回的應該是字典，而且鍵（key）都一樣。",
        )
    if given["image"].device.type != "cpu" or given["extra"]["mask"].device.type != "cpu":
        raise Wrong(
            en="You changed the caller's batch. Build a new one and leave the given one alone.",
            zh="你改到呼叫者的批次了。請建立新的，不要動原本的。",
        )
    pair = moved["pair"]
    if not isinstance(pair, tuple) or not isinstance(pair[1], list):
        raise Wrong(
            en="A tuple should stay a tuple and a list a list: `type(batch)(…)` builds the same kind.",
            zh="tuple 要維持 tuple，list 要維持 list：用 `type(batch)(…)` 建立同一種容器。",
        )
    inside = {
        "batch['image']": moved["image"],
        "batch['extra']['mask']": moved["extra"]["mask"],
        "batch['pair'][0]": pair[0],
        "batch['pair'][1][0]": pair[1][0],
    }
    for place, tensor in inside.items():
        if not isinstance(tensor, torch.Tensor) or tensor.device.type != ELSEWHERE.type:
            raise Wrong(
                en=f"`{place}` stayed behind. Containers can hold containers: let the function call itself.",
                zh=f"`{place}` 沒有跟著搬。容器裡還會有容器，要讓函式呼叫自己。",
            )
    if moved["extra"]["names"] != ["a", "b"] or pair[1][1] != 7 or moved["none"] is not None:
        raise Wrong(
            en="Strings, numbers and `None` should come back unchanged.",
            zh="字串、數字和 `None` 應該原樣傳回。",
        )


def examine_stays_behind(answer: Any) -> None:
    """Examine the class ``Net``, whose layers and scale must move along."""
    if not isinstance(answer, type) or not issubclass(answer, nn.Module):
        raise Wrong(
            en="Pass the class `Net` itself (not an instance, not a function); it must inherit from `nn.Module`.",
            zh="請傳入 `Net` 這個類別本身（不是實體，也不是函式），而且要繼承 `nn.Module`。",
        )
    net = answer()
    weights = [p for p in net.parameters() if p.dim() == 2]
    saved = net.state_dict()
    scale_saved = any(value.shape == (8,) and bool((value == 1).all()) for value in saved.values())
    if not weights and not scale_saved:
        raise NotYet(
            en="Not yet: this `Net` still leaves everything behind. Fix its `__init__`, then run the cell again.",
            zh="還沒完成：這個 `Net` 還是什麼都沒帶走。修改 `__init__`，再執行一次。",
        )
    if not weights:
        raise Wrong(
            en="The layers are still in a plain list, where the module does not see them. There is a kind of list made for modules.",
            zh="各層還放在普通的 list 裡，模組看不到。有一種 list 是專門放模組的。",
        )
    if len(weights) != 2:
        raise Wrong(
            en=f"`Net` had two layers; in yours, the module knows of {len(weights)}.",
            zh=f"`Net` 原本有兩層，你的版本裡模組只認得 {len(weights)} 層。",
        )
    scale = getattr(net, "scale", None)
    if not isinstance(scale, torch.Tensor):
        raise Wrong(
            en="`self.scale` should still be there, as a tensor.", zh="`self.scale` 應該還在，而且要是張量。"
        )
    if isinstance(scale, nn.Parameter):
        raise Wrong(
            en="Now `scale` moves, but as a parameter it is counted and handed to the optimizer. It is a constant: what "
            "else can a module own?",
            zh="`scale` 現在會跟著搬了，但身為參數，會被算進參數量，也會交給最佳化器。它是常數：模組還能登記哪一種東西？",
        )
    if not any(scale is buffer for buffer in net.buffers()):
        raise Wrong(
            en="The layers are fine now. `scale` is still a plain attribute: it is neither moved nor saved.",
            zh="各層沒問題了。`scale` 還是普通屬性：不會跟著搬，也不會存檔。",
        )
    if "scale" not in saved:
        raise Wrong(
            en="`scale` moves now, but it is not saved: leave `persistent` at its default.",
            zh="`scale` 會跟著搬了，但不會存檔：`persistent` 用預設值就好。",
        )
    out = net(torch.ones(3, 8))
    if not isinstance(out, torch.Tensor) or out.shape != (3, 8):
        raise Wrong(
            en="Given 3 × 8 numbers, `forward` no longer returns 3 × 8 numbers; it should stay as it was.",
            zh="輸入 3 × 8，`forward` 的輸出卻不再是 3 × 8；這個部分應該維持原樣。",
        )
    net.to(ELSEWHERE)
    if any(t.device.type != ELSEWHERE.type for t in (*net.parameters(), *net.buffers())):
        raise Wrong(
            en="Something still does not move with `net.to(…)`.", zh="`net.to(…)` 之後，還有東西沒跟著搬。"
        )


def examine_mean_loss(answer: Any) -> None:
    """Examine ``mean_loss(losses) -> float``, which may fetch once."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    losses = list(torch.arange(50.0, device=device))
    with counting() as fetches:
        got = answer(losses)
    count = fetches.count
    if got is None:
        raise Wrong(**NO_RETURN)
    if isinstance(got, torch.Tensor):
        raise Wrong(
            en="You return a tensor. A log needs a Python number: fetch it once, at the very end.",
            zh="你傳回的是張量。紀錄裡要放的是 Python 的數字：最後再取值，取一次就好。",
        )
    if isinstance(got, bool) or not isinstance(got, (int, float)):
        raise Wrong(
            en=f"The answer should be a `float`, but yours is a `{type(got).__name__}`.",
            zh=f"答案應該是 `float`，你傳回的卻是 `{type(got).__name__}`。",
        )
    if not abs(got - 24.5) <= 1e-3:  # written so that nan is wrong, too
        if abs(got - 1225.0) < 1e-3:
            raise Wrong(en="That is the sum; the task asks for the mean.", zh="這是總和，題目要的是平均。")
        if abs(got - 49.0) < 1e-3:
            raise Wrong(
                en="That is only the last loss; the task asks for the mean of all of them.",
                zh="這只是最後一個損失，題目要的是全部的平均。",
            )
        raise Wrong(
            en=f"The mean of 0, 1, …, 49 is 24.5, but you get {got:g}.",
            zh=f"0、1、……、49 的平均是 24.5，你算出 {got:g}。",
        )
    if count > 1:
        raise Wrong(
            en=f"The number is right, but for 50 losses the host waits {count} times. Combine them on the device first, then "
            "fetch one number.",
            zh=f"數字對了，但 50 個損失讓主機等了 {count} 次。先在裝置上合成一個，再取值。",
        )


EXERCISES = (
    Exercise(
        "identity",
        "02",
        Bilingual("the same, or a copy?", "是同一個，還是複本？"),
        examine_identity,
        (
            Bilingual(
                "For each line, ask: does anything have to change? If not, `.to` returns the tensor itself.",
                "每一行都先問：有東西需要改變嗎？沒有的話，`.to` 傳回的就是原來的張量。",
            ),
            Bilingual("Modules behave differently from tensors.", "模組和張量的做法不同。"),
            Bilingual(
                "You can try each line in a cell of its own, but guess first.",
                "每一行都可以另開一格試試看，但要先猜再試。",
            ),
        ),
    ),
    Exercise(
        "move",
        "02",
        Bilingual("move a nested batch", "搬移巢狀的批次"),
        examine_move,
        (
            Bilingual(
                "Four cases: a tensor, a dictionary, a list or tuple, anything else.",
                "分四種情況：張量、字典、list 或 tuple、其他。",
            ),
            Bilingual(
                "For a container: call `move` on everything in it.", "遇到容器，就對裡面的每一項呼叫 `move`。"
            ),
            Bilingual(
                "`type(batch)(move(v, device) for v in batch)` returns a list for a list and a tuple for a tuple.",
                "`type(batch)(move(v, device) for v in batch)` 能讓 list 維持 list，tuple 維持 tuple。",
            ),
        ),
    ),
    Exercise(
        "stays_behind",
        "02",
        Bilingual("a module whose parts stay behind", "搬家時漏帶東西的模組"),
        examine_stays_behind,
        (
            Bilingual(
                "Print `list(net.parameters())` and `net.state_dict()`: what is missing?",
                "印出 `list(net.parameters())` 和 `net.state_dict()`：少了什麼？",
            ),
            Bilingual("For the layers: `nn.ModuleList`.", "各層要用 `nn.ModuleList`。"),
            Bilingual(
                "For the constant: `self.register_buffer(name, tensor)`.",
                "常數要用 `self.register_buffer(名稱, 張量)`。",
            ),
        ),
    ),
    Exercise(
        "mean_loss",
        "02",
        Bilingual("log without stalls", "記錄損失，但不停頓"),
        examine_mean_loss,
        (
            Bilingual(
                "`float(loss)`, `loss.item()` and `print(loss)` all fetch, and wait.",
                "`float(loss)`、`loss.item()`、`print(loss)` 都會取值，也都會等。",
            ),
            Bilingual(
                "`torch.stack` makes one tensor out of many, on the device.",
                "`torch.stack` 能在裝置上把許多張量合成一個。",
            ),
            Bilingual("Mean first, `.item()` last.", "先取平均，最後才 `.item()`。"),
        ),
        prepare=lambda: examine_mean_loss(lambda losses: torch.stack(losses).mean().item()),
    ),
)
