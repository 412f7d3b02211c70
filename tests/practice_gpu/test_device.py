"""What works on practice GPUs: results like the CPU's, and order, hazards, memory and errors like CUDA's."""

import copy
import gc
import inspect
import io
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import distributed, nn, overrides
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.flop_counter import FlopCounterMode

import practice_gpu

D, D1, MANY = "practice:0", "practice:1", 1 << 20


def ones(*size: int, device: str = D) -> torch.Tensor:
    return torch.ones(*size, device=device)


# --- devices -------------------------------------------------------------------------------------------------


def test_tensors_are_plain_and_live_on_their_device(gpu: Any) -> None:
    x = torch.rand(3)
    y = x.to(D)
    assert type(y) is torch.Tensor and str(y.device) == D and y.to(D) is y and torch.equal(y.cpu(), x)
    assert y.is_practice and x.practice(1).device == torch.device(D1) and str(x.to("practice").device) == D
    for make in (torch.zeros, torch.ones, torch.rand, torch.randn, torch.empty):
        assert make(2, 3, device=D1).device == torch.device(D1)
    assert torch.arange(5, device=D).tolist() == [0, 1, 2, 3, 4] and torch.eye(2, device=D1)[1, 1] == 1
    with torch.device(D1):
        assert str(torch.ones(2).device) == D1 and str(torch.tensor([1.5]).device) == D1
    torch.set_default_device(D)
    assert str(torch.ones(2).device) == D
    torch.set_default_device(None)
    assert f"{ones(1)[0]:.2f} {ones(2)}" == f"1.00 tensor([1., 1.], device='{D}')"
    with FakeTensorMode():
        assert str((torch.ones(2, device=D1) + 1).device) == D1


MIXED: list[tuple[Callable[..., Any], str]] = [
    (lambda a, b: b[a.long()], "either on cpu or on the same device as the indexed tensor (cpu)"),
    (lambda a, b: a + ones(2, 2, device=D1), "found at least two devices, practice:0 and practice:1!"),
    (lambda a, b: a[ones(1, device=D1).long()], "indices should be either on cpu or on the same device"),
    (lambda a, b: ones(9).normal_(generator=torch.Generator()), "a 'practice' device type for generator"),
    (lambda a, b: a.to_sparse(), "practice_gpu cannot hold tensors of layout torch.sparse_coo"),
    (lambda a, b: torch.quantize_per_tensor(a, 0.1, 0, torch.qint8), "practice_gpu cannot run"),
    (lambda a, b: torch.nested.nested_tensor([a, a]).unbind(), "practice_gpu cannot run"),
    (
        lambda a, b: torch.get_device_module(D).Event(interprocess=True),
        "practice_gpu: events cannot be shared",
    ),
]


@pytest.mark.parametrize(("call", "words"), MIXED)
def test_what_it_refuses(gpu: Any, call: Callable[..., Any], words: str) -> None:
    with pytest.raises((RuntimeError, TypeError, NotImplementedError), match=re.escape(words)):
        call(ones(2, 2), torch.ones(2, 2))


# --- networks ------------------------------------------------------------------------------------------------


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.ModuleList([nn.LSTM(16, 8, batch_first=True), nn.GRU(8, 4, batch_first=True)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x[:, 0, :8]
        for cells in self.cells:
            x = cells(x)[0]
        return x[:, -1]


NETWORKS: dict[str, Callable[[], nn.Sequential]] = {
    "cnn": lambda: nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 4)
    ),
    "lstm": lambda: nn.Sequential(Recurrent(), nn.Tanh(), nn.Linear(4, 4)),
    "transformer": lambda: nn.Sequential(
        nn.Flatten(1, 2), nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True), nn.Flatten(), nn.Linear(768, 4)
    ),
}  # fmt: skip


def trained(net: nn.Sequential, devices: list[str], **options: Any) -> list[float]:
    """Return the losses of four steps; with two devices the second half of the layers is on the other one."""
    cut = len(net) // 2
    first, second = net[:cut].to(devices[0]), net[cut:].to(devices[-1])
    torch.manual_seed(1)
    x, y, losses = torch.rand(6, 3, 16, 16, dtype=torch.float64), torch.tensor([0, 1, 2, 3, 0, 1]), []
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01, **options)
    for _ in range(4):
        out = second(first(x.to(devices[0])).to(devices[-1]))
        loss = nn.functional.cross_entropy(out, y.to(devices[-1]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_learn_what_they_learn_on_the_cpu(gpu: Any, name: str) -> None:
    torch.manual_seed(0)
    net = NETWORKS[name]().double()
    expected = trained(copy.deepcopy(net), ["cpu"])
    for devices in ([D], [D, D1]):
        assert trained(copy.deepcopy(net), devices) == pytest.approx(expected, abs=1e-9)
    assert expected[-1] < expected[0] and not practice_gpu.races()


OPTIMIZERS = [
    kind for kind in vars(torch.optim).values() if inspect.isclass(kind) and kind.__name__ != "SparseAdam"
]


@pytest.mark.parametrize("kind", [kind for kind in OPTIMIZERS if kind is not torch.optim.Optimizer])
def test_optimizers_step_as_on_the_cpu(gpu: Any, kind: type[torch.optim.Optimizer]) -> None:
    def weights(device: str, options: dict[str, bool]) -> torch.Tensor:
        w = torch.arange(4.0, device=device).view(2, 2).requires_grad_()
        optimizer = kind([w], lr=0.1, **options)

        def loss() -> torch.Tensor:
            optimizer.zero_grad()
            made = (w * w * w.cos()).sum()
            made.backward()
            return made

        for _ in range(2):
            optimizer.step(loss)
        return w.detach().cpu()

    for options in ({}, {"foreach": False}, {"foreach": True}, {"fused": True}):
        if options.keys() <= inspect.signature(kind).parameters.keys():
            torch.testing.assert_close(weights(D, options), weights("cpu", options), rtol=1e-6, atol=0)


def test_modules_keep_their_parameters_gradients_and_hooks(gpu: Any) -> None:
    net, seen = nn.Linear(3, 2), []
    weight = net.weight
    net(torch.ones(1, 3)).sum().backward()
    gradient = weight.grad
    for device in (D, D1, "cpu", D):
        assert net.to(device).weight is weight and str(weight.device) == device and weight.grad is gradient
        assert str(gradient.device) == device and gradient.sum() == 6 and weight.requires_grad
    handle = net.register_full_backward_hook(lambda *_: seen.append(1))
    net(ones(1, 3)).sum().backward()
    assert seen and gradient.sum() == 12
    handle.remove()
    loss = net(ones(1, 3)).sum()
    net.to("cpu")
    with pytest.raises(RuntimeError, match="moved to another device"):
        loss.backward()


def test_autograd_runs_over_devices_and_in_threads(gpu: Any) -> None:
    w, found = torch.ones(3, device=D, requires_grad=True), []
    ((w * 2).to(D1) * 3).sum().backward()
    assert w.grad.tolist() == [6, 6, 6] and str(w.grad.device) == D

    def work(device: str) -> None:
        for _ in range(20):
            v = torch.ones(50, device=device, requires_grad=True)
            (v * v).sum().backward()
            found.append(v.grad.sum().item())

    threads = [threading.Thread(target=work, args=(device,)) for device in (D, D1, D, D1)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert found == [100.0] * 80
    y = torch.ones(2, device=D, requires_grad=True) * 2
    y.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()
    x, layer = torch.rand(2, 3, device=D, requires_grad=True), nn.Linear(3, 3).to(D)
    checkpoint(layer, x, use_reentrant=False).sum().backward()
    assert x.grad is not None and torch.func.vmap(lambda v: (v * v).sum())(ones(2, 3)).tolist() == [3, 3]


def test_autocast_and_scaling(gpu: Any) -> None:
    torch.manual_seed(0)
    net, x = NETWORKS["cnn"]().to(D), torch.rand(6, 3, 16, 16, device=D)
    with torch.autocast("practice", dtype=torch.float16):
        low = net[0](x)
        assert low.dtype == torch.float16 and (x.double() @ x.double()).dtype == torch.float64
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (x @ x).dtype == torch.float32 and torch.allclose(
            (x @ x).cpu(), x.cpu().double().matmul(x.cpu().double()).float()
        )
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("practice", init_scale=2.0**40)
    for _ in range(2):
        optimizer.zero_grad()
        with torch.autocast("practice", dtype=torch.float16):
            loss = net(x).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() == 2.0**38 and loss > 0  # two steps with infinite gradients were left out


def test_files_copies_and_loaders(gpu: Any) -> None:
    file = io.BytesIO()
    torch.save({"w": torch.arange(3.0, device=D1)}, file)
    for where, device in ((None, D1), ("cpu", "cpu"), (D, D), ({D1: D}, D)):
        file.seek(0)
        loaded = torch.load(file, map_location=where)["w"]
        assert str(loaded.device) == device and loaded.tolist() == [0, 1, 2]
    net, other = nn.Linear(2, 2).to(D), nn.Linear(2, 2).to(D1)
    other.load_state_dict(net.state_dict())
    assert torch.equal(other.weight.cpu(), net.weight.cpu()) and str(copy.deepcopy(other).weight.device) == D1
    for workers in (0, 1):
        loader = DataLoader(TensorDataset(torch.rand(8, 3)), 4, pin_memory=True, num_workers=workers)
        batches = [batch for (batch,) in loader]
        assert len(batches) == 2 and all(batch.is_pinned() for batch in batches)
        assert str(batches[0].to(D, non_blocking=True).device) == D


def test_random_numbers_follow_their_seeds(gpu: Any) -> None:
    def draw() -> list[Any]:
        made = torch.rand(3, device=D), torch.randperm(5, device=D), ones(2).bernoulli(0.5)
        return [numbers.tolist() for numbers in made]

    torch.manual_seed(3)
    first = draw()
    torch.manual_seed(3)  # what was asked for before is not drawn anew
    assert draw() == first != draw()
    torch.manual_seed(3)
    assert torch.rand(3).tolist() == first[0]
    generator = torch.Generator(device=D1).manual_seed(5)
    assert str(generator.device) == D1 and isinstance(generator, torch.Generator)
    same = torch.rand(3, generator=torch.Generator().manual_seed(5))
    assert torch.rand(3, device=D1, generator=generator).tolist() == same.tolist()
    state = gpu.get_rng_state(0)
    before = torch.rand(1, device=D).item()
    gpu.set_rng_state(state, 0)
    assert torch.rand(1, device=D).item() == before


# --- streams, copies, races ----------------------------------------------------------------------------------


def lines() -> list[str]:
    return [str(race) for race in practice_gpu.races()]


@pytest.mark.parametrize("cure", [None, "stream", "event", "host"])
def test_streams_are_in_no_order_unless_something_orders_them(gpu: Any, cure: str | None) -> None:
    side, a = gpu.Stream(), torch.zeros(MANY, device=D)
    gpu.synchronize()
    gpu._sleep(10_000_000)
    a.fill_(1.0)  # the write
    if cure == "stream":
        side.wait_stream(gpu.current_stream())
    elif cure == "event":
        event = gpu.Event()
        event.record()
        side.wait_event(event)
    elif cure == "host":
        gpu.synchronize()
    with gpu.stream(side):
        assert gpu.current_stream() == side == torch.accelerator.current_stream()
        b = a.clone()  # the read
    assert gpu.current_stream().stream_id == 0
    gpu.synchronize()
    assert b.sum().item() == (MANY if cure else 0)
    assert len(lines()) == (0 if cure else 1)
    assert all(part in line for line in lines() for part in ("write by fill_", "# the write", "# the read"))


def test_pinned_memory_and_its_hazards(gpu: Any) -> None:
    for pinned in (True, False):
        host = torch.zeros(MANY, pin_memory=pinned)
        assert host.is_pinned() is host[5:].is_pinned() is pinned and host.pin_memory().is_pinned()
        inner = torch.tensor(()).set_(host.untyped_storage()[8:], 0, (5,), (1,))
        assert inner.is_pinned() is pinned
        device = host.to(D, non_blocking=True)
        host.fill_(9.0)  # too early
        assert device.mean().item() == (9.0 if pinned else 0.0)
    assert len(lines()) == 1 and "write by the host" in lines()[0] and "# too early" in lines()[0]
    back = ones(MANY).to("cpu", non_blocking=True)
    assert back.is_pinned() and back.sum().item() == 0  # read early
    gpu.synchronize()
    assert back.sum().item() == MANY and len(lines()) == 2 and "# read early" in lines()[1]


def test_one_watch_for_early_reads_outlives_every_mode_and_ends_with_stop(gpu: Any) -> None:
    names = ("Stream", "Event", "Generator", "empty", "_has_compatible_shallow_copy_type")
    while_on = [getattr(torch, name) for name in names]
    with torch.device("cpu"), FlopCounterMode(display=False):
        host = torch.ones(4).pin_memory()
        for _ in range(30):  # there is one watch, however often it is asked for
            host.to(D, non_blocking=True)
        assert overrides._len_torch_function_stack() == 2
    assert overrides._len_torch_function_stack() == 1 and torch.ones(1).is_cpu
    host.zero_()
    assert len(lines()) == 1
    practice_gpu.stop()
    assert not overrides._len_torch_function_stack()
    assert all(getattr(torch, name) is not on for name, on in zip(names, while_on, strict=True))
    assert type(torch.Generator()) is torch.Generator


def test_a_fresh_start_knows_no_earlier_use(gpu: Any) -> None:
    kept = torch.zeros(1000, device="practice:0")  # so its segment is not given back
    used = torch.zeros(1000, device="practice:0")
    with gpu.stream(gpu.Stream()):
        used.add_(1)
    del used
    practice_gpu.start("T4", count=2)
    torch.zeros(1000, device="practice:0").add_(1)
    assert not practice_gpu.races() and kept.numel()


def test_a_pipeline_in_order_reports_nothing(gpu: Any) -> None:
    side, main, w = gpu.Stream(), gpu.current_stream(), torch.eye(64, device=D)
    host, done, total = [torch.empty(64, 64, pin_memory=True) for _ in range(2)], [None, None], 0.0
    for step in range(8):
        if done[step % 2] is not None:
            done[step % 2].synchronize()  # the copy from this buffer is over
        host[step % 2].fill_(step)
        with gpu.stream(side):
            batch = host[step % 2].to(D, non_blocking=True)
            done[step % 2] = side.record_event()
        main.wait_stream(side)
        batch.record_stream(main)
        total = total + (batch @ w).mean()
    assert total.item() == sum(range(8)) and not lines()
    rows = torch.zeros(2, MANY, device=D)  # two streams, two halves of one memory
    side.wait_stream(main)
    with gpu.stream(side):
        rows[0].fill_(1)
    rows[1].fill_(2)
    assert not lines()


@pytest.mark.parametrize("recorded", [False, True])
def test_freed_memory_is_used_again_although_another_stream_still_reads_it(gpu: Any, recorded: bool) -> None:
    side, x = gpu.Stream(), ones(MANY)
    gpu.synchronize()
    with gpu.stream(side):
        gpu._sleep(10_000_000)
        y = x * 2
    if recorded:
        x.record_stream(side)
    del x
    z = torch.full((MANY,), 100.0, device=D)
    gpu.synchronize()
    assert y.max().item() == (2 if recorded else 200) and z.min() == 100
    assert len(lines()) == (0 if recorded else 1)


def test_events_tell_the_modelled_time(gpu: Any) -> None:
    begin, end = gpu.Event(enable_timing=True), torch.Event(D, enable_timing=True)
    assert begin.query()
    begin.record()
    gpu._sleep(1_500_000)
    end.record()
    assert not end.query() and not gpu.current_stream().query()
    with pytest.raises(RuntimeError, match="must be completed"):
        begin.elapsed_time(end)
    end.synchronize()
    # The host's call for the kernel is between the two.
    assert float(begin.elapsed_time(end)) == pytest.approx(1.0, rel=0.02)
    assert "modelled" in f"{begin.elapsed_time(end)}" and begin.event_id != end.event_id
    with pytest.raises(ValueError, match="enable_timing"):
        gpu.Event().elapsed_time(end)
    bare = torch.Stream(D1)
    with bare:
        gpu._sleep(1_000_000)
    assert not bare.query() and gpu.current_device() == 0
    before = practice_gpu.clock()
    while not bare.query():  # asking takes time, so this ends
        pass
    assert practice_gpu.clock() > before and "modelled" in str(practice_gpu.clock())


def test_devices_copy_behind_both_of_their_streams(gpu: Any) -> None:
    a = torch.zeros(MANY, device=D)
    gpu._sleep(10_000_000)
    a.fill_(3.0)
    b = a.to(D1)
    a.fill_(4.0)
    assert b.mean().item() == 3 and a.mean().item() == 4 and not lines()
    names = [entry.name for entry in practice_gpu.log() if entry.kind == "copy"]
    assert names[0] == "GPU 0 to GPU 1"


# --- waits, errors, memory -----------------------------------------------------------------------------------


def test_waits_are_counted_by_line(gpu: Any) -> None:
    x = torch.rand(100, device=D)
    practice_gpu.waits().clear()
    if x[x > 0.5].sum() > 0:  # two
        x.tolist()
    counts = {str(place).split("(", 1)[1]: n for place, n in practice_gpu.waits().items()}
    assert counts == {"if x[x > 0.5].sum() > 0:  # two)": 2, "x.tolist())": 1}
    gpu.set_sync_debug_mode("error")
    with pytest.raises(RuntimeError, match="called a synchronizing practice operation: _local_scalar_dense"):
        x[0].item()
    gpu.synchronize()
    assert gpu.get_sync_debug_mode() == 2


def test_indices_and_numbers_of_the_host_go_to_the_device(gpu: Any) -> None:
    mask, rows = torch.arange(12).view(3, 4) % 5 == 1, torch.tensor([2, 0])
    pairs = (rows, rows), (slice(None), rows), (mask[:, 0], 1), (slice(1), mask[0])
    for index in (mask, rows, ..., *pairs):
        for value in (7.0, torch.tensor(8.0), one := torch.tensor([9.0])):
            x, there = torch.arange(12.0).view(3, 4), torch.arange(12.0).view(3, 4).to(D)
            for where in (index, index.to(D) if isinstance(index, torch.Tensor) else index):
                assert torch.equal(there[where].cpu(), x[index])
                x[index], there[where] = value, value.to(D) if value is one else value
                assert torch.equal(there.cpu(), x)


@pytest.mark.parametrize("blocking", [False, True])
def test_errors_of_values_come_late_and_stay(blocking: bool) -> None:
    practice_gpu.start("T4", count=2, blocking=blocking)
    gpu, table = torch.get_device_module("practice"), nn.Embedding(4, 2).to(D)
    rows = torch.tensor([1, 9]).to(D)
    if blocking:
        with pytest.raises(torch.AcceleratorError, match="index out of range"):
            table(rows)
        return
    gpu._sleep(10_000_000)
    made = table(rows)  # the call returns
    for call in (made.sum().item, lambda: ones(2), gpu.synchronize):
        words = "device-side assert triggered.*\n.*index out of range.*the call returns"
        with pytest.raises(torch.AcceleratorError, match=words):
            call()
    assert ones(2, device=D1).sum() == 2
    practice_gpu.start("T4")
    assert ones(2).sum() == 2


def test_memory_has_a_limit_and_is_counted(gpu: Any) -> None:
    gc.collect()
    base, total = gpu.memory_allocated(), 256 << 20  # other tests may have left some
    practice_gpu.start("T4", memory=2 * total)
    gpu.set_per_process_memory_fraction(0.5)
    gpu.reset_peak_memory_stats()
    x = torch.empty(25 << 20, device=D)
    y = x.view(25, 1 << 20)
    del x
    assert gpu.memory_allocated() - base == 100 << 20
    words = "Tried to allocate 256.00 MiB. GPU 0 has a total capacity of 256.00 MiB of which"
    with pytest.raises(torch.OutOfMemoryError, match=words):
        torch.empty(total, dtype=torch.uint8, device=D)
    del y
    assert gpu.memory_allocated() == base and gpu.memory_reserved() - base >= 100 << 20
    assert gpu.max_memory_allocated() - base == 100 << 20 == torch.accelerator.max_memory_allocated() - base
    assert gpu.mem_get_info() == (2 * total - gpu.memory_reserved(), 2 * total)
    z = torch.empty(200 << 20, dtype=torch.uint8, device=D)  # fits only because what is cached is given back
    assert z.numel() and gpu.memory_reserved() < 256 << 20


def exchanged(rank: int, file: str) -> list[Any]:
    """Return what a process of two gets from the other one."""
    practice_gpu.start("T4", count=2)
    distributed.init_process_group("practice_gloo", init_method=f"file://{file}", rank=rank, world_size=2)
    x, parts = torch.full((2,), rank + 1.0, device=f"practice:{rank}"), [ones(2), ones(2)]
    distributed.all_reduce(x)
    distributed.all_gather([part := parts[0].to(x.device), other := parts[1].to(x.device)], x * (rank + 1))
    distributed.broadcast(sent := x * rank, 1)
    layer = nn.parallel.DistributedDataParallel(nn.Linear(3, 2).to(x.device))
    layer(torch.ones(4, 3, device=x.device) * (rank + 1)).sum().backward()
    made = x.tolist(), part.tolist(), other.tolist(), sent.tolist(), layer.module.weight.grad.tolist()
    distributed.destroy_process_group()
    return [made, len(practice_gpu.races()), float(practice_gpu.clock()) > 0]


@pytest.mark.skipif(not distributed.is_available(), reason="this PyTorch has no torch.distributed")
def test_processes_exchange_what_their_gpus_hold(tmp_path: Path) -> None:
    folder = Path(practice_gpu.__file__).parents[1]
    code = f"import sys; sys.path[:0] = {[str(folder), str(Path(__file__).parent)]!r}; import test_device as test"
    code += f"; print(test.exchanged(1, {str(tmp_path / 'store')!r}))"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as other:
        ours = exchanged(0, str(tmp_path / "store"))
        assert other.communicate(timeout=100)[0].splitlines()[-1] == str(ours)
    gradient = [[6.0] * 3] * 2  # 4 rows of 1, and 4 rows of 2: their mean
    assert ours == [([3.0, 3.0], [3.0, 3.0], [6.0, 6.0], [3.0, 3.0], gradient), 0, True]


# --- honest by construction ----------------------------------------------------------------------------------


def test_it_starts_beside_no_real_gpu(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not torch.cuda.is_available() and practice_gpu.device() == torch.device(D)
    assert gpu.get_device_name() == gpu.get_device_properties().name == "practice GPU (modelled on T4)"
    assert gpu.get_device_capability() == (7, 5) and gpu.is_bf16_supported()
    assert not gpu.is_bf16_supported(including_emulation=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert practice_gpu.device() == torch.device("cuda")
    with pytest.raises(RuntimeError, match="does not start beside a CUDA GPU: use cuda"):
        practice_gpu.start()


def test_it_starts_on_a_mac() -> None:
    code = "import torch, practice_gpu; torch.accelerator.current_accelerator = lambda *_, **__: torch.device('mps')"
    code += "; print(*practice_gpu.start('T4', 2), practice_gpu.device())"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "practice:0 practice:1 practice:0\n", run.stderr


def test_to_import_it_imports_and_changes_nothing() -> None:
    code = (
        "import sys, practice_gpu; print({name.split('.')[0] for name in sys.modules} & {'torch', 'numpy'})"
    )
    code += "; print(sorted(name for name in sys.modules if 'practice_gpu' in name))"
    folder = Path(practice_gpu.__file__).parents[1]
    run = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n['practice_gpu']\n"
