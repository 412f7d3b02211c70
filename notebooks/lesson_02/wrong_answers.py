"""Typical wrong answers to the exercises of lesson 02: source, English words, Chinese words of the hint they must get."""

from __future__ import annotations

_MOVE = "def move(batch, device):\n    if isinstance(batch, torch.Tensor):\n        return batch.to(device)\n"
_MOVE_DICT = f"{_MOVE}    if isinstance(batch, dict):\n        return {{k: move(v, device) for k, v in batch.items()}}\n"
_LAYERS = "self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))"
_SCALE = "self.register_buffer('scale', torch.ones(8))"
_MEAN = "def mean_loss(losses):\n    return "


def _identity(*values: str) -> str:
    """Return the dictionary of the exercise "identity", filled in with `values`."""
    keys = (
        "x.to('cpu') is x",
        "x.to(torch.float64) is x",
        "x.to('cpu', copy=True) is x",
        "model.to(torch.float64) is model",
        "x.dtype after x.to(torch.float64)",
    )
    return f"answers = {{{', '.join(f'{key!r}: {value}' for key, value in zip(keys, values, strict=True))}}}"


def _net(*init: str, result: str = "x * self.scale", more: str = "") -> str:
    """Return a class ``Net`` for the exercise "stays_behind"; `init` is the rest of its ``__init__``."""
    return (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        + "".join(f"        {line}\n" for line in init)
        + "    def forward(self, x):\n        for layer in self.layers:\n            x = torch.relu(layer(x))\n"
        + f"        return {result}\n{more}"
    )


WRONG: dict[str, list[tuple[str, str, str]]] = {
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
}
