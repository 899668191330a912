"""One training step over several ranks: who holds what, and when gradients are exchanged.

ddp        every rank holds the whole model; gradients are averaged by all-reduce, bucket by bucket
           while the backward pass still runs (Li et al. 2020, VLDB 13:12).
ddp-after  the same, averaged when the backward pass is over (`buckets`): the switch exchange=after.
fsdp2      weights, gradients and optimiser state are split over the ranks, and the weights gathered
           block by block (Zhao et al. 2023, VLDB 16:12). Chosen where the state of training does not
           fit one GPU.

The wrapped module calls whatever computes the loss, compiled or not. A graph that is compiled within
DDP's forward is cut at the buckets by torch's DDPOptimizer, for gradients of a whole graph are ready at
once, when it ends; not so blocks that are compiled by themselves (the switch region=block). Cuts end what
the compiler can fuse, also in the forward pass; on fast links that can cost more than the exchange which
they hide, and so there is `ddp-after`.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal

from torch import Tensor, nn

from gpuwise.model.run import RunConfig
from gpuwise.workloads import buckets
from gpuwise.workloads.shards import fits, shard
from gpuwise.workloads.switches import by_blocks

if TYPE_CHECKING:
    from torch.optim import Optimizer

Parallel = Literal["ddp", "ddp-after", "fsdp2"]

BUCKET_MIB = 25
"""Gradients that travel together under DDP, unless the switch `bucket` says otherwise: torch's default."""

Loss = Callable[[], Tensor]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A training step over all ranks."""

    loss: Loss
    how: Parallel
    finish: Callable[[], None]
    """What is left to do between the backward pass and the optimiser."""


class Whole(nn.Module):
    """Model and loss as one module, for what wraps modules. `run` must compute with `model`."""

    def __init__(self, model: nn.Module, run: Loss) -> None:
        super().__init__()
        self.model = model
        self.run = run

    def forward(self) -> Tensor:
        return self.run()


def spread(
    model: nn.Module,
    run: Loss,
    optimizer: Optimizer,
    config: RunConfig,
    own: Set[nn.Parameter] = frozenset(),
) -> Spread:
    """The step over all ranks of what is trained on one. All start from the weights of rank 0.

    Gradients of the parameters in `own` are left to their rank.
    """
    whole = Whole(model, run)
    start_alike(whole, optimizer)
    if not fits(model, config):
        shard(whole, model, optimizer, config.device, own)
        return Spread(loss=whole, how="fsdp2", finish=_nothing)
    if config.recipe != "script" and config.switches.exchange == "after":
        shared = [parameter for parameter in whole.parameters() if parameter not in own]
        most = bucket_bytes("ddp-after", config)
        assert most is not None
        return Spread(loss=run, how="ddp-after", finish=buckets.Buckets(shared, most))
    return Spread(loss=replicated(whole, config, own), how="ddp", finish=_nothing)


def _nothing() -> None:
    """Gradients were averaged within the backward pass."""


def bucket_bytes(how: str | None, config: RunConfig) -> int | None:
    """Gradients that travel together; None where they do not travel in buckets."""
    usual = {"ddp": BUCKET_MIB, "ddp-after": buckets.BUCKET_MIB}.get(how or "")
    if usual is None:
        return None
    asked = config.switches.bucket if config.recipe != "script" else "usual"
    return (usual if asked == "usual" else int(asked)) * 2**20


def start_alike(whole: Whole, optimizer: Optimizer) -> None:
    """Give every rank the weights of rank 0, also masters of 16-bit ones, which the optimiser alone holds."""
    import torch.distributed as dist

    held = (parameter for group in optimizer.param_groups for parameter in group["params"])
    if any(parameter.is_meta for parameter in whole.parameters()):
        return  # every rank draws its own part
    for tensor in {id(each): each for each in (*whole.parameters(), *whole.buffers(), *held)}.values():
        dist.broadcast(tensor.detach(), src=0)


def replicated(whole: Whole, config: RunConfig, own: Set[nn.Parameter] = frozenset()) -> nn.Module:
    """DDP without copies of gradients and without a broadcast of batch norm's statistics each step:
    every rank keeps those of its own data, and rank 0's are the ones to save."""
    from torch._dynamo import config as dynamo
    from torch.nn.parallel import DistributedDataParallel

    # A block's gradients are ready when its backward pass ends: nothing more is to be cut.
    dynamo.optimize_ddp = not by_blocks(config)
    names = [name for name, parameter in whole.named_parameters() if parameter in own]
    DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(whole, names)  # type: ignore[no-untyped-call]
    named = signature(DistributedDataParallel).parameters
    # torch 2.13 has a new name for it.
    buffers: dict[str, Any] = {
        "forward_sync_buffers" if "forward_sync_buffers" in named else "broadcast_buffers": False
    }
    most = bucket_bytes("ddp", config)
    assert most is not None
    return DistributedDataParallel(
        whole, static_graph=True, gradient_as_bucket_view=True, bucket_cap_mb=most // 2**20, **buffers
    )
