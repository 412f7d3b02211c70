"""What ProbSparse attention computes in a trained Informer, and what it leaves out."""

from dataclasses import dataclass
from typing import Any

import torch
from matplotlib.colors import to_rgb
from torch import Tensor, nn

import informer
import series
from bilingual import Bilingual
from course_utils import figures
from course_utils.torch_state import preserved_state
from lesson_08 import programs
from lesson_08.words import WORDS

STEPS, BATCH, RATE = 30, 16, 4e-3
COMPUTED, SAMPLED, SKIPPED = figures.YOURS, "#F0C9A8", "#EEF1F3"


@dataclass(frozen=True)
class Seen:
    """What one head of the encoder's first layer does with one window.

    Attributes:
        measure: M of each query, (n,).
        active: Numbers of the active queries, (u,).
        sampled: Numbers of the keys on which all queries were tried.
        weights: Plain attention of all queries to all keys, (n, n).
    """

    measure: Tensor
    active: Tensor
    sampled: Tensor
    weights: Tensor

    @property
    def computed(self) -> int:
        """How many scores were computed, the samples among them."""
        return len(self.measure) * (len(self.sampled) + len(self.active))


def trained(device: torch.device) -> tuple[informer.Informer, series.Windows]:
    """Return an Informer after a short training, and the windows of the validation part."""
    data = programs.ready()
    learned, tested = (data.windows(device, torch.float32, part) for part in ("train", "val"))
    with preserved_state(threads=1):
        torch.manual_seed(0)
        model = informer.Informer(len(data.columns)).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
        for chosen in torch.randperm(len(learned))[: STEPS * BATCH].split(BATCH):
            *given, future = learned.batch(chosen)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(*given), future).backward()
            optimizer.step()
    return model.eval(), tested


def look(model: informer.Informer, windows: series.Windows, window: int = 0) -> Seen:
    """Return what the encoder's first layer does with a window, in the head with the largest M.

    Args:
        model: In evaluation mode, so that its sampled keys are always the same.
        windows: Where the window is from.
        window: Its number.
    """
    inputs: list[Tensor] = []
    attention = model.encoder[0].own
    handle = attention.register_forward_pre_hook(lambda _, given: inputs.append(given[0]))
    with torch.no_grad():
        model(*windows.batch([window])[:3])
        handle.remove()
        query, key = (attention.split(part(inputs[0])) for part in (attention.query, attention.key))
        length = query.shape[-2]
        few = informer.sampled(length, attention.factor, False, query.device)
        measure = informer.sparsity(query, key[:, :, few])[0]
        head = int(measure.amax(-1).argmax())
        active = measure[head].topk(informer.kept(length, attention.factor)).indices
        weights = (query @ key.mT / query.shape[-1] ** 0.5).softmax(-1)[0, head]
    return Seen(*(x.float().cpu() for x in (measure[head], active, few, weights)))


def one_query(values: Tensor, weights: Tensor, collected: Tensor) -> figures.Picture:
    """Return the values of all hours, and below them how much each of them counts for one query.

    Args:
        values: Of each hour, (n,).
        weights: Of each hour, (n,).
        collected: The mean of the values with these weights.
    """
    n = len(values)
    figure, (above, below) = figures.new(height=3.2, rows=2, sharex=True)
    above.plot(range(-n, 0), values.tolist(), color=figures.GREY)
    above.plot([0], [collected.item()], "o", color=COMPUTED)
    above.set_ylabel(Bilingual("value", "值"))
    below.bar(range(-n, 0), weights.tolist(), 1.0, color=COMPUTED)
    below.set_ylabel(Bilingual("weight", "權重"))
    below.set_xlabel(Bilingual("key (hours)", "鍵（小時）"))
    below.set_xticks(range(-n, 1, 24), [str(hour).replace("-", "−") for hour in range(-n, 1, 24)])
    return figures.Picture(figure, **WORDS["one_query"])


def cells(seen: Seen) -> Tensor:
    """Return the colour of each score, (queries, keys, 3)."""
    skipped, sampled, computed = (torch.tensor(to_rgb(c)) for c in (SKIPPED, SAMPLED, COMPUTED))
    n = len(seen.measure)
    colours = skipped.expand(n, n, 3).clone()
    colours[:, seen.sampled.long()] = sampled
    rows = seen.active.long()
    strength = (seen.weights[rows] / seen.weights[rows].amax(-1, keepdim=True)).sqrt()[..., None]
    colours[rows] = computed * strength + (1 - strength)
    return colours


def pictured(seen: Seen) -> figures.Picture:
    """Return bars of M, and beside them which scores are computed."""
    n, u = len(seen.measure), len(seen.active)
    figure, (left, right) = figures.new(height=4, columns=2, width_ratios=(1, 1.5), sharey=True)
    colours = [figures.PALE] * n
    for number in seen.active.long().tolist():
        colours[number] = COMPUTED
    left.barh(range(n), seen.measure.tolist(), 1.0, color=colours)
    left.set_xlabel("M")
    left.set_ylabel(Bilingual("query (hours)", "查詢（小時）"))
    left.set_title(Bilingual(f"{u} of {n} active", f"入選的 {u} 個"), fontsize=10)
    right.imshow(cells(seen).numpy(), aspect="auto", interpolation="nearest")
    right.set_xlabel(Bilingual("key (hours)", "鍵（小時）"))
    right.set_title(Bilingual("scores", "分數"), fontsize=10)
    for axes in (left, right):
        axes.grid(visible=False)
    right.set_xticks([0, n - 1], [f"−{n}", "−1"])
    left.set_yticks([0, n - 1], [f"−{n}", "−1"])
    share = f"{seen.computed:,} / {n * n:,}"
    texts, values = WORDS["attention"], {"n": n, "u": u, "share": share}
    return figures.Picture(figure, *(texts[name].format(**values) for name in ("caption", "alternative")))


def counts(lengths: tuple[int, ...], factor: int) -> dict[str, Any]:
    """Return for each length how many scores sparse attention computes, as a share of all."""
    shares = {n: 2 * informer.kept(n, factor) / n for n in lengths}
    return {f"L = {n}": f"{share:.0%}" for n, share in shares.items()}
