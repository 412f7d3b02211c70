"""The exercise "stays_behind" of lesson 02: a module whose parts do not move with it."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from bilingual import Bilingual, Block
from course_utils.exercises import NotYet, Wrong
from lesson_02.other_device import OTHER_DEVICE
from lesson_02.places import table
from shared.pretended_gpus import place_of, pretended_gpus


def examine_stays_behind(answer: Any) -> None:
    """Examine the class ``Net``: its two layers and its constant ``scale`` must move with it and be saved.

    Raises:
        NotYet: Neither the layers nor the constant are registered, as in the stub.
        Wrong: With a hint about the mistake.
    """
    if not isinstance(answer, type) or not issubclass(answer, nn.Module):
        raise Wrong(
            en="Pass the class `Net` itself (not an instance, not a function); it must inherit from `nn.Module`.",
            zh="請傳入 `Net` 這個類別本身（不是實體（instance），也不是函式），而且要繼承 `nn.Module`。",
        )
    net = answer()
    weights = [p for p in net.parameters() if p.dim() == 2]
    saved = net.state_dict()
    scale_saved = any(value.shape == (8,) and bool((value == 1).all()) for value in saved.values())
    if not weights and not scale_saved:
        raise NotYet(
            en="Not yet: this `Net` still leaves everything behind. Fix its `__init__`, then run the cell again.",
            zh="還沒完成：這個 `Net` 搬家時，還是什麼都沒帶走。請修改 `__init__`，再執行一次。",
        )
    _check_layers(weights)
    _check_scale(net)
    out = net(torch.ones(3, 8))
    if not isinstance(out, torch.Tensor) or out.shape != (3, 8):
        raise Wrong(
            en="Given 3 × 8 numbers, `forward` no longer returns 3 × 8 numbers; it should stay as it was.",
            zh="輸入 3 × 8 個數字，`forward` 的輸出卻不再是 3 × 8 個數字。`forward` 應該維持原樣。",
        )
    net.to(OTHER_DEVICE)
    if any(t.device.type != OTHER_DEVICE.type for t in (*net.parameters(), *net.buffers())):
        raise Wrong(
            en="Something still does not move with `net.to(…)`.", zh="`net.to(…)` 之後，還有東西沒跟著搬。"
        )


def _check_layers(weights: list[torch.Tensor]) -> None:
    """Check that the module knows the weights of both layers."""
    if not weights:
        raise Wrong(
            en="The layers are still in a plain list, where the module does not see them. There is a kind of list made for modules.",
            zh="各層還放在普通的 list 裡，模組看不到。有一種 list 是專門用來放模組的。",
        )
    if len(weights) != 2:
        raise Wrong(
            en=f"`Net` had two layers; in yours, the module knows of {len(weights)}.",
            zh=f"`Net` 原本有兩層，你的版本裡，模組認得的卻是 {len(weights)} 層。",
        )


def _check_scale(net: nn.Module) -> None:
    """Check that ``net.scale`` is a buffer and is saved."""
    scale = getattr(net, "scale", None)
    if not isinstance(scale, torch.Tensor):
        raise Wrong(
            en="`self.scale` should still be there, as a tensor.", zh="`self.scale` 應該還在，而且要是張量。"
        )
    if isinstance(scale, nn.Parameter) and not scale.requires_grad:
        raise Wrong(
            en="With `requires_grad=False`, `scale` is not trained, but it is still counted as a parameter and handed to "
            "the optimizer. A buffer says what you mean.",
            zh="加上 `requires_grad=False`，`scale` 就不會被訓練，但還是會算進參數量，也會交給最佳化器。緩衝區（buffer）才是你要的。",
        )
    if isinstance(scale, nn.Parameter):
        raise Wrong(
            en="Now `scale` moves, but as a parameter it is counted and handed to the optimizer. It is a constant: what "
            "else can a module own?",
            zh="`scale` 現在會跟著搬了，但也變成了參數，會算進參數量，也會交給最佳化器。`scale` 應該是常數，模組還能登記哪一種東西？",
        )
    if not any(scale is buffer for buffer in net.buffers()):
        raise Wrong(
            en="The layers are fine now. `scale` is still a plain attribute: it is neither moved nor saved.",
            zh="各層沒問題了，但 `scale` 還是普通屬性，不會跟著搬，也不會存檔。",
        )
    if "scale" not in net.state_dict():
        raise Wrong(
            en="`scale` moves now, but it is not saved: leave `persistent` at its default.",
            zh="`scale` 現在會跟著搬了，但不會存檔。請讓 `persistent` 維持預設值。",
        )


def show_stays_behind(answer: Any) -> Block:
    """Return which parts of the learner's ``Net`` move, are trained and are saved."""
    net = answer()
    parts = {f"layers[{number}].weight": layer.weight for number, layer in enumerate(net.layers)}
    parts["scale"] = net.scale
    saved, trained = net.state_dict(), {id(p) for p in net.parameters() if p.requires_grad}
    addresses = {value.data_ptr() for value in saved.values()}
    rows: list[tuple[Any, ...]] = []
    with pretended_gpus():
        kept = {name: (id(part) in trained, part.data_ptr() in addresses) for name, part in parts.items()}
        net.to("cuda:0")
        now = {f"layers[{number}].weight": layer.weight for number, layer in enumerate(net.layers)}
        now["scale"] = net.scale
        for name, (is_trained, is_saved) in kept.items():
            rows.append(
                (name, str(place_of(now[name])), "✓" if is_trained else "✗", "✓" if is_saved else "✗")
            )
    header = (
        Bilingual("part", "部分"),
        Bilingual("after `net.to('cuda:0')`", "`net.to('cuda:0')` 之後"),
        Bilingual("trained", "會被訓練"),
        Bilingual("saved", "會存檔"),
    )
    return table(header, rows)
