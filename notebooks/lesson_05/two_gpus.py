"""Keep lesson 05 away from real GPUs that cannot exchange data."""

import os
import warnings

import torch
from IPython.display import display

from bilingual import Bilingual, Block
from course_utils.fresh_process import run_fresh

LIMIT_SECONDS = 90.0
EXCHANGE = """
import torch
from torch import nn

model = nn.DataParallel(nn.Linear(64, 64).to("cuda:0"), device_ids=[0, 1])
x = torch.rand(8, 64, device="cuda:0")
out = model(x)
out.sum().backward()
same = torch.allclose(out.cpu(), model.module(x).cpu(), atol=1e-3)

numbers = torch.arange(1 << 20)
for i in range(torch.cuda.device_count()):
    t = numbers.to(f"cuda:{i}")
    for j in range(torch.cuda.device_count()):
        same = same and torch.equal(t.to(f"cuda:{j}").cpu(), numbers)
if not same:
    raise SystemExit("wrong values arrived")
"""

_HIDDEN = Bilingual(
    "A tensor sent from one GPU to another did not arrive in time, or arrived with wrong values, so this lesson uses "
    "practice GPUs. Often the cause is the direct connection of the GPUs: on a machine of your own, turn IOMMU and ACS "
    "(PCIe access control) off in the BIOS; a virtual machine may not allow it. `NCCL_P2P_DISABLE=1` mends only what "
    'goes through NCCL. More: `doctor("hang")`.',
    "把張量從一張 GPU 送到另一張，不是逾時未到，就是到了之後數值不對，所以這一課改用練習用 GPU。常見的原因是 GPU 之間的直接連線"
    "有問題：自己的機器可以在 BIOS 裡關掉 IOMMU 和 ACS（PCIe 存取控制），虛擬機器則不一定能關。`NCCL_P2P_DISABLE=1` "
    '只對經過 NCCL 的傳輸有效。詳情請看 `doctor("hang")`。',
)


def check_links() -> None:
    """Hide the real GPUs from this lesson, with a note, where two of them cannot exchange data.

    On some machines the direct connection of two GPUs is broken. Copies then hold wrong values, or a call of
    ``nn.DataParallel`` never returns, and no interrupt stops it; a fresh process can be stopped. The set-up cell calls
    this before it looks for GPUs. Without NCCL, ``nn.DataParallel`` warns that it is missing, which is no news here.
    """
    warnings.filterwarnings("ignore", "PyTorch is not compiled with NCCL support")
    if torch.cuda.device_count() < 2:
        return
    try:
        run_fresh(EXCHANGE, seconds=LIMIT_SECONDS)
    except RuntimeError as error:  # others are left to the lesson's cells
        if any(words in str(error) for words in ("still running", "wrong values arrived")):
            os.environ["CUDA_VISIBLE_DEVICES"] = ""
            display(Block(f"<p>{_HIDDEN.html()}</p>", str(_HIDDEN)))
