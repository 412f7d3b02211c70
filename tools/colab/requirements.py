"""Compare what the lessons require with what Colab has installed.

Colab publishes its list: https://github.com/googlecolab/backend-info, file ``pip-freeze.gpu.txt``. ``installed.txt`` beside
this module is the part of it that concerns the course, with its date.
"""

import re
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bilingual import toml_of
from tools.notebook_file import ROOT

PUBLISHED = "https://raw.githubusercontent.com/googlecolab/backend-info/main/pip-freeze.gpu.txt"
STORED = Path(__file__).with_name("installed.txt")
# What the packages that the lessons import are made of, and what would stop the running kernel if pip replaced it.
KERNEL = set("ipython traitlets tornado pyzmq jupyter-client jupyter-core matplotlib-inline triton".split())
WIDGETS = {"widgetsnbextension", "jupyterlab-widgets", "packaging", "setuptools"}


def dependencies() -> list[Requirement]:
    """Return what the lessons require, as pyproject.toml says it, without the extras."""
    return [Requirement(text) for text in toml_of(ROOT / "pyproject")["project"]["dependencies"]]


def parsed(freeze: str) -> dict[str, str]:
    """Return the versions in the output of ``pip freeze`` by canonical name; what has no version is left out."""
    found = re.findall(r"^([\w.-]+)==(\S+)", freeze, re.MULTILINE)
    return {canonicalize_name(name): version for name, version in found}


def unmet(installed: Mapping[str, str]) -> list[str]:
    """Return one line for each requirement that `installed` does not meet: pip would replace or add a package."""
    lines = []
    for requirement in dependencies():
        version = installed.get(canonicalize_name(requirement.name))
        if version is None or not requirement.specifier.contains(version, prereleases=True):
            lines.append(f"{requirement} is not met by {version or 'nothing'}")
    return lines


def published() -> str:
    """Return Colab's published list."""
    with urllib.request.urlopen(PUBLISHED, timeout=60) as answer:
        return answer.read().decode("utf-8")


def excerpt(freeze: str, date: str) -> str:
    """Return the part of a list that concerns the course, headed by where and when it was read."""
    names = {canonicalize_name(requirement.name) for requirement in dependencies()} | KERNEL | WIDGETS
    lines = [f"{name}=={version}" for name, version in sorted(parsed(freeze).items()) if name in names]
    return "\n".join([f"# {PUBLISHED}, read {date}; Python 3.13", *lines, ""])
