"""Check the exercises ``all_reduce`` and ``uneven``: sum gradients of several GPUs, and average them by size."""

from __future__ import annotations

import re
from typing import Any

import torch

from bilingual import Bilingual, Block
from course_utils import facts
from course_utils.exercises import NO_RETURN, Wrong
from shared.pretended_gpus import pretended_gpus


def _gradients(count: int) -> list[torch.Tensor]:
    """Return `count` different tensors of whole numbers."""
    return [torch.arange(6, dtype=torch.float64).view(2, 3) * 10**k + k for k in range(count)]


def _spread(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Return copies of the tensors, each on a GPU of its own."""
    return [tensor.to(f"cuda:{k}") for k, tensor in enumerate(tensors)]


def examine_all_reduce(answer: Any) -> None:
    """Examine ``all_reduce(tensors)``, which writes the sum into each of the tensors, on its own device."""
    for count in (3, 2, 1):
        before = _gradients(count)
        with torch.no_grad(), pretended_gpus(count):
            given = _spread(before)
            argument = list(given)
            try:
                got = answer(argument)
            except RuntimeError as error:
                _explain_mixed(error)
                raise
            _check_all_reduce(got, argument, given, before)


def _explain_mixed(error: RuntimeError) -> None:
    """Raise the hint for an answer that computes with tensors of several devices."""
    if devices := sorted(set(re.findall(r"cuda:\d|cpu", str(error)))) if "device" in str(error) else []:
        raise Wrong(
            en=f"You compute with tensors of several devices at once ({', '.join(devices)}). Copy one to the other's device first: `t.to(other.device)`.",
            zh=f"你直接拿不同裝置上的張量來計算（{'、'.join(devices)}）。要先把其中一個複製到另一個所在的裝置：`t.to(other.device)`。",
        ) from None


def _check_all_reduce(got: Any, argument: Any, given: list[torch.Tensor], before: list[torch.Tensor]) -> None:
    total = torch.stack(before).sum(0)
    after = [tensor.cpu() for tensor in given]
    if any(tensor.shape != total.shape for tensor in after):
        raise Wrong(
            en="Afterwards a tensor has another shape. All-reduce changes values only.",
            zh="做完之後，有張量的形狀變了。all-reduce 只會改變數值。",
        )
    unchanged = [torch.equal(a, b) for a, b in zip(after, before, strict=True)]
    if len(given) > 1 and all(unchanged):
        _explain_unchanged(got, argument, given)
    if len({tensor.data_ptr() for tensor in given}) < len(given):
        raise Wrong(
            en="Two of the tensors now share one memory: to change one is to change the other. And between two GPUs that is impossible. Copy the values.",
            zh="現在有兩個張量共用同一塊記憶體：改了一個，另一個也跟著變；換成兩張 GPU，根本不可能共用。請只複製數值。",
        )
    if all(torch.equal(tensor, total) for tensor in after):
        return
    if all(torch.allclose(tensor, total / len(after)) for tensor in after):
        raise Wrong(
            en="Each tensor holds the average. Asked for is the sum: whether to divide, and by what, is up to the caller.",
            zh="每個張量裡都是平均，但這裡要的是總和：要不要除、除以多少，由呼叫端決定。",
        )
    if torch.equal(after[0], total) and all(unchanged[1:]):
        raise Wrong(
            en="The first tensor holds the sum, and the others are as before. The second half is missing: send it back to all.",
            zh="第一個張量是總和，其他的都沒有變。還少了後半段，也就是把總和送回每一個張量。",
        )
    if any(torch.allclose(a, total + b) for a, b in zip(after, before, strict=True)):
        raise Wrong(
            en="One tensor holds the sum **plus** what was in it before: its own values are counted twice. `copy_` replaces, `+=` adds.",
            zh="有個張量是總和**再加上**自己原本的值，等於把自己算了兩次。`copy_` 是取代，`+=` 是加上去。",
        )
    raise Wrong(
        en="The tensors do not hold the sum. Do you read tensors that you have already changed? Add everything up in one place first, and only then copy it to all.",
        zh="張量裡的值不是總和。是不是讀到了已經改過的張量？請先在一個地方全部加好，再複製給每一個。",
    )


def show_all_reduce(answer: Any) -> Block:
    """Return what three tensors hold before the answer and after it."""
    before = [torch.tensor([10.0**k, k]) for k in range(3)]
    with torch.no_grad(), pretended_gpus(3):
        given = _spread(before)
        answer(list(given))
    pairs = enumerate(zip(before, given, strict=True))
    return facts(fixed={f"cuda:{k}": f"{b.tolist()} → {t.tolist()}" for k, (b, t) in pairs})


def _explain_unchanged(got: Any, argument: list[Any], given: list[torch.Tensor]) -> None:
    """Raise the hint for an answer that changed none of the tensors.

    Args:
        got: What it returned.
        argument: The list that it received, perhaps with other tensors in it now.
        given: The tensors that were in the list.
    """
    if len(argument) != len(given) or any(a is not b for a, b in zip(argument, given, strict=True)):
        raise Wrong(
            en="You put new tensors into the list, but the old ones, which the parameters hold as `.grad`, are as before. Write into the tensors themselves: `t.copy_(…)`.",
            zh="你把新的張量放進 list，但原本那些（也就是參數的 `.grad`）沒有變。要寫進張量本身：`t.copy_(…)`。",
        )
    if got is not None:
        raise Wrong(
            en="You return the result, but the tensors are as before. What is returned is not looked at: write the sum into each of the tensors, with `t.copy_(…)`.",
            zh="你把結果傳回來，但張量都沒有變。這一題不看傳回值，請用 `t.copy_(…)` 把總和寫進每一個張量。",
        )
    raise Wrong(
        en="After your function all tensors are as before. (`t = total` in a loop only gives the name `t` to something else; `t.copy_(total)` changes the tensor.)",
        zh="執行之後，所有張量都沒有變。（迴圈裡的 `t = total` 只是讓名字 `t` 改指別的東西，用 `t.copy_(total)` 才會改到張量。）",
    )


def show_uneven(answer: Any) -> Block:
    """Return how much an example on each of three devices counts in the answer."""
    sizes = [4, 4, 2]
    counted = answer(list(torch.eye(3, dtype=torch.float64)), sizes)
    rows = {}
    for device, (size, weight) in enumerate(zip(sizes, counted.tolist(), strict=True)):
        label = Bilingual(f"device {device}, {size} examples", f"裝置 {device}，{size} 筆")
        rows[label] = Bilingual(
            f"its gradient counts {weight:.3g}, each of its examples {weight / size:.3g}",
            f"梯度的權重是 {weight:.3g}，每一筆的分量是 {weight / size:.3g}",
        )
    return facts(fixed=rows)


def examine_uneven(answer: Any) -> None:
    """Examine ``combine(gradients, sizes) -> Tensor``, the gradient of the mean loss over all pieces."""
    for sizes in ((4, 4, 2), (10, 10, 10), (5,), (1, 7)):
        make = torch.Generator().manual_seed(len(sizes))
        gradients = [torch.rand(2, 5, generator=make, dtype=torch.float64) + k for k in range(len(sizes))]
        before = [gradient.clone() for gradient in gradients]
        got = answer(gradients, list(sizes))
        _check_uneven(got, gradients, before, sizes)


def _check_uneven(
    got: Any, gradients: list[torch.Tensor], before: list[torch.Tensor], sizes: tuple[int, ...]
) -> None:
    if got is None:
        raise Wrong(**NO_RETURN)
    if not isinstance(got, torch.Tensor) or got.shape != before[0].shape:
        if isinstance(got, torch.Tensor):
            what, what_zh = f"tensor of shape {tuple(got.shape)}", f"形狀為 {tuple(got.shape)} 的張量"
        else:
            what, what_zh = f"`{type(got).__name__}`", f" `{type(got).__name__}`"
        raise Wrong(
            en=f"Return one gradient, a tensor of the same shape as each of the given ones; yours is a {what}.",
            zh=f"請傳回一個梯度，也就是和輸入的梯度形狀相同的張量；你傳回的是{what_zh}。",
        )
    if any(not torch.equal(a, b) for a, b in zip(gradients, before, strict=True)):
        raise Wrong(
            en="You changed one of the gradients that you were given. `+=` writes into the first one; start with a new tensor.",
            zh="你改到了傳進來的梯度。`+=` 會直接寫進第一個梯度；請從新的張量開始加。",
        )
    whole = torch.stack(before)
    weights = torch.tensor(sizes, dtype=torch.float64).view(-1, 1, 1)
    right = (whole * weights).sum(0) / sum(sizes)
    if torch.allclose(got.double(), right):
        return
    wrong = got.double()
    case = "+".join(map(str, sizes))
    if torch.allclose(wrong, whole.mean(0)):
        raise Wrong(
            en=f"For {case} you take the plain mean of the gradients, so that every device counts the same. But it is every **example** that should count the same.",
            zh=f"{case} 的情況，你直接把各個梯度取平均，等於每個裝置的分量都一樣。但分量該一樣的是**每一筆資料**。",
        )
    if torch.allclose(wrong, (whole * weights).sum(0)):
        raise Wrong(
            en="The weighting is right, but the weights add up to the whole batch instead of 1: divide by it at the end.",
            zh="加權的方法沒錯，但權重加起來是整個批次的筆數，不是 1：最後還要除以它。",
        )
    if torch.allclose(wrong, whole.sum(0)):
        raise Wrong(
            en="You add the gradients up. These are gradients of **mean** losses: adding up is right only for sums.",
            zh="你把梯度直接相加。但這些是**平均**損失的梯度；各份的損失是總和時，梯度才可以直接相加。",
        )
    raise Wrong(
        en=f"For {case} the result is not the gradient of the whole batch. How much of the batch was on each device? That is the weight of its gradient.",
        zh=f"{case} 的情況，結果不是整個批次的梯度。每個裝置分到批次的多少比例？那就是它的梯度該占的權重。",
    )
