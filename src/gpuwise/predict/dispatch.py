"""What a dispatched operator says of itself, and where its tensors should live."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache, partial
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch._prims_common import suggest_memory_format

from gpuwise.predict.pretend import META, attention, dropout
from gpuwise.predict.refuse import refuse

DTYPES = {
    torch.float64: "fp64",
    torch.float32: "fp32",
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.int8: "int8",
}
DATA_DEPENDENT = (
    "aten._local_scalar_dense", "aten.item", "aten.nonzero", "aten.masked_select", "aten._unique2",
    "aten.unique_consecutive", "aten.unique_dim", "aten.equal", "aten.is_nonzero",
)  # fmt: skip

CONVOLUTIONS = {"aten.convolution": (0, 1), "aten.convolution_backward": (1, 2)}
"""Positions of input and weight."""

OWN = {"aten.scaled_dot_product_attention": attention, "aten.dropout": dropout}


class Operator(NamedTuple):
    """What the schema of an operator says."""

    name: str
    inplace: tuple[int | str, ...]
    """Positions and keywords of the arguments that it overwrites."""
    aliases: bool
    """Whether it overwrites an argument or returns a view of one."""
    pointwise: bool
    composite: bool


@cache
def operator_of(func: Any) -> Operator:
    schema = func._schema
    written = [
        a.name if a.kwarg_only else i
        for i, a in enumerate(schema.arguments)
        if a.alias_info is not None and a.alias_info.is_write
    ]
    has = partial(torch._C._dispatch_has_kernel_for_dispatch_key, func.name())
    return Operator(
        name=schema.name.replace("::", "."),
        inplace=tuple(written),
        aliases=any(each.alias_info is not None for each in (*schema.arguments, *schema.returns)),
        pointwise=torch.Tag.pointwise in func.tags,
        composite=has("CompositeImplicitAutograd") and not has("Meta"),
    )


def dtype_of(tensor: Tensor) -> str:
    found = DTYPES.get(tensor.dtype)
    name = str(tensor.dtype).removeprefix("torch.")
    return found or ("fp8" if name.startswith("float8") else name)


def optimised(optimizer: torch.optim.Optimizer) -> Iterator[nn.Parameter]:
    return (p for group in optimizer.param_groups for p in group["params"])


def argument(args: Any, kwargs: Any, place: int | str) -> Any:
    if isinstance(place, str):
        return kwargs.get(place)
    return args[place] if place < len(args) else None


def tensors_in(tree: Any) -> Iterator[Tensor]:
    for item in tree:
        if isinstance(item, Tensor):
            yield item
        elif isinstance(item, list | tuple):
            yield from tensors_in(item)


def tf32_allowed(name: str) -> bool:
    if "convolution" in name:
        return bool(torch.backends.cudnn.allow_tf32)
    return torch.get_float32_matmul_precision() != "highest"


def to_meta(args: Any, kwargs: dict[str, Any]) -> None:
    """Make a tensor on the meta device that was to be on a CUDA device, or has more than one element."""
    device = kwargs.get("device")
    if device is None:
        return
    first = args[0] if args else None
    single = isinstance(first, list | tuple) and all(x == 1 for x in first)
    host = isinstance(first, Tensor) and not first.is_meta
    if torch.device(device).type == "cuda" or not (single or host):
        kwargs["device"] = META
        kwargs.pop("pin_memory", None)


def on_meta(item: Any) -> Any:
    """The same without data, where it is a tensor of the host with more than one element."""
    if isinstance(item, list | tuple):
        return type(item)(on_meta(x) for x in item) if not hasattr(item, "_fields") else item
    if isinstance(item, Tensor) and item.device.type != "meta" and item.numel() > 1:
        return torch.empty_like(item, device=META)
    return item


def arranged(name: str, args: Any, result: Any) -> Any:
    """The result of an operator, of a convolution in the order in which cuDNN leaves it: channels last where
    input or weight is, in all formats but fp64 (aten/src/ATen/native/ConvUtils.h). Torch's rule for tensors
    without a device does not know the library, and says channels first."""
    if not any(_channels_last(args[place]) for place in CONVOLUTIONS.get(name, ())):
        return result
    if isinstance(result, Tensor):
        return torch.empty_like(result, memory_format=torch.channels_last)
    return tuple(arranged(name, args, t) if t is not None and t.dim() == 4 else t for t in result)


def _channels_last(tensor: Tensor) -> bool:
    """By strides: where a size is 1, a tensor can be contiguous in both orders."""
    return tensor.dtype != torch.float64 and suggest_memory_format(tensor) == torch.channels_last


def answer(name: str) -> float:
    """What a question about a tensor's content is answered: only the gradient scaler's overflow check
    has a known answer (no overflow). Raises InputError for all others."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename.endswith("grad_scaler.py"):
            return 0.0
        frame = frame.f_back
    return refuse(f"{name}: the step depends on what a tensor contains, and tensors have no content here")
