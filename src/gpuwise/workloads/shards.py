"""Models whose training does not fit one GPU: whether that is so, and how they are split over all of them.

State of training with Adam: a weight, its gradient and two moments, 4 copies. Where that takes more than
80 % of the memory, FSDP2 gives each of n ranks 1 / n of all four and gathers the weights block by block
(Zhao et al. 2023, VLDB 16:12). A model that was made without memory (torch's meta device) is split
first, and then each rank draws its own part of the weights: no rank ever holds the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import TYPE_CHECKING, Any, Protocol, cast

import torch
from torch import nn

from gpuwise.model.run import RunConfig

if TYPE_CHECKING:
    from torch.optim import Optimizer

STATE = 4
"""Copies of a trained weight: itself, its gradient and two moments of Adam."""
ROOM = 0.8
"""Share of the device's memory that the state may take; the rest is for activations."""


def fits(model: nn.Module, config: RunConfig) -> bool:
    """Whether each rank can hold the whole state of training."""
    if config.device == "cpu":
        return True
    # Gradients that are exchanged after the backward pass exist twice while they are put into buckets.
    copies = STATE + (config.gpus > 1 and config.switches.exchange == "after")
    state = sum(p.nbytes * (copies if p.requires_grad else 1) for p in model.parameters())
    return state < ROOM * torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory


class Outline(Protocol):
    """A model that can be made on the meta device, which has no memory, and get its weights later."""

    def initialise(self) -> None:
        """Fill the memory that all weights and buffers now have."""


def given_memory(model: nn.Module, config: RunConfig) -> None:
    """Give an outline its weights, unless they do not fit: then `shard` does it for this rank's part."""
    if config.gpus == 1 or fits(model, config):
        materialise(model, model, config.device)


def materialise(held: nn.Module, model: nn.Module, device: str) -> None:
    """Memory for all that is held, and the weights of the model in it."""
    held.to_empty(device=device)
    cast("Outline", model).initialise()


def shard(
    whole: nn.Module, model: nn.Module, optimizer: Optimizer, device: str, own: Set[nn.Parameter]
) -> None:
    """Split every block of the model, then the rest of what is around it, but not what is a rank's `own`.

    The optimiser, which has no state yet, gets the new parameters.
    """
    from torch.distributed.fsdp import fully_shard

    names = {parameter: name for name, parameter in whole.named_parameters()}
    outlined = any(parameter.is_meta for parameter in names)
    ignored: dict[str, Any] = {"ignored_params": set(own)} if own else {}  # of torch 2.7
    for block in blocks(model):
        fully_shard(block, **ignored)
    fully_shard(whole, **ignored)
    if outlined:
        materialise(whole, model, device)
    new = dict(whole.named_parameters())
    for group in optimizer.param_groups:
        group["params"] = [new[names[parameter]] for parameter in group["params"]]


def blocks(model: nn.Module) -> Iterator[nn.Module]:
    """The repeated blocks: the members of every list of modules that is not inside another."""
    for child in model.children():
        if isinstance(child, nn.ModuleList):
            yield from child
        else:
            yield from blocks(child)
