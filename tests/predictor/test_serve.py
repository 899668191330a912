"""Served models: more sequences are faster together and slower each; memory is weights and KV cache."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuwise.errors import InputError
from gpuwise.model.precision import Precision
from gpuwise.model.question import RunConfig
from gpuwise.model.result import Record
from gpuwise.predictor.card import card
from gpuwise.predictor.serve import Lengths, forecast_served, memory, model_of, most

LENGTHS = Lengths()


def one(batch: int | None = 8, *, gpu: str = "h100-sxm5-80gb", prompt: int = 1024, count: int = 1) -> Record:
    config = RunConfig(workload="served:llama-3.1-8b", mode="infer", precision="bf16", batch=batch)
    (found,) = forecast_served(config, [gpu], lengths=Lengths(prompt=prompt), count=count)
    assert found.throughput is not None, found.refusal
    assert found.first_token_s is not None
    return found


def value(p: Record) -> float:
    assert p.throughput is not None
    return p.throughput.value


def test_a_larger_batch_is_faster_together_and_slower_each() -> None:
    few, many = one(4), one(64)
    assert value(many) > 2 * value(few)
    assert (many.seconds or 0) > (few.seconds or 0)


def test_a_longer_prompt_waits_longer() -> None:
    short, long = one(prompt=512), one(prompt=8192)
    assert short.first_token_s is not None
    assert long.first_token_s is not None
    assert long.first_token_s.value > 4 * short.first_token_s.value
    assert value(long) < value(short)


@pytest.mark.parametrize(
    ("model", "gpu", "precision", "prompt", "answer", "measured"),
    [
        ("llama-2-70b", "mi300x", "fp8", 294, 294, 3268.0),
        ("llama-3.3-70b", "mi355x", "bf16", 509, 256, 2173.0),
    ],
)
def test_amd_reaches_less_of_its_peak(
    model: str, gpu: str, precision: str, prompt: int, answer: int, measured: float
) -> None:
    """MLPerf Inference v4.1 to v5.1, offline (3,063 to 3,475 a GPU), and modular/modular issue 5664; 1.27 and
    1.54 times as much before AMD's largest products were looked at."""
    config = RunConfig(workload=f"served:{model}", mode="infer", precision=Precision(precision))
    (found,) = forecast_served(config, [gpu], lengths=Lengths(prompt=prompt, answer=answer))
    assert value(found) == pytest.approx(measured, rel=0.22)


@pytest.mark.parametrize(("gpu", "rough"), [("arc-pro-b60", True), ("mi300x", False), ("l4", False)])
def test_a_maker_of_whose_cards_no_served_row_is_known_gives_an_order_of_magnitude(
    gpu: str, rough: bool
) -> None:
    found = one(1, gpu=gpu)
    assert found.throughput is not None
    assert found.is_rough == rough
    assert (found.throughput.value / found.throughput.low > 3.1) == rough


def test_of_a_card_of_two_dies_one_serves() -> None:
    assert value(one(1, gpu="mi250")) == pytest.approx(value(one(1, gpu="mi210")), rel=0.02)
    assert ["dies" in note for note in one(1, gpu="mi250").notes] == [False, True]
    config = RunConfig(workload="served:llama-3.1-8b", mode="infer", precision="bf16", batch=1)
    old, new = forecast_served(config, ["p40", "v100-sxm2-32gb"], lengths=Lengths())
    assert "vLLM does not run on Pascal" in old.refusal
    assert not new.refusal


def test_two_gpus_are_faster_but_not_twice() -> None:
    assert value(one()) < value(one(count=2)) < 2 * value(one())


def test_weights_and_cache_by_hand() -> None:
    model, outer = model_of("served:llama-3.1-8b"), 2 * 128256 * 4096
    bf16, fp8 = Precision.BF16, Precision.FP8
    cache = 2048 * 65536
    assert memory(model, bf16, 10, LENGTHS, 1) == pytest.approx(2 * 8_030_261_248 + 10 * cache * 2)
    # Embedding and head stay in 16 bits.
    assert memory(model, fp8, 10, LENGTHS, 2) == pytest.approx((8_030_261_248 + outer) / 2 + 10 * cache)
    narrow = Lengths(cache=fp8)
    assert memory(model, fp8, 10, narrow, 2) == pytest.approx((8_030_261_248 + outer) / 2 + 5 * cache)
    latent = model_of("served:deepseek-v3")
    assert memory(latent, fp8, 1, LENGTHS, 8) == pytest.approx(671e9 / 8 + 2048 * 35136 * 2, rel=5e-3)


@pytest.mark.parametrize("precision", ["int4", "mxfp4", "nvfp4", "fp8"])
def test_narrow_weights_decode_faster_and_take_less(precision: str) -> None:
    config = RunConfig(workload="served:gpt-oss-20b", mode="infer", precision=Precision.BF16, batch=1)
    (wide,) = forecast_served(config, ["h100-sxm"], lengths=LENGTHS)
    (found,) = forecast_served(replace(config, precision=Precision(precision)), ["h100-sxm"], lengths=LENGTHS)
    assert value(found) > value(wide)
    # In bf16 it has no room on 32 GB, where thousands run it.
    asked = replace(config, precision=Precision(precision))
    (small,) = forecast_served(asked, ["rtx-5090"], lengths=LENGTHS)
    assert not small.refusal


def test_the_most_that_fits_fits_and_twice_does_not() -> None:
    model, gpu = model_of("served:llama-3.1-8b"), card("l40s")
    found = most(model, Precision("bf16"), gpu, LENGTHS, 1)
    assert memory(model, Precision("bf16"), found, LENGTHS, 1) <= 0.9 * gpu.memory_bytes
    assert memory(model, Precision("bf16"), 2 * found, LENGTHS, 1) > 0.9 * gpu.memory_bytes
    assert one(None, gpu="l40s").batch == found
    assert most(model_of("served:deepseek-v3"), Precision("bf16"), gpu, LENGTHS, 1) == 0


@pytest.mark.parametrize("weights", [Precision.Q4_K_M, Precision.NF4, Precision.TF32])
def test_formats_that_no_served_row_had_are_refused(weights: Precision) -> None:
    asked = RunConfig(workload="served:llama-3.1-8b", mode="infer", precision=weights, batch=4)
    with pytest.raises(InputError):
        forecast_served(asked, ["h100-sxm5-80gb"], lengths=Lengths())
