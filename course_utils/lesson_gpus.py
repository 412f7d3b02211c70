"""The GPUs of a lesson: the machine's own where it has enough of them, otherwise practice GPUs."""

import os

import torch

from bilingual import Bilingual, all_of, enumerated, texts
from course_utils import settings

_TEXTS = texts(__file__)
_devices: list[torch.device] = []
_hidden = False  # whether a single real GPU was hidden from this lesson


class NoPracticeGPU(RuntimeError):
    """A practice GPU is needed and may not start. A notebook shows one line, and a run of all cells ends with it."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def start(count: int, enough: int | None = None) -> None:
    """Make `count` GPUs ready for a lesson; `gpus` returns them.

    They are real ones where the machine has so many. Otherwise they are practice GPUs: PyTorch knows one kind of
    accelerator at a time, so a single real GPU is hidden from a lesson that needs two.

    Args:
        count: How many GPUs the lesson needs; 0 for none.
        enough: How many real ones will do, if fewer are better than practice GPUs; without it: `count`.

    Raises:
        NoPracticeGPU: PyTorch is too old for practice GPUs, or its CUDA cannot be hidden any more.
        ValueError: The card that the learner chose is not known.
    """
    global _hidden
    _devices.clear()
    _hidden = False
    real = torch.cuda.device_count()
    if not count or real >= (enough or count):
        _devices.extend(torch.device("cuda", index) for index in range(real if count else 0))
        return
    import practice_gpu

    if real and not torch.cuda.is_initialized():
        os.environ["CUDA_VISIBLE_DEVICES"], _hidden = "", True
    blocking = os.environ.get("CUDA_LAUNCH_BLOCKING") == "1"
    try:
        _devices.extend(practice_gpu.start(card(), count=count, blocking=blocking))
    except RuntimeError as error:
        said = _TEXTS["may_not_start"].format(why=error)
        raise NoPracticeGPU(f"{said.en} · {said.zh}") from None


def card() -> str:
    """Return the card on which practice GPUs are modelled: ``COURSE_CARD``, the chosen one, or a T4."""
    chosen = settings.read("settings").get("practice_gpu")
    return os.environ.get("COURSE_CARD") or (chosen if isinstance(chosen, str) else "T4")


def choose_card(name: str) -> Bilingual:
    """Let practice GPUs be modelled on another card from the next set-up cell on, in all notebooks; return which there are.

    Published values beside yours are those of the same card, too.

    Args:
        name: ``"T4"``, ``"RTX 4090"``, ``"H100"`` …: a card that practice_gpu knows.

    Raises:
        ValueError: It knows no such card.
    """
    from practice_gpu.profiles import profile, sources

    chosen = profile(name).name
    settings.write("settings", settings.read("settings") | {"practice_gpu": chosen})
    return _TEXTS["chosen"].format(card=chosen, known=enumerated(sources()))


def gpus() -> list[torch.device]:
    """Return the GPUs of this lesson: ``cuda:0``, ``cuda:1`` …, or ``practice:0`` and so on.

    Raises:
        RuntimeError: The set-up cell was not run, or did not ask for any.
    """
    if not _devices:
        said = _TEXTS["none_yet"]
        raise RuntimeError(f"{said.en} · {said.zh}")
    return list(_devices)


def ready(count: int = 1) -> list[torch.device]:
    """Return `count` GPUs of this lesson; where no set-up cell was run, as in a test, make them ready first.

    Args:
        count: How many GPUs are needed.

    Raises:
        NoPracticeGPU: A practice GPU is needed, and may not start.
    """
    if len(_devices) < count:
        start(count)
    return _devices[:count]


def modelled(device: torch.device | None) -> bool:
    """Return whether `device` is a practice GPU: what it shows is a model's, not a measurement's."""
    return device is not None and device.type == "practice"


def clock(*, wait: bool = True) -> float | None:
    """Return the practice GPUs' clock, in modelled seconds; None if the lesson uses none.

    Args:
        wait: Whether to let them finish first what is queued, which takes a little time of the clock itself.
    """
    if not any(map(modelled, _devices)):
        return None
    import practice_gpu

    module = torch.get_device_module(_devices[0])
    for device in _devices if wait else ():
        module.synchronize(device)
    return practice_gpu.clock()


def plan() -> Bilingual | None:
    """Return what the machine badge says about the practice GPUs; None without any."""
    if not any(map(modelled, _devices)):
        return None
    here = _TEXTS["one" if len(_devices) == 1 else "several"].format(count=len(_devices))
    plan = _TEXTS["plan"].format(gpus=here, card=card())
    return all_of(_TEXTS["hidden"], plan) if _hidden else plan
