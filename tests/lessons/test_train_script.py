"""The template train.py: under bare torchrun in an empty folder, and its functions in this process; and the Slurm file."""

import argparse
import importlib.util
import itertools
import json
import math
import multiprocessing
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from bare_torchrun import run_script
from tabled import tabled

ROOT = Path(__file__).parents[2]
WORKERS = ROOT / "notebooks" / "workers"
Fit = Callable[..., list[float]]
# With few images; at the end each rank names the threads that are left. (What PyTorch imports late may hold the group: then
# its threads live on, and abort the process if they are in the midst of something as it ends ("terminate called without an
# active exception"), on a busy machine once in some dozen runs.)
SMALL = """
import os
from pathlib import Path

import train

train.prepare_data = lambda: (train.made_images(512, 1), train.made_images(100, 2))
if __name__ == "__main__":
    train.main()
    names = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
    line = " ".join(["left:", *(name for name in names if "gloo" in name)]) + "\\n"
    os.write(1, line.encode())  # one call, so that the lines of two ranks cannot mix
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder that holds the template, and a script that runs it with few images."""
    shutil.copy(WORKERS / "train.py", tmp_path)
    (tmp_path / "small.py").write_text(SMALL, encoding="utf-8")
    return tmp_path


def log(folder: Path, name: str) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]


def losses(lines: list[dict[str, float]]) -> list[float]:
    return [line["loss"] for line in lines]


# --- under torchrun -----------------------------------------------------------------------------------------


@pytest.mark.nightly  # by day lesson 06 trains with one process and with two, and its outputs are compared
@pytest.mark.parametrize("ranks", [2, 4])
def test_in_float64_they_compute_what_one_computes(ranks: int, folder: Path, fit: Fit, train: Any) -> None:
    """And no thread of the group outlives it."""
    train.prepare_data = lambda: (train.made_images(512, 1), train.made_images(100, 2))
    options = "--precision", "float64", "--epochs", 1
    (alone,) = fit(*options) and log(Path(), "log")
    files = "--checkpoint", "more.pt", "--log-file", "more"
    run = run_script(folder, "small.py", ranks, *options, *files)
    assert run.returncode == 0 and "Warning" not in run.stderr, run.stderr[-3000:]
    assert run.stdout.startswith(f"ranks {ranks}, gloo, cpu\n") and "\nepoch 0: loss " in run.stdout
    assert [line for line in run.stdout.splitlines() if "left:" in line] == ["left:"] * ranks
    (line,) = log(folder, "more")
    assert line["loss"] == pytest.approx(alone["loss"], rel=1e-9) and line["images_per_second"] > 0
    assert (line["epoch"], line["ranks"], line["accuracy"]) == (0, ranks, alone["accuracy"]), "of all images"
    one, more = (torch.load(f"{name}.pt", weights_only=True)["net"] for name in ("checkpoint", "more"))
    for name, value in one.items():
        torch.testing.assert_close(more[name], value, rtol=1e-9, atol=1e-12)
    assert not list(folder.glob("*.part")) and not list(folder.glob("*.trial"))


@pytest.mark.nightly
def test_torchrun_names_the_reason(folder: Path) -> None:
    run = run_script(folder, "train.py", 2, "--batch", 63)
    cause = run.stderr.partition("Root Cause (first observed failure):")[2]
    assert run.returncode == 1 and "ValueError: --batch 63 must be a multiple of 2 ranks x 1" in cause


# --- in this process, with few images -----------------------------------------------------------------------

# An error holds the frames, and so DDP, longer than its group. Where DDP frees a group last, PyTorch 2.13 waits for gloo's
# threads without giving up the GIL, which they may need to end: for ever. Therefore this list frees them.
GROUPS: list[Any] = []


@pytest.fixture
def train(folder: Path, monkeypatch: pytest.MonkeyPatch, one_thread: None) -> Iterator[Any]:
    """Return the template as a module, whose group is this process alone."""
    spec = importlib.util.spec_from_file_location("train_alone", folder / "train.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    join = dist.init_process_group

    def alone(backend: str, timeout: Any, device_id: Any) -> None:
        assert timeout.total_seconds() == 600 and device_id is None
        join(backend, store=dist.HashStore(), rank=0, world_size=1)
        GROUPS.append(dist.group.WORLD)

    for name, value in {"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1", "WORLD_SIZE": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(dist, "init_process_group", alone)
    module.prepare_data = lambda: (module.made_images(256, 1), module.made_images(100, 2))
    monkeypatch.chdir(folder)
    with torch.random.fork_rng(devices=[]):
        yield module
    if dist.is_initialized():
        dist.destroy_process_group()


@pytest.fixture
def watch(train: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[..., Any]], None]:
    """Return a function: what one of the template's functions returns goes, with its arguments, through another one."""

    def watch(name: str, see: Callable[..., Any]) -> None:
        original = getattr(train, name)
        monkeypatch.setattr(train, name, lambda *given: see(original(*given), *given))

    return watch


@pytest.fixture
def options(train: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a function that returns what the template reads from a command line, which it gets, too."""

    def options(*words: object) -> Any:
        monkeypatch.setattr(sys, "argv", ["train.py", *map(str, words)])
        return train.arguments()

    return options


@pytest.fixture
def fit(train: Any, options: Callable[..., Any]) -> Fit:
    """Return a function that runs the template with options and returns the losses."""

    def run(*words: object) -> list[float]:
        options(*words, "--log-file", "log")
        Path("log").write_text("", encoding="utf-8")
        try:
            train.main()
        finally:
            if dist.is_initialized():
                dist.destroy_process_group()
        return losses(log(Path(), "log"))

    return run


def test_accumulated_gradients_are_those_of_the_whole_batch(train: Any, fit: Fit, monkeypatch: Any) -> None:
    """And only the last part of a batch sends them."""
    silent, parallel = [], train.DistributedDataParallel
    original = parallel.no_sync
    monkeypatch.setattr(parallel, "no_sync", lambda model: silent.append(1) or original(model))
    whole = fit("--precision", "float64", "--epochs", 2, "--checkpoint", "whole.pt")
    parts = fit("--precision", "float64", "--epochs", 2, "--checkpoint", "parts.pt", "--accumulate", 4)
    assert parts == pytest.approx(whole, rel=1e-12) and parts != whole
    assert len(silent) == 2 * 3 * 256 // 64


def test_it_learns(fit: Fit) -> None:
    first, *_, last = fit("--epochs", 6, "--batch", 16)
    assert last < first / 4 and log(Path(), "log")[-1]["accuracy"] > 0.85


def test_every_epoch_has_an_order_of_its_own(fit: Fit, watch: Any) -> None:
    orders = []
    watch("train_epoch", lambda loss, _, __, loader, *___: orders.append(tuple(loader.sampler)) or loss)
    fit("--epochs", 2)
    fit("--epochs", 2, "--checkpoint", "seed.pt", "--seed", 9)
    assert len(set(orders)) == 4 and all(sorted(order) == list(range(256)) for order in orders)


def test_all_ranks_evaluate_with_the_buffers_of_rank_0(train: Any, options: Any, monkeypatch: Any) -> None:
    given = options()
    given.device = train.start(given)
    shared = []
    monkeypatch.setattr(dist, "broadcast", lambda buffer, src: shared.append(src))
    net = torch.nn.Sequential(torch.nn.BatchNorm2d(1), torch.nn.Flatten(), torch.nn.Linear(784, 10))
    model = train.DistributedDataParallel(net)
    assert 0 <= train.evaluate(model, train.loaders(given)[1], given) <= 0.5
    assert shared == [0, 0, 0] and not net.training


def test_a_finished_run_says_so(fit: Fit, capsys: pytest.CaptureFixture[str]) -> None:
    (loss,) = fit("--epochs", 1)
    capsys.readouterr()
    assert fit("--epochs", 1) == [loss], "and repairs the log, where a kill has come before its last line"
    expected = f"resumed at epoch 1\nepoch 0: loss {loss:.3f}, "
    assert expected in capsys.readouterr().out


def test_a_resumed_run_with_dropout_repeats_every_bit(fit: Fit) -> None:
    options = "--precision", "bfloat16", "--dropout", 0.5
    whole = fit("--epochs", 3, *options, "--checkpoint", "whole.pt")
    assert len(set(whole)) == 3
    state = torch.load("whole.pt", weights_only=True)
    assert set(state) == {"net", "optimizer", "scheduler", "scaler", "log", "options"}

    class Stopped(Exception):
        pass

    with pytest.raises(Stopped), pytest.MonkeyPatch.context() as patch:
        replace = Path.replace

        def stop(part: Path, path: Path) -> Any:  # killed while the second checkpoint is written
            if Path(path).name == "half.pt" and Path(path).exists():
                raise Stopped
            return replace(part, path)

        patch.setattr(Path, "replace", stop)
        fit("--epochs", 3, *options, "--checkpoint", "half.pt")
    assert len(torch.load("half.pt", weights_only=True)["log"]) == 1, "the old one is still whole"
    assert not list(Path().glob("log?*")) and len(log(Path(), "log")) == 1, "noted is only what is saved"
    torch.manual_seed(123)
    assert fit("--epochs", 3, *options, "--checkpoint", "half.pt") == whole, "no epoch twice, none missing"
    assert not list(Path().glob("*.part")), "the next checkpoint takes the place of a part"


def test_another_training_does_not_go_on_from_a_checkpoint(fit: Fit) -> None:
    """Its plan for the learning rate would be another one, or options would be ignored silently."""
    fit("--epochs", 2)
    for options, named in (
        (("--epochs", 3), {"epochs": 2}),
        (("--batch", 32), {"batch": 64}),
        (("--seed", 1), {"seed": 0}),
        (("--precision", "float16", "--dropout", 0.5), {"precision": "float32", "dropout": 0.0}),
        (("--learning-rate", 0.2), {"learning_rate": 0.1}),
    ):
        with pytest.raises(ValueError, match=r"checkpoint\.pt was written with ") as found:
            fit("--epochs", 2, *options)
        assert all(f"'{name}': {value!r}" in str(found.value) for name, value in named.items())
        assert str(found.value).count("': ") == len(named), "only what differs"
    assert len(fit("--epochs", 2, "--accumulate", 2)) == 2, "which changes no result"


def test_every_rank_epoch_and_seed_draws_numbers_of_its_own(train: Any, monkeypatch: Any) -> None:
    """Seed 0 on rank 1 is not seed 1 on rank 0; but the same epoch draws the same again."""
    monkeypatch.setattr(dist, "all_reduce", lambda tensor: None)
    monkeypatch.setattr(dist, "get_world_size", lambda *_: 3)
    monkeypatch.setattr(train, "train_step", lambda *_: torch.rand(1))
    data = torch.utils.data.TensorDataset(torch.zeros(1))
    sampler = torch.utils.data.DistributedSampler(data, num_replicas=1, rank=0)
    loader = torch.utils.data.DataLoader(data, sampler=sampler)
    drawn = set()
    for seed, rank in itertools.product(range(3), range(3)):
        monkeypatch.setattr(dist, "get_rank", lambda *_, rank=rank: rank)
        options = argparse.Namespace(seed=seed)
        found = [
            train.train_epoch(epoch, torch.nn.Linear(1, 1), loader, {}, options) for epoch in (0, 1, 2, 0)
        ]
        assert found[0] == found[3]
        drawn.update(found)
    assert len(drawn) == 27


def test_own_data_may_have_any_size(train: Any, fit: Fit, watch: Any) -> None:
    counted = []
    watch("evaluate", lambda share, _, loader, __: counted.append(sum(len(y) for _, y in loader)) or share)
    train.prepare_data = lambda: (train.made_images(75, 1), train.made_images(33, 2))
    fit("--epochs", 1, "--batch", 10)
    (line,) = log(Path(), "log")
    assert counted == [33] and round(line["accuracy"] * 33, 6) % 1 == 0
    assert torch.load("checkpoint.pt", weights_only=True)["scheduler"]["last_epoch"] == 7


def test_it_trains_and_evaluates_in_the_chosen_precision(fit: Fit, watch: Any) -> None:
    types = []

    def noted(net: torch.nn.Sequential, _: float) -> torch.nn.Sequential:
        net[-1].register_forward_hook(lambda layer, _, out: types.append((layer.training, out.dtype)))
        return net

    watch("network", noted)
    fit("--epochs", 1, "--precision", "bfloat16")
    assert set(types) == {(True, torch.bfloat16), (False, torch.bfloat16)}


@pytest.mark.parametrize("platform, way", [("linux", "forkserver"), ("win32", "spawn")])
def test_workers_begin_with_torch_loaded(
    platform: str, way: str, train: Any, options: Any, monkeypatch: Any
) -> None:
    """In every epoch there are new ones: they took ten times as long as the epoch."""
    if way not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this machine knows no {way}")
    loaded: list[list[str]] = []
    monkeypatch.setattr(torch.multiprocessing, "set_forkserver_preload", loaded.append)
    monkeypatch.setattr(sys, "platform", platform)
    given = options("--workers", 2)
    given.device = torch.device("cpu")
    for name, value in {"get_rank": 0, "get_world_size": 1}.items():
        monkeypatch.setattr(dist, name, lambda *_, value=value: value)
    for loader in train.loaders(given):
        assert loader.multiprocessing_context.get_start_method() == way and not loader.persistent_workers
    assert loaded == [["torch"]]


@pytest.mark.nightly
def test_workers_change_nothing(fit: Fit) -> None:
    options = "--dropout", 0.5, "--epochs", 2
    assert fit(*options, "--checkpoint", "none.pt") == fit(*options, "--checkpoint", "one.pt", "--workers", 1)


def test_the_checkpoint_is_complete_on_the_disk_before_it_gets_its_name(train: Any, monkeypatch: Any) -> None:
    done = []
    fsync, replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda number: done.append("fsync") or fsync(number))
    monkeypatch.setattr(Path, "replace", lambda part, path: done.append(part.name) or replace(part, path))
    own = f"checkpoint.pt.{socket.gethostname()}"
    left = [Path(f"{own}.1.part"), Path("checkpoint.pt.elsewhere.1.part")]
    for part in left:
        part.write_text("killed")
    train.write({"a": 1}, Path("checkpoint.pt"))
    assert done == ["fsync", f"{own}.{os.getpid()}.part"], "two runs on a machine do not share a part"
    assert [part.exists() for part in left] == [False, True]
    assert torch.load("checkpoint.pt", weights_only=True) == {"a": 1}


@pytest.mark.parametrize("place", [("--checkpoint", "train.py/c.pt"), ("--log-file", ".")])
def test_a_place_where_it_cannot_write_stops_it_before_the_training(
    place: tuple[str, str], train: Any, fit: Fit, options: Any
) -> None:
    fit("--epochs", 1, "--checkpoint", "new/folder/c.pt")
    assert [path.name for path in Path("new/folder").iterdir()] == ["c.pt"]
    train.train_epoch = lambda *_: pytest.fail("it trains")
    options(*place)
    with pytest.raises(OSError):
        train.main()


@pytest.mark.parametrize("resumed", [False, True])
def test_a_run_overwrites_no_other_runs_checkpoint(resumed: bool, fit: Fit, watch: Any) -> None:
    """Two began in one folder, or a job that still runs was requeued: the first that saves goes on."""
    fit("--epochs", 2, "--checkpoint", "other.pt")
    others = Path("other.pt").read_bytes()

    def meanwhile(loss: float, epoch: int, *_: Any) -> float:
        if epoch == resumed:
            Path("checkpoint.pt").write_bytes(others)
        return loss

    watch("train_epoch", meanwhile)
    with pytest.raises(ValueError, match=re.escape("another run writes checkpoint.pt, too")):
        fit("--epochs", 2)
    assert Path("checkpoint.pt").read_bytes() == others and not list(Path().glob("*.part"))


@pytest.mark.parametrize("moved", [False, True])
def test_a_run_knows_its_own_checkpoint(moved: bool, fit: Fit, watch: Any) -> None:
    """It may be moved away to keep it; and float16 may leave steps out whose losses make the mean NaN."""

    def noted(loss: float, *_: Any) -> float:
        if moved:
            Path("checkpoint.pt").unlink(missing_ok=True)
        return loss if moved else math.nan

    watch("train_epoch", noted)
    assert len(fit("--epochs", 3)) == len(fit("--epochs", 3)) == 3, "also when it is read again"
    assert len(torch.load("checkpoint.pt")["log"]) == 3


def test_weights_that_are_not_finite_leave_the_last_good_checkpoint(fit: Fit, watch: Any) -> None:
    """Also where only the last step has spoilt them, and the mean loss is still a number."""
    with pytest.raises(FloatingPointError, match=r"NaN or inf in weights: rate\.pt stays as it is"):
        fit("--learning-rate", 1e30, "--checkpoint", "rate.pt")
    assert not Path("rate.pt").exists() and not Path("log").read_text()

    def spoilt(loss: float, epoch: int, model: Any, *_: Any) -> float:
        if epoch == 1:
            model.module[0].weight.data[0] = math.inf
        return loss

    watch("train_epoch", spoilt)
    with pytest.raises(FloatingPointError):
        fit("--epochs", 3)
    found = torch.load("checkpoint.pt", weights_only=True)
    assert len(found["log"]) == len(log(Path(), "log")) == 1
    assert all(value.isfinite().all() for value in found["net"].values())


@pytest.mark.parametrize("content", [b"", b"no checkpoint", None])
def test_an_unreadable_checkpoint_is_named(content: bytes | None, fit: Fit) -> None:
    if content is None:
        torch.save({"weights": torch.ones(3)}, "checkpoint.pt")
    else:
        Path("checkpoint.pt").write_bytes(content)
    with pytest.raises(ValueError, match=r"checkpoint\.pt cannot be read as a checkpoint: "):
        fit()


@tabled
def test_a_batch_that_cannot_be_shared_is_refused(
    words: str, ranks: int, said: str, fit: Fit, monkeypatch: Any
) -> None:
    monkeypatch.setenv("WORLD_SIZE", str(ranks))
    with pytest.raises(ValueError, match=said):
        fit(*words.split())


def test_every_image_belongs_to_one_rank(train: Any, options: Any, monkeypatch: Any) -> None:
    """Of the training images, too, as 8 divides them."""
    monkeypatch.setattr(dist, "get_world_size", lambda *_: 8)
    given, shares = options(), []
    given.device = torch.device("cpu")
    for rank in range(8):
        monkeypatch.setattr(dist, "get_rank", lambda *_, rank=rank: rank)
        shares.append([torch.cat([images for images, _ in loader]) for loader in train.loaders(given)])
    for found, count in zip(zip(*shares, strict=True), (256, 100), strict=True):
        images = torch.cat(found).flatten(1)
        assert len(images) == count == len(images.unique(dim=0)), "100 is no multiple of 8: 13 or 12 for each"


def test_only_rank_0_looks_for_the_checkpoint(train: Any, options: Any, monkeypatch: Any) -> None:
    """A rank whose disk shows it later, or never, does not begin at epoch 0."""
    Path("checkpoint.pt").write_bytes(b"of another time")
    monkeypatch.setattr(dist, "get_rank", lambda *_: 1)
    monkeypatch.setattr(dist, "get_world_size", lambda *_: 2)
    monkeypatch.setattr(dist, "broadcast_object_list", lambda found: found.__setitem__(0, False))
    assert train.load(options(), {}) == []


def test_a_rank_with_another_checkpoint_stops_the_job(
    train: Any, fit: Fit, options: Any, monkeypatch: Any
) -> None:
    """On machines that share no disk: the file is another one, or missing; never a silent mixture."""
    fit("--epochs", 1)
    own = torch.load("checkpoint.pt")["log"]
    monkeypatch.setattr(dist, "get_rank", lambda *_: 1)

    def loaded(rank_0s: list[dict[str, float]]) -> list[dict[str, float]]:
        sent = iter([True, rank_0s])
        monkeypatch.setattr(dist, "broadcast_object_list", lambda found: found.__setitem__(0, next(sent)))
        return train.load(options("--epochs", 1), {})

    assert loaded(own) == own
    with pytest.raises(ValueError, match=r"rank 1 finds another checkpoint\.pt than rank 0"):
        loaded([own[0] | {"images_per_second": 1.0}])
    Path("checkpoint.pt").unlink()
    with pytest.raises(ValueError, match=r"checkpoint\.pt cannot be read as a checkpoint: \[Errno 2\]"):
        loaded(own)


# --- where it may start ----------------------------------------------------------------------------------


def test_fewer_gpus_than_ranks_are_refused(train: Any, options: Any, monkeypatch: Any) -> None:
    for gpus, ranks, words in (1, 2, []), (7, 8, ["--gpu"]), (0, 2, ["--gpu"]):
        monkeypatch.setattr(torch.cuda, "device_count", lambda gpus=gpus: gpus)
        monkeypatch.setenv("LOCAL_WORLD_SIZE", str(ranks))
        with pytest.raises(ValueError, match=f"{gpus} GPUs for {ranks} ranks"):
            train.start(options(*words))


def test_each_rank_takes_a_gpu_of_its_own(train: Any, options: Any, monkeypatch: Any) -> None:
    calls: dict[str, Any] = {}
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: calls.update(current=device))
    monkeypatch.setattr(dist, "is_nccl_available", lambda: True)
    monkeypatch.setattr(
        dist, "init_process_group", lambda backend, **how: calls.update(backend=backend, **how)
    )
    monkeypatch.setattr(dist, "get_world_size", lambda: 2)
    monkeypatch.setattr(train, "say", lambda text: None)
    monkeypatch.setattr(dist, "get_backend", lambda: "nccl")
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    device = train.start(options())
    assert device == torch.device("cuda", 1) == calls["current"] == calls["device_id"]
    assert calls["backend"] == "nccl"


def test_it_changes_the_kernels_only_where_it_is_told(train: Any, options: Any, monkeypatch: Any) -> None:
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    chosen = []
    monkeypatch.setattr(train, "start", lambda options: 1 / 0)  # all that comes later
    monkeypatch.setattr(torch, "use_deterministic_algorithms", chosen.append)
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    monkeypatch.setattr(torch, "set_float32_matmul_precision", chosen.append)
    found = []
    for words in ([], ["--tf32", "all"], ["--deterministic", "--tf32", "none"]):
        assert "CUBLAS_WORKSPACE_CONFIG" not in os.environ
        options(*words)
        with pytest.raises(ZeroDivisionError):
            train.main()
        found.append(torch.backends.cudnn.allow_tf32)
    assert chosen == ["highest", "high", True, "highest"] and found == [True, True, False]
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"


def test_without_torchrun_it_says_how_to_start_it(train: Any, options: Any, monkeypatch: Any) -> None:
    monkeypatch.delenv("LOCAL_RANK")
    options()
    with pytest.raises(SystemExit, match="torchrun --standalone --nproc-per-node=1 train.py"):
        train.main()


# --- what readers copy ------------------------------------------------------------------------------------


def test_it_needs_torch_and_the_standard_library_only() -> None:
    text = (WORKERS / "train.py").read_text(encoding="utf-8")
    modules = set(re.findall(r"^(?:from|import) (\w+)", text, re.M)) - {"torch"}
    assert modules <= sys.stdlib_module_names


def test_no_option_is_the_beginning_of_one_of_torchrun() -> None:
    """torchrun stops with "ambiguous option" or takes it for its own, even behind the name of the script."""
    from torch.distributed.run import get_args_parser

    text = (WORKERS / "train.py").read_text(encoding="utf-8")
    own = re.findall(r'add\("(--[\w-]+)"', text)
    theirs = [name for action in get_args_parser()._actions for name in action.option_strings]
    assert len(own) > 10 and not [(o, t) for o in own for t in theirs if t.startswith(o)]


# --- Slurm ------------------------------------------------------------------------------------------------

# Slurm's signal, and half a minute at most for the job to react.
SIGNAL = 'kill -USR1 $PPID; for n in $(seq 600); do grep -qs requeue "$NOTED" && break; sleep 0.05; done'
ARGUMENTS = 'printf "%s\\n" "$@" > "$NOTED"; env | grep -E "^(OMP|TORCH)" >> "$NOTED"'


@pytest.fixture
def slurm(tmp_path: Path) -> Callable[..., tuple[int, str, list[str]]]:
    """Return a function that runs the file with a Slurm that writes down what it is told, and has some further variables.

    It returns the exit status, the errors, and what was noted.
    """
    if not shutil.which("bash"):
        pytest.skip("needs bash")

    def slurm(srun: str, *, requeue: str = "", **variables: str) -> tuple[int, str, list[str]]:
        show = 'if [ "$1" = show ]; then echo node07; echo node08; else echo "scontrol $*" >> "$NOTED"; '
        for name, body in {"scontrol": f"{show}{requeue} fi", "srun": srun}.items():
            (tmp_path / name).write_text(f"#!/bin/bash\n{body}\n")
            (tmp_path / name).chmod(stat.S_IRWXU)
        noted = tmp_path / "noted"
        given = {
            "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
            "NOTED": str(noted),
            "SLURM_JOB_ID": "123456",
            "SLURM_JOB_NAME": "lenet",
            "SLURM_JOB_NODELIST": "node[07-08]",
            "SLURM_JOB_NUM_NODES": "2",
            "SLURM_GPUS_ON_NODE": "8",  # set with --gres as well as with --gpus-per-node
            "SLURM_CPUS_PER_TASK": "64",
            "SLURM_SUBMIT_DIR": "/home/somebody",
        }
        command = ["bash", str(WORKERS / "slurm.sbatch")]
        job = subprocess.run(command, env=given | variables, text=True, stderr=subprocess.PIPE, timeout=100)
        return job.returncode, job.stderr, noted.read_text().split("\n") if noted.exists() else []

    return slurm


def test_the_slurm_file_starts_one_torchrun_per_machine(slurm: Any) -> None:
    status, error, noted = slurm(f"{ARGUMENTS}; exit 3")
    assert status == 3, f"a training that fails is a job that fails: {error}"
    assert noted[:3] == ["--kill-on-bad-exit=1", "--cpus-per-task=64", "torchrun"]
    words = "--nnodes=2 --nproc-per-node=8 --rdzv-id=123456 train.py --max-restarts=3 --gpu"
    assert set(words.split()) <= set(noted)
    (endpoint,) = [word for word in noted if word.startswith("--rdzv-endpoint=")]
    assert endpoint == "--rdzv-endpoint=node07:23456", "the first machine, and a port of this job"
    assert int(noted[noted.index("--batch") + 1]) % 16 == 0
    checkpoint = noted[noted.index("--checkpoint") + 1]
    assert checkpoint == "/home/somebody/checkpoint-123456.pt", (
        "the same after a requeue, another for the next sbatch"
    )
    assert {"OMP_NUM_THREADS=8", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1"} <= set(noted)


def test_the_slurm_file_asks_for_another_turn_before_its_time_is_up(slurm: Any) -> None:
    """And while srun runs, not after it; the ranks train until Slurm ends them."""
    _, _, noted = slurm(f'echo began >> "$NOTED"; {SIGNAL}; echo trained >> "$NOTED"')
    assert noted[:3] == ["began", "scontrol requeue 123456", "trained"]


@pytest.mark.parametrize("ends", [0, 3])
def test_the_slurm_file_goes_on_if_it_cannot_be_requeued(ends: int, slurm: Any) -> None:
    """Where requeueing is forbidden the ranks train on, and the job ends as they do."""
    training = f'{SIGNAL}; sleep 0.3; echo trained >> "$NOTED"; exit {ends}'
    status, error, noted = slurm(training, requeue="false;")
    assert "not requeued" in error and noted[-2:] == ["trained", ""]
    assert status == ends, "not 138, of a `wait` that the signal interrupted"


@pytest.mark.parametrize("restarts, trains", [("19", True), ("20", False)])
def test_the_slurm_file_is_not_requeued_for_ever(restarts: str, trains: bool, slurm: Any) -> None:
    status, error, noted = slurm('echo trained > "$NOTED"', SLURM_RESTART_COUNT=restarts)
    assert bool(noted) == trains == (status == 0)
    assert trains or "restart 20" in error


def test_the_slurm_file_asks_for_what_it_needs() -> None:
    text = (WORKERS / "slurm.sbatch").read_text(encoding="utf-8")
    options = dict(re.findall(r"^#SBATCH --([\w-]+)(?:=(\S+))?", text, re.M))
    assert options["ntasks-per-node"] == "1", (
        "torchrun starts the processes; more tasks would start them again"
    )
    assert options["signal"] == "B:USR1@120" and "requeue" in options and options["open-mode"] == "append"
    assert {"nodes", "gpus-per-node", "cpus-per-task", "time", "mem"} <= set(options)
