"""Wrong answers that learners really give, and what each must be told: source, English words, Chinese words.

Every hint of every exercise has an answer here that reaches it (see ``test_every_hint_can_be_reached``).
"""

from __future__ import annotations

_ON_GPU = "def on_gpu(tensor):\n    return "
_ROWS = (
    "def freest_gpu(report):\n"
    "    rows = [tuple(map(int, line.split(','))) for line in report.splitlines()]\n"
    "    return "
)
_PHYSICAL = "def physical(visible, i):\n    ids = visible.split(',')\n    return "
_NUMBERS = "def physical(visible, i):\n    ids = [int(x) for x in visible.split(',') if x]\n    return "
_MOVE = "def move(batch, device):\n    if isinstance(batch, torch.Tensor):\n        return batch.to(device)\n"
_MOVE_DICT = f"{_MOVE}    if isinstance(batch, dict):\n        return {{k: move(v, device) for k, v in batch.items()}}\n"
_LAYERS = "self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))"
_SCALE = "self.register_buffer('scale', torch.ones(8))"
_MEAN = "def mean_loss(losses):\n    return "


def _identity(*values: str) -> str:
    keys = (
        "x.to('cpu') is x",
        "x.to(torch.float64) is x",
        "x.to('cpu', copy=True) is x",
        "model.to(torch.float64) is model",
        "x.dtype after x.to(torch.float64)",
    )
    return f"answers = {{{', '.join(f'{key!r}: {value}' for key, value in zip(keys, values, strict=True))}}}"


def _net(*init: str, result: str = "x * self.scale", more: str = "") -> str:
    return (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        + "".join(f"        {line}\n" for line in init)
        + "    def forward(self, x):\n        for layer in self.layers:\n            x = torch.relu(layer(x))\n"
        + f"        return {result}\n{more}"
    )


WRONG: dict[str, list[tuple[str, str, str]]] = {
    # --- lesson 00 ------------------------------------------------------------------------------------
    "matrix_bytes": [
        ("def matrix_bytes(n):\n    print(n * n * 4)", "`None`", "`None`"),
        ("def matrix_bytes(n):\n    return f'{n * n * 4} bytes'", "`str`", "`str`"),
        ("def matrix_bytes(n):\n    return n * n", "takes 4 bytes", "4 個位元組"),
        ("def matrix_bytes(n):\n    return n * 4", "one row", "一列"),
        ("def matrix_bytes(n):\n    return n ^ 2 * 4", "`^`", "`^`"),
        ("def matrix_bytes(n):\n    return (n ^ 2) * 4", "`^`", "`^`"),
        ("def matrix_bytes(n):\n    return n * n * 32", "bits", "位元數"),
        ("def matrix_bytes(n):\n    return n * n * 8", "`float64`", "`float64`"),
        ("def matrix_bytes(n):\n    return n * n * 4 + 128", "n = 3 the answer is 36", "n = 3 時答案是 36"),
        ("def matrix_bytes(n):\n    return 36", "for n = 1 the answer is 4", "n = 1 時答案是 4"),
        ("def matrix_bytes(n):\n    return n * 12", "for n = 1 the answer is 4", "n = 1 時答案是 4"),
    ],
    # --- lesson 01 ------------------------------------------------------------------------------------
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
    # --- lesson 02 ------------------------------------------------------------------------------------
    "identity": [
        ("answers = [True, False, False, True, 'torch.float32']", "`list`", "`list`"),
        ("answers = {'x.to(cpu) is x': True}", "is missing", "不見了"),
        (_identity("True", "...", "False", "True", "'torch.float32'"), "Not filled in", "還沒填"),
        (
            _identity("'yes'", "False", "False", "True", "'torch.float32'"),
            "`True` or `False`",
            "`True` 或 `False`",
        ),
        (
            _identity("False", "False", "False", "True", "'torch.float32'"),
            "only when something has to change",
            "需要改變時",
        ),
        (_identity("True", "True", "False", "True", "'torch.float32'"), "new tensor", "新的張量"),
        (
            _identity("True", "False", "True", "True", "'torch.float32'"),
            "even where none is needed",
            "就算不需要",
        ),
        (_identity("True", "False", "False", "False", "'torch.float32'"), "returns itself", "傳回自己"),
        (_identity("True", "False", "False", "True", "torch.float64"), "thrown away", "丟掉"),
        (_identity("True", "False", "False", "True", "'float64'"), "thrown away", "丟掉"),
    ],
    "move": [
        ("def move(batch, device):\n    batch.to(device)", "`None`", "`None`"),
        ("def move(batch, device):\n    batch.to(device)\n    return batch", "does not arrive", "沒有搬"),
        (_MOVE_DICT + "    return type(batch)([move(v, device) for v in batch])", "never ends", "走進"),
        (
            "def move(batch, device):\n    if isinstance(batch, dict):\n"
            "        return {k: v.to(device) for k, v in batch.items()}\n    return batch.to(device)",
            "Not everything in a batch",
            "批次裡的東西",
        ),
        (
            _MOVE_DICT + "    if isinstance(batch, str):\n        return batch\n"
            "    return type(batch)([move(v, device) for v in batch])",
            "Not everything in a batch",
            "批次裡的東西",
        ),
        (
            _MOVE + "    return [v.to(device) for v in batch.values() if isinstance(v, torch.Tensor)]",
            "same keys",
            "key",
        ),
        (
            _MOVE + "    return {k: v.to(device) for k, v in batch.items() if isinstance(v, torch.Tensor)}",
            "same keys",
            "key",
        ),
        (
            _MOVE + "    if isinstance(batch, dict):\n        for k in batch:\n"
            "            batch[k] = move(batch[k], device)\n    return batch",
            "caller's batch",
            "呼叫者的批次",
        ),
        (
            _MOVE_DICT + "    if isinstance(batch, (list, tuple)):\n"
            "        return [move(v, device) for v in batch]\n    return batch",
            "tuple should stay a tuple",
            "tuple 要維持 tuple",
        ),
        (
            _MOVE + "    if isinstance(batch, dict):\n"
            "        return {k: move(v, device) if isinstance(v, torch.Tensor) else v for k, v in batch.items()}\n"
            "    return batch",
            "stayed behind",
            "沒有跟著",
        ),
        (_MOVE_DICT + "    return batch", "stayed behind", "沒有跟著"),
        (
            _MOVE_DICT + "    if isinstance(batch, (list, tuple)):\n"
            "        return type(batch)(move(v, device) for v in batch)\n    return str(batch)",
            "unchanged",
            "原樣傳回",
        ),
    ],
    "stays_behind": [
        ("def Net(x):\n    return x", "class `Net` itself", "類別本身"),
        ("class Net:\n    pass", "class `Net` itself", "類別本身"),
        (_net(_LAYERS, _SCALE) + "Net = Net()", "class `Net` itself", "類別本身"),
        (_net("self.layers = [nn.Linear(8, 8), nn.Linear(8, 8)]", _SCALE), "plain list", "普通的 list"),
        (_net("self.layers = nn.ModuleList([nn.Linear(8, 8)])", _SCALE), "two layers", "兩層"),
        (_net(_LAYERS), "`self.scale` should still be there", "`self.scale` 應該還在"),
        (_net(_LAYERS, "self.scale = nn.Parameter(torch.ones(8))"), "as a parameter it is counted", "身為參數"),
        (_net(_LAYERS, "self.scale = torch.ones(8)"), "plain attribute", "普通屬性"),
        (_net(_LAYERS, _SCALE[:-1] + ", persistent=False)"), "`persistent`", "`persistent`"),
        (_net(_LAYERS, _SCALE, result="x.sum()"), "`forward`", "`forward`"),
        (
            _net(_LAYERS, _SCALE, more="    def to(self, device):\n        return self\n"),
            "still does not move",
            "還有東西沒跟著",
        ),
    ],
    "mean_loss": [
        ("def mean_loss(losses):\n    torch.stack(losses).mean().item()", "`None`", "`None`"),
        (_MEAN + "torch.stack(losses).mean()", "You return a tensor", "傳回的是張量"),
        (_MEAN + "f'{torch.stack(losses).mean().item():.3f}'", "`str`", "`str`"),
        (_MEAN + "torch.stack(losses).tolist()", "`list`", "`list`"),
        (_MEAN + "torch.stack(losses).sum().item()", "the sum", "總和"),
        (_MEAN + "losses[-1].item()", "only the last loss", "最後一個損失"),
        (_MEAN + "torch.stack(losses).median().item()", "is 24.5, but you get 24", "24.5，你算出 24"),
        (_MEAN + "sum(loss.item() for loss in losses) / len(losses)", "waits 50 times", "等了 50 次"),
        (_MEAN + "sum(map(float, losses)) / len(losses)", "waits 50 times", "等了 50 次"),
        (_MEAN + "sum(loss.cpu() for loss in losses).item() / len(losses)", "waits", "等了"),
        (_MEAN + "torch.tensor(losses).mean().item()", "waits", "等了"),
    ],
}
