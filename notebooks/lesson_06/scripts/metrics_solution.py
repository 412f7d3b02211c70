import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, world_size = dist.get_rank(), dist.get_world_size()
predicted = torch.tensor([3, 1, 4, 1, 5, 9, 2])
labels = torch.tensor([3, 1, 4, 0, 5, 0, 2])
predicted, labels = predicted[rank::world_size], labels[rank::world_size]

right = (predicted == labels).sum()  # in my share
counts = torch.stack([right, torch.tensor(len(labels))])
dist.all_reduce(counts)  # how many were right, and how many there were
accuracy = (counts[0] / counts[1]).item()

print(f"rank {rank}: accuracy {accuracy:.4f}")
dist.destroy_process_group()
