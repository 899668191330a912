"""The shape of a language model, read from its `config.json`: what its weights, cache and tokens cost.

Counted in parameters, values and operations; how many bytes each takes is the precision's matter. A
multiply-add is two operations.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from gpuwise.errors import InputError
from gpuwise.model.precision import GROUP

# No model has more of anything, so a larger number in a file is a slip.
MAX_DIMENSION = 10**7
# Traits of families that their configurations do not say.
_FAMILIES: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_LIKE = {name: family for family, names in _FAMILIES["like"].items() for name in names}
# Base of the rotary frequencies where a file does not say it; it costs nothing.
THETA = 500_000.0


@dataclass(frozen=True, kw_only=True)  # Without slots: what hundreds of plans ask of one is computed once
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
    rope: int = 0  # Channels that are rotated, beside the latent in one key for all heads; 0 = all of a head.
    query_rank: int = 0  # MLA's compressed query; 0 = one product.
    inner: int
    gated: bool = True  # Three matrices a feed-forward layer, or two.
    dense_layers: int
    experts: int = 0
    chosen: int = 0
    expert_inner: int = 0
    shared_inner: int = 0  # Width of the experts that every token passes, all together.
    mixers: int = 0
    """Layers that keep a state of one size in place of keys and values (linear attention, Mamba)."""
    mixer: int = 0  # Parameters of one of them, and values of its state.
    state: int = 0
    # Where layers that attend to everything have other heads than those with a window; 0 = the same.
    full_kv_heads: int = 0
    full_head_size: int = 0
    reused: int = 0  # Last layers that attend to keys and values of layers before them.
    table: int = 0  # Parameters of embeddings of layers, of which a token takes its row alone.
    extra: int = 0  # Parameters in products that layers have beyond, or short of, what else is counted here.
    query_gate: bool = False  # The result of attention is gated by as many channels beside the query.
    window: int = 0  # Tokens that a layer with a sliding window looks back.
    full: tuple[bool, ...]  # By layer: attends to everything, or no further back than the window.
    context: int = 0  # Positions that the model was made for; 0 = not said.
    learned: bool = False  # Each of them has a vector of its own (GPT-2).
    capped: bool = False  # Scores pass a tanh before the softmax (Gemma 2).
    qkv_bias: bool = False
    output_bias: bool = False
    head_norm: Literal["", "head", "all"] = ""  # Query and key are normalised by head, or all heads as one.
    four_norms: bool = False  # Also after each branch, not only before it.
    sinks: bool = False  # A learned score a head in the sum of each softmax (gpt-oss).
    expert_biases: bool = False
    balanced: bool = False  # The router has a number an expert: a bias, or what evens out their use.
    sigmoid: bool = False  # The router scores by a sigmoid (DeepSeek V3) instead of a softmax.
    groups: int = 1  # Of experts; a token's are all in its best `chosen_groups`.
    chosen_groups: int = 1
    routed_scale: float = 1.0
    activation: Literal["silu", "gelu", "clamped"] = "silu"
    scaled_embedding: bool = False
    score_size: int = 0  # Scores are divided by its root; 0 = that of the head.
    theta: float = THETA
    local_theta: float = 0.0  # Of layers with a window; 0 = the same.
    expert_hidden: int = 0  # Width to which tokens are narrowed before routed experts; 0 = that of the model.
    tower: int = 0  # Parameters that read images, in memory beside the decoder that is counted here.

    @property
    def full_layers(self) -> int:
        """Layers that attend to everything."""
        return sum(self.full)

    @property
    def small(self) -> int:
        """Norms, biases and sinks of the model: too few to cost time, but published counts hold them."""
        if not self.gated:  # One layer norm a layer, of GPT-2 two, and one at the end, biases throughout.
            each = (9 if self.learned else 7) * self.hidden + self.inner
            ends = self.context * self.hidden if self.learned else self.vocabulary
            return self.layers * each + 2 * self.hidden + ends
        each = (4 if self.four_norms else 2) * self.hidden + self.output_bias * self.hidden
        each += self.qkv_bias * (self.heads + 2 * self.kv_heads) * self.head_size + self.sinks * self.heads
        norms = {"": 0, "head": 2 * self.head_size, "all": (self.heads + self.kv_heads) * self.head_size}
        each += norms[self.head_norm] + self.latent + self.query_rank
        return self.layers * each + self.expert_layers * self.balanced * self.experts + self.hidden

    @property
    def plain(self) -> bool:
        """True for a Llama: no more in a layer than four products, two norms and causal attention."""
        extra = (
            self.mixers, self.query_gate, self.qkv_bias, self.output_bias, self.head_norm, self.four_norms,
            self.sinks, self.latent, self.scaled_embedding, self.rope, self.score_size,
            self.full_layers < self.layers,
        )  # fmt: skip
        return self.gated and self.activation == "silu" and not any(extra)

    @property
    def decodes_fused(self) -> bool:
        """True if gpuwise's decoding kernels run it: a Llama whose rows are whole groups of weights."""
        return self.plain and not self.hidden % GROUP and not self.inner % GROUP

    @property
    def attention_products(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """Products of one layer's attention: width of the input, and of each part of the output."""
        query, result = self.heads * self.head_size, self.heads * self.value_size
        if not self.latent:
            keys, values = self.kv_heads * self.head_size, self.kv_heads * self.value_size
            queries = (query, query) if self.query_gate else (query,)
            return (self.hidden, (*queries, keys, values)), (result, (self.hidden,))
        asks: tuple[tuple[int, tuple[int, ...]], ...] = ((self.hidden, (query,)),)
        if self.query_rank:
            asks = (self.hidden, (self.query_rank,)), (self.query_rank, (query,))
        up = self.heads * (self.head_size - self.rope + self.value_size)
        return (
            *asks,
            (self.hidden, (self.latent + self.rope,)),
            (self.latent, (up,)),
            (result, (self.hidden,)),
        )

    @property
    def attention_weights(self) -> int:
        """Weights in the products of one layer's attention."""
        return sum(inputs * sum(outputs) for inputs, outputs in self.attention_products)

    @property
    def _matrices(self) -> int:
        return 3 if self.gated else 2

    @property
    def expert(self) -> int:
        """Parameters of one expert of one layer."""
        biases = self.expert_biases * (2 * self.expert_inner + self.hidden)
        return self._matrices * (self.expert_hidden or self.hidden) * self.expert_inner + biases

    @property
    def expert_layers(self) -> int:
        return self.layers - self.dense_layers

    @property
    def embedding(self) -> int:
        """Weights of the embedding, and of the head where that is another one."""
        return self.vocabulary * self.hidden

    @cached_property
    def shared(self) -> int:
        """Parameters in layers that every token passes: all but embedding, head and routed experts."""
        feed_forward = self.dense_layers * self.inner + self.expert_layers * self.shared_inner
        router = self.expert_layers * self.hidden * (self.experts + 2 * self.expert_hidden)
        products = (self.layers - self.mixers) * self.attention_weights + self.mixers * self.mixer
        products += self._matrices * self.hidden * feed_forward
        return products + router + self.small + self.extra

    @cached_property
    def routed(self) -> int:
        """Parameters in experts of which a token passes some."""
        return self.expert_layers * self.experts * self.expert

    @cached_property
    def parameters(self) -> int:
        """All of them; a tied head counts once."""
        return self.shared + self.routed + (1 if self.tied else 2) * self.embedding + self.table

    @cached_property
    def active(self) -> int:
        """Parameters that one token is multiplied with: its experts and the head, not the embedding."""
        return self.shared + self.expert_layers * self.chosen * self.expert + self.embedding

    def touched(self, tokens: float) -> float:
        """Share of the experts that so many tokens pass: chance leaves (1 - k/E)^tokens of E, k a token."""
        return 1 - (1 - self.chosen / self.experts) ** max(tokens, 1.0) if self.experts else 0.0

    def read(self, tokens: float) -> float:
        """Parameters that a step over so many tokens reads."""
        return self.shared + self.routed * self.touched(tokens) + self.embedding

    @property
    def cache_width(self) -> int:
        """Values that one layer keeps of a token."""
        return self.latent + self.rope if self.latent else self.kv_heads * (self.head_size + self.value_size)

    def cache_values(self, tokens: float) -> float:
        """Values kept of one sequence: layers with a window keep no more than that."""
        short = min(tokens, self.window) if self.window else tokens
        owned = self.layers - self.reused
        full = sum(self.full[:owned])
        near = owned - full - self.mixers
        width = self.cache_width
        if self.full_kv_heads:
            width = self.full_kv_heads * (
                self.full_head_size + (self.full_head_size * self.value_size) // self.head_size
            )
        kept = width * full * tokens + self.cache_width * near * short
        return kept + self.mixers * self.state

    def cache_parts(self, gpus: int) -> int:
        """Into how many parts so many tensor-parallel GPUs split it: a key head that several need is on each
        of them, and a latent has no heads."""
        return 1 if self.latent else min(gpus, self.kv_heads)

    def splits(self, gpus: int) -> bool:
        """True if so many GPUs can hold equal numbers of heads and widths, as tensor parallelism does."""
        left = any(size % gpus for size in (self.heads, self.inner, self.expert_inner, self.shared_inner))
        return not left and bool(self.latent or not self.kv_heads % gpus or not gpus % self.kv_heads)

    def attention_flop(self, tokens: float, *, decode: bool = False) -> float:
        """Operations of one token over so many others, all layers; MLA decodes on the latent itself."""
        width = 2 * self.latent + self.rope if self.latent and decode else self.head_size + self.value_size
        short = min(tokens, self.window) if self.window else tokens
        return 2.0 * self.heads * width * self._seen(tokens, short)

    def causal_flop(self, tokens: int) -> float:
        """The same in the mean over a causal pass: token t attends to t others and itself, or to a window."""
        short = min(tokens, self.window) if self.window else tokens
        # The first `short` see as many as there are, the others all of a window.
        near = (short * (short + 1) / 2 + (tokens - short) * short) / tokens
        return 2.0 * self.heads * (self.head_size + self.value_size) * self._seen((tokens + 1) / 2, near)

    def _seen(self, all_: float, near: float) -> float:
        wider = (self.full_head_size or self.head_size) / self.head_size
        return wider * self.full_layers * all_ + (self.layers - self.full_layers - self.mixers) * near


def from_config(name: str, config: Mapping[str, Any]) -> LanguageModel:
    """The model of a `config.json` in transformers' words. Raises InputError where it cannot be true."""
    stated = _Stated(name, config)
    get, whole, kind = stated.config.get, stated.whole, stated.kind
    heads, feed, reach = stated.attention(), stated.feed_forward(), stated.reach()
    experts, latent = bool(feed["experts"]), heads["latent"]
    # DeepSeek, GLM and MiniMax even out the use of their experts by one number each.
    evens = kind == "minimax_m2" or bool(get("n_routed_experts") and kind != "deepseek_v2")
    gpt_oss, asks_norm = kind == "gpt_oss", get("use_qk_norm") is True
    head_norm: Literal["", "head", "all"] = "head" if asks_norm or kind in _FAMILIES["head_norms"] else ""
    if kind in ("olmo2", "olmo3") or (asks_norm and kind == "minimax_m2"):
        head_norm = "all"
    model = LanguageModel(
        name=name, layers=stated.layers, hidden=stated.hidden, vocabulary=whole("vocab_size"),
        tied=bool(get("tie_word_embeddings", kind in _FAMILIES["gemma"] or kind == "gpt2")),
        gated=kind not in _FAMILIES["plain_feed"] and not stated.hybrid, learned=kind == "gpt2",
        capped=get("attn_logit_softcapping") is not None, query_gate=kind == "qwen3_next",
        context=whole("max_position_embeddings", "n_positions", default=0),
        qkv_bias=kind in _FAMILIES["qkv_bias"] or (get("attention_bias") is True and not latent),
        output_bias=gpt_oss, head_norm=head_norm, four_norms=kind in _FAMILIES["four_norms"], sinks=gpt_oss,
        expert_biases=gpt_oss, balanced=experts and (evens or gpt_oss), sigmoid=evens,
        groups=whole("n_group", default=1) or 1, chosen_groups=whole("topk_group", default=1) or 1,
        routed_scale=stated.number("routed_scaling_factor") or 1.0,
        activation="clamped" if gpt_oss else "gelu" if kind in _FAMILIES["gemma"] else "silu",
        scaled_embedding=kind in _FAMILIES["gemma"], score_size=whole("query_pre_attn_scalar", default=0),
        theta=stated.number("rope_theta") or THETA, local_theta=stated.number("rope_local_base_freq"),
        expert_hidden=whole("moe_latent_size", "routed_expert_hidden_size", default=0) if experts else 0,
        tower=stated.tower(),
        **feed, **reach, **(heads | stated.beside(heads, feed["inner"], reach["full"])),
    )  # fmt: skip
    sizes = (model.vocabulary, model.head_size, model.value_size, model.active)
    least = min(*sizes, *((model.chosen, model.expert_inner) if experts else ()))
    if least <= 0 or model.layers != len(model.full) or max(model.dense_layers, model.reused) > model.layers:
        raise InputError(f"{name}: its vocabulary, heads, experts or kinds of its layers cannot be so many")
    return model


class _Stated:
    """What a `config.json` states. Its methods give fields of a `LanguageModel` by their names."""

    def __init__(self, name: str, config: Mapping[str, Any]) -> None:
        text, self.vision = config.get("text_config"), config.get("vision_config")
        if isinstance(text, Mapping):
            kept = {key: config[key] for key in ("model_type", "tie_word_embeddings") if key in config}
            config = {**kept, **text}
        self.name, self.config = name, config
        kind = str(config.get("model_type", "llama"))
        self.kind = _LIKE.get(kind, kind)
        if self.kind in _FAMILIES["unread"]:
            problem = f"{name}: what a layer of {self.kind} costs is not known here"
            raise InputError(problem, hint="another model")
        self.hidden = self.whole("hidden_size", "n_embd")
        self.layers = self.whole("num_hidden_layers", "n_layer")
        # Each attends (*), keeps a state (M) or is a feed-forward layer (-), of experts (E).
        self.hybrid = str(config.get("hybrid_override_pattern", ""))
        if self.hybrid:
            self.layers = self.hybrid.count("M") + self.hybrid.count("*")
        self.heads = self.whole("num_attention_heads", "n_head")
        self.linear = config.get("linear_attn_config") or {}
        if not isinstance(self.linear, Mapping) or not isinstance(
            self.linear.get("full_attn_layers", []), list
        ):
            raise InputError(f"{name}: linear_attn_config is a table, and full_attn_layers a list")
        if not self.hidden or not self.layers or not self.heads:
            raise InputError(f"{name}: hidden_size, num_hidden_layers and num_attention_heads are above 0")

    def whole(self, *keys: str, default: int | None = None, of: Mapping[str, Any] | None = None) -> int:
        """The first of these that is stated. Raises InputError for what is not a whole number."""
        for key in keys:
            value = (self.config if of is None else of).get(key)
            if value is not None:
                if isinstance(value, list) and value and value.count(value[0]) == len(value):
                    value = value[0]  # One of each layer, all alike
                if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_DIMENSION:
                    raise InputError(f"{self.name}: {key} is a whole number, not {value!r}")
                return value
        if default is None:
            problem = f"{self.name} does not say its {keys[0]}"
            raise InputError(problem, hint="give the config.json of a language model")
        return default

    def number(self, key: str, most: float = 1e15) -> float:
        """What is stated, else 0. Raises InputError for what is not a number from 0 to `most`."""
        value = self.config.get(key) or 0
        if not isinstance(value, int | float) or not 0 <= value <= most:
            raise InputError(f"{self.name}: {key} is a number up to {most:g}, not {value!r}")
        return float(value)

    def attention(self) -> dict[str, Any]:
        """Heads of queries, keys and values, and their sizes."""
        whole = self.whole
        kv_heads = whole("num_key_value_heads", default=self.heads)
        head = whole("head_dim", default=self.hidden // self.heads)
        latent, query_rank = whole("kv_lora_rank", default=0), 0
        if latent:
            rope, query_rank = whole("qk_rope_head_dim", default=0), whole("q_lora_rank", default=0)
            head, value = whole("qk_nope_head_dim") + rope, whole("v_head_dim")
        else:
            value, turned = whole("v_head_dim", default=head), self.number("partial_rotary_factor", 1)
            if "head_dim" not in self.config and self.hidden % self.heads:
                raise InputError(f"{self.name}: {self.hidden} channels are not those of {self.heads} heads")
            if not kv_heads or self.heads % kv_heads or not head:
                problem = f"{self.heads} heads cannot share {kv_heads} key-value heads of {head}"
                raise InputError(f"{self.name}: {problem}")
            rope = int(head * turned)
            rope = rope if rope != head else 0
        return {
            "heads": self.heads, "kv_heads": kv_heads, "head_size": head, "value_size": value,
            "latent": latent, "rope": rope, "query_rank": query_rank,
        }  # fmt: skip

    def feed_forward(self) -> dict[str, Any]:
        """Widths of dense layers and of experts, and how many layers have which."""
        whole, hybrid = self.whole, self.hybrid
        inner = whole("dense_intermediate_size", "intermediate_size", "n_inner", default=4 * self.hidden)
        experts = whole("n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts", default=0)
        asks = ("num_experts_per_tok", "num_experts_per_token", "top_k_experts", "moe_k")
        chosen = whole(*asks, default=1) if experts else 0
        if chosen > experts:
            raise InputError(f"{self.name}: {chosen} of {experts} experts cannot be chosen")
        expert_inner = whole("moe_intermediate_size", "intermediate_size", default=inner) if experts else 0
        shared = whole("shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", default=0)
        count = ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts")
        shared = shared or whole(*count, default=0) * expert_inner
        dense = self._dense_layers() if experts else self.layers
        if hybrid:
            if "-" in hybrid and "E" in hybrid:
                raise InputError(f"{self.name}: feed-forward layers beside experts are not known here")
            # Layers that neither are have neither.
            dense = hybrid.count("-") or self.layers - hybrid.count("E")
            inner *= "-" in hybrid
        if self.kind == "gemma4" and experts:
            shared = inner  # The dense layer stands beside the mixture.
        if self.kind == "llama4_text":
            expert_inner, shared, inner = inner, inner, whole("intermediate_size_mlp")
        return {
            "inner": inner, "dense_layers": dense, "experts": experts, "chosen": chosen,
            "expert_inner": expert_inner, "shared_inner": shared if experts else 0,
        }  # fmt: skip

    def _dense_layers(self) -> int:
        """Layers without experts where others have them."""
        listed = self.config.get("moe_layer_freq")
        if isinstance(listed, list):
            return listed.count(0)
        # Llama 4 has a mixture in every second or in each layer, DeepSeek after some dense ones.
        step = self.whole("interleave_moe_layer_step", default=1)
        if step > 1:
            return self.layers - self.layers // step
        return self.whole("first_k_dense_replace", "num_dense_layers", "moe_layer_start_index", default=0)

    def _mixer(self) -> tuple[int, int]:
        """Parameters of a layer without keys and values, and values of its state; zeros where there is none.

        A gated delta net (Qwen3-Next) or Mamba 2 (Granite 4, Nemotron): products in and out, a short
        convolution, some numbers a head; the state is a matrix a head, and what the convolution looks back.
        """
        config, hidden, whole = self.config, self.hidden, self.whole
        if self.kind == "qwen3_next":
            heads, size = whole("linear_num_value_heads"), whole("linear_value_head_dim")
            keys, inner = whole("linear_num_key_heads") * whole("linear_key_head_dim"), heads * size
            mixed, look = 2 * keys + inner, whole("linear_conv_kernel_dim")
            numbers, state = 2 * heads + size, inner * whole("linear_key_head_dim")
            products = hidden * (mixed + inner + 2 * heads)
        elif config.get("mamba_n_heads") or config.get("mamba_num_heads"):
            heads, look = whole("mamba_n_heads", "mamba_num_heads"), whole("mamba_d_conv", "conv_kernel")
            inner = heads * whole(
                "mamba_d_head", "mamba_head_dim", default=whole("mamba_expand", default=2) * hidden // heads
            )
            size = whole("mamba_d_state", "ssm_state_size")
            mixed = inner + 2 * whole("mamba_n_groups", "n_groups") * size
            numbers, state = 3 * heads + inner + mixed, inner * size
            products = hidden * (mixed + inner + heads)
        elif linear := self.linear:  # Kimi: gates of their own, each of low rank
            heads, size, look = (
                whole(key, of=linear) for key in ("num_heads", "head_dim", "short_conv_kernel_size")
            )
            inner = heads * size
            mixed, numbers, state = 3 * inner, inner + heads + size, inner * size
            low = size * (hidden + inner)
            products = (
                hidden * (mixed + heads) + low + (hidden * inner if linear.get("use_full_rank_gate") else low)
            )
        elif look := whole("conv_L_cache", default=0):  # LFM2: a short convolution between two products
            inner = mixed = hidden
            products, numbers, state = 3 * hidden * hidden, 0, 0
        else:
            return 0, 0
        return products + inner * hidden + mixed * look + numbers, state + mixed * (look - 1)

    def reach(self) -> dict[str, Any]:
        """Which layers attend to everything, and what the others do: to a window, or by a state."""
        mixer, state = self._mixer()
        window = self.whole("sliding_window", default=0) if self.config.get("use_sliding_window", True) else 0
        full = self._beside_states() if mixer else self._beside_windows(window)
        mixers = self.layers - sum(full) if mixer else 0
        return {"mixers": mixers, "mixer": mixer, "state": state, "window": window, "full": full}

    def _layer_types(self) -> list[Any]:
        types = self.config.get("layer_types")
        if isinstance(types, list) and len(types) != self.layers:
            problem = f"{len(types)} layer_types are not those of {self.layers} layers"
            raise InputError(f"{self.name}: {problem}")
        return types if isinstance(types, list) else []

    def _beside_windows(self, window: int) -> tuple[bool, ...]:
        pattern = self.config.get("hybrid_layer_pattern")
        if window and (types := self._layer_types()):
            return tuple(each == "full_attention" for each in types)
        if window and isinstance(pattern, list):
            return tuple(each == 0 for each in pattern)
        usual = 2 if self.kind in ("gpt_oss", "gemma2") else 0
        if window and (step := self.whole("sliding_window_pattern", default=usual)):
            return tuple(i % step == step - 1 for i in range(self.layers))
        return (not window,) * self.layers

    def _beside_states(self) -> tuple[bool, ...]:
        if self.hybrid:
            return tuple(each == "*" for each in self.hybrid if each in "M*")
        if self.linear:  # Counted from one
            return tuple(i + 1 in self.linear.get("full_attn_layers", ()) for i in range(self.layers))
        if types := self._layer_types():
            return tuple(each in ("attention", "full_attention") for each in types)
        # Every fourth layer of Qwen3-Next attends.
        step = self.whole("full_attention_interval", default=1)
        return tuple(i % step == step - 1 for i in range(self.layers))

    def beside(self, heads: Mapping[str, int], inner: int, full: tuple[bool, ...]) -> dict[str, Any]:
        """Heads of layers that attend to everything where they are others (Gemma 4, MiMo), and parameters
        that no other field counts."""
        get, whole, hidden = self.config.get, self.whole, self.hidden
        head, value, kv_heads = heads["head_size"], heads["value_size"], heads["kv_heads"]
        full_head, full_kv = whole("global_head_dim", default=0), kv_heads
        one = bool(get("attention_k_eq_v"))  # Keys are values, too
        if one:
            full_kv = whole("num_global_key_value_heads", default=kv_heads)
        if "swa_num_key_value_heads" in self.config:
            kv_heads, full_head = whole("swa_num_key_value_heads"), full_head or head
        reused = whole("num_kv_shared_layers", default=0)
        narrow = whole("hidden_size_per_layer_input", default=0)
        near_kv = kv_heads * (head + value)
        extra = -hidden * near_kv * reused
        if full_head:
            wide = full_head if one else full_head + value if full_head == head else 2 * full_head
            extra += hidden * 2 * self.heads * (full_head - head) * sum(full)
            extra += hidden * (full_kv * wide - near_kv) * sum(full[: self.layers - reused])
        if get("use_double_wide_mlp"):
            extra += 3 * hidden * inner * reused
        # Embeddings of layers, each with a gate and a product back; low-rank paths and streams of Gemma 3n.
        extra += self.layers * hidden * (3 * narrow + 2 * whole("laurel_rank", default=0))
        extra += 2 * max(0, whole("altup_num_inputs", default=1) - 1) * hidden**2
        extra += (get("mla_use_output_gate") is True) * sum(full) * hidden * self.heads * value
        return {
            "kv_heads": kv_heads, "full_kv_heads": full_kv if full_head else 0, "full_head_size": full_head,
            "reused": reused, "extra": extra,
            "table": whole("vocab_size_per_layer_input", default=0) * self.layers * narrow,
        }  # fmt: skip

    def tower(self) -> int:
        """Parameters of the encoder of images, as its configuration states them: four products of attention
        and two of a feed-forward layer (three where it is gated), and what joins four patches to a token of
        the decoder, also of layers between; 0 where none is stated."""
        vision = self.vision if isinstance(self.vision, Mapping) else {}

        def number(*keys: str) -> int:
            found = (vision.get(key) for key in keys)
            return next((value for value in found if isinstance(value, int) and 0 < value < MAX_DIMENSION), 0)

        depth, hidden = number("depth", "num_hidden_layers"), number("hidden_size", "embed_dim")
        inner, out = number("intermediate_size") or 4 * hidden, number("out_hidden_size")
        matrices = 3 if vision.get("hidden_act") == "silu" else 2
        between = vision.get("deepstack_visual_indexes")
        joints = 1 + (len(between) if isinstance(between, list) else 0)
        joint = 4 * hidden * (4 * hidden + out) if out else 0
        return depth * hidden * (4 * hidden + matrices * inner) + joints * joint
