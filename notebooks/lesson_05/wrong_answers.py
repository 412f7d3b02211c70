"""Typical wrong answers to the exercises of lesson 05: source, and words of the hint in English and Chinese."""

from __future__ import annotations

Row = tuple[str, str, str]

_SPLIT = "def split_sizes(batch, devices):\n    "
_ALL = "def all_reduce(tensors):\n    "
_COMBINE = "def combine(gradients, sizes):\n    "
_PLAIN = "def without_prefix(state):\n    "
_SCALED = "def scaled(batch, lr, devices, images):\n    "
_TOTAL = "total = sum(t.to(tensors[0].device) for t in tensors)\n    "
_SHARES = "sizes = torch.tensor(sizes)\n    "

WRONG: dict[str, list[Row]] = {
    "splits": [
        (_SPLIT + "print([4, 4, 2])", "is there a `return`", "有寫 `return` 嗎"),
        (_SPLIT + "return -(-batch // devices)", "Return a list", "請傳回 list"),
        (_SPLIT + "return torch.arange(batch).chunk(devices)", "the pieces themselves", "切好的每一份"),
        (_SPLIT + "return [batch / devices] * devices", "cannot be cut in two", "不能切成兩半"),
        (
            _SPLIT
            + "p = -(-batch // devices)\n    return [max(0, min(p, batch - p * i)) for i in range(devices)]",
            "leave the zeros out",
            "0 不用列",
        ),
        (_SPLIT + "return [batch // devices] * devices", "None may be lost", "一筆都不能少"),
        (_SPLIT + "return [-(-batch // devices)] * devices", "None may be lost", "一筆都不能少"),
        (
            _SPLIT + "p, rest = divmod(batch, devices)\n    return [p] * devices + ([rest] if rest else [])",
            "round the size of a piece **up**",
            "無條件進位",
        ),
        (
            _SPLIT + "return [len(p) for p in torch.arange(batch).tensor_split(devices)]",
            "as even as possible",
            "分得最平均",
        ),
        (
            _SPLIT + "p, rest = divmod(batch, devices)\n    return [p] * (devices - 1) + [p + rest]",
            "the last piece is the rest",
            "最後一份就是剩下的",
        ),
    ],
    "all_reduce": [
        (
            _ALL + "total = sum(tensors)\n    for t in tensors:\n        t.copy_(total)",
            "tensors of 2 devices at once (cuda:0, cuda:1)",
            "2 個裝置上的張量",
        ),
        (
            _ALL + "total = torch.zeros(2, 3)\n    for t in tensors:\n        total = total + t",
            "tensors of 2 devices at once (cpu, cuda:0)",
            "2 個裝置上的張量",
        ),
        (
            _ALL + "return torch.stack(list(tensors)).sum(0)",
            "tensors of 3 devices at once",
            "3 個裝置上的張量",
        ),
        (
            _ALL + _TOTAL + "return [total.to(t.device) for t in tensors]",
            "You return the result",
            "你把結果傳回",
        ),
        (
            _ALL + _TOTAL + "for t in tensors:\n        t = total",
            "all tensors are as before",
            "所有張量都沒有變",
        ),
        (
            _ALL + _TOTAL + "for i, t in enumerate(tensors):\n        tensors[i] = total.to(t.device)",
            "You put new tensors into the list",
            "你把新的張量放進 list",
        ),
        (_ALL + _TOTAL + "for t in tensors:\n        t.data = total", "share one memory", "共用同一塊記憶體"),
        (_ALL + "for t in tensors:\n        t.unsqueeze_(0)", "another shape", "形狀變了"),
        (
            _ALL + _TOTAL + "for t in tensors:\n        t.copy_(total / len(tensors))",
            "holds the average",
            "都是平均",
        ),
        (
            _ALL + "for t in tensors[1:]:\n        tensors[0] += t.to(tensors[0].device)",
            "The second half is missing",
            "還少了後半",
        ),
        (
            _ALL + _TOTAL + "for t in tensors:\n        t += total.to(t.device)",
            "counted twice",
            "自己算了兩次",
        ),
        (
            _ALL + "for t in tensors:\n        t.copy_(sum(o.to(t.device) for o in tensors))",
            "already changed",
            "已經改過",
        ),
    ],
    "uneven": [
        (_COMBINE + "print(sum(gradients))", "is there a `return`", "有寫 `return` 嗎"),
        (_COMBINE + "return gradients[0].mean()", "a tensor of shape ()", "張量，形狀 ()"),
        (_COMBINE + "return [g / 2 for g in gradients]", "yours is a `list`", "你傳回的是 `list`"),
        (
            _COMBINE + "return torch.stack(gradients).mean(0)",
            "every device counts the same",
            "每個裝置的分量都一樣",
        ),
        (
            _COMBINE + "return sum(g * n for g, n in zip(gradients, sizes))",
            "add up to the whole batch instead of 1",
            "最後還要除以它",
        ),
        (_COMBINE + "return sum(gradients)", "You add the gradients up", "直接相加"),
        (
            _COMBINE
            + "total = gradients[0]\n    for g in gradients[1:]:\n        total += g\n    return total",
            "You changed one of the gradients",
            "你改到了傳進來的梯度",
        ),
        (
            _COMBINE + "return sum(g * n for g, n in zip(gradients, sizes)) / len(sizes)",
            "not the gradient of the whole batch",
            "不是整個批次的梯度",
        ),
        (
            _COMBINE + _SHARES + "return sum(g / n for g, n in zip(gradients, sizes)) / (1 / sizes).sum()",
            "not the gradient of the whole batch",
            "不是整個批次的梯度",
        ),
    ],
    "checkpoint": [
        (_PLAIN + "print(state)", "is there a `return`", "有寫 `return` 嗎"),
        (_PLAIN + "return [k.removeprefix('module.') for k in state]", "Return a dictionary", "請傳回字典"),
        (
            _PLAIN
            + "for k in list(state):\n        state[k.removeprefix('module.')] = state.pop(k)\n    return state",
            "You changed the dictionary",
            "你改到了傳進來的字典",
        ),
        (_PLAIN + "return dict(state)", "still begin with `module.`", "`module.` 還在"),
        (
            _PLAIN + "return {k.replace('module.', ''): v for k, v in state.items()}",
            "only the one at the very beginning",
            "只拿掉最開頭的那一個",
        ),
        (
            _PLAIN + "return {k[len('module.'):]: v for k, v in state.items()}",
            "a state that never had the prefix",
            "本來就沒有這個前綴",
        ),
        (
            _PLAIN + "return {k.split('.', 1)[1]: v for k, v in state.items()}",
            "a state that never had the prefix",
            "本來就沒有這個前綴",
        ),
        (
            _PLAIN + "return {k.lstrip('module.'): v for k, v in state.items()}",
            "takes away single letters",
            "一個個字母",
        ),
        (
            _PLAIN + "v = list(state.values())[0]\n    return {k.removeprefix('module.'): v for k in state}",
            "not every name has its own tensor",
            "不是自己的張量",
        ),
    ],
    "scaled": [
        (_SCALED + "print(batch * devices)", "is there a `return`", "有寫 `return` 嗎"),
        (_SCALED + "return batch * devices, lr * devices", "Return three things", "傳回三樣東西"),
        (
            _SCALED + "return batch, lr * devices, -(-images // (batch * devices))",
            "feeds **all** devices",
            "餵飽**所有**裝置",
        ),
        (
            _SCALED + "return batch * devices, lr, -(-images // (batch * devices))",
            "the learning rate did not",
            "學習率卻沒變",
        ),
        (
            _SCALED + "return batch * devices, lr / devices, -(-images // (batch * devices))",
            "You divide the learning rate",
            "你把學習率變小了",
        ),
        (
            _SCALED + "return batch * devices, lr * devices ** 0.5, -(-images // (batch * devices))",
            "the linear rule gives 0.2",
            "按照線性規則應該是 0.2",
        ),
        (
            _SCALED + "return batch * devices, lr * devices, -(-images // batch)",
            "the number of steps with one device",
            "單一裝置的步數",
        ),
        (
            _SCALED + "return batch * devices, lr * devices, images // (batch * devices)",
            "is one more step, a smaller one",
            "最後剩下的也算一步",
        ),
        (
            _SCALED + "return batch * devices, lr * devices, images / (batch * devices)",
            "12 steps (a whole number, `int`)",
            "總共是 12 步",
        ),
    ],
}
