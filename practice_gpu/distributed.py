"""A process group for processes with one practice GPU each: gloo exchanges what NCCL would."""

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from practice_gpu.operators import lend
from practice_gpu.plans import tensors_in
from practice_gpu.simulation import Work
from practice_gpu.state import NAME, state

BACKEND = "practice_gloo"
_START = 2e-5  # of a collective, in seconds (assumed)


class Group(dist.ProcessGroup):
    """A process group over gloo, for tensors of practice GPUs and of the CPU."""

    def __init__(self, rank: int, size: int, gloo: Any) -> None:
        super().__init__(rank, size)
        self.gloo = gloo

    def getBackendName(self) -> str:  # noqa: N802 - PyTorch's name
        """Return the name of the backend."""
        return BACKEND


def _collective(name: str) -> Callable[..., Any]:
    def run(group: Group, *args: Any) -> Any:
        call = getattr(group.gloo, name)
        gpu = [tensor for tensor in tensors_in(args) if not tensor.is_cpu]
        if not gpu:
            return call(*args)
        with state.lock:
            # The other processes need the values now; on the clocks the collective is a kernel in the stream.
            state.machine.run(float("inf"))
            uses: list = []
            call(*[lend(value, True, uses) for value in args]).wait()
            for device in {tensor.device.index for tensor in gpu}:
                size = sum(tensor.nbytes for tensor in gpu if tensor.device.index == device)
                seconds = _START + 2 * size * (group.size() - 1) / group.size() / state.profile.peer
                state.launch(Work("kernel", name, state.key(device), seconds, "compute"), uses)
        future: torch.futures.Future = torch.futures.Future()
        future.set_result(args[0])
        return torch._C._distributed_c10d._create_work_from_future(future)

    return run


_OTHER_NAMES = {
    "all_gather_single": "_allgather_base",
    "reduce_scatter_single": "_reduce_scatter_base",
    "all_to_all_single": "alltoall_base",
}
for _name in (
    "allreduce allreduce_coalesced broadcast allgather _allgather_base reduce reduce_scatter _reduce_scatter_base gather "
    "scatter alltoall alltoall_base send recv barrier all_gather_single reduce_scatter_single all_to_all_single"
).split():
    setattr(Group, _name, _collective(_OTHER_NAMES.get(_name, _name)))


def _create(store: Any, rank: int, size: int, timeout: Any) -> Group:
    gloo = dist.ProcessGroupGloo(dist.PrefixStore("gloo", store), rank, size, timeout)
    return Group(rank, size, gloo)


def register() -> None:
    """Let ``init_process_group("practice_gloo")`` make such groups."""
    dist.Backend.register_backend(BACKEND, _create, devices=[NAME])
