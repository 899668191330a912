"""From a model to the zero-argument step that is timed, in the precision and recipe asked for.

Tuned: forward and loss are one compiled graph, the optimiser is fused, inference runs on weights
stored in the precision. Parity: only the model is compiled, loss, backward and optimiser run
under autocast with a gradient scaler, as in the benchmark article's public script.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from gpuwise.model.run import RunConfig

DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What the engine runs: `step` does one step and returns a tensor that stays on the device.

    `mismatch` (compiled jobs) returns the relative difference between the compiled and the eager
    result on the same weights and input; it is called once, before anything is timed.
    """

    step: Callable[[], Tensor]
    items: int
    mismatch: Callable[[], float] | None = None


def set_precision(config: RunConfig) -> None:
    """Set torch's global switches so that `config.precision` is what really runs.

    fp32 means IEEE: TF32 is off for matrix products and, against torch's default, for
    convolutions. Call it before the model is built or compiled.
    """
    tf32 = config.precision == "tf32"
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = config.recipe == "tuned"


def autocast(config: RunConfig) -> torch.autocast:
    """Autocast to fp16 or bf16, or a context that does nothing."""
    dtype = DTYPES.get(config.precision)
    return torch.autocast(config.device, dtype=dtype or torch.bfloat16, enabled=dtype is not None)


def training_job(
    model: nn.Module,
    inputs: tuple[Tensor, ...],
    loss_of: Callable[[Any], Tensor],
    optimizer: torch.optim.Optimizer,
    config: RunConfig,
    items: int,
) -> Job:
    """Forward, `loss_of(output)`, backward, optimiser, on one fixed batch."""
    model.train()
    parity = config.recipe == "parity"

    def forward(network: Callable[..., Any]) -> Tensor:
        with autocast(config):
            return loss_of(network(*inputs))

    def eager() -> Tensor:
        return forward(model)

    run: Callable[[], Tensor] = eager
    if config.compile and parity:
        run = partial(forward, torch.compile(model))
    elif config.compile:
        run = torch.compile(eager, dynamic=False)
    scaler = torch.amp.GradScaler(config.device, enabled=config.precision == "fp16")

    def step() -> Tensor:
        # PyTorch advises against backward under autocast; the public script does it.
        with autocast(config) if parity else nullcontext():
            loss = run()
            torch.autograd.backward(scaler.scale(loss))
            scaler.step(optimizer)
            scaler.update()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    def mismatch() -> float:
        with torch.no_grad():
            expected = eager()
        return relative_difference(run().detach(), expected)

    return Job(step=step, items=items, mismatch=mismatch if config.compile else None)


def inference_job(
    model: nn.Module,
    inputs: tuple[Tensor, ...],
    config: RunConfig,
    items: int,
    *,
    compile_mode: str | None = None,
) -> Job:
    """Forward only, in evaluation mode; tuned casts weights and float inputs beforehand.

    `compile_mode` is torch.compile's; "reduce-overhead" replays a CUDA graph, whose output the
    next step overwrites.
    """
    model.eval()
    dtype = DTYPES.get(config.precision)
    cast = dtype is not None and config.recipe == "tuned"
    if cast:
        model = model.to(dtype)
        inputs = tuple(x.to(dtype) if x.is_floating_point() else x for x in inputs)
    run = torch.compile(model, dynamic=False, mode=compile_mode) if config.compile else model

    def call(function: Callable[..., Any]) -> Tensor:
        with (
            torch.inference_mode(),
            autocast(config) if not cast else torch.autocast(config.device, enabled=False),
        ):
            output = function(*inputs)
        first: Tensor = output[0] if isinstance(output, tuple) else output
        return first

    def mismatch() -> float:
        return relative_difference(call(run), call(model))

    return Job(step=lambda: call(run), items=items, mismatch=mismatch if config.compile else None)


def relative_difference(actual: Tensor, expected: Tensor) -> float:
    """||actual - expected|| / ||expected|| in fp32; NaN where either holds one."""
    a, b = actual.detach().float(), expected.detach().float()
    return float((a - b).norm() / b.norm().clamp_min(1e-12))
