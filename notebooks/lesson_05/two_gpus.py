"""Decide how many GPUs lesson 05 uses: only one where two of them cannot exchange data."""

from __future__ import annotations

import torch
from IPython.display import display

from bilingual import Bilingual, Block
from course_utils import needs, try_all_gpus
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

_ONE_ONLY = Bilingual(
    "A tensor sent from one GPU to another did not arrive in time, or arrived with wrong values, so this lesson uses "
    "GPU 0 only. Often the cause is the direct connection of the GPUs: on a machine of your own, turn IOMMU and ACS "
    "(PCIe access control) off in the BIOS; a virtual machine may not allow it. `NCCL_P2P_DISABLE=1` mends only what "
    'goes through NCCL. More: `doctor("hang")`.',
    "把張量從一張 GPU 送到另一張，不是逾時未到，就是到了之後數值不對，所以這一課只用 GPU 0。常見的原因是 GPU 之間的直接連線"
    "有問題：自己的機器可以在 BIOS 裡關掉 IOMMU 和 ACS（PCIe 存取控制），虛擬機器則不一定能關。`NCCL_P2P_DISABLE=1` "
    '只對經過 NCCL 的傳輸有效。詳情請看 `doctor("hang")`。',
)


def usable_gpus() -> list[torch.device]:
    """Return the devices of the lesson: all GPUs, or the first one where two cannot exchange data, or the CPU.

    On some machines the direct connection of two GPUs is broken. Copies then hold wrong values, or a call of
    ``nn.DataParallel`` never returns, and no interrupt stops it; a fresh process can be stopped. Where that happens, a
    note says so, and claims that need two GPUs are not measured.
    """
    gpus = try_all_gpus()
    broken = len(gpus) >= 2 and not exchanges()
    needs.rule_out("two_gpus", broken)
    if not broken:
        return gpus
    display(Block(f"<p>{_ONE_ONLY.html()}</p>", str(_ONE_ONLY)))
    return gpus[:1]


def exchanges() -> bool:
    """Return whether all GPUs exchange data rightly within the limit; other errors are left to the lesson's cells."""
    try:
        run_fresh(EXCHANGE, seconds=LIMIT_SECONDS)
    except RuntimeError as error:
        return not any(words in str(error) for words in ("still running", "wrong values arrived"))
    return True
