"""Gradients averaged over all ranks after the backward pass, side by side in a few large buckets.

A link reaches its full speed with tens of MiB at once, and most gradients are smaller. So those of one
type are copied into buckets, and each bucket's all-reduce runs while the next one is filled. From then
on the gradients are views of the buckets: nothing is copied back. On a ring of n ranks whose links move
B bytes/s one way, G bytes of gradients take 2 (n - 1) / n * G / B seconds, which nothing hides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import torch
import torch.distributed as dist
from torch import Tensor, nn

BUCKET_MIB = 256
"""Large enough for a link's full speed, small enough that filling one hides behind sending another. What the
switch `bucket` says goes before it."""
ALIGNED = 64
"""Every gradient begins at a multiple of so many values, as kernels that read several at once want it."""


class Bucket:
    """Gradients of one type in one tensor; each has the strides of its parameter."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self._parameters = parameters
        room, places = 0, []
        for parameter in parameters:
            places.append(room)
            room += -(-parameter.numel() // ALIGNED) * ALIGNED
        self._flat = parameters[0].new_zeros(room)
        self._views = [
            self._flat.as_strided(parameter.size(), parameter.stride(), place)
            for parameter, place in zip(parameters, places, strict=True)
        ]

    def fill(self) -> None:
        """Take the gradients in; the parameters have these views of them from now on."""
        torch._foreach_copy_(self._views, [gradient(parameter) for parameter in self._parameters])
        for parameter, view in zip(self._parameters, self._views, strict=True):
            parameter.grad = view

    def send(self) -> dist.Work:
        """Begin to average with the other ranks' buckets."""
        how = dist.ReduceOp.AVG
        if dist.get_backend() != "nccl":  # which alone can average in every release
            self._flat.div_(dist.get_world_size())
            how = dist.ReduceOp.SUM
        sent: dist.Work = dist.all_reduce(self._flat, how, async_op=True)
        return sent


class Buckets:
    """All gradients of some parameters, averaged at every call; all ranks have those of the same ones."""

    def __init__(self, parameters: Sequence[nn.Parameter], most: int) -> None:
        """Buckets hold at most `most` bytes each."""
        self._parameters, self._most = parameters, most
        self._buckets: list[Bucket] = []

    @torch.no_grad()
    def __call__(self) -> None:
        """Average. Which parameters have gradients is settled at the first call."""
        if not self._buckets:
            there = [parameter for parameter in self._parameters if parameter.grad is not None]
            self._buckets = [Bucket(each) for each in packed(there, self._most)]
        sent = []
        for bucket in self._buckets:
            bucket.fill()
            sent.append(bucket.send())
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


def gradient(parameter: nn.Parameter) -> Tensor:
    """What the backward pass left."""
    assert parameter.grad is not None, "a parameter that had a gradient has none"
    return parameter.grad
