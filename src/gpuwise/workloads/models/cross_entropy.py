"""Head and cross entropy together, in chunks of tokens.

Logits of 16,384 tokens over a vocabulary of 128,256 take 4 GB in bf16, and their gradient as much again. Here
a chunk's logits live only until their loss and gradients are known, both of which are computed forward: the
gradient with respect to logits is softmax(logits) - onehot(target), so no product is computed twice, and
backward only scales. The idea is that of Cut Your Losses (arXiv:2411.09009) and of Liger (arXiv:2410.10989).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from gpuwise.workloads.parallel import over_ranks

# Of fp32 logits, at most.
CHUNK_BYTES = 2**30


class _ChunkedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor, chunk: int, trains: bool, ranks: int
    ) -> Tensor:  # (N, C), (V, C), (N,) -> ()
        matrix = weight.to(hidden.dtype)
        total = torch.zeros((), device=hidden.device)
        # In fp32: a sum over many chunks would lose its small terms in 16 bits.
        weight_gradient = torch.zeros_like(weight, dtype=torch.float32) if trains else None
        gradients = []
        for x, target in zip(torch.split(hidden, chunk), torch.split(targets, chunk), strict=True):
            logits = functional.linear(x, matrix).float()  # (n, V)
            log_sum, place = logits.logsumexp(dim=-1, keepdim=True), target[:, None]
            one = torch.ones_like(log_sum)
            if ranks > 1:  # each of which has the logits of its own words
                top = over_ranks(log_sum, "max")
                log_sum = top + over_ranks((log_sum - top).exp()).log()
                place = place - torch.distributed.get_rank() * len(matrix)
                one = ((place >= 0) & (place < len(matrix))).float()
                place = place.clamp(0, len(matrix) - 1)
            right = logits.gather(1, place) * one
            total = total + (log_sum - (right if ranks == 1 else over_ranks(right))).sum()
            # In place: the logits of a chunk are the largest tensor of the step.
            slope = logits.sub_(log_sum).exp_()
            slope = slope.scatter_add_(1, place, -one).to(x.dtype)
            gradients.append(slope @ matrix)
            if weight_gradient is not None:
                weight_gradient += slope.t() @ x
        ctx.weight_dtype = weight.dtype
        gradient = torch.cat(gradients)
        ctx.save_for_backward(gradient if ranks == 1 else over_ranks(gradient), weight_gradient)
        return total / targets.numel()

    @staticmethod
    def backward(ctx: Any, *above: Any) -> tuple[Tensor | None, ...]:
        """Sums became a mean only here: in fp16 the gradients of a mean would vanish."""
        hidden_gradient, weight_gradient = ctx.saved_tensors
        scale = above[0] / hidden_gradient.shape[0]
        scaled = None if weight_gradient is None else (weight_gradient * scale).to(ctx.weight_dtype)
        return (hidden_gradient * scale).to(hidden_gradient.dtype), scaled, None, None, None, None


def chunk_for(vocabulary: int) -> int:
    """Tokens of a chunk, a power of two: 2,048 for a vocabulary of 128,256."""
    most = max(1, CHUNK_BYTES // (4 * vocabulary))
    return 1 << (most.bit_length() - 1)


def chunked_cross_entropy(
    hidden: Tensor, weight: Tensor, targets: Tensor, chunk: int | None = None, ranks: int = 1
) -> Tensor:
    """Mean cross entropy of linear(hidden, weight) against targets: (B, T, C), (V, C), (B, T) -> (). Of
    several ranks each has its part of the weights."""
    chunk = chunk or chunk_for(weight.shape[0])
    rows, trains = hidden.flatten(0, 1), weight.requires_grad
    return _ChunkedCrossEntropy.apply(rows, weight, targets.flatten(), chunk, trains, ranks)  # type: ignore[no-untyped-call]
