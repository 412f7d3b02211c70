"""Exercise ``fetch(result, host, stream, launch_more) -> list``: read a non-blocking copy in time."""

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from bilingual import texts
from course_utils import figures
from course_utils.exercises import Mistakes, NotYet
from course_utils.lesson_gpus import ready
from lesson_04.exercises import unchanged
from shared import timeline
from shared.timeline.picture import picture

RESULT = [1.0, 2.0, 3.0]


class _Fetch(TorchDispatchMode):
    """A run of an answer: what it is given, and what it did.

    Args:
        before: Ticks of the GPU's clock for which it is busy before the copy can begin.
        more: Ticks of the work that `launch_more` queues.

    Attributes:
        copies: For each copy to `host`, whether it was a non-blocking one.
        launched: For each call of `launch_more`, whether the copy was done by then.
        other: Whether a tensor of the GPU was read in another way.
    """

    def __init__(self, before: int, more: int) -> None:
        super().__init__()
        (device,) = ready()
        self.gpu, self.before, self.more = torch.get_device_module(device), before, more
        self.result, self.host = torch.tensor(RESULT, device=device), torch.zeros(3).pin_memory()
        self.copies: list[bool] = []
        self.launched: list[bool] = []
        self.other = False
        self.copied, self.end = self.gpu.Event(), self.gpu.Event()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation, and note a copy."""
        result, name = func(*args, **(kwargs or {})), func.overloadpacket.__name__
        if name == "copy_" and args[0] is self.host:
            self.copies.append(bool([*args[2:], *(kwargs or {}).values(), False][0]))
            self.copied.record()
        elif name in ("copy_", "_to_copy", "_local_scalar_dense"):
            self.other = self.other or any(isinstance(x, torch.Tensor) and not x.is_cpu for x in args)
        return result

    def launch_more(self) -> None:
        """Queue the work behind the copy."""
        self.launched.append(bool(self.copies) and self.copied.query())
        self.gpu._sleep(self.more)
        self.end.record()

    def run(self, answer: Any) -> Any:
        """Return what the answer returns."""
        self.gpu.synchronize()
        self.gpu._sleep(self.before)
        with self:
            return answer(self.result, self.host, self.gpu.current_stream(), self.launch_more)


def _given(result: Any, host: Any, stream: Any, launch_more: Any) -> Any:
    # The lesson's stub, to be compared byte by byte.
    host.copy_(result, non_blocking=True)
    launch_more()
    return host.tolist()


def judge(answer: Any) -> Mistakes:
    """Look at the copy, at what was read, and at what the host waited for."""
    fetch = _Fetch(before=3_000_000, more=100_000_000)
    got = fetch.run(answer)
    all_done = fetch.end.query()
    yield got is None, "returned_none"
    yield False in fetch.copies, "blocking"
    yield len(fetch.copies) != 1 or len(fetch.launched) != 1, "not_once"
    yield fetch.other or isinstance(got, torch.Tensor), "not_from_host"
    zeros = got == [0.0, 0.0, 0.0]
    if zeros and unchanged(answer, _given):
        raise NotYet
    yield zeros, "zeros"
    yield got != RESULT, "other", {"right": RESULT, "got": got}
    yield all_done, "waits_for_all"
    yield fetch.launched[0], "waits_first"


def show(answer: Any) -> figures.Picture:
    """Draw what the GPU did and how long the host waited, and say what was read."""
    fetch, got = _Fetch(before=30_000, more=90_000), []
    recorded = timeline.record(lambda: got.append(fetch.run(answer)), warm_up=0)
    return picture(recorded, None, texts(__file__)["caption"].format(got=repr(got[0])[:80]))
