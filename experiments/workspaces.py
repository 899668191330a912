"""Bytes that a convolution takes beside its tensors on this machine's GPU, into OUT/workspaces.json.

    python experiments/workspaces.py OUT

Shapes, layouts and formats are a random draw of a grid, always the same; a few are added that networks have.
cuDNN chooses among its kernels first, as gpuwise's tuned recipe has it; then the largest that is allocated in
one call, forward and backward, is read beside what its tensors take. Names of kernels come last, of as
many as the time allows. `--toy` runs a few on the CPU, where nothing is counted.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as nnf

SEED, DRAWN = 20261128, 420
GRID: dict[str, tuple[Any, ...]] = {
    "dims": (1, 2, 2, 2, 3),
    "channels": (1, 3, 16, 30, 64, 96, 160, 256, 388, 512, 768),
    "outputs": (16, 64, 96, 160, 256, 512, 768),
    "window": (1, 1, 3, 3, 5, 7, 9, 16),
    "stride": (1, 1, 2, 4),
    "groups": ("one", "one", "one", "each", "wide", "few"),
    "layout": ("first", "last", "last", "slice"),
    "dtype": ("bfloat16", "bfloat16", "bfloat16", "float16", "float32", "tf32"),
    "batch": (8, 32),
}
NAMED = (
    # wav2vec2's first layers and positions, ConvMixer, FocalNet, NFNet, SE-ResNeXt, StyleGAN, SAM, MobileNet.
    ("bfloat16", "first", (16, 1, 80000), 512, (10,), 5, 1),
    ("bfloat16", "last", (16, 512, 15999), 512, (3,), 2, 1),
    ("bfloat16", "first", (16, 512, 15999), 512, (3,), 2, 1),
    ("bfloat16", "first", (16, 768, 249), 768, (128,), 1, 16),
    ("bfloat16", "last", (8, 1536, 32, 32), 1536, (9, 9), 1, 1536),
    ("bfloat16", "last", (8, 3, 224, 224), 1536, (7, 7), 7, 1),
    ("bfloat16", "last", (32, 192, 96, 96), 388, (1, 1), 1, 1),
    ("bfloat16", "slice", (32, 192, 96, 96), 192, (3, 3), 1, 192),
    ("bfloat16", "last", (32, 192, 96, 96), 768, (1, 1), 1, 1),
    ("bfloat16", "last", (8, 128, 64, 64), 128, (3, 3), 1, 2),
    ("bfloat16", "last", (8, 256, 56, 56), 256, (3, 3), 1, 32),
    ("bfloat16", "last", (64, 256, 56, 56), 256, (3, 3), 1, 4),
    ("bfloat16", "last", (128, 224, 56, 56), 224, (3, 3), 1, 2),
    ("bfloat16", "last", (1, 3, 1024, 1024), 144, (7, 7), 4, 1),
    ("bfloat16", "first", (4, 512, 64, 64), 512, (3, 3), 1, 1),
    ("bfloat16", "last", (16, 16, 260, 260), 64, (3, 3), 2, 64),
    ("bfloat16", "last", (1, 64, 512, 512), 64, (3, 3), 1, 1),
)


def drawn() -> list[tuple[Any, ...]]:
    """Format, layout, shape of the images, channels of the result, window, stride, groups."""
    chance, found = random.Random(SEED), list(NAMED)
    while len(found) < DRAWN:
        one = {name: chance.choice(values) for name, values in GRID.items()}
        dims, channels, outputs, window = one["dims"], one["channels"], one["outputs"], one["window"]
        groups = {"one": 1, "each": channels, "wide": channels // 32, "few": 2}[one["groups"]]
        if groups < 1 or channels % groups:
            continue
        if groups > 1:
            outputs = channels
        side = {1: 4096, 2: 56, 3: 16}[dims]
        window = min(window, {1: 16, 2: 9, 3: 5}[dims])
        shape = (one["batch"], channels, *(side,) * dims)
        found.append((one["dtype"], one["layout"], shape, outputs, (window,) * dims, one["stride"], groups))
    return found


def tensors(case: tuple[Any, ...], device: str) -> tuple[Tensor, Tensor, int, int, int]:
    dtype, layout, shape, outputs, window, stride, groups = case
    kind = getattr(torch, "float32" if dtype == "tf32" else dtype)
    torch.backends.cudnn.allow_tf32 = dtype == "tf32"
    last = {3: torch.contiguous_format, 4: torch.channels_last, 5: torch.channels_last_3d}[len(shape)]
    wide = (shape[0], 2 * shape[1], *shape[2:]) if layout == "slice" else shape
    x = torch.randn(wide, device=device, dtype=kind)
    w = torch.randn(outputs, shape[1] // groups, *window, device=device, dtype=kind)
    if layout != "first":
        # Of lines torch knows no channels last: they come as what a norm of channels leaves.
        x = x.mT.contiguous().mT if len(shape) == 3 else x.to(memory_format=last)
        w = w.to(memory_format=last)
    x = x[:, shape[1] :] if layout == "slice" else x
    return x.detach(), w, stride, window[0] // 2, groups


def convolve(x: Tensor, w: Tensor, stride: int, padding: int, groups: int) -> Tensor:
    return (nnf.conv1d, nnf.conv2d, nnf.conv3d)[x.dim() - 3](x, w, None, stride, padding, 1, groups)


def peak(do: Any, device: str) -> float:
    """Most bytes that one call allocates beyond what is there."""
    if device != "cuda":
        do()
        return 0.0
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    do()
    torch.cuda.synchronize()
    return float(torch.cuda.max_memory_allocated() - before)


def measured(case: tuple[Any, ...], device: str) -> dict[str, Any]:
    x, w, *how = tensors(case, device)
    found: dict[str, Any] = {"case": case, "input": x.numel() * x.element_size(), "weight": w.nbytes}
    with torch.no_grad():
        for _ in range(2):
            y = convolve(x, w, *how)
        found |= {"output": y.nbytes, "channels last": y.stride(1) == 1}
        gradient = torch.randn_like(y)
        del y
        found["forward"] = peak(lambda: convolve(x, w, *how), device)
    x.requires_grad_(), w.requires_grad_()

    def backward() -> None:
        y.backward(gradient)
        x.grad = w.grad = None

    for _ in range(2):
        y = convolve(x, w, *how)
        backward()
    y = convolve(x, w, *how)
    found["backward"] = peak(backward, device)
    return found


def named(case: tuple[Any, ...], device: str) -> list[str]:
    """Kernels of a forward and a backward pass."""
    x, w, *how = tensors(case, device)
    x.requires_grad_(), w.requires_grad_()
    convolve(x, w, *how).sum().backward()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as trace:
        y = convolve(x, w, *how)
        y.backward(torch.randn_like(y))
    return [event.key[:90] for event in trace.key_averages()]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--time", type=float, default=60.0, help="seconds")
    parser.add_argument("--toy", action="store_true")
    asked = parser.parse_args()
    began, device = time.monotonic(), "cpu" if asked.toy else "cuda"
    torch.backends.cudnn.benchmark = True
    cases = drawn()
    if asked.toy:
        small = [case for case in cases if case[0] == "float32"][:12]
        cases = [(*case[:2], (1, case[2][1], *(16 for _ in case[2][2:])), *case[3:]) for case in small]
    found: list[dict[str, Any]] = []
    for case in cases:
        if time.monotonic() - began > 0.75 * asked.time:
            break
        try:
            found.append(measured(case, device))
        except RuntimeError as error:  # such as too little memory
            found.append({"case": case, "error": str(error)[:200]})
    for row in itertools.islice(found, 150) if device == "cuda" else ():
        if time.monotonic() - began > asked.time:
            break
        if "error" not in row:
            row["kernels"] = named(row["case"], device)
    document = {
        "device": torch.cuda.get_device_name() if device == "cuda" else device, "torch": torch.__version__,
        "cudnn": torch.backends.cudnn.version(), "rows": found, "seconds": time.monotonic() - began,
    }  # fmt: skip
    asked.folder.mkdir(parents=True, exist_ok=True)
    (asked.folder / "workspaces.json").write_text(json.dumps(document, indent=0) + "\n", encoding="utf-8")
    errors = sum("error" in row for row in found)
    print(f"{len(found)} of {len(cases)} cases, {errors} failed, {document['seconds']:.0f} s")


if __name__ == "__main__":
    main()
