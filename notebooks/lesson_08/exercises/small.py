"""Exercise ``small(inputs, outputs) -> layers``: a network that beats a short training of the Informer, far more cheaply."""

from functools import cache
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from bilingual import Bilingual, Block
from course_utils import facts
from course_utils.exercises import Mistakes
from course_utils.torch_state import preserved_state
from informer import SMALL, Informer
from lesson_08 import programs
from lesson_08.programs import AHEAD, PAST, ready
from mlp import Model

STEPS, BATCH, RATE = 300, 64, 3e-3
INFORMER, ENOUGH = 0.24, 0.19  # validation error: of the Informer after an epoch; what is asked for
SHARE = 10  # so many times fewer operations than the Informer


def network(answer: Any) -> Model:
    """Return the project's ``mlp.py`` with the layers of the answer."""
    made = Model(len(ready().columns), past=PAST, ahead=AHEAD, width=1)
    made.layers = answer(made.layers[0].in_features, made.layers[-1].out_features)
    return made


def operations(model: nn.Module) -> int:
    """Return what one forecast takes."""
    *known, _ = ready().windows("cpu", torch.float32).batch([0])
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model.eval()(*known)
    return counter.get_total_flops()


@cache
def error(answer: Any) -> float:
    """Train for 300 steps and return the error of every fourth validation window."""
    with preserved_state(threads=1):
        torch.manual_seed(0)
        model, train = network(answer).train(), ready().windows("cpu", torch.float32)
        optimizer = torch.optim.AdamW(model.parameters())
        for step in range(STEPS):
            optimizer.param_groups[0]["lr"] = RATE * (1 - step / STEPS)
            *known, future = train.batch(torch.randint(len(train), (BATCH,)))
            optimizer.zero_grad()
            nn.functional.mse_loss(model(*known), future).backward()
            optimizer.step()
        return programs.error(model)


def judge(answer: Any) -> Mistakes:
    """Look at what the layers give, count their operations, then train them."""
    inputs, outputs = 5, 3
    layers = answer(inputs, outputs)
    yield not isinstance(layers, nn.Module), "no_module", {"kind": type(layers).__name__}
    got = tuple(layers(torch.zeros(2, inputs)).shape)
    yield got != (2, outputs), "shape", {"inputs": inputs, "outputs": outputs, "got": got}
    most, used = operations(Informer(len(ready().columns), **SMALL)) // SHARE, operations(network(answer))
    yield used > most, "dear", {"used": used, "most": most}
    found = error(answer)
    yield not found <= ENOUGH, "not_learned", {"found": found, "steps": STEPS, "enough": ENOUGH}


def show(answer: Any) -> Block:
    """Return operations and error beside the Informer's."""
    informer, yours = operations(Informer(len(ready().columns), **SMALL)), operations(network(answer))
    name = Bilingual("{who}: operations; validation error", "{who}：運算次數；驗證誤差")
    rows = {
        name.format(who=Bilingual("the Informer", "Informer")): f"{informer:,}; {INFORMER:.2f}",
        name.format(who=Bilingual("yours", "你的網路")): f"{yours:,}; {error(answer):.2f}",
    }
    return facts(fixed=rows)
