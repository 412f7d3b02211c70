"""The exercises of lesson 01, checking CUDA."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from course_utils.exercises import NO_RETURN, Exercise, Wrong
from torch_doctor.bilingual import Bilingual

_fake_gpu_tensor: Any = None  # has a device and a shape, but no data
if not torch.cuda.is_available():
    # Created here and not in the check: the first fake tensor makes PyTorch import 800 modules, which takes seconds on a
    # busy machine, and the time of an answer is limited.
    with FakeTensorMode():
        _fake_gpu_tensor = torch.empty(2, device="cuda:0")


def _tensor_on_gpu() -> Any:
    return torch.zeros(2, device="cuda") if _fake_gpu_tensor is None else _fake_gpu_tensor


def examine_on_gpu(answer: Any) -> None:
    """Examine ``on_gpu(tensor) -> bool``: whether the tensor is on a CUDA GPU."""
    on_host, on_card = answer(torch.zeros(2)), answer(_tensor_on_gpu())
    if on_host is None or on_card is None:
        raise Wrong(
            en="Your function returned `None`. Does every way through it end in `return`?",
            zh="你的函式傳回了 `None`。每一條路徑最後都有 `return` 嗎？",
        )
    if not isinstance(on_host, bool) or not isinstance(on_card, bool):
        raise Wrong(
            en=f"The answer should be `True` or `False`, but yours is a `{type(on_card).__name__}`.",
            zh=f"答案應該是 `True` 或 `False`，你傳回的卻是 `{type(on_card).__name__}`。",
        )
    if on_host and on_card:
        raise Wrong(
            en="You also say yes for a tensor on the CPU. Ask the tensor that was passed in.",
            zh="張量明明在 CPU 上，你也回答「是」。要問的是傳進來的那個張量。",
        )
    if on_host == on_card:
        raise Wrong(
            en="You say no for a tensor on `cuda:0`. Remember that `cuda` and `cuda:0` are not equal, and that a GPU in "
            "the machine says nothing about this one tensor. Compare the type of the tensor's device.",
            zh="張量在 `cuda:0` 上，你卻回答「否」。別忘了 `cuda` 和 `cuda:0` 並不相等，而且機器有 GPU，不代表這個張量在 GPU 上。"
            "要比的是張量所在裝置的種類（type）。",
        )
    if on_host:
        raise Wrong(en="It is the other way round.", zh="你的答案剛好反過來了。")
    if not _accepts(answer, _SECOND):
        raise Wrong(
            en="You say no for a tensor on `cuda:1`. Any number counts: compare the type of the device, not the device.",
            zh="張量在 `cuda:1` 上，你卻回答「否」。哪個編號都算：要比的是裝置的種類（type），不是整個裝置。",
        )
    if answer(torch.empty(2, device="meta")):
        raise Wrong(
            en="You say yes for a tensor on `meta`, which is neither a CPU nor a GPU. That a tensor is not on the CPU does "
            "not yet mean that it is on a CUDA GPU.",
            zh="張量在 `meta` 上，既不是 CPU 也不是 GPU，你卻回答「是」。不在 CPU 上，不等於在 CUDA GPU 上。",
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


# Each typical mistake gives another GPU: least used 0, smallest share 0, largest card 1 or 3; the answer is 2.
_REPORT = "0, 8192, 100\n1, 24576, 20000\n2, 16384, 900\n3, 24576, 20000\n"


def examine_freest(answer: Any) -> None:
    """Examine ``freest_gpu(report) -> int`` on a report with lines ``index, total MiB, used MiB``."""
    got = answer(_REPORT)
    if isinstance(got, str) and got.strip().isdigit():
        raise Wrong(
            en="You return a string; `torch.device` wants a number. Convert with `int(…)`. (Numbers compared as strings also "
            "sort wrongly: `'900' > '8000'`.)",
            zh="你傳回的是字串，而 `torch.device` 要的是數字，請用 `int(…)` 轉換。（把數字當字串比大小也會出錯：`'900' > '8000'`。）",
        )
    if got is None:
        raise Wrong(**NO_RETURN)
    if isinstance(got, bool) or not isinstance(got, int):
        raise Wrong(
            en=f"The answer should be one GPU's number, an `int`, but yours is a `{type(got).__name__}`.",
            zh=f"答案應該是一張 GPU 的編號（`int`），你傳回的卻是 `{type(got).__name__}`。",
        )
    _recognize_gpu(got)
    # Another order and a single line: an answer that is a constant fails here.
    for report, right in (("0, 100, 5\n1, 900, 90\n", 1), ("0, 16, 1\n", 0), ("5, 10, 9\n7, 10, 2\n", 7)):
        if (other := answer(report)) != right:
            raise Wrong(
                en=f"Right for the first report, but for `{report!r}` the answer is {right}, not {other!r}. Take the number "
                "from the first column.",
                zh=f"第一份輸出答對了，但遇到 `{report!r}` 時，答案應該是 {right}，不是 {other!r}。編號要從第一欄取。",
            )


def _recognize_gpu(got: int) -> None:
    """Raise the hint for a wrong GPU `got` of :data:`_REPORT`."""
    if got > 3 or got < 0:
        raise Wrong(
            en=f"There is no GPU {got} in the report. Did you return the free memory instead of the GPU's number?",
            zh=f"輸出裡沒有 {got} 號 GPU。你傳回的是不是剩餘記憶體，而不是編號？",
        )
    if got == 0:
        raise Wrong(
            en="GPU 0 has the least used memory, but it is a small card: 8092 MiB are free. GPU 2 has 15484 MiB free. "
            "Free memory is total minus used.",
            zh="GPU 0 用掉的最少，但它是張小卡，只剩 8092 MiB；GPU 2 還有 15484 MiB。剩餘記憶體要用總量減去已用量。",
        )
    if got == 1:
        raise Wrong(
            en="GPU 1 has a lot of memory, but 20000 of 24576 MiB are used: 4576 free. GPU 2 has 15484 MiB free.",
            zh="GPU 1 的記憶體雖大，但 24576 MiB 已用掉 20000，只剩 4576；GPU 2 還有 15484 MiB。",
        )
    if got == 3:
        raise Wrong(
            en="You take the last of the largest cards. What counts is what is free: total minus used.",
            zh="你選了最後一張大卡。要看的是剩餘量：總量減去已用量。",
        )


def examine_physical(answer: Any) -> None:
    """Examine ``physical(visible, i) -> int | None``: the physical number of ``cuda:i``, e.g. ``("3,1,2", 0)`` → 3."""
    # In the first case every typical mistake gives another number: i itself 0, the sorted list 1, the reversed list 2.
    cases: list[tuple[str, int, int | None]] = [("3,1,2", 0, 3), ("2,0", 1, 0), ("3", 0, 3)]
    for visible, index, right in cases:
        got = answer(visible, index)
        if got == right and isinstance(got, int):
            continue
        if isinstance(got, str) and got.strip() == str(right):
            raise Wrong(
                en="The right GPU, but as a string. Return a number: `int(…)`.",
                zh="GPU 選對了，但傳回的是字串。請傳回數字：`int(…)`。",
            )
        if got == index:
            raise Wrong(
                en=f"You return `i` itself. With `CUDA_VISIBLE_DEVICES={visible}` the program's numbers start anew: "
                f"`cuda:{index}` is physical GPU {right}.",
                zh=f"你直接傳回了 `i`。設定 `CUDA_VISIBLE_DEVICES={visible}` 之後，程式裡的編號會從 0 重新算起：`cuda:{index}` 是實體 GPU {right}。",
            )
        raise Wrong(
            en=f"For `physical({visible!r}, {index})` the answer is {right}, but yours is `{got!r}`. Read the list from the left: "
            "its first entry becomes `cuda:0`.",
            zh=f"`physical({visible!r}, {index})` 應該是 {right}，你的答案卻是 `{got!r}`。清單從左邊讀起，第一項就是 `cuda:0`。",
        )
    _check_invisible(answer)


def _check_invisible(answer: Any) -> None:
    """Raise a hint if `answer` is not None for a ``cuda:i`` that does not exist."""
    for visible, index in (("2,0", 2), ("", 0)):
        try:
            got = answer(visible, index)
        except (IndexError, ValueError):
            raise Wrong(
                en=f"The list is right, but `physical({visible!r}, {index})` raises an error: there is no such GPU. In that case return `None`.",
                zh=f"清單讀對了，但 `physical({visible!r}, {index})` 會引發例外：沒有那張 GPU。這時請傳回 `None`。",
            ) from None
        if got is not None:
            raise Wrong(
                en=f"`physical({visible!r}, {index})` should be `None`: the program does not see that many GPUs. Yours is `{got!r}`.",
                zh=f"`physical({visible!r}, {index})` 應該是 `None`：程式看不到那麼多張 GPU。你的答案是 `{got!r}`。",
            )
    if (got := answer("0,-1,1", 1)) is not None:
        raise Wrong(
            en=f"One trap is left: `-1` ends the list, so with `0,-1,1` only GPU 0 is visible. Yours says `{got!r}`.",
            zh=f"還有一個陷阱：`-1` 會讓清單到此為止，所以 `0,-1,1` 只看得到 GPU 0。你的答案是 `{got!r}`。",
        )


EXERCISES = (
    Exercise(
        "on_gpu",
        Bilingual("is this tensor on a GPU?", "這個張量在 GPU 上嗎？"),
        examine_on_gpu,
        (
            Bilingual(
                "Every tensor knows where it lives: `tensor.device`.",
                "每個張量都知道自己在哪裡：`tensor.device`。",
            ),
            Bilingual(
                "A device has two parts: `.type` and `.index`.", "裝置由兩部分組成：`.type` 與 `.index`。"
            ),
            Bilingual('Compare `.type` with `"cuda"`.', '拿 `.type` 和 `"cuda"` 比較。'),
        ),
    ),
    Exercise(
        "freest_gpu",
        Bilingual("which GPU has the most free memory?", "哪一張 GPU 的剩餘記憶體最多？"),
        examine_freest,
        (
            Bilingual(
                "Split the report into lines, and each line at its commas.",
                "先把輸出切成一行一行，每一行再用逗號切開。",
            ),
            Bilingual(
                "Free is total minus used; convert the strings to numbers first.",
                "剩餘＝總量－已用；記得先把字串轉成數字。",
            ),
            Bilingual(
                "`max` over pairs `(free, index)` finds the pair with the most free memory.",
                "把每張 GPU 寫成 `(free, index)`，再取 `max`，就能找到剩餘最多的那一組。",
            ),
        ),
    ),
    Exercise(
        "physical",
        Bilingual("who is cuda:i?", "cuda:i 是哪一張？"),
        examine_physical,
        (
            Bilingual(
                "`visible.split(',')` is the list; `cuda:i` is its entry number i.",
                "`visible.split(',')` 就是清單，`cuda:i` 是索引為 i 的那一項。",
            ),
            Bilingual(
                "An empty string has no entries, and `int('')` fails.",
                "空字串沒有任何項目，而 `int('')` 會出錯。",
            ),
            Bilingual("Stop reading at the first negative number.", "讀到第一個負數就停。"),
        ),
    ),
)
