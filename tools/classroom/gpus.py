"""Deal the GPUs of a server out to its students: each sees one, the one that fewest others have.

A program without such a choice takes the first GPU it sees, so on a shared server all would compute on GPU 0.
"""

import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

_GPU = re.compile(r"^(GPU|\s+MIG) .*\(UUID: ([^)]+)\)", re.M)


def listed(text: str) -> list[str]:
    """Return the identifiers in what ``nvidia-smi -L`` prints; for a GPU that is divided, those of its parts.

    ``CUDA_VISIBLE_DEVICES`` takes them, and unlike numbers they stay the same after a restart.
    """
    found: list[str] = []
    for kind, identifier in _GPU.findall(text):
        if kind != "GPU" and found and found[-1].startswith("GPU-"):
            found.pop()  # CUDA sees the parts, not the whole
        found.append(identifier)
    return found


def present() -> list[str]:
    """Return the identifiers of this server's GPUs; an empty list where there are none."""
    try:
        asked = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return listed(asked.stdout) if asked.returncode == 0 else []


def least_used(gpus: Sequence[str], dealt: Iterable[Sequence[str]], number: int = 1) -> list[str]:
    """Return the `number` of GPUs (or all) that fewest students have now, in the order of the server."""
    holders = Counter(gpu for hand in dealt for gpu in hand)
    chosen = sorted(gpus, key=holders.__getitem__)[:number]
    return sorted(chosen, key=gpus.index)


def dealing(spawner: type, gpus: Sequence[str], number: int = 1) -> type:
    """Return a JupyterHub spawner class that shows each student `number` of the `gpus`.

    Args:
        spawner: Any spawner class that starts the servers on this machine.
        gpus: From :func:`present`. If it is empty, nothing is changed.
        number: How many GPUs a student sees. With two, lessons 05 to 07 measure what they otherwise simulate.
    """
    dealt: dict[Any, list[str]] = {}  # by spawner; the hub keeps one for each student

    class DealingSpawner(spawner):
        """Starts a student's server with the GPUs that fewest others have."""

        def start(self) -> Any:
            if gpus:
                others = [hand for who, hand in dealt.items() if who is not self]
                dealt[self] = least_used(gpus, others, number)
                self.log.info("GPU %s for %s", ",".join(dealt[self]), self.user.name)
            return super().start()

        def get_env(self) -> dict[str, str]:
            hand = {"CUDA_VISIBLE_DEVICES": ",".join(dealt[self])} if self in dealt else {}
            return super().get_env() | hand

        # The hub stores this, so that it still knows after its own restart, during which the servers go on.
        def get_state(self) -> dict[str, Any]:
            return super().get_state() | ({"gpus": dealt[self]} if self in dealt else {})

        def load_state(self, state: dict[str, Any]) -> None:
            super().load_state(state)
            if hand := [gpu for gpu in state.get("gpus", ()) if gpu in gpus]:
                dealt[self] = hand

        def clear_state(self) -> None:
            super().clear_state()
            dealt.pop(self, None)

    return DealingSpawner
