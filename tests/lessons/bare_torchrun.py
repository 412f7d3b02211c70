"""Start a script as a reader does: in a folder of its own, under torchrun, without anything of the course."""

import os
import subprocess
import sys
from pathlib import Path


def run_script(
    folder: Path, script: str, ranks: int, *words: object, restarts: int = 0, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Return how the script ended, and what it printed.

    Args:
        folder: Where it runs.
        script: Its name.
        ranks: How many processes; 0: without torchrun.
        words: Its arguments.
        restarts: How often torchrun restarts all ranks.
        variables: For its environment.
    """
    kept = ("PATH", "HOME", "TMPDIR", "SYSTEMROOT", "LANG")
    environment = {name: os.environ[name] for name in kept if name in os.environ} | variables
    environment |= {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    environment["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"  # as in slurm.sbatch
    options = ["--standalone", f"--nproc-per-node={ranks}", f"--max-restarts={restarts}"]
    torchrun = ["-m", "torch.distributed.run", *options] if ranks else []
    command = [sys.executable, *torchrun, script, *map(str, words)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=400)
