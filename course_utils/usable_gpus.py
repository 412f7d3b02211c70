"""A GPU that PyTorch lists and on which it cannot compute: the lesson goes on without it, and says so."""

import os
from unittest.mock import patch

import torch

from bilingual import Bilingual, texts
from course_utils.machine import smi_query
from course_utils.needs import works
from torch_doctor.diagnosis.cuda_tables import has_code_for

# In a process of its own: once CUDA has started in this one, a GPU can no longer be hidden.
_PRODUCT = """
import torch

def computes(index):
    try:
        x = torch.ones(8, 8, device=f"cuda:{index}")
        return (x @ x).sum().item() == 512
    except RuntimeError:
        return False

assert any(computes(index) for index in range(torch.cuda.device_count()))
"""


def _without_code() -> list[str]:
    """Return the names of this machine's GPUs for whose generation PyTorch has no code.

    It asks the driver and starts no CUDA. On AMD, where the code has other names, there are none.
    """
    if not torch.cuda.device_count() or torch.cuda.is_initialized() or torch.version.hip:
        return []
    rows = [line.rsplit(", ", 1) for line in (smi_query("name,compute_cap") or "").splitlines()]
    # Otherwise PyTorch 2.11 asks CUDA here, and once CUDA has counted the GPUs, none can be hidden any more.
    with patch.dict(os.environ, {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}):
        compiled = torch.cuda.get_arch_list()
    known = [(name, told.replace(".", "")) for name, told in rows]
    return [name for name, told in known if told.isdigit() and not has_code_for(int(told), compiled)]


def hide_unusable() -> Bilingual | None:
    """Hide the GPUs of this machine if a small product fails on each of them.

    The product is tried only where PyTorch has no code for one of them: it takes some seconds.

    Returns:
        What to tell the learner; None if nothing was hidden.
    """
    names = _without_code()
    if not names or works(_PRODUCT):
        return None
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    return texts(__file__)["hidden"].format(names=", ".join(names))
