"""Language models by name, and those of a user: a `config.json` or the header of a GGUF file. No weights.

`data/models.json` holds each model's configuration in the words of its `config.json`, the published count of
its parameters (`exact` where it is more than a round number) and its source; the tests hold what is counted
here against it. To add a model, add its line.
"""

from __future__ import annotations

import difflib
import json
import re
import struct
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, BinaryIO

from gpuwise.errors import InputError
from gpuwise.model.llm import LanguageModel, from_config
from gpuwise.model.precision import Precision

# What publishers add to the name of one and the same shape.
_SUFFIX = re.compile(
    r"-(instruct|chat|base|hf|it|pt|thinking|fp8|awq|gptq|gguf|nvfp4|bf16|\d{4})(-[a-z0-9.]+)?$"
    # Of the same shape, in the midst of a name: qwen2.5-coder-32b, deepseek-coder.
    r"|(?<=\d)-(coder|math)(?=-\d)"
)
# Longest text in the header of a GGUF file that is believed; vocabularies have a million entries at most.
_LONGEST, _MOST = 2**20, 2**22
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


@cache
def published() -> Mapping[str, dict[str, Any]]:
    """Every line of the table, by name: published count, source, configuration."""
    text = files("gpuwise.facts.llms").joinpath("data/models.json").read_text(encoding="utf-8")
    found: dict[str, dict[str, Any]] = json.loads(text)
    return found


def names() -> tuple[str, ...]:
    """Names of all models, families together."""
    return tuple(published())


@cache
def _aliases() -> Mapping[str, str]:
    return {alias: name for name, row in published().items() for alias in (name, *row.get("aliases", ()))}


def _plain(name: str) -> str:
    """As the table writes it, without what publishers add."""
    plain = re.sub(r"[\s_]+", "-", name.split("/")[-1].casefold().strip()).removeprefix("meta-")
    plain = re.sub(r"^(llama|gemma|phi|glm)(?=\d)", r"\1-", plain)  # "llama3" and "llama-3"
    while plain not in _aliases() and (shorter := _SUFFIX.sub("", plain)) != plain:
        plain = shorter
    if plain not in _aliases() and (sized := re.fullmatch(r"([a-z]+)-(\d+(\.\d+)?b)", plain)):
        # "llama-70b": the newest of that family and size, which the table has first.
        family, size = sized[1], sized[2]
        plain = next((n for n in names() if re.fullmatch(rf"{family}-[v\d.]+-{size}", n)), plain)
    return plain


def known(name: str) -> bool:
    """Whether the table has a model of that name."""
    return _plain(name) in _aliases()


def is_file(name: str) -> bool:
    """Whether it means a file of the user rather than a name of the table."""
    return name.removeprefix("hf:").endswith((".json", ".gguf"))


@cache
def find(name: str) -> LanguageModel:
    """The model of a name (`llama-3.1-8b`, `meta-llama/Llama-3.1-8B-Instruct`), of a `config.json`
    (`hf:./config.json`) or of a GGUF file. Raises InputError with the nearest names."""
    if is_file(name):
        return _of_file(Path(name.removeprefix("hf:")))
    plain = _plain(name)
    if plain in _aliases():
        full = _aliases()[plain]
        return from_config(full, published()[full]["config"])
    raise InputError(
        f"no language model is called {name!r}{guess(nearest(name, 0.5))}",
        hint="a name such as llama-3.1-8b, hf:./config.json of any other, or its .gguf file",
    )


def nearest(name: str, cutoff: float = 0.75) -> list[str]:
    """Names of models that hold what was typed, else those written like it."""
    plain = _plain(name)
    holding = [each for each in _aliases() if plain and plain in each][:3]
    return holding or difflib.get_close_matches(plain, _aliases(), n=3, cutoff=cutoff)


def guess(near: Sequence[str]) -> str:
    """The end of a sentence about a name that means nothing."""
    return f"; did you mean {' or '.join(near)}?" if near else ""


def stored(model: LanguageModel) -> Precision | None:
    """The format in which its publisher gives the weights, where that is not 16 bits."""
    kind = published().get(model.name, {}).get("stored")
    return Precision(kind) if kind else None


def weight_bytes(model: LanguageModel, precision: Precision) -> float:
    """Bytes of all weights. Embedding and head have the format's own width; MXFP4 is of experts alone, the
    way gpt-oss is published, where there are experts."""
    experts = model.expert_layers * model.experts * model.expert
    shared = 2.0 if precision == Precision.MXFP4 and experts else precision.weight_bytes
    outer = (1 if model.tied else 2) * model.embedding * precision.head_bytes
    return model.shared * shared + experts * precision.weight_bytes + outer


def _of_file(path: Path) -> LanguageModel:
    try:
        if path.suffix == ".gguf":
            with path.open("rb") as file:
                return from_config(path.name, _gguf(file, path.name))
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        hint = "give the path of its config.json or .gguf file, or a name such as llama-3.1-8b"
        raise InputError(f"cannot read {path}: {error.strerror}", hint=hint) from None
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise InputError(f"{path.name} is not a config.json: {error}") from None
    if not isinstance(config, dict):
        raise InputError(f"{path.name} is not the configuration of a model")
    return from_config(path.name, config)


def _gguf(file: BinaryIO, name: str) -> dict[str, Any]:
    """The header of a GGUF file (version 2 or 3) in the words of a `config.json`."""

    def read(form: str) -> Any:
        size = struct.calcsize("<" + form)
        data = file.read(size)
        if len(data) < size:
            raise InputError(f"{name} ends within its header")
        return struct.unpack("<" + form, data)[0]

    def text() -> str:
        length = read("Q")
        if length > _LONGEST:
            raise InputError(f"{name} is damaged: a text of {length} bytes in its header")
        return file.read(length).decode(errors="replace")

    def value(kind: int) -> Any:
        if kind == 8:
            return text()
        if kind == 9:
            inner, length = read("I"), read("Q")
            if length > _MOST or inner == 9:
                raise InputError(f"{name} is damaged: a list of {length} entries in its header")
            return [value(inner) for _ in range(length)]
        if kind not in _SCALARS:
            raise InputError(f"{name} is damaged: no value has the type {kind}")
        return read(_SCALARS[kind])

    if file.read(4) != b"GGUF" or read("I") not in (2, 3):
        raise InputError(f"{name} is not a GGUF file of version 2 or 3")
    tensors, pairs = read("Q"), read("Q")
    if pairs > _MOST or tensors > _MOST:
        raise InputError(f"{name} is damaged: {pairs} entries and {tensors} tensors in its header")
    found = {text(): value(read("I")) for _ in range(pairs)}
    own = set()
    for _ in range(tensors):
        own.add(text())
        for _ in range(read("I")):
            read("Q")
        read("I"), read("Q")
    kind = str(found.get("general.architecture", ""))
    words = {
        "hidden_size": "embedding_length", "num_hidden_layers": "block_count",
        "intermediate_size": "feed_forward_length", "num_attention_heads": "attention.head_count",
        "num_key_value_heads": "attention.head_count_kv", "head_dim": "attention.key_length",
        "sliding_window": "attention.sliding_window", "num_local_experts": "expert_count",
        "num_experts_per_tok": "expert_used_count", "moe_intermediate_size": "expert_feed_forward_length",
        "max_position_embeddings": "context_length", "vocab_size": "vocab_size",
    }  # fmt: skip
    config = {
        ours: found[f"{kind}.{theirs}"] for ours, theirs in words.items() if f"{kind}.{theirs}" in found
    }
    config.setdefault("vocab_size", len(found.get("tokenizer.ggml.tokens", ())))
    families = {"qwen3moe": "qwen3_moe", "gemma3": "gemma3_text", "gpt-oss": "gpt_oss", "phi2": "phi"}
    config["model_type"] = families.get(kind, kind)
    config["tie_word_embeddings"] = "output.weight" not in own
    config["attention_bias"] = "blk.0.attn_q.bias" in own
    if config["model_type"] == "gemma3_text":
        config["sliding_window_pattern"] = 6
    return config
