"""What counts on the scoreboard: the program's network, trained in this call, that recognizes digits, at a possible speed.

The ranks of ``workers/score_ranks.py`` need it, too; they draw nothing, so it must not import matplotlib.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any
from weakref import WeakSet

import torch
from torch import nn

from bilingual import Bilingual, texts
from course_utils.measure import best_time
from course_utils.torch_state import preserved_state
from shared import program

Train = Callable[[torch.device, int], nn.Module]
ENOUGH_SECONDS, MOST_RUNS = 2.0, 5
RULE = 1  # raise it when other numbers than before would come out
LEARNED = 0.8  # share of the test images that a network must recognize
# Operations for an image: 0.64 million forward, and twice as many backward, but for the input of the first layer.
ARITHMETIC = 1_873_920
PART = 60  # test images at a time
# Times the best matrix product: more is impossible. A busy machine can measure the product at a third of its speed, and no
# program that trains must be refused for that.
FASTEST = 10.0

_TEXTS = texts(__file__)
_returned: WeakSet[nn.Module] = WeakSet()


class Refused(Exception):
    """The score does not count.

    Args:
        reason: What was given, what is expected, and what to do; or its key in ``score_rules.toml``.
        values: What to fill in.
    """

    def __init__(self, reason: Bilingual | str, /, **values: object) -> None:
        self.reason = _TEXTS[reason].format(**values) if isinstance(reason, str) else reason
        super().__init__(self.reason.en)


def examine_file(names: Mapping[str, Any]) -> Any:
    """Return the function ``train`` of a learner's file.

    Args:
        names: What the file defines.

    Raises:
        Refused: There is none.
    """
    if not callable(names.get("train")):
        raise Refused("no_train")
    return names["train"]


def examine_call(train: Any, epochs: Any) -> None:
    """Refuse what cannot be called as ``train(device, epochs)``.

    Raises:
        Refused: With the reason.
    """
    if not callable(train) or isinstance(train, nn.Module):
        raise Refused("no_function", kind=type(train).__name__)
    if isinstance(epochs, bool) or not isinstance(epochs, int) or epochs < 1:
        raise Refused("no_epochs", epochs=epochs)


def examine_network(network: Any) -> None:
    """Refuse what is not the program's network, trained in this call.

    Raises:
        Refused: With the reason.
    """
    if network is None:
        raise Refused("returned_none")
    if not isinstance(network, nn.Module):
        raise Refused("no_network", kind=type(network).__name__)
    mine, fresh = list(network.parameters()), list(program.small_resnet().parameters())
    if [p.shape for p in mine] != [p.shape for p in fresh]:
        raise Refused("another_network", count=sum(p.numel() for p in mine))
    if all(torch.equal(a.detach().cpu().float(), b.detach()) for a, b in zip(mine, fresh, strict=True)):
        raise Refused("untrained")
    if network in _returned:
        raise Refused("same_network_again")
    _returned.add(network)


def accuracy(network: nn.Module, device: torch.device) -> float:
    """Return the share of the 360 test images that `network` recognizes.

    Raises:
        Refused: It cannot be asked, or does not give ten scores for each image.
    """
    images, labels = program.test_set(device)
    training = network.training
    try:
        with torch.no_grad():
            network.eval()
            scores = torch.cat([network(part) for part in images.split(PART)])
    except (RuntimeError, TypeError) as error:
        raise Refused("cannot_be_asked", device=device, why=str(error).splitlines()[0][:200]) from None
    finally:
        network.train(training)
    if tuple(scores.shape) != (len(labels), 10):
        raise Refused("other_scores", shape=tuple(scores.shape))
    return float((scores.argmax(1) == labels).double().mean())


def examine_learning(share: float) -> None:
    """Refuse a network that recognizes too few test images.

    Raises:
        Refused: With the reason.
    """
    if share < LEARNED:
        raise Refused("not_learned", share=share, needed=LEARNED)


def timed(train: Train, device: torch.device, epochs: int) -> tuple[Any, float]:
    """Return what ``train(device, epochs)`` returns, and the seconds it takes, the work of all GPUs included.

    The CPU computes with one thread: several wait for each other, so that one busy core would make the number up to
    twenty times smaller. PyTorch's settings that `train` changes are put back.
    """

    def synchronize() -> None:
        for index in range(torch.cuda.device_count()):
            if torch.cuda.memory_reserved(index):  # a GPU without memory of ours has no work of ours
                torch.cuda.synchronize(index)

    with preserved_state(threads=1):
        synchronize()
        start = time.perf_counter()
        network = train(device, epochs)
        synchronize()
        return network, time.perf_counter() - start


@cache
def best_product(device: torch.device, threads: int) -> float:
    """Return the operations per second of the fastest matrix product on `device`, of whatever number type it can multiply.

    If it can multiply none, no speed is impossible: infinity.

    Args:
        device: Where to measure.
        threads: CPU threads that are set; only for the cache.
    """
    cuda = device.type == "cuda"
    size = 4096 if cuda else 512
    types = (torch.float32, torch.float16, torch.bfloat16) if cuda else (torch.float32, torch.bfloat16)
    speeds = []
    for dtype in types:
        with suppress(RuntimeError):
            square = torch.ones(size, size, device=device, dtype=dtype)
            speeds.append(2 * size**3 / best_time(lambda m=square: m @ m, threads=None))
    return max(speeds, default=math.inf)


def examine_ranks(parameters: Sequence[torch.Tensor]) -> None:
    """Refuse networks that differ between processes.

    Args:
        parameters: All values of each process's network, by rank.

    Raises:
        Refused: With the reason.
    """
    for rank, values in enumerate(parameters):
        if not torch.allclose(values, parameters[0], rtol=1e-3, atol=1e-4):
            far = (values - parameters[0]).abs().max().item()
            raise Refused("ranks_differ", rank=rank, far=far)


def examine_rate(rate: float, device: torch.device, devices: int = 1) -> None:
    """Refuse more images per second than the devices have arithmetic for.

    Args:
        rate: Images per second.
        device: One of the devices; on a CPU, what a process computes with.
        devices: How many there are.

    Raises:
        Refused: With the reason.
    """
    limit = devices * FASTEST * best_product(device, torch.get_num_threads()) / ARITHMETIC
    if rate > limit:
        raise Refused("impossible", rate=rate, limit=limit, images=program.IMAGES)
