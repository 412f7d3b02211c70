"""Train or resume on 0 to N GPUs: torchrun --standalone --nproc-per-node=2 train.py"""

import json
import math
import os
import socket
import sys
import time
from argparse import ArgumentParser, Namespace
from contextlib import nullcontext
from datetime import timedelta
from functools import partial
from pathlib import Path

import torch
import torch.distributed as dist

# Imported later, as DDP does, it holds the group, whose threads then never end.
import torch.distributed.nn.functional  # noqa: F401
from torch import multiprocessing, nn
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset

LIMIT = timedelta(minutes=10)  # for a rank that downloads or writes a checkpoint
# A run goes on only as it began: its learning rate follows a plan for all its steps.
LASTING = ["epochs", "batch", "learning_rate", "dropout", "precision", "seed"]


def arguments() -> Namespace:
    parser = ArgumentParser(description=__doc__)
    add = parser.add_argument
    add(
        "--epochs", type=int, default=4, help="of the run; to add some is another run"
    )
    add("--batch", type=int, default=64, help="of all ranks; take 240 for any N to 6")
    add("--accumulate", type=int, default=1, help="parts of each rank's share of it")
    add("--learning-rate", type=float, default=0.1)
    add("--dropout", type=float, default=0.0)
    precisions = ["float64", "float32", "bfloat16", "float16"]
    add("--precision", choices=precisions, default="float32")
    add("--workers", type=int, default=0, help="readers per rank, new in each epoch")
    add("--checkpoint", type=Path, default=Path("checkpoint.pt"))
    add("--log-file", type=Path, help="gets a line of JSON after each epoch")
    add("--seed", type=int, default=0)
    add("--deterministic", action="store_true", help="repeat every bit on GPUs, too")
    add("--tf32", choices=["none", "convolutions", "all"], default="convolutions")
    add("--gpu", action="store_true", help="stop on a machine without GPUs")
    options = parser.parse_args()
    options.lasting = {name: getattr(options, name) for name in LASTING}
    low = getattr(torch, options.precision)
    options.autocast = partial(torch.autocast, dtype=low, enabled=low.itemsize == 2)
    options.scaled = low == torch.float16  # only float16 underflows
    options.dtype = torch.promote_types(low, torch.float32)  # of the weights
    return options


def start(options: Namespace) -> torch.device:
    """Join the other ranks and return this process's own device."""
    if "LOCAL_RANK" not in os.environ:
        raise SystemExit("start: torchrun --standalone --nproc-per-node=1 train.py")
    names = "LOCAL_RANK", "LOCAL_WORLD_SIZE", "WORLD_SIZE"
    local_rank, ranks, world = (int(os.environ[name]) for name in names)
    if min(options.epochs, options.batch, options.accumulate) < 1:
        raise ValueError("--epochs, --batch and --accumulate must be at least 1")
    if options.batch % (world * options.accumulate):
        parts = f"{world} ranks x {options.accumulate}"
        raise ValueError(f"--batch {options.batch} must be a multiple of {parts}")
    gpus = torch.cuda.device_count()
    if gpus < ranks and (gpus or options.gpu):  # without any and --gpu, on the CPU
        raise ValueError(f"{socket.gethostname()} has {gpus} GPUs for {ranks} ranks")
    device = torch.device("cuda", local_rank) if gpus else torch.device("cpu")
    if gpus:
        torch.cuda.set_device(device)
    nccl = gpus and dist.is_nccl_available()  # it is not on Windows
    backend, own = ("nccl", device) if nccl else ("gloo", None)
    dist.init_process_group(backend, timeout=LIMIT, device_id=own)
    say(f"ranks {dist.get_world_size()}, {dist.get_backend()}, {device}")
    return device


def say(text: str) -> None:
    if dist.get_rank() == 0:  # once, not once per rank
        print(text, flush=True)


def write(content: object, path: Path) -> None:
    """Write a file that is never half a file, whenever this process is killed."""
    part = Path(f"{path}.{socket.gethostname()}.{os.getpid()}.part")
    torch.save(content, part)
    with part.open("rb+") as file:
        os.fsync(file.fileno())  # the bytes reach the disk before the name does
    part.replace(path)
    for left in path.parent.glob(f"{path.name}.{socket.gethostname()}.*.part"):
        left.unlink(missing_ok=True)  # of killed runs; one that writes now stops


def made_images(count: int, seed: int) -> TensorDataset:
    """Return images of ten patterns, shifted, with more or less contrast, noisy."""
    coarse = torch.randn(10, 1, 7, 7, generator=torch.Generator().manual_seed(0))
    patterns = nn.functional.interpolate(coarse, 28, mode="bilinear")
    own = torch.Generator().manual_seed(seed)
    shifts = torch.randint(-3, 4, (count, 2), generator=own).tolist()
    images = [patterns[n % 10].roll(by, (1, 2)) for n, by in enumerate(shifts)]
    images = torch.stack(images) * (0.5 + torch.rand(count, 1, 1, 1, generator=own))
    images += 1.5 * torch.randn(images.shape, generator=own)
    return TensorDataset(images / 2, torch.arange(count) % 10)


def prepare_data() -> tuple[TensorDataset, TensorDataset]:
    """Return the data for training and for testing: yours, of any size."""
    # With files: if os.environ["LOCAL_RANK"] == "0": download(); then dist.barrier().
    return made_images(2048, seed=1), made_images(512, seed=2)


def loaders(options: Namespace) -> tuple[DataLoader, DataLoader]:
    """Return this rank's shares of the data for training and for testing."""
    train, test = prepare_data()
    if options.batch > len(train):
        raise ValueError(f"--batch {options.batch} is more than {len(train)} images")
    rank, world = dist.get_rank(), dist.get_world_size()
    # fork copies locks that CUDA's threads hold: so a server forks, which has none.
    multiprocessing.set_forkserver_preload(["torch"])  # once, not in each epoch
    context = "forkserver" if sys.platform == "linux" else "spawn"
    settings = {"num_workers": options.workers, "batch_size": options.batch // world}
    settings["multiprocessing_context"] = context if options.workers else None
    settings["pin_memory"] = options.device.type == "cuda"
    sampler = DistributedSampler(train, seed=options.seed, drop_last=True)
    share = Subset(test, range(rank, len(test), world))  # no padding, so counted once
    trainer = DataLoader(train, sampler=sampler, drop_last=True, **settings)
    return trainer, DataLoader(share, **settings)


def network(dropout: float) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(dropout),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip


def rate_factor(step: int, steps: int) -> float:
    """Warm up in a tenth of all steps, then fall to zero like a cosine."""
    done = step / steps
    return min(1, 10 * done + 1 / steps) * (1 + math.cos(math.pi * done)) / 2


def train_step(
    model: nn.Module, batch: list, parts: dict, options: Namespace
) -> torch.Tensor:
    """Take one step with this rank's share of a batch and return its mean loss."""
    mean, optimizer, scaler = 0.0, parts["optimizer"], parts["scaler"]
    pieces = zip(*(values.chunk(options.accumulate) for values in batch), strict=True)
    for number, (images, labels) in enumerate(pieces, start=1):
        images = images.to(options.device, options.dtype, non_blocking=True)
        labels = labels.to(options.device, non_blocking=True)
        # The gradients of the pieces add up here. They travel once, with the last one.
        with model.no_sync() if number < options.accumulate else nullcontext():
            with options.autocast(options.device.type):
                loss = nn.functional.cross_entropy(model(images), labels)
            loss = loss / options.accumulate
            scaler.scale(loss).backward()
        mean += loss.detach()
    scaler.unscale_(optimizer)  # clip the gradients themselves
    nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    parts["scheduler"].step()
    return mean


def train_epoch(
    epoch: int, model: nn.Module, loader: DataLoader, parts: dict, options: Namespace
) -> float:
    """Go through all images once and return the mean loss of all ranks."""
    # After a restart, an epoch and its new workers draw the numbers they would have.
    torch.manual_seed(hash((options.seed, epoch, dist.get_rank())))
    loader.sampler.set_epoch(epoch)  # another order in every epoch
    model.train()
    total = sum(train_step(model, batch, parts, options) for batch in loader)
    dist.all_reduce(total)
    return total.item() / len(loader) / dist.get_world_size()


def evaluate(model: nn.Module, loader: DataLoader, options: Namespace) -> float:
    """Return the share of right answers among all test images."""
    counts = torch.zeros(2, dtype=torch.int64, device=options.device)
    for buffer in model.module.buffers():  # BatchNorm's, which differ by rank
        dist.broadcast(buffer, src=0)
    model.eval()
    with torch.inference_mode(), options.autocast(options.device.type):
        for images, labels in loader:
            images = images.to(options.device, options.dtype, non_blocking=True)
            labels = labels.to(options.device, non_blocking=True)
            right = model.module(images).argmax(1) == labels
            counts[0] += right.sum()
            counts[1] += labels.numel()
    dist.all_reduce(counts)  # a mean of means would weigh unequal shares equally
    return (counts[0] / counts[1]).item()


def save(options: Namespace, log: list[dict], parts: dict) -> None:
    """Let rank 0 write all that the next epoch depends on."""
    if dist.get_rank() == 0:
        # The net, not its wrapper, which puts "module." before all names.
        state = {name: part.state_dict() for name, part in parts.items()}
        path = options.checkpoint
        if not all(value.isfinite().all() for value in state["net"].values()):
            raise FloatingPointError(f"NaN or inf in weights: {path} stays as it is")
        there = path.exists() and torch.load(path, "cpu", mmap=True)["log"]
        if there and str(there) != str(log[:-1]):  # as text: NaN is not equal to NaN
            raise ValueError(f"another run writes {path}, too: take another one")
        write(state | {"log": log, "options": options.lasting}, path)


def load(options: Namespace, parts: dict) -> list[dict]:
    """Restore everything and return the log of the epochs that are done."""
    path = options.checkpoint
    decision = [path.exists()]
    dist.broadcast_object_list(decision)  # one rank decides for all
    if decision == [False]:
        return []
    try:
        found = torch.load(path, map_location="cpu")  # from a disk that all see
        before = dict(found["options"].items() - options.lasting.items())
    except Exception as error:
        raise ValueError(f"{path} cannot be read as a checkpoint: {error}") from error
    if before:
        raise ValueError(f"{path} was written with {before}: take another one")
    log = [found["log"]]
    dist.broadcast_object_list(log)
    if str(log) != str([found["log"]]):
        raise ValueError(f"rank {dist.get_rank()} finds another {path} than rank 0")
    for name, part in parts.items():
        part.load_state_dict(found[name])
    say(f"resumed at epoch {len(found['log'])}")
    return found["log"]


def fit(options: Namespace) -> None:
    train, test = loaders(options)
    torch.manual_seed(options.seed)  # all ranks build the same network
    net = network(options.dropout).to(options.device, options.dtype)
    ids = [options.device] if options.device.type == "cuda" else None
    model = DistributedDataParallel(net, device_ids=ids, gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(net.parameters(), options.learning_rate, momentum=0.9)
    factor = partial(rate_factor, steps=options.epochs * len(train))
    plan = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
    scaler = torch.amp.GradScaler(options.device.type, enabled=options.scaled)
    parts = {"net": net, "optimizer": optimizer, "scheduler": plan, "scaler": scaler}
    log = load(options, parts)
    if len(log) == options.epochs:  # nothing is left to train
        note(options, log)
    for epoch in range(len(log), options.epochs):
        start = time.perf_counter()
        loss = train_epoch(epoch, model, train, parts, options)
        speed = len(train) * options.batch / (time.perf_counter() - start)
        accuracy, ranks = evaluate(model, test, options), dist.get_world_size()
        line = {"epoch": epoch, "ranks": ranks, "loss": loss, "accuracy": accuracy}
        log.append(line | {"images_per_second": speed})
        save(options, log, parts)  # first, as only what is saved is done
        note(options, log)


def note(options: Namespace, log: list[dict]) -> None:
    """Print what the last epoch has reached; write all lines, also of earlier starts."""
    names = "loss", "accuracy", "images_per_second"
    values = ", ".join(f"{name} {log[-1][name]:.3f}" for name in names)
    say(f"epoch {log[-1]['epoch']}: {values}")
    if options.log_file and dist.get_rank() == 0:
        options.log_file.write_text("".join(json.dumps(line) + "\n" for line in log))


@record  # torchrun then names the rank that failed first, and why
def main() -> None:
    options = arguments()
    if options.deterministic:  # where an operation cannot be, it raises an error
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True)
    # GPUs since Ampere may round float32 to TF32; "all" is much faster, where it is enough.
    torch.backends.cudnn.allow_tf32 = options.tf32 != "none"
    products = "high" if options.tf32 == "all" else "highest"
    torch.set_float32_matmul_precision(products)  # some containers switch TF32 on
    options.device = start(options)
    if dist.get_rank() == 0:  # stop now where it cannot write, not after an epoch
        trial = Path(f"{options.checkpoint}.trial")
        for path in filter(None, (trial, options.log_file)):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.open("a").close()
        trial.unlink(missing_ok=True)
    fit(options)  # its model goes before the group does, or it might wait for ever
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
