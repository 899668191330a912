"""What reductions of few results take beside their tensors on this machine's GPU, into OUT.

    python experiments/staged.py OUT

Each as [operator, format, sizes, order, dimensions, bytes beside operand and result]; on the CPU, where
nothing is counted, of small ones and 0.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

OPERATORS: dict[str, Callable[[Tensor, list[int]], Any]] = {
    "sum": lambda x, dims: x.sum(dims),
    "mean": lambda x, dims: x.mean(dims),
    "amax": lambda x, dims: x.amax(dims),
    "linalg_vector_norm": lambda x, dims: torch.linalg.vector_norm(x, dim=dims),
    "var_mean": lambda x, dims: torch.var_mean(x, dim=dims),
    "max": lambda x, dims: x.max(dims[0]),
    "argmax": lambda x, dims: x.argmax(dims[0]),
}
SHAPES: tuple[tuple[tuple[int, ...], list[int]], ...] = (
    ((131072, 512), [0]), ((8192, 96), [0]), ((4096, 1000), [0]), ((65536, 33), [0]), ((512, 65536), [1]),
    ((64, 256, 56, 56), [2, 3]), ((64, 256, 56, 56), [0, 2, 3]), ((8, 4096, 768), [1]),
)  # fmt: skip


def measured(
    name: str, dtype: torch.dtype, sizes: tuple[int, ...], dims: list[int], *, last: bool, device: str
) -> int:
    """Bytes that an operator takes beside its result while it runs."""
    order = torch.channels_last if last else torch.contiguous_format
    x = torch.zeros(sizes, dtype=dtype, device=device).contiguous(memory_format=order)
    if device == "cpu":
        OPERATORS[name](x, dims)
        return 0
    OPERATORS[name](x, dims)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    made = OPERATORS[name](x, dims)
    taken = torch.cuda.max_memory_allocated() - torch.cuda.memory_allocated()
    del made
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    asked = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    found = []
    for name in OPERATORS:
        for dtype in (torch.bfloat16, torch.float32):
            for sizes, dims in SHAPES:
                if len(dims) > 1 and name in ("max", "argmax"):
                    continue
                small = sizes if device == "cuda" else tuple(min(size, 16) for size in sizes)
                for last in (False, True) if len(sizes) == 4 else (False,):
                    taken = measured(name, dtype, small, dims, last=last, device=device)
                    text = str(dtype).removeprefix("torch.")
                    found.append([name, text, list(small), "last" if last else "first", dims, taken])
    asked.out.write_text(json.dumps(found, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{len(found)} cases")


if __name__ == "__main__":
    main()
