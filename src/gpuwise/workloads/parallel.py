"""One training step over several ranks: who holds what, and when gradients are exchanged.

ddp    every rank holds the whole model; gradients are averaged by all-reduce, bucket by bucket while
       the backward pass still runs (Li et al. 2020, VLDB 13:12).
fsdp2  weights, gradients and optimiser state are split over the ranks, and the weights gathered block
       by block (Zhao et al. 2023, VLDB 16:12). Chosen where the state of training does not fit one GPU.

The wrapped module calls whatever computes the loss, compiled or not. A graph that is compiled within
DDP's forward is cut at the buckets by torch's DDPOptimizer; without the cuts all gradients would be
ready at once, after the backward pass, and their exchange would hide behind nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn

from gpuwise.model.run import RunConfig

if TYPE_CHECKING:
    from torch.optim import Optimizer

Parallel = Literal["ddp", "fsdp2"]

BUCKET_MIB = 25
"""Gradients that travel together: torch's default, large enough for a link's full speed."""

STATE = 4
"""Copies of a trained weight: itself, its gradient and two moments of Adam."""
ROOM = 0.8
"""Share of the device's memory that the state may take; the rest is for activations."""

Loss = Callable[[], Tensor]


class Whole(nn.Module):
    """Model and loss as one module, for what wraps modules. `run` must compute with `model`."""

    def __init__(self, model: nn.Module, run: Loss) -> None:
        super().__init__()
        self.model = model
        self.run = run

    def forward(self) -> Tensor:
        return self.run()


def spread(model: nn.Module, run: Loss, optimizer: Optimizer, config: RunConfig) -> tuple[Loss, Parallel]:
    """(the loss over all ranks, how it is spread). All ranks start from the weights of rank 0."""
    whole = Whole(model, run)
    start_alike(whole, optimizer)
    if fits(model, config):
        return replicated(whole), "ddp"
    shard(whole, optimizer)
    return whole, "fsdp2"


def start_alike(whole: Whole, optimizer: Optimizer) -> None:
    """Give every rank the weights of rank 0, also masters of 16-bit ones, which the optimiser alone holds."""
    import torch.distributed as dist

    held = (parameter for group in optimizer.param_groups for parameter in group["params"])
    for tensor in {id(each): each for each in (*whole.parameters(), *whole.buffers(), *held)}.values():
        dist.broadcast(tensor.detach(), src=0)


def fits(model: nn.Module, config: RunConfig) -> bool:
    """Whether each rank can hold the whole state of training."""
    if config.device == "cpu":
        return True
    state = sum(p.nbytes * (STATE if p.requires_grad else 1) for p in model.parameters())
    return state < ROOM * torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory


def replicated(whole: Whole) -> nn.Module:
    """DDP without copies of gradients and without a broadcast of batch norm's statistics each step:
    every rank keeps those of its own data, and rank 0's are the ones to save."""
    from torch.nn.parallel import DistributedDataParallel

    named = signature(DistributedDataParallel).parameters
    # torch 2.13 has a new name for it.
    buffers: dict[str, Any] = {
        "forward_sync_buffers" if "forward_sync_buffers" in named else "broadcast_buffers": False
    }
    return DistributedDataParallel(
        whole, static_graph=True, gradient_as_bucket_view=True, bucket_cap_mb=BUCKET_MIB, **buffers
    )


def shard(whole: Whole, optimizer: Optimizer) -> None:
    """Split every block, then the rest; the optimiser, which has no state yet, gets the new parameters."""
    from torch.distributed.fsdp import fully_shard

    names = {parameter: name for name, parameter in whole.named_parameters()}
    for block in blocks(whole.model):
        fully_shard(block)
    fully_shard(whole)
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
