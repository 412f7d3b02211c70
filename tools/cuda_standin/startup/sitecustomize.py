"""Installs the stand-in in every Python process that finds this folder on its path, as soon as it imports PyTorch."""

import importlib.util
import os
import sys


class _Hook:
    """Loads the device before PyTorch, and patches PyTorch after it."""

    def find_spec(self, name, path=None, target=None):
        """Return the specification of PyTorch with our steps before and after its own, and None for all else."""
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        from tools.cuda_standin import driver, install

        driver.load(os.path.dirname(spec.origin))
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            install.patch(os.environ["CUDA_STANDIN"])

        spec.loader.exec_module = exec_module
        return spec


# torchrun and its ranks, which are forked from it, see the real machine: the stand-in has no NCCL.
launched = "LOCAL_RANK" in os.environ or any("notebook_torchrun" in word for word in sys.orig_argv)
if os.environ.get("CUDA_STANDIN") and not launched:
    sys.meta_path.insert(0, _Hook())
