"""Exercise: a Dataset of one's own, checked through a DataLoader."""

from __future__ import annotations

import html
from typing import Any

import torch
from torch.utils.data import DataLoader

from bilingual import Bilingual, Block
from course_utils.exercise_hints import is_stub
from course_utils.exercises import NotYet, Wrong
from course_utils.tables import html_table

COUNT = 10


def _data() -> tuple[torch.Tensor, torch.Tensor]:
    """Return grey values 0 ... 16 as bytes, shape (10, 8, 8), and labels."""
    grey = (torch.arange(COUNT * 64, dtype=torch.int64) % 17).to(torch.uint8)
    return grey.reshape(COUNT, 8, 8), torch.arange(COUNT) % 3


def _function(kind: Any, name: str) -> Any:
    """Return a method that the class itself defines, or None; a stub of `...` counts as none."""
    found = kind.__dict__.get(name) if isinstance(kind, type) else None
    return None if is_stub(found) else found


def examine_dataset(answer: Any) -> None:
    """Examine ``class Grey(Dataset)`` with ``__init__(images, labels)``, ``__len__`` and ``__getitem__``."""
    if not isinstance(answer, type):
        raise Wrong(
            en="Pass the class itself to `check`, without brackets behind its name.",
            zh="請把類別本身交給 `check`，名稱後面不要加括號。",
        )
    missing = [name for name in ("__init__", "__len__", "__getitem__") if _function(answer, name) is None]
    if len(missing) == 3:
        raise NotYet
    if missing:
        raise Wrong(
            en=f"`{missing[0]}` is still missing. A loader needs to know how many items there are, and how to get one.",
            zh=f"還缺 `{missing[0]}`。載入器得知道總共有幾筆資料，以及怎麼取得其中一筆。",
        )
    images, labels = _data()
    data = answer(images, labels)
    if len(data) != COUNT:
        raise Wrong(
            en=f"There are {COUNT} images, but `len` says {len(data)}.",
            zh=f"影像有 {COUNT} 張，`len` 得到的卻是 {len(data)}。",
        )
    for place in (0, 3, COUNT - 1):
        _examine_item(data[place], images[place], labels[place])
    list(DataLoader(data, batch_size=4))  # every item, batched as a loader does it


def _examine_item(item: Any, image: torch.Tensor, label: torch.Tensor) -> None:
    """Raise a hint if `item` is not the image as 64 floats in 0 … 1 and its label."""
    if not isinstance(item, tuple) or len(item) != 2:
        raise Wrong(
            en="`__getitem__` should return a pair, the image and its label.",
            zh="`__getitem__` 要傳回一對資料，也就是影像和影像的標籤。",
        )
    got, named = item
    if not isinstance(got, torch.Tensor) or got.dtype != torch.float32:
        raise Wrong(
            en="The image should be a float32 tensor; the bytes in the file are uint8.",
            zh="影像應該是 float32 張量，檔案裡存的則是 uint8。",
        )
    if got.shape != (64,):
        raise Wrong(
            en=f"One image should have the shape (64,), but yours has {tuple(got.shape)}.",
            zh=f"一張影像的形狀應該是 (64,)，你的是 {tuple(got.shape)}。",
        )
    if not torch.allclose(got, image.flatten().float() / 16):
        raise Wrong(
            en="The grey values 0 to 16 should become 0 to 1, of the image at exactly this place.",
            zh="灰階值要從 0 到 16 換算成 0 到 1，而且必須是第 `i` 張影像的灰階值。",
        )
    if int(named) != int(label):
        raise Wrong(
            en="The label does not belong to this image.", zh="標籤和影像對不起來，這不是這張影像的標籤。"
        )


def show_dataset(answer: Any) -> Block:
    """Return a table of the batches that a loader makes of the answer."""
    head = Bilingual("batch", "批次"), Bilingual("images", "影像"), Bilingual("labels", "標籤")
    rows, lines = [], []
    for number, (images, labels) in enumerate(DataLoader(answer(*_data()), batch_size=4)):
        cells = f"{tuple(images.shape)}, {str(images.dtype).removeprefix('torch.')}", str(labels.tolist())
        rows.append((str(number), *map(html.escape, cells)))
        lines.append(f"{number}: {cells[0]}; {cells[1]}")
    return Block(
        html_table(rows, [title.html() for title in head]),
        "\n".join([" · ".join(map(str, head)), *lines]),
    )
