"""What each operator costs: class, shape, operations and bytes of the kernels it launches.

Bytes are those of one pass over each operand (a cold cache, no reuse lost), with these exceptions:
training batch norm reads its input twice (statistics, then apply) and its backward reads gradient and
input twice, as does layer norm's (input, then weight gradients); a lookup reads the rows it takes, not
the table. Operations count a multiply-add as two; element-wise work counts one an element.
Attention: two products forward, five backward (one recomputes the scores); a causal one computes the
half of them that it keeps, (T + 1) / 2T.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gpuwise.predict.costs import (
    batch_norm,
    copied,
    elementwise,
    group_norm,
    lookup,
    many,
    nothing,
    opaque,
    reduction,
    row_backward,
    row_norm,
    scatter,
    two_pass_backward,
    write_only,
)
from gpuwise.predict.graph import Call, Node
from gpuwise.predict.products import (
    IS_CAUSAL,
    attention,
    convolution,
    convolution_backward,
    grouped_product,
    matmul,
    node_of,
    product_with_rows,
)

Rule = Callable[[Call], tuple[Node, ...]]


def nodes_of(call: Call) -> tuple[Node, ...] | None:
    """The kernels of one call; none for one that moves nothing, None where no rule is known."""
    base = call.name.removesuffix("_")
    rule = _RULES.get(call.name) or _RULES.get(base)
    if rule is not None:
        return rule(call)
    if call.name.startswith(("aten._foreach_", "aten._fused_", "aten._amp_foreach_")):
        return many(call)
    if call.name.startswith(("c10d.", "_c10d_functional.", "c10d_functional.")):
        return (node_of(call, "collective"),)
    if call.pointwise:
        return (elementwise(call),)
    return None


def _table() -> dict[str, Rule]:
    """Operator -> rule."""
    pairs: list[tuple[str, Rule]] = [
        (
            "mm addmm bmm baddbmm mv addmv dot vdot addbmm _scaled_mm _int_mm _addmm_activation "
            "_weight_int8pack_mm",
            matmul,
        ),
        ("_grouped_mm", grouped_product),
        ("convolution _convolution", convolution),
        ("convolution_backward", convolution_backward),
        (" ".join(name.removeprefix("aten.") for name in IS_CAUSAL), attention),
        (
            "native_batch_norm cudnn_batch_norm _native_batch_norm_legit _native_batch_norm_legit_functional "
            "_batch_norm_with_update _batch_norm_no_update _native_batch_norm_legit_no_training",
            batch_norm,
        ),
        ("native_group_norm", group_norm),
        ("native_batch_norm_backward batch_norm_backward cudnn_batch_norm_backward "
         "native_group_norm_backward", two_pass_backward),
        ("native_layer_norm _fused_rms_norm _softmax _safe_softmax _log_softmax _softmax_backward_data "
         "_log_softmax_backward_data", row_norm),
        ("native_layer_norm_backward _fused_rms_norm_backward", row_backward),
        ("sum mean amax amin max min argmax argmin any all prod var var_mean std std_mean norm "
         "linalg_vector_norm logsumexp nansum nll_loss_forward nll_loss2d_forward mse_loss smooth_l1_loss "
         "huber_loss count_nonzero _adaptive_avg_pool2d adaptive_avg_pool2d", reduction),
        ("sort topk histc bincount nonzero masked_select _unique2 cummax cummin _cdist_forward "
         "cumsum cumprod multinomial max_pool2d_with_indices max_pool3d_with_indices avg_pool2d "
         "avg_pool3d max_pool2d_with_indices_backward avg_pool2d_backward avg_pool3d_backward "
         "max_pool3d_with_indices_backward adaptive_max_pool2d adaptive_max_pool2d_backward",
         partial(opaque, "reduction")),
        ("embedding index index_select gather take upsample_nearest2d _upsample_nearest_exact2d "
         "upsample_bilinear2d upsample_bicubic2d _upsample_bilinear2d_aa _upsample_bicubic2d_aa "
         "upsample_linear1d upsample_nearest1d upsample_nearest3d upsample_trilinear3d grid_sampler_2d "
         "grid_sampler_3d _embedding_bag", lookup),
        ("embedding_dense_backward upsample_nearest2d_backward upsample_bilinear2d_backward "
         "upsample_bicubic2d_backward _upsample_bilinear2d_aa_backward _upsample_bicubic2d_aa_backward "
         "upsample_linear1d_backward upsample_nearest1d_backward upsample_nearest3d_backward "
         "upsample_trilinear3d_backward grid_sampler_3d_backward "
         "grid_sampler_2d_backward scatter scatter_add scatter_reduce index_put _index_put_impl index_add "
         "index_copy masked_scatter", scatter),
        ("copy _to_copy clone cat stack constant_pad_nd repeat roll flip tril triu slice_backward "
         "select_backward slice_scatter select_scatter diagonal_scatter as_strided_scatter "
         "split_with_sizes_copy _reshape_copy pixel_shuffle pixel_unshuffle channel_shuffle unfold_backward "
         "im2col col2im reflection_pad2d replication_pad2d", copied),
        ("fill zero zeros zeros_like ones ones_like full full_like new_zeros new_ones new_full arange "
         "linspace rand randn rand_like randn_like randint randint_like randperm bernoulli normal uniform "
         "random exponential eye scalar_tensor", write_only),
        ("native_dropout native_dropout_backward where masked_fill lerp addcmul addcdiv "
         "nll_loss_backward nll_loss2d_backward _adaptive_avg_pool2d_backward gelu_backward "
         "threshold_backward hardtanh_backward silu_backward sigmoid_backward tanh_backward "
         "mse_loss_backward smooth_l1_loss_backward huber_loss_backward elu_backward leaky_relu_backward "
         "hardswish_backward hardsigmoid_backward mish_backward softplus_backward glu glu_backward "
         "hardswish hardsigmoid mish softplus floor_divide bucketize searchsorted "
         "_prelu_kernel _prelu_kernel_backward complex real imag view_as_real polar celu_backward "
         "_amp_update_scale logit_backward log_sigmoid_forward log_sigmoid_backward",
         lambda c: (elementwise(c),)),
        ("empty empty_like empty_strided new_empty new_empty_strided empty_permuted detach alias lift "
         "lift_fresh _unsafe_view _reshape_alias as_strided set_ resize_ _local_scalar_dense "
         "sym_size", nothing),
    ]  # fmt: skip
    table = {f"aten.{name}": rule for names, rule in pairs for name in names.split()}
    return table | {"gpuwise.float8_product": product_with_rows}


_RULES = _table()
