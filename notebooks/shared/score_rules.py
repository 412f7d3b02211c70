"""What counts on the scoreboard: the program's network, trained in this call, that recognizes digits, at a possible speed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any
from weakref import WeakSet

import torch
from torch import nn

from bilingual import Bilingual
from course_utils.measure import best_time
from shared import program

RULE = 1  # raise it when other numbers than before would come out
LEARNED = 0.8  # share of the test images that a network must recognize
# Operations for an image: 0.64 million forward, and twice as many backward, but for the input of the first layer.
ARITHMETIC = 1_873_920
PART = 60  # test images at a time
# Times the best matrix product: more is impossible. A busy machine can measure the product at a third of its speed, and no
# program that trains must be refused for that.
FASTEST = 10.0

_returned: WeakSet[nn.Module] = WeakSet()


class Refused(Exception):
    """The score does not count.

    Args:
        en: What was given, what is expected, and what to do, in English.
        zh: The same in Chinese.
    """

    def __init__(self, en: str, zh: str) -> None:
        super().__init__(en)
        self.reason = Bilingual(en, zh)


def examine_file(names: Mapping[str, Any]) -> Any:
    """Return the function ``train`` of a learner's file.

    Args:
        names: What the file defines.

    Raises:
        Refused: There is none.
    """
    if not callable(names.get("train")):
        raise Refused(
            "The file defines no `train`. It needs a function that begins with `def train(device, epochs):`.",
            "檔案裡沒有定義 `train`。請用 `def train(device, epochs):` 定義這個函式。",
        )
    return names["train"]


def examine_call(train: Any, epochs: Any) -> None:
    """Refuse what cannot be called as ``train(device, epochs)``.

    Raises:
        Refused: With the reason.
    """
    if not callable(train) or isinstance(train, nn.Module):
        kind = type(train).__name__
        raise Refused(
            f"`score` got a `{kind}`, but needs the function: write `score(train)`. It calls and times it itself.",
            f"`score` 收到的是 `{kind}`，但它需要的是函式。請寫成 `score(train)`，`score` 會自己呼叫這個函式並計時。",
        )
    if isinstance(epochs, bool) or not isinstance(epochs, int) or epochs < 1:
        raise Refused(
            f"`epochs={epochs!r}` cannot be trained; give a whole number from 1 on.",
            f"`epochs={epochs!r}` 無法訓練，請給 1 以上的整數。",
        )


def examine_network(network: Any) -> None:
    """Refuse what is not the program's network, trained in this call.

    Raises:
        Refused: With the reason.
    """
    if not isinstance(network, nn.Module):
        kind = type(network).__name__
        en, zh = (" Is there a `return`?", "是不是忘了寫 `return`？") if network is None else ("", "")
        raise Refused(
            f"`train` returned `{kind}`, but should return the trained network.{en}",
            f"`train` 傳回的是 `{kind}`，但它應該傳回訓練好的網路。{zh}",
        )
    mine, fresh = list(network.parameters()), list(program.small_resnet().parameters())
    if [p.shape for p in mine] != [p.shape for p in fresh]:
        count = sum(p.numel() for p in mine)
        raise Refused(
            f"This network has {count:,} parameters, so it is not `small_resnet()` with its 6,378. Only the same network can be "
            "compared on the board.",
            f"這個網路有 {count:,} 個參數，而 `small_resnet()` 有 6,378 個，所以不是同一個網路。只有使用同一個網路，計分板上的成績才能互相比較。",
        )
    if all(torch.equal(a.detach().cpu().float(), b.detach()) for a, b in zip(mine, fresh, strict=True)):
        raise Refused(
            "The network came back as `small_resnet()` had made it: nothing was trained. Is `optimizer.step()` called, and does "
            "the optimizer hold this network's parameters?",
            "網路和 `small_resnet()` 剛建立時完全相同，也就是沒有訓練到。有呼叫 `optimizer.step()` 嗎？"
            "最佳化器收到的是這個網路的參數嗎？",
        )
    if network in _returned:
        raise Refused(
            "`train` returned the same network as in an earlier call. Call `small_resnet()` inside of `train`, so that every "
            "training begins anew.",
            "`train` 這次傳回的網路，和先前某次傳回的是同一個。請在 `train` 裡面呼叫 `small_resnet()`，讓每次訓練都從頭開始。",
        )
    _returned.add(network)


def accuracy(network: nn.Module, device: torch.device) -> float:
    """Return the share of the 360 test images that `network` recognizes.

    Raises:
        Refused: It cannot be asked, or does not give ten scores for each image.
    """
    images, labels = program.test_set(device)
    training = network.training
    try:
        with torch.no_grad():
            network.eval()
            scores = torch.cat([network(part) for part in images.split(PART)])
    except (RuntimeError, TypeError) as error:
        why = str(error).splitlines()[0][:200]
        raise Refused(
            f"The trained network does not take float32 images of shape (n, 1, 32, 32) on `{device}`: “{why}”. Return it on "
            "that device, with float32 parameters.",
            f"訓練好的網路無法處理 `{device}` 上形狀為 (n, 1, 32, 32) 的 float32 影像，錯誤訊息是「{why}」。"
            "傳回的網路必須在這個裝置上，參數的型別必須是 float32。",
        ) from None
    finally:
        network.train(training)
    if tuple(scores.shape) != (len(labels), 10):
        raise Refused(
            f"For 360 images the trained network gives scores of shape {tuple(scores.shape)}; expected are ten for each.",
            f"輸入 360 張影像後，訓練好的網路輸出的形狀是 {tuple(scores.shape)}，但每張影像應該有十個分數。",
        )
    return float((scores.argmax(1) == labels).double().mean())


def examine_learning(share: float) -> None:
    """Refuse a network that recognizes too few test images.

    Raises:
        Refused: With the reason.
    """
    if share < LEARNED:
        raise Refused(
            f"The trained network recognizes {share:.0%} of the test images; {LEARNED:.0%} are needed. A program that does not "
            "learn is not fast. Look at the learning rate, at `zero_grad`, and whether each image kept its label.",
            f"訓練好的網路只認得 {share:.0%} 的測試影像，至少要 {LEARNED:.0%} 才算數。網路沒有學會，程式再快也沒有意義。"
            "請檢查學習率和 `zero_grad`，並確認每張影像和它的標籤仍然對得上。",
        )


@cache
def best_product(device: torch.device, threads: int) -> float:
    """Return the operations per second of the fastest matrix product on `device`, of whatever number type it can multiply.

    If it can multiply none, no speed is impossible: infinity.

    Args:
        device: Where to measure.
        threads: CPU threads that are set; only for the cache.
    """
    cuda = device.type == "cuda"
    size = 4096 if cuda else 512
    types = (torch.float32, torch.float16, torch.bfloat16) if cuda else (torch.float32, torch.bfloat16)
    speeds = []
    for dtype in types:
        with suppress(RuntimeError):
            square = torch.ones(size, size, device=device, dtype=dtype)
            speeds.append(2 * size**3 / best_time(lambda m=square: m @ m, threads=None))
    return max(speeds, default=math.inf)


def examine_ranks(parameters: Sequence[torch.Tensor]) -> None:
    """Refuse networks that differ between processes.

    Args:
        parameters: All values of each process's network, by rank.

    Raises:
        Refused: With the reason.
    """
    for rank, values in enumerate(parameters):
        if not torch.allclose(values, parameters[0], rtol=1e-3, atol=1e-4):
            far = (values - parameters[0]).abs().max().item()
            raise Refused(
                f"After the training, the networks of rank 0 and rank {rank} differ, by up to {far:.2g}: each process has "
                "learned from its own images only. Does `train` compute with `DistributedDataParallel(network)`, and not with "
                "the network inside of it?",
                f"訓練結束後，rank 0 和 rank {rank} 的網路並不相同，參數最多相差 {far:.2g}，也就是每個行程都只從自己那份影像學習。"
                "`train` 計算時用的是 `DistributedDataParallel(network)` 嗎？還是直接用了包在裡面的網路？",
            )


def examine_rate(rate: float, device: torch.device, devices: int = 1) -> None:
    """Refuse more images per second than the devices have arithmetic for.

    Args:
        rate: Images per second.
        device: One of the devices; on a CPU, what a process computes with.
        devices: How many there are.

    Raises:
        Refused: With the reason.
    """
    limit = devices * FASTEST * best_product(device, torch.get_num_threads()) / ARITHMETIC
    if rate > limit:
        raise Refused(
            f"{rate:,.0f} images per second are impossible: at ten times the speed of this device's fastest matrix product it "
            f"would be {limit:,.0f}. Does every epoch use all {program.IMAGES:,} images?",
            f"每秒不可能訓練 {rate:,.0f} 張影像，因為就算運算速度達到這個裝置最快矩陣乘法的十倍，也只有 {limit:,.0f} 張。"
            f"每個訓練週期都用了全部 {program.IMAGES:,} 張影像嗎？",
        )
