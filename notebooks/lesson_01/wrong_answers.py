"""Typical wrong answers to the exercises of lesson 01: source, English words, Chinese words of the hint they must get."""

from __future__ import annotations

_ON_GPU = "def on_gpu(tensor):\n    return "
_DEVICE_OF = "def device_of(job, devices):\n    return "
_FREEST = "def freest_gpu(gpus):\n    return "
_INTENSITY = "def intensity(n):\n    return "
_PHYSICAL = "def physical(visible, i):\n    return "
_CROSSOVER = (
    "def crossover(sizes, cpu, gpu):\n"
    "    ahead = [g < c for c, g in zip(cpu, gpu)]\n"
    "    last = max([i for i, a in enumerate(ahead) if not a], default=-1)\n"
    "    return "
)

WRONG: dict[str, list[tuple[str, str, str]]] = {
    "on_gpu": [
        ("def on_gpu(tensor):\n    tensor.device.type == 'cuda'", "`None`", "`None`"),
        (_ON_GPU + "tensor.device", "yours is a `device`", "`device`"),
        (_ON_GPU + "tensor.device.type", "yours is a `str`", "`str`"),
        (_ON_GPU + "True", "on the CPU", "在 CPU 上"),
        (_ON_GPU + "tensor.device is not None", "on the CPU", "在 CPU 上"),
        (_ON_GPU + "tensor.device == torch.device('cuda')", "`cuda` and `cuda:0`", "`cuda` 和 `cuda:0`"),
        (_ON_GPU + "str(tensor.device) == 'cuda'", "`cuda` and `cuda:0`", "`cuda` 和 `cuda:0`"),
        (_ON_GPU + "False", "You say no", "傳回 `False`"),
        (_ON_GPU + "tensor.device.type == 'cpu'", "other way round", "反"),
        (_ON_GPU + "tensor.device == torch.device('cuda:0')", "`cuda:1`", "`cuda:1`"),
        (_ON_GPU + "str(tensor.device) == 'cuda:0'", "`cuda:1`", "`cuda:1`"),
        (_ON_GPU + "tensor.device.index == 0", "`cuda:1`", "`cuda:1`"),
        (_ON_GPU + "tensor.device.type != 'cpu'", "`meta`", "`meta`"),
        (_ON_GPU + "not tensor.is_cpu", "`meta`", "`meta`"),
    ],
    "device_of": [
        ("def device_of(job, devices):\n    devices[job % len(devices)]", "`None`", "`None`"),
        (_DEVICE_OF + "job % len(devices)", "Return the device itself", "傳回裝置本身"),
        (_DEVICE_OF + "str(devices[job % len(devices)])", "Return the device itself", "傳回裝置本身"),
        (_DEVICE_OF + "devices[job]", "there is no `devices[3]`", "沒有 `devices[3]`"),
        (_DEVICE_OF + "devices[0]", "Every job gets", "每個工作"),
        (_DEVICE_OF + "devices[min(job, len(devices) - 1)]", "job 3 gets", "3 號工作拿到"),
        (_DEVICE_OF + "devices[job // len(devices)]", "Job 0 gets", "0 號工作拿到"),
        (_DEVICE_OF + "devices[(job + 1) % len(devices)]", "Job 0 gets", "0 號工作拿到"),
        (_DEVICE_OF + "torch.device(f'cuda:{job % len(devices)}')", "out of the list", "從串列裡取出"),
    ],
    "freest_gpu": [
        ("def freest_gpu(gpus):\n    print(2)", "`None`", "`None`"),
        (_FREEST + "max(gpus, key=lambda gpu: gpu[1])", "`tuple`", "`tuple`"),
        (_FREEST + "max(gpus, key=lambda gpu: gpu[1])[0]", "`str`", "`str`"),
        (_FREEST + "max(free for _, free, _ in gpus)", "There is no GPU 15484", "15484 號"),
        (_FREEST + "max(range(len(gpus)), key=lambda i: gpus[i][1] / gpus[i][2])", "by share", "比例"),
        (_FREEST + "0", "small card", "記憶體小"),
        (_FREEST + "max(range(len(gpus)), key=lambda i: gpus[i][2])", "4576", "4576"),
        (_FREEST + "min(range(len(gpus)), key=lambda i: gpus[i][1])", "4576", "4576"),
        (_FREEST + "max(range(len(gpus)), key=lambda i: gpus[i][2] - gpus[i][1])", "4576", "4576"),
        (_FREEST + "2", "Right for the first", "第一個串列"),
    ],
    "intensity": [
        ("def intensity(n):\n    n / 6", "`None`", "`None`"),
        (_INTENSITY + "f'{n / 6}'", "`str`", "`str`"),
        (_INTENSITY + "12 * n**2 / (2 * n**3)", "turn the division round", "反過來"),
        (_INTENSITY + "2 * n**3 / (3 * n**2)", "4 bytes", "4 個位元組"),
        (_INTENSITY + "n**3 / (12 * n**2)", "2 n³", "2 n³"),
        (_INTENSITY + "2 * n**3 / (4 * n**2)", "one matrix", "一個矩陣"),
        (_INTENSITY + "2 * n**3 / (8 * n**2)", "two matrices", "兩個矩陣"),
        (_INTENSITY + "2 * n**3", "divide it by the bytes", "除以位元組數"),
        (_INTENSITY + "12 * n**2", "number of bytes", "是位元組數"),
        (_INTENSITY + "2 * n**3 // (12 * n**2)", "For n = 64", "n = 64"),
        (_INTENSITY + "5.0", "For n = 64", "n = 64"),
    ],
    "crossover": [
        ("def crossover(sizes, cpu, gpu):\n    print(sizes[3])", "returned `None`", "傳回了 `None`"),
        (_CROSSOVER + "last + 1", "position in the list", "位置 3"),
        (_CROSSOVER + "sizes[ahead.index(True)]", "behind again", "又落後了"),
        (_CROSSOVER + "sizes[-1]", "smallest such size", "最小的那一個"),
        (_CROSSOVER + "sizes[last]", "The answer is the next one", "下一個"),
        (_CROSSOVER + "gpu[last + 1]", "yours is `320.0`", "`320.0`"),
        (_CROSSOVER + "sizes[last + 1]", "raises `IndexError`", "引發 `IndexError`"),
        (
            _CROSSOVER + "sizes[last + 1] if last + 1 < len(sizes) else -1",
            "is `None`, but yours is `-1`",
            "你傳回的卻是 `-1`",
        ),
        (_CROSSOVER + "sizes[last + 1] if 0 <= last < len(sizes) - 1 else None", "at every size", "每個大小"),
    ],
    "physical": [
        (_PHYSICAL + "str(visible[i])", "yours is `'3'`", "`'3'`"),
        (_PHYSICAL + "i", "You return `i` itself", "傳回了 `i`"),
        (_PHYSICAL + "f'cuda:{visible[i]}'", "Read the list from the left", "從左邊讀起"),
        (_PHYSICAL + "visible[-1 - i]", "Read the list from the left", "從左邊讀起"),
        (_PHYSICAL + "sorted(visible)[i]", "Read the list from the left", "從左邊讀起"),
        (_PHYSICAL + "visible.index(i)", "the other way", "方向相反"),
        (_PHYSICAL + "visible[i]", "raises an error", "引發例外"),
        (_PHYSICAL + "visible[i] if i < len(visible) else -1", "should be `None`", "應該是 `None`"),
        (_PHYSICAL + "visible[i % len(visible)]", "should be `None`", "應該是 `None`"),
    ],
}
