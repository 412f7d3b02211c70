"""The links that open a lesson elsewhere: Colab, Kaggle, Binder, a JupyterHub with nbgitpuller.

    python -m tools.links                       all links of all lessons
    python -m tools.links 01_cuda_check.ipynb   those of one
    python -m tools.links --write               put them into README and the start page

Colab, Kaggle and nbgitpuller open an edition, a notebook in one language on the branch ``editions``; Binder opens the
course itself. The repository is named in pyproject.toml (``[tool.course] repository``); a workflow names its own in
``COURSE_REPOSITORY``. Where it is not known, a link leads to the service, and the tools that write editions, slides and
the website say so.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from itertools import product
from urllib.parse import quote

from bilingual import Bilingual, toml_of
from course_utils.language import EDITIONS
from tools.notebook_file import ROOT, lessons

UNKNOWN = "OWNER/NAME"
NO_ADDRESS = Bilingual(
    "Warning: the course's public address is not known ([tool.course] repository in pyproject.toml, or"
    " COURSE_REPOSITORY). No link opens a lesson on Colab or Kaggle; there, the first cell of an edition stops and says why.",
    "注意：還不知道課程的公開網址（pyproject.toml 的 [tool.course] repository，或環境變數 COURSE_REPOSITORY）。"
    "所有連結都無法在 Colab 或 Kaggle 開啟課文；單一語言版本在那裡執行到第一格就會停下，並說明原因。",
)
BRANCH = "editions"
HUB = "https://YOUR-HUB"
HOMES = {
    "colab": "https://colab.research.google.com/",
    "kaggle": "https://www.kaggle.com/code",
    "binder": "https://mybinder.org/",
    "nbgitpuller": f"{HUB}/hub/user-redirect/git-pull",
}
_ADDRESS = re.compile(
    r"https://(?:(colab)\.research\.google\.com|(?:www\.)?(kaggle)\.com/(?:code|kernels)|my(binder)\.org|YOUR-(HUB))[^\s)\"\\），。；]*"
)
START = "00_start_here.ipynb"
# Which file links to what, in the order of the text: language, service.
TARGETS = {
    "README.md": list(product(("en", "zh-TW"), HOMES)),
    "notebooks/00_start_here.ipynb": list(product(("en", "zh-TW"), ("colab", "kaggle"))),
}


def repository() -> str:
    """Return the public repository of the course, ``"OWNER/NAME"`` where it is not known yet."""
    return os.environ.get("COURSE_REPOSITORY") or toml_of(ROOT / "pyproject")["tool"]["course"]["repository"]


def warn() -> None:
    """Say on stderr that the address is not known, where it is not."""
    if repository() == UNKNOWN:
        print(NO_ADDRESS, file=sys.stderr)


def opened(name: str, language: str, *, repo: str | None = None) -> dict[str, str]:
    """Return the addresses opening a lesson ("01_cuda_check.ipynb"), by service; `repo` is by default the course's."""
    repo = repo or repository()
    if repo == UNKNOWN:
        return dict(HOMES)
    path = f"{language}/student/{name}"
    page = f"{repo}/blob/{BRANCH}/{path}"
    pulled = quote(f"lab/tree/{repo.split('/')[1]}/{path}", safe="")
    source = quote(f"https://github.com/{repo}", safe="")
    return {
        "colab": f"https://colab.research.google.com/github/{page}",
        "kaggle": f"https://www.kaggle.com/kernels/welcome?src=https://github.com/{page}",
        "binder": f"https://mybinder.org/v2/gh/{repo}/HEAD?labpath={quote(f'notebooks/{name}', safe='')}",
        "nbgitpuller": f"{HUB}/hub/user-redirect/git-pull?repo={source}&branch={BRANCH}&urlpath={pulled}",
    }


def services(text: str) -> list[str]:
    """Return the services that the links in `text` lead to, in order."""
    found = [next(filter(None, match.groups())) for match in _ADDRESS.finditer(text)]
    return ["nbgitpuller" if name == "HUB" else name for name in found]


def linked(text: str, targets: Sequence[tuple[str, str]], *, repo: str | None = None) -> str:
    """Return `text` with its links to the services replaced by those of the repository.

    Raises:
        ValueError: The links in `text` are not those of `targets`.
    """
    if services(text) != [service for _, service in targets]:
        raise ValueError(f"the links are {services(text)}, not {[service for _, service in targets]}")
    addresses = iter([opened(START, language, repo=repo)[service] for language, service in targets])
    return _ADDRESS.sub(lambda _: next(addresses), text)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print links, or put them where the course mentions them."""
    parser = argparse.ArgumentParser(prog="python -m tools.links", description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NOTEBOOK", help="file names; all lessons by default")
    parser.add_argument("--write", action="store_true", help="put the links into the course's files")
    options = parser.parse_args(arguments)
    if options.write:
        for name, targets in TARGETS.items():
            text = (ROOT / name).read_text(encoding="utf-8")
            (ROOT / name).write_text(linked(text, targets), encoding="utf-8")
        return
    names = options.names or [path.name for path in lessons().values()]
    found = {f"{language} {name}": opened(name, language) for name in names for language in EDITIONS}
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
