"""The doctor answers every case of the table as the table says: staged machines, made-up evidence, what people reported."""

import sys
from collections.abc import Callable

import pytest
from cases import KEYS, Case, cases, problems, told
from fake_machines import Machine

from torch_doctor.diagnosis.causes import catalogue
from torch_doctor.diagnosis.diagnose import CUDA_RULES
from torch_doctor.diagnosis.rules import answers

CAUSES = cases("causes")  # one machine per cause, and its variants
OTHERS = cases("driver", "machine", "questions")
STEPS = cases("steps")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the made-up machines are Linux machines")


# These are to catch a planted fault (tests/mutants.toml).
ALWAYS = ("forked", "torch-slow", "a machine without a fault: 0 GPUs")


def every(some: list[Case]) -> list[object]:
    """Return the parameters for these cases; of those on a machine, `make test` runs one in twenty, the nightly all."""
    machines = [one.name for one in some if one.on_a_machine]
    night = {*machines} - {*machines[::20], *ALWAYS}
    marks = {
        one.name: [LINUX] * one.on_a_machine + [pytest.mark.nightly] * (one.name in night) for one in some
    }
    return [pytest.param(one, id=one.name, marks=marks[one.name]) for one in some]


@pytest.fixture
def a_machine(request: pytest.FixtureRequest) -> Callable[[], Machine]:
    return lambda: request.getfixturevalue("machine")


@pytest.mark.parametrize("case", every([*CAUSES, *OTHERS, *STEPS]))
def test_the_answer_is_that_of_the_table(case: Case, a_machine: Callable[[], Machine]) -> None:
    found = case.answer(a_machine)
    assert not list(problems(case, found)), (told(found), found.evidence.found)
    if case in CAUSES:  # other causes may stand below it, but none with the same right
        rivals = [one.cause for one in found.verdicts[1:] if one.sure >= found.first.sure]
        assert not [cause.name for cause in rivals if cause.kind != "fine"], told(found)


def test_every_rule_is_in_the_table() -> None:
    staged = {one.table["cause"] for one in CAUSES}
    assert staged == set(CUDA_RULES) | {"unknown"}
    for question in ("slow", "hang"):
        said = {
            name
            for one in OTHERS
            if one.question == question
            for name in [one.table.get("cause", ""), *one.table.get("below", {})]
        }
        assert set(answers.RULES[question]) <= said, set(answers.RULES[question]) - said


def test_the_table_is_one() -> None:
    names = [one.name for one in [*CAUSES, *OTHERS]]
    assert len(names) == len(set(names)), sorted(name for name in names if names.count(name) > 1)
    for one in [*CAUSES, *OTHERS, *STEPS]:
        assert one.expected and one.expected.keys() <= KEYS, one.name
        assert one.table.get("cause", "healthy") in catalogue(), one.name
    seen = [(one.table["of"], one.evidence()) for one in STEPS]
    assert not [one for one in seen if seen.count(one) > 1]
