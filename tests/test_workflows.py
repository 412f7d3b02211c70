"""What the workflows do, as far as it can be tried without GitHub: who may write, limits, shell commands."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tabled import tabled

ROOT = Path(__file__).parents[1]
WORKFLOWS = ROOT / ".github" / "workflows"
JOBS = yaml.safe_load((WORKFLOWS / "gpu.yml").read_text(encoding="utf-8"))["jobs"]
STEPS = JOBS["notebooks"]["steps"]
TESTS, MEASURE, KEEP, REMOVE = "Unit tests", "Measure everything", "Keep the archive", "Remove what"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the shell commands are for Linux")


def step(beginning: str, job: str = "notebooks") -> dict[str, Any]:
    """Return the only step of a job in gpu.yml whose name begins so."""
    (found,) = [one for one in JOBS[job]["steps"] if one.get("name", "").startswith(beginning)]
    return found


# --- gpu.yml: conditions (actionlint, in cpu.yml, checks the expressions) ---------------------------------


def test_the_limits_of_the_steps_leave_time_to_keep_the_archive() -> None:
    """At the limit of its own, a step fails; at the limit of the job, all that follows is cancelled."""
    limits = [one["timeout-minutes"] for one in STEPS if "timeout-minutes" in one]
    assert len(limits) == 3 and sum(limits) + 10 < JOBS["notebooks"]["timeout-minutes"]
    assert "--minutes 60" in step(MEASURE)["run"] and step(MEASURE)["timeout-minutes"] > 60


def test_the_tests_run_in_parallel() -> None:
    parallel = re.search(r"^PARALLEL := (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    assert parallel and parallel[1] in step(TESTS)["run"]


def test_jobs_that_may_write_run_no_code_of_the_repository() -> None:
    """They use hosted machines, and neither check out nor install anything."""
    writing = []
    for path in WORKFLOWS.glob("*.yml"):
        workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert workflow["permissions"] == {"contents": "read"}, path.name
        for name, job in workflow["jobs"].items():
            if "write" not in str(job.get("permissions")):
                continue
            writing.append(name)
            assert job["runs-on"] == "ubuntu-24.04", name
            for one in job["steps"]:
                assert not one.get("uses", "").startswith(("actions/checkout@", "actions/setup-")), name
                commands, _, _words = one.get("run", "").partition(" --body ")
                assert not re.search(r"\b(make|python3?|pipx?|uv|npm|bash|sh|source)\b|(^| )\./", commands), (
                    name
                )
    assert sorted(writing) == ["attest", "editions", "proposal", "website"]


def test_what_is_signed_is_what_was_kept() -> None:
    names = {one["with"]["name"] for one in JOBS["attest"]["steps"] if "artifact" in one["uses"]}
    assert names == {step(KEEP)["with"]["name"]} != {"evidence"}, "the proposal's files have another name"
    assert {"needs.notebooks.outputs.archive", "'public'"} <= {*JOBS["attest"]["if"].split()}


# --- gpu.yml: shell commands ----------------------------------------------------------------------------


def shell(command: str, folder: Path, **variables: str) -> str:
    """Run a step's commands as GitHub does (bash -e) and return what they printed."""
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command],
        cwd=folder, env=os.environ | variables, capture_output=True, text=True, encoding="utf-8",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def git(folder: Path, *words: str) -> str:
    return shell("git " + " ".join(words), folder)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with one commit on `main`, and a remote."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    (tmp_path / "gitconfig").write_text("[user]\nname = a\nemail = a@b\n")
    folder = tmp_path / "course"
    (folder / "recordings").mkdir(parents=True)
    for name in ("README.md", "recordings/cpu.json"):
        (folder / name).write_text("old\n")
    (folder / ".gitignore").write_text(".venv/\ngpu-runs/\n")
    git(tmp_path, "init -q --bare remote.git")
    git(
        folder,
        "init -q -b main . && git add . && git commit -qm first && git remote add origin ../remote.git",
    )
    return folder


def test_the_environment_outlives_a_run_and_nothing_else_does(repository: Path) -> None:
    (repository / "README.md").write_text("changed\n")
    for name in (".venv/bin/python", "gpu-runs/old.tar.gz", "notebooks/left.ipynb", "notebooks/.venv/hidden"):
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text("left\n")
    git(repository, "init -q notebooks/inner")  # a repository of its own is kept by a single -f
    shell(step(REMOVE)["run"], repository)
    left = {path.name for path in repository.iterdir()}
    assert left == {".git", ".gitignore", "README.md", ".venv", "recordings"}
    assert (repository / "README.md").read_text() == "old\n" and (repository / ".venv/bin/python").exists()


def test_the_summary_says_why_no_gpu_was_used(tmp_path: Path) -> None:
    shell(step("Say it", "skipped")["run"], tmp_path, GITHUB_STEP_SUMMARY=str(tmp_path / "summary"))
    text = (tmp_path / "summary").read_text(encoding="utf-8")
    assert "`GPU_RUNNER`" in text and "*A GPU in CI*" in text
    assert "## A GPU in CI" in (ROOT / "tools/README.md").read_text(encoding="utf-8")


def test_a_python_of_the_machine_is_used_where_it_fits(tmp_path: Path) -> None:
    command = step("Look for a Python")["run"]
    shell(command, tmp_path, GITHUB_OUTPUT=str(tmp_path / "found"))
    assert (tmp_path / "found").read_text().startswith("found=python3")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "bash").symlink_to(shutil.which("bash"))
    shell(command, tmp_path, GITHUB_OUTPUT=str(tmp_path / "none"), PATH=str(tmp_path / "bin"))
    assert not (tmp_path / "none").exists()


def test_the_pull_request_has_the_evidence(repository: Path, tmp_path: Path) -> None:
    git(repository, "push -q origin main && git commit -q --allow-empty -m later && git push -q origin main")
    taken = tmp_path / "job" / "evidence"
    (taken / "recordings").mkdir(parents=True)
    (taken / "recordings" / "gpu.json").write_text("{}\n")
    (taken / "README.md").write_text("a new table\n")
    program = tmp_path / "bin" / "gh"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@" >> "$ASKED"\n')
    program.chmod(0o755)
    shell(
        step("Open the pull", "proposal")["run"], taken.parent,
        PATH=f"{program.parent}{os.pathsep}{os.environ['PATH']}", ASKED=str(tmp_path / "asked"), GITHUB_RUN_ID="77",
        GITHUB_REF_NAME="main", GITHUB_SHA=git(repository, "rev-parse main~1").strip(),
        GITHUB_SERVER_URL=str(tmp_path), GITHUB_REPOSITORY="remote.git", RUN="https://example.org/run/77",
    )  # fmt: skip
    changed = git(tmp_path / "remote.git", "show --format=%s --name-only evidence-77").split("\n")
    assert changed == ["Record a run on a GPU", "", "README.md", "recordings/gpu.json", ""]
    assert "later" not in git(tmp_path / "remote.git", "log --format=%s evidence-77"), (
        "a branch of what was measured"
    )
    asked = (tmp_path / "asked").read_text()
    assert "pr\ncreate\n--head\nevidence-77\n--base\nmain\n" in asked
    assert "Measured by https://example.org/run/77.\n\nBefore you merge: run `python -m tools.record" in asked


# --- what adopters read -------------------------------------------------------------------------------


def test_every_variable_of_the_workflows_is_in_the_readme_in_both_languages() -> None:
    names = {
        name
        for path in WORKFLOWS.glob("*.yml")
        for name in re.findall(r"\bvars\.(\w+)", path.read_text("utf-8"))
    }
    readme = (ROOT / "tools/README.md").read_text(encoding="utf-8")
    assert names and {name: readme.count(f"- `{name}`") for name in names} == dict.fromkeys(names, 2)


# --- .ci/run ----------------------------------------------------------------------------------------------


@tabled
def test_a_browser_is_installed_the_way_of_the_system(
    tmp_path: Path, system: str, present: str, expected: list[str]
) -> None:
    (tmp_path / "os-release").write_text(f"NAME=x\n{system}\n")
    programs = {
        "apt-get": 'case "$*" in update) echo apt-get update;; *chromium) echo apt-get install chromium;; esac >> "$LOG"',
        "make": 'echo "make $*${CHROMIUM:+ with $CHROMIUM}" >> "$LOG"',
        "sudo": 'exec "$@"',
        "../.venv/bin/python": 'case "$*" in *install*) echo playwright install >> "$LOG";; *) echo its own;; esac',
    }
    programs |= {present: "exit 0"} if present else {}
    for name, source in programs.items():
        path = tmp_path / "bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{source}\n")
        path.chmod(0o755)
    for name in ("bash", "sh", "id", "env", "grep", "dirname"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci")
    variables = {"PATH": str(tmp_path / "bin"), "OS_RELEASE": str(tmp_path / "os-release"), "CHROMIUM": ""}
    shell(".ci/run", tmp_path, LOG=str(tmp_path / "log"), **variables)
    assert (tmp_path / "log").read_text().splitlines() == expected
