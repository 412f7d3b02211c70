"""``make lab``: JupyterLab at lesson 00 of the learner's copy, in the language that the browser asks for.

    python -m tools.open_lab [OPTION …]     what JupyterLab understands wins over the defaults here

The server says in a few lines what it does, and its log begins at warnings. This module is an extension of that server:
the address ``/course`` remembers the browser's language, if none is remembered, and leads to the lesson.
"""

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from bilingual import Bilingual
from course_utils import settings

START = "lab/tree/my_course/00_start_here.ipynb"
ELSEWHERE = Path(__file__).parents[1] / ".jupyter"  # where a home cannot be written to
_DEFAULTS = (
    "--LabApp.default_url=/course",
    "--LabApp.log_level=WARN",
    "--ServerApp.log_level=WARN",
    "--ServerApp.allow_root=True",
)
_ROOT = Bilingual(
    "You are root, so JupyterLab runs as root.", "目前的使用者是 root，JupyterLab 會以 root 執行。"
)
_HOME = Bilingual(
    "Nothing can be written into your home ({home}), so settings and results go to {folder}.",
    "家目錄（{home}）無法寫入，設定與結果改放在 {folder}。",
)
_PORT = Bilingual(
    "Port {asked} is taken by another program; this one uses {port}.",
    "埠號 {asked} 已有其他程式使用，改用 {port}。",
)
_READY = Bilingual(
    "Ready. Lesson 00 opens in your browser; if it does not, take an address above. Control-C ends JupyterLab.",
    "準備好了，瀏覽器會開啟第 0 課；沒有自動開啟的話，請使用上面的網址。按 Control-C 可以結束 JupyterLab。",
)


def _say(text: Bilingual, **values: object) -> None:
    print(text.en.format(**values), text.zh.format(**values), sep="\n", flush=True)


def language(accepted: str) -> str | None:
    """Return ``"en"`` or ``"zh"``: the first of both in a browser's header ``Accept-Language``; None if it has neither."""
    found = re.search(r"(?:^|[\s,])(en|zh)\b", accepted.lower())
    return found and found[1]


def folders(environment: dict[str, str]) -> dict[str, str]:
    """Return the variables that lead Jupyter and the course away from a home into which nothing can be written."""
    home = Path(environment.get("JUPYTER_DATA_DIR") or Path.home())
    try:
        with tempfile.TemporaryFile(dir=home):
            return {}
    except OSError:
        _say(_HOME, home=home, folder=ELSEWHERE)
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "COURSE_DATA_DIR")
    return {name: str(ELSEWHERE / name.lower()) for name in names}


def path(given: str) -> str:
    """Return `given` with this environment first: kernels and terminals find its ``python``, ``torchrun``, ``tensorboard``."""
    return os.pathsep.join([str(Path(sys.executable).parent), *filter(None, [given])])


def setting(argument: str) -> str:
    """Return the name of what an argument sets: ``--allow-root`` and ``--ServerApp.allow_root=True`` set the same."""
    return argument.lstrip("-").partition("=")[0].rpartition(".")[2].replace("-", "_")


def arguments(given: list[str]) -> list[str]:
    """Return the arguments for JupyterLab, which refuses a setting that is given twice: what is `given` wins."""
    chosen = [text for text in _DEFAULTS if setting(text) not in {*map(setting, given)}]
    if hasattr(os, "getuid") and os.getuid() != 0:
        chosen = [text for text in chosen if setting(text) != "allow_root"]
    elif _DEFAULTS[-1] in chosen:
        _say(_ROOT)
    return ["--ServerApp.jpserver_extensions", "tools.open_lab=True", *chosen, *given]


def _load_jupyter_server_extension(app: Any) -> None:
    from jupyter_server.base.handlers import JupyterHandler
    from jupyter_server.utils import url_path_join
    from tornado.web import authenticated

    class Course(JupyterHandler):
        @authenticated
        def get(self) -> None:
            asked = language(self.request.headers.get("Accept-Language", ""))
            saved = settings.read("settings")
            if asked and "language" not in saved:
                settings.write("settings", saved | {"language": asked})
            self.redirect(url_path_join(self.base_url, START))

    app.web_app.add_handlers(".*", [(url_path_join(app.base_url, "course"), Course)])


async def _start_jupyter_server_extension(app: Any) -> None:
    asked = app.config.ServerApp.get("port", 8888)
    if app.port != asked:
        _say(_PORT, asked=asked, port=app.port)
    _say(_READY)


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="replace")  # a terminal may not know Chinese
    os.environ.update(folders(dict(os.environ)))
    os.environ["PATH"] = path(os.environ.get("PATH", ""))
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", *arguments(sys.argv[1:])])
