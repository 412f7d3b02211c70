"""Command line: ``python -m practice_gpu script.py`` runs a device-agnostic script and says what its GPU would have done."""

import argparse
import re
import runpy
import sys
import traceback
from pathlib import Path

import practice_gpu

_DESCRIPTION = """\
Run a device-agnostic script (torch.accelerator, or practice_gpu.device()) on practice GPUs, and say what they did.
用練習用 GPU 執行不限定裝置種類的程式（torch.accelerator 或 practice_gpu.device()），再列出 GPU 做了什麼。
"""
_EPILOG = """\
Other options belong to the script, and so does everything after "--".
其他選項都交給程式；「--」之後的也是。
Exit status: 0; 1 a budget is exceeded, or the script failed; 2 the command was typed wrong.
結束代碼（exit status）：0 表示成功，1 表示超出額度或程式失敗，2 表示指令打錯。
"""


def _size(text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([KMG])iB", text)
    size = int(float(found[1]) * 2 ** {"K": 10, "M": 20, "G": 30}[found[2]]) if found else 0
    if not size:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a size such as 512MiB or 4GiB · 大小要像 512MiB、4GiB"
        )
    return size


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m practice_gpu", description=_DESCRIPTION, epilog=_EPILOG, allow_abbrev=False
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("script", help="the script · 要執行的程式")
    card = "the card that is modelled (default: T4) · 要模擬的顯示卡（預設為 T4）"
    add("--gpu", default="T4", metavar="CARD", help=card)
    add("--count", type=int, default=1, metavar="N", help="how many GPUs (default: 1) · 幾張 GPU（預設為 1）")
    memory = "of each GPU; what needs more fails · 每張 GPU 的記憶體；超過就失敗"
    add("--memory", type=_size, metavar="4GiB", help=memory)
    waits = "how often the host may wait for a GPU · 主機最多可以等 GPU 幾次"
    add("--budget-waits", type=int, metavar="N", help=waits)
    return parser


def _busy(device: int) -> float:
    """Return for what share of the time a device computes."""
    total, reached = 0.0, practice_gpu.Seconds(0)
    for entry in practice_gpu.log():
        if entry.kind == "kernel" and entry.device == device:
            total += max(0.0, entry.end - max(entry.start, reached))
            reached = max(reached, entry.end)
    return total / max(practice_gpu.clock(), reached, practice_gpu.Seconds(1e-12))


def report() -> str:
    """Return what the practice GPUs did, as text in both languages."""
    import torch

    gpu, waits, races = torch.get_device_module("practice"), practice_gpu.waits(), practice_gpu.races()
    lines = [
        f"GPU {device}: peak memory · 記憶體最高用量 {gpu.max_memory_allocated(device) / 2**20:.1f} MiB,"
        f" busy · 計算中 {_busy(device):.0%}"
        for device in range(gpu.device_count())
    ]
    lines.append(f"waits · 等待: {sum(waits.values())}")
    lines += [f"  {number:6} × {place}" for place, number in waits.most_common()]
    lines.append(f"races · 競爭條件: {len(races)}")
    lines += [f"  {race}" for race in races]
    return "\n".join([*lines, practice_gpu.timeline()])


def _run(script: str, arguments: list[str]) -> int:
    """Run a script as ``python`` would, and return its exit status."""
    sys.argv, sys.path[0] = [script, *arguments], str(Path(script).resolve().parent)
    from practice_gpu.state import state

    try:
        runpy.run_path(script, run_name="__main__")
        # A process ends when its kernels have; then errors show that nobody waited for.
        state.machine.run(float("inf"))
        for device in range(state.count):
            state.check(device)
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return 1 if end.code else 0
    except BaseException as error:
        trace = error.__traceback__
        while trace and trace.tb_frame.f_code.co_filename != script:
            trace = trace.tb_next
        traceback.print_exception(error.with_traceback(trace or error.__traceback__))
        return 1
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit status.

    Args:
        arguments: The arguments; default: those of this process.

    Raises:
        SystemExit: The arguments are wrong (2), or ``--help`` was given (0).
    """
    if hasattr(sys.stdout, "reconfigure"):  # an old Windows console cannot show Chinese
        sys.stdout.reconfigure(errors="replace")
    given = sys.argv[1:] if arguments is None else arguments
    end = given.index("--") if "--" in given else len(given)
    parser = _parser()
    options, others = parser.parse_known_args(given[:end])
    if not Path(options.script).is_file():
        parser.error(f"there is no file {options.script} · 沒有 {options.script} 這個檔案")
    try:
        practice_gpu.start(options.gpu, options.count, memory=options.memory)
    except (RuntimeError, ValueError) as error:
        parser.error(str(error))
    status = _run(options.script, [*others, *given[end + 1 :]])
    waits = sum(practice_gpu.waits().values())
    print("\n" + report(), file=sys.stderr)
    if options.budget_waits is not None and waits > options.budget_waits:
        print(f"too many waits · 等待太多次: {waits} > {options.budget_waits}", file=sys.stderr)
        return 1
    return status


if __name__ == "__main__":
    sys.exit(main())
