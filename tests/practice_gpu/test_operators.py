"""PyTorch's own operator samples on a practice GPU and on the CPU: equal results and gradients, or a clear error."""

import itertools
import sys
import types
import unittest
import unittest.mock
import warnings
from collections import Counter
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_leaves, tree_map

import practice_gpu

# Their numbers are drawn from generators of their own, or they show memory that nobody has written.
DRAWN = {
    "nn.functional.rrelu", "multinomial", "normal", "normal.number_mean", "bernoulli", "nn.functional.dropout",
    "nn.functional.dropout2d", "nn.functional.dropout3d", "nn.functional.alpha_dropout",
    "nn.functional.feature_alpha_dropout.with_train", "nn.functional.multi_head_attention_forward",
    "empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided",
}  # fmt: skip
# What raises, and says why: sparse tensors, and indices that CUDA wants on the CPU, too.
RAISES = {
    "sparse.sampled_addmm": "practice_gpu cannot run", "sparse.mm.reduce": "practice_gpu cannot run",
    "to_sparse": "practice_gpu cannot hold", "tensor_split": "to be on cpu",
}  # fmt: skip


def operators() -> list[Any]:
    # PyTorch's tests want a package for expected texts, which has no part in the samples.
    if "expecttest" not in sys.modules:
        sys.modules["expecttest"] = types.ModuleType("expecttest")
        sys.modules["expecttest"].TestCase = unittest.TestCase
    # It would hold for the tests of other files.
    with unittest.mock.patch("torch.backends.disable_global_flags"):
        from torch.testing._internal.common_methods_invocations import op_db

    return [op for op in op_db if op.supported_dtypes("cpu")]


def name_of(op: Any) -> str:
    return op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")


def moved(value: Any, device: torch.device) -> Any:
    def one(v: Any) -> Any:
        if isinstance(v, torch.Tensor):
            return v.detach().to(device, copy=True).requires_grad_(v.requires_grad)
        return device if isinstance(v, torch.device) or v == "cpu" else v

    return tree_map(one, value)


def leaves(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def outcome(op: Any, sample: Any, device: torch.device, gradients: bool) -> tuple[Any, list[Any]]:
    """Return results and changed arguments, and gradients."""
    torch.manual_seed(0)
    args, kwargs = moved([sample.input, *sample.args], device), moved(dict(sample.kwargs), device)
    with device:  # for those that take no tensors
        results = op(*args, **kwargs)
    made = leaves([results, args, kwargs])
    shown = results if sample.output_process_fn_grad is None else sample.output_process_fn_grad(results)
    outs = [t for t in leaves(shown) if t.requires_grad]
    ins = [t for t in leaves([args, kwargs]) if t.is_leaf and t.requires_grad]
    if not (gradients and outs and ins):
        return made, []
    sums = [t.abs().sum() if t.is_complex() else t.sum() for t in outs]
    return made, list(torch.autograd.grad(sums, ins, allow_unused=True))


def different(ours: Any, cpu: Any) -> bool:
    for mine, other in zip(ours, cpu, strict=True):
        if (mine is None) != (other is None):
            return True
        if other is not None:
            a, b = (t.detach().cpu().resolve_conj().resolve_neg() for t in (mine, other))
            near = 0 if a.dtype.itemsize == 1 else 1e-4
            try:
                torch.testing.assert_close(a, b, rtol=near, atol=near, equal_nan=True)
            except AssertionError:
                return True
    return False


def compared(op: Any, samples: int | None = None) -> Counter[str]:
    """Count how the first samples of an operator come out, or all."""
    dtypes, found = op.supported_dtypes("cpu"), Counter()
    dtype = torch.float32 if torch.float32 in dtypes else min(dtypes, key=str)
    gradients = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    torch.manual_seed(1)
    for sample in itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=gradients), samples):
        try:
            expected = outcome(op, sample, torch.device("cpu"), gradients)
        except Exception:  # the CPU cannot
            continue
        try:
            results = outcome(op, sample, torch.device("practice", 0), gradients)
            torch.get_device_module("practice").synchronize()
        except Exception as error:
            found[f"raises {error}"] += 1
            practice_gpu.start("T4")
            continue
        found["equal" if not any(map(different, results, expected)) else "differs"] += 1
    return found


def table(step: int = 1, samples: int | None = None) -> dict[str, Counter[str]]:
    """Return how every `step`-th operator comes out."""
    practice_gpu.start("T4")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name_of(op): found for op in operators()[::step] if (found := compared(op, samples))}


def hold(found: dict[str, Counter[str]]) -> None:
    assert [name for name, counts in found.items() if counts["differs"] and name not in DRAWN] == []
    raised = {name: words for name, counts in found.items() for words in counts if words.startswith("raises")}
    assert [n for n, words in raised.items() if RAISES.get(n, "practice_gpu:") not in words] == []
    assert len(raised) <= 0.05 * len(found)


def test_the_first_sample_of_every_twelfth_operator_is_as_on_the_cpu() -> None:
    found = table(12, 1)
    assert len(found) > 50
    hold(found)


@pytest.mark.nightly
def test_every_sample_of_every_operator_is_as_on_the_cpu() -> None:
    found = table()
    assert len(found) > 600
    hold(found)


def test_a_wrong_kernel_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    practice_gpu.start("T4")
    from practice_gpu import operators as ours

    monkeypatch.setattr(ours.Operator, "_action", lambda *_: lambda: None)
    (relu,) = [op for op in operators() if op.name == "nn.functional.relu"]
    assert compared(relu)["differs"]
