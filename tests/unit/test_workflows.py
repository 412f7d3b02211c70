"""Workflow files and issue forms: valid by their schemas, free of known weaknesses, true to our own rules."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import check_jsonschema
import pytest
import yaml
from click.testing import CliRunner, Result

from tools import constraints as constraints_tool

ROOT = Path(__file__).resolve().parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted((GITHUB / "ISSUE_TEMPLATE").glob("[0-9]-*.yml"))

SCHEMAS = [
    ("vendor.github-workflows", WORKFLOWS),
    ("custom.github-workflows-require-timeout", WORKFLOWS),
    ("vendor.github-issue-forms", FORMS),
    ("vendor.github-issue-config", [GITHUB / "ISSUE_TEMPLATE" / "config.yml"]),
    ("vendor.dependabot", [GITHUB / "dependabot.yml"]),
]


def text_of(name: str) -> str:
    return (GITHUB / "workflows" / name).read_text(encoding="utf-8")


# --- schemas and known weaknesses --------------------------------------------------------------------------


def against_schema(schema: str, files: list[Path]) -> Result:
    """Validate files with check-jsonschema; its schemas are part of the package, so no network is needed."""
    return CliRunner().invoke(check_jsonschema.main, ["--builtin-schema", schema, *map(str, files)])


def zizmor(folder: Path) -> subprocess.CompletedProcess[str]:
    """Look for security weaknesses in the workflows below a folder, without asking the network."""
    name = "zizmor.exe" if os.name == "nt" else "zizmor"
    beside = Path(sys.executable).parent / name
    command = [str(beside) if beside.exists() else name, "--offline", "--no-progress", "--persona=pedantic"]
    return subprocess.run(
        [*command, "--collect=all", str(folder)], capture_output=True, text=True, encoding="utf-8", timeout=60
    )


@pytest.mark.parametrize(("schema", "files"), SCHEMAS, ids=[schema for schema, _ in SCHEMAS])
def test_files_fit_their_schema(schema: str, files: list[Path]):
    assert files
    result = against_schema(schema, files)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("schema", "file", "old", "new"),
    [
        ("vendor.github-workflows", WORKFLOWS[0], "runs-on: ubuntu-24.04", "run-on: ubuntu-24.04"),
        ("custom.github-workflows-require-timeout", WORKFLOWS[0], "    timeout-minutes: 60\n", ""),
        ("vendor.github-issue-forms", FORMS[0], "type: textarea", "type: text-area"),
    ],
)
def test_a_file_that_does_not_fit_is_found(tmp_path: Path, schema: str, file: Path, old: str, new: str):
    text = file.read_text(encoding="utf-8")
    assert old in text
    broken = tmp_path / file.name
    broken.write_text(text.replace(old, new), encoding="utf-8")
    result = against_schema(schema, [broken])
    assert result.exit_code == 1 and "validation" in result.output.lower(), result.output


def test_zizmor_finds_nothing():
    result = zizmor(GITHUB)
    assert result.returncode == 0, result.stdout
    for path in WORKFLOWS:  # it must have read them: an empty folder has no findings either
        assert path.name in result.stderr


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("run: nvidia-smi", "run: echo ${{ github.event.head_commit.message }}", "template-injection"),
        ("          persist-credentials: false\n", "          fetch-depth: 1\n", "artipacked"),
        ("permissions:\n  contents: read\n", "permissions: write-all\n", "excessive-permissions"),
        ("@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1", "@v7", "unpinned-uses"),
    ],
)
def test_zizmor_finds_a_planted_weakness(tmp_path: Path, old: str, new: str, told: str):
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    text = text_of("gpu.yml")
    assert old in text
    (folder / "gpu.yml").write_text(text.replace(old, new), encoding="utf-8")
    result = zizmor(tmp_path / ".github")
    assert result.returncode > 0
    assert told in result.stdout


# --- our own rules -----------------------------------------------------------------------------------------

PINNED = re.compile(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")


def runs(job: dict[str, Any]) -> list[str]:
    return [str(step.get("run", "")).strip() for step in job["steps"]]


def broken_rules(text: str) -> list[str]:
    """Check any workflow: pinned actions, least permissions, a time limit, one run at a time, no secrets."""
    found = []
    workflow = yaml.safe_load(text)
    triggers = workflow[True]  # YAML reads `on` as a truth value
    for line in text.splitlines():
        if "uses:" in line and not PINNED.search(line):
            found.append(f"not pinned by commit with its version beside it: {line.strip()}")
    if workflow.get("permissions") != {"contents": "read"}:
        found.append("permissions are not exactly `contents: read`")
    if "pull_request_target" in triggers or "workflow_run" in triggers:
        found.append("runs with rights of this repository for somebody else's code")
    if "secrets." in text:
        found.append("uses a secret")
    if "group" not in workflow.get("concurrency", {}):
        found.append("no concurrency group")
    for name, job in workflow["jobs"].items():
        if "permissions" in job:
            found.append(f"{name}: permissions of its own")
        if not 0 < job.get("timeout-minutes", 0) <= 120:
            found.append(f"{name}: no time limit of two hours at most")
        if job.get("continue-on-error") or any(step.get("continue-on-error") for step in job["steps"]):
            found.append(f"{name}: goes on after an error")
        for step in job["steps"]:
            checkout = step.get("uses", "").startswith("actions/checkout@")
            if checkout and step.get("with", {}).get("persist-credentials") is not False:
                found.append(f"{name}: the checkout keeps its credentials")
    return found


def broken_gpu_rules(text: str) -> list[str]:
    """Check the GPU workflow: never for forks, only where there is a runner, no fall-back to the CPU."""
    found = []
    workflow = yaml.safe_load(text)
    triggers = workflow[True]
    if set(triggers) != {"push", "schedule", "workflow_dispatch"}:
        found.append(f"triggers are {sorted(triggers)}")
    elif triggers["push"] != {"branches": ["main"]}:
        found.append("runs for other branches than main")
    for name, job in workflow["jobs"].items():
        condition = job.get("if", "")
        if "vars.GPU_RUNNER != ''" not in condition or "!github.event.repository.fork" not in condition:
            found.append(f"{name}: runs without a runner or in a fork")
        if job["runs-on"] != "${{ vars.GPU_RUNNER }}":
            found.append(f"{name}: the runner is not the variable's")
        if any(
            "if" in step and (n, step["if"]) != (len(job["steps"]) - 1, "always()")
            for n, step in enumerate(job["steps"])
        ):
            found.append(f"{name}: a step may be left out")
        commands = runs(job)
        if commands[0] != "nvidia-smi":
            found.append(f"{name}: the first step does not look for a GPU")
        proof = [n for n, run in enumerate(commands) if "assert torch.cuda.is_available()" in run]
        tests = [n for n, run in enumerate(commands) if run.startswith("make test")]
        record = [n for n, run in enumerate(commands) if run.startswith("make verify-gpu")]
        actions = [step.get("uses", "") for step in job["steps"]]
        upload = [n for n, action in enumerate(actions) if action.startswith("actions/upload-artifact@")]
        if not (len(proof) == len(tests) == len(record) == len(upload) == 1):
            found.append(f"{name}: not once each: proof of CUDA, tests, evidence, upload")
        elif not proof[0] < tests[0] < record[0] < upload[0]:
            found.append(f"{name}: proof, tests, evidence and upload are not in this order")
        if any(commands[n] != 'make test ARGS="notebooks tests/unit tests/notebooks"' for n in tests):
            found.append(f"{name}: not every notebook and check is run")
        for n in upload:
            options = job["steps"][n]["with"]
            if options.get("if-no-files-found") != "error" or options["path"] != "gpu-runs/*.tar.gz":
                found.append(f"{name}: missing evidence is no error")
    return found


def test_there_are_both_workflows():
    assert [path.name for path in WORKFLOWS] == ["cpu.yml", "gpu.yml"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflow_keeps_our_rules(path: Path):
    assert broken_rules(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1", "@v7", "not pinned"),
        (" # v7.0.1", "", "not pinned"),
        ("permissions:\n  contents: read\n", "", "permissions are not"),
        ("  contents: read\n", "  contents: write\n", "permissions are not"),
        ("runs-on: ubuntu-24.04\n", "runs-on: x\n    permissions: write-all\n", "permissions of its own"),
        ("  pull_request:\n", "  pull_request_target:\n", "somebody else's code"),
        ("CPU_INDEX }}", "CPU_INDEX || secrets.INDEX }}", "uses a secret"),
        ("concurrency:\n  group: cpu-${{ github.ref }}\n", "concurrency:\n", "no concurrency group"),
        ("    timeout-minutes: 60\n", "", "no time limit"),
        ("timeout-minutes: 60", "timeout-minutes: 600", "no time limit"),
        ("run: .ci/run\n", "run: .ci/run\n        continue-on-error: true\n", "goes on after"),
        ("persist-credentials: false", "persist-credentials: true", "keeps its credentials"),
    ],
)
def test_a_broken_rule_is_found(old: str, new: str, told: str):
    text = text_of("cpu.yml")
    assert old in text
    assert told in "\n".join(broken_rules(text.replace(old, new)))


def test_gpu_workflow_keeps_its_rules():
    assert broken_gpu_rules(text_of("gpu.yml")) == []


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("  workflow_dispatch:\n", "  workflow_dispatch:\n  pull_request:\n", "triggers are"),
        ("    branches: [main]\n", '    branches: ["**"]\n', "other branches"),
        ("    if: vars.GPU_RUNNER != '' && !github.event.repository.fork\n", "", "in a fork"),
        (" && !github.event.repository.fork", "", "in a fork"),
        ("${{ vars.GPU_RUNNER }}", "gpu", "not the variable's"),
        ("run: nvidia-smi", "run: true", "does not look for a GPU"),
        ("assert torch.cuda.is_available()", "print", "not once each"),
        ("run: make verify-gpu", "run: true", "not once each"),
        ('run: make test ARGS="', 'run: make check ARGS="', "not once each"),
        ('ARGS="notebooks tests/unit', 'ARGS="tests/unit', "not every notebook"),
        ('ARGS="notebooks', 'ARGS="-k cuda notebooks', "not every notebook"),
        ("if-no-files-found: error", "if-no-files-found: ignore", "no error"),
        ("        run: nvidia-smi\n", "        run: nvidia-smi\n        if: always()\n", "left out"),
        ("        if: always()\n", "        if: success()\n", "left out"),
        ("gpu-runs/*.tar.gz", "gpu-runs/", "no error"),
    ],
)
def test_a_broken_gpu_rule_is_found(old: str, new: str, told: str):
    text = text_of("gpu.yml")
    assert old in text
    assert told in "\n".join(broken_gpu_rules(text.replace(old, new)))


def test_the_proof_comes_before_the_tests():
    lines = text_of("gpu.yml")
    begin, middle = lines.index("      - name: torch computes"), lines.index("      - name: Unit tests")
    end = lines.index("      - name: Measure")
    swapped = lines[:begin] + lines[middle:end] + lines[begin:middle] + lines[end:]
    assert "order" in "\n".join(broken_gpu_rules(swapped))


def test_cpu_workflow_covers_every_system_and_python():
    jobs = yaml.safe_load(text_of("cpu.yml"))["jobs"]
    assert ".ci/run" in [step.get("run") for step in jobs["linux"]["steps"]]
    others = jobs["other-systems"]["strategy"]["matrix"]["include"]
    assert {entry["system"].split("-")[0] for entry in others} == {"windows", "macos"}
    pythons = {*jobs["linux"]["strategy"]["matrix"]["python"], *(entry["python"] for entry in others)}
    assert pythons == set(constraints_tool.PYTHONS)
    assert "notebooks" in jobs["other-systems"]["steps"][-1]["run"].split()


def test_same_action_same_version_everywhere():
    lines = [line.strip(" -") for path in WORKFLOWS for line in text_of(path.name).splitlines()]
    actions = [line.split("@")[0] for line in {line for line in lines if line.startswith("uses:")}]
    assert len(actions) == len(set(actions)) == 3


# --- the command of a CI machine ---------------------------------------------------------------------------

bash_only = pytest.mark.skipif(not shutil.which("bash") or os.name == "nt", reason="needs bash")


def ci_run(tmp_path: Path, programs: dict[str, str], **environment: str) -> tuple[int, str]:
    """Run a copy of .ci/run with only the given programs; returns exit status and what they were asked."""
    folder = tmp_path / "project"
    (folder / ".ci").mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "run", folder / ".ci")
    path = tmp_path / "bin"
    path.mkdir()
    for name in ("bash", "dirname", "head", "env"):
        (path / name).symlink_to(shutil.which(name) or "")
    for name, body in programs.items():
        script = f'#!/bin/sh\necho "{name} $*" >> "{tmp_path}/log"\n{body}\n'
        (path / name).write_text(script, encoding="utf-8")
        (path / name).chmod(0o755)
    result = subprocess.run(
        [str(folder / ".ci" / "run")], env={"PATH": str(path), **environment}, capture_output=True, timeout=60
    )
    log = tmp_path / "log"
    return result.returncode, log.read_text(encoding="utf-8") if log.exists() else ""


FONT = {"fc-list": "echo a-font"}
MAKE = {"make": 'echo "CI is $CI" >> "$LOG"; exit 3'}


@bash_only
def test_ci_run_installs_nothing_that_is_there_and_hands_on_the_status(tmp_path: Path):
    log = tmp_path / "log"
    status, asked = ci_run(tmp_path, {**FONT, **MAKE, "chromium": ""}, LOG=str(log))
    assert status == 3
    assert asked.splitlines() == ["fc-list :lang=zh-tw", "make test", "CI is true"]


@bash_only
def test_ci_run_installs_what_is_missing(tmp_path: Path):
    programs = {**MAKE, "apt-get": "", "id": "echo 0"}
    status, asked = ci_run(tmp_path, programs, LOG=str(tmp_path / "log"))
    lines = [line for line in asked.splitlines() if not line.startswith("id")]
    assert lines[0] == "apt-get update"
    assert lines[1].startswith("apt-get install --yes")
    assert lines[1].endswith("chromium fontconfig fonts-noto-cjk")
    assert lines[2:] == ["make test", "CI is true"]


@bash_only
def test_ci_run_stops_where_it_may_not_install(tmp_path: Path):
    status, asked = ci_run(tmp_path, {**FONT, **MAKE, "apt-get": "", "id": "echo 1000"})
    assert status == 1
    assert "apt-get" not in asked and "make" not in asked


# --- issue forms -------------------------------------------------------------------------------------------


def texts(form: dict[str, Any]) -> list[str]:
    """Every text of a form that a person reads."""
    found = [form["name"], form["description"]]
    for part in form["body"]:
        attributes = part["attributes"]
        found += [attributes[key] for key in ("label", "description", "value") if key in attributes]
        found += [option["label"] for option in attributes.get("options", []) if isinstance(option, dict)]
    return found


def test_there_are_forms_for_a_failure_a_sentence_and_an_idea():
    assert [path.stem for path in FORMS] == ["1-something-fails", "2-wrong-sentence", "3-idea"]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_forms_speak_both_languages(path: Path):
    for text in texts(yaml.safe_load(path.read_text(encoding="utf-8"))):
        assert re.search("[A-Za-z]{3}", text) and re.search("[一-鿿]", text), text


def test_the_failure_form_requires_the_machine_badge():
    form = yaml.safe_load(FORMS[0].read_text(encoding="utf-8"))
    badge = next(part for part in form["body"] if part.get("id") == "machine")
    assert "python -m course_utils" in badge["attributes"]["description"]
    assert badge["validations"]["required"] is True
    command = [sys.executable, "-m", "course_utils"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=120)
    assert result.returncode == 0 and b"torch" in result.stdout.lower()
