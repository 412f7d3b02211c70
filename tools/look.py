"""Look at a notebook as a student sees it: open it in JupyterLab, run it, choose a language, save screens.

    python -m tools.look notebooks/01_cuda_check.ipynb --language zh --width 1280 --out FOLDER

Several notebooks of a folder and several languages (``--language en zh both``) may be given. The notebook is never
modified: a copy is served.
Exit status 1 when a cell raised, a widget failed, or the page reported an error.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from tools.labpage import Lab, NotebookPage, Unavailable, browser


def report(notebook: NotebookPage, width: int) -> list[str]:
    """Everything that is wrong with the page as it stands, one line each."""
    return [
        *(f"error    {line}" for line in notebook.errors()),
        *(f"widget   {line}" for line in notebook.widgets()["failed"]),
        *(f"page     {line}" for line in notebook.page_errors),
        *(f"console  {line}" for line in notebook.console_errors),
        *(f"overflow {line}" for line in notebook.overflow(width)),
    ]


def screenshots(notebook: NotebookPage, folder: Path, prefix: str) -> list[Path]:
    """Scroll through the whole notebook and save one numbered PNG per screen; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    wanted = 0
    while len(paths) < 200:
        top, step, height = notebook.page.evaluate("top => window.course.scroll(top)", wanted)
        notebook.settle()
        if paths and top < wanted - step:  # the page became shorter while it was drawn: this was the end
            break
        paths.append(folder / f"{prefix}_{len(paths) + 1:02d}.png")
        notebook.page.screenshot(path=paths[-1])
        if top + step >= height - 2:
            break
        wanted = top + step - 60  # a little overlap, so that no line is cut in both
    return paths


def look(lab: Lab, chromium: object, name: str, options: argparse.Namespace) -> bool:
    """Save the screens of one notebook; True when nothing is wrong with it."""
    with lab.open_notebook(chromium, name, options.width) as notebook:
        complete = notebook.run_all(timeout=600)
        print(f"{name}: {'ran to the end' if complete else 'STOPPED at an error'}")
        for language in options.language:
            notebook.switch_language(language)
            prefix = f"{name.removesuffix('.ipynb')}_{language}_{options.width}"
            shots = screenshots(notebook, options.out, prefix)
            print(f"  {len(shots)} screens: {shots[0]} … {shots[-1].name}")
        wrong = report(notebook, options.width)
        print(*(f"  {line}\n" for line in wrong), sep="", end="")
    lab.shut_kernels_down()
    return not wrong


def main() -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.look", description="Save a notebook's screens.")
    parser.add_argument("notebooks", nargs="+", type=Path)
    parser.add_argument("--language", nargs="+", choices=["en", "zh", "both"], default=["both"])
    parser.add_argument("--width", type=int, default=1280, help="window width in CSS pixels")
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "course-screens")
    options = parser.parse_args()
    folder, *others = {path.resolve().parent for path in options.notebooks}
    if others or not all(path.is_file() for path in options.notebooks):
        parser.error("give the paths of notebooks that stand in one folder")
    try:
        with browser() as chromium, Lab(folder) as lab:
            good = [look(lab, chromium, path.name, options) for path in options.notebooks]
    except Unavailable as error:
        print(error, file=sys.stderr)
        return 2
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
