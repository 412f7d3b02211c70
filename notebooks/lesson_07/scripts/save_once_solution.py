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


if rank == 0:
    save("checkpoint.part")  # a job that ends here leaves the old checkpoint whole
    os.replace("checkpoint.part", "checkpoint.pt")
dist.barrier()
weights = torch.load("checkpoint.pt")
print(f"rank {rank}: {len(weights)} tensors")
dist.destroy_process_group()
