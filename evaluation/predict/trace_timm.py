"""Record what networks of timm compute, by class of kernel, for `data/timm.csv.gz`.

    python -m evaluation.predict.trace_timm MODELS.csv [-o evaluation/predict/data/timm.csv.gz]

MODELS.csv has the columns `model` and `img_size`; every network that timm lists is added at its own size.
Needs timm and torch, no GPU and no weights: one image and then two run forward on the meta device. What two
take more than one is the work of an image; the rest (weights that are standardised, tables of positions) is
done once a step, in the column `step_elems`. A network whose parallel branches can be merged for inference
(timm's `--reparam`) has a second line, with fewer parameters. Networks that the installed timm does not know
are left out and named.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import timm
import torch
from timm.utils import reparameterize_model
from torch import nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

COLUMNS = (
    "dense_flop_32", "dense_flop_64", "dense_flop_128", "dense_flop_big", "dense_elems", "group_flop",
    "group_elems", "dw_flop", "dw_elems", "mm_flop_small", "mm_flop", "mm_elems", "bmm_flop", "bmm_elems",
    "attn_flop", "attn_elems", "norm_elems", "pw_elems", "copy_elems", "red_elems", "n_conv", "n_mm",
    "n_attn", "n_norm", "n_pw", "n_copy", "params", "weight_elems", "step_elems",
    "largest",
)  # fmt: skip
FUSED_DIMENSIONS = 4
"""Of what torch's fused attention takes: images, heads, places, width."""
MERGES = ("fuse", "reparameterize", "switch_to_deploy")
"""What timm's modules call merging their branches."""
NORMALISE = [
    "native_batch_norm",
    "cudnn_batch_norm",
    "native_layer_norm",
    "native_group_norm",
    "batch_norm",
    "_softmax",
    "_native_batch_norm_legit",
    "_native_batch_norm_legit_no_training",
]
COPY = [
    "cat",
    "clone",
    "_to_copy",
    "copy_",
    "roll",
    "constant_pad_nd",
    "index_select",
    "index",
    "stack",
    "upsample_bicubic2d",
    "repeat",
    "gather",
    "upsample_bilinear2d",
    "upsample_nearest2d",
    "reflection_pad2d",
    "im2col",
    "slice_scatter",
    "pixel_shuffle",
    "pixel_unshuffle",
    "channel_shuffle",
    "contiguous",
    "unfold_backward",
]
REDUCE = [
    "mean",
    "sum",
    "max_pool2d_with_indices",
    "avg_pool2d",
    "_adaptive_avg_pool2d",
    "amax",
    "max",
    "argmax",
    "linalg_vector_norm",
    "var_mean",
    "std",
    "avg_pool1d",
    "topk",
    "sort",
    "var",
    "norm",
    "cumsum",
    "adaptive_max_pool2d",
]
VIEW = [
    "view",
    "_unsafe_view",
    "reshape",
    "permute",
    "transpose",
    "t",
    "slice",
    "select",
    "unsqueeze",
    "squeeze",
    "expand",
    "split",
    "unbind",
    "alias",
    "split_with_sizes",
    "as_strided",
    "detach",
    "chunk",
    "unflatten",
    "movedim",
    "empty",
    "zeros",
    "ones",
    "arange",
    "full",
    "scalar_tensor",
    "lift_fresh",
    "_reshape_alias",
    "diagonal",
    "unfold",
    "new_empty",
    "empty_like",
    "zeros_like",
    "ones_like",
    "new_zeros",
    "new_full",
    "is_same_size",
    "empty_strided",
    "flatten",
    "view_as_real",
    "view_as_complex",
    "real",
    "imag",
    "linspace",
    "eye",
    "new_ones",
    "randn",
    "rand",
]


class Recorder(TorchDispatchMode):
    """Adds every operator that moves data to the columns."""

    def __init__(self) -> None:
        super().__init__()
        self.columns = dict.fromkeys(COLUMNS, 0.0)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name not in VIEW:
            self.columns["largest"] = max(self.columns["largest"], elements(out))
            self.record(name, args, out)
        return out

    def record(self, name: str, args: Any, out: Any) -> None:
        """One operator: a convolution, a product, or what only moves."""
        if name in ("convolution", "_convolution"):
            self.convolution(args[0], args[1], args[8], out)
        elif name in ("addmm", "mm", "bmm", "baddbmm"):
            self.product(args[-2], args[-1], out, batched=name in ("bmm", "baddbmm"))
        elif name in NORMALISE:
            self.add("norm", elements(args[0]) + elements(out[0] if isinstance(out, tuple) else out))
        elif name in COPY:
            self.add("copy", 2 * elements(out))
        elif name in REDUCE:
            self.add("red", elements(args) + elements(out), counted="copy")
        else:
            self.add("pw", elements(args) + elements(out))

    def add(self, kind: str, moved: float, counted: str | None = None) -> None:
        self.columns[f"{kind}_elems"] += moved
        self.columns[f"n_{counted or kind}"] += 1

    def convolution(self, x: torch.Tensor, weight: torch.Tensor, groups: int, out: torch.Tensor) -> None:
        flop, narrow = 2 * out.numel() * weight[0].numel(), min(x.shape[1], out.shape[1])
        kind = "dense" if groups == 1 else "dw" if groups == x.shape[1] else "group"
        size = next((f"_{limit}" for limit in (32, 64, 128) if narrow < limit), "_big")
        self.columns[f"{kind}_flop{size if kind == 'dense' else ''}"] += flop
        self.columns[f"{kind}_elems"] += x.numel() + out.numel()
        self.columns["weight_elems"] += weight.numel()
        self.columns["n_conv"] += 1

    def product(self, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor, *, batched: bool) -> None:
        small = not batched and min(a.shape[-1], b.shape[-1]) < 128
        name = "bmm" if batched else "mm"
        self.columns[f"{name}_flop{'_small' if small else ''}"] += 2 * a.numel() * b.shape[-1]
        self.columns[f"{name}_elems"] += a.numel() + out.numel() + (b.numel() if batched else 0)
        self.columns["weight_elems"] += 0 if batched else b.numel()
        self.columns["n_mm"] += 1


class Attention(TorchFunctionMode):
    """Fused attention as one kernel, which the meta device would take apart; it needs four dimensions."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func is not functional.scaled_dot_product_attention or args[0].dim() != FUSED_DIMENSIONS:
            return func(*args, **(kwargs or {}))
        q, k, v = args[:3]
        columns, pairs = self.recorder.columns, math.prod(q.shape[:-1]) * k.shape[-2]
        columns["attn_flop"] += 2 * pairs * (q.shape[-1] + v.shape[-1])
        columns["attn_elems"] += 2 * q.numel() + k.numel() + v.numel()
        columns["n_attn"] += 1
        return torch.empty(*q.shape[:-1], v.shape[-1], device=q.device, dtype=q.dtype)


def elements(value: Any) -> int:
    """Elements of all tensors in a value."""
    if isinstance(value, torch.Tensor):
        return value.numel()
    return sum(map(elements, value)) if isinstance(value, (list, tuple)) else 0


def traces(name: str, size: int) -> Iterator[dict[str, float]]:
    """Columns of one image forward: of the network, and of the one with merged branches where it differs."""
    with torch.device("meta"), torch.no_grad():
        try:
            model = timm.create_model(name, img_size=size)
        except TypeError:
            model = timm.create_model(name)
        yield columns(model.eval(), size)
        if any(hasattr(part, name) for part in model.modules() for name in MERGES):
            yield columns(reparameterize_model(model), size)


def columns(model: nn.Module, size: int) -> dict[str, float]:
    """Columns of one image through `model`."""
    one, two = (recorded(model, size, images) for images in (1, 2))
    work = [name for name in COLUMNS if name.endswith("_elems") or "_flop" in name]
    each = {name: max(0.0, two[name] - one[name]) for name in work if name != "weight_elems"}
    fixed = sum(one[name] - value for name, value in each.items() if name.endswith("_elems"))
    params = float(sum(p.numel() for p in model.parameters()))
    return one | each | {"step_elems": max(0.0, fixed), "params": params}


def recorded(model: nn.Module, size: int, images: int) -> dict[str, float]:
    recorder = Recorder()
    with Attention(recorder), recorder:
        model(torch.empty(images, 3, size, size))
    return recorder.columns


def wanted(path: Path) -> Iterator[tuple[str, int]]:
    """Networks and sizes of the file, then the rest of timm at their own sizes."""
    with path.open(encoding="utf-8", newline="") as file:
        listed = {(row["model"], int(float(row["img_size"]))) for row in csv.DictReader(file)}
    yield from sorted(listed)
    known = {name for name, _ in listed}
    for name in timm.list_models():
        config = timm.models.get_pretrained_cfg(name)
        if name not in known and config is not None:
            yield name, int(config.input_size[-1])


def line(name: str, size: int, found: dict[str, float]) -> str:
    """A network's line of the file."""
    return ",".join((name, str(size), *(f"{v:.4g}" if v >= 1e4 else f"{v:.0f}" for v in found.values())))


def main() -> None:
    """Write one line a network and size, to four digits."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path("evaluation/predict/data/timm.csv.gz"))
    given = parser.parse_args()
    lines = [",".join(("model", "img", *COLUMNS))]
    for name, size in sorted(wanted(given.models)):
        try:
            lines += [line(name, size, found) for found in traces(name, size)]
        except (RuntimeError, TypeError, ValueError, AssertionError) as failure:
            print(f"left out {name} at {size}: {failure}", flush=True)
    with given.output.open("wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as packed:
        packed.write(("\n".join(lines) + "\n").encode())


if __name__ == "__main__":
    main()
