"""Look at a notebook as a student sees it: open it in JupyterLab, run it, choose a language, save screens.

    python -m tools.look notebooks/01_cuda_check.ipynb --language zh --width 1280 --out FOLDER

Several notebooks and several languages (``--language en zh both``) may be given; ``--no-run`` shows the
notebook as it is on first opening (untrusted, nothing run). The notebook is never modified: a copy is served.
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


def look(lab: Lab, chromium: object, path: Path, options: argparse.Namespace) -> bool:
    """Save the screens of one notebook; True when nothing is wrong with it."""
    with lab.open_notebook(chromium, path.name, options.width) as notebook:
        if options.run:
            complete = notebook.run_all(timeout=600)
            print(f"{path.name}: {'ran to the end' if complete else 'STOPPED at an error'}")
        # Without a run there is no switch yet: one look, both languages visible.
        for language in options.language if options.run else [None]:
            if language is not None:
                notebook.switch_language(language)
            prefix = "_".join(filter(None, [path.stem, language or "not_run", str(options.width)]))
            shots = notebook.screenshots(options.out, prefix)
            print(f"  {len(shots)} screens: {shots[0]} … {shots[-1].name}")
        wrong = report(notebook, options.width)
        for line in wrong:
            print(f"  {line}")
    lab.shut_kernels_down()
    return not wrong


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.look", description="Save a notebook's screens.")
    parser.add_argument("notebooks", nargs="+", type=Path)
    parser.add_argument("--language", nargs="+", choices=["en", "zh", "both"], default=["both"])
    parser.add_argument("--width", type=int, default=1280, help="window width in CSS pixels")
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "course-screens")
    parser.add_argument("--no-run", dest="run", action="store_false", help="as on first opening")
    options = parser.parse_args(arguments)
    for path in options.notebooks:
        if not path.is_file():
            parser.error(f"{path} is not a file; give the path of a notebook")
    good = True
    try:
        with browser() as chromium:
            for folder in sorted({path.resolve().parent for path in options.notebooks}):
                with Lab(folder) as lab:
                    for path in options.notebooks:
                        if path.resolve().parent == folder:
                            good &= look(lab, chromium, path, options)
    except Unavailable as error:
        print(error, file=sys.stderr)
        return 2
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
