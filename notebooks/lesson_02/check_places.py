"""Three short exercises of lesson 02: a mask beside its tensor, a batch beside its model, many rows in one transfer."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from bilingual import Block
from course_utils.exercises import NO_RETURN, Wrong
from lesson_02.places import below, kind, places, traffic_table
from shared.pretended_gpus import Traffic, place_of, pretended_gpus

GPU = torch.device("cuda", 0)


def _tensor(got: Any) -> torch.Tensor:
    if got is None:
        raise Wrong(**NO_RETURN)
    if not isinstance(got, torch.Tensor):
        raise Wrong(
            en=f"The answer should be a tensor; yours is a `{kind(got)}`.",
            zh=f"答案應該是張量，你傳回的卻是 `{kind(got)}`。",
        )
    return got


def _mask_of(answer: Any, device: torch.device) -> tuple[Any, torch.Tensor, Traffic]:
    with pretended_gpus() as traffic:
        scores = torch.randn(4, 10, device=device)
        return answer(scores), scores, traffic


def examine_empty_mask(answer: Any) -> None:
    """Examine ``empty_mask(scores)``: zeros of type bool, created where `scores` is."""
    got, scores, traffic = _mask_of(answer, GPU)
    mask = _tensor(got)
    if mask.shape != scores.shape:
        raise Wrong(
            en=f"The mask should have the shape of `scores`, {tuple(scores.shape)}, but has {tuple(mask.shape)}.",
            zh=f"遮罩的形狀應該和 `scores` 一樣是 {tuple(scores.shape)}，你的遮罩卻是 {tuple(mask.shape)}。",
        )
    if place_of(mask) != GPU:
        raise Wrong(
            en="`scores` is on `cuda:0`, your mask on the CPU. A `…_like` function takes the place from another tensor.",
            zh="`scores` 在 `cuda:0` 上，你的遮罩卻在 CPU 上。`…_like` 這類函式會沿用另一個張量的裝置。",
        )
    if mask.dtype != torch.bool:
        raise Wrong(
            en=f"The mask should be of type `torch.bool`, but is `{mask.dtype}`: say so with `dtype=`.",
            zh=f"遮罩的型別應該是 `torch.bool`，你的遮罩卻是 `{mask.dtype}`。請用 `dtype=` 指定。",
        )
    if bool(torch.Tensor.any(mask)):
        raise Wrong(
            en="The mask should be empty: `False` everywhere.",
            zh="遮罩應該是空的，也就是每個元素都是 `False`。",
        )
    if traffic.transfers:
        raise Wrong(
            en="Right place, but by a detour: it was made on the CPU and then moved. Create it where it is needed.",
            zh="裝置對了，但繞了路，先在 CPU 上建立，再搬過去。請直接在需要的裝置上建立。",
        )
    at_home, _, _ = _mask_of(answer, torch.device("cpu"))
    if place_of(_tensor(at_home)) != torch.device("cpu"):
        raise Wrong(
            en="For `scores` on the CPU your mask is on `cuda:0`: take the device from `scores`, not from a name.",
            zh="`scores` 在 CPU 上的時候，你的遮罩還是在 `cuda:0` 上。請從 `scores` 取得裝置，不要寫死。",
        )


def show_empty_mask(answer: Any) -> Block:
    """Return where the tensor and the learner's mask are, and what was moved."""
    mask, scores, traffic = _mask_of(answer, GPU)
    return below(places(scores=scores, mask=mask), traffic_table(traffic))


def _scores_of(answer: Any, device: str) -> tuple[Any, nn.Module, torch.Tensor, Traffic]:
    torch.manual_seed(0)
    with pretended_gpus() as traffic:
        model, batch = nn.Linear(8, 3).to(device), torch.rand(5, 8)
        traffic.transfers.clear()
        return answer(model, batch), model, batch, traffic


def examine_scores_of(answer: Any) -> None:
    """Examine ``scores_of(model, batch)``: the batch goes where the model is."""
    try:
        got, model, batch, _ = _scores_of(answer, "cuda:0")
    except RuntimeError as error:
        if "devices" not in str(error):
            raise
        raise Wrong(
            en="The model is on `cuda:0`, and it still gets a batch on the CPU. `batch.to(…)` returns the moved one: use it.",
            zh="模型在 `cuda:0` 上，收到的批次卻還在 CPU 上。`batch.to(…)` 會傳回搬好的批次，請用那個批次。",
        ) from None
    scores = _tensor(got)
    if place_of(next(model.parameters())) != GPU:
        raise Wrong(
            en="You moved the model to the batch. Models stay, batches travel: a model is moved once, batches all the time.",
            zh="你把模型搬到批次那裡了。模型只搬一次，之後就留在原地；每次該搬的是批次。",
        )
    with torch.no_grad(), pretended_gpus():
        right = model(batch.to("cuda:0"))
        same = scores.shape == right.shape and torch.equal(scores.to("cpu"), right.to("cpu"))
    if not same:
        raise Wrong(
            en="These are not the model's scores for this batch: return `model(…)` of the moved batch.",
            zh="這不是模型對這個批次的輸出。請傳回 `model(…)`，括號裡是搬好的批次。",
        )
    if place_of(scores) != GPU:
        raise Wrong(en="Leave the scores where the model is.", zh="請把輸出留在模型所在的裝置上。")
    try:
        _scores_of(answer, "cpu")
    except RuntimeError:
        raise Wrong(
            en="With a model on the CPU it fails: ask a parameter of the model for the device, do not write `cuda`.",
            zh="模型在 CPU 上的時候，你的函式會出錯。請從模型的參數取得裝置，不要把 `cuda` 寫死。",
        ) from None


def show_scores_of(answer: Any) -> Block:
    """Return where model, batch and scores are, and what was moved."""
    scores, model, batch, traffic = _scores_of(answer, "cuda:0")
    return below(places(model=model, batch=batch, scores=scores), traffic_table(traffic))


def _moved_rows(answer: Any) -> tuple[Any, list[torch.Tensor], Traffic]:
    with pretended_gpus() as traffic:
        rows = [torch.full((250,), float(number)) for number in range(20)]
        return answer(rows, GPU), rows, traffic


def examine_to_device(answer: Any) -> None:
    """Examine ``to_device(rows, device)``: a list of rows, moved in one transfer."""
    got, rows, traffic = _moved_rows(answer)
    if got is None:
        raise Wrong(**NO_RETURN)
    if not isinstance(got, (list, tuple)):
        raise Wrong(
            en=f"What comes back should be a list of rows again; yours is a `{kind(got)}`.",
            zh=f"應該傳回由各列組成的 list，你傳回的卻是 `{kind(got)}`。",
        )
    if len(got) != 20 or any(not isinstance(row, torch.Tensor) or row.shape != (250,) for row in got):
        raise Wrong(
            en="20 rows of 250 numbers went in; the same should come out.",
            zh="傳入的是 20 列、每列 250 個數字，傳回的結果也應該一樣。",
        )
    if any(place_of(row) != GPU for row in got):
        raise Wrong(en="The rows are still on the CPU.", zh="各列還在 CPU 上。")
    with pretended_gpus():
        changed = any(not torch.equal(row.to("cpu"), given) for row, given in zip(got, rows, strict=True))
    if changed:
        raise Wrong(en="The numbers in the rows have changed, or their order.", zh="各列的數字或順序變了。")
    if len(traffic.transfers) != 1:
        raise Wrong(
            en=f"All rows arrive, but in {len(traffic.transfers)} transfers. Put them together first: `torch.stack`.",
            zh=f"每一列都送到了，但搬了 {len(traffic.transfers)} 次。請先用 `torch.stack` 合併成一個張量。",
        )


def show_to_device(answer: Any) -> Block:
    """Return how many transfers the learner's function needs."""
    return traffic_table(_moved_rows(answer)[2])
