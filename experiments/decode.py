"""Decoding kernels on this GPU: each product against torch, its bytes a second, and steps of whole decoders.

python experiments/decode.py OUT.json [--toy] [--seconds 120]
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from itertools import product as every
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from gpuwise.model.llm import LanguageModel
from gpuwise.model.precision import Precision
from gpuwise.workloads.job import as_graph, relative_difference
from gpuwise.workloads.kernels import decode, stream
from gpuwise.workloads.llm import SHAPES, shrunk
from gpuwise.workloads.models import decoder as models
from gpuwise.workloads.models.llm_jobs import advance
from gpuwise.workloads.models.quantized import Fp8Linear, NarrowLinear, quantise

FORMATS: dict[str, Callable[[nn.Linear], nn.Module] | None] = {
    "int4": partial(NarrowLinear, kind=Precision.INT4),
    "fp8": Fp8Linear,
    "bf16": None,
    "int8": partial(NarrowLinear, kind=Precision.INT8),
}
# Warps of a program, bytes of weights that it asks for at once.
WAYS = ((16, 32768), (16, 65536), (16, 16384), (8, 32768))


def seconds(step: Callable[[], Tensor], toy: bool) -> float:
    """Of one step, by the GPU's own clock where there is one."""
    if toy:
        began = time.perf_counter()
        step()
        return time.perf_counter() - began
    for _ in range(3):
        step()
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    for _ in range(20):
        step()
    last.record()
    torch.cuda.synchronize()
    return float(first.elapsed_time(last)) / 2e4


def kernels(shape: LanguageModel, device: str, toy: bool, until: float) -> Iterator[dict[str, Any]]:
    """Every product of a layer in every format: how far from torch, and GB/s for each way of its kernel."""
    c, k, f = shape.hidden, shape.kv_heads * shape.head_size, shape.inner
    sizes = {"gate_up": (2 * f, c), "down": (c, f), "qkv": (c + 2 * k, c), "output": (c, c)}
    dtype = torch.float16 if toy else torch.bfloat16
    for (name, (n, inputs)), form in every(sizes.items(), FORMATS):
        # Several copies, so that none is found in the L2.
        copies, where = 2 if toy else 4, {"dtype": dtype, "device": device}
        linears = [nn.Linear(inputs, n, bias=False, **where) for _ in range(copies)]
        norm = torch.rand(inputs, dtype=dtype, device=device) if name in ("qkv", "gate_up") else None
        kind = FORMATS[form]
        layers = linears if kind is None else [kind(each) for each in linears]
        options = {"norm": norm, "eps": 1e-5, "gated": name == "gate_up"}
        row: dict[str, Any] = {"product": name, "format": form, "off": {}, "gb_per_s": {}}
        for rows in (1, 4, 16, 64)[: 2 if toy else 4]:
            x = torch.randn(rows, inputs, dtype=dtype, device=device)
            normed = x if norm is None else nn.functional.rms_norm(x.float(), norm.shape, norm.float(), 1e-5)
            layer: Any = layers[0]
            if isinstance(layer, NarrowLinear):
                weight = layer.wide(torch.float32)
            else:
                weight = layer.weight.float() * (layer.scale if kind is Fp8Linear else 1.0)
            wanted = normed.float() @ weight.t()
            if name == "gate_up":
                gate, up = wanted.chunk(2, -1)
                wanted = nn.functional.silu(gate) * up
            found = decode.product(x, *models.stored(layers[0]), **options)
            row["off"][str(rows)] = relative_difference(found, wanted)
        del linears
        x = torch.randn(1, inputs, dtype=dtype, device=device)
        size = sum(t.nbytes for t in models.stored(layers[0])[:3] if t is not None)
        usual = stream.WARPS, stream.TILE
        for way in WAYS[:2] if toy else WAYS:
            if time.monotonic() > until:
                break
            stream.WARPS, stream.TILE = way
            try:
                all_of = partial(one_after_another, layers, x, options)
                taken = seconds(all_of if toy else as_graph(all_of), toy) / len(layers)
                row["gb_per_s"][" ".join(map(str, way))] = round(size / taken / 1e9, 1)
            except Exception as error:  # noqa: BLE001  one way that does not run is no reason to stop
                row["gb_per_s"][" ".join(map(str, way))] = f"{type(error).__name__}: {error}"[:200]
        stream.WARPS, stream.TILE = usual
        yield row


def steps(shape: LanguageModel, tokens: int, device: str, toy: bool) -> Iterator[dict[str, Any]]:
    """Whole steps as one graph, in every format, by gpuwise's kernels."""
    dtype = torch.float16 if toy else torch.bfloat16
    for form in FORMATS:
        torch.manual_seed(0)
        model = models.build_decoder(shape, tokens, dtype, device)
        if FORMATS[form] is not None:
            quantise(model.layers, Precision(form))
        for batch in (1, 8):
            cache = models.Cache(shape, batch, tokens, model.table)
            prompt = torch.randint(shape.vocabulary, (batch, 1), device=device)
            position = torch.full((1,), tokens - 1, device=device)
            row: dict[str, Any] = {"step": form, "batch": batch, "context": tokens}
            with torch.inference_mode():
                try:
                    expected = models.Decode(model, cache)(prompt, position).clone()
                    network = models.FusedDecode(model, cache)
                    row["off"] = relative_difference(network(prompt, position), expected)
                    both = partial(go_on, network, prompt, position, tokens)
                    step = both if toy else as_graph(both)
                    row["ms"] = 1e3 * seconds(step, toy)
                    if not toy:
                        row["kernels"] = profile(step)
                except Exception as error:  # noqa: BLE001  one format that does not run is no reason to stop
                    row["error"] = f"{type(error).__name__}: {error}"[:500]
            yield row
        del model, cache
        if not toy:
            torch.cuda.empty_cache()


def one_after_another(layers: list[nn.Module], x: Tensor, options: dict[str, Any]) -> Tensor:
    for each in layers:
        y = decode.product(x, *models.stored(each), **options)
    return y


def go_on(network: nn.Module, prompt: Tensor, position: Tensor, tokens: int) -> Tensor:
    return advance(network(prompt, position), prompt, position, tokens)


def profile(step: Callable[[], Tensor]) -> dict[str, list[float]]:
    """Kernel -> count and microseconds in one step."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as seen:
        step()
        torch.cuda.synchronize()
    every = {e.key[:60]: [e.count, e.device_time_total] for e in seen.key_averages()}
    return {name: row for name, row in every.items() if row[1] > 20}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--toy", action="store_true")
    parser.add_argument("--seconds", type=float, default=120.0)
    given = parser.parse_args()
    device, shape = ("cpu", shrunk(SHAPES["llm-8b"])) if given.toy else ("cuda", SHAPES["llm-8b"])
    found: list[dict[str, Any]] = []
    until = time.monotonic() + given.seconds
    # Rows are kept as they come: a run that is cut off has those before.
    for row in chain(
        steps(shape, 64 if given.toy else 2048, device, given.toy),
        kernels(shape, device, given.toy, until),
    ):
        found.append(row)
        print(json.dumps({key: value for key, value in row.items() if key != "kernels"}), flush=True)
        given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    main()
