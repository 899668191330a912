"""From a recipe's switches to torch: compiler options, cuDNN's search, attention kernels, 16-bit weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from gpuwise.errors import InputError
from gpuwise.model.question import RunConfig, Switches

SEARCHES: dict[str, dict[str, bool]] = {
    "default": {},
    "descent": {"coordinate_descent_tuning": True},
    "autotune": {"coordinate_descent_tuning": True, "max_autotune": True},
}


def compiled(function: Callable[..., Any], config: RunConfig) -> Callable[..., Any]:
    """torch.compile for one shape, with the search and the CUDA graph of the recipe."""
    found: Callable[..., Any] = torch.compile(function, dynamic=False, options=_options(config))
    return found


def blocks(model: nn.Module) -> Iterator[nn.Module]:
    """The repeated blocks: the members of every list of modules that is not inside another."""
    for child in model.children():
        if isinstance(child, nn.ModuleList):
            yield from child
        else:
            yield from blocks(child)


def by_blocks(config: RunConfig) -> bool:
    """Whether repeated blocks are compiled one by one."""
    return config.compile and config.recipe != "script" and config.switches.compile_scope == "block"


def compile_blocks(model: nn.Module, config: RunConfig) -> None:
    """Compile every repeated block in place; those that are alike find the code of the first.

    Raises InputError where the model does not consist of such: torch gives up after some that differ.
    """
    found = list(blocks(model))
    alike = {(type(block), *(weight.shape for weight in block.parameters())) for block in found}
    if not found or len(alike) > len({kind for kind, *_ in alike}):
        why = f"{config.workload} is not made of equal blocks"
        raise InputError(why, hint="leave out the switch compile_scope=block")
    for block in found:
        block.compile(dynamic=False, options=_options(config))


def _options(config: RunConfig) -> dict[str, Any] | None:
    tuned = config.recipe != "script"
    switches = config.switches if tuned else Switches()
    options: dict[str, Any] = dict(SEARCHES[switches.compiler])
    if switches.graph == "on":
        options["triton.cudagraphs"] = True
    if tuned and config.precision == "fp32" and config.device == "cuda":
        options["layout_optimization"] = False  # else convolutions become channels-last (`convnet`)
    return options or None


def set_libraries(config: RunConfig) -> None:
    """cuDNN's search for algorithms and the attention kernels that torch may take."""
    tuned = config.recipe != "script"
    # One shape for a whole run: the search costs its first step only.
    torch.backends.cudnn.benchmark = tuned
    one = config.switches.attention
    if tuned and one not in ("auto", "triton"):
        torch.backends.cuda.enable_flash_sdp(one == "flash")
        torch.backends.cuda.enable_mem_efficient_sdp(one == "efficient")
        torch.backends.cuda.enable_cudnn_sdp(one == "cudnn")
        torch.backends.cuda.enable_math_sdp(False)


class HalfPrecisionWeights:
    """16-bit weights for products, beside the fp32 parameters that an optimiser already holds.

    Autocast would round the same parameters to the same values in every step, and its gradients are
    16 bits wide as well: what is saved is the traffic of the casts, not accuracy. Norms, biases and
    embeddings stay in fp32, as under autocast.
    """

    def __init__(self, model: nn.Module, dtype: torch.dtype) -> None:
        self.masters: list[Tensor] = []
        self.copies: list[Tensor] = []
        for module in model.modules():
            if isinstance(module, nn.Linear | nn.Conv2d) and module.weight.dtype == torch.float32:
                master = module.weight
                module.weight = nn.Parameter(master.detach().to(dtype))
                self.masters.append(master)
                self.copies.append(module.weight)
        self.gradients = [torch.zeros_like(master) for master in self.masters]

    @torch.no_grad()
    def copy_grads_to_master(self) -> None:
        """After the backward pass."""
        found = [copy.grad for copy in self.copies if copy.grad is not None]
        torch._foreach_copy_(self.gradients, found)
        for master, gradient, copy in zip(self.masters, self.gradients, self.copies, strict=True):
            master.grad, copy.grad = gradient, None

    @torch.no_grad()
    def copy_master_to_params(self) -> None:
        """After the optimiser."""
        torch._foreach_copy_(self.copies, self.masters)
