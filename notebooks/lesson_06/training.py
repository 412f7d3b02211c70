"""Start the learner's copy of ``train.py``, or what was made of it, from the beginning."""

import json
from pathlib import Path

import torch

from notebook_torchrun import launch


def trained(script: str, processes: int) -> list[dict[str, float]]:
    """Train two epochs in float64 and return the line that the script logs after each.

    Args:
        script: The name of a file in ``mine``, without ``.py``.
        processes: How many ranks; they take GPUs only where there are two, so that one and two ranks can be compared.

    Raises:
        RuntimeError: A rank failed.
    """
    checkpoint, log = Path("mine", "run.pt"), Path("mine", "run.jsonl")
    for file in (checkpoint, log):
        file.unlink(missing_ok=True)
    options = ["--precision", "float64", "--epochs", 2]
    options += ["--checkpoint", checkpoint.as_posix(), "--log-file", log.as_posix()]
    alike = {} if torch.cuda.device_count() >= 2 else {"CUDA_VISIBLE_DEVICES": ""}
    launch(f"mine/{script}.py", *options, processes=processes, environment=alike, limit=180).check()
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
