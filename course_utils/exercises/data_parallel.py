"""The exercises of lesson 05, data parallelism: each gives the same verdict with 0, 1 or N GPUs.

Where an answer has to move tensors between GPUs, it gets tensors that only pretend to be on some: see :class:`Placed`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from course_utils.exercises import NO_RETURN, Exercise, Wrong
from course_utils.language import Bilingual

# --- splits --------------------------------------------------------------------------------------------

SPLITS = ((10, 3), (30, 3), (10, 8), (6, 4), (7, 2), (1, 4), (8, 8), (64, 1), (100, 7))


def examine_splits(answer: Any) -> None:
    """Examine ``split_sizes(batch, devices) -> list[int]``."""
    for batch, devices in SPLITS:
        _judge_split(answer(batch, devices), batch, devices)


def _judge_split(got: Any, batch: int, devices: int) -> None:
    if got is None:
        raise Wrong(**NO_RETURN)
    right = [len(piece) for piece in torch.arange(batch).chunk(devices)]
    case_en, case_zh = f"{batch} examples over {devices}", f"{batch} 筆分給 {devices} 個裝置"
    if not isinstance(got, (list, tuple)):
        raise Wrong(
            en=f"Return a list with one number for each piece, such as `[4, 4, 2]`; yours is a `{type(got).__name__}`.",
            zh=f"請傳回 list，每一份一個數字，例如 `[4, 4, 2]`；你傳回的是 `{type(got).__name__}`。",
        )
    if any(isinstance(size, (torch.Tensor, list, tuple, range)) for size in got):
        raise Wrong(
            en="You return the pieces themselves. Asked for is how many examples each of them holds.",
            zh="你傳回的是切好的每一份，題目要的是每一份有幾筆。",
        )
    if any(isinstance(size, bool) or not isinstance(size, int) for size in got):
        raise Wrong(
            en=f"For {case_en} you return {_shown(got)}. An example cannot be cut in two: the sizes are whole numbers (`int`).",
            zh=f"{case_zh}，你傳回 {_shown(got)}。一筆資料不能切成兩半：每一份的筆數都是整數（`int`）。",
        )
    got = list(got)
    if got == right:
        return
    if 0 in got and [size for size in got if size] == right:
        raise Wrong(
            en=f"For {case_en} you return {_shown(got)}. A device without work gets no piece at all: leave the zeros out.",
            zh=f"{case_zh}，你傳回 {_shown(got)}。分不到的裝置，連空的一份都沒有：0 不用列。",
        )
    if sum(got) != batch:
        raise Wrong(
            en=f"For {case_en} your pieces {_shown(got)} hold {sum(got)} examples together. None may be lost, and none may be "
            "invented.",
            zh=f"{case_zh}，你切出 {_shown(got)}，加起來是 {sum(got)} 筆。一筆都不能少，也不能多。",
        )
    if len(got) > devices:
        raise Wrong(
            en=f"For {case_en} you return {len(got)} pieces, more than there are devices. If the division leaves a rest, "
            "round the size of a piece **up**.",
            zh=f"{case_zh}，你切成 {len(got)} 份，比裝置還多。除不盡的話，每一份的大小要無條件進位。",
        )
    if max(got) - min(got) <= 1 and got[0] >= got[-1]:
        raise Wrong(
            en=f"For {case_en} you return {_shown(got)}: as even as possible, but that is another rule (`tensor_split`). `chunk` makes "
            "every piece as large as the first, until nothing is left.",
            zh=f"{case_zh}，你傳回 {_shown(got)}：分得最平均，但那是另一種規則（`tensor_split`）。`chunk` 的每一份都和第一份一樣大，"
            "分完為止。",
        )
    raise Wrong(
        en=f"For {case_en} you return {_shown(got)}. The first device gets the batch divided by the devices, rounded up, and so "
        "does every other one while examples are left; the last piece is the rest.",
        zh=f"{case_zh}，你傳回 {_shown(got)}。第一個裝置分到「批次除以裝置數，無條件進位」那麼多筆，後面的裝置也一樣，直到不夠分；"
        "最後一份就是剩下的。",
    )


def _shown(sizes: Any) -> str:
    text = repr(list(sizes))
    return f"`{text if len(text) <= 60 else text[:60] + ' …'}`"


# --- all-reduce ----------------------------------------------------------------------------------------


class Placed(torch.Tensor):
    """A CPU tensor that answers as if it were in another place, by default on a GPU; see :class:`Places`."""

    place: torch.device

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        """Where the tensor pretends to be."""
        return self.place


def placed(tensor: torch.Tensor, place: torch.device | str) -> Placed:
    """Return `tensor` (no copy) as one that pretends to be at `place`."""
    result = tensor.as_subclass(Placed)
    result.place = torch.device(place)
    return result


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _tensors(part)


def _as_device(value: Any) -> torch.device | None:
    """Return the device that `value` names, or None if it names none."""
    if isinstance(value, Placed):
        return value.place
    if isinstance(value, torch.device):
        device = value
    elif isinstance(value, str):
        device = torch.device(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        device = torch.device("cuda", value)
    else:
        return None
    return torch.device("cuda", 0) if device == torch.device("cuda") else device


class Places(TorchFunctionMode):
    """Keeps what is computed from placed tensors in its place, and refuses to mix two places, as PyTorch does."""

    _CROSSING = ("copy_", "__setitem__", "set_", "__set__", "__get__")

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run `func` on the CPU; its result is where its operands are."""
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        operands = [t for t in _tensors([*args, *kwargs.values()]) if isinstance(t, Placed)]
        place = operands[0].place if operands else None
        if name in ("to", "cpu", "cuda"):
            return self._move(name, args, kwargs)
        if "device" in kwargs:  # a factory function
            place = _as_device(kwargs.pop("device"))
        if name not in self._CROSSING:
            # A single number may be anywhere.
            found = [t for t in _tensors([*args, *kwargs.values()]) if t.dim()] if operands else []
            others = {t.place if isinstance(t, Placed) else torch.device("cpu") for t in found}
            if len(others) > 1:
                raise Wrong(
                    en=f"You compute with tensors of {len(others)} devices at once ({', '.join(sorted(map(str, others)))}). Copy one "
                    "to the other's device first: `t.to(other.device)`.",
                    zh=f"你直接拿 {len(others)} 個裝置上的張量來計算（{'、'.join(sorted(map(str, others)))}）。要先把其中一個複製到"
                    "另一個所在的裝置：`t.to(other.device)`。",
                )
        with torch._C.DisableTorchFunctionSubclass():
            result = func(*args, **kwargs)
        if place is not None and place.type == "cuda":
            return self._mark(result, place, operands)
        return result

    def _mark(self, result: Any, place: torch.device, operands: list[Placed]) -> Any:
        if isinstance(result, torch.Tensor):
            if any(result is operand for operand in operands):
                return result
            return placed(result, place)
        if type(result) in (list, tuple):
            return type(result)(self._mark(part, place, operands) for part in result)
        return result

    def _move(self, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
        source, *rest = args
        named = {"cpu": "cpu", "cuda": "cuda"}.get(name)
        values = [*rest, *(kwargs[key] for key in ("device", "other") if key in kwargs)]
        target = next((d for d in map(_as_device, values) if d is not None), None)
        target = target or (_as_device(named) if named else None)
        dtype = next((v for v in [*rest, kwargs.get("dtype")] if isinstance(v, torch.dtype)), source.dtype)
        here = source.place if isinstance(source, Placed) else torch.device("cpu")
        target = target or here
        with torch._C.DisableTorchFunctionSubclass():
            if target == here and dtype == source.dtype and not kwargs.get("copy"):
                return source
            copy = source.to(dtype, copy=True)
        return placed(copy, target)


def _gradients(count: int) -> list[Placed]:
    """Return `count` different tensors of whole numbers, each on a GPU of its own."""
    return [
        placed(torch.arange(6, dtype=torch.float64).view(2, 3) * 10**k + k, f"cuda:{k}") for k in range(count)
    ]


def examine_all_reduce(answer: Any) -> None:
    """Examine ``all_reduce(tensors)``, which leaves the sum in each of the tensors, wherever it is."""
    for count in (3, 2, 1):
        given = _gradients(count)
        before = [torch.Tensor.clone(tensor).as_subclass(torch.Tensor) for tensor in given]
        with torch.no_grad(), Places():
            handed = list(given)
            got = answer(handed)
        _judge_all_reduce(got, handed, given, before)


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().as_subclass(torch.Tensor)


def _judge_all_reduce(got: Any, handed: Any, given: list[Placed], before: list[torch.Tensor]) -> None:
    total = torch.stack(before).sum(0)
    after = [_plain(tensor) for tensor in given]
    if any(tensor.shape != total.shape for tensor in after):
        raise Wrong(
            en="Afterwards a tensor has another shape. All-reduce changes values only.",
            zh="做完之後，有張量的形狀變了。全歸約只會改值。",
        )
    unchanged = [torch.equal(a, b) for a, b in zip(after, before, strict=True)]
    if len(given) > 1 and all(unchanged):
        if len(handed) != len(given) or any(a is not b for a, b in zip(handed, given, strict=True)):
            raise Wrong(
                en="You put new tensors into the list, but the old ones, which the parameters hold as `.grad`, are as before. Write "
                "into the tensors themselves: `t.copy_(…)`.",
                zh="你把新的張量放進 list，但原本那些（也就是參數的 `.grad`）沒有變。要寫進張量本身：`t.copy_(…)`。",
            )
        if got is not None:
            raise Wrong(
                en="You return the result, but the tensors are as before. Nobody will look at what is returned: write the sum into "
                "each of the tensors, with `t.copy_(…)`.",
                zh="你把結果傳回來，但張量都沒有變。沒有人會看傳回值：請用 `t.copy_(…)` 把總和寫進每一個張量。",
            )
        raise Wrong(
            en="After your function all tensors are as before. (`t = total` in a loop only gives the name `t` to something else; "
            "`t.copy_(total)` changes the tensor.)",
            zh="執行之後，所有張量都沒有變。（迴圈裡的 `t = total` 只是讓名字 `t` 改指別的東西，用 `t.copy_(total)` 才會改到張量。）",
        )
    if len({tensor.data_ptr() for tensor in after}) < len(after):
        raise Wrong(
            en="Two of the tensors now share one memory: whoever changes one, changes the other. And between two GPUs that is "
            "impossible. Copy the values.",
            zh="現在有兩個張量共用同一塊記憶體：改了一個，另一個也跟著變；換成兩張 GPU，根本不可能共用。請複製值就好。",
        )
    if all(torch.equal(tensor, total) for tensor in after):
        return
    if all(torch.allclose(tensor, total / len(after)) for tensor in after):
        raise Wrong(
            en="Each tensor holds the average. Asked for is the sum: whether to divide, and by what, is up to the caller.",
            zh="每個張量裡都是平均，但這裡要的是總和：要不要除、除以多少，由呼叫的人決定。",
        )
    if torch.equal(after[0], total) and all(unchanged[1:]):
        raise Wrong(
            en="The first tensor holds the sum, and the others are as before. The second half is missing: send it back to all.",
            zh="第一個張量是總和，其他的都沒有變。還少了後半：把總和送回每一個。",
        )
    if any(torch.allclose(a, total + b) for a, b in zip(after, before, strict=True)):
        raise Wrong(
            en="One tensor holds the sum **plus** what was in it before: its own values are counted twice. `copy_` replaces, `+=` "
            "adds.",
            zh="有個張量是總和**再加上**自己原本的值，等於自己算了兩次。`copy_` 是取代，`+=` 是加上去。",
        )
    raise Wrong(
        en="The tensors do not hold the sum. Do you read tensors that you have already changed? Add everything up in one place "
        "first, and only then copy it to all.",
        zh="張量裡的不是總和。是不是讀到了已經改過的張量？請先在一個地方全部加好，再複製給每一個。",
    )


# --- uneven pieces -------------------------------------------------------------------------------------


def examine_uneven(answer: Any) -> None:
    """Examine ``combine(gradients, sizes) -> Tensor``, the gradient of the mean loss over all pieces."""
    for sizes in ((4, 4, 2), (10, 10, 10), (5,), (1, 7)):
        make = torch.Generator().manual_seed(len(sizes))
        gradients = [torch.rand(2, 3, generator=make, dtype=torch.float64) + k for k in range(len(sizes))]
        before = [gradient.clone() for gradient in gradients]
        got = answer(gradients, list(sizes))
        _judge_uneven(got, gradients, before, sizes)


def _judge_uneven(
    got: Any, gradients: list[torch.Tensor], before: list[torch.Tensor], sizes: tuple[int, ...]
) -> None:
    if got is None:
        raise Wrong(**NO_RETURN)
    if not isinstance(got, torch.Tensor) or got.shape != before[0].shape:
        if isinstance(got, torch.Tensor):
            what, what_zh = f"tensor of shape {tuple(got.shape)}", f"張量，形狀 {tuple(got.shape)}"
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
            en=f"For {case} you take the plain mean of the gradients, so that every device counts the same. But it is every "
            "**example** that should count the same.",
            zh=f"{case} 的情況，你直接把各個梯度取平均，等於每個裝置的分量都一樣。但分量該一樣的是**每一筆資料**。",
        )
    if torch.allclose(wrong, (whole * weights).sum(0)):
        raise Wrong(
            en="Weighed rightly, but the weights add up to the whole batch instead of 1: divide by it at the end.",
            zh="加權的方法沒錯，但權重加起來是整個批次的筆數，不是 1：最後還要除以它。",
        )
    if torch.allclose(wrong, whole.sum(0)):
        raise Wrong(
            en="You add the gradients up. These are gradients of **mean** losses: adding up is right only for sums.",
            zh="你把梯度直接相加。這些是**平均**損失的梯度；損失用的是總和，梯度才可以直接相加。",
        )
    raise Wrong(
        en=f"For {case} the result is not the gradient of the whole batch. How much of the batch was on each device? That is the "
        "weight of its gradient.",
        zh=f"{case} 的情況，結果不是整個批次的梯度。每個裝置分到批次的多少比例？那就是它的梯度該占的權重。",
    )


# --- checkpoints ---------------------------------------------------------------------------------------

_INNER = ("features.module.weight", "features.module.bias", "head.weight", "modules.weight", "old.led.bias")


def _states() -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Return a plain state and the same state as saved from a wrapped model."""
    plain = {name: torch.full((2,), float(k)) for k, name in enumerate(_INNER)}
    return plain, {f"module.{name}": value for name, value in plain.items()}


def examine_checkpoint(answer: Any) -> None:
    """Examine ``without_prefix(state) -> dict``."""
    plain, wrapped = _states()
    for given, case in ((wrapped, "wrapped"), (plain, "plain")):
        state = dict(given)
        got = answer(state)
        _judge_checkpoint(got, state, given, plain, case)


def _judge_checkpoint(
    got: Any, state: dict[str, Any], given: dict[str, Any], plain: dict[str, Any], case: str
) -> None:
    if got is None:
        raise Wrong(**NO_RETURN)
    if not isinstance(got, dict):
        raise Wrong(
            en=f"Return a dictionary, name → tensor, as `load_state_dict` takes it; yours is a `{type(got).__name__}`.",
            zh=f"請傳回字典（名稱 → 張量），也就是 `load_state_dict` 收的那種；你傳回的是 `{type(got).__name__}`。",
        )
    if list(state) != list(given):
        raise Wrong(
            en="You changed the dictionary that you were given. The caller may still need it: build a new one.",
            zh="你改到了傳進來的字典。呼叫的人可能還要用：請另外建一個新的。",
        )
    names = set(got)
    if case == "wrapped" and names == set(given):
        raise Wrong(
            en="The names still begin with `module.`, as before.",
            zh="名稱開頭的 `module.` 還在，和原本一模一樣。",
        )
    if names == {name.replace("module.", "") for name in given}:
        raise Wrong(
            en="A name such as `module.features.module.weight` holds `module.` twice, and the second one belongs to the model. Take "
            "away only the one at the very beginning.",
            zh="像 `module.features.module.weight` 這樣的名稱，裡面有兩個 `module.`，第二個是模型自己的。請只拿掉最開頭的那一個。",
        )
    if case == "plain" and names != set(plain):
        raise Wrong(
            en="Given a state that never had the prefix, you cut off the beginning of its names. Take away only what is there.",
            zh="傳進來的狀態本來就沒有這個前綴，你卻把名稱的開頭切掉了。有前綴才要拿掉。",
        )
    if names != set(plain):
        lost = sorted(set(plain) - names)
        raise Wrong(
            en=f"`{lost[0]}` should be among the names, but yours are {', '.join(f'`{name}`' for name in sorted(map(str, names))[:5])}. "
            "(`lstrip` takes away single letters, not a word.)",
            zh=f"名稱裡應該有 `{lost[0]}`，你的卻是 {'、'.join(f'`{name}`' for name in sorted(map(str, names))[:5])}。"
            "（`lstrip` 拿掉的是一個個字母，不是整個詞。）",
        )
    if any(got[name] is not plain[name] for name in plain):
        raise Wrong(
            en="The names are right, but not every name has its own tensor.",
            zh="名稱都對，但有的名稱對應到的不是自己的張量。",
        )


# --- batch size and learning rate ----------------------------------------------------------------------

_CASES = ((32, 0.05, 4, 1437), (64, 0.1, 1, 640), (16, 0.02, 8, 1000), (32, 0.1, 3, 96))


def examine_scaled(answer: Any) -> None:
    """Examine ``scaled(batch, lr, devices, images) -> (batch_size, lr, steps)``."""
    for case in _CASES:
        _judge_scaled(answer(*case), *case)


def _close(a: Any, b: float) -> bool:
    return isinstance(a, (int, float)) and not isinstance(a, bool) and math.isclose(a, b, rel_tol=1e-9)


def _judge_scaled(got: Any, batch: int, lr: float, devices: int, images: int) -> None:
    if got is None:
        raise Wrong(**NO_RETURN)
    if not isinstance(got, tuple) or len(got) != 3:
        raise Wrong(
            en="Return three things: `batch_size, lr, steps`.",
            zh="請傳回三樣東西：`batch_size, lr, steps`。",
        )
    whole, rate, steps = got
    case_en = f"{batch} images for each of {devices}"
    case_zh = f"{devices} 個裝置，每個 {batch} 張"
    if not _close(whole, batch * devices):
        raise Wrong(
            en=f"{case_en}: the loader of DataParallel feeds **all** devices, in one process. Which `batch_size` does it need?",
            zh=f"{case_zh}：DataParallel 只有一個行程，載入器要餵飽**所有**裝置。`batch_size` 該是多少？",
        )
    if not _close(rate, lr * devices):
        if devices > 1 and _close(rate, lr):
            raise Wrong(
                en="The batch grew and the learning rate did not. By the linear rule both grow by the same factor.",
                zh="批次變大了，學習率卻沒變。按照線性規則，兩者要放大同樣的倍數。",
            )
        if devices > 1 and _close(rate, lr / devices):
            raise Wrong(
                en="You divide the learning rate. There are fewer steps now, and each averages over more images: each may go further.",
                zh="你把學習率變小了。現在步數變少，每一步又是更多影像的平均，所以每一步可以跨大一點。",
            )
        raise Wrong(
            en=f"{case_en}: with {lr:g} for one device, the linear rule gives {lr * devices:g}, but you return {_number(rate)}.",
            zh=f"{case_zh}：單一裝置用 {lr:g}，按照線性規則應該是 {lr * devices:g}，你傳回的是 {_number(rate)}。",
        )
    right = math.ceil(images / (batch * devices))
    if _close(steps, right) and isinstance(steps, int):
        return
    if _close(steps, math.ceil(images / batch)):
        raise Wrong(
            en="That is the number of steps with one device. Now a step takes the images of all devices.",
            zh="這是單一裝置的步數。現在一步就用掉所有裝置的影像。",
        )
    if _close(steps, images // (batch * devices)):
        raise Wrong(
            en=f"{images} images in steps of {batch * devices}: what is left over at the end is one more step, a smaller one.",
            zh=f"{images} 張影像，一步用 {batch * devices} 張：最後剩下的也算一步，只是比較小。",
        )
    raise Wrong(
        en=f"{images} images in steps of {batch * devices} are {right} steps (a whole number, `int`), but you return {_number(steps)}.",
        zh=f"{images} 張影像，一步用 {batch * devices} 張，總共是 {right} 步（整數，`int`），你傳回的是 {_number(steps)}。",
    )


def _number(value: Any) -> str:
    """Return a number as text, of anything else only its type."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f"`{type(value).__name__}`"
    return f"{value:g}" if abs(value) < 1e300 else f"`{type(value).__name__}`"


# --- the list ------------------------------------------------------------------------------------------

EXERCISES = (
    Exercise(
        "splits",
        "05",
        Bilingual("predict every split", "預測所有的切法"),
        examine_splits,
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
        "05",
        Bilingual("write all-reduce", "寫出全歸約"),
        examine_all_reduce,
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
        "05",
        Bilingual("combine uneven pieces", "合併份量不同的梯度"),
        examine_uneven,
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
        "05",
        Bilingual("take the prefix away", "拿掉前綴"),
        examine_checkpoint,
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
        "05",
        Bilingual("scale batch and learning rate", "放大批次與學習率"),
        examine_scaled,
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
