"""Language models by name: what is counted is what was published; files of a user are read or refused."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from gpuwise.errors import InputError
from gpuwise.facts import llms
from gpuwise.model.precision import Precision

TINY = {
    "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 256, "tie_word_embeddings": True,
}  # fmt: skip


@pytest.mark.parametrize("name", llms.names())
def test_parameters_are_as_published(name: str) -> None:
    row, model = llms.published()[name], llms.find(name)
    if row["exact"]:
        assert model.parameters == row["published"]
    else:  # published rounded to three digits, and with parts that are no decoder
        assert model.parameters == pytest.approx(row["published"], rel=0.012)
    if "active" in row:  # where publishers count embedding or head once more, they differ by that
        either = (model.active, model.active + model.embedding, model.active - model.embedding)
        assert min(abs(count / row["active"] - 1) for count in either) < 0.06
    assert row["source"]


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("meta-llama/Meta-Llama-3.1-8B-Instruct", "llama-3.1-8b"),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b"),
        ("DeepSeek-R1", "deepseek-v3"),
        ("google/gemma-3-27b-it", "gemma-3-27b"),
        ("Llama-3.3-70B-Instruct-FP8", "llama-3.1-70b"),
        ("llama 3.1 8b", "llama-3.1-8b"),
        ("llama-70b", "llama-3.1-70b"),
        ("Qwen2.5-Coder-32B-Instruct", "qwen2.5-32b"),
        ("qwen3-coder-480b-a35b", "qwen3-coder-480b-a35b"),
    ],
)
def test_names_as_people_write_them(written: str, name: str) -> None:
    assert llms.find(written).name == name


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(InputError, match="gpt-oss-20b"):
        llms.find("gpt-os-20b")


def test_caches_by_kind_of_attention() -> None:
    grouped, latent, windows = (llms.find(name) for name in ("llama-3.1-8b", "deepseek-v3", "gpt-oss-20b"))
    assert grouped.cache_values(1) == 2 * 32 * 8 * 128
    assert latent.cache_values(1) == 61 * (512 + 64)
    # Half of the layers look back 128 tokens.
    assert windows.cache_values(8192) == 2 * 8 * 64 * (12 * 8192 + 12 * 128)


def test_a_batch_reads_more_experts_than_a_token_and_never_all() -> None:
    model = llms.find("mixtral-8x7b")
    read = [model.read(batch) for batch in (1, 2, 8, 64)]
    assert read[0] == pytest.approx(model.active)
    assert read == sorted(read)
    assert read[-1] < model.parameters


@pytest.mark.parametrize(
    ("name", "stored", "size_gb"),
    [
        ("llama-3.1-8b", "q4_k_m", 4.92), ("llama-3.1-8b", "q5_k_m", 5.73), ("llama-3.1-8b", "q8_0", 8.54),
        ("llama-3.1-8b", "bf16", 16.06), ("gpt-oss-20b", "mxfp4", 13.76),
    ],
)  # fmt: skip
def test_files_of_weights_are_as_large_as_the_published_ones(name: str, stored: str, size_gb: float) -> None:
    assert llms.weight_bytes(llms.find(name), Precision(stored)) == pytest.approx(size_gb * 1e9, rel=0.005)


def test_a_config_of_a_user(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(TINY))
    model = llms.find(f"hf:{path}")
    assert model.parameters == 2 * (64 * 64 * 2 + 2 * 64 * 32 + 3 * 64 * 128 + 2 * 64) + 64 + 256 * 64


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"hidden_size": None}, "hidden_size"), ({"hidden_size": "64"}, "whole number"),
        ({"num_hidden_layers": -2}, "whole number"), ({"num_key_value_heads": 3}, "share"),
        ({"vocab_size": 10**12}, "whole number"), ({"num_attention_heads": 0}, "above 0"),
        ({"num_local_experts": 4, "num_experts_per_tok": 8}, "chosen"),
    ],
)  # fmt: skip
def test_a_config_that_cannot_be_true_is_refused(change: dict[str, Any], word: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**TINY, **change}))
    with pytest.raises(InputError, match=word):
        llms.find(str(path))


def gguf(pairs: dict[str, int], tensors: list[str]) -> bytes:
    def text(word: str) -> bytes:
        return struct.pack("<Q", len(word)) + word.encode()

    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs) + 1)
    out += text("general.architecture") + struct.pack("<I", 8) + text("llama")
    for key, value in pairs.items():
        out += text(f"llama.{key}") + struct.pack("<II", 4, value)
    for name in tensors:
        out += text(name) + struct.pack("<IQIQ", 1, 64, 0, 0)
    return out


HEADER = {
    "embedding_length": 64, "block_count": 2, "attention.head_count": 4, "attention.head_count_kv": 2,
    "feed_forward_length": 128, "vocab_size": 256,
}  # fmt: skip


def test_the_header_of_a_gguf_file(tmp_path: Path) -> None:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(gguf(HEADER, ["token_embd.weight"]))
    tied = llms.find(str(path))
    assert tied.tied
    other = tmp_path / "other.gguf"
    other.write_bytes(gguf(HEADER, ["token_embd.weight", "output.weight"]))
    assert llms.find(str(other)).parameters == tied.parameters + 256 * 64


@pytest.mark.parametrize(
    "data", [b"", b"GGUF", b"GGUF" + b"\xff" * 64, gguf(HEADER, ["a"])[:90], b"PK\x03\x04"]
)
def test_a_damaged_gguf_file_is_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(data)
    with pytest.raises(InputError):
        llms.find(str(path))
