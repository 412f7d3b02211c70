import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, world_size = dist.get_rank(), dist.get_world_size()
x = torch.linspace(-3, 3, 64).unsqueeze(1)[rank::world_size]  # my share
y = torch.sin(x)

torch.manual_seed(0)  # the same weights on every rank
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    loss = ((model(x) - y) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)  # the sum
        parameter.grad /= world_size
    optimizer.step()

print(f"rank {rank}: weight {model.weight.item():.4f}")
dist.destroy_process_group()
