"""The shape of a language model, read from its `config.json`: what its weights, cache and tokens cost.

Counted in parameters, values and operations; how many bytes each takes is the precision's matter. A
multiply-add is two operations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpuwise.errors import InputError

# No model has more of anything, so a larger number in a file is a slip.
MOST = 10**7
# Families whose query and key are normalised head by head, and those with a norm after each branch as well.
_HEAD_NORMS = frozenset({"qwen3", "qwen3_moe", "gemma3_text", "gemma3"})
_FOUR_NORMS = frozenset({"gemma3_text", "gemma3", "glm4"})
# Families with biases on query, key and value whatever their configuration says.
_QKV_BIAS = frozenset({"qwen", "qwen2", "qwen2_moe"})


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageModel:
    """A decoder of one kind of layer, of which some may be dense and the others a mixture of experts."""

    name: str
    layers: int
    hidden: int
    vocabulary: int
    tied: bool  # The head is the embedding, transposed.
    heads: int
    kv_heads: int
    head_size: int
    value_size: int
    latent: int = 0  # Width of the compressed keys and values (MLA); 0 = keys and values are kept.
    rope: int = 0  # Beside the latent: width of the one rotated key that all heads share.
    query_rank: int = 0  # MLA's compressed query; 0 = one product.
    inner: int
    gated: bool = True  # Three matrices a feed-forward layer, or two.
    dense_layers: int
    experts: int = 0
    chosen: int = 0
    expert_inner: int = 0
    shared_inner: int = 0  # Width of the experts that every token passes, all together.
    window: int = 0  # Tokens that a layer with a sliding window looks back.
    full_layers: int  # Layers that attend to everything.
    small: int = 0  # Norms, biases and sinks of the whole model.
    expert_bias: int = 0  # Biases of one expert.
    context: int = 0  # Positions that the model was made for; 0 = not said.

    @property
    def attention_weights(self) -> int:
        """Weights in the products of one layer's attention."""
        if self.latent:
            nope = self.head_size - self.rope
            query = self.hidden * self.heads * self.head_size
            if self.query_rank:
                query = self.query_rank * (self.hidden + self.heads * self.head_size)
            down = self.hidden * (self.latent + self.rope)
            up = self.latent * self.heads * (nope + self.value_size)
            return query + down + up + self.heads * self.value_size * self.hidden
        width = self.heads + 2 * self.kv_heads
        return self.hidden * width * self.head_size + self.heads * self.head_size * self.hidden

    @property
    def _matrices(self) -> int:
        return 3 if self.gated else 2

    @property
    def expert(self) -> int:
        """Parameters of one expert of one layer."""
        return self._matrices * self.hidden * self.expert_inner + self.expert_bias

    @property
    def expert_layers(self) -> int:
        return self.layers - self.dense_layers

    @property
    def embedding(self) -> int:
        """Weights of the embedding, and of the head where that is another one."""
        return self.vocabulary * self.hidden

    @property
    def shared(self) -> int:
        """Parameters in layers that every token passes: all but embedding, head and routed experts."""
        feed_forward = self.dense_layers * self.inner + self.expert_layers * self.shared_inner
        router = self.expert_layers * self.experts * self.hidden
        products = self.layers * self.attention_weights + self._matrices * self.hidden * feed_forward
        return products + router + self.small

    @property
    def parameters(self) -> int:
        """All of them; a tied head counts once."""
        routed = self.expert_layers * self.experts * self.expert
        return self.shared + routed + (1 if self.tied else 2) * self.embedding

    @property
    def active(self) -> int:
        """Parameters that one token is multiplied with: its experts and the head, not the embedding."""
        return self.shared + self.expert_layers * self.chosen * self.expert + self.embedding

    def read(self, tokens: float) -> float:
        """Parameters that a step over so many tokens reads. Of E experts, k a token, chance leaves
        E (1 - k/E)^tokens untouched."""
        touched = 0.0
        if self.experts:
            touched = self.experts * (1 - (1 - self.chosen / self.experts) ** max(tokens, 1.0))
        return self.shared + self.expert_layers * touched * self.expert + self.embedding

    @property
    def cache_width(self) -> int:
        """Values that one layer keeps of a token."""
        return self.latent + self.rope if self.latent else self.kv_heads * (self.head_size + self.value_size)

    def cache_values(self, tokens: float) -> float:
        """Values kept of one sequence: layers with a window keep no more than that."""
        short = min(tokens, self.window) if self.window else tokens
        return self.cache_width * (self.full_layers * tokens + (self.layers - self.full_layers) * short)

    def attention_flop(self, tokens: float, *, decode: bool = False) -> float:
        """Operations of one token over so many others, all layers; MLA decodes on the latent itself."""
        width = 2 * self.latent + self.rope if self.latent and decode else self.head_size + self.value_size
        short = min(tokens, self.window) if self.window else tokens
        seen = self.full_layers * tokens + (self.layers - self.full_layers) * short
        return 2.0 * self.heads * width * seen


def from_config(name: str, config: Mapping[str, Any]) -> LanguageModel:
    """The model of a `config.json` in transformers' words. Raises InputError where it cannot be true."""
    text = config.get("text_config")
    if isinstance(text, Mapping):
        config = {
            **{key: config[key] for key in ("model_type", "tie_word_embeddings") if key in config},
            **text,
        }
    kind = str(config.get("model_type", "llama"))

    def whole(*keys: str, default: int | None = None) -> int:
        for key in keys:
            value = config.get(key)
            if value is not None:
                if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST:
                    raise InputError(f"{name}: {key} is a whole number, not {value!r}")
                return value
        if default is None:
            raise InputError(
                f"{name} does not say its {keys[0]}", hint="give the config.json of a language model"
            )
        return default

    hidden, layers = whole("hidden_size", "n_embd"), whole("num_hidden_layers", "n_layer")
    heads = whole("num_attention_heads", "n_head")
    if not hidden or not layers or not heads:
        raise InputError(f"{name}: hidden_size, num_hidden_layers and num_attention_heads are above 0")
    kv_heads = whole("num_key_value_heads", default=heads)
    head = whole("head_dim", default=hidden // heads)
    latent = whole("kv_lora_rank", default=0)
    rope = whole("qk_rope_head_dim", default=0) if latent else 0
    value = head
    if latent:
        head, value = whole("qk_nope_head_dim") + rope, whole("v_head_dim")
    elif not kv_heads or heads % kv_heads or not head:
        raise InputError(f"{name}: {heads} heads cannot share {kv_heads} key-value heads of {head}")
    inner = whole("intermediate_size", "n_inner", default=4 * hidden)
    experts = whole("n_routed_experts", "num_local_experts", "num_experts", default=0)
    chosen = whole("num_experts_per_tok", default=1) if experts else 0
    if chosen > experts:
        raise InputError(f"{name}: {chosen} of {experts} experts cannot be chosen")
    expert_inner = whole("moe_intermediate_size", default=inner) if experts else 0
    dense = layers
    if experts:
        # Llama 4 has a mixture in every second or in each layer, DeepSeek after some dense ones.
        step = whole("interleave_moe_layer_step", default=1)
        dense = layers - layers // step if step > 1 else whole("first_k_dense_replace", default=0)
    shared_inner = whole("shared_expert_intermediate_size", default=0)
    shared_inner = shared_inner or whole("n_shared_experts", default=0) * expert_inner
    if kind == "llama4_text":
        expert_inner, shared_inner, inner = inner, inner, whole("intermediate_size_mlp")
    window = whole("sliding_window", default=0) if config.get("use_sliding_window", True) else 0
    full = 0 if window else layers
    if window and isinstance(config.get("layer_types"), list):
        full = sum(each == "full_attention" for each in config["layer_types"])
    elif window and (pattern := whole("sliding_window_pattern", default=0)):
        full = layers // pattern
    elif window and kind == "gpt_oss":
        full = layers // 2
    plain = kind == "phi"  # The one family here with layer norms, biases throughout and two matrices.
    return LanguageModel(
        name=name, layers=layers, hidden=hidden, vocabulary=whole("vocab_size"),
        tied=bool(config.get("tie_word_embeddings", kind in ("gemma3_text", "gemma3"))),
        heads=heads, kv_heads=kv_heads, head_size=head, value_size=value, latent=latent, rope=rope,
        query_rank=whole("q_lora_rank", default=0) if latent else 0, inner=inner, gated=not plain,
        dense_layers=dense, experts=experts, chosen=chosen, expert_inner=expert_inner,
        shared_inner=shared_inner if experts else 0, window=window, full_layers=full,
        context=whole("max_position_embeddings", "n_positions", default=0),
        expert_bias=3 * hidden if kind == "gpt_oss" else 0,
        small=_small(kind, config, layers, dense, hidden, heads, kv_heads, head, inner, experts, latent),
    )  # fmt: skip


def _small(
    kind: str, config: Mapping[str, Any], layers: int, dense: int, hidden: int, heads: int, kv_heads: int,
    head: int, inner: int, experts: int, latent: int,
) -> int:  # fmt: skip
    """Norms, biases and sinks: too few to cost time, but published counts hold them."""
    if kind == "phi":
        # One layer norm a layer and one at the end, with bias; biases on all products and the head.
        return layers * (2 * hidden + 5 * hidden + inner) + 2 * hidden + int(config["vocab_size"])
    qkv, each = (heads + 2 * kv_heads) * head, (4 if kind in _FOUR_NORMS else 2) * hidden
    if kind in _HEAD_NORMS or config.get("use_qk_norm") is True:
        each += (heads + kv_heads) * head if kind == "minimax_m2" else 2 * head
    if kind in _QKV_BIAS or (config.get("attention_bias") is True and not latent):
        each += qkv
    if kind == "gpt_oss":
        each += hidden + heads + experts  # bias of the output, a sink a head, bias of the router
    if latent:
        each += latent + int(config.get("q_lora_rank") or 0)
    # DeepSeek, GLM and MiniMax balance their experts by one number each.
    balance = experts if config.get("n_routed_experts") or kind == "minimax_m2" else 0
    return layers * each + (layers - dense) * balance + hidden
