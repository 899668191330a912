"""What the tensor cores' own accumulators cost FP8 training of BERT-large, product by product.

    python experiments/fp8_accumulators.py OUT.json [--batch 128] [--toy --device cpu]

Every FP8 product of one eager step is made again with all of its sum in the tensor cores' accumulators
(fast) and carried on in fp32, and held against fp32 arithmetic on the same operands. Then the norm of all
gradients beside that of bf16 products, eager and compiled: all sums fast, those of dw in fp32 (as gpuwise
trains), and all of the backward pass in fp32.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gpuwise import workloads
from gpuwise.model.question import RunConfig
from gpuwise.workloads import job as jobs
from gpuwise.workloads.job import Job, relative_difference
from gpuwise.workloads.models import float8 as float8_product

Product = Callable[..., Tensor]


def build(asked: argparse.Namespace, *, compiled: bool) -> Job:
    torch.compiler.reset()
    torch.manual_seed(0)
    config = RunConfig(
        workload="bert-large",
        mode="train",
        precision="fp8",
        batch=asked.batch,
        compile=compiled,
        device=asked.device,
        size="toy" if asked.toy else "full",
    )
    return workloads.load("bert-large").build(config, asked.batch)


def products(asked: argparse.Namespace) -> list[dict[str, Any]]:
    """Each product of a step: its shape and how far both kinds of sum are off."""
    job, right, found = build(asked, compiled=False), float8_product.product, list[dict[str, Any]]()
    assert job.gradient_norm is not None
    job.gradient_norm()  # scales are known after it

    def watched(a: Tensor, b: Tensor, sa: Tensor, sb: Tensor, *bias: Tensor | None, **how: bool) -> Tensor:
        exact = a.float() @ b.float().t() * (sa * sb)
        if bias and bias[0] is not None:
            exact += bias[0].float()
        off = {
            name: relative_difference(right(a, b, sa, sb, *bias, **{**how, "fast": fast}), exact)
            for name, fast in (("fast", True), ("fp32", False))
        }
        found.append({"m": len(a), "n": len(b), "k": a.shape[1], "dw": how.get("wide", False)} | off)
        return right(a, b, sa, sb, *bias, **how)

    float8_product.product = watched
    jobs.NORMS[asked.device] = 1
    job.gradient_norm()
    del jobs.NORMS[asked.device]
    float8_product.product = right
    return found


def norms(asked: argparse.Namespace, *, compiled: bool, sums: str) -> dict[str, Any]:
    """Norms of all gradients with FP8 and with bf16 products; `sums` are fast, shipped or fp32."""
    right: Product = float8_product.product

    def forced(*operands: Tensor | None, **how: bool) -> Tensor:
        return right(*operands, **{**how, "fast": sums == "fast"})

    float8_product.product = right if sums == "shipped" else forced
    try:
        job = build(asked, compiled=compiled)
        assert job.gradient_norm is not None
        assert job.reference_norm is not None
        pair = {"fp8": job.gradient_norm(), "bf16": job.reference_norm()}
    finally:
        float8_product.product = right
    return {"compiled": compiled, "sums": sums} | pair


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("output")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--toy", action="store_true", help="a shrunken network, to try the script")
    asked = parser.parse_args()
    ways = [
        (c, s) for c in (False, True) for s in ("fast", "shipped", "fp32") if asked.device == "cuda" or not c
    ]
    whole = {
        "device": torch.cuda.get_device_name() if asked.device == "cuda" else "cpu",
        "torch": torch.__version__,
        "batch": asked.batch,
        "norms": [norms(asked, compiled=compiled, sums=sums) for compiled, sums in ways],
        "products": products(asked),
    }
    Path(asked.output).write_text(json.dumps(whole, indent=1), encoding="utf-8")
    for row in whole["norms"]:
        print(row)
    for kind in ("fast", "fp32"):
        worst = max(whole["products"], key=lambda row: row[kind])
        print(f"{kind}: worst of {len(whole['products'])} products", worst)


if __name__ == "__main__":
    main()
