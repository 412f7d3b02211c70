"""Command line: ``python -m torch_doctor [cuda|slow|hang]`` and ``python -m torch_doctor explain [FILE]``."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from torch_doctor import doctor, explain
from torch_doctor.bilingual import CHOICES, chosen_language

# Help and errors are for every reader: argparse writes them before a language is chosen.
_HELP = {
    "description": "Why does CUDA not work, why is it slow, why does it hang? And what does this error mean?"
    " · CUDA 為什麼不能用、為什麼慢、為什麼卡住？這個錯誤訊息是什麼意思？",
    "epilog": "Exit status: 0 nothing is wrong, 1 a fault was found, 2 the cause is not known;"
    " of explain: 0 the error is known, 1 it is not."
    " · 結束代碼（exit status）：0 沒有問題，1 找到問題，2 原因不明；explain：0 認得這個錯誤，1 不認得。",
    "command": "cuda (default): why is CUDA not available? slow: why is it slow? hang: why does training with several"
    " processes hang? explain: explain an error output"
    " · cuda（預設）：CUDA 為什麼不能用？slow：為什麼慢？hang：用多個行程訓練時為什麼會卡住？explain：說明錯誤訊息",
    "file": "for explain: a log (default: standard input) · 用於 explain：紀錄檔（預設為標準輸入）",
    "language": "default: TORCH_DOCTOR_LANGUAGE if it is set, otherwise both"
    " · 顯示的語言；預設為 TORCH_DOCTOR_LANGUAGE 的值，沒有設定時兩種都顯示",
    "json": "JSON without user names and host names, for a bug report · 輸出 JSON，用來回報問題；不含使用者名稱與主機名稱",
    "patience": "factor on all time limits (default 1: 10 s) · 時限的倍數（預設為 1，也就是 10 秒）",
    "page": "for explain: write all known errors as one HTML page · 用於 explain：把所有認得的錯誤寫成一個 HTML 網頁",
}
_WRONG = {
    "nothing": "give a file, or pipe an output: python train.py 2>&1 | python -m torch_doctor explain"
    " · 請指定檔案，或把輸出接過來：python train.py 2>&1 | python -m torch_doctor explain",
    "unreadable": "{file} cannot be read: {why} · 無法讀取 {file}：{why}",
    "empty": "there is no text to explain · 沒有可以說明的文字",
    "explain only": "a file and --page belong to explain: python -m torch_doctor explain FILE"
    " · 檔案與 --page 只能用於 explain：python -m torch_doctor explain FILE",
    "diagnosis only": "--json belongs to a diagnosis (cuda, slow, hang), not to explain"
    " · --json 只能用於診斷（cuda、slow、hang），不能用於 explain",
    "patience": "--patience is a factor on the time limits; give a positive number"
    " · --patience 是時限的倍數，請指定大於 0 的數字",
}
_EXIT = {"fine": 0, "fault": 1, "unknown": 2}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m torch_doctor",
        description=_HELP["description"],
        epilog=_HELP["epilog"],
    )
    parser.add_argument(
        "command", nargs="?", choices=("cuda", "slow", "hang", "explain"), default="cuda",
        help=_HELP["command"],
    )  # fmt: skip
    parser.add_argument("file", nargs="?", help=_HELP["file"])
    parser.add_argument("--language", choices=CHOICES, help=_HELP["language"])
    parser.add_argument("--json", action="store_true", help=_HELP["json"])
    parser.add_argument(
        "--patience",
        type=float,
        default=1.0,
        metavar="FACTOR",
        help=_HELP["patience"],
    )
    parser.add_argument("--page", metavar="OUT.html", help=_HELP["page"])
    return parser


def _diagnose(options: argparse.Namespace) -> int:
    report = doctor(options.command, patience=options.patience)
    if options.json:
        print(report.json())
    else:
        colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        width = min(shutil.get_terminal_size((88, 24)).columns, 100)
        print(report.text(options.language or chosen_language(), max(width, 40), colour))
    return _EXIT[report.diagnosis.kind]


def _explain(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    if options.file is None:
        if sys.stdin.isatty():
            parser.error(_WRONG["nothing"])
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
    else:
        try:
            text = Path(options.file).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            parser.error(_WRONG["unreadable"].format(file=options.file, why=error.strerror))
    if not text.strip():
        parser.error(_WRONG["empty"])
    card = explain(text)
    print(card.text(options.language or chosen_language()).replace("⟨", "").replace("⟩", ""))
    return 0 if card.entry else 1


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit status.

    Args:
        arguments: The arguments; default: those of this process.

    Raises:
        SystemExit: The arguments are wrong (2), or ``--help`` was given (0).
    """
    # An old Windows console cannot show Chinese: a question mark is better than a traceback.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    parser = _parser()
    options = parser.parse_args(arguments)
    explaining = options.command == "explain"
    if (options.file or options.page) and not explaining:
        parser.error(_WRONG["explain only"])
    if explaining and options.json:
        parser.error(_WRONG["diagnosis only"])
    if not options.patience > 0:
        parser.error(_WRONG["patience"])
    if options.page:
        from torch_doctor.errors.page import page

        Path(options.page).write_text(page(), encoding="utf-8", newline="\n")
        return 0
    return _explain(options, parser) if explaining else _diagnose(options)


if __name__ == "__main__":
    sys.exit(main())
