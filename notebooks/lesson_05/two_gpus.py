"""Keep lesson 05 away from real GPUs that cannot exchange data."""

import os
import warnings

import torch
from IPython.display import display

from bilingual import Block, texts
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

_HIDDEN = texts(__file__)["hidden"]


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
