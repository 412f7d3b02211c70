"""Typical wrong answers to the exercises of lesson 05: source, and words of the hint in English and Chinese."""

from __future__ import annotations

Row = tuple[str, str, str]

_SPLIT = "def split_sizes(batch, devices):\n    "
_ALL = "def all_reduce(tensors):\n    "
_COMBINE = "def combine(gradients, sizes):\n    "
_PLAIN = "def without_prefix(state):\n    "
_STEP = "def share_gradients(copies, xs, ys, all_reduce):\n    "
_LOSS = "def batch_loss(sums, batch):\n    "
_BYTES = "def bytes_per_step(parameters, devices):\n    "
_TOTAL = "total = sum(t.to(tensors[0].device) for t in tensors)\n    "
_OWN = "for m, x, y in zip(copies, xs, ys):\n        "
_CLEAR = "m.zero_grad()\n        "
_ENTROPY = "nn.functional.cross_entropy(m(x), y)"
_REDUCE = "\n    for ps in zip(*(m.parameters() for m in copies)):\n        all_reduce([p.grad for p in ps])"
_SHARES = "sizes = torch.tensor(sizes)\n    "

_FIRST = {"weight": "cuda:2", "pieces[1]": "cuda:0"}


def _places(**given: str) -> str:
    """Return a filled-in dictionary: `given`, and ``cuda`` everywhere else."""
    keys = ("weight", "pieces[1]", "out", "labels", "weight.grad")
    return f"places = { ({key: given.get(key, 'cuda') for key in keys})!r}"


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
            "the last piece is the remainder",
            "最後一份就是剩下的",
        ),
    ],
    "all_reduce": [
        (
            _ALL + "total = sum(tensors)\n    for t in tensors:\n        t.copy_(total)",
            "tensors of several devices at once (cuda:0, cuda:1)",
            "不同裝置上的張量",
        ),
        (
            _ALL + "total = torch.zeros(2, 3)\n    for t in tensors:\n        total = total + t",
            "tensors of several devices at once (cpu, cuda:0)",
            "不同裝置上的張量",
        ),
        (
            _ALL + "return torch.stack(list(tensors)).sum(0)",
            "tensors of several devices at once",
            "不同裝置上的張量",
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
            "把自己算了兩次",
        ),
        (
            _ALL + "for t in tensors:\n        t.copy_(sum(o.to(t.device) for o in tensors))",
            "already changed",
            "已經改過",
        ),
    ],
    "step": [
        (
            _STEP + "losses = [nn.functional.cross_entropy(m(x), y) for m, x, y in zip(copies, xs, ys)]",
            "as before",
            "都沒有變",
        ),
        (
            _STEP
            + _OWN
            + _CLEAR
            + f"({_ENTROPY} * len(x) / sum(map(len, xs))).backward()"
            + _REDUCE
            + "\n    for m in copies:\n        torch.optim.SGD(m.parameters(), lr=0.1).step()",
            "You changed the weights",
            "你改到了權重",
        ),
        (
            _STEP
            + _OWN
            + f"m.zero_grad()\n    {_ENTROPY.replace('m(x)', 'copies[0](xs[0])').replace('y)', 'ys[0])')}.backward()",
            "A copy has no gradient",
            "有個複本沒有梯度",
        ),
        (
            _STEP + _OWN + f"({_ENTROPY} * len(x) / sum(map(len, xs))).backward()" + _REDUCE,
            "Clear it first",
            "請先清掉",
        ),
        (
            _STEP + _OWN + _CLEAR + f"({_ENTROPY} * len(x) / sum(map(len, xs))).backward()",
            "of its own piece only",
            "自己那一份的梯度",
        ),
        (
            _STEP + _OWN + _CLEAR + f"{_ENTROPY}.backward()" + _REDUCE,
            "gradients of **mean** losses",
            "**平均**損失的梯度",
        ),
        (
            _STEP + _OWN + _CLEAR + f"({_ENTROPY} / len(copies)).backward()" + _REDUCE,
            "every copy counts the same",
            "每個複本的分量都一樣",
        ),
        (
            _STEP + _OWN + _CLEAR + f"({_ENTROPY} * len(x)).backward()" + _REDUCE,
            "Divide by the whole batch",
            "整個批次的筆數",
        ),
        (
            _STEP + _OWN + _CLEAR + f"({_ENTROPY} / len(x)).backward()" + _REDUCE,
            "What is each loss multiplied by",
            "各個損失乘以多少",
        ),
    ],
    "uneven": [
        (_COMBINE + "print(sum(gradients))", "is there a `return`", "有寫 `return` 嗎"),
        (_COMBINE + "return gradients[0].mean()", "a tensor of shape ()", "形狀為 () 的張量"),
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
    "places": [
        (_places(), "`cuda` means the current device", "目前的裝置"),
        (_places(weight="cpu"), "one of `cuda:0`, `cuda:1`, `cuda:2`", "其中之一"),
        (
            _places(weight="cuda:0"),
            "`weight`: look again. The master copy lives on the first entry",
            "正本放在",
        ),
        (
            _places(weight="cuda:2", **{"pieces[1]": "cuda:1"}),
            "the second piece to its second entry",
            "第二份給第二個",
        ),
        (_places(**_FIRST, out="cuda:0"), "outputs are gathered on the first device", "輸出會收集到"),
        (_places(**_FIRST, out="cuda:2", labels="cuda:0"), "beside the gathered output", "和收集好的輸出"),
        (
            _places(**_FIRST, out="cuda:2", labels="cuda:2", **{"weight.grad": "cuda:1"}),
            "Gradients belong to the parameters",
            "梯度屬於正本的參數",
        ),
    ],
    "losses": [
        (_LOSS + "print(sums)", "is there a `return`", "有寫 `return` 嗎"),
        (_LOSS + "return sums.sum().item() / batch", "has no history", "不帶計算圖"),
        (_LOSS + "return sums / batch", "wants a single number", "單一數值"),
        (_LOSS + "return sums.detach().sum() / batch", "has lost its history", "計算圖不見了"),
        (_LOSS + "return sums.mean()", "divide by the number of devices", "除以的是裝置數"),
        (_LOSS + "return sums.sum()", "the sum over the batch", "整個批次的總和"),
        (_LOSS + "return sums[0] / batch", "not the mean loss of the batch", "不是整個批次的平均損失"),
    ],
    "traffic": [
        (_BYTES + "print(parameters)", "is there a `return`", "有寫 `return` 嗎"),
        (_BYTES + "return str(parameters)", "should be a number", "答案應該是數字"),
        (_BYTES + "return 2 * (devices - 1) * parameters", "Each float32 takes four bytes", "占四個位元組"),
        (_BYTES + "return 4 * (devices - 1) * parameters", "That is one way", "只是單程"),
        (_BYTES + "return 8 * devices * parameters", "One device too many", "多算了一個裝置"),
        (
            _BYTES + "return 8 * (devices - 1) * parameters / devices",
            "over all links together",
            "所有連線的位元組",
        ),
        (_BYTES + "return 8 * parameters", "one of the other devices exchanges", "一個裝置和第一個裝置之間"),
        (_BYTES + "return parameters + devices", "what comes back", "送回來的是什麼"),
        (
            _BYTES + "return 2 * max(devices - 1, 1) * 4 * parameters",
            "With a single device nothing travels",
            "什麼都不用搬",
        ),
    ],
}
