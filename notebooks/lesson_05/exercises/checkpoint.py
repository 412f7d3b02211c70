"""Exercise ``without_prefix(state) -> dict``: the names of a state that DataParallel has saved, without ``module.``."""

from typing import Any

import torch

from bilingual import Bilingual, Block, enumerated
from course_utils import facts
from course_utils.exercises import Mistakes

_NAMES = ("features.module.weight", "features.module.bias", "head.weight", "modules.weight", "old.led.bias")
_PLAIN = {name: torch.full((2,), float(k)) for k, name in enumerate(_NAMES)}
_WRAPPED = {f"module.{name}": value for name, value in _PLAIN.items()}


def _listed(names: set[Any]) -> Bilingual:
    return enumerated([f"`{name}`" for name in sorted(map(str, names))[:5]] or ["–"])


def judge(answer: Any) -> Mistakes:
    """Look at the names and the tensors, of a state with the prefix and of one without."""
    for given in (_WRAPPED, _PLAIN):
        state = dict(given)
        got = answer(state)
        yield got is None, "returned_none"
        yield not isinstance(got, dict), "no_dictionary", {"kind": type(got).__name__}
        yield list(state) != list(given), "changed"
        names = set(got)
        yield given is _WRAPPED and names >= set(given), "as_before"
        yield names == {name.replace("module.", "") for name in given}, "everywhere"
        yield given is _PLAIN and names != set(given), "cut_off"
        if lost := sorted(set(_PLAIN) - names):
            yield True, "letters", {"lost": lost[0], "names": _listed(names)}
        if more := names - set(_PLAIN):
            yield True, "more_names", {"names": _listed(more)}
        yield any(got[name] is not value for name, value in _PLAIN.items()), "other_tensors"


def show(answer: Any) -> Block:
    """Return what the answer makes of five names."""
    names = {id(value): name for name, value in answer(dict(_WRAPPED)).items()}
    return facts(fixed={name: f"→ {names.get(id(value), '–')}" for name, value in _WRAPPED.items()})
