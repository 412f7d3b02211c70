"""The doctor is measured on real cases; here it may only get better, and the measure itself is tested."""

import sys

import pytest
from cases import Case, cases
from fake_machines import Machine
from real_cases import FILES, diagnosis_of, load, score, steps_of, table

from bilingual import Bilingual
from torch_doctor.diagnosis.causes import Cause, Step
from torch_doctor.diagnosis.diagnose import Diagnosis, Verdict
from torch_doctor.diagnosis.evidence import Evidence

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the made-up machines are Linux machines")

CASES = load()


# `make test` runs every fourth, the nightly run all.
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.nightly] * bool(n % 4)) for n, name in enumerate(CASES)]
)
def test_a_real_case_is_diagnosed_and_cured(name: str, machine: Machine) -> None:
    case = CASES[name]
    found, missing = diagnosis_of(case, machine), case.table.get("missing", [])
    got = score(case, found)
    assert not got.false_sure or "cause" in missing, got
    assert got.right or "cause" in missing, got  # the doctor may only get better
    assert got.works or "step" in missing, (got, steps_of(found))


def test_every_case_says_where_it_comes_from() -> None:
    threads = [one.table for one in CASES.values()]
    assert len(threads) >= 127 and len(cases(*FILES)) == len(threads), "two cases have one name"
    assert sum("missing" in one for one in threads) <= 9
    assert all(sum(one.get("question") == q for one in threads) >= 20 for q in ("slow", "hang"))
    for one in threads:
        assert one["address"].startswith("https://github.com/"), one["name"]
        assert one["symptoms"] and one["confirmed"] and one["causes"] and one["cures"], one["name"]
    assert len({one["address"] for one in threads}) == len(threads)


# --- the measure --------------------------------------------------------------------------------------


def _case(causes: str = "fabric", cures: object = "reboot") -> Case:
    return Case({"name": "made up", "causes": [causes], "cures": [cures]})


def _answer(
    *runs: str, name: str = "fabric", kind: str = "fault", sure: int = 3, remark: str = ""
) -> Diagnosis:
    def cause(name: str, kind: str, steps: tuple[Step, ...] = ()) -> Cause:
        return Cause(name, kind, Bilingual(f"title of {name}", "標題"), None, "", None, steps)

    first = Verdict(
        cause(name, kind, tuple(Step(Bilingual("Do it:", "執行："), run) for run in runs)), sure, ()
    )
    remarks = (Verdict(cause(remark, "remark"), 3, ()),) if remark else ()
    return Diagnosis("cuda", (first,), remarks, Evidence({}))


def test_the_right_cause_with_a_step_that_works_scores_both() -> None:
    got = score(_case(), _answer("sudo reboot"))
    assert (got.right, got.works, got.false_sure) == (True, True, False)


@pytest.mark.parametrize(
    "run", ["sudo reboot NAME", "sudo reboot <node>", "sudo reboot ...", "sudo reboot {node}"]
)
def test_a_command_that_must_be_completed_by_hand_is_no_step_that_works(run: str) -> None:
    assert not score(_case(), _answer(run)).works


def test_an_option_for_the_readers_own_docker_run_is_a_step() -> None:
    assert score(_case(cures="--gpus all"), _answer("docker run --gpus all ...")).works


def test_several_patterns_must_all_be_found_each_in_some_step() -> None:
    one = _case(cures=["^apt install", "^systemctl start"])
    assert score(one, _answer("apt install x", "systemctl start x")).works
    assert not score(one, _answer("systemctl start x")).works


@pytest.mark.parametrize(
    "name, kind, sure, false",
    [
        ("mps", "fault", 3, True),
        ("mps", "fault", 2, False),
        ("no-gpu", "fine", 2, True),
        ("unknown", "unknown", 2, False),
        ("fabric", "fault", 3, False),
    ],
)
def test_a_wrong_answer_is_worst_where_it_is_sure_or_says_that_nothing_is_broken(
    name: str, kind: str, sure: int, false: bool
) -> None:
    assert score(_case(), _answer(name=name, kind=kind, sure=sure)).false_sure is false


def test_the_remark_on_a_machine_that_works_belongs_to_the_answer() -> None:
    one = _case("program-hides", "title of program-hides")
    got = score(one, _answer(name="healthy", kind="fine", remark="program-hides"))
    assert (got.right, got.works, got.false_sure) == (True, True, False)
    assert not score(one, _answer(name="mps", remark="program-hides")).right


def test_the_table_sums_up() -> None:
    scores = {"a": score(_case(), _answer("sudo reboot")), "b": score(_case(), _answer(name="mps"))}
    text = table(scores)
    assert (
        "2 cases: the first verdict is right in 1 (50%), a step works in 1 (50%); sure of 2, of which 1 false"
        in text
    )
    assert "sure (FALSE)" in text
