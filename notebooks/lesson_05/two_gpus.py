"""Find out whether two GPUs can exchange data before the lesson depends on it."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from course_utils.fresh_process import run_fresh

LIMIT_SECONDS = 90.0
EXCHANGE = """
import torch
from torch import nn

model = nn.DataParallel(nn.Linear(64, 64).to("cuda:0"), device_ids=[0, 1])
model(torch.ones(8, 64, device="cuda:0")).sum().backward()
torch.ones(1 << 20, device="cuda:0").to("cuda:1").sum().item()
"""


def check_exchange(gpus: Sequence[torch.device]) -> None:
    """Raise if GPU 0 and GPU 1 hang when they exchange data; without two GPUs, do nothing.

    On some machines the direct connection of two GPUs is broken (PCIe access control, virtual machines). A call of
    ``nn.DataParallel`` then never returns, and no interrupt stops it. A fresh process can be stopped.

    Args:
        gpus: The devices of the lesson.

    Raises:
        RuntimeError: The exchange took more than :data:`LIMIT_SECONDS`.
    """
    if len(gpus) < 2:
        return
    try:
        run_fresh(EXCHANGE, seconds=LIMIT_SECONDS)
    except RuntimeError as error:
        if "still running" not in str(error):
            return  # another error, which the lesson's own cells will show
        raise RuntimeError(
            f"GPU 0 and GPU 1 did not exchange a tensor within {LIMIT_SECONDS:g} seconds. Restart the kernel and run "
            '`import os; os.environ["CUDA_VISIBLE_DEVICES"] = "0"` before the first cell (one GPU), or the same with '
            '"NCCL_P2P_DISABLE" and "1"; and look at what doctor("hang") says. · '
            f"GPU 0 和 GPU 1 在 {LIMIT_SECONDS:g} 秒內沒有成功交換張量。請重新啟動核心，在第一格之前先執行 "
            '`import os; os.environ["CUDA_VISIBLE_DEVICES"] = "0"`（只用一張 GPU），或改設 "NCCL_P2P_DISABLE" 為 "1"；'
            '也請看看 doctor("hang") 怎麼說。'
        ) from None
