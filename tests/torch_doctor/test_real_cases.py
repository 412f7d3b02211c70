"""The doctor is measured on real cases; here it may only get better, and the measure itself is tested."""

import sys

import pytest
from cases import Case, cases
from fake_machines import Machine
from real_cases import FILES, Score, diagnosis_of, load, score, steps_of
from tabled import tabled

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


def scored(
    cures: object = "reboot", run: str = "sudo reboot", kind: str = "fault", sure: int = 3, **names: str
) -> Score:
    """Return the score of a made-up answer to a case whose cause is `fabric`; `names` are its `cause` and its `remark`."""

    def verdict(name: str, kind: str, sure: int, runs: list[str]) -> Verdict:
        steps = tuple(Step(Bilingual("Do it:", "執行："), run) for run in runs)
        return Verdict(
            Cause(name, kind, Bilingual(f"title of {name}", "標題"), None, "", None, steps), sure, ()
        )

    first = verdict(names.get("cause", "fabric"), kind, sure, run.split("|"))
    remarks = (verdict(names["remark"], "remark", 3, []),) if "remark" in names else ()
    case = Case({"name": "made up", "causes": ["fabric"], "cures": [cures]})
    return score(case, Diagnosis("cuda", (first,), remarks, Evidence({})))


def test_the_right_cause_with_a_step_that_works_scores_both() -> None:
    assert scored() == Score("fabric", 3, right=True, works=True, false_sure=False)
    for unfinished in ("NAME", "<node>", "...", "{node}"):
        assert not scored(run=f"sudo reboot {unfinished}").works
    assert scored("--gpus all", "docker run --gpus all ...").works, "an option for the reader's own command"
    both = ["^apt install", "^systemctl start"]  # each in some step
    assert (
        scored(both, "apt install x|systemctl start x").works and not scored(both, "systemctl start x").works
    )


@tabled
def test_a_wrong_answer_is_worst_where_it_is_sure_or_says_that_nothing_is_broken(
    name: str, kind: str, sure: int, false: bool
) -> None:
    assert scored(cause=name, kind=kind, sure=sure).false_sure is false


def test_the_remark_on_a_machine_that_works_belongs_to_the_answer() -> None:
    got = scored("title of fabric", cause="healthy", kind="fine", remark="fabric")
    assert (got.right, got.works, got.false_sure) == (True, True, False)
    assert not scored(cause="mps", remark="fabric").right
