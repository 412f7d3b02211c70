"""A class: its timetables, its progress, and one server for all."""

import csv
import io
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
import types
from pathlib import Path
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet
from traitlets.config import Config

from bilingual import Bilingual
from tools import minutes
from tools.classroom import gpus, progress, syllabus
from tools.classroom.progress_page import page

ROOT = Path(__file__).parents[1]
CLASSROOM = ROOT / "tools" / "classroom"

# --- timetables ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def parts() -> dict[str, dict[str, float]]:
    return minutes.of_plans()


def test_a_class_gets_half_of_the_exercises_minutes(parts: dict[str, dict[str, float]]) -> None:
    for number, path in minutes.lessons().items():
        amount = minutes.amounts(path)
        assert sum(parts[number].values()) == pytest.approx(amount.minutes + amount.solving / 2)


@pytest.mark.parametrize("plan", syllabus.PLANS, ids=lambda plan: plan.en)
def test_a_plan_fits_its_time(plan: syllabus.Plan, parts: dict[str, dict[str, float]]) -> None:
    for day in plan.days:
        rows = syllabus.timetable(day, plan.pause, parts)
        for row, after in zip(rows, rows[1:], strict=False):
            assert row.begin + row.minutes == pytest.approx(after.begin)
            assert row.lesson or after.lesson, "two pauses"
        assert 10 <= 60 * plan.hours - rows[-1].begin - rows[-1].minutes, "no time for a question"
        taught = sum(row.minutes for row in rows if row.lesson)
        assert taught == pytest.approx(sum(syllabus.block_minutes(block, parts) for block in day))
        assert rows[0].lesson and rows[-1].lesson
        longest = since = 0.0
        for row in rows:
            since = since + row.minutes if row.lesson else 0.0
            longest = max(longest, since)
        assert longest <= syllabus.LONGEST + 5, "too long without a break"


def test_a_long_lesson_is_cut_between_two_sections() -> None:
    rows = syllabus.timetable([["03"]], 60, {"03": {"": 2, "3.1": 30, "3.2": 20, "3.3": 40}})
    assert [(row.begin, row.minutes, row.sections) for row in rows] == [
        (0, 52, ("", "3.1", "3.2")),
        (52, syllabus.BREAK, ()),
        (62, 40, ("3.3",)),
    ]


def test_an_unknown_section_is_refused(parts: dict[str, dict[str, float]]) -> None:
    with pytest.raises(ValueError, match=r"has no section 1\.99; correct"):
        syllabus.timetable([["1.99"]], 60, parts)


def test_timetables_are_the_same_in_both_languages(parts: dict[str, dict[str, float]]) -> None:
    titles = dict.fromkeys(parts, "x")
    english, chinese = ([*syllabus.tables(language, parts, titles)] for language in ("en", "zh"))
    assert len(english) == len(chinese) > 60
    for one, other in zip(english, chinese, strict=True):
        if one.startswith("| 0"):
            assert re.findall(r"\d+:\d\d|\d\.\d+", one) == re.findall(r"\d+:\d\d|\d\.\d+", other)
    assert not re.search("[一-鿿]", "".join(english)) and "break" not in "".join(chinese)


def test_teaching_says_the_same(parts: dict[str, dict[str, float]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minutes, "of_plans", lambda: parts)
    text = minutes.TEACHING.read_text(encoding="utf-8")
    assert "**2 hours**" in text and "**兩天，第 2 天**" in text
    assert minutes.teaching(text) == text, "run: python -m tools.minutes --write"


# --- progress -----------------------------------------------------------------------------------------

KNOWN = {
    "01": {"visible": Bilingual("see <one>", "看見一張"), "proof": Bilingual("prove it", "證明")},
    "02": {"move": Bilingual("move", "搬移")},
}


def saved(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_all_exercises_of_the_course_are_known() -> None:
    known = progress.exercises()
    assert {"01", "08"} <= set(known) and sum(map(len, known.values())) >= 50
    assert all(isinstance(title, Bilingual) for titles in known.values() for title in titles.values())


def test_a_progress_file_is_read(tmp_path: Path) -> None:
    data = {"01": {"proof": "2026-11-20", "gone": "2026-11-20", "visible": "<b>"}, "99": {"a": "2026-11-20"}}
    learner = progress.read(saved(tmp_path / "ann.json", json.dumps(data)), "ann", KNOWN)
    assert learner.problem is None and learner.solved == {"01": {"proof": "2026-11-20"}, "02": {}}


@pytest.mark.parametrize("text", ["", "[]", '{"01": 3}', "[" * 100_000, "\ud83d", " " * 1_000_001])
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "ann.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    learner = progress.read(tmp_path / "ann.json", "ann", KNOWN)
    assert learner.problem and not learner.solved


def test_a_file_that_is_not_the_learners_is_refused(tmp_path: Path) -> None:
    other = saved(tmp_path / "bob.json", '{"01": {"proof": "2026-11-20"}}')
    assert progress.read(other, "bob", KNOWN, owner=other.stat().st_uid).solved
    assert progress.read(other, "ann", KNOWN, owner=other.stat().st_uid + 1).problem
    if hasattr(os, "mkfifo"):
        os.symlink(other, tmp_path / "link.json")
        os.mkfifo(tmp_path / "pipe.json")
        assert progress.read(tmp_path / "link.json", "ann", KNOWN).problem
        assert progress.read(tmp_path / "pipe.json", "ann", KNOWN).problem  # and does not wait for a writer


def test_files_of_a_class_are_found(tmp_path: Path) -> None:
    for name in ("ann.json", "bob/progress.json", "bob/notes.txt"):
        saved(tmp_path / name, "{}")
    assert [name for name, _ in progress.handed_in([tmp_path])] == ["ann", "bob"]
    assert [name for name, _ in progress.handed_in([tmp_path / "bob" / "progress.json"])] == ["bob"]
    # what is not there is a learner who has solved nothing
    assert str(progress.read(tmp_path / "eve.json", "eve", KNOWN).problem).startswith("nothing solved yet")


LEARNERS = [
    progress.Learner("ann", {"01": {"proof": "2026-11-20", "visible": "2026-11-21"}, "02": {}}),
    progress.Learner("=bob<b>", {}, Bilingual("is damaged", "檔案已損壞")),
]


def test_the_table_for_a_spreadsheet() -> None:
    file = io.StringIO()
    progress.write_csv(file, LEARNERS, KNOWN)
    head, ann, bob = csv.reader(io.StringIO(file.getvalue()))
    assert head == ["learner", "solved", "01 visible", "01 proof", "02 move", "problem"]
    assert ann == ["ann", "2", "2026-11-21", "2026-11-20", "", ""]
    assert bob == ["'=bob<b>", "0", "", "", "", "is damaged"]


def test_the_page_and_the_terminal_count_the_same() -> None:
    text = page(LEARNERS, KNOWN)
    assert "=bob&lt;b&gt;" in text and "<b>" not in text and "see &lt;one&gt;" in text
    assert "<td>1 / 2</td>" in text and '<td class="whole">11-20</td>' in text
    assert text.count('lang="en"') == text.count('lang="zh-Hant"') + 1  # the page itself has a language
    shown = [*progress.lines(LEARNERS, KNOWN)]
    assert (
        shown[1].split() == ["ann", "2", "·"]
        and "檔案已損壞" in shown[2]
        and shown[3].split() == ["of", "2", "1"]
    )


# --- GPUs ---------------------------------------------------------------------------------------------

LIST = """GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-a)
  MIG 3g.20gb     Device  0: (UUID: MIG-a0)
  MIG 3g.20gb     Device  1: (UUID: MIG-a1)
GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-b)
"""


def test_a_divided_gpu_counts_as_its_parts() -> None:
    assert gpus.listed(LIST) == ["MIG-a0", "MIG-a1", "GPU-b"] and gpus.listed("No devices found.\n") == []


def test_the_least_used_gpus_are_dealt() -> None:
    assert gpus.least_used("abc", []) == ["a"]
    assert gpus.least_used("abc", ["a", "b"]) == ["c"]
    assert gpus.least_used("abc", [["a", "b"], ["b"]], 2) == ["a", "c"]
    assert gpus.least_used("abc", ["a"], 9) == ["a", "b", "c"]


class Hub:
    """What a spawner of JupyterHub is to the class that deals."""

    def __init__(self, name: str) -> None:
        self.user = self.log = type("", (), {"name": name, "info": print})

    def start(self) -> dict[str, str]:
        return self.get_env()

    def get_env(self) -> dict[str, str]:
        return {"HOME": "/home/x"}

    def get_state(self) -> dict[str, Any]:
        return {"pid": 1}

    def load_state(self, state: dict[str, Any]) -> None:
        pass

    def clear_state(self) -> None:
        pass


def test_forty_students_share_four_gpus() -> None:
    spawner = gpus.dealing(Hub, list("abcd"))
    students = [spawner(f"s{n}") for n in range(40)]
    seen = [student.start()["CUDA_VISIBLE_DEVICES"] for student in students]
    assert {gpu: seen.count(gpu) for gpu in "abcd"} == dict.fromkeys("abcd", 10)
    for student, gpu in zip(students, seen, strict=True):
        if gpu == "c":
            student.clear_state()  # as the hub does after a stop
    assert [spawner(f"t{n}").start()["CUDA_VISIBLE_DEVICES"] for n in range(10)] == ["c"] * 10
    assert students[0].start()["CUDA_VISIBLE_DEVICES"] == seen[0], "a second start counts the first one"


def test_the_hub_knows_the_hands_after_its_own_restart() -> None:
    before = gpus.dealing(Hub, ["a", "b"])
    states = []
    for name in ("ann", "bob", "eve"):
        student = before(name)
        student.start()
        states.append(student.get_state())
    assert states == [{"pid": 1, "gpus": [gpu]} for gpu in "aba"]
    after = gpus.dealing(Hub, ["a", "b"])
    for state in states:
        after("again").load_state(state)
    assert after("new").start()["CUDA_VISIBLE_DEVICES"] == "b"


def test_without_a_gpu_nothing_is_dealt() -> None:
    student = gpus.dealing(Hub, [])("ann")
    assert student.start() == {"HOME": "/home/x"} and student.get_state() == {"pid": 1}


# --- the hub ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("systemd", [False, True])
def test_the_configuration_of_the_hub(systemd: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, spawner in ("jupyterhub.spawner", "LocalProcessSpawner"), ("systemdspawner", "SystemdSpawner"):
        module = types.ModuleType(name)
        setattr(module, spawner, type(spawner, (Hub,), {}))
        monkeypatch.setitem(sys.modules, name, module)
    is_dir = Path.is_dir
    monkeypatch.setattr(
        Path, "is_dir", lambda path: systemd if path == Path("/run/systemd/system") else is_dir(path)
    )
    monkeypatch.setattr(gpus, "present", lambda: ["a", "b"])
    config = Config()
    runpy.run_path(str(CLASSROOM / "jupyterhub_config.py"), {"get_config": lambda: config})
    spawner = config.JupyterHub.spawner_class
    assert spawner.__mro__[1].__name__ == ("SystemdSpawner" if systemd else "LocalProcessSpawner")
    assert [spawner(name).start()["CUDA_VISIBLE_DEVICES"] for name in "xyz"] == ["a", "b", "a"]
    assert ("mem_limit" in config.Spawner) == systemd, "only systemd can hold a student to it"
    assert config.JupyterHub.bind_url.startswith("http://127.0.0.1"), (
        "passwords would cross the network unprotected"
    )
    assert "--KernelManager.transport=ipc" in config.Spawner.args
    shell, script, python, course = config.Spawner.cmd
    assert Path(script).is_file() and (python, course) == (sys.executable, str(ROOT))
    assert "{" not in "".join(config.Spawner.cmd), "SystemdSpawner takes braces for placeholders"


@pytest.mark.skipif(sys.platform == "win32", reason="a hub needs Linux")
def test_a_server_starts_with_the_students_copy_and_private_files(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "$@"; umask; ls -d "$JUPYTER_RUNTIME_DIR"\n', encoding="utf-8")
    python.chmod(0o755)
    command = ["/bin/sh", str(CLASSROOM / "start_server.sh"), str(python), str(ROOT), "--port=1", "a b"]
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    shown = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert shown[0] == f"-m tools.my_course {tmp_path}/my_course"
    assert shown[3] == "-m jupyterhub.singleuser --port=1 a b" and shown[4].endswith("77")
    assert re.fullmatch(r"/tmp/jupyter-\w{6}", shown[5])
    shutil.rmtree(shown[5])


# --- the container ------------------------------------------------------------------------------------


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions: name and argument."""
    text = re.sub(r"^#.*\n", "", (CLASSROOM / "Dockerfile").read_text(encoding="utf-8"), flags=re.M)
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines if line)]


def test_the_image_is_what_make_lab_builds() -> None:
    found = instructions()
    names = [name for name, _ in found]
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert ("RUN", "make .venv/lab") in found and re.search(r"^\.venv/lab\b", targets, re.M)
    *_, (last, command) = found
    assert last == "CMD" and json.loads(command)[:2] == ["make", "lab"] and re.search(r"^lab:", targets, re.M)
    base = re.fullmatch(r"python:(3\.\d+)-slim-\w+", dict(found)["FROM"])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert base and base[1] in SpecifierSet(project["requires-python"])
    # nothing is installed or run as root after the system's own packages
    assert names.index("USER") < names.index("COPY") and dict(found)["USER"] not in ("root", "0")
    apt = next(rest for name, rest in found if name == "RUN" and "apt-get" in rest)
    assert "--no-install-recommends" in apt and apt.endswith("rm -rf /var/lib/apt/lists/*")


def test_the_image_holds_nothing_that_git_ignores() -> None:
    lines = (CLASSROOM / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    ignored = {line for line in lines if not line.startswith("#")}
    assert {".git", ".venv", "my_course", "notebooks/mine", "notebooks/results", "build"} <= ignored
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
    kept = [name for name in ignored if not name.startswith("**/")]
    assert not [file for file in files if any(f"{file}/".startswith(f"{name}/") for name in kept)]
