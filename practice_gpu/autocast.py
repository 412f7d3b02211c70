"""Autocast on practice GPUs: the lists of PyTorch's ``ATen/autocast_mode.h``."""

from collections.abc import Callable
from typing import Any

import torch

from practice_gpu.plans import swapped, tensors_in
from practice_gpu.state import NAME

_LOW = """_convolution conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d.input conv_transpose3d.input convolution
prelu addmm addmv addr matmul einsum mm mv linalg_vecdot linear addbmm baddbmm bmm chain_matmul linalg_multi_dot lstm_cell
gru_cell rnn_tanh_cell rnn_relu_cell scaled_dot_product_attention""".split()
_FLOAT = """acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow.Tensor_Scalar pow.Tensor_Tensor
pow.Scalar softplus layer_norm native_layer_norm rms_norm group_norm frobenius_norm.dim nuclear_norm nuclear_norm.dim
cosine_similarity poisson_nll_loss cosine_embedding_loss nll_loss nll_loss2d hinge_embedding_loss kl_div l1_loss
smooth_l1_loss huber_loss mse_loss margin_ranking_loss multilabel_margin_loss soft_margin_loss triplet_margin_loss
multi_margin_loss binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp upsample_nearest1d upsample_nearest2d
upsample_nearest3d upsample_linear1d upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d prod prod.dim_int
softmax.int log_softmax.int cumprod cumsum linalg_vector_norm linalg_matrix_norm linalg_matrix_norm.str_ord sum sum.dim_IntList""".split()
_WIDEST = "addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add cat stack".split()
_CAST = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)


def register(library: Any) -> Any:
    """Register what autocast does to the arguments of operators; return what must be kept."""
    for names, rule in ((_LOW, "low"), (_FLOAT, "float"), (_WIDEST, "widest")):
        for name in names:
            base, _, overload = name.partition(".")
            op = getattr(getattr(torch.ops.aten, base, None), overload or "default", None)
            if op is not None:
                library.impl(name, "AutocastPrivateUse1", _casting(op, rule))
    others = torch._C._dispatch_library("IMPL", "_", "AutocastPrivateUse1")
    others.fallback_fallthrough()
    return others


def _casting(op: Any, rule: str) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        wanted = torch.get_autocast_dtype(NAME)
        if rule == "float" or (
            rule == "widest" and any(t.dtype == torch.float32 for t in tensors_in((args, [*kwargs.values()])))
        ):
            wanted = torch.float32

        def cast(tensor: torch.Tensor) -> torch.Tensor:
            lowered = tensor.dtype in (torch.float16, torch.bfloat16, torch.float32) and not tensor.is_cpu
            return tensor.to(wanted) if lowered else tensor

        with torch._C._ExcludeDispatchKeyGuard(_CAST):
            named = {name: swapped(value, cast) for name, value in kwargs.items()}
            return op(*[swapped(value, cast) for value in args], **named)

    return run
