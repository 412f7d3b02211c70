"""A stand-in for CUDA: lets the lessons' GPU branches run where there is no GPU.

``python -m tools.cuda_standin`` executes notebooks on machines of several kinds and reports what goes wrong; see
:mod:`tools.cuda_standin.__main__`. Tensors on ``cuda:0`` are real PyTorch tensors whose operations the CPU carries out
(``device.cpp``); :mod:`tools.cuda_standin.install` supplies what ``torch.cuda`` asks the driver for.

What it cannot show: how long anything takes, `torch.compile` for a GPU, what the profiler sees of one, NCCL and the
processes of ``torchrun`` (they see the CPU), and errors that a kernel finds late (they come at once).
"""
