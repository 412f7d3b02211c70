"""What exists once per process: the machine and its card; and what each thread has chosen, its device and its streams."""

import contextlib
import linecache
import os
import sys
import threading
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from practice_gpu.ordering import Memory, Races
from practice_gpu.simulation import Key, Machine, Work

if TYPE_CHECKING:
    from practice_gpu.profiles import Profile

NAME = "practice"
Uses = Sequence[tuple[Memory, int, int, bool]]  # of memory: from and to which byte, and whether it is written

# Work is carried out late, in whatever context the program has reached by then; none of it may touch the result.
_CONTEXTS = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)
for _key in (
    "Python PythonTLSSnapshot AutocastPrivateUse1 FuncTorchDynamicLayerFrontMode FuncTorchDynamicLayerBackMode "
    "FuncTorchBatched FuncTorchVmapMode FuncTorchGradWrapper Functionalize ADInplaceOrView AutogradCPU AutogradOther"
).split():
    _CONTEXTS = _CONTEXTS | torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, _key))


def plain() -> Any:
    """Return a context in which operators are plain CPU kernels: no autograd, no autocast, no modes."""
    return torch._C._ExcludeDispatchKeyGuard(_CONTEXTS)


# --- which line of the user's code asked for something ---------------------------------------------------------------

_INSIDE = tuple(os.path.dirname(module.__file__) + os.sep for module in (torch, sys.modules["practice_gpu"]))
_PLUMBING = {contextlib.__file__, threading.__file__}
_users: dict[CodeType, bool] = {}


class Place(NamedTuple):
    """A line of code."""

    file: str
    line: int

    def __str__(self) -> str:
        """Name the file, the line and its text."""
        text = linecache.getline(self.file, self.line).strip()
        return f"{os.path.basename(self.file)}:{self.line}" + (f" ({text})" if text else "")


def users_line() -> Place:
    """Return the innermost line on the stack that is neither PyTorch's nor practice_gpu's."""
    frame = outermost = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        user = _users.get(code)
        if user is None:
            file = code.co_filename
            user = not (file.startswith((*_INSIDE, "<frozen")) or file in _PLUMBING)
            _users[code] = user
        if user:
            return Place(code.co_filename, frame.f_lineno)
        outermost, frame = frame, frame.f_back
    return Place(outermost.f_code.co_filename, outermost.f_lineno)


# --- the state ---------------------------------------------------------------------------------------------------------


class _Chosen(threading.local):
    def __init__(self) -> None:
        self.device, self.streams, self.watching = 0, defaultdict(int), False


class State:
    """The machine with its settings."""

    profile: "Profile"  # the card

    def __init__(self) -> None:
        self.chosen = _Chosen()  # this thread's device and streams
        self.count, self.memory = 0, 0  # how many devices there are, 0 before `start`; bytes of each
        self.fraction = 1.0  # the share of them that may be used
        self.blocking = False  # whether every launch waits, as with CUDA_LAUNCH_BLOCKING=1
        self.sync_debug = 0  # 1 to warn of waits that nobody asked for, 2 to refuse them
        self.fresh()

    def fresh(self) -> None:
        """Begin with a new machine, its clock at zero."""
        self.machine = Machine(self._perform)
        self.lock, self.races = self.machine.lock, Races(self.machine)
        self.waits: Counter[Place] = Counter()  # how often the host waited
        self.errors: dict[int, str] = {}  # by device, what every later call on it reports
        self.once: dict[int, Exception] = {}

    def key(self, device: int) -> Key:
        """Return this thread's current stream of a device."""
        return device, self.chosen.streams[device]

    def index(self, device: Any = None) -> int:
        """Return the number of a device; of the current one for None.

        Raises:
            ValueError: It is not a practice GPU.
            torch.AcceleratorError: There is no such practice GPU.
        """
        if device is None:
            return self.chosen.device
        if not isinstance(device, int):
            device = torch.device(device)
            if device.type != NAME:
                raise ValueError(f"Expected a {NAME} device, but got: {device}")
            device = self.chosen.device if device.index is None else device.index
        if not 0 <= device < self.count:
            raise torch.AcceleratorError(
                f"{NAME} error: invalid device ordinal\nGPU device may be out of range, do you have enough GPUs?\n"
                f"practice_gpu has {self.count}, not {NAME}:{device}"
            )
        return device

    def _perform(self, works: list[Work]) -> None:
        with plain():
            for work in works:
                try:
                    work.action()
                except Exception as error:
                    if "ZeroDivisionError" in str(
                        error
                    ):  # what a GPU makes of that is undefined, and no error
                        continue
                    text = f"{type(error).__name__}: {error} ({work.name}, called at {work.place})"
                    if isinstance(error, NotImplementedError) or "not implemented for" in str(error):
                        self.once.setdefault(work.key[0], NotImplementedError(f"practice_gpu: {text}"))
                    else:
                        self.errors.setdefault(work.key[0], text)

    def check(self, device: int) -> None:
        """Raise what went wrong on a device since the last call.

        Raises:
            torch.AcceleratorError: A kernel failed because of its values; the device is of no use any more.
            NotImplementedError: The CPU has no such kernel.
        """
        if device in self.once:
            raise self.once.pop(device)
        if device in self.errors:
            raise torch.AcceleratorError(
                f"{NAME} error: device-side assert triggered\nKernel errors are reported at a later call, so the stacktrace "
                f"below might be incorrect. For debugging start practice_gpu with blocking=True. The kernel said: {self.errors[device]}"
            )

    def launch(self, work: Work, uses: Uses = (), host: float | None = None) -> Work:
        """Put work into its stream, let the clock go on, and return the work.

        Args:
            work: The work; where the user's code asked for it is found here.
            uses: The memory that it uses: from and to which byte, and whether it is written.
            host: How long the host needs for the call, in seconds; without it: for a launch.
        """
        machine = self.machine
        machine.now += self.profile.launch if host is None else host
        work.place, work.held = users_line(), uses
        machine.submit(work)
        for memory, low, high, write in uses:
            self.races.touch(memory, work, low, high, write)
        machine.run()
        if self.blocking:
            machine.wait([work], "blocking launch")
            self.check(work.key[0])
        return work

    def wait(
        self, works: Iterable[Work], name: str, device: int, asked: bool = False, errors: Sequence = ()
    ) -> None:
        """Let the host wait, count where, and raise what went wrong on the device meanwhile.

        Args:
            works: What to wait for.
            name: What the log calls the wait.
            device: Whose errors are raised.
            asked: Whether the program asked to wait; sync_debug looks at the other waits only.
            errors: Where the work puts what is wrong with a call; that is raised, and was no wait.

        Raises:
            RuntimeError: The program did not ask to wait, and sync_debug refuses that.
        """
        self.machine.wait(works, name, self.profile.wait)
        if errors:
            raise errors[0]
        if not asked and self.sync_debug:
            if self.sync_debug == 2:
                raise RuntimeError(f"called a synchronizing {NAME} operation: {name}")
            warnings.warn(f"called a synchronizing {NAME} operation: {name}", stacklevel=3)
        self.waits[users_line()] += 1
        self.check(device)

    def last(self, devices: Iterable[int]) -> list[Work]:
        """Return the last work of every stream of some devices."""
        queues = self.machine.queues.items()
        return [queue.last for key, queue in queues if key[0] in devices and queue.last is not None]


state = State()
