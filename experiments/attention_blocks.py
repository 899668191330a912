"""gpuwise's attention against torch's on one GPU: how far off, and which blocks are the fastest.

    python experiments/attention_blocks.py OUT.json [--batch 128]

In BERT-large's shape (16 heads of 64, 384 tokens, bf16). First the distance from the formula in fp64 with
the same dropout, as a share of the length, of the answer and of the gradients of query, key and value; then
milliseconds of torch's attention with and without dropout; then of every block size of each kernel, all
compiled beforehand in several processes. The backward pass is always timed whole.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from triton.testing import do_bench

from gpuwise.workloads.kernels import attention as own
from gpuwise.workloads.kernels.residual import LEVELS, dropped

TOKENS, HEADS, DEPTH, SHARE = 384, 16, 64, 0.1
NAMES = ("M", "N", "num_warps", "num_stages")
BLOCKS = {
    "FORWARD": tuple(product((64, 128), (32, 64, 128), (4, 8), (2, 3))),
    "QUERIES": tuple(product((64, 128), (32, 64, 128), (4, 8), (2, 3))),
    "KEYS": tuple(product((32, 64, 128), (64, 128), (4, 8), (2, 3))),
}
COMPILERS = 12

Block = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """Operands on the GPU."""

    qkv: Tensor
    keys: Tensor
    pull: Tensor

    @classmethod
    def of(cls, batch: int) -> Case:
        torch.manual_seed(0)
        wide = HEADS * DEPTH
        qkv = torch.randn(batch, TOKENS, 3 * wide, device="cuda", dtype=torch.bfloat16, requires_grad=True)
        pull = torch.randn(batch, TOKENS, wide, device="cuda", dtype=torch.bfloat16)
        return cls(qkv, own.keys_of(qkv, HEADS), pull)

    def both(self, function: Callable[[], Tensor]) -> tuple[Callable[[], Any], Callable[[], Any]]:
        """The forward and the backward pass, to be timed."""
        y = function()
        return function, lambda: torch.autograd.grad(y, self.qkv, self.pull, retain_graph=True)

    def own(self) -> Tensor:
        return own.attention(self.qkv, self.keys, HEADS, SHARE)

    def torchs(self, share: float) -> Tensor:
        query, key, value = split(self.qkv)
        return joined(functional.scaled_dot_product_attention(query, key, value, dropout_p=share))


def split(qkv: Tensor) -> tuple[Tensor, ...]:
    """(B, T, 3 H D) to three of (B, H, T, D)."""
    return qkv.view(len(qkv), TOKENS, 3, HEADS, DEPTH).permute(2, 0, 3, 1, 4).unbind(0)


def joined(y: Tensor) -> Tensor:
    """(B, H, T, D) to (B, T, H D)."""
    return y.transpose(1, 2).reshape(len(y), TOKENS, HEADS * DEPTH)


def off(case: Case) -> dict[str, float]:
    """How far the kernels are from the formula in fp64."""
    exact = case.qkv.detach().double().requires_grad_()
    query, key, value = split(exact)
    odd = case.keys.long() * 2 + 1
    threshold, boost = dropped(SHARE)
    kept = (odd[1:, :, None] * odd[0]) % 2**32 >= threshold * (2**32 // LEVELS)
    weights = (query @ key.transpose(-1, -2) / DEPTH**0.5).softmax(-1)
    wanted = joined(weights * kept.view(weights.shape) * boost @ value)
    found = case.own()
    (there,) = torch.autograd.grad(wanted, exact, case.pull.double())
    (here,) = torch.autograd.grad(found, case.qkv, case.pull)
    pairs = zip(here.split(HEADS * DEPTH, 2), there.split(HEADS * DEPTH, 2), strict=True)
    distances = [distance(found, wanted), *(distance(*pair) for pair in pairs)]
    return dict(zip(("answer", "query", "key", "value"), distances, strict=True))


def distance(found: Tensor, wanted: Tensor) -> float:
    return float(((found - wanted).norm() / wanted.norm()).detach())


def take(kernel: str, block: Block) -> None:
    setattr(own, kernel, dict(zip(NAMES, block, strict=True)))


def compile_all(work: Sequence[tuple[str, Block]]) -> None:
    """Fill Triton's cache."""
    case = Case.of(1)
    for kernel, block in work:
        take(kernel, block)
        for run in case.both(case.own):
            run()
    torch.cuda.synchronize()


def sweep(case: Case, kernel: str) -> list[dict[str, Any]]:
    """Milliseconds of each block of one kernel, the fastest first; it is kept for the next."""
    found = []
    for block in BLOCKS[kernel]:
        take(kernel, block)
        forward, backward = case.both(case.own)
        ms = do_bench(forward if kernel == "FORWARD" else backward, warmup=5, rep=30)
        found.append({"ms": round(float(ms), 3), **dict(zip(NAMES, block, strict=True))})
    found.sort(key=lambda row: row["ms"])
    take(kernel, tuple(found[0][name] for name in NAMES))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--batch", type=int, default=128)
    asked = parser.parse_args()
    work = [(kernel, block) for kernel, blocks in BLOCKS.items() for block in blocks]
    with multiprocessing.get_context("spawn").Pool(COMPILERS) as pool:
        pool.map(compile_all, [work[i::COMPILERS] for i in range(COMPILERS)], chunksize=1)
    few, case = Case.of(2), Case.of(asked.batch)
    found: dict[str, Any] = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    found |= {"batch": asked.batch, "off": off(few)}
    for share in (0.0, SHARE):
        passes = case.both(lambda share=share: case.torchs(share))
        found[f"torch, dropout {share}: forward, backward ms"] = [round(do_bench(each), 3) for each in passes]
    found |= {kernel: sweep(case, kernel) for kernel in BLOCKS}
    asked.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    for kernel in BLOCKS:
        print(kernel, found[kernel][0])


if __name__ == "__main__":
    main()
