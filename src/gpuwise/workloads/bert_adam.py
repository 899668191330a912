"""The optimiser of the benchmark article's BERT script, for the recipe script only.

Adam with decoupled weight decay and without bias correction, as BERT was released, applied
tensor by tensor in a Python loop that also clips each tensor's gradient to norm 1: about ten
kernel launches a tensor, some 4,000 a step for BERT-large. Its cost is part of what the
article's figures measure; `torch.optim.AdamW(fused=True)` does the same in a handful.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn


class BertAdam(torch.optim.Optimizer):
    """`param_groups` may set `lr` and `weight_decay`; betas are 0.9 and 0.999, eps is 1e-6."""

    def __init__(self, params: Iterable[Any], lr: float = 3e-5, weight_decay: float = 0.01) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "eps": 1e-6})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """One update. Raises nothing; a gradient of None is passed over."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, group)

    def _update(self, parameter: torch.Tensor, group: dict[str, Any]) -> None:
        state = self.state[parameter]
        if not state:
            state["mean"] = torch.zeros_like(parameter)
            state["square"] = torch.zeros_like(parameter)
        nn.utils.clip_grad_norm_(parameter, 1.0)
        gradient = parameter.grad
        assert gradient is not None
        state["mean"].mul_(0.9).add_(gradient, alpha=0.1)
        state["square"].mul_(0.999).addcmul_(gradient, gradient, value=0.001)
        update = state["mean"] / (state["square"].sqrt() + group["eps"])
        if group["weight_decay"] > 0:
            update += group["weight_decay"] * parameter
        parameter.add_(-(group["lr"] * update))
