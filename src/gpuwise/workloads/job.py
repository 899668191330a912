"""From a model to the zero-argument step that is timed, in the precision and recipe asked for.

Stock and tuned: forward and loss are one compiled graph, the optimiser is fused, inference runs on weights
stored in the precision; compiler options, cuDNN's search, attention kernels and 16-bit weights are what the
recipe's switches say. Script: only the model is compiled, loss, backward and optimiser run under autocast
with a gradient scaler, as in the benchmark article's public script.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from gpuwise.errors import InputError
from gpuwise.model.precision import Half, Precision
from gpuwise.model.question import RunConfig, Switches

if TYPE_CHECKING:
    from gpuwise.workloads.input import Feed
    from gpuwise.workloads.models.float8 import Scales

_HALVES: dict[Half, torch.dtype] = {"fp16": torch.float16, "bf16": torch.bfloat16}

# Steps over which the norm of gradients is averaged, which dropout moves by percents; one elsewhere.
NORMS = {"cuda": 4}
# Times that the fp16 scaler may halve its scale before gradients fit: from 2^16 to below 1.
SCALES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A workload that is ready to run: `step` does one step and returns a tensor that stays on the device.

    `mismatch` (compiled jobs) returns the relative difference between the compiled and the eager
    result on the same weights and input; it is called once, before anything is timed.
    """

    step: Callable[[], Tensor]
    items: int
    rehearse: Callable[[], object] | None = None
    """A step that changes no weight: what its first call has to compile and try out is done then, and
    counts as the start of the job and not of the checks below."""
    mismatch: Callable[[], float] | None = None
    gradient_norm: Callable[[], float] | None = None
    """Training: the norm of all gradients of a step from the first weights, without the update. NaN
    where it is not finite even without a scale."""
    reference_norm: Callable[[], float] | None = None  # FP8 training: the same where products are in bf16
    inputs: tuple[Tensor, ...] = ()
    """What a step reads: always the same tensors, in which a pipeline may write new values."""
    feed: Feed | None = None  # How to fill them from the host, where the workload has a pipeline for it
    parallel: str | None = None  # How a training step is spread over ranks, where there are several


def set_precision(config: RunConfig) -> None:
    """Set torch's global switches so that `config.precision` is what really runs.

    fp32 means IEEE: TF32 is off for matrix products and, against torch's default, for
    convolutions. Call it before the model is built or compiled.
    """
    tf32 = config.precision == "tf32"
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    torch.backends.cudnn.allow_tf32 = tf32
    set_libraries(config)


def dtype_of(precision: Precision) -> torch.dtype:
    """The type of activations and 16-bit weights; 8-bit weights come beside activations in bf16."""
    if precision == Precision.FP64:
        return torch.float64
    return torch.float32 if precision.base is None else _HALVES[precision.base]


def half_of(config: RunConfig) -> torch.dtype | None:
    """The 16-bit type of autocast; None where there is none. FP8 training is in bf16 between products."""
    half = config.precision.base if config.mode == "train" else config.precision.autocast
    return None if half is None else _HALVES[half]


def autocast(config: RunConfig) -> torch.autocast:
    """Autocast to fp16 or bf16, or a context that does nothing."""
    dtype = half_of(config)
    return torch.autocast(config.device, dtype=dtype or torch.bfloat16, enabled=dtype is not None)


def training_job(
    model: nn.Module,
    inputs: tuple[Tensor, ...],
    loss_of: Callable[[Any], Tensor],
    optimizer: torch.optim.Optimizer,
    config: RunConfig,
    items: int,
    *,
    scales: Scales | None = None,
) -> Job:
    """Forward, `loss_of(output)`, backward, optimiser, on one fixed batch; `scales` are of FP8 layers."""
    model.train()
    script = config.recipe == "script"
    if by_blocks(config):
        compile_blocks(model, config)
        loss_of = compiled(loss_of, config)

    def forward(network: Callable[..., Any]) -> Tensor:
        with autocast(config):
            return loss_of(network(*inputs))

    def eager() -> Tensor:
        return forward(model)

    run: Callable[[], Tensor] = eager
    if config.compile and script:
        run = partial(forward, torch.compile(model))
    elif config.compile and not by_blocks(config):
        run = compiled(eager, config)
    several = config.gpus > 1
    if several:
        from gpuwise.workloads.parallel import fits, spread  # torch.distributed: nothing for one GPU
    # Where weights are split over GPUs, products read them as they are gathered, in 16 bits already.
    half = config.recipe != "script" and config.switches.master_weights == "on" and config.precision.autocast
    copies = None
    if half and (not several or fits(model, config)):
        copies = HalfPrecisionWeights(model, _HALVES[half])
    seen = frozenset(scales.seen if scales is not None else ())
    parallel = spread(model, run, optimizer, config, seen) if several else None
    if parallel is not None:
        run = parallel.loss
    # Only fp16 needs it: bf16 has the range of fp32. Switched off it passes everything through.
    scaler = torch.amp.GradScaler(config.device, enabled=config.precision == "fp16")

    def know_scales() -> None:
        # FP8 scales come from the step before; without a few unread passes the first step would overflow.
        while scales is not None and not scales.known:
            torch.autograd.backward(run())
            scales.update()
            optimizer.zero_grad(set_to_none=True)

    def backward() -> Tensor:
        know_scales()
        loss = run()
        torch.autograd.backward(scaler.scale(loss))
        if parallel is not None and parallel.finish is not None:
            parallel.finish()
        if copies is not None:
            copies.copy_grads_to_master()
        if scales is not None:
            scales.update()
        # A CUDA graph writes the next step's loss to the same place.
        return loss.detach().clone() if config.switches.graph == "on" else loss.detach()

    def step() -> Tensor:
        # PyTorch advises against backward under autocast; the public script does it.
        with autocast(config) if script else nullcontext():
            loss = backward()
            scaler.step(optimizer)
            scaler.update()
        if copies is not None:
            copies.copy_master_to_params()
        # To None, not to zero: zeros would be written and read once more in each step.
        optimizer.zero_grad(set_to_none=True)
        return loss

    def rehearse() -> None:
        backward()
        optimizer.zero_grad(set_to_none=True)

    def norm_of_one() -> float:
        backward()
        scaler.unscale_(optimizer)
        norm = norm_of_gradients(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        return norm

    def mean_norm(of_one: Callable[[], float]) -> float:
        """With the same values dropped, in whatever precision products are; scales are known."""
        torch.manual_seed(0)
        # The mean of so many finite norms; NaN where `SCALES` more steps do not bring them
        wanted = NORMS.get(config.device, 1)
        norms: list[float] = []
        for _ in range(wanted + SCALES):
            value = of_one()
            if math.isfinite(value):
                norms.append(value)
            if len(norms) == wanted:
                return statistics.fmean(norms)
        return math.nan

    def gradient_norm() -> float:
        know_scales()
        return mean_norm(norm_of_one)

    def exact() -> float:
        # Compiled where the step is: eager, a batch that fills the memory would not fit.
        torch.autograd.backward(run())
        norm = norm_of_gradients(optimizer)
        optimizer.zero_grad(set_to_none=True)
        return norm

    def reference_norm() -> float:
        assert scales is not None
        know_scales()
        with scales.off():
            return mean_norm(exact)

    def mismatch() -> float:
        # Before anything is trained: the same weights and input, compiled and eager.
        with torch.no_grad(), torch.compiler.set_stance("force_eager"):
            expected = eager()
        return relative_difference(run().detach(), expected)

    # On several ranks it would be their common loss against one rank's; one GPU alone has checked it.
    checked = config.compile and parallel is None
    return Job(
        step=step,
        items=items,
        inputs=inputs,
        rehearse=rehearse if parallel is None else None,
        mismatch=mismatch if checked else None,
        gradient_norm=gradient_norm if parallel is None else None,
        reference_norm=reference_norm if parallel is None and scales is not None else None,
        parallel=parallel.how if parallel is not None else None,
    )


def inference_job(model: nn.Module, inputs: tuple[Tensor, ...], config: RunConfig, items: int) -> Job:
    """Forward only, in evaluation mode; tuned casts weights and float inputs beforehand. Where steps are
    replayed from a CUDA graph the next one overwrites the output."""
    model.eval()
    dtype = half_of(config)
    cast = dtype is not None and config.recipe != "script"
    if cast:
        model = model.to(dtype)
        inputs = tuple(x.to(dtype) if x.is_floating_point() else x for x in inputs)
    run: Callable[..., Any] = model
    if by_blocks(config):
        compile_blocks(model, config)
    elif config.compile:
        run = compiled(model, config)

    def call(function: Callable[..., Any]) -> Tensor:
        with (
            torch.inference_mode(),
            autocast(config) if not cast else torch.autocast(config.device, enabled=False),
        ):
            output = function(*inputs)
        return output[0] if isinstance(output, tuple) else output

    def mismatch() -> float:
        with torch.compiler.set_stance("force_eager"):
            expected = call(model)
        return relative_difference(call(run), expected)

    return Job(
        step=lambda: call(run),
        items=items,
        rehearse=lambda: call(run),
        mismatch=mismatch if config.compile else None,
        inputs=inputs,
    )


def as_graph(work: Callable[[], Tensor]) -> Callable[[], Tensor]:
    """`work` captured once, as a step that replays it."""
    work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = work()

    # The step keeps `work`: a graph replays addresses, so what it reads must live as long as it does.
    def step(keep: object = work) -> Tensor:
        graph.replay()
        return out

    return step


def norm_of_gradients(optimizer: torch.optim.Optimizer) -> float:
    """Euclidean norm of all gradients together, in fp32."""
    every = [
        p.grad.float() for group in optimizer.param_groups for p in group["params"] if p.grad is not None
    ]
    return float(torch.stack([gradient.norm() for gradient in every]).norm())


def relative_difference(actual: Tensor, expected: Tensor) -> float:
    """||actual - expected|| / ||expected|| in fp32; NaN where either holds one."""
    a, b = actual.detach().float(), expected.detach().float()
    return float((a - b).norm() / b.norm().clamp_min(1e-12))


SEARCHES: dict[str, dict[str, bool]] = {
    "default": {},
    "descent": {"coordinate_descent_tuning": True},
    "autotune": {"coordinate_descent_tuning": True, "max_autotune": True},
}


def compiled(function: Callable[..., Any], config: RunConfig) -> Callable[..., Any]:
    """torch.compile for one shape, with the search and the CUDA graph of the recipe."""
    return torch.compile(function, dynamic=False, options=_options(config))


def blocks(model: nn.Module) -> Iterator[nn.Module]:
    """The repeated blocks: the members of every list of modules that is not inside another."""
    for child in model.children():
        if isinstance(child, nn.ModuleList):
            yield from child
        else:
            yield from blocks(child)


def by_blocks(config: RunConfig) -> bool:
    """True if repeated blocks are compiled one by one."""
    return config.compile and config.recipe != "script" and config.switches.compile_scope == "block"


def compile_blocks(model: nn.Module, config: RunConfig) -> None:
    """Compile every repeated block in place; those that are alike find the code of the first.

    Raises InputError where the model does not consist of such: torch gives up after some that differ.
    """
    parts = list(blocks(model))
    alike = {(type(block), *(weight.shape for weight in block.parameters())) for block in parts}
    if not parts or len(alike) > len({kind for kind, *_ in alike}):
        why = f"{config.workload} is not made of equal blocks"
        raise InputError(why, hint="leave out the switch compile_scope=block")
    for block in parts:
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


# Algorithms that cuDNN tries for each convolution in a first picture, of the ten that it tries else, which
# take 10 of the 21 seconds of ResNet-50's quick row on an H200. Its heuristics put the best ones first.
QUICK_SEARCH = 3


def set_libraries(config: RunConfig) -> None:
    """cuDNN's search for algorithms and the attention kernels that torch may take."""
    tuned = config.recipe != "script"
    # One shape for a whole run: the search costs its first step only.
    torch.backends.cudnn.benchmark = tuned
    if config.quick and config.device == "cuda":
        torch.backends.cudnn.benchmark_limit = QUICK_SEARCH
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
        gradients = [copy.grad for copy in self.copies if copy.grad is not None]
        torch._foreach_copy_(self.gradients, gradients)
        for master, gradient, copy in zip(self.masters, self.gradients, self.copies, strict=True):
            master.grad, copy.grad = gradient, None

    @torch.no_grad()
    def copy_master_to_params(self) -> None:
        """After the optimiser."""
        torch._foreach_copy_(self.copies, self.masters)
