"""The exercise "move" of lesson 02: move a nested batch to a device."""

from __future__ import annotations

from typing import Any

import torch

from bilingual import Bilingual, Block
from course_utils.exercises import Wrong
from lesson_02.other_device import OTHER_DEVICE
from lesson_02.places import below, table, traffic_table
from shared.pretended_gpus import pretended_gpus


def examine_move(answer: Any) -> None:
    """Examine ``move(batch, device)``, which moves the tensors in nested dictionaries, lists and tuples.

    Raises:
        Wrong: With a hint about the mistake.
    """
    _check_single_tensor(answer)
    _check_contents(_move_batch(answer))


def _batch() -> dict[str, Any]:
    """Return a batch with every kind of content: tensors, containers in containers, strings, a number, None."""
    return {
        "image": torch.zeros(2, 3),
        "extra": {"mask": torch.ones(2), "names": ["a", "b"]},
        "pair": (torch.zeros(1), [torch.ones(1), 7]),
        "none": None,
    }


def _check_single_tensor(answer: Any) -> None:
    """Check a batch that is a single tensor."""
    alone = answer(torch.zeros(2), OTHER_DEVICE)
    if alone is None:
        raise Wrong(
            en="For a single tensor your function returns `None`. `Tensor.to` returns the moved tensor: return that.",
            zh="只傳入一個張量時，你的函式傳回 `None`。`Tensor.to` 會傳回搬好的張量，你的函式也要傳回這個張量。",
        )
    if not isinstance(alone, torch.Tensor) or alone.device.type != OTHER_DEVICE.type:
        raise Wrong(
            en="A single tensor does not arrive. `x.to(device)` on its own changes nothing: use what it returns.",
            zh="只傳入一個張量時，這個張量沒有搬過去。光寫 `x.to(device)` 什麼都不會變，要用傳回的結果。",
        )


def _move_batch(answer: Any) -> Any:
    """Return what `answer` makes of a nested batch; the batch itself must not change."""
    given = _batch()
    try:
        moved = answer(given, OTHER_DEVICE)
    except RecursionError:
        raise Wrong(
            en="Endless recursion: every item of a string is again a string, so going into `'a'` never ends. Go into "
            "dictionaries, lists and tuples only.",
            zh="遞迴（recursion）停不下來，因為字串的每個字元還是字串，進到 `'a'` 裡面就沒完沒了。只有字典、list 和 tuple 才需要往裡面走。",
        ) from None
    except (AttributeError, TypeError) as error:
        if "'to'" in str(error) or "not iterable" in str(error):
            raise Wrong(
                en=f"Not everything in a batch is a tensor or a container ({error}). Anything else stays as it is.",
                zh=f"批次裡的東西，不一定都是張量或容器（{error}）。兩者都不是的東西，請原樣傳回。",
            ) from None
        raise
    if not isinstance(moved, dict) or set(moved) != set(given):
        raise Wrong(
            en="What comes back should be a dictionary with the same keys.",
            zh="應該傳回一個字典，而且鍵（key）都和原來一樣。",
        )
    if given["image"].device.type != "cpu" or given["extra"]["mask"].device.type != "cpu":
        raise Wrong(
            en="You changed the caller's batch. Build a new one and leave the given one alone.",
            zh="你改動了傳入的批次。請建立新的批次，不要動到原來的。",
        )
    return moved


def _check_contents(moved: Any) -> None:
    """Check that the containers are of the same kinds, all tensors are moved, and the rest is unchanged."""
    pair = moved["pair"]
    if not isinstance(pair, tuple) or not isinstance(pair[1], list):
        raise Wrong(
            en="A tuple should stay a tuple and a list a list: `type(batch)(…)` builds the same kind.",
            zh="tuple 要維持 tuple，list 要維持 list。用 `type(batch)(…)` 就能建立同一種容器。",
        )
    inside = {
        "batch['image']": moved["image"],
        "batch['extra']['mask']": moved["extra"]["mask"],
        "batch['pair'][0]": pair[0],
        "batch['pair'][1][0]": pair[1][0],
    }
    for place, tensor in inside.items():
        if not isinstance(tensor, torch.Tensor) or tensor.device.type != OTHER_DEVICE.type:
            raise Wrong(
                en=f"`{place}` stayed behind. Containers can hold containers: let the function call itself.",
                zh=f"`{place}` 沒有跟著搬。容器裡還可能有容器，所以要讓函式呼叫自己。",
            )
    if moved["extra"]["names"] != ["a", "b"] or pair[1][1] != 7 or moved["none"] is not None:
        raise Wrong(
            en="Strings, numbers and `None` should come back unchanged.",
            zh="字串、數字和 `None` 應該原樣傳回。",
        )


def _leaves(value: Any, path: str) -> list[tuple[str, Any]]:
    """Return everything in nested containers with its path, such as ``batch['pair'][0]``."""
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in _leaves(inner, f"{path}[{key!r}]")]
    if isinstance(value, (list, tuple)):
        return [leaf for number, inner in enumerate(value) for leaf in _leaves(inner, f"{path}[{number}]")]
    return [(path, value)]


def show_move(answer: Any) -> Block:
    """Return where each part of the batch is in what the learner's function returns."""
    with pretended_gpus() as traffic:
        moved = answer(_batch(), torch.device("cuda:0"))
        rows = [
            (path, str(part.device) if isinstance(part, torch.Tensor) else repr(part))
            for path, part in _leaves(moved, "moved")
        ]
    header = (
        Bilingual("what you return", "你傳回的內容"),
        Bilingual("where, or what it is", "所在的裝置，或內容"),
    )
    return below(table(header, rows), traffic_table(traffic))
