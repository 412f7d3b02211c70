"""Answers that no learner should give, but some will: what an answer does, and values that are no answer at all."""

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from course_utils.exercises import NotYet


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class ExitsWhenPrinted(Exception):
    def __str__(self) -> str:
        raise SystemExit


class Resisting:
    """A result that raises whatever is asked of it."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not comparable")

    def __repr__(self) -> str:
        raise RuntimeError("not printable")

    __str__ = __repr__
    __hash__ = None  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("no attributes")

    def __bool__(self) -> bool:
        raise SystemExit


def forever(*_: object) -> None:
    while True:
        pass


def without_end(*_: object) -> None:
    without_end()


def raises(error: BaseException | type[BaseException]) -> Callable[..., Any]:
    def act(*_: object) -> None:
        raise error

    return act


def change_state(*_: object) -> None:
    """Change every part of PyTorch's global state that `examine` restores."""
    torch.set_default_dtype(torch.float64)
    torch.set_default_device("meta")
    torch.set_grad_enabled(False)
    torch.set_num_threads(torch.get_num_threads() + 3)
    torch.backends.cudnn.benchmark = not torch.backends.cudnn.benchmark
    torch.set_float32_matmul_precision("medium")


def mutate(*given: Any) -> None:
    for thing in given:
        if isinstance(thing, torch.Tensor):
            thing.fill_(7)
        elif isinstance(thing, (list, dict)):
            thing.clear()


def print_a_lot(*_: object) -> None:
    for _ in range(1000):
        print("x" * 1000)
        print("y" * 1000, file=sys.stderr)


ACTS: dict[str, Callable[..., Any]] = {
    "raises": raises(ValueError("`on` purpose\nsecond line")),
    "raises without text": raises(AssertionError),
    "raises something unprintable": raises(Unprintable()),
    "raises something that exits when printed": raises(ExitsWhenPrinted()),
    "exits": raises(SystemExit(1)),
    "interrupts": raises(KeyboardInterrupt),
    "ends a generator": raises(GeneratorExit),
    "stops an iteration": raises(StopIteration),
    "raises what the checker raises": raises(NotYet()),
    "calls itself": without_end,
    "returns something that resists": lambda *_: Resisting(),
    "returns a class": lambda *_: Resisting,
    "returns a huge string": lambda *_: "x" * 5_000_000,
    "returns a huge number": lambda *_: 10**6000,
    "returns nan": lambda *_: float("nan"),
    "returns a generator": lambda *_: (_ for _ in ()),
    "returns a list in itself": lambda *_: (loop := [], loop.append(loop))[0],
    "returns an exception": lambda *_: ValueError("as a value"),
    "returns a tensor without data": lambda *_: torch.empty(3, device="meta"),
    "prints a lot": print_a_lot,
    "changes global state": change_state,
    "mutates": mutate,
}
VALUES: dict[str, Any] = {
    "a number": 3,
    "a text": "def f(x): ...",
    "a class": Resisting,
    "something that resists": Resisting(),
    "a built-in": len,
    "a module": sys,
    "a tensor": torch.zeros(3),
    "a list": [1, 2],
    "a function without arguments": lambda: 1,
    "a function of too many arguments": lambda a, b, c, d, e: 1,
    "a class that asks for arguments": type("Asks", (nn.Module,), {"__init__": lambda self, a: None}),
    "a class without super": type("Forgot", (nn.Module,), {"__init__": lambda self: None, "forward": 3}),
    "a dictionary": {},
}
