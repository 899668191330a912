"""FP8 training on the CPU, which has no such arithmetic but the same rounding."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType

import pytest
import torch
from torch import nn

from gpuwise.workloads.models import bert
from gpuwise.workloads.models.float8 import LARGEST, Float8Linear, Scales, cast, feed_forward

from .conftest import build, toy


def layers() -> tuple[nn.Sequential, nn.Sequential]:
    """Two layers, and the same in FP8."""
    plain, eight = (nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 16)) for _ in range(2))
    eight.load_state_dict(plain.state_dict())
    return plain, eight


def gradients(model: nn.Module, x: torch.Tensor) -> dict[str, torch.Tensor]:
    model.zero_grad()
    model(x).float().square().mean().backward()
    return {n: p.grad for n, p in model.named_parameters() if p.grad is not None and "seen" not in n}


def test_a_cast_is_near_and_never_beyond_the_largest() -> None:
    x = torch.randn(40, 24) * 10
    largest = x.abs().max()
    narrow, turned, seen, sums = cast(x, largest, sums=True)
    scale = largest / LARGEST
    error = (narrow.float() * scale - x).abs()
    # Half a unit in the last of three binary digits, or of the smallest number.
    assert bool((error <= 2**-4 * x.abs() + scale * 2**-10).all())
    assert torch.equal(turned.float(), narrow.float().t())
    assert turned.is_contiguous()
    assert seen == largest
    torch.testing.assert_close(sums, x.sum(0))
    outside, _, seen, _ = cast(x * 100, largest)
    assert outside.float().abs().max() == LARGEST
    assert seen == 100 * largest


def test_gradients_point_where_the_exact_ones_do() -> None:
    plain, eight = layers()
    scales = Scales(eight)
    x = torch.randn(128, 32)
    exact = gradients(plain, x)
    while not scales.known:
        gradients(eight, x)
        scales.update()
    found = gradients(eight, x)
    assert found.keys() == exact.keys()
    for name, gradient in found.items():
        assert gradient.dtype == torch.float32
        alike = torch.nn.functional.cosine_similarity(gradient.flatten(), exact[name].flatten(), dim=0)
        assert alike > 0.99, name
        assert gradient.norm() == pytest.approx(float(exact[name].norm()), rel=0.03), name


def test_a_feed_forward_block_in_one_is_its_layers_one_by_one() -> None:
    """GELU's result and its gradient are not rounded to 16 bits on the way, that is all."""
    expand, contract = (Float8Linear(nn.Linear(*sides)) for sides in ((32, 128), (128, 32)))
    x, pull = torch.randn(4, 64, 32, requires_grad=True), torch.randn(4, 64, 32)
    largest = {expand: (4.5, 0.2, 2.0), contract: (3.5, 0.1, 4.5)}
    with torch.no_grad():
        for layer, seen in largest.items():
            layer.seen.copy_(torch.tensor(seen))
    nn.init.normal_(expand.bias)
    trained = [x, expand.weight, expand.bias, contract.weight, expand.seen, contract.seen]

    def run(block: Callable[[], torch.Tensor]) -> list[torch.Tensor]:
        y = block()
        return [y, *torch.autograd.grad(y, trained, pull.to(y.dtype))]

    plain = run(lambda: contract.without_bias(nn.functional.gelu(expand(x))))
    fused = run(lambda: feed_forward(x, expand, contract))
    for one, other in zip(fused, plain, strict=True):
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        assert (one - other).norm() < 0.04 * other.norm()
    assert not torch.equal(fused[0], plain[0])


def test_a_block_that_is_exact_or_not_in_fp8_is_computed_layer_by_layer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its kernels are Triton's, for which a stand-in computes here."""
    kernels = ModuleType("gelu")
    kernels.bias_gelu = lambda x, bias: nn.functional.gelu(x + bias)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "gpuwise.workloads.kernels.gelu", kernels)
    torch.manual_seed(0)
    plain = nn.Linear(32, 64), nn.Linear(64, 32)
    block = nn.Sequential(*plain)
    x = torch.randn(16, 32)
    wanted = nn.functional.linear(nn.functional.gelu(plain[0](x)), plain[1].weight)
    torch.testing.assert_close(bert.feed_forward(x, *plain), wanted)
    scales = Scales(block)
    with scales.off():
        exact = bert.feed_forward(x, block[0], block[1])  # type: ignore[arg-type]
    assert (exact - wanted).norm() < 0.01 * wanted.norm()
    assert (bert.feed_forward(x, block[0], block[1]) - wanted).norm() < 0.2 * wanted.norm()  # type: ignore[arg-type]
    assert not torch.equal(bert.feed_forward(x, block[0], block[1]), exact)  # type: ignore[arg-type]


def test_scales_are_what_the_last_step_saw() -> None:
    _, eight = layers()
    scales = Scales(eight)
    x = torch.randn(16, 32)
    gradients(eight, x)
    scales.update()
    first = eight[0]
    assert isinstance(first, Float8Linear)
    seen = first.seen.tolist()
    assert seen[0] == pytest.approx(float(x.to(torch.bfloat16).abs().max()))
    assert seen[1] == pytest.approx(float(first.weight.detach().to(torch.bfloat16).abs().max()))
    assert 0 < seen[2] < 1
    assert first.seen.grad is None


def test_sides_that_are_no_multiple_of_16_stay_as_they_are() -> None:
    model = nn.Sequential(nn.Linear(32, 24), nn.Linear(24, 32), nn.Linear(32, 48))
    Scales(model)
    assert [type(layer) for layer in model] == [nn.Linear, nn.Linear, Float8Linear]


def test_parameters_are_the_same_objects() -> None:
    """The optimiser was made before."""
    _, eight = layers()
    before = list(eight.parameters())
    Scales(eight)
    after = [p for name, p in eight.named_parameters() if not name.endswith("seen")]
    assert all(a is b for a, b in zip(before, after, strict=True))


def test_bert_trains_in_fp8_as_in_bf16() -> None:
    runs = {}
    for precision in ("bf16", "fp8"):
        job = build(toy("bert-large", "train", precision), 16)  # type: ignore[arg-type]
        assert job.gradient_norm is not None
        runs[precision] = [job.gradient_norm(), *(float(job.step()) for _ in range(5))]
    assert runs["fp8"] != runs["bf16"]
    assert runs["fp8"] == pytest.approx(runs["bf16"], rel=0.03)


def test_the_first_step_is_already_scaled() -> None:
    """The steps before it are only seen: no weight moves in them, no gradient stays."""
    job = build(toy("bert-large", "train", "fp8"))
    assert job.gradient_norm is not None
    assert job.gradient_norm() == pytest.approx(job.gradient_norm(), rel=0.02)


def test_bert_answers_in_fp8_as_in_bf16() -> None:
    half, eight = (build(toy("bert-large", "infer", p)).step().float() for p in ("bf16", "fp8"))  # type: ignore[arg-type]
    assert not torch.equal(half, eight)
    assert (eight - half).norm() / half.norm() < 0.1


def test_exact_layers_compute_in_bf16_and_only_as_long_as_asked() -> None:
    plain, eight = layers()
    scales = Scales(eight)
    x = torch.randn(16, 32)
    half = plain.to(torch.bfloat16)(x.to(torch.bfloat16))
    with scales.off():
        torch.testing.assert_close(eight(x), half)
        assert all(seen.grad is None for seen in scales.seen)
    assert not torch.equal(eight(x), half)


def test_an_fp8_job_knows_the_norm_of_bf16() -> None:
    job = build(toy("bert-large", "train", "fp8"))
    assert job.gradient_norm is not None
    assert job.reference_norm is not None
    assert job.reference_norm() == pytest.approx(job.gradient_norm(), rel=0.03)
    assert build(toy("bert-large", "train", "bf16")).reference_norm is None
