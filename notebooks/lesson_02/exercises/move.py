"""Exercise ``move(batch, device)``: move the tensors in nested dictionaries, lists and tuples."""

from typing import Any

import torch

from bilingual import Block, texts
from course_utils.exercises import Mistake, Mistakes
from course_utils.lesson_gpus import ready
from course_utils.tables import table
from lesson_02.places import below, code, or_error, traffic_table
from lesson_02.traffic import Traffic


def _batch() -> dict[str, Any]:
    """Return a batch with every kind of content: tensors, containers in containers, strings, a number, None."""
    return {
        "image": torch.zeros(2, 3),
        "extra": {"mask": torch.ones(2), "names": ["a", "b"]},
        "pair": (torch.zeros(1), [torch.ones(1), 7]),
        "none": None,
    }


def _moved(answer: Any, batch: dict[str, Any]) -> Any:
    try:
        return answer(batch, *ready())
    except RecursionError:
        raise Mistake("endless") from None
    except (AttributeError, TypeError) as error:
        if "'to'" in str(error) or "not iterable" in str(error):
            raise Mistake("not_everything", error=error) from None
        raise


def _arrived(part: Any) -> bool:
    return isinstance(part, torch.Tensor) and part.device == ready()[0]


def judge(answer: Any) -> Mistakes:
    """Let a single tensor move, then a nested batch: its containers, its tensors, and the rest."""
    alone = answer(torch.zeros(2), *ready())
    yield alone is None, "returned_none"
    yield not _arrived(alone), "not_arrived"
    given = _batch()
    moved = _moved(answer, given)
    yield not isinstance(moved, dict) or set(moved) != set(given), "keys"
    yield {given["image"].device.type, given["extra"]["mask"].device.type} != {"cpu"}, "given_changed"
    pair, extra = moved["pair"], moved["extra"]
    yield not isinstance(pair, tuple) or not isinstance(pair[1], list), "container"
    for place, part in {
        "batch['image']": moved["image"],
        "batch['extra']['mask']": extra["mask"],
        "batch['pair'][0]": pair[0],
        "batch['pair'][1][0]": pair[1][0],
    }.items():
        yield not _arrived(part), "left_behind", {"place": place}
    yield (extra["names"], pair[1][1], moved["none"]) != (["a", "b"], 7, None), "rest_changed"


def _leaves(value: Any, path: str) -> list[tuple[str, Any]]:
    """Return everything in nested containers with its path, such as ``batch['pair'][0]``."""
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in _leaves(inner, f"{path}[{key!r}]")]
    if isinstance(value, (list, tuple)):
        return [leaf for number, inner in enumerate(value) for leaf in _leaves(inner, f"{path}[{number}]")]
    return [(path, value)]


@or_error
def show(answer: Any) -> Block:
    """Return where each part of the batch is in what the learner's function returns."""
    with Traffic() as traffic:
        rows = [
            (code(path), code(part.device if isinstance(part, torch.Tensor) else repr(part)))
            for path, part in _leaves(answer(_batch(), *ready()), "moved")
        ]
    return below(table(tuple(texts(__file__).values()), rows), traffic_table(traffic))
