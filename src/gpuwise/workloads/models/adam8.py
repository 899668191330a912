"""AdamW (Loshchilov & Hutter 2019, arXiv:1711.05101) whose two moments take 8 bits a value.

Moments are stored in blocks of 256 values with one scale each (Dettmers et al. 2022, arXiv:2110.02861), in a
logarithmic code: a value is scale * STEP^(code - 127), off by at most 4.7 % (the first moment, with a sign)
or 3.7 % (the second), and zero is kept. Below the smallest code a value that is not zero takes that one, so
that no first moment is divided by a second one that vanished.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import log
from typing import Any

import torch
from torch import Tensor, nn

BLOCK = 256
# Values whose moments are widened at a time: their copies in fp32 must not be as large as what was saved.
CHUNK = 1 << 24
# Codes above zero, and the smallest value beside a block's largest.
SIGNED, SIGNED_LEAST = 127, 1e-5
UNSIGNED, UNSIGNED_LEAST = 255, 1e-8
# AdamW's usual ones.
BETAS, EPS = (0.9, 0.999), 1e-8


def encode(x: Tensor, levels: int, least: float) -> tuple[Tensor, Tensor]:
    """(n, 256) fp32 -> codes (int8 with a sign where levels are 127, else uint8) and scales (n, 1) fp32."""
    scale = x.abs().amax(-1, keepdim=True)
    step = -log(least) / (levels - 1)
    share = x.abs() / scale.clamp_min(torch.finfo(x.dtype).tiny)
    code = (share.clamp_min(least).log() / step).round() + levels
    code = torch.where(x == 0, 0.0, code.clamp(1, levels))
    return (code * x.sign()).to(torch.int8) if levels == SIGNED else code.to(torch.uint8), scale


def decode(code: Tensor, scale: Tensor, levels: int, least: float) -> Tensor:
    """The stored values, in fp32."""
    step = -log(least) / (levels - 1)
    size = code.float().abs()
    return torch.where(code == 0, 0.0, ((size - levels) * step).exp() * code.float().sign()) * scale


def update(
    weight: Tensor,
    gradient: Tensor,
    first: Tensor,
    first_scale: Tensor,
    second: Tensor,
    second_scale: Tensor,
    lr: Tensor,
    decay: float,
    corrections: Tensor,
) -> tuple[Tensor, ...]:
    """Blocks (n, 256) of everything -> new weights, codes and scales."""
    g, (beta1, beta2) = gradient.float(), BETAS
    m = decode(first, first_scale, SIGNED, SIGNED_LEAST).lerp(g, 1 - beta1)
    v = decode(second, second_scale, UNSIGNED, UNSIGNED_LEAST) * beta2 + (1 - beta2) * g * g
    move = (m / corrections[0]) / ((v / corrections[1]).sqrt() + EPS)
    new = (weight.float() * (1 - lr * decay) - lr * move).to(weight.dtype)
    return new, *encode(m, SIGNED, SIGNED_LEAST), *encode(v, UNSIGNED, UNSIGNED_LEAST)


class Adam8bit(torch.optim.Optimizer):
    """AdamW with moments in 8 bits; weights and gradients in whatever format they have."""

    def __init__(
        self, params: Iterable[nn.Parameter], lr: float, weight_decay: float = 0.0, *, compiled: bool = False
    ) -> None:
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay})
        self.update: Callable[..., tuple[Tensor, ...]] = torch.compile(update) if compiled else update

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """One step for every parameter that has a gradient."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._step(parameter, group)

    def _step(self, parameter: nn.Parameter, group: dict[str, Any]) -> None:
        # Of a parameter that is split over ranks, this rank's part.
        weight: Tensor = getattr(parameter, "_local_tensor", parameter)
        assert parameter.grad is not None
        gradient: Tensor = getattr(parameter.grad, "_local_tensor", parameter.grad)
        if not weight.numel():
            return
        flat, state = weight.reshape(-1), self.state[parameter]
        blocks = -(-flat.numel() // BLOCK)
        if not state:
            state["step"] = 0
            state["first"] = torch.zeros(blocks, BLOCK, dtype=torch.int8, device=weight.device)
            state["second"] = torch.zeros(blocks, BLOCK, dtype=torch.uint8, device=weight.device)
            for name in ("first_scale", "second_scale"):
                state[name] = torch.zeros(blocks, 1, device=weight.device)
        state["step"] += 1
        corrections = torch.tensor([1 - beta ** state["step"] for beta in BETAS], device=weight.device)
        rate = torch.tensor(group["lr"], device=weight.device)
        for start in range(0, blocks, CHUNK // BLOCK):
            rows = slice(start, min(start + CHUNK // BLOCK, blocks))
            values = slice(rows.start * BLOCK, min(rows.stop * BLOCK, flat.numel()))
            short = (rows.stop - rows.start) * BLOCK - (values.stop - values.start)
            parts = [
                nn.functional.pad(each[values], (0, short)).view(-1, BLOCK)
                for each in (flat, gradient.reshape(-1))
            ]
            names = ("first", "first_scale", "second", "second_scale")
            parts += [state[name][rows] for name in names]
            new, *stored = self.update(*parts, rate, group["weight_decay"], corrections)
            flat[values] = new.view(-1)[: values.stop - values.start]
            for name, value in zip(names, stored, strict=True):
                state[name][rows] = value
        if flat.data_ptr() != weight.data_ptr():
            weight.copy_(flat.view_as(weight))
