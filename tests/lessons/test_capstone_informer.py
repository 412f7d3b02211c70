"""The Informer of lesson 08: sparse attention against plain attention, what a mask forbids, gradients, repetition, cost."""

import math
import shutil
import warnings
from itertools import product
from typing import Any

import pytest
import torch
from matplotlib.colors import to_rgb
from tabled import tabled
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import informer
import series
from informer import FULL, SMALL, Distil, Informer, kept, sparse_attention, sparsity
from lesson_08 import attention_picture

pytestmark = pytest.mark.usefixtures("no_warnings", "one_thread")

TINY = {"past": 24, "start": 12, "ahead": 6, "width": 8, "heads": 2, "factor": 1}
ALL = 1000  # a factor with which every key is sampled and every query active


def tensors(queries: int = 20, keys: int = 20, **options: Any) -> list[Tensor]:
    """Return a query, a key and a value of 2 windows, 2 heads and 4 numbers per head, in float64."""
    make = torch.Generator().manual_seed(0)
    return [
        torch.randn(2, 2, n, 4, dtype=torch.float64, generator=make, **options) for n in (queries, keys, keys)
    ]


def inputs(columns: int = 3, batch: int = 2, dtype: Any = torch.float32, **settings: Any) -> list[Tensor]:
    """Return past, past marks and future marks for a model of these settings."""
    past, ahead = (settings.get(name, SMALL[name]) for name in ("past", "ahead"))
    shapes = (past, columns), (past, 4), (ahead, 4)
    make = torch.Generator().manual_seed(0)
    return [torch.randn(batch, *shape, generator=make, dtype=dtype) for shape in shapes]


def model(**changes: Any) -> Informer:
    torch.manual_seed(0)
    return Informer(3, **TINY | changes)


# --- attention ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("random", [False, True])
@pytest.mark.parametrize("sizes", [(20, 20, False), (20, 20, True), (7, 20, False), (1, 1, True)])
def test_sparse_attention_of_all_queries_is_plain_attention(sizes: Any, random: bool) -> None:
    queries, keys, causal = sizes
    given = tensors(queries, keys, requires_grad=True)
    sparse = sparse_attention(*given, ALL, causal, random)
    plain = F.scaled_dot_product_attention(*given, is_causal=causal)
    torch.testing.assert_close(sparse, plain, rtol=0, atol=1e-12)
    weight = torch.randn_like(plain)
    found, expected = (torch.autograd.grad((x * weight).sum(), given) for x in (sparse, plain))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("causal", [False, True])
def test_an_active_query_gets_plain_attention_and_another_one_a_mean(causal: bool) -> None:
    query, key, value = tensors()
    got = sparse_attention(query, key, value, 2, causal)
    plain = F.scaled_dot_product_attention(query, key, value, is_causal=causal)
    measure = sparsity(query, key[:, :, torch.arange(6) * 20 // 6])
    chosen = measure.argsort(-1, descending=True)[..., :6]  # 2 · ⌈ln 20⌉
    active = torch.zeros_like(measure, dtype=torch.bool).scatter(-1, chosen, True)
    torch.testing.assert_close(got[active], plain[active], rtol=0, atol=1e-12)
    for place in range(20):
        mean = value[:, :, : place + 1 if causal else 20].mean(2)
        lazy = ~active[..., place]
        torch.testing.assert_close(got[:, :, place][lazy], mean[lazy], rtol=0, atol=1e-12)


def test_the_measure_is_zero_for_a_query_that_looks_at_all_keys_alike() -> None:
    query, key, _ = tensors()
    query[:, :, 0] = 0
    query[:, :, 1] = 10 * key[:, :, 3]
    found = sparsity(query, key)
    assert (found >= 0).all() and (found[:, :, 0] == 0).all() and (found[:, :, 1] > 1).all()
    scores = query @ key.mT / 2
    torch.testing.assert_close(found, scores.max(-1).values - scores.mean(-1))


@pytest.mark.parametrize("factor", [1, ALL])
def test_under_a_mask_no_value_comes_from_a_later_step(factor: int) -> None:
    given = tensors(requires_grad=True)
    result = sparse_attention(*given, factor, causal=True)
    for place in range(20):
        for gradient in torch.autograd.grad(result[:, :, place].sum(), given, retain_graph=True):
            assert not gradient[:, :, place + 1 :].any()
    query, key, value = (x.detach() for x in given)
    value[:, :, 10:] += 1  # which queries are active does not depend on it
    changed = sparse_attention(query, key, value, factor, causal=True)
    assert torch.equal(changed[:, :, :10], result[:, :, :10]) and (changed != result)[:, :, 10:].any(-1).all()


def test_random_keys_follow_the_seed_and_are_only_for_training() -> None:
    given = tensors(96, 96)
    fixed = [sparse_attention(*given, 1) for _ in range(2)]
    assert torch.equal(*fixed)
    drawn = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        drawn.append(sparse_attention(*given, 1, random=True))
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[1], drawn[2])


def test_sampled_keys_are_different_ones() -> None:
    for length in (1, 2, 7, 96, 720):
        for random in (False, True):
            found = informer.sampled(length, 3, random, torch.device("cpu"))
            assert len(set(found.tolist())) == len(found) == kept(length, 3)
            assert 0 <= found.min() and found.max() < length


@pytest.mark.parametrize("length", [96, 192, 3072])
def test_scores_grow_as_length_times_its_logarithm(length: int) -> None:
    """By the multiplications that PyTorch counts in its plain way of attention: two for each dimension of a score."""
    query = key = value = torch.ones(1, 1, length, 4, dtype=torch.float64)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        sparse_attention(query, key, value, 3)
    # The scores of the active queries are multiplied by the values, too.
    scores = counter.get_total_flops() // 8 - kept(length, 3) * length
    assert scores == 2 * length * 3 * math.ceil(math.log(length))


# --- the model ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [1, 2, 3, 24, 25, 97])
def test_distilling_keeps_half_and_follows_equation_5(length: int) -> None:
    distil, x = Distil(4), torch.randn(1, length, 4)
    mixed = F.elu(distil.mix(x.mT)).mT[0]
    expected = [mixed[max(0, 2 * k - 1) : 2 * k + 2].amax(0) for k in range(math.ceil(length / 2))]
    torch.testing.assert_close(distil(x)[0], torch.stack(expected))


def test_distilling_shortens_what_the_decoder_looks_at() -> None:
    lengths = []
    for distil in (True, False):
        net = model(layers=3, distil=distil)
        net.encoder.register_forward_hook(lambda module, given, out: lengths.append(out.shape[1]))
        net(*inputs(**TINY))
    assert lengths == [6, 24]


SHAPES = [
    {},
    {"past": 25, "start": 7, "ahead": 9},
    {"past": 5, "start": 5, "ahead": 1},
    {"past": 1, "start": 1, "ahead": 30},
    {"layers": 4, "decoder_layers": 2, "distil": False},
    {"width": 12, "heads": 3, "subtract": "mean"},
    {"subtract": "none", "dropout": 0},
]


def test_shapes_and_every_weight_gets_a_gradient() -> None:
    """DistributedDataParallel waits for a gradient of each."""
    for changes, attention in product(SHAPES, ("sparse", "plain")):
        settings = TINY | changes | {"attention": attention}
        net = Informer(3, **settings)
        forecast = net(*inputs(**settings))
        assert forecast.shape == (2, settings["ahead"], 3), changes
        forecast.square().mean().backward()
        for name, weight in net.named_parameters():
            # What is added to all keys alike changes no softmax: their bias has a gradient of 0.
            assert weight.grad is not None, (changes, name)
            short = settings["past"] <= 5  # the softmax of one score has no gradient
            assert short or weight.grad.any() or name.endswith("key.bias"), (changes, name)


def test_sizes() -> None:
    assert Informer(11)(*inputs(11)).shape == (2, 24, 11)
    assert Informer(11).settings == informer.Settings(**SMALL)
    with FakeTensorMode():
        net = Informer(11, **FULL)
        assert net(*(torch.empty(2, n, k) for n, k in ((168, 11), (168, 4), (48, 4)))).shape == (2, 48, 11)
    assert 10e6 < sum(x.numel() for x in net.parameters()) < 30e6


@tabled
def test_a_setting_that_cannot_be_is_named(changes: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        Informer(3, **TINY | changes)


@pytest.mark.parametrize("subtract", ["last", "mean", "none"])
def test_the_level_of_a_window(subtract: str) -> None:
    """Added to a whole window, a number is added to the forecast, unless nothing is subtracted."""
    net = model(subtract=subtract).double().eval()
    past, *marks = inputs(**TINY, dtype=torch.float64)
    moved = net(past + 5, *marks) - net(past, *marks)
    assert torch.allclose(moved, torch.full_like(moved, 5.0), rtol=0, atol=1e-9) == (subtract != "none")


@pytest.mark.parametrize("attention", ["sparse", "plain"])
def test_in_the_decoder_a_step_gets_nothing_from_later_ones(attention: str) -> None:
    """Also not through the embedding: the future marks of step t reach the forecasts from t on, and no others."""
    net = model(factor=ALL, decoder_layers=2, attention=attention).double().eval()
    past, past_marks, future_marks = inputs(**TINY, dtype=torch.float64)
    future_marks.requires_grad_()
    forecast = net(past, past_marks, future_marks)
    for step in range(6):
        (gradient,) = torch.autograd.grad(forecast[:, step].sum(), future_marks, retain_graph=True)
        assert not gradient[:, step + 1 :].any() and gradient[:, : step + 1].any(-1).all()


def test_the_forecast_does_not_see_the_future_and_sees_all_of_the_past() -> None:
    net = model(factor=ALL, distil=False).double().eval()
    past, *marks = inputs(**TINY, dtype=torch.float64)
    past.requires_grad_()
    (gradient,) = torch.autograd.grad(net(past, *marks).square().sum(), past)
    assert gradient.any(-1).all()


@pytest.mark.parametrize("attention", ["sparse", "plain"])
def test_evaluation_repeats_and_keeps_windows_apart(attention: str) -> None:
    net, given = model(attention=attention).double().eval(), inputs(batch=5, dtype=torch.float64, **TINY)
    whole = net(*given)
    assert torch.equal(whole, net(*given))
    alone = torch.cat([net(*(x[k : k + 1] for x in given)) for k in range(5)])
    torch.testing.assert_close(whole, alone, rtol=0, atol=1e-12)


@pytest.mark.parametrize("training", [True, False])
def test_on_a_device_nothing_is_moved_or_waited_for(training: bool) -> None:
    """Without values, what needs one on the host raises an error; on another device than the CPU, what forgets it does."""
    shapes = (2, 24, 3), (2, 24, 4), (2, 6, 4)
    with FakeTensorMode():
        assert model().train(training)(*(torch.empty(shape) for shape in shapes)).shape == (2, 6, 3)
    net = model().train(training).to("meta")
    assert net(*(torch.empty(shape, device="meta") for shape in shapes)).device.type == "meta"


@pytest.mark.cuda
def test_on_a_gpu_it_forecasts_the_same() -> None:
    net, given = model().double().eval(), inputs(**TINY, dtype=torch.float64)
    expected = net(*given)
    found = net.cuda()(*(x.cuda() for x in given))
    torch.testing.assert_close(found.cpu(), expected, rtol=0, atol=1e-9)


@pytest.mark.skipif(not shutil.which("g++"), reason="torch.compile needs a C++ compiler")
@pytest.mark.nightly
@pytest.mark.parametrize("attention", ["sparse", "plain"])
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_it_forecasts_the_same(attention: str, backend: str) -> None:
    net, given = model(attention=attention, dropout=0).eval(), inputs(**TINY)
    torch._dynamo.reset()
    compiled = torch.compile(net, fullgraph=True, backend=backend)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own, while it loads the compiler
        found = compiled(*given)
    torch.testing.assert_close(found, net(*given), rtol=1e-4, atol=1e-5)


# --- the picture of it ----------------------------------------------------------------------------------


def test_the_picture_shows_what_is_computed() -> None:
    net = model().eval()
    values = torch.randn(40, 3)
    windows = series.Windows(values, torch.randn(40, 4), range(40), TINY["past"], TINY["ahead"])
    seen = attention_picture.look(net, windows)
    assert len(seen.active) == len(seen.sampled) == kept(24, 1) == 4 and seen.computed == 24 * 8
    assert seen.measure[seen.active.long()].min() >= seen.measure.sort(descending=True).values[3]
    torch.testing.assert_close(seen.weights.sum(-1), torch.ones(24))
    colours = attention_picture.cells(seen)
    skipped = torch.tensor(to_rgb(attention_picture.SKIPPED))
    grey = (colours == skipped).all(-1)
    assert grey.sum() == 20 * 20  # neither an active query nor a sampled key
    assert not grey[seen.active.long()].any() and not grey[:, seen.sampled.long()].any()
