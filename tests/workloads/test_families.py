"""Decoders of other families than Llama's against transformers: the same weights give the same logits.

`family_logits.json` holds what transformers computes of these weights; where it is installed it is computed
again, and `python -m tests.workloads.test_families` writes the file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from gpuwise import workloads
from gpuwise.facts import llms
from gpuwise.model.llm import LanguageModel, from_config
from gpuwise.model.precision import Precision
from gpuwise.workloads import llm
from gpuwise.workloads.models.decoder import Cache, Decoder, LatentAttention, build_decoder
from gpuwise.workloads.models.llm_jobs import add_lora

from .conftest import build, toy

FILE = Path(__file__).with_name("family_logits.json")
TOKENS = 13
SMALL = {
    "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
    "head_dim": 32, "intermediate_size": 96, "vocab_size": 64, "tie_word_embeddings": False,
    "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "max_position_embeddings": 64,
}  # fmt: skip
MIXED = {"num_experts_per_tok": 3, "moe_intermediate_size": 48}
SHARED = {**MIXED, "n_routed_experts": 8, "n_shared_experts": 1, "first_k_dense_replace": 1}
FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {},
    "qwen2": {"head_dim": 16},
    "qwen3": {},
    "qwen3_moe": {**MIXED, "num_experts": 8, "norm_topk_prob": True},
    "gemma3_text": {
        "sliding_window": 5, "layer_types": ["sliding_attention", "sliding_attention", "full_attention"] * 2,
        "num_hidden_layers": 6, "rope_local_base_freq": 100.0, "query_pre_attn_scalar": 20,
        "tie_word_embeddings": True,
    },
    "gpt_oss": {
        "sliding_window": 5, "num_local_experts": 8, "num_experts_per_tok": 3, "attention_bias": True,
        "layer_types": ["sliding_attention", "full_attention"] * 2,
    },
    "deepseek_v3": {
        **SHARED, "kv_lora_rank": 24, "q_lora_rank": 40, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16,
        "v_head_dim": 20, "n_group": 4, "topk_group": 2, "routed_scaling_factor": 2.5, "head_dim": 8,
        "num_key_value_heads": 4,
    },
    "glm4_moe": {
        **SHARED, "use_qk_norm": True, "attention_bias": True, "partial_rotary_factor": 0.5, "n_group": 1,
        "topk_group": 1, "routed_scaling_factor": 1.5,
    },
}  # fmt: skip
NAMES = pytest.mark.parametrize("family", FAMILIES)


def shape_of(family: str) -> LanguageModel:
    return from_config(family, {**SMALL, **FAMILIES[family], "model_type": family})


def lively(family: str) -> Decoder:
    """Weights far from the small start, of every part, biases and sinks too."""
    model = build_decoder(shape_of(family), TOKENS, torch.float32, "cpu").eval()
    luck = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            drawn = torch.randn(parameter.shape, generator=luck)
            norm = parameter.ndim == 1 and ("norm" in name or "after" in name)
            parameter.copy_(1 + 0.2 * drawn if norm else 0.2 * drawn)
    return model


def prompts() -> Tensor:
    return torch.arange(2 * TOKENS).mul(37).remainder(64).view(2, TOKENS)


@NAMES
@torch.no_grad()
def test_logits_are_those_of_transformers(family: str) -> None:
    model = lively(family)
    found = model.logits(model(prompts()))[:, :, :4]  # (B, T, 4)
    torch.testing.assert_close(
        found, torch.tensor(json.loads(FILE.read_text())[family]), rtol=1e-3, atol=1e-3
    )


@NAMES
@torch.no_grad()
def test_transformers_still_computes_them(family: str) -> None:
    pytest.importorskip("transformers", reason="compared where transformers is installed")
    kept = torch.tensor(json.loads(FILE.read_text())[family])
    torch.testing.assert_close(reference(family), kept, rtol=1e-3, atol=1e-3)


@NAMES
@torch.no_grad()
def test_cached_decoding_equals_full_passes(family: str) -> None:
    """Over prompts shorter and longer than the window."""
    model, tokens = lively(family), prompts()
    full = model.logits(model(tokens))  # (B, T, V)
    for length in (4, 5, 9, TOKENS - 1):
        cache, whole = (Cache(model.shape, 2, length + 1, model.table) for _ in range(2))
        first = model.prefill(tokens[:, : length + 1], whole)
        torch.testing.assert_close(first, full[:, length], rtol=1e-3, atol=1e-3)
        pairs = list(zip(cache.buffers(), whole.buffers(), strict=True))
        for kept, row in pairs:
            kept.copy_(row)
            kept[:, :, length % kept.shape[2]] = 99.0  # what the step must overwrite
        found = model.decode(tokens[:, length : length + 1], cache, torch.tensor([length]))
        torch.testing.assert_close(found, full[:, length], rtol=1e-3, atol=1e-3)
        for kept, row in pairs:
            torch.testing.assert_close(kept, row, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("family", ["gemma3_text", "gpt_oss"])
@torch.no_grad()
def test_a_window_sees_so_many_tokens_and_no_more(family: str) -> None:
    model, tokens = lively(family), prompts()[:1]
    attention, width = model.layers[0].attention, model.shape.window
    x = model.embedding(tokens)
    other = x.clone()
    other[0, 3] += 1.0
    table = model.tables(lambda rows: rows[:, :TOKENS])[0]
    moved = (attention(x, table) - attention(other, table)).abs().amax(-1)[0] > 1e-6
    assert moved.tolist() == [3 <= t < 3 + width for t in range(TOKENS)]


# A model that no decoder of ours can run (two matrices a layer, layers with a state) is refused before.
RUN_HERE = [
    name for name in llms.names()
    if (m := llms.find(name)).gated and not (m.mixers or m.expert_hidden or m.extra or m.table)
]  # fmt: skip


@pytest.mark.parametrize("name", RUN_HERE)
def test_the_decoder_has_the_parameters_that_were_published(name: str) -> None:
    shape, row = llms.find(name), llms.published()[name]
    with torch.device("meta"):
        found = Decoder(shape, 4)
    count = sum(parameter.numel() for parameter in found.parameters())
    assert count == shape.parameters
    if row["exact"]:
        assert count == row["published"]


# torch counts no grouped products, so not those with experts.
@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3", "gemma3_text"])
def test_operations_are_as_many_as_stated(family: str) -> None:
    shape = shape_of(family)
    with torch.device("meta"):
        model, ids = Decoder(shape, 4), torch.empty(2, 4, dtype=torch.long)
    with FlopCounterMode(display=False) as counter:
        model.logits(model(ids))
    square = shape.attention_flop(4) - shape.attention_flop(2.5)
    assert counter.get_total_flops() / 8 - square == pytest.approx(llm.forward_flop(shape, 4))


def test_a_causal_pass_over_windows_counts_what_each_token_sees() -> None:
    shape = shape_of("gpt_oss")
    by_token = [shape.attention_flop(t) for t in range(1, 12)]
    assert shape.causal_flop(11) == pytest.approx(sum(by_token) / 11)


def test_latent_decoding_multiplies_the_latent_rows_and_not_the_widened_keys() -> None:
    shape = shape_of("deepseek_v3")
    with torch.device("meta"):
        attention = LatentAttention(shape)
        rows = torch.empty(2, 1, TOKENS, shape.latent + shape.rope)
        x, table = torch.empty(2, 1, shape.hidden), torch.empty(2, 1, shape.rope // 2)
        position = torch.empty(1, dtype=torch.long)
    with FlopCounterMode(display=False) as counter:
        attention(x, table, (rows,), position)
    seen = shape.attention_flop(TOKENS, decode=True) / shape.layers
    assert counter.get_total_flops() / 2 == pytest.approx(2 * shape.attention_weights + seen)


@NAMES
def test_adapters_and_their_gradients_are_on_every_product(family: str) -> None:
    model = add_lora(lively(family))
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert trained == llm.adapter_parameters(model.shape)
    model(prompts()).square().mean().backward()
    assert all((p.grad is not None) == p.requires_grad for p in model.parameters())


@pytest.mark.parametrize("model", ["deepseek-v3", "gpt-oss-20b", "gemma-3-12b", "glm-4.5-air", "minimax-m2"])
@pytest.mark.parametrize("step", ["decode-8k", "prefill", "full", "qlora-checkpointed"])
def test_they_are_measured_by_name(model: str, step: str) -> None:
    """Shrunk, with every part that the model has; and at full size a token costs its active weights."""
    spec = workloads.get(f"{model}-{step}").spec
    assert spec.cost is not None
    cost = spec.cost(spec.modes[0], Precision.BF16, 4)
    assert cost.flop_per_item > 1.7 * (llms.find(model).active - llms.find(model).embedding)
    job = build(toy(spec.id, spec.modes[0], Precision.BF16), 2)
    assert bool(job.step().isfinite().all())


def reference(family: str) -> Tensor:
    """What transformers computes with the same weights: (B, T, 4)."""
    import transformers

    given = {**SMALL, **FAMILIES[family]}
    theta = given.pop("rope_theta")
    rope: dict[str, Any] = {"rope_type": "default", "rope_theta": theta}
    if "partial_rotary_factor" in given:
        rope["partial_rotary_factor"] = given["partial_rotary_factor"]
    if family == "gemma3_text":
        near = {"rope_type": "default", "rope_theta": given.pop("rope_local_base_freq")}
        rope = {"full_attention": rope, "sliding_attention": near}
    config = transformers.CONFIG_MAPPING[family](
        **given, rope_parameters=rope, attn_implementation="eager", use_cache=False
    )
    theirs = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    state = {}
    for name, value in theirs_of(lively(family)).items():
        own = theirs.state_dict()[name]
        assert own.shape == value.shape, name
        state[name] = value
    left = theirs.load_state_dict(state, strict=False)
    assert not left.unexpected_keys
    assert set(left.missing_keys) <= {"lm_head.weight"}, left.missing_keys
    with torch.no_grad():
        return theirs(prompts()).logits[:, :, :4]


def theirs_of(model: Decoder) -> dict[str, Tensor]:
    """Our weights by their names in transformers, in their layouts."""
    s, out = model.shape, {}
    family = s.name
    lower = 1.0 if family == "gemma3_text" else 0.0  # Gemma's norms multiply by one more than their weights.
    out["model.embed_tokens.weight"] = model.embedding.weight
    out["model.norm.weight"] = model.norm.weight - lower
    if model.head is not None:
        out["lm_head.weight"] = model.head.weight
    after = ("post_attention_layernorm", "post_feedforward_layernorm")
    for i, layer in enumerate(model.layers):
        at = f"model.layers.{i}."
        attention, feed = layer.attention, layer.feed_forward
        out[f"{at}input_layernorm.weight"] = layer.norm1.weight - lower
        second = "pre_feedforward_layernorm" if s.four_norms else "post_attention_layernorm"
        out[f"{at}{second}.weight"] = layer.norm2.weight - lower
        for name, norm in zip(after, layer.after, strict=False):
            out[f"{at}{name}.weight"] = norm.weight - lower
        out |= {f"{at}self_attn.{k}": v for k, v in attention_of(s, attention, lower).items()}
        if hasattr(feed, "router"):
            out |= {f"{at}mlp.{k}": v for k, v in experts_of(feed).items()}
            shared = feed.shared
            if shared is not None:
                out |= {f"{at}mlp.shared_experts.{k}": v for k, v in dense_of(shared).items()}
        else:
            out |= {f"{at}mlp.{k}": v for k, v in dense_of(feed).items()}
    return {name: value.detach().clone() for name, value in out.items()}


def dense_of(feed: Any) -> dict[str, Tensor]:
    gate, up = feed.gate_up.weight.chunk(2)
    return {"gate_proj.weight": gate, "up_proj.weight": up, "down_proj.weight": feed.down.weight}


def attention_of(s: LanguageModel, attention: Any, lower: float) -> dict[str, Tensor]:
    if s.latent:
        # Their rotated channels go in pairs, ours in halves.
        pairs = torch.arange(s.rope).view(2, -1).t().flatten()
        nope = s.head_size - s.rope
        query = attention.query_up.weight.view(s.heads, s.head_size, -1)
        query = torch.cat((query[:, :nope], query[:, nope:][:, pairs]), 1).flatten(0, 1)
        down = attention.down.weight
        return {
            "q_a_proj.weight": attention.query_down.weight, "q_b_proj.weight": query,
            "q_a_layernorm.weight": attention.query_norm.weight,
            "kv_a_layernorm.weight": attention.norm.weight,
            "kv_a_proj_with_mqa.weight": torch.cat((down[: s.latent], down[s.latent :][pairs])),
            "kv_b_proj.weight": attention.latent_up.weight, "o_proj.weight": attention.output.weight,
        }  # fmt: skip
    out = {"o_proj.weight": attention.output.weight}
    for name, part in zip("qkv", attention.qkv.weight.split(attention.parts), strict=True):
        out[f"{name}_proj.weight"] = part
    if attention.qkv.bias is not None:
        for name, part in zip("qkv", attention.qkv.bias.split(attention.parts), strict=True):
            out[f"{name}_proj.bias"] = part
    if attention.output.bias is not None:
        out["o_proj.bias"] = attention.output.bias
    for name, norm in zip("qk", attention.norms or (), strict=False):
        out[f"{name}_norm.weight"] = norm.weight - lower
    if attention.sinks is not None:
        out["sinks"] = attention.sinks
    return out


def experts_of(feed: Any) -> dict[str, Tensor]:
    if feed.shape.expert_biases:  # gpt-oss: transposed, gate and up in turn
        turns = feed.gate_up.unflatten(1, (2, -1)).transpose(1, 2).flatten(1, 2)
        return {
            "router.weight": feed.router.weight, "router.bias": feed.router.bias,
            "experts.gate_up_proj": turns.transpose(1, 2), "experts.down_proj": feed.down.transpose(1, 2),
            "experts.gate_up_proj_bias": feed.biases[0].unflatten(1, (2, -1)).transpose(1, 2).flatten(1, 2),
            "experts.down_proj_bias": feed.biases[1],
        }  # fmt: skip
    out = {"gate.weight": feed.router.weight, "experts.gate_up_proj": feed.gate_up}
    out["experts.down_proj"] = feed.down
    if feed.balance is not None:
        out["gate.e_score_correction_bias"] = feed.balance
    return out


if __name__ == "__main__":
    FILE.write_text(json.dumps({name: reference(name).tolist() for name in FAMILIES}) + "\n")
