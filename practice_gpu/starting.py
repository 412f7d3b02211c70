"""Start and stop: the checks, and what is fresh each time."""

try:
    import torch
except ImportError as error:
    raise RuntimeError(
        "practice_gpu needs PyTorch 2.10 or newer, and there is none: pip install torch"
    ) from error

from practice_gpu import copies, generators, patches
from practice_gpu.memory import forget
from practice_gpu.profiles import profile
from practice_gpu.state import NAME, state


def start(
    card: str = "T4", count: int = 1, *, memory: int | None = None, blocking: bool = False
) -> list[torch.device]:
    """Start practice GPUs, or start again with fresh ones: clock at zero, nothing in the log, no errors.

    A Mac's `mps` and other accelerators are not in the way: PyTorch prefers a registered device to them.

    Args:
        card: The card whose speed is modelled: a name of ``profiles.toml``.
        count: How many devices there are.
        memory: Bytes of each device; without it: those of the card.
        blocking: Whether every launch waits until its kernel is done, as with ``CUDA_LAUNCH_BLOCKING=1``.

    Returns:
        The devices: ``practice:0`` and so on.

    Raises:
        RuntimeError: There is a CUDA GPU, or PyTorch is missing or too old.
        ValueError: No such card is known, or `count` is not positive.
    """
    if torch.cuda.is_available():
        raise RuntimeError(
            "practice_gpu does not start beside a CUDA GPU: use cuda. PyTorch knows one accelerator at a time, "
            "and modelled times are no match for measured ones"
        )
    if not hasattr(torch.utils.backend_registration, "_setup_privateuseone_for_python_backend"):
        raise RuntimeError(f"practice_gpu needs PyTorch 2.10 or newer; this is {torch.__version__}")
    if count < 1:
        raise ValueError(f"practice_gpu needs at least one device, not {count}")
    chosen = profile(card)
    with state.lock:
        patches.register()
        patches.replace()
        state.machine.run(float("inf"))  # what is under way still has its effect
        forget()
        state.fresh()
        state.profile, state.count, state.memory = chosen, count, memory or chosen.memory
        state.blocking, state.sync_debug, state.fraction, state.chosen.device = blocking, 0, 1.0, 0
        state.chosen.streams.clear()
        generators.defaults[:] = [generators.Generator(index) for index in range(count)]
        for generator in generators.defaults:
            generator.manual_seed(torch.initial_seed())
    return [torch.device(NAME, index) for index in range(count)]


def stop() -> None:
    """Put back what `start` replaced in PyTorch; tensors on practice GPUs must not be used any more."""
    with state.lock:
        if state.count:
            state.machine.run(float("inf"))
            patches.undo()
            copies.watch_the_host(False)
            state.count = 0


def device() -> torch.device:
    """Return a CUDA GPU if there is one, otherwise a practice GPU, started if need be."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device(NAME, 0) if state.count else start()[0]
