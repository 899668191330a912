"""One training step over several ranks: who holds what, and when gradients are exchanged.

ddp        every rank holds the whole model; gradients are averaged by all-reduce, bucket by bucket
           while the backward pass still runs (Li et al. 2020, VLDB 13:12).
ddp-after  the same, averaged when the backward pass is over: the switch overlap_grads=off.
fsdp2      weights, gradients and optimiser state are split over the ranks, and the weights gathered
           block by block (Zhao et al. 2023, VLDB 16:12). Chosen where the state of training does not
           fit one GPU: with Adam a weight, its gradient, once more in a bucket, and two moments, in
           more than 80 % of the memory.
           A model that was made without memory (torch's meta device) is split first, and then each rank
           draws its own part of the weights: no rank ever holds the whole.
tp         of a language model, the switch --scaling tensor: every rank holds its heads and its width of
           every feed-forward layer, and a layer's two results are added up over all (Shoeybi et al. 2019,
           arXiv:1909.08053), in training also the gradients of its two inputs. In inference the head's
           logits are put together; in training each rank has the loss's share of its part of the words.

The wrapped module calls whatever computes the loss, compiled or not. A graph that is compiled within
DDP's forward is cut at the buckets by torch's DDPOptimizer, because gradients of a whole graph are ready at
once, when it ends; not so blocks that are compiled by themselves (the switch compile_scope=block). Cuts end
what the compiler can fuse, also in the forward pass; on fast links that can cost more than the exchange which
they hide, and so there is `ddp-after`. There a link reaches its full speed with tens of MiB at once, and most
gradients are smaller, so those of one type are copied into buckets, and each bucket's all-reduce runs while
the next one is filled. From then on the gradients are views of the buckets: nothing is copied back. On a
ring of n ranks whose links move B bytes/s one way, G bytes of gradients take 2 (n - 1) / n * G / B seconds,
which nothing hides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from inspect import signature
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

import torch
import torch.distributed as dist
from torch import Tensor, nn

from gpuwise.model.question import STATE_ROOM, RunConfig
from gpuwise.workloads.job import blocks, by_blocks

if TYPE_CHECKING:
    from torch.optim import Optimizer

# Copies of a trained weight: itself, its gradient and two moments of Adam.
STATE = 4


def fits(model: nn.Module, config: RunConfig) -> bool:
    """True if each rank can hold the whole state of training."""
    if config.device == "cpu":
        return True
    # Gradients exist twice while they are put into buckets: two H100s ran out of memory by just their size.
    copies = STATE + (config.gpus > 1)
    state = sum(p.nbytes * (copies if p.requires_grad else 1) for p in model.parameters())
    return state < STATE_ROOM * torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory


def given_memory(model: nn.Module, config: RunConfig) -> None:
    """Give a model that was made on the meta device, which has no memory, its weights, unless they do not
    fit: then `shard` does it for this rank's part."""
    if config.gpus == 1 or fits(model, config):
        materialise(model, model, config.device)


def materialise(held: nn.Module, model: nn.Module, device: str) -> None:
    """Memory for all that is held, and the weights of the model in it."""
    held.to_empty(device=device)
    model.initialise()  # type: ignore[operator]


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
    # Blocks first: what wraps them then holds only what is left.
    for block in blocks(model):
        fully_shard(block, **ignored)
    fully_shard(whole, **ignored)
    if outlined:
        materialise(whole, model, device)
    new = dict(whole.named_parameters())
    for group in optimizer.param_groups:
        group["params"] = [new[names[parameter]] for parameter in group["params"]]


# Large enough for a link's full speed, small enough that filling one hides behind sending another. What the
# switch `bucket` says goes before it.
LATE_BUCKET_MIB = 256
# Every gradient begins at a multiple of so many values, as kernels that read several at once want it.
ALIGNED = 64


# Some parameters of one type, the tensor of their gradients, and the view of each, with its strides.
Bucket = tuple[list[nn.Parameter], Tensor, list[Tensor]]


def bucket(parameters: list[nn.Parameter]) -> Bucket:
    """Room for the gradients of parameters of one type."""
    room, places = 0, []
    for parameter in parameters:
        places.append(room)
        room += -(-parameter.numel() // ALIGNED) * ALIGNED
    flat = parameters[0].new_zeros(room)
    each = zip(parameters, places, strict=True)
    return parameters, flat, [flat.as_strided(p.size(), p.stride(), place) for p, place in each]


class Buckets:
    """All gradients of some parameters, averaged at every call; all ranks have those of the same ones."""

    def __init__(self, parameters: Sequence[nn.Parameter], most: int) -> None:
        """Buckets hold at most `most` bytes each."""
        self._parameters, self._most = parameters, most
        self._buckets: list[Bucket] = []

    @torch.no_grad()
    def __call__(self) -> None:
        """Average. Which parameters have gradients is settled at the first call; from then on these are views
        of the buckets."""
        if not self._buckets:
            parameters = [parameter for parameter in self._parameters if parameter.grad is not None]
            self._buckets = [bucket(each) for each in packed(parameters, self._most)]
        averages = dist.get_backend() == "nccl"  # which alone can average in every release
        how = dist.ReduceOp.AVG if averages else dist.ReduceOp.SUM
        # Each is sent as soon as it is full; the next is filled while it travels.
        sent = []
        for parameters, flat, views in self._buckets:
            gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
            assert len(gradients) == len(views), "a parameter that had a gradient has none"
            torch._foreach_copy_(views, gradients)
            for parameter, view in zip(parameters, views, strict=True):
                parameter.grad = view
            if not averages:
                flat.div_(dist.get_world_size())
            sent.append(dist.all_reduce(flat, how, async_op=True))
        for each in sent:
            each.wait()


def packed(parameters: Sequence[nn.Parameter], most: int) -> Iterator[list[nn.Parameter]]:
    """The parameters of each type, in groups of at most `most` bytes, or one that is larger."""
    for _, alike in groupby(sorted(parameters, key=lambda p: str(p.dtype)), key=lambda p: p.dtype):
        group: list[nn.Parameter] = []
        for parameter in alike:
            if group and sum(p.nbytes for p in group) + parameter.nbytes > most:
                yield group
                group = []
            group.append(parameter)
        yield group


_exchanges = True


@contextmanager
def without_exchange() -> Iterator[None]:
    """Modules built in this context exchange nothing, so that each rank's part can be timed by itself."""
    global _exchanges
    _exchanges = False
    try:
        yield
    finally:
        _exchanges = True


class Joined(nn.Module):
    """The sum of all ranks' x, or their x side by side in the last dimension; with one rank x itself.

    torch.compile keeps the exchange in its graph.
    """

    def __init__(self, ranks: int, *, gathers: bool = False) -> None:
        super().__init__()
        self.ranks, self.gathers = ranks if _exchanges else 1, gathers

    def forward(self, x: Tensor) -> Tensor:
        if self.ranks == 1:
            return x
        if not self.gathers:
            return Summed.apply(x, True) if torch.is_grad_enabled() else over_ranks(x)  # type: ignore[no-untyped-call]
        from torch.distributed import _functional_collectives as collectives

        assert dist.group.WORLD is not None
        sent = collectives.all_gather_tensor(x, x.dim() - 1, dist.group.WORLD)
        return collectives.wait_tensor(sent)  # type: ignore[no-untyped-call]

    def enter(self, x: Tensor) -> Tensor:
        """x, of which every rank computes with a part: gradients of it are added up."""
        return Summed.apply(x, False) if self.ranks > 1 and torch.is_grad_enabled() else x  # type: ignore[no-untyped-call]


def over_ranks(x: Tensor, how: str = "sum") -> Tensor:
    """The sum (max) of all ranks' x."""
    from torch.distributed import _functional_collectives as collectives

    assert dist.group.WORLD is not None
    sent = collectives.all_reduce(x, how, dist.group.WORLD)
    return collectives.wait_tensor(sent)  # type: ignore[no-untyped-call]


class Summed(torch.autograd.Function):
    """Added up over all ranks forward and passed on backward, or the other way round."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, forward: bool) -> Tensor:
        ctx.backward_sums = not forward
        return over_ranks(x) if forward else x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *above: Any) -> tuple[Tensor, None]:
        return over_ranks(above[0].contiguous()) if ctx.backward_sums else above[0], None


Parallel = Literal["ddp", "ddp-after", "fsdp2", "tp"]

# Gradients that travel together under DDP, unless the switch `bucket` says otherwise: torch's default.
BUCKET_MIB = 25

Loss = Callable[[], Tensor]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A training step over all ranks."""

    loss: Loss
    how: Parallel
    finish: Callable[[], None] | None = None
    """What is left to do between the backward pass and the optimiser; None where that averaged gradients."""


class Whole(nn.Module):
    """Model and loss as one module, for what wraps modules. `run` must compute with `model`."""

    def __init__(self, model: nn.Module, run: Loss) -> None:
        super().__init__()
        self.model = model
        self.run = run

    def forward(self, _: None = None) -> Tensor:
        """FSDP2 moves the first argument of its root to the GPU, so there has to be one."""
        return self.run()


def spread(
    model: nn.Module, run: Loss, optimizer: Optimizer, config: RunConfig, own: Set[nn.Parameter] = frozenset()
) -> Spread:
    """The step over all ranks of what is trained on one. All start from the weights of rank 0.

    Gradients of the parameters in `own` are left to their rank.
    """
    if config.scaling == "tensor":
        # Norms of heads are the same on all ranks, each of which sees the gradient of its own heads.
        norms = [p for name, p in model.named_parameters() if "attention.norms" in name]

        def add_up() -> None:
            for each in norms:
                dist.all_reduce(each.grad)

        return Spread(loss=run, how="tp", finish=add_up)
    whole = Whole(model, run)
    # Every rank begins with the weights of rank 0, also masters of 16-bit ones, which the optimiser alone
    # holds; of an outline each draws its own part.
    held = (parameter for group in optimizer.param_groups for parameter in group["params"])
    if not any(parameter.is_meta for parameter in whole.parameters()):
        for tensor in {id(each): each for each in (*whole.parameters(), *whole.buffers(), *held)}.values():
            dist.broadcast(tensor.detach(), src=0)
    if not fits(model, config):
        shard(whole, model, optimizer, config.device, own)
        return Spread(loss=partial(whole, None), how="fsdp2")
    if config.recipe != "script" and config.switches.overlap_grads == "off":
        shared = [parameter for parameter in whole.parameters() if parameter not in own]
        most = bucket_bytes("ddp-after", config)
        assert most is not None
        return Spread(loss=run, how="ddp-after", finish=Buckets(shared, most))
    return Spread(loss=replicated(whole, config, own), how="ddp")


def bucket_bytes(how: str | None, config: RunConfig) -> int | None:
    """Gradients that travel together; None where they do not travel in buckets."""
    usual = {"ddp": BUCKET_MIB, "ddp-after": LATE_BUCKET_MIB}.get(how or "")
    if usual is None:
        return None
    bucket = config.switches.bucket if config.recipe != "script" else "usual"
    return (usual if bucket == "usual" else int(bucket)) * 2**20


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
