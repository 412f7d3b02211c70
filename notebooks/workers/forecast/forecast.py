"""Forecast a time series on 0, 1 or N GPUs.

python forecast.py
torchrun --standalone --nproc-per-node=2 forecast.py
"""

import math
import os
import signal
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

import run_folder
from checkpoint import load, save
from command_line import arguments
from devices import Sampler
from final_test import finish
from prepare import prepare
from ranks import add_up, decide, say, start, wait
from run_folder import Log, RunError, read_run
from series import SeriesError, Windows


def choose_folder(options: Namespace) -> Path:
    """Let rank 0 make the run's folder, or find the one to go on in, for all ranks."""
    found = None
    if options.rank == 0:
        found, again = options.resume, os.environ.get("TORCHELASTIC_RESTART_COUNT")
        if again not in (None, "0") and not found:  # torchrun has restarted the ranks
            found = run_folder.folder_of_job(options.results, options.config["job"])
        about = run_folder.environment(options.devices)
        if found:
            if read_run(found).config["digest"] != options.config["digest"]:
                raise RunError(f"{found} began with other data than {options.data}")
            (Path(found) / "stop").unlink(missing_ok=True)
            run_folder.write_environment(Path(found), about)
        else:
            name, config = options.name, options.config
            found = run_folder.new_folder(options.results, name, config, about)
    folder = Path(decide(str(found)))
    say(options, f"results: {folder}")
    return folder


def shares(options: Namespace, count: int, first: int) -> Iterator[Tensor]:
    """Yield which of `count` windows this rank takes in each step from `first` on.

    The order of an epoch depends on seed and epoch only: at whatever step a run goes
    on, and with however many ranks, each step uses the windows it would have used.
    """
    order = None
    for step in range(first, options.steps):
        epoch, place = divmod(step, options.steps_per_epoch)
        if place == 0 or order is None:
            own = torch.Generator().manual_seed(hash((options.seed, epoch)))
            order = torch.randperm(count, generator=own)
            order = order if options.workers else order.to(options.device)
        batch = order[place * options.batch : (place + 1) * options.batch]
        yield batch[options.rank :: options.world]


def ignore_signals(worker: int) -> None:
    """Leave Ctrl+C and SIGTERM, which reach all processes of a rank, to the rank."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def batches(options: Namespace, windows: Windows, first: int) -> Iterator[tuple]:
    """Yield this rank's share of each batch, on its device."""
    lists = shares(options, len(windows), first)
    if not options.workers:  # the series lies there: nothing has to be moved
        yield from map(windows.batch, lists)
        return
    # fork copies locks held by CUDA's and NCCL's threads, but not the threads.
    settings = {"num_workers": options.workers, "multiprocessing_context": "spawn"}
    settings |= {"worker_init_fn": ignore_signals}
    settings["pin_memory"] = options.device.type == "cuda"
    lists = (share.tolist() for share in lists)
    for batch in DataLoader(windows, batch_sampler=lists, **settings):
        yield tuple(part.to(options.device, non_blocking=True) for part in batch)


def rate_factor(step: int, steps: int) -> float:
    """Warm up in a tenth of all steps, then fall to zero like a cosine."""
    done = step / steps
    return min(1, 10 * done + 1 / steps) * (1 + math.cos(math.pi * done)) / 2


def autocast(options: Namespace) -> torch.autocast:
    low = {"bfloat16": torch.bfloat16, "float16": torch.float16}.get(
        options.precision
    )
    return torch.autocast(options.device.type, low, enabled=low is not None)


def train_step(step: int, batch: tuple, parts: dict, options: Namespace) -> Tensor:
    """Take one step with this rank's share of a batch and return its mean loss."""
    # Dropout depends on seed, step and rank only, so that any step can be the first.
    torch.manual_seed(hash((options.seed, step, options.rank)))
    optimizer, scaler = parts["optimizer"], parts["scaler"]
    for group in optimizer.param_groups:
        group["lr"] = options.learning_rate * rate_factor(step, options.steps)
    *known, future = batch
    with autocast(options):
        loss = nn.functional.mse_loss(parts["model"](*known), future)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)  # clip the gradients themselves
    nn.utils.clip_grad_norm_(parts["net"].parameters(), max_norm=1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
    return loss.detach()


def build(options: Namespace) -> dict:
    """Return the network, its wrapper for several ranks, and the optimizer."""
    torch.manual_seed(options.seed)  # all ranks build the same network
    tf32 = options.precision == "tf32"  # said either way: some images begin with TF32
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    net = options.module.Model(len(options.config["columns"]), **options.settings)
    model = net.to(options.device)
    if options.world > 1:
        ids = [options.device] if options.device.type == "cuda" else None
        model = DistributedDataParallel(net, ids, gradient_as_bucket_view=True)
    if options.compile:
        model = torch.compile(model)
    settings = {"weight_decay": 1e-4, "fused": True}
    optimizer = torch.optim.AdamW(net.parameters(), options.learning_rate, **settings)
    scaled = options.precision == "float16"  # only float16 underflows
    scaler = torch.amp.GradScaler(options.device.type, enabled=scaled)
    return {"net": net, "model": model, "optimizer": optimizer, "scaler": scaler}


def evaluate(net: nn.Module, windows: Windows, options: Namespace) -> dict:
    """Return the errors of all windows, each of which one rank counts, once."""
    numbers = torch.arange(len(windows))[options.rank :: options.world]
    sums = torch.zeros(2, options.settings["ahead"], dtype=torch.float64)
    sums = sums.to(options.device)
    net.eval()
    with torch.inference_mode(), autocast(options):
        for share in numbers.split(options.batch):
            found = (part.to(options.device) for part in windows.batch(share))
            *known, future = found
            gap = (net(*known) - future).double()
            sums += torch.stack([gap.square(), gap.abs()]).sum((1, 3))
    net.train()
    add_up(sums)  # a mean of means would weigh unequal shares equally
    squared, absolute = sums.cpu() / len(windows) / len(options.config["columns"])
    means = {"mse": squared.mean().item(), "mae": absolute.mean().item()}
    return means | {"per_horizon": squared.tolist()}


def meet(total: Tensor, count: int, asked: bool, options: Namespace) -> tuple:
    """Return the mean loss of all ranks, and whether any of them is asked to stop."""
    own = torch.tensor(float(asked), device=options.device)
    loss, asked = add_up(torch.stack([total, own])).tolist()  # waits for the device
    if not math.isfinite(loss):
        raise RunError("the loss is not finite any more: try a lower --learning-rate")
    return loss / count / options.world, asked > 0


def end_epoch(
    line: dict, net: nn.Module, windows: Windows, progress: dict, options: Namespace
) -> None:
    """Measure what was learnt on the validation part; remember the best so far."""
    line["val_mse"] = evaluate(net, windows, options)["mse"]
    if not progress["best"] or line["val_mse"] < progress["best"]["val_mse"]:
        weights = {name: own.clone() for name, own in net.state_dict().items()}
        best = {"val_mse": line["val_mse"], "epoch": line["epoch"], "net": weights}
        progress["best"] = best
    names = "loss", "val_mse", "windows_per_second"
    values = ", ".join(f"{name} {line[name]:.4g}" for name in names)
    say(options, f"epoch {line['epoch']}: {values}")


class Clock:
    """Counts seconds and windows per second since the last line of the log."""

    def __init__(self, step: int, seconds: float) -> None:
        self.step, self.last = step, time.perf_counter()
        self.began = self.last - seconds

    def line(self, step: int, loss: float, options: Namespace) -> dict:
        now, epoch = time.perf_counter(), (step - 1) // options.steps_per_epoch
        speed = (step - self.step) * options.batch / (now - self.last)
        rate = options.learning_rate * rate_factor(step - 1, options.steps)
        line = {"step": step, "epoch": epoch, "seconds": now - self.began}
        line |= {"loss": loss, "learning_rate": rate}
        return line | {"windows_per_second": speed}

    def next(self, step: int) -> None:
        """Begin the next line, after an evaluation or a checkpoint."""
        self.step, self.last = step, time.perf_counter()


def train(
    folder: Path, windows: dict, parts: dict, progress: dict, options: Namespace
) -> bool:
    """Take the steps that are missing; return whether all have been taken."""
    log = Log(folder, progress["step"], options.rank == 0)
    each = max(1, options.steps_per_epoch // 20)  # steps for a line of the log
    clock = Clock(progress["step"], progress["seconds"])
    total = torch.zeros((), device=options.device)
    for batch in batches(options, windows["train"], clock.step):
        total += train_step(progress["step"], batch, parts, options)
        step = progress["step"] = progress["step"] + 1
        place = step % options.steps_per_epoch
        ended = place == 0 or step == options.steps
        if place % each and not ended:
            continue  # most steps wait neither for the device nor for other ranks
        asked = options.asked or (options.rank == 0 and (folder / "stop").exists())
        loss, stop = meet(total, step - clock.step, asked, options)
        line = clock.line(step, loss, options)
        progress["seconds"] = line["seconds"]
        if ended:
            end_epoch(line, parts["net"], windows["val"], progress, options)
        log.add(line, sync=stop or ended)
        if stop or ended:
            save(folder, parts, progress, options)
        if stop:
            break
        total.zero_()
        clock.next(step)
    log.close()
    return progress["step"] == options.steps


def listen(options: Namespace) -> None:
    """Let SIGINT (Ctrl+C) and SIGTERM end the run with a checkpoint."""
    options.asked = False

    def ask(number: int, frame: object) -> None:
        options.asked = True
        # A second Ctrl+C ends it at once. SIGTERM comes twice: torchrun passes it on.
        if number == signal.SIGINT:
            signal.signal(number, signal.SIG_DFL)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ask)


def run(folder: Path, windows: dict[str, Windows], options: Namespace) -> None:
    """Train as far as is missing, and test."""
    listen(options)
    parts = build(options)
    progress = load(folder, parts, options)
    if decide((folder / "metrics.json").exists()):
        return say(options, "this run has ended already")
    watched = options.rank == 0 and options.watch  # the devices, once per run
    sampler = Sampler(folder / "devices.jsonl", options.watch) if watched else None
    with sampler or nullcontext():
        if not train(folder, windows, parts, progress, options):
            return say(options, f"stopped: resume with --resume {folder}")
    parts["net"].load_state_dict(progress["best"]["net"])
    found = {"test": evaluate(parts["net"], windows["test"], options)}
    names = {"val_mse": "val_mse", "best_epoch": "epoch"}
    found |= {name: progress["best"][other] for name, other in names.items()}
    found |= {"seconds": progress["seconds"], "epochs": options.epochs}
    if options.rank == 0:
        finish(folder, parts["net"], found, windows, options)
    wait()  # so that no rank leaves the group while another is at work


@record  # torchrun then names the rank that failed first, and why
def main() -> None:
    folder, rank = None, os.environ.get("RANK")
    try:
        options = arguments()
        start(options)
        windows = prepare(options)
        folder = choose_folder(options)
        run(folder, windows, options)
    except (SeriesError, RunError, OSError) as error:
        who = f"rank {rank}: " if rank else ""
        more = f"\nYou can go on from here: --resume {folder}" if folder else ""
        raise SystemExit(f"{who}{error}{more}") from None
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
