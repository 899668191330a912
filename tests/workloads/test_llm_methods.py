"""Mixtures of experts, QLoRA and checkpointing against plain references; names of language models."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from gpuwise import workloads
from gpuwise.errors import InputError
from gpuwise.model.precision import Precision
from gpuwise.workloads import llm
from gpuwise.workloads.llm import TOY_TOKENS
from gpuwise.workloads.models.cross_entropy import chunked_cross_entropy
from gpuwise.workloads.models.decoder import Experts, build_decoder
from gpuwise.workloads.models.llm_jobs import LoraLinear, add_lora
from gpuwise.workloads.models.quantized import NarrowLinear

from .conftest import SHAPES, build, toy

EXPERTS = SHAPES["toy-experts"]


def one_after_the_other(experts: Experts, x: Tensor) -> Tensor:
    """What the mixture computes, token by token."""
    rows = []
    for row in x.flatten(0, -2):
        scores, chosen = (experts.router.weight @ row).topk(experts.shape.chosen)
        total = torch.zeros_like(row)
        for weight, index in zip(scores.softmax(-1), chosen, strict=True):
            gate, up = (experts.gate_up[index] @ row).chunk(2)
            total = total + weight * (experts.down[index] @ (functional.silu(gate) * up))
        rows.append(total)
    return torch.stack(rows).view(x.shape)


def test_a_mixture_is_its_experts_one_after_the_other() -> None:
    experts = Experts(EXPERTS)
    for parameter in experts.parameters():
        nn.init.normal_(parameter, std=0.2)
    x, pull = torch.randn(2, 5, EXPERTS.hidden, requires_grad=True), torch.randn(2, 5, EXPERTS.hidden)
    trained = (x, *experts.parameters())
    found, wanted = experts(x), one_after_the_other(experts, x)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
    for mine, theirs in zip(
        torch.autograd.grad(found, trained, pull), torch.autograd.grad(wanted, trained, pull), strict=True
    ):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", ["toy", "toy-experts"])
def test_checkpointing_changes_no_gradient(shape: str) -> None:
    model = build_decoder(SHAPES[shape], 16, torch.float32, "cpu")
    tokens = torch.randint(256, (2, 16))
    gradients = []
    for again in (False, True):
        model.recompute = again
        model.zero_grad()
        chunked_cross_entropy(model(tokens), model.head_weight, tokens).backward()
        gradients.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
    assert len(gradients[0]) == len(list(model.parameters()))
    for plain, recomputed in zip(*gradients, strict=True):
        assert torch.equal(plain, recomputed)


def test_adapters_on_narrow_weights_have_the_gradients_of_the_widened_ones() -> None:
    """Of QLoRA against LoRA over what NF4 stores, to the rounding of fp32."""
    narrow = build_decoder(SHAPES["toy"], 16, torch.float32, "cpu", narrow=Precision.NF4)
    wide = copy.deepcopy(narrow)
    for name, layer in list(wide.layers.named_modules()):
        if isinstance(layer, NarrowLinear):
            linear = nn.Linear(layer.in_features, layer.out_features, bias=False)
            linear.weight = nn.Parameter(layer.wide(torch.float32))
            wide.layers.set_submodule(name, linear)
    tokens, gradients = torch.randint(256, (2, 16)), []
    for model in (narrow, wide):
        torch.manual_seed(1)
        add_lora(model)
        for part in model.modules():
            if isinstance(part, LoraLinear):
                for up in part.up:
                    nn.init.normal_(up, std=0.05)
        model(tokens).square().sum().backward()
        gradients.append([p.grad for p in model.parameters() if p.requires_grad])
    assert len(gradients[0]) == SHAPES["toy"].layers * (4 + 7)
    for mine, theirs in zip(*gradients, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-4)


def test_narrow_weights_are_not_kept_wide_for_the_gradient() -> None:
    layer = NarrowLinear(nn.Linear(128, 64, bias=False), Precision.NF4)
    kept: list[Tensor] = []
    x = torch.randn(4, 128, requires_grad=True)

    def keep(tensor: Tensor) -> Tensor:
        kept.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t):
        y = layer(x)
    assert {t.data_ptr() for t in kept} == {t.data_ptr() for t in layer.buffers()}
    torch.testing.assert_close(
        torch.autograd.grad(y.sum(), x)[0], layer.wide(torch.float32).sum(0).expand(4, -1)
    )


@pytest.mark.parametrize(
    "name",
    ["llama-3.1-8b-full-checkpointed", "qwen3-30b-a3b-lora", "llama-3.1-70b-qlora-4k", "mixtral-8x7b-full"],
)
def test_training_by_name_learns(name: str) -> None:
    job = build(toy(name, "train", Precision.BF16), 2)
    losses = [float(job.step()) for _ in range(8)]
    assert job.items == 2 * TOY_TOKENS
    assert 0.9 * losses[0] < losses[-1] < losses[0]


@pytest.mark.parametrize("name", ["qwen3-30b-a3b-decode", "mixtral-8x7b-prefill", "qwen3-8b-decode-32k"])
def test_inference_by_name_runs(name: str) -> None:
    logits = build(toy(name, "infer", Precision.BF16), 2).step()
    assert logits.shape == (2, 256)
    assert bool(logits.isfinite().all())


def test_a_name_says_model_step_checkpointing_and_context() -> None:
    spec = workloads.get("llama-3.1-8b-qlora-checkpointed-8k").spec
    assert (spec.modes, spec.default_batch, spec.parameters) == (("train",), 2, 8_030_261_248 + 41_943_040)
    assert workloads.get("meta-llama/Llama-3.1-8B-Instruct-decode").spec.id == "llama-3.1-8b-decode"
    short, long = (workloads.get(f"llama-3.1-8b-decode{k}").spec.cost for k in ("", "-32k"))
    assert short is not None
    assert long is not None
    cache = [cost("infer", Precision.INT4, 256).bytes_per_item or 0 for cost in (short, long)]
    assert cache[1] - cache[0] == pytest.approx(2 * 8 * 128 * 32 * 30 * 1024 * 2)


@pytest.mark.parametrize(
    ("modes", "method", "again", "context", "names"),
    [
        (("infer",), None, False, None, ("m-decode", "m-prefill")),
        (("train", "infer"), None, False, 4096, ("m-decode-4k", "m-prefill-4k")),
        (("train",), None, False, None, ("m-full",)),
        (("train",), "qlora", True, 8192, ("m-qlora-checkpointed-8k",)),
        (("train", "infer"), "lora", False, 2048, ("m-lora",)),
    ],
)
def test_options_make_names(
    modes: tuple[llm.Mode, ...], method: llm.Method | None, again: bool, context: int | None,
    names: tuple[str, ...],
) -> None:  # fmt: skip
    assert llm.names_of("m", modes, method, again, context) == names


@pytest.mark.parametrize(("method", "context"), [("lora", None), (None, 1000), (None, 3000)])
def test_options_that_cannot_be(method: llm.Method | None, context: int | None) -> None:
    with pytest.raises(InputError):
        llm.names_of("m", ("infer",), method, False, context)


def test_a_context_beyond_the_models_is_refused() -> None:
    with pytest.raises(InputError):
        workloads.get("llama-2-7b-decode-8k")


def test_options_of_a_model_are_refused_for_other_workloads() -> None:
    assert workloads.expand("resnet50", ("train",)) == ("resnet50",)
    assert workloads.expand("llama-3.1-8b-decode", ("infer",)) == ("llama-3.1-8b-decode",)
    with pytest.raises(InputError):
        workloads.expand("resnet50", ("train",), contexts=(4096,))
    with pytest.raises(InputError):
        workloads.expand("llama-3.1-8b", ("train",), methods=("qdora",))
