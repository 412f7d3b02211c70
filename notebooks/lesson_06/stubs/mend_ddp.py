import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
x = torch.linspace(-3, 3, 640).unsqueeze(1)
dataset = TensorDataset(x, torch.sin(x))
sampler = DistributedSampler(dataset)
loader = DataLoader(dataset, batch_size=32, shuffle=True)
model = torch.nn.Linear(1, 1)
ddp = DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for x, y in loader:
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if dist.get_rank() == 0:
        dist.all_reduce(loss)
        print(f"epoch {epoch}: mean loss {loss.item() / 2:.4f}")
dist.destroy_process_group()
