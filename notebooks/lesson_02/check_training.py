"""Three exercises of lesson 02 about training: mend a loss, log it without waiting, and evaluate."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NoReturn

import torch
from torch import nn

from bilingual import Bilingual, Block
from course_utils.exercises import NO_RETURN, NotYet, Wrong
from lesson_02.places import below, kind, places, table, traffic_table
from shared.pretended_gpus import CPU, Traffic, place_of, pretended_gpus

GPU = torch.device("cuda", 0)


# --- mend: a loss whose parts are in two places -----------------------------------------------------------


def _loss(answer: Any, labels_on: torch.device = CPU) -> tuple[Any, nn.Module, Traffic]:
    torch.manual_seed(0)
    with pretended_gpus() as traffic:
        model = nn.Linear(8, 10).to("cuda:0")
        images, labels = torch.rand(6, 8), torch.arange(6).to(labels_on)
        traffic.transfers.clear()
        return answer(model, images, labels), model, traffic


def examine_mend(answer: Any) -> None:
    """Examine ``loss_of(model, images, labels)``, with a model on a GPU and a batch on the CPU.

    Raises:
        NotYet: Labels and weights are still on the CPU, as in the stub.
        Wrong: With a hint about the mistake.
    """
    try:
        loss, model, traffic = _loss(answer)
    except RuntimeError as error:
        if "devices" not in str(error):
            raise
        _name_the_one_left_behind(answer)
    if loss is None:
        raise Wrong(**NO_RETURN)
    if (
        place_of(next(model.parameters())) != GPU
        or not isinstance(loss, torch.Tensor)
        or place_of(loss) != GPU
    ):
        raise Wrong(
            en="Now all of it is computed on the CPU. Bring labels and weights to the model, not the model to them.",
            zh="現在全都在 CPU 上算了。請把標籤和權重搬到模型那裡，而不是反過來搬模型。",
        )
    torch.manual_seed(0)
    scores, labels = nn.Linear(8, 10)(torch.rand(6, 8)), torch.arange(6)
    expected = nn.functional.cross_entropy(scores, labels, weight=torch.linspace(0.5, 1.5, 10))
    with pretended_gpus():
        value = loss.detach().to("cpu")
    if torch.allclose(value, nn.functional.cross_entropy(scores, labels)):
        raise Wrong(
            en="This is the loss without `weight`. Keep the weight, and bring it to the model.",
            zh="這是少了 `weight` 的損失。請保留 `weight`，放到模型所在的裝置上。",
        )
    if not torch.allclose(value, expected):
        raise Wrong(
            en="The loss has changed: only move things, compute the same.",
            zh="損失的值變了。請只搬移張量，計算的內容要維持原樣。",
        )
    if any(one.target == "cuda:0" and one.bytes == loss.nbytes for one in traffic.transfers):
        raise Wrong(
            en="The loss is on `cuda:0`, but it was computed on the CPU and then moved. Compute it where the model is.",
            zh="損失雖然在 `cuda:0` 上，卻是先在 CPU 上算好才搬過去的。請在模型所在的裝置上計算。",
        )


def _name_the_one_left_behind(answer: Any) -> NoReturn:
    """Raise the hint for what `answer` leaves on the CPU."""
    try:
        _loss(answer, labels_on=GPU)
    except RuntimeError:
        with pretended_gpus() as traffic, suppress(RuntimeError):
            answer(nn.Linear(8, 10).to("cuda:0"), torch.rand(6, 8), torch.arange(6))
        moved = [one.bytes for one in traffic.transfers]
        if 6 * 8 not in moved:
            raise NotYet(
                en="Not yet: two things are still on the CPU. Which tensors does `cross_entropy` get?",
                zh="還沒完成：還有兩樣東西在 CPU 上。`cross_entropy` 收到了哪些張量？",
            ) from None
        raise Wrong(
            en="The labels are in place now. `weight` is still created on the CPU.",
            zh="標籤已經在對的裝置上了，但 `weight` 還是在 CPU 上建立的。",
        ) from None
    raise Wrong(
        en="The weights are in place now. The labels are still on the CPU.",
        zh="權重已經在對的裝置上了，但標籤還在 CPU 上。",
    ) from None


def show_mend(answer: Any) -> Block:
    """Return where the loss is and what was moved."""
    loss, model, traffic = _loss(answer)
    return below(places(model=model, loss=loss), traffic_table(traffic))


# --- meter: the mean of a loss, without waiting -----------------------------------------------------------


def _kept(value: Any) -> list[torch.Tensor]:
    """Return the tensors that an object keeps in its attributes, lists and dictionaries."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return [tensor for inner in value.values() for tensor in _kept(inner)]
    if isinstance(value, (list, tuple)) or type(value).__name__ == "deque":
        return [tensor for inner in value for tensor in _kept(inner)]
    return []


def _metered(answer: Any) -> tuple[Any, Any, Traffic, int]:
    """Return the learner's meter after 50 losses, its mean, what was moved, and how often `add` fetched."""
    with pretended_gpus() as traffic:
        parameter = torch.ones((), requires_grad=True)
        losses = [(parameter * number).to("cuda:0") for number in range(50)]
        traffic.transfers.clear()
        meter = answer()
        for loss in losses:
            meter.add(loss)
        waits = traffic.waits
        return meter, meter.mean(), traffic, waits


def examine_meter(answer: Any) -> None:
    """Examine the class ``Meter``: ``add(loss)`` must not wait, ``mean()`` fetches once."""
    if not isinstance(answer, type):
        raise Wrong(en="Pass the class `Meter` itself.", zh="請傳入 `Meter` 這個類別本身。")
    meter, mean, traffic, waits = _metered(answer)
    if mean is None and not vars(meter):
        raise NotYet
    if waits:
        raise Wrong(
            en=f"For 50 losses, `add` fetches {waits} times. Add up on the device; fetch in `mean`.",
            zh=f"加入 50 個損失，`add` 就取值了 {waits} 次。請在裝置上累加，到 `mean` 才取值。",
        )
    kept = _kept(vars(meter))
    if any(tensor.requires_grad for tensor in kept):
        raise Wrong(
            en="The meter keeps the graph of every step, and memory would grow. `detach()` lets go of it.",
            zh="計量器留住了每一步的計算圖，記憶體用量會一直增加。用 `detach()` 就能放掉計算圖。",
        )
    if len(kept) > 2:
        raise Wrong(
            en=f"After 50 losses the meter keeps {len(kept)} tensors. One running sum and a count are enough.",
            zh=f"加入 50 個損失之後，計量器裡留著 {len(kept)} 個張量。其實只要一個累加的總和、一個計數就夠了。",
        )
    _check_mean(mean)
    if traffic.waits > 1:
        raise Wrong(
            en=f"`mean` fetches {traffic.waits} times; one number is enough.",
            zh=f"`mean` 取值了 {traffic.waits} 次，其實取一個數字就夠了。",
        )
    with pretended_gpus():
        meter.add(torch.tensor(75.5, device="cuda:0"))
        again = meter.mean()
    if not abs(again - (1225 + 75.5) / 51) < 1e-3:
        raise Wrong(
            en="Right so far, but after one more `add` the mean is wrong: `mean` must not change what is kept.",
            zh="到目前為止都對，但再 `add` 一次，平均就錯了。`mean` 不能改動計量器裡留著的內容。",
        )


def _check_mean(mean: Any) -> None:
    """Check the mean of 0, 1, …, 49."""
    if mean is None:
        raise Wrong(**NO_RETURN)
    if isinstance(mean, bool) or not isinstance(mean, float):
        raise Wrong(
            en=f"`mean` should return a Python `float`, but returns a `{kind(mean)}`.",
            zh=f"`mean` 要傳回 Python 的 `float`，你傳回的卻是 `{kind(mean)}`。",
        )
    if abs(mean - 1225) < 1e-3:
        raise Wrong(
            en="That is the sum; divide by how many were added.", zh="你傳回的是總和，還要除以損失的個數。"
        )
    if not abs(mean - 24.5) < 1e-3:
        raise Wrong(
            en=f"The mean of 0, 1, …, 49 is 24.5, but you get {mean:g}.",
            zh=f"0、1、……、49 的平均是 24.5，你算出的卻是 {mean:g}。",
        )


def show_meter(answer: Any) -> Block:
    """Return how often the learner's meter fetches, and how many tensors it keeps."""
    meter, _, traffic, waits = _metered(answer)
    rows = [
        (Bilingual("fetches in 50 × `add`", "50 次 `add` 的取值次數"), waits),
        (Bilingual("fetches in `mean`", "`mean` 的取值次數"), traffic.waits - waits),
        (Bilingual("tensors kept", "留著幾個張量"), len(_kept(vars(meter)))),
    ]
    return below(
        table((Bilingual("your `Meter`", "你的 `Meter`"), Bilingual("number", "數量")), rows),
        traffic_table(traffic),
    )
