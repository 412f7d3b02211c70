"""Exercise ``Net``: a module whose layers and whose constant ``scale`` must move with it and be saved."""

from typing import Any

import torch
from torch import nn

from bilingual import Block, texts
from course_utils.exercises import Mistakes, NotYet
from course_utils.lesson_gpus import ready
from course_utils.tables import RIGHT, table
from lesson_02.places import code, or_error


def judge(answer: Any) -> Mistakes:
    """Ask an instance for its parts, compute with it, and move it."""
    yield not isinstance(answer, type) or not issubclass(answer, nn.Module), "no_class"
    net = answer()
    weights = [p for p in net.parameters() if p.dim() == 2]
    saved = net.state_dict()
    if not weights and not any(part.shape == (8,) and bool((part == 1).all()) for part in saved.values()):
        raise NotYet
    yield not weights, "plain_list"
    yield len(weights) != 2, "two_layers", {"count": len(weights)}
    scale = getattr(net, "scale", None)
    yield not isinstance(scale, torch.Tensor), "no_scale"
    parameter = isinstance(scale, nn.Parameter)
    yield parameter and not scale.requires_grad, "frozen_parameter"
    yield parameter, "parameter"
    yield not any(scale is buffer for buffer in net.buffers()), "plain_attribute"
    yield "scale" not in saved, "not_saved"
    out = net(torch.ones(3, 8))
    yield not isinstance(out, torch.Tensor) or out.shape != (3, 8), "forward"
    (gpu,) = ready()
    net.to(gpu)
    yield {t.device for t in (*net.parameters(), *net.buffers())} != {gpu}, "not_moved"


def _parts(net: Any) -> dict[str, torch.Tensor]:
    layers = {f"layers[{number}].weight": layer.weight for number, layer in enumerate(net.layers)}
    return layers | {"scale": net.scale}


@or_error
def show(answer: Any) -> Block:
    """Return which parts of the learner's ``Net`` move, are trained and are saved."""
    net = answer()
    parts = _parts(net)
    trained = {id(p) for p in net.parameters() if p.requires_grad}
    saved = {part.data_ptr() for part in net.state_dict().values()}
    kept = [(id(part) in trained, part.data_ptr() in saved) for part in parts.values()]
    (gpu,) = ready()
    net.to(gpu)
    rows = [
        (code(name), code(part.device), RIGHT[is_trained], RIGHT[is_saved])
        for (name, part), (is_trained, is_saved) in zip(_parts(net).items(), kept, strict=True)
    ]
    return table([text.format(gpu=gpu) for text in texts(__file__).values()], rows)
