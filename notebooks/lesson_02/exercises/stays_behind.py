"""Exercise ``Net``: a module whose layers and whose constant ``scale`` must move with it and be saved."""

from typing import Any

import torch
from torch import nn

from bilingual import Bilingual, Block
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
    head = (
        Bilingual("part", "部分"),
        Bilingual(f"after `net.to('{gpu}')`", f"`net.to('{gpu}')` 之後"),
        Bilingual("trained", "會被訓練"),
        Bilingual("saved", "會存檔"),
    )
    return table(head, rows)


def _net(*init: str, result: str = "x * self.scale", more: str = "") -> str:
    """Return a class ``Net``; `init` is the rest of its ``__init__``."""
    return (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        + "".join(f"        {line}\n" for line in init)
        + "    def forward(self, x):\n        for layer in self.layers:\n            x = torch.relu(layer(x))\n"
        + f"        return {result}\n{more}"
    )


_LAYERS = "self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))"
_SCALE = "self.register_buffer('scale', torch.ones(8))"
WRONG = {
    "no_class": (
        "def Net(x):\n    return x",
        "class Net:\n    pass",
        _net(_LAYERS, _SCALE) + "Net = Net()",
    ),
    "plain_list": _net("self.layers = [nn.Linear(8, 8), nn.Linear(8, 8)]", _SCALE),
    "two_layers": _net("self.layers = nn.ModuleList([nn.Linear(8, 8)])", _SCALE),
    "no_scale": _net(_LAYERS),
    "parameter": _net(_LAYERS, "self.scale = nn.Parameter(torch.ones(8))"),
    "frozen_parameter": _net(_LAYERS, "self.scale = nn.Parameter(torch.ones(8), requires_grad=False)"),
    "plain_attribute": _net(_LAYERS, "self.scale = torch.ones(8)"),
    "not_saved": _net(_LAYERS, _SCALE[:-1] + ", persistent=False)"),
    "forward": _net(_LAYERS, _SCALE, result="x.sum()"),
    "not_moved": _net(_LAYERS, _SCALE, more="    def to(self, device):\n        return self\n"),
}
