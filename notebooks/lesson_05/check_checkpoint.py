"""Check the exercise ``checkpoint``: the names of a state that DataParallel has saved, without ``module.``."""

from __future__ import annotations

from typing import Any

import torch

from bilingual import Block
from course_utils import facts
from course_utils.exercises import NO_RETURN, Wrong

_INNER = ("features.module.weight", "features.module.bias", "head.weight", "modules.weight", "old.led.bias")


def _states() -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Return a plain state and the same state as saved from a wrapped model."""
    plain = {name: torch.full((2,), float(k)) for k, name in enumerate(_INNER)}
    return plain, {f"module.{name}": value for name, value in plain.items()}


def examine_checkpoint(answer: Any) -> None:
    """Examine ``without_prefix(state) -> dict``."""
    plain, wrapped = _states()
    for given, case in ((wrapped, "wrapped"), (plain, "plain")):
        state = dict(given)
        got = answer(state)
        _check_checkpoint(got, state, given, plain, case)


def _check_checkpoint(
    got: Any, state: dict[str, Any], given: dict[str, Any], plain: dict[str, Any], case: str
) -> None:
    if got is None:
        raise Wrong(**NO_RETURN)
    if not isinstance(got, dict):
        raise Wrong(
            en=f"Return a dictionary, name → tensor, as `load_state_dict` takes it; yours is a `{type(got).__name__}`.",
            zh=f"請傳回字典（名稱 → 張量），也就是 `load_state_dict` 收的那種；你傳回的是 `{type(got).__name__}`。",
        )
    if list(state) != list(given):
        raise Wrong(
            en="You changed the dictionary that you were given. The caller may still need it: build a new one.",
            zh="你改到了傳進來的字典。呼叫端可能還要用，請另外建一個新的。",
        )
    names = set(got)
    if case == "wrapped" and names == set(given):
        raise Wrong(
            en="The names still begin with `module.`, as before.",
            zh="名稱開頭的 `module.` 還在，和原本一模一樣。",
        )
    if names == {name.replace("module.", "") for name in given}:
        raise Wrong(
            en="A name such as `module.features.module.weight` holds `module.` twice, and the second one belongs to the model. Take away only the one at the very beginning.",
            zh="像 `module.features.module.weight` 這樣的名稱，裡面有兩個 `module.`，第二個是模型自己的。請只拿掉最開頭的那一個。",
        )
    if case == "plain" and names != set(plain):
        raise Wrong(
            en="Given a state that never had the prefix, you cut off the beginning of its names. Take away only what is there.",
            zh="傳進來的狀態本來就沒有這個前綴，你卻把名稱的開頭切掉了。有前綴才要拿掉。",
        )
    if names != set(plain):
        lost = sorted(set(plain) - names)
        raise Wrong(
            en=f"`{lost[0]}` should be among the names, but yours are {', '.join(f'`{name}`' for name in sorted(map(str, names))[:5])}. (`lstrip` takes away single letters, not a word.)",
            zh=f"名稱裡應該有 `{lost[0]}`，你的卻是 {'、'.join(f'`{name}`' for name in sorted(map(str, names))[:5])}。（`lstrip` 拿掉的是一個個字母，不是整個詞。）",
        )
    if any(got[name] is not plain[name] for name in plain):
        raise Wrong(
            en="The names are right, but not every name has its own tensor.",
            zh="名稱都對，但有的名稱對應到的不是自己的張量。",
        )


def show_checkpoint(answer: Any) -> Block:
    """Return what the answer makes of five names."""
    plain, wrapped = _states()
    names = {id(value): name for name, value in answer(dict(wrapped)).items()}
    return facts(fixed={name: f"→ {names.get(id(value), '–')}" for name, value in wrapped.items()})
