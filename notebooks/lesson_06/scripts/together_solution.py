import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, world_size = dist.get_rank(), dist.get_world_size()

mine = torch.tensor([rank + 1.0])  # 1.0 on rank 0, 2.0 on rank 1
dist.all_reduce(mine)

print(f"rank {rank} of {world_size}: together {mine.item():g}")
dist.destroy_process_group()
