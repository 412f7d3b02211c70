"""Check the exercises ``mend_ddp`` and ``distribute``: their answers are scripts, which run in two processes on the CPU.

The verdict is the same on every machine. Two processes train as one does if they end with the weights that one process gets
from the same batches; `_one_process` computes these.
"""

from __future__ import annotations

import re
from typing import Any

import torch

from course_utils.exercises import Wrong
from lesson_06.script_run import PROCESSES, run
from lesson_06.script_text import check_collectives, check_process_group, check_sampler, parse

EPOCHS, SAMPLES, BATCH, RATE = 3, 640, 64, 0.1  # of both scripts
STEPS_PER_EPOCH = SAMPLES // BATCH
STEPS = EPOCHS * STEPS_PER_EPOCH


def examine_mend_ddp(answer: Any) -> None:
    """Examine the text of the corrected script."""
    text, tree = parse(answer, "mend_ddp")
    check_sampler(tree)
    check_collectives(tree)
    records, printed = run(text)
    losses = _check_training(*records)
    _check_printing(printed)
    _check_mean_loss(printed[0], losses[STEPS_PER_EPOCH - 1 :: STEPS_PER_EPOCH])


def examine_distribute(answer: Any) -> None:
    """Examine the text of the script that was made distributed."""
    text, tree = parse(answer, "distribute")
    check_process_group(text, tree)
    check_sampler(tree)
    records, printed = run(text)
    _check_training(*records)
    _check_printing(printed)
    if any(record["open"] for record in records):
        raise Wrong(
            en="All right, except for the end: close the process group with `dist.destroy_process_group()`.",
            zh="都對了，只差結尾：用 `dist.destroy_process_group()` 關閉行程群組。",
        )


def _check_training(first: dict[str, Any], second: dict[str, Any]) -> list[float]:
    """Require that both processes together train as one would; return the loss of every step over both."""
    _check_weights(first, second)
    batches = [[*a, *b] for a, b in zip(first["samples"], second["samples"], strict=False)]
    _check_batches(batches, first, second)
    end, losses = _one_process(first["start"], batches) if len(first["start"]) == 2 else ([], [])
    if not _close(first["end"], end):
        raise Wrong(
            en="The two processes agree, but they end with other weights than one process with the same batches. Leave "
            "model, learning rate, loss and optimizer as they were; the gradient has to be the **mean** over the processes.",
            zh="兩個行程的權重一樣，卻和一個行程用同樣的批次訓練出來的不同。模型、學習率、損失、最佳化器都要維持原樣；梯度要取各行程的**平均**。",
        )
    return losses


def _check_weights(first: dict[str, Any], second: dict[str, Any]) -> None:
    if _close(first["end"], second["end"]) and _close(first["start"], second["start"]):
        return
    if first["forwards"]:
        raise Wrong(
            en="After training, the two processes hold different weights, although the model is wrapped. Does every forward pass go through the wrapped model, and none of them inside `no_sync`?",
            zh="模型明明包裝過了，訓練完，兩個行程的權重卻不一樣。每一次前向傳播，呼叫的都是包裝過的模型嗎？有沒有哪一次寫在 `no_sync` 裡面？",
        )
    raise Wrong(
        en="After training, the two processes hold different weights: nobody averages the gradients, or they did not start "
        "alike. `DistributedDataParallel` sees to both, if the forward pass goes through the model that it returns.",
        zh="訓練完，兩個行程的權重不一樣：不是沒有人把梯度平均起來，就是一開始就不同。這兩件事 `DistributedDataParallel` 都會處理，前提是前向傳播要呼叫它傳回的模型。",
    )


def _check_batches(batches: list[list[int]], first: dict[str, Any], second: dict[str, Any]) -> None:
    """Require that an epoch has every sample once, in the right number of steps, and not in the order of the epoch before.

    Args:
        batches: Numbers of the samples that both processes together take in each step.
        first: Rank 0's record.
        second: Rank 1's record.
    """
    epoch = [sample for batch in batches[: len(batches) // EPOCHS] for sample in batch]
    if len(set(epoch)) < len(epoch):
        raise Wrong(
            en=f"In the first epoch, {len(epoch) - len(set(epoch))} samples come up twice: both processes work on them. Let `DistributedSampler` find out by itself how many ranks there are and which one it serves.",
            zh=f"第一個 epoch 裡，有 {len(epoch) - len(set(epoch))} 個樣本出現兩次：兩個行程都在處理。有幾個 rank、自己是哪一個，讓 `DistributedSampler` 自己去問。",
        )
    if len(first["samples"]) != STEPS or len(second["samples"]) != STEPS:
        at_once = len(batches[0]) if batches else 0
        if at_once and at_once != BATCH:
            raise Wrong(
                en=f"One process took {BATCH} samples per step; now both together take {at_once}. For the same training, a process takes its share of the batch.",
                zh=f"原本一個行程每一步用 {BATCH} 個樣本，現在兩個行程合起來用 {at_once} 個。要做同樣的訓練，每個行程就只能拿批次裡自己那一份。",
            )
        raise Wrong(
            en=f"There should be {STEPS} steps, {EPOCHS} epochs of {SAMPLES} samples, but rank 0 makes {len(first['samples'])}. The training itself should stay as it was.",
            zh=f"應該有 {STEPS} 步：{EPOCHS} 個 epoch，每個 {SAMPLES} 個樣本；rank 0 卻做了 {len(first['samples'])} 步。訓練本身應該維持原樣。",
        )
    if sorted(batches[0]) == sorted(batches[STEPS_PER_EPOCH]):
        raise Wrong(
            en=f"Every epoch has the same order: `set_epoch` got {first['epochs']}. Give it the number of the epoch, and let the sampler shuffle.",
            zh=f"每個 epoch 的順序都一樣：`set_epoch` 收到的是 {first['epochs']}。要給它 epoch 的編號，也要讓 sampler 洗牌。",
        )


def _one_process(start: list[float], batches: list[list[int]]) -> tuple[list[float], list[float]]:
    """Train as one process does with these batches; return the parameters at the end and the loss of every step."""
    x = torch.linspace(-3, 3, SAMPLES)
    y = torch.sin(x)
    (slope, offset), losses = start, []
    for batch in batches:
        error = slope * x[batch] + offset - y[batch]
        losses.append(float((error**2).mean()))
        slope -= RATE * float((2 * error * x[batch]).mean())
        offset -= RATE * float((2 * error).mean())
    return [slope, offset], losses


def _close(a: list[float], b: list[float]) -> bool:
    return len(a) == len(b) and all(abs(x - y) <= 1e-4 for x, y in zip(a, b, strict=True))


def _check_printing(printed: tuple[tuple[str, ...], ...]) -> None:
    if any(printed[1:]):
        raise Wrong(
            en=f"Rank 1 prints as well: {_first(printed[1])}. One rank is enough for that.",
            zh=f"rank 1 也在印：{_first(printed[1])}。由一個 rank 印就好。",
        )
    if len(printed[0]) < EPOCHS:
        raise Wrong(
            en=f"Rank 0 should print one line in each of the {EPOCHS} epochs, but it prints {len(printed[0])} in all.",
            zh=f"{EPOCHS} 個 epoch 裡，rank 0 每個都應該印一行，總共卻只印了 {len(printed[0])} 行。",
        )


def _check_mean_loss(lines: tuple[str, ...], means: list[float]) -> None:
    """Require that rank 0's `lines` have the mean loss of every epoch's last step."""
    numbers = [float(number) for line in lines for number in re.findall(r"\d+\.\d+", line)]
    if _in_order(means, numbers):
        return
    if _in_order([PROCESSES * mean for mean in means], numbers):
        raise Wrong(
            en="What is printed is the sum of the losses of both processes. For the mean, divide by their number.",
            zh="印出來的是兩個行程的損失總和。要的是平均，還得除以行程的個數。",
        )
    raise Wrong(
        en=f"The mean loss of both processes is {means[0]:.4f} after the first epoch, but your script prints {_first(lines)}. Is the loss of the other process in it?",
        zh=f"第一個 epoch 結束時，兩個行程的平均損失是 {means[0]:.4f}，你的程式印出 {_first(lines)}。另一個行程的損失，算進去了嗎？",
    )


def _in_order(wanted: list[float], numbers: list[float]) -> bool:
    """Return whether `numbers` has the `wanted` ones in their order, perhaps with others in between."""
    rest = iter(numbers)
    return all(any(abs(number - value) <= 1e-3 for number in rest) for value in wanted)


def _first(lines: tuple[str, ...]) -> str:
    return f"`{lines[0][:100].replace('`', chr(39))}`"
