"""Parameters and operations of the decoders: the formulas against published counts and torch's own."""

from __future__ import annotations

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from gpuwise import workloads
from gpuwise.model.precision import Precision
from gpuwise.workloads.llm import (
    RANK,
    RESERVE_BYTES,
    activation_bytes,
    adapter_parameters,
    decode_cost,
    forward_flop,
    lora_cost,
    matrix_weights,
    must_recompute,
    prefill_cost,
    train_cost,
    weight_bytes,
)
from gpuwise.workloads.models.cross_entropy import chunked_cross_entropy
from gpuwise.workloads.models.decoder import Cache, Decoder
from gpuwise.workloads.models.llm_jobs import add_lora

from .conftest import SHAPES

TOY = SHAPES["toy"]
SIZES = pytest.mark.parametrize("size", ["llm-124m", "llm-1b", "llm-8b", "toy"])
ENDLESS = 10**15
"""A batch at which the weights' share of an item's traffic vanishes."""


def on_meta(size: str, positions: int) -> Decoder:
    with torch.device("meta"):
        return Decoder(SHAPES[size], positions)


def causal_surplus(size: str, tokens: int) -> float:
    """What a count of the whole square of scores has above the causal half, per token."""
    return SHAPES[size].attention_flop(tokens) - SHAPES[size].attention_flop((tokens + 1) / 2)


@pytest.mark.parametrize(
    ("size", "published"),
    # Llama 3.2 1B and Llama 3.1 8B as their model cards' weights count; 124m by hand.
    [("llm-124m", 123_587_328), ("llm-1b", 1_235_814_400), ("llm-8b", 8_030_261_248)],
)
def test_parameters_are_as_many_as_published(size: str, published: int) -> None:
    model = on_meta(size, 4)
    assert sum(p.numel() for p in model.parameters()) == published == SHAPES[size].parameters


@pytest.mark.parametrize(("size", "published"), [("llm-1b", 11_272_192), ("llm-8b", 41_943_040)])
def test_adapters_are_as_many_as_other_libraries_make(size: str, published: int) -> None:
    model = add_lora(on_meta(size, 4))
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert trained == published == adapter_parameters(SHAPES[size])
    assert workloads.get(f"{size}-lora").spec.parameters == SHAPES[size].parameters + published


@SIZES
@pytest.mark.parametrize("tokens", [32, 128])
def test_a_forward_pass_has_as_many_operations_as_stated(size: str, tokens: int) -> None:
    model, ids = on_meta(size, tokens), torch.empty(2, tokens, dtype=torch.long, device="meta")
    with FlopCounterMode(display=False) as counter:
        model.logits(model(ids))
    counted = counter.get_total_flops() / (2 * tokens)
    assert counted - causal_surplus(size, tokens) == pytest.approx(forward_flop(SHAPES[size], tokens))
    products = {str(name): flop for name, flop in counter.get_flop_counts()["Global"].items()}
    assert products["aten.bmm"] == 2 * tokens * SHAPES[size].attention_flop(tokens)


@pytest.mark.parametrize("size", ["llm-124m", "llm-8b"])
@torch.no_grad()
def test_prefill_applies_the_head_once_a_prompt(size: str) -> None:
    tokens, batch = 64, 3
    model, ids = on_meta(size, tokens), torch.empty(batch, tokens, dtype=torch.long, device="meta")
    with FlopCounterMode(display=False) as counter:
        model.prefill(ids, Cache(SHAPES[size], batch, tokens, model.table))
    counted = counter.get_total_flops() / (batch * tokens) - causal_surplus(size, tokens)
    assert counted == pytest.approx(prefill_cost(SHAPES[size], tokens, Precision.BF16, batch).flop_per_item)


@SIZES
@torch.no_grad()
def test_decode_attends_to_the_whole_cache(size: str) -> None:
    tokens, batch = 96, 2
    model, ids = on_meta(size, tokens), torch.empty(batch, 1, dtype=torch.long, device="meta")
    cache = Cache(SHAPES[size], batch, tokens, model.table)
    with FlopCounterMode(display=False) as counter:
        model.decode(ids, cache, torch.empty(1, dtype=torch.long, device="meta"))
    expected = decode_cost(SHAPES[size], tokens, Precision.BF16, batch).flop_per_item
    assert counter.get_total_flops() / batch == pytest.approx(expected)


def count_training(model: Decoder, tokens: int) -> float:
    """Operations of forward and backward per token, as torch counts them."""
    ids = torch.empty(2, tokens, dtype=torch.long, device="meta")
    with FlopCounterMode(display=False) as counter:
        chunked_cross_entropy(model(ids), model.head_weight, ids).backward()
    return counter.get_total_flops() / (2 * tokens)


def test_a_training_step_is_three_forward_passes() -> None:
    counted = count_training(on_meta("llm-124m", 32), 32) - 3 * causal_surplus("llm-124m", 32)
    assert counted == pytest.approx(train_cost(SHAPES["llm-124m"], 32, 40, Precision.BF16, 1).flop_per_item)


@pytest.mark.parametrize("size", ["toy", "llm-8b"])
def test_a_frozen_product_has_no_gradient_of_its_weights(size: str) -> None:
    """Nothing before the first product is trained: the gradient of its input is not needed either."""
    shape = SHAPES[size]
    counted = count_training(add_lora(on_meta(size, 32)), 32) - 3 * causal_surplus(size, 32)
    spared = 2 * shape.hidden * (shape.hidden + 2 * shape.kv_heads * shape.head_size + 3 * RANK)
    assert counted + spared == pytest.approx(lora_cost(shape, 32, Precision.BF16, 1).flop_per_item)


def test_recomputation_is_not_in_the_cost() -> None:
    model = add_lora(on_meta("toy", 32))
    plain = count_training(model, 32)
    model.recompute = True
    assert plain < count_training(model, 32) < 1.6 * plain


def test_magnitudes_of_one_token() -> None:
    assert forward_flop(SHAPES["llm-1b"], 2048) == pytest.approx(2.606e9, rel=1e-3)
    assert decode_cost(SHAPES["llm-8b"], 2048, Precision.BF16, 1).flop_per_item == pytest.approx(
        1.608e10, rel=1e-3
    )
    assert 2 * SHAPES["llm-8b"].cache_values(2048) == 2**28
    assert weight_bytes(SHAPES["llm-8b"], Precision.BF16) == pytest.approx(15.0e9, rel=1e-2)


@pytest.mark.parametrize("precision", [Precision.FP8, Precision.INT8])
def test_eight_bits_halve_the_layers_but_neither_head_nor_cache(precision: str) -> None:
    shape = SHAPES["llm-8b"]
    saved = weight_bytes(shape, Precision.BF16) - weight_bytes(shape, precision)  # type: ignore[arg-type]
    assert saved == matrix_weights(shape)


def test_decode_reads_the_weights_once_a_step_and_every_cache() -> None:
    shape = SHAPES["llm-8b"]
    one, many = (decode_cost(shape, 2048, Precision.BF16, b).bytes_per_item or 0 for b in (1, ENDLESS))
    assert one - many == pytest.approx(weight_bytes(shape, Precision.BF16))
    cache = 2 * shape.cache_values(2048)
    assert cache < many < 1.05 * cache


def test_the_optimiser_moves_once_a_step() -> None:
    shape = SHAPES["llm-1b"]
    for moved in (20, 40):
        few, many = (
            train_cost(shape, 2048, moved, Precision.BF16, b).bytes_per_item or 0 for b in (1, ENDLESS)
        )
        assert (few - many) * 2048 == pytest.approx(moved * shape.parameters)


def test_the_finetuning_in_bf16_moves_half_of_what_fp32_does() -> None:
    cost = workloads.get("llm-1b-finetune").spec.cost
    narrow, wide = ((cost("train", p, 1).bytes_per_item or 0) for p in (Precision.BF16, Precision.FP32))
    assert narrow == pytest.approx(wide / 2)


def test_recomputation_begins_where_the_activations_do_not_fit() -> None:
    """80 GB hold a sequence of 8b beside its weights, 24 GB do not."""
    shape = SHAPES["llm-8b"]
    assert activation_bytes(shape, 1, 2048) == pytest.approx(13e9, rel=0.05)
    assert not must_recompute(shape, 1, 2048, 60 * 10**9)
    assert must_recompute(shape, 1, 2048, 7 * 10**9)
    edge = activation_bytes(shape, 2, 2048) + RESERVE_BYTES
    assert [must_recompute(shape, 2, 2048, free) for free in (int(edge) - 1, int(edge))] == [True, False]


def test_what_backward_keeps_is_as_much_as_stated() -> None:
    """In fp32 a norm keeps its input as it is: two values of C a layer less than under autocast."""
    model = add_lora(Decoder(TOY, 32).requires_grad_(False))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    weights = {p.untyped_storage().data_ptr() for p in (*model.parameters(), model.table)}
    kept: dict[int, int] = {}

    def keep(x: torch.Tensor) -> torch.Tensor:
        storage = x.untyped_storage()
        if storage.data_ptr() not in weights and x.is_floating_point():
            kept[storage.data_ptr()] = storage.nbytes()
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        output = model(torch.randint(TOY.vocabulary, (4, 32)))
    stated = activation_bytes(TOY, 4, 32, 4) - 2 * TOY.hidden * 4 * 32 * TOY.layers * 4
    assert output.requires_grad
    assert sum(kept.values()) == pytest.approx(stated, rel=0.35)


@pytest.mark.parametrize("name", [name for name in workloads.names() if name.startswith("llm-")])
def test_specifications_of_the_decoders(name: str) -> None:
    spec = workloads.get(name).spec
    assert spec.item == "token"
    assert len(spec.modes) == 1
    assert (
        (Precision.FP8 in spec.precisions)
        == (Precision.INT8 in spec.precisions)
        == (spec.modes == ("infer",))
    )
    assert Precision.BF16 in spec.precisions
