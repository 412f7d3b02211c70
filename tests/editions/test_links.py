"""The links that open a lesson on Colab, Kaggle, Binder or a hub: their form, and that the course's files have them."""

import re
import runpy
import sys
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import yaml
from packaging.requirements import Requirement

from tools import links

NAME = "01_cuda_check.ipynb"


def test_links_lead_to_the_edition() -> None:
    page, pull = f"me/my-course/blob/editions/zh-TW/student/{NAME}", "https://github.com/me/my-course"
    urls = {
        service: unquote(url) for service, url in links.opened(NAME, "zh-TW", repo="me/my-course").items()
    }
    assert urls == {
        "colab": f"https://colab.research.google.com/github/{page}",
        "kaggle": f"https://www.kaggle.com/kernels/welcome?src=https://github.com/{page}",
        "binder": f"https://mybinder.org/v2/gh/me/my-course/HEAD?labpath=notebooks/{NAME}",
        "nbgitpuller": f"https://YOUR-HUB/hub/user-redirect/git-pull?repo={pull}&branch=editions"
        f"&urlpath=lab/tree/my-course/zh-TW/student/{NAME}",
    }
    assert links.opened(NAME, "en", repo=links.UNKNOWN) == links.HOMES, "the services, without a repository"


def test_a_workflow_names_its_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COURSE_REPOSITORY", raising=False)
    assert links.repository().count("/") == 1
    monkeypatch.setenv("COURSE_REPOSITORY", "someone/fork")
    assert "/someone/fork/blob/" in links.opened(NAME, "en")["colab"]


@pytest.mark.parametrize("repository", ["someone/fork", links.UNKNOWN])
@pytest.mark.parametrize("tool", ["tools.editions", "tools.site"])
def test_tools_say_that_the_address_is_not_known(
    tool: str, repository: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("COURSE_REPOSITORY", repository)
    monkeypatch.setattr("tools.editions.lessons.BUILD", tmp_path)
    monkeypatch.setattr("tools.editions.lessons.chosen", lambda *_: [])
    monkeypatch.setattr("tools.site.build.build", lambda *_, **__: None)
    monkeypatch.setattr(sys, "argv", [tool] + ["--to", str(tmp_path)] * (tool == "tools.site"))
    with suppress(SystemExit):
        runpy.run_module(tool, run_name="__main__")
    said = capsys.readouterr().err
    assert ("public address is not known" in said and "公開網址" in said) == (repository == links.UNKNOWN)


@pytest.mark.parametrize("name", links.TARGETS)
def test_the_files_of_the_course_have_the_links(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the repository that pyproject.toml names, or of none; writing them again, with another and back, changes nothing else."""
    monkeypatch.delenv("COURSE_REPOSITORY", raising=False)
    text, targets = (links.ROOT / name).read_text(encoding="utf-8"), links.TARGETS[name]
    assert links.linked(text, targets) == text, "run `python -m tools.links --write`"
    written = links.linked(text, targets, repo="me/my-course")
    assert written.count("me/my-course") + written.count("me%2Fmy-course") >= len(targets)
    assert links.linked(written, targets) == text


def test_a_missing_link_is_noticed() -> None:
    with pytest.raises(ValueError, match="the links are"):
        links.linked("no link here", [("en", "colab")])


def test_binder_installs_what_the_course_requires() -> None:
    """By conda's names; OpenCC is left out, because only notebooks in Simplified Chinese need it."""
    project = tomllib.loads((links.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    texts = [*project["dependencies"], *project["optional-dependencies"]["lab"]]  # [lab] asks for newer ones
    needed = {one.name: str(one.specifier) for text in texts if not (one := Requirement(text)).extras}
    conda = yaml.safe_load((links.ROOT / ".binder/environment.yml").read_text(encoding="utf-8"))
    offered = dict(re.match(r"([\w-]+)(.*)", text).groups() for text in conda["dependencies"])
    offered |= {"torch": offered["pytorch-cpu"], "matplotlib": offered["matplotlib-base"]}
    assert needed.items() <= offered.items()
    assert "-e ." in (links.ROOT / ".binder/postBuild").read_text(encoding="utf-8")
