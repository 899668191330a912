"""A user's module without its data, so that tracing takes no memory and changes nothing of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn


class Bound(nn.Module):
    """A module run on tensors without data in place of its parameters and buffers, which stay as they are,
    with some keyword arguments given. Shared parameters stay shared."""

    def __init__(self, module: nn.Module, keywords: dict[str, Any]) -> None:
        super().__init__()
        self._module = (module,)  # in a tuple: not a part, so its weights are not this module's
        self._keywords = keywords
        self._names: dict[str, tuple[str, int]] = {}
        found = {id(p): i for i, p in enumerate(module.parameters())}
        self.weights = nn.ParameterList(
            nn.Parameter(torch.empty_like(p, device="meta"), p.requires_grad) for p in module.parameters()
        )
        for name, p in module.named_parameters(remove_duplicate=False):
            self._names[name] = ("weight", found[id(p)])
        for i, (name, buffer) in enumerate(module.named_buffers(remove_duplicate=False)):
            self.register_buffer(f"buffer{i}", torch.empty_like(buffer, device="meta"))
            self._names[name] = ("buffer", i)

    def forward(self, *args: Any) -> Any:
        own = {
            name: self.weights[i] if kind == "weight" else getattr(self, f"buffer{i}")
            for name, (kind, i) in self._names.items()
        }
        return torch.func.functional_call(self._module[0], own, args, self._keywords)


@contextmanager
def trained(module: nn.Module, *, training: bool) -> Iterator[None]:
    """The module in training or evaluation mode; afterwards each part in its own again."""
    before = {part: part.training for part in module.modules()}
    module.train(training)
    try:
        yield
    finally:
        for part, was in before.items():
            part.training = was
