import os
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank = dist.get_rank()
model = torch.nn.Linear(4, 2)


def save(file):
    time.sleep(1)  # a large model takes a while
    torch.save(model.state_dict(), file)


if ...:  # one rank writes
    save("checkpoint.part")  # a job that ends here leaves the old checkpoint whole
    ...  # the finished file gets its name, checkpoint.pt, in one step
...  # nobody goes on before it is there
weights = torch.load("checkpoint.pt")
print(f"rank {rank}: {len(weights)} tensors")
dist.destroy_process_group()
