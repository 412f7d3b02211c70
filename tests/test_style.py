"""Style of the code, and of workflows and issue forms: what well-kept tools say about them."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted((GITHUB / "ISSUE_TEMPLATE").glob("[0-9]*.yml"))

COMMANDS = {
    "ruff": ["ruff", "check", "--no-cache", "."],
    "format": ["ruff", "format", "--no-cache", "--check", "."],
    "zizmor": ["zizmor", "--offline", "--no-progress", "--persona=pedantic", "--collect=all", GITHUB],
    "workflows": ["check-jsonschema", "--builtin-schema=vendor.github-workflows", *WORKFLOWS],
    "timeouts": ["check-jsonschema", "--builtin-schema=custom.github-workflows-require-timeout", *WORKFLOWS],
    "forms": ["check-jsonschema", "--builtin-schema=vendor.github-issue-forms", *FORMS],
    "form-config": ["check-jsonschema", "--builtin-schema=vendor.github-issue-config", GITHUB / "ISSUE_TEMPLATE/config.yml"],
    "dependabot": ["check-jsonschema", "--builtin-schema=vendor.dependabot", GITHUB / "dependabot.yml"],
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_tool_finds_nothing(command: list[str | Path]) -> None:
    # Beside this Python first: the environment of `make test` need not be activated.
    tool = shutil.which(command[0], path=str(Path(sys.executable).parent)) or command[0]
    result = subprocess.run([tool, *command[1:]], cwd=ROOT, capture_output=True, text=True, encoding="utf-8")
    assert result.returncode == 0, result.stdout + result.stderr


def texts(node: Any) -> Iterator[str]:
    """Yield the texts of an issue form that a person reads."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node):
        if key in ("name", "description", "label"):
            yield value
        elif isinstance(value, (dict, list)):
            yield from texts(value)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_forms_speak_both_languages(path: Path) -> None:
    for text in texts(yaml.safe_load(path.read_text(encoding="utf-8"))):
        assert text in ("English", "中文") or re.search("[A-Za-z]{3}.*[一-鿿]", text, re.DOTALL), text


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_never_go_on_after_an_error(path: Path) -> None:
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values()
    steps = [step for job in jobs for step in [job, *job["steps"]]]
    assert not any(step.get("continue-on-error") for step in steps)
