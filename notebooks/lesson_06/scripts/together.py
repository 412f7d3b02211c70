import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, world_size = ..., ...  # my number, and how many we are

mine = torch.tensor([rank + 1.0])  # 1.0 on rank 0, 2.0 on rank 1
...  # one collective: afterwards every rank holds the sum over all ranks

print(f"rank {rank} of {world_size}: together {mine.item():g}")
dist.destroy_process_group()
