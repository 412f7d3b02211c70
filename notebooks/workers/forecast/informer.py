"""Informer: forecast many steps of many columns in one pass.

Zhou et al., "Informer: Beyond Efficient Transformer for Long Sequence Time-Series
Forecasting", AAAI 2021, arXiv 2012.07436; the equations are theirs.
In shapes: b windows, h heads, n queries, m keys, d numbers per head.

What differs from the paper and from the authors' program (zhouhaoyi/Informer2020):
- The encoder is one stack of layers; theirs adds one that gets a quarter of the steps.
- Layers normalise what goes into attention and network, not what comes out.
- All queries are tried on the same keys, none twice, evenly spaced outside training;
  theirs draw random keys for each query, always. The program's M divides by all keys.
- Distilling pads with zeros and has no batch norm; the program pads in a circle.
- Values are embedded by a linear layer; theirs is a convolution, which looks ahead.
- The calendar is hour and weekday. Dropout is on what layers add, nowhere else.
- Each window's level is taken away and added to its forecast (`subtract`).
"""

import math
from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class Settings:
    past: int = 96  # steps that the model sees
    start: int = 48  # how many of them, the last ones, the decoder gets as well
    ahead: int = 24  # steps to forecast
    width: int = 32  # numbers for each step inside the model
    heads: int = 4  # parts of these that pay attention separately
    layers: int = 2  # of the encoder
    decoder_layers: int = 1
    factor: int = 3  # c of ProbSparse attention: the larger, the more is computed
    dropout: float = 0.05  # share of the numbers that training sets to zero
    attention: str = "sparse"  # of the steps to each other: "sparse" or "plain"
    distil: bool = True  # each layer of the encoder passes on half of its steps
    # Taken from each window and added to its forecast, as a trend brings levels that
    # training never saw: "last" (NLinear: Zeng et al., arXiv 2205.13504), "mean", "none".
    subtract: str = "last"

    def __post_init__(self) -> None:
        """Name the setting that cannot be."""

        def must(holds: bool, name: str, be: str) -> None:
            if not holds:
                raise ValueError(f"{name} must be {be}, not {getattr(self, name)!r}")

        for name, kind in self.__annotations__.items():
            must(kind is not int or getattr(self, name) >= 1, name, "at least 1")
        fits = self.width % self.heads == self.width % 2 == 0
        must(fits, "width", f"even and a multiple of heads {self.heads}")
        must(self.start <= self.past, "start", f"at most past {self.past}")
        must(0 <= self.dropout < 1, "dropout", "from 0 to below 1")
        must(self.attention in ("sparse", "plain"), "attention", "sparse or plain")
        levels = ("last", "mean", "none")
        must(self.subtract in levels, "subtract", "last, mean or none")


SMALL = asdict(Settings())
# About the size of the paper's experiments.
FULL = SMALL | {"past": 168, "start": 96, "ahead": 48, "width": 512, "heads": 8}
FULL |= {"layers": 3, "decoder_layers": 2, "factor": 5}
SIZES = {"small": SMALL, "full": FULL}


def kept(length: int, factor: int) -> int:
    """Return how many of `length` keys are sampled, or queries active: c ln L."""
    return max(1, min(length, factor * math.ceil(math.log(length))))


def sampled(length: int, factor: int, random: bool, device: torch.device) -> Tensor:
    """Return numbers of keys: random ones in training, evenly spaced ones otherwise."""
    count = kept(length, factor)
    if random:  # drawn on the device: nothing has to be waited for
        return torch.rand(length, device=device).topk(count).indices
    return torch.arange(count, device=device) * length // count


def sparsity(query: Tensor, keys: Tensor) -> Tensor:
    """Return M of each query: its largest score minus its mean one (equation 4).

    A query that looks at all keys alike has M near 0, and gets about the mean of all
    values. One that picks out few keys has a large M.
    Shapes: query (b, h, n, d), sampled keys (b, h, few, d), result (b, h, n).
    """
    scores = query @ keys.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores.amax(-1) - scores.mean(-1)


def lazy(value: Tensor, causal: bool) -> Tensor:
    """Return what a query gets that is not active: the mean of the values.

    Under a mask, the mean of those up to its own (the authors' program: their sum).
    Shapes: value (b, h, m, d), result (b, h, 1 or m, d).
    """
    if not causal:
        return value.mean(-2, keepdim=True)
    count = torch.arange(1, value.shape[-2] + 1, device=value.device)
    return (value.cumsum(-2) / count[:, None]).to(value.dtype)


def sparse_attention(
    query: Tensor, key: Tensor, value: Tensor, factor: int, causal=False, random=False
) -> Tensor:
    """ProbSparse attention: scores only for the active queries (algorithm 1).

    Of n x m scores it computes n x kept(m) to find the active queries, and
    kept(n) x m for them. Under a mask (causal), a query gets values of steps up to
    its own only; *which* queries are active depends on all steps.
    Shapes: query and result (b, h, n, d), key and value (b, h, m, d).
    """
    n, m = query.shape[-2], key.shape[-2]
    with torch.no_grad():  # a choice has no gradient
        few = sampled(m, factor, random, key.device)
        active = sparsity(query, key[:, :, few]).topk(kept(n, factor)).indices
    seen = active[..., None] >= torch.arange(m, device=key.device)
    mask = seen if causal else None  # (b, h, active, m)
    rows = active[..., None].expand(-1, -1, -1, query.shape[-1])
    computed = F.scaled_dot_product_attention(query.gather(2, rows), key, value, mask)
    return lazy(value, causal).expand_as(query).scatter(2, rows, computed)


class Attention(nn.Module):
    """Multi-head attention of the steps of x to those of other."""

    def __init__(self, width: int, heads: int, sparse=False, factor=5, causal=False):
        super().__init__()
        self.heads, self.sparse = heads, sparse
        self.factor, self.causal = factor, causal
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.join = nn.Linear(width, width), nn.Linear(width, width)

    def split(self, x: Tensor) -> Tensor:
        """Return (b, length, width) as (b, heads, length, width / heads)."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x: Tensor, other: Tensor) -> Tensor:
        """Shapes: x and the result (b, n, width), other (b, m, width)."""
        query, key = self.split(self.query(x)), self.split(self.key(other))
        value = self.split(self.value(other))
        if self.sparse:
            how = self.factor, self.causal, self.training
            found = sparse_attention(query, key, value, *how)
        else:
            how = {"is_causal": self.causal}
            found = F.scaled_dot_product_attention(query, key, value, **how)
        return self.join(found.transpose(1, 2).flatten(-2))


class Distil(nn.Module):
    """Keep half of the steps: of each three, the largest of each number (equation 5)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.mix = nn.Conv1d(width, width, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        """Turn (b, length, width) into (b, half, width); half is rounded up."""
        x = F.elu(self.mix(x.transpose(1, 2)))
        return F.max_pool1d(x, 3, stride=2, padding=1).transpose(1, 2)


class Layer(nn.Module):
    """Attention to itself, in a decoder also to the encoder's result, then a network."""

    def __init__(self, s: Settings, decoder: bool = False) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(s.width) for _ in range(2 + decoder))
        sparse = s.attention == "sparse"
        self.own = Attention(s.width, s.heads, sparse, s.factor, causal=decoder)
        self.cross = Attention(s.width, s.heads) if decoder else None
        wide = nn.Linear(s.width, 4 * s.width)
        self.network = nn.Sequential(wide, nn.GELU(), nn.Linear(4 * s.width, s.width))
        self.drop = nn.Dropout(s.dropout)

    def forward(self, x: Tensor, memory: Tensor | None = None) -> Tensor:
        """Return x, (b, n, width), one layer later; memory is (b, m, width)."""
        normal = self.norms[0](x)
        x = x + self.drop(self.own(normal, normal))
        if self.cross is not None:
            x = x + self.drop(self.cross(self.norms[2](x), memory))
        return x + self.drop(self.network(self.norms[1](x)))


class Embedding(nn.Module):
    """Turn values, calendar and position of steps into `width` numbers (appendix B)."""

    def __init__(self, columns: int, marks: int, width: int, longest: int) -> None:
        super().__init__()
        self.values, self.marks = nn.Linear(columns, width), nn.Linear(marks, width)
        rate = 1e4 ** (-torch.arange(0, width, 2) / width)
        angle = torch.arange(longest)[:, None] * rate
        places = torch.stack([angle.sin(), angle.cos()], -1).flatten(1)
        self.register_buffer("places", places, persistent=False)

    def forward(self, values: Tensor, marks: Tensor) -> Tensor:
        """Shapes: values (b, n, columns), marks (b, n, marks), result (b, n, width)."""
        x = self.values(values) + self.marks(marks)
        return x + self.places[: x.shape[1]]


class Informer(nn.Module):
    """Forecast the next steps of all columns in one pass (equation 6).

    Informer(columns=11, **FULL | {"attention": "plain"}); the names are in Settings.
    """

    def __init__(self, columns: int, marks: int = 4, **settings) -> None:
        super().__init__()
        self.settings = s = Settings(**settings)
        self.embed_past = Embedding(columns, marks, s.width, s.past)
        self.embed_ahead = Embedding(columns, marks, s.width, s.start + s.ahead)
        encoder = [Layer(s)]
        for _ in range(s.layers - 1):
            encoder += [Distil(s.width)] * s.distil + [Layer(s)]
        self.encoder = nn.Sequential(*encoder, nn.LayerNorm(s.width))
        decoder = [Layer(s, decoder=True) for _ in range(s.decoder_layers)]
        self.decoder = nn.ModuleList(decoder)
        self.norm, self.result = nn.LayerNorm(s.width), nn.Linear(s.width, columns)

    def forward(self, past: Tensor, past_marks: Tensor, future_marks: Tensor):
        """Forecast (b, ahead, columns) from past (b, past, columns), both scaled.

        The marks are hours and weekdays, (b, past, marks) and (b, ahead, marks).
        """
        s, level = self.settings, past[:, -1:]
        if s.subtract != "last":
            level = past.mean(1, keepdim=True) * (s.subtract == "mean")
        past = past - level
        memory = self.encoder(self.embed_past(past, past_marks))
        # Known steps, then zeros where the forecast will be: one pass fills them all.
        values = F.pad(past[:, -s.start :], (0, 0, 0, s.ahead))
        marks = torch.cat([past_marks[:, -s.start :], future_marks], 1)
        x = self.embed_ahead(values, marks)
        for layer in self.decoder:
            x = layer(x, memory)
        return level + self.result(self.norm(x[:, s.start :]))


Model = Informer  # by which name forecast.py finds it
