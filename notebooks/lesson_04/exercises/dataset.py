"""Exercise ``class Grey(Dataset)``: a data set of one's own, checked through a DataLoader."""

from typing import Any

import torch
from torch.utils.data import DataLoader

from bilingual import Bilingual, Block
from course_utils.exercise_hints import is_stub
from course_utils.exercises import Mistakes, NotYet
from course_utils.tables import table

COUNT = 10


def _data() -> tuple[torch.Tensor, torch.Tensor]:
    """Return grey values 0 ... 16 as bytes, shape (10, 8, 8), and labels."""
    grey = (torch.arange(COUNT * 64, dtype=torch.int64) % 17).to(torch.uint8)
    return grey.reshape(COUNT, 8, 8), torch.arange(COUNT) % 3


def judge(answer: Any) -> Mistakes:
    """Look for the three methods, then for length and items; an item is the image as 64 floats in 0 … 1, and its label."""
    yield not isinstance(answer, type), "no_class"
    methods = ("__init__", "__len__", "__getitem__")
    missing = [name for name in methods if is_stub(answer.__dict__.get(name))]
    if len(missing) == len(methods):
        raise NotYet
    for name in missing:
        yield True, "method_missing", {"name": name}
    images, labels = _data()
    data = answer(images, labels)
    yield len(data) != COUNT, "length", {"count": COUNT, "got": len(data)}
    for place in (0, 3, COUNT - 1):
        item = data[place]
        yield not isinstance(item, tuple) or len(item) != 2, "no_pair"
        got, label = item
        yield not isinstance(got, torch.Tensor) or got.dtype != torch.float32, "not_float32"
        yield got.shape != (64,), "shape", {"shape": tuple(got.shape)}
        yield not torch.allclose(got, images[place].flatten().float() / 16), "values"
        yield int(label) != int(labels[place]), "label"
    list(DataLoader(data, batch_size=4))  # every item, batched as a loader does it


def show(answer: Any) -> Block:
    """Return a table of the batches that a loader makes of the answer."""
    head = Bilingual("batch", "批次"), Bilingual("images", "影像"), Bilingual("labels", "標籤")
    batches = enumerate(DataLoader(answer(*_data()), batch_size=4))
    return table(
        head,
        [
            (str(n), f"{tuple(x.shape)}, {str(x.dtype).removeprefix('torch.')}", str(y.tolist()))
            for n, (x, y) in batches
        ],
    )
