"""What CUDA does, line by line: results, errors, waits and memory, as an H200 gave them (torch 2.11, 2026-11-27)."""

import csv
import gc
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy
import torch
import torch.nn.functional as F  # noqa: N812 - the name that the lines use

import practice_gpu

with (Path(__file__).parent / "cuda_facts.csv").open(encoding="utf-8", newline="") as file:
    FACTS = list(csv.DictReader(file))


def names(device: torch.device) -> dict[str, Any]:
    """Return what the lines name."""
    x = torch.tensor([1.0, -2.0, 3.0, -4.0, 5.0, 6.0, -7.0, 8.0]).to(device)
    h, p = torch.arange(8.0), torch.arange(8.0).pin_memory()
    mh = torch.arange(4096.0).reshape(64, 64) / 4096 + torch.eye(64)
    m, ih, mask_h, s = mh.to(device), torch.tensor([0, 1, 2]), torch.arange(8) > 3, torch.tensor(2.0)
    i, q = ih.to(device), torch.ones(2, 4, 16, 8, device=device)
    lin, lin_h, gpu = (
        torch.nn.Linear(64, 64).to(device),
        torch.nn.Linear(64, 64),
        torch.get_device_module(device),
    )
    lin(m).sum().backward()

    def scaled_step() -> None:
        scaler, optimizer = torch.amp.GradScaler(device.type), torch.optim.SGD(lin.parameters(), 0.1)
        optimizer.zero_grad()
        scaler.scale(lin(m).sum()).backward()
        scaler.step(optimizer)
        scaler.update()

    return {**locals(), "torch": torch, "F": F, "numpy": numpy}


def described(value: Any) -> str:
    """Return the result of a line as the table has it."""
    if isinstance(value, torch.Tensor):
        pinned = " pinned" if value.is_cpu and value.is_pinned() else ""
        return f"{tuple(value.shape)} {str(value.dtype)[6:]} {value.device.type}{pinned}"
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__}[{', '.join(map(described, value))}]"
    plain = isinstance(value, (int, float, str, torch.device)) or value is None
    return repr(value) if plain else type(value).__name__


def done(line: str, given: dict[str, Any]) -> str:
    try:
        return described(eval(line, given))
    except SyntaxError:
        exec(line, given)
        return described(given.get("r"))


def ours(line: str) -> dict[str, str]:
    device, *_ = practice_gpu.start("H200")
    given = names(device)
    gpu, before = given["gpu"], given["gpu"].memory_allocated()
    gpu.synchronize()
    gpu.reset_peak_memory_stats()
    gpu.set_sync_debug_mode("warn")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = done(line, given)
        except Exception as error:
            result = f"{type(error).__name__}: {error}"
    waits = sum("called a synchronizing" in str(warning.message) for warning in caught)
    gpu.synchronize()  # what it did not raise at once, it does not raise at all
    return {"result": result, "waits": str(waits), "peak": str(gpu.max_memory_allocated() - before)}


def test_a_practice_gpu_does_what_cuda_does() -> None:
    different = []
    gc.collect()  # what other tests left
    gc.disable()
    for fact in FACTS:
        found, wanted = ours(fact["line"]), fact["result"].replace("wrapper_CUDA__", "wrapper_CUDA_")
        wanted = wanted.replace("CUDA", "practice").replace("cuda", "practice")
        if wanted.endswith("…"):
            wanted, found["result"] = wanted[:-1], found["result"][: len(wanted) - 1]
        fact = fact | {"result": wanted, "peak": fact["peak"] or found["peak"]}
        if (found := {"line": fact["line"], **found}) != fact:
            different.append((fact, found))
    gc.enable()
    assert len(FACTS) > 170 and different == []


def test_memory_is_reserved_as_by_cuda(gpu: Any) -> None:
    with gpu.stream(gpu.Stream()):  # which has no memory that other tests left
        for size, allocated, reserved in (
            (3 << 20, 3 << 20, 20 << 20), (10 << 20, 10 << 20, 10 << 20), (11 << 20, 12 << 20, 12 << 20),
            (100 << 20, 100 << 20, 100 << 20), ((1 << 20) + 1, (1 << 20) + 512, 20 << 20),
        ):  # fmt: skip
            make = partial(torch.empty, size, dtype=torch.uint8, device="practice")
            assert grown(gpu, make)[1:] == (allocated, reserved)
            gpu.empty_cache()
        small, *grew = grown(gpu, lambda: [torch.empty(128, device="practice") for _ in range(4096)])
        assert grew == [2 << 20, 2 << 20]
        del small[1::2]
        gpu.empty_cache()  # no segment is free as a whole
        large, *grew = grown(gpu, lambda: torch.empty(129, device="practice"))
        assert grew == [1024, 2 << 20] and large.numel()  # it fits into none of the holes
        assert grown(gpu, lambda: small.clear())[1:] == (-(1 << 20), 0)
        small = grown(gpu, lambda: torch.empty(1 << 18, device="practice"))
        assert small[1:] == (1 << 20, 0)  # neighbours that are free are one


def grown(gpu: Any, make: Callable[[], Any]) -> tuple[Any, int, int]:
    """Return what `make` returns, and by how much it changes what is allocated and what is reserved."""
    before = gpu.memory_allocated(), gpu.memory_reserved()
    return make(), gpu.memory_allocated() - before[0], gpu.memory_reserved() - before[1]
