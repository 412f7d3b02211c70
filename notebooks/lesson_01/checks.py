"""The exercises of lesson 01, checking CUDA."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from bilingual import Bilingual, Block
from course_utils import figures
from course_utils.exercises import NO_RETURN, Exercise, Wrong
from course_utils.gpu_ratings import ratings
from course_utils.tables import YOURS, table, value

_fake_gpu_tensor: Any = None  # has a device and a shape, but no data
if not torch.cuda.is_available():
    # Created here and not in the check: the first fake tensor makes PyTorch import 800 modules, which takes seconds on a
    # busy machine, and the time of an answer is limited.
    with FakeTensorMode():
        _fake_gpu_tensor = torch.empty(2, device="cuda:0")


# --- what an answer did, as a table ---------------------------------------------------------------------

_RIGHT = Bilingual("right", "正確答案")


def _asked(answer: Any, *arguments: Any) -> Any:
    """Return what `answer` returns, or the name of its error."""
    try:
        return answer(*arguments)
    except Exception as error:
        return type(error).__name__


# --- on_gpu ---------------------------------------------------------------------------------------------


def _tensor_on_gpu() -> Any:
    return torch.zeros(2, device="cuda") if _fake_gpu_tensor is None else _fake_gpu_tensor


def examine_on_gpu(answer: Any) -> None:
    """Examine ``on_gpu(tensor) -> bool``: whether the tensor is on a CUDA GPU."""
    on_host, on_card = answer(torch.zeros(2)), answer(_tensor_on_gpu())
    if on_host is None or on_card is None:
        raise Wrong(
            en="Your function returned `None`. Does every way through it end in `return`?",
            zh="你的函式傳回了 `None`。是不是每一條執行路徑最後都有 `return`？",
        )
    if not isinstance(on_host, bool) or not isinstance(on_card, bool):
        raise Wrong(
            en=f"The answer should be `True` or `False`, but yours is a `{type(on_card).__name__}`.",
            zh=f"答案應該是 `True` 或 `False`，你傳回的卻是 `{type(on_card).__name__}`。",
        )
    if on_host and on_card:
        raise Wrong(
            en="You also say yes for a tensor on the CPU. Ask the tensor that was passed in.",
            zh="張量明明在 CPU 上，你的函式也傳回 `True`。要檢查的是傳進來的那個張量。",
        )
    if on_host == on_card:
        raise Wrong(
            en="You say no for a tensor on `cuda:0`. Remember that `cuda` and `cuda:0` are not equal, and that a GPU in "
            "the machine says nothing about this one tensor. Compare the type of the tensor's device.",
            zh="張量在 `cuda:0` 上，你的函式卻傳回 `False`。別忘了 `cuda` 和 `cuda:0` 並不相等；還有，機器上有 GPU，不代表這個張量就在 GPU 上。"
            "要比的是張量所在裝置的種類（type）。",
        )
    if on_host:
        raise Wrong(en="It is the other way round.", zh="你的答案剛好反過來了。")
    if not _accepts(answer, _SECOND):
        raise Wrong(
            en="You say no for a tensor on `cuda:1`. Any number counts: compare the type of the device, not the device.",
            zh="張量在 `cuda:1` 上，你的函式卻傳回 `False`。不論編號是多少，都算在 GPU 上，所以要比的是裝置的種類（type），不是整個裝置。",
        )
    if answer(torch.empty(2, device="meta")):
        raise Wrong(
            en="You say yes for a tensor on `meta`, which is neither a CPU nor a GPU. That a tensor is not on the CPU does "
            "not yet mean that it is on a CUDA GPU.",
            zh="張量在 `meta` 裝置上，既不在 CPU 上，也不在 GPU 上，你的函式卻傳回 `True`。不在 CPU 上，不代表就在 CUDA GPU 上。",
        )


# Stands in for a tensor on a second GPU, which most machines do not have.
_SECOND: Any = SimpleNamespace(
    device=torch.device("cuda:1"), is_cuda=True, is_cpu=False, get_device=lambda: 1
)


def _accepts(answer: Any, tensor: Any) -> bool:
    """Return whether `answer` says yes for the stand-in of a tensor."""
    try:
        return bool(answer(tensor))
    except (AttributeError, TypeError):
        return True  # the answer uses an attribute that only a real tensor has: that is not a mistake


def show_on_gpu(answer: Any) -> Block:
    """Show what the answer says about tensors on four devices."""
    tensors = (torch.zeros(2), _tensor_on_gpu(), _SECOND, torch.empty(2, device="meta"))
    rows = [(f"`{t.device}`", value(_asked(answer, t)), value(t.device.type == "cuda")) for t in tensors]
    return table(("`tensor.device`", YOURS, _RIGHT), rows)


# --- device_of ------------------------------------------------------------------------------------------

_THREE = [torch.device(f"cuda:{i}") for i in range(3)]


def examine_device_of(answer: Any) -> None:
    """Examine ``device_of(job, devices) -> device``: the devices in turn."""
    first = answer(0, list(_THREE))
    if first is None:
        raise Wrong(**NO_RETURN)
    if isinstance(first, (int, str)):
        raise Wrong(
            en=f"You return `{first!r}`, a `{type(first).__name__}`. Return the device itself: one of the entries of `devices`.",
            zh=f"你傳回的是 `{first!r}`（`{type(first).__name__}`）。請傳回裝置本身，也就是 `devices` 裡的其中一項。",
        )
    try:
        dealt = [answer(job, list(_THREE)) for job in range(7)]
    except IndexError:
        raise Wrong(
            en="With three devices there is no `devices[3]`, but there is a job 3: it gets the first device again. The "
            "remainder of a division starts anew by itself.",
            zh="裝置只有三個，所以沒有 `devices[3]`，但還有 3 號工作，這時要重新輪到第一個裝置。除法的餘數，正好會自動從頭開始。",
        ) from None
    _recognize_dealing(dealt)
    if (got := answer(4, [torch.device("cpu")])) != torch.device("cpu"):
        raise Wrong(
            en=f"Where the only device is the CPU you return `{got}`. Take the device out of the list instead of building its name.",
            zh=f"只有 CPU 一個裝置時，你傳回的卻是 `{got}`。請從串列裡取出裝置，不要自己拼出名稱。",
        )


def _recognize_dealing(dealt: list[Any]) -> None:
    """Raise the hint for jobs 0 to 6 that do not get three devices in turn."""
    right = [_THREE[job % 3] for job in range(7)]
    if dealt == right:
        return
    if len(set(dealt)) == 1:
        raise Wrong(
            en=f"Every job gets `{dealt[0]}`; the other devices have nothing to do.",
            zh=f"每個工作都拿到 `{dealt[0]}`，其他裝置都閒著。",
        )
    if dealt[:3] == right[:3]:
        raise Wrong(
            en=f"Jobs 0 to 2 are right, but job 3 gets `{dealt[3]}`; it should start again with `cuda:0`.",
            zh=f"0 到 2 號工作都正確，但 3 號工作拿到的是 `{dealt[3]}`；應該從 `cuda:0` 重新輪起。",
        )
    raise Wrong(
        en=f"Job 0 gets `{dealt[0]}` and job 1 `{dealt[1]}`; they should get `cuda:0` and `cuda:1`.",
        zh=f"0 號工作拿到 `{dealt[0]}`，1 號工作拿到 `{dealt[1]}`；應該分別是 `cuda:0` 和 `cuda:1`。",
    )


def show_device_of(answer: Any) -> Block:
    """Show which of three devices gets which jobs."""
    given = [value(_asked(answer, job, list(_THREE))) for job in range(7)]
    names = dict.fromkeys([*map(value, _THREE), *given])
    rows = [(name, ", ".join(str(w) for w, got in enumerate(given) if got == name) or "-") for name in names]
    return table((Bilingual("device", "裝置"), Bilingual("jobs 0 to 6", "0 到 6 號工作")), rows)


# --- freest_gpu -----------------------------------------------------------------------------------------

# Each typical mistake gives another GPU: least used 0, smallest share 0, largest card 1 or 3; the answer is 2.
_GPUS = [
    ("RTX 4060", 8092, 8192),
    ("RTX 4090", 4576, 24576),
    ("RTX 4080", 15484, 16384),
    ("RTX 3090", 4576, 24576),
]


def examine_freest(answer: Any) -> None:
    """Examine ``freest_gpu(gpus) -> int`` on a list of (name, free MiB, total MiB)."""
    got = answer(list(_GPUS))
    if got is None:
        raise Wrong(**NO_RETURN)
    if isinstance(got, bool) or not isinstance(got, int):
        raise Wrong(
            en=f"The answer should be one GPU's number, an `int`, but yours is a `{type(got).__name__}`.",
            zh=f"答案應該是一張 GPU 的編號（`int`），你傳回的卻是 `{type(got).__name__}`。",
        )
    _recognize_gpu(got)
    # Another order and a single GPU: an answer that is a constant fails here.
    for gpus, right in (([("A", 95, 100), ("B", 810, 900)], 1), ([("T4", 15, 16)], 0)):
        if (other := answer(list(gpus))) != right:
            raise Wrong(
                en=f"Right for the first list, but for `{gpus}` the answer is {right}, not {other!r}.",
                zh=f"第一個串列答對了，但串列是 `{gpus}` 時，答案應該是 {right}，不是 {other!r}。",
            )


def _recognize_gpu(got: int) -> None:
    """Raise the hint for a wrong GPU `got` of :data:`_GPUS`."""
    if got > 3 or got < 0:
        raise Wrong(
            en=f"There is no GPU {got} in the list. Did you return the free memory instead of the GPU's number?",
            zh=f"串列裡沒有 {got} 號 GPU。你是不是傳回了剩餘記憶體，而不是編號？",
        )
    if got == 0:
        raise Wrong(
            en="GPU 0 is the emptiest by share, but it is a small card: 8092 MiB are free. GPU 2 has 15484 MiB free.",
            zh="GPU 0 剩餘的比例最高，但這張卡的記憶體小，能用的只有 8092 MiB；GPU 2 還有 15484 MiB。",
        )
    if got in (1, 3):
        raise Wrong(
            en=f"GPU {got} is one of the largest cards, but only 4576 of its 24576 MiB are free. GPU 2 has 15484 MiB free.",
            zh=f"GPU {got} 的總量雖然最大，但 24576 MiB 裡只剩 4576 MiB；GPU 2 還有 15484 MiB。",
        )


def show_freest(answer: Any) -> figures.Picture:
    """Show the memory of four GPUs, and the one that the answer chose."""
    chosen = _asked(answer, list(_GPUS))
    figure, axes = figures.new(height=2.3)
    names = [f"{index}: {name}" for index, (name, _, _) in enumerate(_GPUS)]
    axes.barh(
        names,
        [total for _, _, total in _GPUS],
        color=figures.PALE,
        height=0.62,
        label=Bilingual("total", "總量"),
    )
    colours = [figures.RECORDED if index == chosen else figures.YOURS for index in range(len(_GPUS))]
    drawn = axes.barh(
        names, [free for _, free, _ in _GPUS], color=colours, height=0.62, label=Bilingual("free", "剩餘")
    )
    axes.bar_label(drawn, [f"{free} MiB" for _, free, _ in _GPUS], padding=4)
    axes.invert_yaxis()
    figures.bars_only(axes)
    caption = Bilingual(
        "Grey: all memory of a card; coloured: what is free. Orange is the card that your function chose.",
        "灰色是整張卡的記憶體，彩色是剩餘的部分；橘色那一張，就是你的函式選的卡。",
    )
    return figures.Picture(
        figure, caption, Bilingual("Free and total memory of four GPUs.", "四張 GPU 的剩餘記憶體與總量。")
    )


# --- intensity ------------------------------------------------------------------------------------------


def examine_intensity(answer: Any) -> None:
    """Examine ``intensity(n) -> float``: operations per byte of an n × n product, 2 n³ / 12 n²."""
    n = 30
    got = answer(n)
    if got is None:
        raise Wrong(**NO_RETURN)
    if isinstance(got, bool) or not isinstance(got, (int, float)):
        raise Wrong(
            en=f"The answer should be a number, but yours is a `{type(got).__name__}`.",
            zh=f"答案應該是一個數字，你傳回的卻是 `{type(got).__name__}`。",
        )
    for wrong, en, zh in (
        (6 / n, "bytes per operation: turn the division round", "是每次運算的位元組數，除法要反過來"),
        (2 * n / 3, "operations per number: a float32 number has 4 bytes", "是每個數字的運算次數，別忘了一個 float32 數字有 4 個位元組"),
        (n / 12, "half of it, since each step multiplies and adds: 2 n³ operations", "少了一半，因為每一步要乘一次、加一次，總共有 2 n³ 次運算"),
        (n / 2, "right for one matrix: count two that are read and one that is written", "只算到一個矩陣，別忘了要讀取兩個、寫入一個"),
        (n / 4, "right for two matrices: the result is written as well", "只算到兩個矩陣，別忘了結果也要寫入記憶體"),
        (2 * n**3, "the number of operations; divide it by the bytes", "是運算次數，還要除以位元組數"),
        (12 * n**2, "the number of bytes; the operations are divided by it", "是位元組數，要拿運算次數來除以它"),
    ):  # fmt: skip
        if abs(got - wrong) < 1e-6 * wrong:
            raise Wrong(
                en=f"For n = {n} you return {got:g}: that is {en}.",
                zh=f"n = {n} 時，你傳回 {got:g}，這{zh}。",
            )
    for size in (n, 64, 1000):
        if not abs((other := answer(size)) - size / 6) <= 1e-6 * size:  # nan is wrong, too
            raise Wrong(
                en=f"For n = {size} the answer is {size / 6:g}, but yours is {other:g}: 2 n³ operations divided by 12 n² bytes.",
                zh=f"n = {size} 時，答案應該是 {size / 6:g}，也就是 2 n³ 次運算除以 12 n² 個位元組，你傳回的卻是 {other:g}。",
            )


def show_intensity(answer: Any) -> Block:
    """Show the answer for some sizes, and by what an H200 is limited there."""
    rated = ratings()["NVIDIA H200"]
    ridge = rated["single"] / rated["bandwidth"]
    memory, arithmetic = Bilingual("memory", "記憶體"), Bilingual("arithmetic", "運算")
    rows = []
    for n in (1024, 4096, 16384):  # for small ones the launch overhead and caches count, too
        got = _asked(answer, n)
        known = isinstance(got, (int, float))
        rows.append((value(n), value(got), (memory if got < ridge else arithmetic) if known else "-"))
    limit = Bilingual(
        f"what limits an H200 (float32: arithmetic from {ridge:.0f} per byte on)",
        f"H200 的瓶頸（float32 每位元組達到 {ridge:.0f} 次時，瓶頸是運算）",
    )
    return table(("`n`", Bilingual("your operations per byte", "你算出的每位元組運算次數"), limit), rows)


# --- crossover ------------------------------------------------------------------------------------------

_SIZES = [16, 64, 256, 1024, 4096]
_CPU = [1.0, 8.0, 90.0, 900.0, 9000.0]
# Ahead at 64, behind at 256, ahead for good from 1024 on.
_WAVERING = [5.0, 3.0, 300.0, 320.0, 400.0]
_NEVER = [5.0, 20.0, 95.0, 950.0, 9100.0]
_ALWAYS = [0.5, 6.0, 20.0, 50.0, 90.0]


def examine_crossover(answer: Any) -> None:
    """Examine ``crossover(sizes, cpu, gpu) -> int | None``: from which size on the GPU stays ahead."""
    got = answer(list(_SIZES), list(_CPU), list(_WAVERING))
    if got is None:
        raise Wrong(
            en="Your function returned `None`, but from size 1024 on the GPU is ahead. Does every way through it end in `return`?",
            zh="你的函式傳回了 `None`，但從 1024 起都是 GPU 比較快。是不是每一條執行路徑最後都有 `return`？",
        )
    if got == 3:
        raise Wrong(
            en="You return the position in the list, 3. Return the size that stands there.",
            zh="你傳回的是串列裡的位置 3。請傳回那個位置上的矩陣大小。",
        )
    if got == 64:
        raise Wrong(
            en="At 64 the GPU is ahead, but at 256 it is behind again. Look for the size from which on it stays ahead.",
            zh="大小是 64 時，GPU 確實比較快，但到 256 又落後了。題目問的是從哪個大小起，GPU 一直都比較快。",
        )
    if got == 4096:
        raise Wrong(
            en="At 4096 the GPU is ahead, but so it is at 1024 and above. Return the smallest such size.",
            zh="大小是 4096 時，GPU 確實比較快，但從 1024 起就已經比較快了。題目問的是最小的那一個。",
        )
    if got == 256:
        raise Wrong(
            en="256 is the last size at which the GPU is behind. The answer is the next one.",
            zh="256 是 GPU 最後一次落後的大小，下一個大小才是答案。",
        )
    if got != 1024:
        raise Wrong(
            en=f"For sizes {_SIZES}, CPU {_CPU} and GPU {_WAVERING} the answer is 1024, but yours is `{got!r}`.",
            zh=f"sizes 是 {_SIZES}、CPU 是 {_CPU}、GPU 是 {_WAVERING} 時，答案應該是 1024，你傳回的卻是 `{got!r}`。",
        )
    _check_ends(answer)


def _check_ends(answer: Any) -> None:
    """Raise a hint if `answer` is wrong where the GPU is always or never ahead."""
    for gpu, right, en, zh in (
        (_ALWAYS, 16, "is ahead at every size", "在每個大小都比較快"),
        (_NEVER, None, "is behind at the largest size", "在最大的那個大小仍然落後"),
    ):
        try:
            got = answer(list(_SIZES), list(_CPU), list(gpu))
        except (IndexError, ValueError, TypeError) as error:
            raise Wrong(
                en=f"Where the GPU {en}, your function raises `{type(error).__name__}`; it should return `{right}`.",
                zh=f"GPU {zh}時，你的函式會引發 `{type(error).__name__}`；這時應該傳回 `{right}`。",
            ) from None
        if got != right:
            raise Wrong(
                en=f"Where the GPU {en}, the answer is `{right}`, but yours is `{got!r}`.",
                zh=f"GPU {zh}時，答案應該是 `{right}`，你傳回的卻是 `{got!r}`。",
            )


def show_crossover(answer: Any) -> figures.Picture:
    """Show the two curves of the check, and where the answer sees the crossover."""
    got = _asked(answer, list(_SIZES), list(_CPU), list(_WAVERING))
    figure, axes = figures.new(height=2.8)
    axes.plot(_SIZES, _CPU, marker="o", color=figures.YOURS, label="CPU")
    axes.plot(_SIZES, _WAVERING, marker="s", color=figures.RECORDED, label="GPU")
    if isinstance(got, int) and 1 <= got <= 10_000:
        axes.axvline(got, color=figures.GREY, linestyle="--", label=Bilingual("your answer", "你的答案"))
    figures.logarithmic(axes.xaxis)
    figures.logarithmic(axes.yaxis)
    axes.set_xlabel(Bilingual("matrix size n", "矩陣大小 n"))
    axes.set_ylabel(Bilingual("time", "時間"))
    axes.legend()
    caption = Bilingual(
        "Made-up times, and where your function sees the crossover.",
        "圖中的時間是虛構的，交叉點則是你的函式找到的。",
    )
    alternative = Bilingual("Two curves of time over matrix size.", "兩條曲線，橫軸是矩陣大小，縱軸是時間。")
    return figures.Picture(figure, caption, alternative)


# --- physical -------------------------------------------------------------------------------------------


def examine_physical(answer: Any) -> None:
    """Examine ``physical(visible, i) -> int | None``: the physical number of ``cuda:i``, e.g. ``([3, 1, 2], 0)`` → 3."""
    # In the first case every typical mistake gives another number: i itself 0, the sorted list 1, the reversed list 2.
    cases: list[tuple[list[int], int, int]] = [([3, 1, 2], 0, 3), ([2, 0], 1, 0), ([3], 0, 3)]
    for visible, index, right in cases:
        try:
            got = answer(list(visible), index)
        except ValueError:
            raise Wrong(
                en=f"You look for GPU {index} in the list. The question goes the other way: which entry stands at place {index}?",
                zh=f"你在串列裡找 GPU {index} 的位置。題目問的方向相反：串列裡索引為 {index} 的是幾號 GPU？",
            ) from None
        if got == right:
            continue
        if got == index:
            raise Wrong(
                en=f"You return `i` itself. With `CUDA_VISIBLE_DEVICES={','.join(map(str, visible))}` the program's numbers "
                f"start anew: `cuda:{index}` is physical GPU {right}.",
                zh=f"你直接傳回了 `i`。設定 `CUDA_VISIBLE_DEVICES={','.join(map(str, visible))}` 之後，程式裡的編號會從 0 重新"
                f"算起，所以 `cuda:{index}` 是實體 GPU {right}。",
            )
        raise Wrong(
            en=f"For `physical({visible!r}, {index})` the answer is {right}, but yours is `{got!r}`. Read the list from the left: "
            "its first entry becomes `cuda:0`.",
            zh=f"`physical({visible!r}, {index})` 應該是 {right}，你傳回的卻是 `{got!r}`。請從左邊讀起，串列的第一項就是 `cuda:0`。",
        )
    _check_invisible(answer)


def _check_invisible(answer: Any) -> None:
    """Raise a hint if `answer` is not None for a ``cuda:i`` that does not exist."""
    visible = [2, 0]
    try:
        got = answer(list(visible), 2)
    except IndexError:
        raise Wrong(
            en=f"The list is right, but `physical({visible!r}, 2)` raises an error: there is no such GPU. In that case return `None`.",
            zh=f"串列的讀法是對的，但 `physical({visible!r}, 2)` 會引發例外，因為沒有這張 GPU。這時請傳回 `None`。",
        ) from None
    if got is not None:
        raise Wrong(
            en=f"`physical({visible!r}, 2)` should be `None`: the program does not see that many GPUs. Yours is `{got!r}`.",
            zh=f"`physical({visible!r}, 2)` 應該是 `None`，因為程式看不到那麼多張 GPU。你傳回的卻是 `{got!r}`。",
        )


def show_physical(answer: Any) -> Block:
    """Show which physical GPUs the answer finds behind cuda:0, cuda:1 and cuda:2."""
    visible = [2, 0]
    rows = [
        (f"`cuda:{i}`", value(_asked(answer, list(visible), i)), value(right))
        for i, right in enumerate((2, 0, None))
    ]
    return table(("`CUDA_VISIBLE_DEVICES=2,0`", YOURS, _RIGHT), rows)


EXERCISES = (
    Exercise(
        "on_gpu",
        Bilingual("is this tensor on a GPU?", "這個張量在 GPU 上嗎？"),
        examine_on_gpu,
        (
            Bilingual(
                "Every tensor knows where it lives: `tensor.device`.",
                "張量在哪個裝置上，看 `tensor.device` 就知道。",
            ),
            Bilingual(
                "A device has two parts: `.type` and `.index`.", "裝置由兩部分組成：`.type` 與 `.index`。"
            ),
            Bilingual('Compare `.type` with `"cuda"`.', '拿 `.type` 和 `"cuda"` 比較。'),
        ),
        level="easy",
        show=show_on_gpu,
    ),
    Exercise(
        "device_of",
        Bilingual("whose turn is it?", "輪到哪個裝置？"),
        examine_device_of,
        (
            Bilingual("`devices[i]` is the device at place i.", "`devices[i]` 是串列裡索引為 i 的裝置。"),
            Bilingual(
                "With three devices the places are 0, 1, 2, 0, 1, 2, 0 …",
                "有三個裝置時，索引依序是 0、1、2、0、1、2、0……",
            ),
            Bilingual("`%` gives the remainder of a division.", "`%` 可以求除法的餘數。"),
        ),
        level="easy",
        show=show_device_of,
    ),
    Exercise(
        "freest_gpu",
        Bilingual("which GPU has the most free memory?", "哪一張 GPU 的剩餘記憶體最多？"),
        examine_freest,
        (
            Bilingual(
                "Entry 1 of each triple is the free memory.", "每一組裡，索引為 1 的值就是剩餘記憶體。"
            ),
            Bilingual(
                "`range(len(gpus))` are the numbers to choose from.",
                "`range(len(gpus))` 就是所有可以選的編號。",
            ),
            Bilingual(
                "`max(…, key=…)` chooses by what `key` returns.",
                "`max(…, key=…)` 會挑出 `key` 傳回值最大的那一項。",
            ),
        ),
        level="easy",
        show=show_freest,
    ),
    Exercise(
        "intensity",
        Bilingual("how many operations per byte?", "每個位元組做幾次運算？"),
        examine_intensity,
        (
            Bilingual("2 n³ operations.", "運算次數是 2 n³。"),
            Bilingual(
                "Three matrices of n² numbers with 4 bytes each.",
                "三個矩陣，各有 n² 個數字，每個數字 4 個位元組。",
            ),
        ),
        level="easy",
        show=show_intensity,
    ),
    Exercise(
        "crossover",
        Bilingual("from which size on does the GPU win?", "從多大開始，GPU 比較快？"),
        examine_crossover,
        (
            Bilingual("Start at the largest size and walk down.", "從最大的矩陣開始，往小的方向逐一檢查。"),
            Bilingual(
                "Stop at the first size at which the GPU is behind; the one before it is the answer.",
                "一遇到 GPU 落後的大小就停下來，答案是在它之前檢查的那一個。",
            ),
            Bilingual("Begin with `None` as the answer.", "一開始先把答案設為 `None`。"),
        ),
        level="medium",
        show=show_crossover,
    ),
    Exercise(
        "physical",
        Bilingual("who is cuda:i?", "cuda:i 是哪一張？"),
        examine_physical,
        (
            Bilingual("`cuda:i` is entry number i of the list.", "`cuda:i` 就是串列裡索引為 i 的那一項。"),
            Bilingual("Entries exist for i below `len(visible)`.", "i 小於 `len(visible)` 才有對應的項目。"),
        ),
        level="easy",
        show=show_physical,
    ),
)
