"""Typical wrong answers to the exercises of lesson 01: source, English words, Chinese words of the hint they must get."""

from __future__ import annotations

_ON_GPU = "def on_gpu(tensor):\n    return "
_ROWS = (
    "def freest_gpu(report):\n"
    "    rows = [tuple(map(int, line.split(','))) for line in report.splitlines()]\n"
    "    return "
)
_PHYSICAL = "def physical(visible, i):\n    ids = visible.split(',')\n    return "
_NUMBERS = "def physical(visible, i):\n    ids = [int(x) for x in visible.split(',') if x]\n    return "

WRONG: dict[str, list[tuple[str, str, str]]] = {
    "on_gpu": [
        ("def on_gpu(tensor):\n    tensor.device.type == 'cuda'", "`None`", "`None`"),
        (_ON_GPU + "tensor.device", "yours is a `device`", "`device`"),
        (_ON_GPU + "tensor.device.type", "yours is a `str`", "`str`"),
        (_ON_GPU + "True", "on the CPU", "在 CPU 上"),
        (_ON_GPU + "tensor.device is not None", "on the CPU", "在 CPU 上"),
        (_ON_GPU + "tensor.device == torch.device('cuda')", "`cuda` and `cuda:0`", "`cuda` 和 `cuda:0`"),
        (_ON_GPU + "str(tensor.device) == 'cuda'", "`cuda` and `cuda:0`", "`cuda` 和 `cuda:0`"),
        (_ON_GPU + "False", "You say no", "回答「否」"),
        (_ON_GPU + "tensor.device.type == 'cpu'", "other way round", "反"),
        (_ON_GPU + "tensor.device == torch.device('cuda:0')", "`cuda:1`", "`cuda:1`"),
        (_ON_GPU + "str(tensor.device) == 'cuda:0'", "`cuda:1`", "`cuda:1`"),
        (_ON_GPU + "tensor.device.index == 0", "`cuda:1`", "`cuda:1`"),
        (_ON_GPU + "tensor.device.type != 'cpu'", "`meta`", "`meta`"),
        (_ON_GPU + "not tensor.is_cpu", "`meta`", "`meta`"),
    ],
    "freest_gpu": [
        (_ROWS + "str(max(rows, key=lambda r: r[1] - r[2])[0])", "a string", "字串"),
        ("def freest_gpu(report):\n    print(2)", "`None`", "`None`"),
        (_ROWS + "[2]", "`list`", "`list`"),
        (_ROWS + "max(rows, key=lambda r: r[1] - r[2])", "`tuple`", "`tuple`"),
        (_ROWS + "max(t - u for _, t, u in rows)", "There is no GPU 15484", "15484 號"),
        (_ROWS + "min(rows, key=lambda r: r[2])[0]", "least used", "用掉的最少"),
        (_ROWS + "0", "small card", "小卡"),
        (_ROWS + "max(rows, key=lambda r: r[1])[0]", "4576", "4576"),
        (_ROWS + "max(rows, key=lambda r: r[2])[0]", "4576", "4576"),
        (_ROWS + "min(rows, key=lambda r: r[1] - r[2])[0]", "4576", "4576"),
        (_ROWS + "max(rows, key=lambda r: (r[1], r[0]))[0]", "last of the largest", "最後一張大卡"),
        (_ROWS + "2", "Right for the first", "第一份"),
        (_ROWS + "max(range(len(rows)), key=lambda k: rows[k][1] - rows[k][2])", "first column", "第一欄"),
    ],
    "physical": [
        (_PHYSICAL + "ids[i]", "as a string", "字串"),
        ("def physical(visible, i):\n    return i", "You return `i` itself", "傳回了 `i`"),
        (_PHYSICAL + "f'cuda:{ids[i]}'", "Read the list from the left", "從左邊讀起"),
        (_PHYSICAL + "int(ids[-1 - i])", "Read the list from the left", "從左邊讀起"),
        (_PHYSICAL + "sorted(map(int, ids))[i]", "Read the list from the left", "從左邊讀起"),
        (_PHYSICAL + "int(ids[i])", "raises an error", "引發例外"),
        (_PHYSICAL + "int(ids[i]) if i < len(ids) else None", "raises an error", "引發例外"),
        (_NUMBERS + "ids[i]", "raises an error", "引發例外"),
        (_NUMBERS + "ids[i] if i < len(ids) else -1", "should be `None`", "應該是 `None`"),
        (_NUMBERS + "ids[i] if i < len(ids) else None", "`-1` ends the list", "`-1` 會讓清單到此為止"),
        (
            _NUMBERS.replace("if x]", "if x and int(x) >= 0]") + "ids[i] if i < len(ids) else None",
            "`-1` ends the list",
            "`-1` 會讓清單到此為止",
        ),
    ],
}
