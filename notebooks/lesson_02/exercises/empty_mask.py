"""Exercise ``empty_mask(scores) -> Tensor``: zeros of type bool, created where `scores` is."""

from typing import Any

import torch

from bilingual import Block
from course_utils.exercises import Mistakes
from course_utils.lesson_gpus import ready
from course_utils.returned import tensor
from lesson_02.places import below, name_is, or_error, places, traffic_table
from lesson_02.traffic import Traffic


def _asked(answer: Any, device: torch.device) -> tuple[Any, torch.Tensor, Traffic]:
    scores = torch.randn(4, 10).to(device)
    with Traffic() as traffic:
        return answer(scores), scores, traffic


def judge(answer: Any) -> Mistakes:
    """Ask for the mask of scores on a GPU, then of scores on the CPU."""
    (gpu,) = ready()
    with name_is("name_written"):
        got, scores, traffic = _asked(answer, gpu)
    mask = tensor(got)
    shapes = {"right": tuple(scores.shape), "got": tuple(mask.shape)}
    yield mask.shape != scores.shape, "shape", shapes
    yield mask.device != gpu, "device"
    yield mask.dtype != torch.bool, "dtype", {"dtype": mask.dtype}
    yield mask.any(), "not_empty"
    yield traffic.transfers, "detour"
    yield not tensor(_asked(answer, torch.device("cpu"))[0]).is_cpu, "name_written"


@or_error
def show(answer: Any) -> Block:
    """Return where the tensor and the learner's mask are, and what was moved."""
    mask, scores, traffic = _asked(answer, *ready())
    return below(places(scores=scores, mask=mask), traffic_table(traffic))
