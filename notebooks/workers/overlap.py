"""What PyTorch's profiler sees of one step of DistributedDataParallel, in each rank."""

import json
import os
import tempfile
from pathlib import Path

import process_group
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile

from notebook_torchrun import report

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler is to be silent
device = process_group.start()
torch.manual_seed(0)
layers = [nn.Sequential(nn.Linear(512, 512), nn.ReLU()) for _ in range(6)]
ddp_model = DistributedDataParallel(
    nn.Sequential(*layers).to(device), bucket_cap_mb=1
)
batch = torch.randn(256, 512, device=device)


def step() -> None:
    ddp_model(batch).square().mean().backward()
    if device.type == "cuda":
        torch.cuda.synchronize()


for _ in range(3):  # the first step shows in which order gradients get ready
    step()
activities = [ProfilerActivity.CPU]
if device.type == "cuda":
    activities.append(ProfilerActivity.CUDA)
dist.barrier()
with profile(activities=activities, acc_events=True) as profiler:
    step()
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "trace.json")
    profiler.export_chrome_trace(str(path))
    events = json.loads(path.read_text())["traceEvents"]

spans = [event for event in events if event.get("ph") == "X" and "cat" in event]
for event in spans if device.type == "cpu" else ():
    event.pop("args", None)  # on a GPU, they tell the streams
report(trace=spans)
ddp_model = None  # freed before its group
dist.destroy_process_group()
