"""Perturb training in this Python process; :mod:`tools.perturb` copies this file to where Python runs it at its start.

The noise depends on the values of a gradient only: copies with equal gradients (two devices, a resumed run) get equal
noise, and stay equal. PyTorch is not imported here, but changed as soon as the process imports it.
"""

import os
import sys
import zlib
from importlib.machinery import PathFinder


def _generator(values):
    import torch

    return torch.Generator().manual_seed(zlib.crc32(f"{os.environ['COURSE_PERTURB_SEED']} {values}".encode()))


def _add_noise(optimizer, args, kwargs):
    import torch

    for p in [p for group in optimizer.param_groups for p in group["params"]]:
        if type(p.grad) is torch.Tensor and p.grad.is_floating_point():  # neither None nor distributed
            seeded = _generator(p.grad.detach().flatten()[:64].tolist())
            noise = torch.randn(p.grad.shape, generator=seeded, dtype=torch.float64).to(p.grad.device)
            p.grad.copy_(p.grad.double() * (1 + torch.finfo(p.grad.dtype).eps * noise))


def _change_optimizer(module):
    module.register_optimizer_step_pre_hook(_add_noise)


def _change_sampler(module):
    batches = module.BatchSampler.__iter__

    def reordered(self):
        import torch

        free = isinstance(self.sampler, module.RandomSampler) or getattr(self.sampler, "shuffle", False)
        for batch in batches(self):
            order = torch.randperm(len(batch), generator=_generator(batch)) if free else range(len(batch))
            yield [batch[i] for i in order]

    module.BatchSampler.__iter__ = reordered


class _Finder:
    changes = {"torch.optim.optimizer": _change_optimizer, "torch.utils.data.sampler": _change_sampler}

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name not in cls.changes:
            return None
        spec = PathFinder.find_spec(name, path)
        run = spec.loader.exec_module
        spec.loader.exec_module = lambda module: (run(module), cls.changes[name](module))
        return spec


if __name__ == "sitecustomize":
    sys.meta_path.insert(0, _Finder)
