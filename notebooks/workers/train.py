"""Train a LeNet on 0, 1 or N GPUs: torchrun --standalone --nproc-per-node=2 train.py

Started again with the same checkpoint, it goes on where it stopped.
"""

import argparse
import os
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from notebook_torchrun import report
from shared.digits import digits
from shared.networks import lenet

LIMIT = timedelta(seconds=60)  # for every wait


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch", type=int, default=64, help="of all ranks together")
    parser.add_argument("--learning-rate", type=float, default=0.03)
    parser.add_argument("--precision", default="float32", help="or float64, bfloat16")
    parser.add_argument("--crash-in-epoch", type=int, help="rank 1 is killed, once")
    return parser.parse_args()


def start() -> torch.device:
    """Join the others and return this process's own device."""
    local_rank = int(os.environ["LOCAL_RANK"])
    enough_gpus = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])
    if enough_gpus and dist.is_nccl_available():
        device = torch.device("cuda", local_rank)
        torch.cuda.set_device(device)
        torch.backends.cudnn.deterministic = True  # repeatable to the last bit
        dist.init_process_group("nccl", timeout=LIMIT, device_id=device)
        return device
    dist.init_process_group("gloo", timeout=LIMIT)
    return torch.device("cpu")


def prepared(images: torch.Tensor) -> torch.Tensor:
    """Enlarge the digits for LeNet; mean and standard deviation become about 0 and 1."""
    larger = nn.functional.interpolate(images[:, None], 28, mode="bilinear")
    return (larger - 0.3) / 0.3


def training_data(batch: int) -> tuple[DataLoader, DistributedSampler]:
    data = digits()
    dataset = TensorDataset(prepared(data.images), data.labels)
    sampler = DistributedSampler(dataset, seed=0)  # a share for each rank, shuffled
    per_rank = batch // dist.get_world_size()
    # drop_last: no rank gets a smaller last batch than the others.
    return DataLoader(dataset, per_rank, sampler=sampler, drop_last=True), sampler


def accuracy(model: DistributedDataParallel, device: torch.device) -> float:
    """Return the share of right answers on the test images; all ranks take part."""
    data, rank, world_size = digits(), dist.get_rank(), dist.get_world_size()
    mine = slice(rank, None, world_size)  # no padding: no image counts twice
    images = prepared(data.test_images[mine])
    images = images.to(device, next(model.parameters()).dtype)
    labels = data.test_labels[mine].to(device)
    model.eval()
    for buffer in model.module.buffers():  # BatchNorm: each rank updates its own
        dist.broadcast(buffer, src=0)
    with torch.no_grad():
        right = (model.module(images).argmax(1) == labels).sum()
    counts = torch.stack([right, torch.tensor(len(labels), device=device)])
    dist.all_reduce(counts)  # sums, not means of means
    return (counts[0] / counts[1]).item()


def save(path: Path, epoch: int, parts: dict, device: torch.device) -> None:
    """Write all that the next epoch depends on; replace the old file in one step."""
    random = torch.get_rng_state()
    if device.type == "cuda":
        random = torch.cat([random, torch.cuda.get_rng_state()])
    random = random.to(device)
    of_all_ranks = [torch.empty_like(random) for _ in range(dist.get_world_size())]
    dist.all_gather(of_all_ranks, random)
    if dist.get_rank() == 0:
        state = {name: part.state_dict() for name, part in parts.items()}
        torch.save(state | {"epoch": epoch, "random": of_all_ranks}, f"{path}.part")
        os.replace(f"{path}.part", path)


def load(path: Path, parts: dict, device: torch.device) -> int:
    """Restore everything and return the next epoch; without a file, the first."""
    if not path.exists():
        return 0
    state = torch.load(path, map_location="cpu", weights_only=True)
    for name, part in parts.items():
        part.load_state_dict(state[name])
    random = state["random"][dist.get_rank()]
    host, gpu = random.tensor_split([len(torch.get_rng_state())])
    torch.set_rng_state(host)
    if len(gpu):
        torch.cuda.set_rng_state(gpu)
    return state["epoch"] + 1


def main() -> None:
    options = arguments()
    device = start()
    checkpoint = Path(os.environ.get("CHECKPOINT", "checkpoint.pt"))
    precision = getattr(torch, options.precision)
    mixed = precision in (torch.bfloat16, torch.float16)
    dtype = torch.float32 if mixed else precision  # of weights, images and sums

    torch.manual_seed(0)
    loader, sampler = training_data(options.batch)
    mine = [device] if device.type == "cuda" else None
    model = DistributedDataParallel(lenet().to(device, dtype), device_ids=mine)
    rate = options.learning_rate
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    scheduler = CosineAnnealingLR(optimizer, options.epochs)
    scaler = torch.amp.GradScaler(device.type, enabled=precision == torch.float16)
    parts = {"model": model.module, "optimizer": optimizer}
    parts |= {"scheduler": scheduler, "scaler": scaler}

    losses, first = [], load(checkpoint, parts, device)
    for epoch in range(first, options.epochs):
        sampler.set_epoch(epoch)  # another order in every epoch
        model.train()
        total = torch.zeros(2, device=device, dtype=dtype)
        for step, (images, labels) in enumerate(loader):
            images, labels = images.to(device, dtype), labels.to(device)
            shift = torch.randint(-2, 3, (2,)).tolist()  # the same on all ranks
            images = images.roll(shift, dims=(2, 3))
            with torch.autocast(device.type, precision, enabled=mixed):
                loss = nn.functional.cross_entropy(model(images), labels)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            sums = torch.stack([loss.detach(), torch.ones_like(loss)])
            total += sums * len(labels)
            if epoch == options.crash_in_epoch and step == 5:
                crash()
        scheduler.step()
        dist.all_reduce(total)
        losses.append((total[0] / total[1]).item())
        save(checkpoint, epoch, parts, device)
        if dist.get_rank() == 0:  # in ⟨ ⟩: what may differ between machines
            print(f"epoch {epoch}: loss ⟨{losses[-1]:.3f}⟩")
    report(first_epoch=first, losses=losses, accuracy=accuracy(model, device))


def crash() -> None:
    if dist.get_rank() == 1 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        os.kill(os.getpid(), 9)


if __name__ == "__main__":
    main()
    dist.destroy_process_group()  # last: a model that outlives its group may hang
