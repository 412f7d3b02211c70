"""Wrong answers that learners really give, and what each must be told: source, English words, Chinese words.

Every hint of every exercise has an answer here that reaches it (see ``test_every_hint_can_be_reached``).
"""

from __future__ import annotations

from wrong_answers_distributed import DISTRIBUTED
from wrong_answers_parallel import PARALLEL

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
    return _filled(keys, *values)


def _net(*init: str, result: str = "x * self.scale", more: str = "") -> str:
    return (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        + "".join(f"        {line}\n" for line in init)
        + "    def forward(self, x):\n        for layer in self.layers:\n            x = torch.relu(layer(x))\n"
        + f"        return {result}\n{more}"
    )


def _filled(keys: tuple[str, ...], *values: str) -> str:
    return f"answers = {{{', '.join(f'{key!r}: {value}' for key, value in zip(keys, values, strict=True))}}}"


def _rounding(*values: str) -> str:
    keys = (
        "float16: 4096 + 1",
        "float16: 4096 + 3",
        "bfloat16: 1001",
        "float16: 70000",
        "bfloat16: 70000",
        "float32: 16777216 + 1",
    )
    return _filled(keys, *values)


def _autocast(*values: str) -> str:
    keys = (
        "layer(x)",
        "torch.relu(layer(x))",
        "layer(x) + x",
        "x * 2",
        "x @ x.T",
        "cross_entropy(layer(x), labels)",
        "layer.weight.grad",
    )
    return _filled(keys, *(f"torch.{value}" if value in _TYPES else value for value in values))


_TYPES = ("float32", "bfloat16", "float16")
_ACCUMULATE = "def accumulate(model, loss_fn, pieces):\n    "
_HALVE = "def largest_batch(step, batch):\n    "


_TIME = "def seconds_per_call(action, synchronize, clock):\n    "
_WARM = _TIME + "action()\n    synchronize()\n    start = clock()\n    "
_TIMED = _WARM + "for _ in range(10):\n        action()\n    synchronize()\n    "
_WAIT = "    work.wait_stream(copy)\n", "    copy.wait_stream(work)\n"
_PREFETCH = "def prefetch(batches, start_copy, wait):\n    "


def _train(
    *, each: str, end: str, before: str = "losses, right = [], 0", step: str = "optimizer.step()"
) -> str:
    """Return a training loop for the exercise "stalls"; `each` is its lines at the end of a step."""
    lines = (
        "scores = model(images)", "loss = nn.functional.cross_entropy(scores, labels)", "optimizer.zero_grad()",
        "loss.backward()", step, *each.split("; "),
    )  # fmt: skip
    return (
        f"def train(model, optimizer, batches):\n    {before}\n    for images, labels in batches:\n"
        + "".join(f"        {line}\n" for line in lines)
        + "".join(f"    {line}\n" for line in end.split("; "))
    )


_KEEP = "losses.append(loss.detach()); right = right + (scores.argmax(1) == labels).sum()"
_FETCH = "losses = torch.stack(losses).tolist(); "


def _two_batches(*waits: str, steps: tuple[str, ...] = ()) -> str:
    """Return the program of the exercise "race" with something before each step."""
    steps = steps or (
        "copy.run('load A', writes='batch')", "work.run('train A', reads='batch', writes='loss')",
        "copy.run('load B', writes='batch')", "work.run('train B', reads='batch', writes='loss')",
        "copy.run('fetch loss', reads='loss')",
    )  # fmt: skip
    gaps = [*waits, *[""] * (len(steps) - len(waits))]
    body = "".join(f"{gap}    {step}\n" for gap, step in zip(gaps, steps, strict=True))
    return f"def two_batches(copy, work):\n{body}"


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
        (
            _net(_LAYERS, "self.scale = nn.Parameter(torch.ones(8))"),
            "as a parameter it is counted",
            "身為參數",
        ),
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
    # --- lesson 03 ------------------------------------------------------------------------------------
    "rounding": [
        ("answers = [4096, 4100]", "Keep the dictionary", "保留字典"),
        (
            "answers = {'float16: 4096 + 1': 4096}",
            "line is missing: `float16: 4096 + 3`",
            "不見了：`float16: 4096 + 3`",
        ),
        (
            _rounding("4096", "...", "...", "...", "...", "..."),
            "Not filled in yet: `float16: 4096 + 3`",
            "還沒填",
        ),
        (_rounding("4097", "4100", "1000", "float('inf')", "70144", "16777216"), "every fourth", "每隔 4"),
        (
            _rounding("4096", "4096", "1000", "float('inf')", "70144", "16777216"),
            "4099 lies between",
            "4099 落在",
        ),
        (_rounding("4096", "4100", "1001", "float('inf')", "70144", "16777216"), "512 / 128", "512 / 128"),
        (_rounding("4096", "4100", "1000", "65504", "70144", "16777216"), "ends at 65504", "最大只到 65504"),
        (_rounding("4096", "4100", "1000", "'inf'", "70000", "16777216"), "spacing is 512", "間隔是 512"),
        (
            _rounding("4096", "4100", "1000", "float('inf')", "70144", "16777217"),
            "23 fraction bits",
            "23 個位元",
        ),
        (
            _rounding("'4096'", "4100", "1000", "float('inf')", "70144", "16777216"),
            "is a number",
            "答案是數字",
        ),
        (
            _rounding("4096", "4100", "1000", "float('nan')", "70144", "16777216"),
            "ends at 65504",
            "最大只到 65504",
        ),
    ],
    "autocast": [
        ("answers = 'bfloat16'", "Keep the dictionary", "保留字典"),
        (_autocast("float16", *["float32"] * 6), "`torch.float32` or `torch.bfloat16`", "`torch.float32` 或"),
        (_autocast("'half'", *["float32"] * 6), "`torch.float32` or `torch.bfloat16`", "`torch.float32` 或"),
        (_autocast("float32", *["float32"] * 6), "`layer(x)`: look again", "`layer(x)`：再想想"),
        (_autocast("bfloat16", "float32", *["float32"] * 5), "neither list", "不在任何一份"),
        (
            _autocast("'bfloat16'", "bfloat16", "bfloat16", *["float32"] * 4),
            "the wider type wins",
            "比較寬的",
        ),
        (
            _autocast(*["bfloat16"] * 2, "float32", "bfloat16", *["float32"] * 3),
            "does not touch `x`",
            "不會動 `x`",
        ),
        (_autocast(*["bfloat16"] * 2, *["float32"] * 5), "`@` included", "`@` 也算"),
        (
            _autocast(*["bfloat16"] * 2, *["float32"] * 2, *["bfloat16"] * 3),
            "takes logarithms",
            "取對數",
        ),
        (
            _autocast(*["bfloat16"] * 2, *["float32"] * 2, "bfloat16", "float32", "bfloat16"),
            "type of its parameter",
            "跟著參數",
        ),
    ],
    "accumulate": [
        (
            _ACCUMULATE + "model.zero_grad()\n    total = sum(len(x) for x, y in pieces)\n"
            "    sum(loss_fn(model(x), y) * len(x) / total for x, y in pieces).backward()",
            "in memory at once",
            "同時留在記憶體裡",
        ),
        (
            _ACCUMULATE + "model.zero_grad()\n    x, y = (torch.cat(both) for both in zip(*pieces))\n"
            "    loss_fn(model(x), y).backward()",
            "in memory at once",
            "同時留在記憶體裡",
        ),
        (
            _ACCUMULATE + "model.zero_grad()\n    return sum(loss_fn(model(x), y) for x, y in pieces)",
            "no gradient",
            "沒有梯度",
        ),
        (
            _ACCUMULATE
            + "model.zero_grad()\n    for x, y in pieces:\n        loss_fn(model(x), y).backward()",
            "4 times too large",
            "正確值的 4 倍",
        ),
        (
            _ACCUMULATE
            + "for x, y in pieces:\n        model.zero_grad()\n        loss_fn(model(x), y).backward()",
            "Only the last piece",
            "只剩最後一份",
        ),
        (
            _ACCUMULATE + "for x, y in pieces:\n        model.zero_grad()\n"
            "        (loss_fn(model(x), y) / len(pieces)).backward()",
            "Only the last piece",
            "只剩最後一份",
        ),
        (
            _ACCUMULATE + "model.zero_grad()\n    for x, y in pieces:\n"
            "        (loss_fn(model(x), y) / len(pieces)).backward()",
            "6, 6, 2 examples",
            "6、6、2 筆",
        ),
        (
            _ACCUMULATE + "model.zero_grad()\n    for x, y in pieces:\n"
            "        (loss_fn(model(x), y) / len(x)).backward()",
            "loss times its share",
            "乘上它占的比例",
        ),
        (
            _ACCUMULATE + "total = sum(len(x) for x, y in pieces)\n    for x, y in pieces:\n"
            "        (loss_fn(model(x), y) * len(x) / total).backward()",
            "Called a second time",
            "第二次",
        ),
        (
            _ACCUMULATE
            + "model.zero_grad()\n    total = sum(len(x) for x, y in pieces)\n    for x, y in pieces:\n"
            "        (loss_fn(model(x), y) * len(x) / total).backward()\n"
            "    torch.optim.SGD(model.parameters(), lr=0.1).step()",
            "changed the weights",
            "改到權重",
        ),
    ],
    "halve": [
        (_HALVE + "step(batch)\n    return batch", "comes out of your function", "從你的函式跑出來"),
        (_HALVE + "return 16", "never calls `step`", "從沒呼叫 `step`"),
        (
            _HALVE + "while True:\n        try:\n            step(batch)\n            break\n"
            "        except torch.OutOfMemoryError:\n            batch //= 2",
            "returns `None`",
            "傳回 `None`",
        ),
        (
            _HALVE + "while True:\n        try:\n            step(batch)\n            return batch\n"
            "        except torch.OutOfMemoryError:\n            batch -= 1",
            "the answer is 16, but you return `20`",
            "答案是 16；你傳回的是 `20`",
        ),
        (
            _HALVE + "while True:\n        try:\n            step(batch)\n            return batch\n"
            "        except torch.OutOfMemoryError:\n            batch = batch / 2",
            "halve with `//`",
            "減半要用 `//`",
        ),
        (
            _HALVE + "while batch:\n        try:\n            step(batch)\n            return batch\n"
            "        except Exception:\n            batch //= 2\n    return 0",
            "swallows every error",
            "所有錯誤都吞掉",
        ),
        (
            _HALVE + "while True:\n        try:\n            step(batch)\n            return batch\n"
            "        except RuntimeError:\n            if batch == 1:\n                raise\n            batch //= 2",
            "tried again with smaller",
            "還縮小批次再試",
        ),
        (
            _HALVE + "while True:\n        try:\n            step(batch)\n            return batch\n"
            "        except torch.OutOfMemoryError:\n            batch //= 2",
            "goes on for ever",
            "停不下來",
        ),
        (
            _HALVE + "while batch:\n        try:\n            step(batch)\n            return batch\n"
            "        except torch.OutOfMemoryError:\n            batch //= 2\n    return 0",
            "your function returns `0`",
            "你的函式傳回 `0`",
        ),
        (
            _HALVE + "while True:\n        try:\n            step(batch)\n            return batch\n"
            "        except torch.OutOfMemoryError:\n            if batch < 1:\n                raise\n            batch //= 2",
            "tries a batch of 0",
            "連 0 筆都試",
        ),
    ],
    # --- lesson 04 ------------------------------------------------------------------------------------
    "fair_timing": [
        (_TIMED + "(clock() - start) / 10", "`None`", "`None`"),
        (_TIMED + "return f'{(clock() - start) / 10:.3f} s'", "a `str`", "`str`"),
        (_TIME + "return 0.005", "never call `action()`", "沒有呼叫 `action()`"),
        (
            "import time\n"
            + (_TIMED + "return (clock() - start) / 10").replace("clock()", "time.perf_counter()"),
            "Use the `clock`",
            "請用傳進來的 `clock`",
        ),
        (
            _TIME + "action()\n    synchronize()\n    return clock()",
            "No call of `action()`",
            "一次 `action()` 也沒有",
        ),
        (
            _WARM + "for _ in range(10):\n        action()\n    return (clock() - start) / 10",
            "queued, but not done",
            "還沒做完",
        ),
        (
            _WARM + "synchronize()\n    action()\n    return clock() - start",
            "queued, but not done",
            "還沒做完",
        ),
        (
            _TIME
            + "synchronize()\n    start = clock()\n    for _ in range(10):\n        action()\n    synchronize()\n"
            "    return (clock() - start) / 10",
            "The first call takes far longer",
            "第一次呼叫比之後慢很多",
        ),
        (
            _TIME + "start = clock()\n    action()\n    synchronize()\n    return clock() - start",
            "The first call takes far longer",
            "第一次呼叫比之後慢很多",
        ),
        (
            _TIME
            + "action()\n    start = clock()\n    action()\n    synchronize()\n    return clock() - start",
            "still busy",
            "還在做先前",
        ),
        (_TIMED + "return clock() - start", "all 10 calls together", "10 次呼叫加起來"),
        (_TIMED + "return (clock() - start) * 100", "milliseconds", "毫秒"),
        (_TIMED + "return (clock() - start) / 5", "but you get 0.01", "你算出 0.01"),
        (_TIMED + "return (start - clock()) / 10", "but you get -0.005", "你算出 -0.005"),
    ],
    "stalls": [
        (_train(each=_KEEP, end=_FETCH + "return losses"), "three things", "三樣東西"),
        (_train(each=_KEEP, end="print(losses)"), "three things", "三樣東西"),
        (
            _train(each=_KEEP, end="return losses, int(right), torch.stack(losses).max().item()"),
            "list of Python floats",
            "Python 浮點數的 list",
        ),
        (
            _train(
                each=_KEEP, end="losses = torch.stack(losses); return losses, int(right), losses.max().item()"
            ),
            "list of Python floats",
            "Python 浮點數的 list",
        ),
        (
            _train(each=_KEEP, end=_FETCH + "return losses, right, max(losses)"),
            "`right` should be",
            "`right` 最後應該",
        ),
        (
            _train(
                each=_KEEP,
                end="worst = torch.stack(losses).max(); " + _FETCH + "return losses, int(right), worst",
            ),
            "`worst` should be",
            "`worst` 最後應該",
        ),
        (
            _train(each=_KEEP, end="losses = [losses[-1].item()]; return losses, int(right), losses[0]"),
            "but you return 1 losses",
            "卻傳回 1 個損失",
        ),
        (
            _train(each=_KEEP, step="pass", end=_FETCH + "return losses, int(right), max(losses)"),
            "no longer those of the original",
            "和原本的迴圈不一樣",
        ),
        (
            _train(
                each=_KEEP,
                before="losses, right = [], 1",
                end=_FETCH + "return losses, int(right), max(losses)",
            ),
            "were classified correctly",
            "答對的有",
        ),
        (
            _train(each=_KEEP, end=_FETCH + "return losses, int(right), losses[-1]"),
            "The largest loss is",
            "最大的損失是",
        ),
        (
            _train(
                each="losses.append(loss.item()); right = right + (scores.argmax(1) == labels).sum()",
                end="return losses, int(right), max(losses)",
            ),
            "still waits at least 21 times",
            "還是至少等了 21 次",
        ),
        (
            _train(
                each=_KEEP + "; worst = max(worst, loss.detach())",
                before="losses, right, worst = [], 0, 0.0",
                end=_FETCH + "return losses, int(right), float(worst)",
            ),
            "still waits at least 22 times",
            "還是至少等了 22 次",
        ),
        (
            _train(each=_KEEP, end=_FETCH + "return losses, int(right), max(losses)"),
            "neither is the check",
            "檢查也不見了",
        ),
    ],
    "race": [
        (_two_batches(steps=("copy.run('load A', writes='batch')",)), "The five steps", "五個步驟"),
        (
            _two_batches().replace("copy.run('load B'", "work.run('load B'"),
            "The five steps",
            "五個步驟",
        ),
        (
            _two_batches(
                "", "    copy.synchronize()\n", "    work.synchronize()\n", "    copy.synchronize()\n"
            ),
            "makes the **host** wait",
            "讓主機等",
        ),
        (_two_batches("", "    work.wait_event(copy)\n"), "takes an event", "要的是事件"),
        (_two_batches("", "    work.wait_stream(copy.record_event())\n"), "the other stream", "另一條串流"),
        (
            _two_batches("", "    copy.wait_stream(work)\n"),
            "`train A` may read `batch` before",
            "`train A` 就可能來讀",
        ),
        (_two_batches("", _WAIT[0], "", _WAIT[0], _WAIT[1]), "`load B` may overwrite `batch`", "把它蓋掉"),
        (
            _two_batches("", _WAIT[0], _WAIT[1], "", _WAIT[1]),
            "`train B` may read `batch` before",
            "`train B` 就可能來讀",
        ),
        (
            _two_batches("", _WAIT[0], _WAIT[1], _WAIT[0]),
            "`fetch loss` may read `loss` before",
            "`fetch loss` 就可能來讀",
        ),
        (
            _two_batches("", "", "    e = copy.record_event()\n    work.wait_event(e)\n"),
            "`train A` may read `batch` before",
            "`train A` 就可能來讀",
        ),
    ],
    "prefetch": [
        (_PREFETCH + "for batch in batches:\n        wait(start_copy(batch))", "Use `yield`", "要用 `yield`"),
        (
            _PREFETCH + "for batch in batches:\n        yield wait(start_copy(batch))",
            "still take turns",
            "還是輪流做",
        ),
        (
            _PREFETCH + "for batch in batches:\n        yield wait(batch)",
            "`wait` takes what `start_copy` returned",
            "`start_copy` 傳回的東西",
        ),
        (
            _PREFETCH + "last = None\n    for batch in batches:\n        ticket = start_copy(batch)\n"
            "        if last:\n            yield last\n        last = ticket\n    if last:\n        yield last",
            "a copy that may still be under way",
            "複製可能還沒完成",
        ),
        (
            _PREFETCH + "last = None\n    for batch in batches:\n        ticket = start_copy(batch)\n"
            "        if last:\n            yield wait(last)\n        last = ticket",
            "The last of 4 batches never comes out",
            "最後一批沒有交出來",
        ),
        (
            _PREFETCH + "last = None\n    for batch in batches:\n        ticket = start_copy(batch)\n"
            "        yield wait(last or ticket)\n        last = ticket",
            "in another order",
            "順序不對",
        ),
        (
            _PREFETCH
            + "tickets = [start_copy(batch) for batch in batches]\n    return [wait(t) for t in tickets]",
            "the copy of batch 2 has been started as well",
            "連第 2 批都開始複製了",
        ),
        (
            _PREFETCH
            + "batches = iter(batches)\n    ticket = start_copy(next(batches))\n    for batch in batches:\n"
            "        coming = start_copy(batch)\n        yield wait(ticket)\n        ticket = coming\n    yield wait(ticket)",
            "`StopIteration`",
            "`StopIteration`",
        ),
        (
            _PREFETCH + "for k in range(len(batches)):\n        yield wait(start_copy(batches[k]))",
            "any iterable",
            "可迭代",
        ),
        (_PREFETCH + "ticket = start_copy(batches[0])\n    yield wait(ticket)", "any iterable", "可迭代"),
    ],
}

WRONG |= PARALLEL | DISTRIBUTED
