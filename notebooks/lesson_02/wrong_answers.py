"""Typical wrong answers to the exercises of lesson 02: source, English words, Chinese words of the hint they must get."""

from __future__ import annotations

_MOVE = "def move(batch, device):\n    if isinstance(batch, torch.Tensor):\n        return batch.to(device)\n"
_MOVE_DICT = f"{_MOVE}    if isinstance(batch, dict):\n        return {{k: move(v, device) for k, v in batch.items()}}\n"
_LAYERS = "self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))"
_SCALE = "self.register_buffer('scale', torch.ones(8))"
_MASK = "def empty_mask(scores):\n    return "
_SCORES = "def scores_of(model, batch):\n    "
_ROWS = "def to_device(rows, device):\n    "
_PUT = "labels = labels.to(where)"
_THERE = "torch.linspace(0.5, 1.5, 10, device=where)"


def _loss(*moves: str, weight: str = "torch.linspace(0.5, 1.5, 10)", result: str = "") -> str:
    """Return ``loss_of`` for the exercise "mend"; `moves` are lines after the model's device is known."""
    lines = (
        "where = next(model.parameters()).device",
        *moves,
        "scores = model(images.to(where))",
        f"weight = {weight}",
        f"return {result or 'nn.functional.cross_entropy(scores, labels, weight=weight)'}",
    )
    return "def loss_of(model, images, labels):\n" + "".join(f"    {line}\n" for line in lines)


def _meter(
    add: str,
    mean: str = "return self.total.item() / self.count",
    init: str = "self.total, self.count = 0.0, 0",
) -> str:
    """Return a class ``Meter`` from the bodies of its three methods."""
    body = f"    def __init__(self):\n        {init}\n    def add(self, loss):\n        {add}\n    def mean(self):\n        {mean}\n"
    return f"class Meter:\n{body}"


_ADD = "self.total, self.count = self.total + loss.detach(), self.count + 1"


def _accuracy(
    start: str = "model.eval()",
    grad: str = "torch.no_grad()",
    move: str = "images, labels = images.to(where), labels.to(where)",
    count: str = "right = right + (model(images).argmax(1) == labels).sum(); n += len(labels)",
    end: str = "model.train()",
    result: str = "right.item() / n",
) -> str:
    """Return ``accuracy`` for the exercise of that name, made of its parts."""
    return (
        "def accuracy(model, batches):\n    where = next(model.parameters()).device\n"
        f"    {start}\n    right, n, shares = 0, 0, []\n    with {grad}:\n        for images, labels in batches:\n"
        f"            {move}\n            {count}\n    {end}\n    return {result}\n"
    )


def _net(*init: str, result: str = "x * self.scale", more: str = "") -> str:
    """Return a class ``Net`` for the exercise "stays_behind"; `init` is the rest of its ``__init__``."""
    return (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        + "".join(f"        {line}\n" for line in init)
        + "    def forward(self, x):\n        for layer in self.layers:\n            x = torch.relu(layer(x))\n"
        + f"        return {result}\n{more}"
    )


WRONG: dict[str, list[tuple[str, str, str]]] = {
    "empty_mask": [
        ("def empty_mask(scores):\n    torch.zeros_like(scores)", "`None`", "`None`"),
        (_MASK + "scores.shape", "should be a tensor", "應該是張量"),
        (_MASK + "torch.zeros(len(scores), dtype=torch.bool, device=scores.device)", "the shape of", "形狀"),
        (_MASK + "torch.zeros(scores.shape, dtype=torch.bool)", "your mask on the CPU", "遮罩卻在 CPU"),
        (_MASK + "torch.zeros_like(scores)", "`torch.bool`", "`torch.bool`"),
        (_MASK + "torch.ones_like(scores, dtype=torch.bool)", "empty", "空的"),
        (_MASK + "scores < 0", "empty", "空的"),
        (_MASK + "torch.zeros(scores.shape, dtype=torch.bool).to(scores.device)", "by a detour", "繞了路"),
        (_MASK + "torch.zeros(scores.shape, dtype=torch.bool, device='cuda')", "not from a name", "不要寫死"),
    ],
    "scores_of": [
        (_SCORES + "model(batch.to(next(model.parameters()).device))", "`None`", "`None`"),
        (_SCORES + "return model(batch)", "still gets a batch on the CPU", "還在 CPU"),
        (
            _SCORES + "batch.to(next(model.parameters()).device)\n    return model(batch)",
            "returns the moved one",
            "請用那個批次",
        ),
        (_SCORES + "return model.to('cpu')(batch)", "moved the model", "把模型搬到"),
        (_SCORES + "return batch.to(next(model.parameters()).device)", "not the model's scores", "不是模型"),
        (
            _SCORES + "return model(batch.to(next(model.parameters()).device)).cpu()",
            "where the model is",
            "留在模型所在",
        ),
        (_SCORES + "return model(batch.to('cuda'))", "do not write `cuda`", "寫死"),
    ],
    "mend": [
        (_loss(_PUT), "`weight` is still created", "`weight` 還是"),
        (_loss(weight=_THERE), "labels are still", "標籤還在"),
        (_loss("labels.to(where)", weight=_THERE), "labels are still", "標籤還在"),
        (_loss("model.to('cpu'); where = 'cpu'"), "computed on the CPU", "在 CPU 上算"),
        (
            _loss(_PUT, result="nn.functional.cross_entropy(scores * 2, labels)"),
            "loss has changed",
            "損失的值變了",
        ),
        (_loss(_PUT, weight=_THERE, result="None"), "`None`", "`None`"),
        (
            _loss(_PUT, result="nn.functional.cross_entropy(scores, labels)"),
            "without `weight`",
            "少了 `weight`",
        ),
        (
            _loss(result="nn.functional.cross_entropy(scores.cpu(), labels, weight=weight).to(where)"),
            "computed on the CPU and then moved",
            "在 CPU 上算好才搬",
        ),
    ],
    "move": [
        ("def move(batch, device):\n    batch.to(device)", "`None`", "`None`"),
        ("def move(batch, device):\n    batch.to(device)\n    return batch", "does not arrive", "沒有搬"),
        (_MOVE_DICT + "    return type(batch)([move(v, device) for v in batch])", "never ends", "沒完沒了"),
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
            "傳入的批次",
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
            "變成了參數",
        ),
        (
            _net(_LAYERS, "self.scale = nn.Parameter(torch.ones(8), requires_grad=False)"),
            "is not trained, but",
            "不會被訓練，但",
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
    "to_device": [
        (_ROWS + "[row.to(device) for row in rows]", "`None`", "`None`"),
        (_ROWS + "return [row.to(device) for row in rows]", "in 20 transfers", "搬了 20 次"),
        (
            _ROWS + "return torch.stack([row.to(device) for row in rows]).unbind()",
            "in 20 transfers",
            "搬了 20 次",
        ),
        (_ROWS + "return torch.stack(rows).to(device)", "a list of rows", "由各列組成的 list"),
        (_ROWS + "return list(torch.cat(rows).to(device))", "20 rows of 250", "20 列"),
        (_ROWS + "return list(torch.stack(rows))", "still on the CPU", "還在 CPU"),
        (_ROWS + "return list(torch.stack(rows).to(device).flip(0))", "have changed", "變了"),
    ],
    "meter": [
        ("Meter = 3", "class `Meter` itself", "類別本身"),
        (
            _meter("self.total += loss.item(); self.count += 1", "return self.total / self.count"),
            "fetches 50 times",
            "取值了 50 次",
        ),
        (
            _meter("self.total, self.count = self.total + loss, self.count + 1"),
            "graph of every step",
            "計算圖",
        ),
        (
            _meter(
                "self.kept.append(loss.detach())",
                "return torch.stack(self.kept).mean().item()",
                "self.kept = []",
            ),
            "keeps 50 tensors",
            "50 個張量",
        ),
        (_meter(_ADD, "return self.total.item()"), "the sum", "總和"),
        (_meter(_ADD, "return self.total / self.count"), "`Tensor`", "`Tensor`"),
        (_meter(_ADD, "self.total.item() / self.count"), "`None`", "`None`"),
        (_meter(_ADD, "return self.total.item() / (self.count + 1)"), "is 24.5, but you get", "24.5，你算出"),
        (
            _meter(_ADD, "return float(self.total) / self.count + 0 * self.total.item()"),
            "fetches 2 times",
            "取值了 2 次",
        ),
        (
            _meter(_ADD, "m, self.total = self.total.item() / self.count, 0.0; return m"),
            "one more `add`",
            "再 `add` 一次",
        ),
    ],
    "accuracy": [
        (_accuracy(result="print(right.item() / n)"), "`None`", "`None`"),
        ("def accuracy(model, batches):\n    return 0.5", "never called", "沒有呼叫模型"),
        (_accuracy(move="pass"), "both images and labels", "影像和標籤"),
        (_accuracy(move="images = images.to(where)"), "both images and labels", "影像和標籤"),
        (
            _accuracy(start="model.eval().to('cpu')", move="pass", result="float(right) / n"),
            "moved the model away",
            "把模型從",
        ),
        (
            _accuracy(start="model.eval().to('cpu')", move="pass", end="model.train().to(where)"),
            "moved the model away",
            "把模型從",
        ),
        (_accuracy(start="pass"), "training mode", "訓練模式"),
        (
            _accuracy(
                count="shares.append((model(images).argmax(1) == labels).float().mean())",
                result="torch.stack(shares).mean().item()",
            ),
            "counts as much as 64",
            "分量卻和 64",
        ),
        (_accuracy(result="right.item()"), "divide by the number", "除以總張數"),
        (_accuracy(result="right.item() / len(batches)"), "but you get 42.6", "你算出的卻是 42.6"),
        (_accuracy(grad="torch.enable_grad()"), "builds a graph", "計算圖"),
        (
            _accuracy(
                count="right += (model(images).argmax(1) == labels).sum().item(); n += len(labels)",
                result="right / n",
            ),
            "fetches 3 times",
            "取值了 3 次",
        ),
        (_accuracy(end="pass"), "evaluation mode", "評估模式"),
        (_accuracy(result="right / n"), "`float`", "`float`"),
    ],
}
