"""What the answers of PyTorch and of the driver mean: a table for sections 1.1 and 1.5."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import torch

from bilingual import Bilingual, Block, measured
from course_utils.tables import html_table
from torch_doctor.diagnosis.cuda_tables import DRIVER_FOR_CUDA, has_code_for

_HEADINGS = (
    Bilingual("question", "問題"),
    Bilingual("answer", "回答"),
    Bilingual("what it means", "代表什麼"),
)


def explained(answers: dict[str, Any]) -> Block:
    """Show expressions, what they are on this machine, and what that means.

    Args:
        answers: An expression of :data:`MEANINGS` as a learner would type it → its value.

    Raises:
        KeyError: The meaning of an expression is not known.
    """
    rows, lines = [], []
    for expression, value in answers.items():
        meaning = MEANINGS[expression](value)
        meaning = Bilingual(measured(meaning.en), measured(meaning.zh))
        cells = (
            f"<code>{html.escape(expression)}</code>",
            f'<span class="measured">{html.escape(str(value))}</span>',
        )
        rows.append((*cells, meaning.html()))
        lines.append(f"{expression} = {measured(value)}: {meaning}")
    return Block(html_table(rows, [heading.html() for heading in _HEADINGS]), "\n".join(lines))


def _available(answer: bool) -> Bilingual:
    if answer:
        return Bilingual("PyTorch sees a GPU", "PyTorch 看得到 GPU")
    return Bilingual(
        "PyTorch sees no CUDA GPU; if you expected one, section 1.8 looks for the reason",
        "PyTorch 看不到 CUDA GPU；如果這台機器應該有，請到 1.8 節找原因",
    )


def _count(answer: int) -> Bilingual:
    if answer == 0:
        return Bilingual("there is no device cuda:i", "沒有任何 cuda:i 裝置可用")
    if answer == 1:
        return Bilingual("there is one device, cuda:0", "可用的裝置只有 cuda:0")
    return Bilingual(
        f"the devices are cuda:0 to cuda:{answer - 1}",
        f"可用的裝置是 cuda:0 到 cuda:{answer - 1}，共 {answer} 個",
    )


def _names(answer: list[str]) -> Bilingual:
    if not answer:
        return Bilingual("there is nothing to name", "沒有 GPU，也就沒有名稱")
    return Bilingual("the models, in the order of their numbers", "依編號列出的型號")


def _any_maker(answer: bool) -> Bilingual:
    if answer:
        return Bilingual(
            "there is an accelerator; current_accelerator() says of which kind",
            "有加速器可用，current_accelerator() 會說明是哪一種",
        )
    return Bilingual(
        "no accelerator of any maker: all work is done by the CPU", "沒有任何廠牌的加速器，全部由 CPU 運算"
    )


def _build(answer: str | None) -> Bilingual:
    if answer is None:
        return Bilingual(
            "built without CUDA: no driver can change that, only another PyTorch",
            "這個 PyTorch 不含 CUDA，換驅動程式也沒有用，只能改裝別的版本",
        )
    driver = DRIVER_FOR_CUDA.get(int(answer.split(".")[0]))
    return Bilingual(
        f"brings CUDA {answer}; the driver must be {driver} or newer",
        f"自帶 CUDA {answer}，驅動程式至少要 {driver} 版",
    )


def _driver(answer: str | None) -> Bilingual:
    first = (answer or "").split(".")[0]
    if not first.isdecimal():  # nvidia-smi can also answer "[N/A]"
        return Bilingual("no NVIDIA driver answers here", "這台機器上沒有 NVIDIA 驅動程式回應")
    version = int(first)
    served = [str(cuda) for cuda, oldest in DRIVER_FOR_CUDA.items() if version >= oldest]
    return Bilingual(
        f"runs programs built with CUDA {', '.join(served) or 'older than 11'}",
        f"能執行以 CUDA {'、'.join(served) or '11 之前的版本'} 編譯的程式",
    )


def _generations(answer: list[str]) -> Bilingual:
    if not answer:
        return Bilingual("no list, since PyTorch sees no GPU", "PyTorch 看不到 GPU，所以沒有清單")
    return Bilingual("machine code for these generations of GPUs", "含有這幾代 GPU 的機器碼")


def _capabilities(answer: list[tuple[int, int]]) -> Bilingual:
    if not answer:
        return Bilingual("no card whose generation could be asked", "沒有顯示卡，也就查不到是哪一代")
    compiled = torch.cuda.get_arch_list()
    without = [f"{a}.{b}" for a, b in answer if not has_code_for(10 * a + b, compiled)]
    if without:
        return Bilingual(
            f"this PyTorch has no code for {', '.join(without)}",
            f"這個 PyTorch 沒有 {'、'.join(without)} 這一代可用的機器碼",
        )
    return Bilingual("this PyTorch has code for every card", "這個 PyTorch 有每一張卡可用的機器碼")


def _toolkit(answer: bool) -> Bilingual:
    if answer:
        return Bilingual(
            "a toolkit is installed; PyTorch does not need it", "裝有 Toolkit，不過 PyTorch 用不到"
        )
    return Bilingual(
        "no toolkit on the path; PyTorch does not need one", "執行路徑上找不到 Toolkit，不過 PyTorch 用不到"
    )


def _library_path(answer: bool) -> Bilingual:
    if answer:
        return Bilingual(
            "other CUDA libraries may be loaded instead of PyTorch's own",
            "可能會載入別處的 CUDA 函式庫，而不是 PyTorch 自帶的那一份",
        )
    return Bilingual("nothing here points to other CUDA libraries", "沒有指向別處的 CUDA 函式庫")


MEANINGS: dict[str, Callable[[Any], Bilingual]] = {
    "torch.cuda.is_available()": _available,
    "torch.cuda.device_count()": _count,
    "torch.cuda.get_device_name(i)": _names,
    "torch.accelerator.is_available()": _any_maker,
    "torch.version.cuda": _build,
    "driver_version": _driver,
    "torch.cuda.get_arch_list()": _generations,
    "torch.cuda.get_device_capability(i)": _capabilities,
    'shutil.which("nvcc") is not None': _toolkit,
    '"cuda" in LD_LIBRARY_PATH': _library_path,
}
