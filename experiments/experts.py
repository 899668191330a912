"""Time products of rows with the narrow weights of their experts on one GPU, by shapes of programs.

    python experiments/experts.py OUT.json [--kinds mxfp4,int4,int8]

The experts of gpt-oss 20B and of Qwen3 30B A3B, one token's: a CUDA graph of many launches, each of other
experts, so that no cache holds their weights. Prints, and writes, gigabytes of stored weights a second for
each way of dividing them: warps of a program, bytes of weights that it asks for at once, programs a
multiprocessor; beside it what torch.compile makes of the same product.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from gpuwise.model.precision import Precision
from gpuwise.workloads.kernels import decode, stream
from gpuwise.workloads.models.quantized import NarrowExperts

SHAPES = {  # experts, chosen, outputs, inputs
    "gpt-oss gate and up": (32, 4, 5760, 2880),
    "gpt-oss down": (32, 4, 2880, 2880),
    "Qwen3 gate and up": (128, 8, 1536, 2048),
    "Qwen3 down": (128, 8, 2048, 768),
}
WARPS, TILES, PROGRAMS = (4, 8, 16), (4096, 8192, 16384, 32768), (1, 2, 4)
LAUNCHES, REPEATS = 16, 8


def seconds(run: Callable[[int], object]) -> float:
    """Of one launch, in a graph of many."""
    for i in range(2):
        run(i)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(LAUNCHES):
            run(i)
    times = []
    for _ in range(REPEATS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 1e3 / LAUNCHES)
    return min(times)


@torch.inference_mode()
def rows(name: str, kind: Precision) -> list[dict[str, Any]]:
    """One shape in one format, in every way."""
    experts, chosen, outputs, inputs = SHAPES[name]
    weights = torch.randn(experts, outputs, inputs, device="cuda", dtype=torch.bfloat16) / 50
    held = NarrowExperts(weights, kind)
    size = sum(part.nbytes for part in held.buffers() if part.dim() > 1) * chosen / experts
    x = torch.randn(chosen, inputs, device="cuda", dtype=torch.bfloat16)
    picks = [torch.randperm(experts, device="cuda")[:chosen] for _ in range(LAUNCHES)]
    ends = torch.zeros(experts, device="cuda", dtype=torch.int32)
    found: list[dict[str, Any]] = []

    def keep(time_s: float, **how: Any) -> None:
        gb_s = size / time_s / 1e9
        found.append({"shape": name, "kind": str(kind), "us": 1e6 * time_s, "gb_s": gb_s, **how})

    for warps, tile, programs in itertools.product(WARPS, TILES, PROGRAMS):
        if warps * programs > 16 or warps * 512 > tile * 2:
            continue
        how = {"EXPERT_WARPS": warps, "EXPERT_TILE": tile, "EXPERT_PROGRAMS": programs}
        decode.doubts.clear()
        try:
            with mock.patch.multiple(stream, **how):
                keep(seconds(lambda i: held(x, ends, picks[i])), **how)
        except Exception as error:  # noqa: BLE001  a way that does not fit the registers
            print(name, kind, how, repr(error)[:200], file=sys.stderr)
        if any(decode.doubts.values()):
            found[-1]["doubt"] = next(filter(None, decode.doubts.values()))
    plain = torch.compile(lambda x, whose: (held.wide(whose, x.dtype) * x[:, None]).sum(-1))
    keep(seconds(lambda i: plain(x, picks[i])), by="torch.compile")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--kinds", default="mxfp4,int4,int8")
    asked = parser.parse_args()
    found = []
    for kind, name in itertools.product(asked.kinds.split(","), SHAPES):
        here = rows(name, Precision(kind))
        found += here
        best = max((row for row in here if "by" not in row), key=lambda row: row["gb_s"])
        print(name, kind, f"torch.compile {here[-1]['gb_s']:.0f} GB/s, best", best, flush=True)
    sums: dict[tuple[int, ...], list[float]] = {}
    for row in found:
        if "by" not in row:
            way = (row["EXPERT_WARPS"], row["EXPERT_TILE"], row["EXPERT_PROGRAMS"])
            sums.setdefault(way, []).append(row["us"])
    for way, times in sorted(sums.items(), key=lambda each: sum(each[1]))[:8]:
        print("all shapes and formats:", way, f"{sum(times):.1f} us, {len(times)} rows")
    about = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
    asked.output.write_text(json.dumps({"environment": about, "rows": found}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
