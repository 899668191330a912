"""Language models by name: what is counted is what was published; files of a user are read or refused."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path
from typing import Any

import pytest

from gpuwise.errors import InputError
from gpuwise.facts import llms
from gpuwise.model.precision import Precision

from ...stopwatch import stopwatch

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
        assert model.parameters + model.tower == pytest.approx(row["published"], rel=0.012)
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
        ("mistralai/Devstral-Small-2507", "mistral-small-3.2-24b"),
        ("deepseek-ai/DeepSeek-V3.2-Exp", "deepseek-v3"),
        ("moonshotai/Kimi-K2-Instruct-0905", "kimi-k2"),
        ("DeepSeek-R1-Distill-Qwen-7B", "qwen2.5-7b"),
        ("ibm-granite/granite-4.0-h-small", "granite-4.0-h-small"),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "llama-4-scout"),
        ("Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8", "qwen3-coder-480b-a35b"),
        ("unsloth/Llama-3.3-70B-Instruct-bnb-4bit", "llama-3.1-70b"),
        ("TheBloke/Mistral-7B-Instruct-v0.2-GGUF", "mistral-7b-v0.2"),
        ("mistralai/Mistral-Nemo-Instruct-2407", "mistral-nemo-12b"),
        ("mistralai/Mistral-Small-Instruct-2409", "codestral-22b"),
        ("google/gemma-2b-it", "gemma-2b"),
        ("NousResearch/Hermes-3-Llama-3.1-8B", "llama-3.1-8b"),
        ("cognitivecomputations/dolphin-2.9-llama3-8b", "llama-3.1-8b"),
        ("internlm/internlm2_5-7b-chat", "internlm2.5-7b"),
        ("nvidia/NVIDIA-Nemotron-Nano-9B-v2", "nemotron-nano-9b-v2"),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "qwen2.5-vl-7b"),
        ("Qwen/Qwen3.6-35B-A3B-FP8", "qwen3.5-35b-a3b"),
        ("zai-org/GLM-4.7-Flash", "glm-4.7-flash"),
        ("llama3.1:8b", "llama-3.1-8b"),
        ("deepseek-r1:14b", "qwen2.5-14b"),
        ("qwen2.5:7b-instruct-q4_K_M", "qwen2.5-7b"),
        ("gemma3:12b-it-q8_0", "gemma-3-12b"),
        ("qwen2.5vl:7b", "qwen2.5-vl-7b"),
        ("allenai/Olmo-3-32B-Think", "olmo-3-32b"),
    ],
)
def test_names_as_people_write_them(written: str, name: str) -> None:
    assert llms.find(written).name == name


@pytest.mark.parametrize(
    "other",
    [
        "Qwen/Qwen2.5-VL-3B-Instruct", "meta-llama/Llama-3.2-11B-Vision-Instruct", "google/codegemma-2b",
        "microsoft/Phi-3.5-MoE-instruct",
        "our-llama-3.1-8b", "deepseek-v9", "70b",
    ],
)  # fmt: skip
def test_other_shapes_have_no_name_of_these(other: str) -> None:
    assert not llms.known(other)


def test_layers_of_one_kind_each() -> None:
    mixed = llms.find("nemotron-nano-9b-v2")
    assert (mixed.layers, mixed.mixers, mixed.full_layers) == (31, 27, 4)
    assert mixed.splits(4)
    assert mixed.cache_values(8192) - mixed.cache_values(4096) == 4096 * 4 * 2 * 8 * 128
    assert llms.find("nemotron-3-nano-30b-a3b").expert_layers == 23


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(InputError, match="gpt-oss-20b"):
        llms.find("gpt-os-20b")


def test_caches_by_kind_of_attention() -> None:
    grouped, latent, windows = (llms.find(name) for name in ("llama-3.1-8b", "deepseek-v3", "gpt-oss-20b"))
    assert grouped.cache_values(1) == 2 * 32 * 8 * 128
    assert latent.cache_values(1) == 61 * (512 + 64)
    # Half of the layers look back 128 tokens.
    assert windows.cache_values(8192) == 2 * 8 * 64 * (12 * 8192 + 12 * 128)


def test_a_state_does_not_grow_and_what_is_not_counted_is_refused(tmp_path: Path) -> None:
    mixed = llms.find("qwen3-next-80b-a3b")
    grown = mixed.cache_values(8192) - mixed.cache_values(4096)
    assert grown == 4096 * 12 * 2 * 2 * 256  # one layer of four keeps keys and values of two heads
    assert mixed.cache_values(0) == 36 * (32 * 128 * 128 + 3 * (2 * 16 + 32) * 128)
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**TINY, "model_type": "jamba"}))
    with pytest.raises(InputError, match="jamba"):
        llms.find(str(path))


def test_layers_that_attend_to_everything_have_heads_of_their_own() -> None:
    """Gemma 4 keeps 4 keys and values of 512 in ten of 60 layers, 16 of 256 in a window in the others; of a
    small one 18 layers read what others keep, and a token takes a row of a table a layer."""
    large, small = llms.find("gemma4:31b"), llms.find("google/gemma-4-E4B-it")
    assert large.cache_values(8192) == 2 * (10 * 4 * 512 * 8192 + 50 * 16 * 256 * 1024)
    assert small.cache_values(8192) == 2 * 2 * (4 * 512 * 8192 + 20 * 256 * 512)
    assert small.table == 42 * 256 * 262_144
    assert small.read(1) == small.active == small.parameters - small.table
    assert llms.find("kimi-k3").expert == 3 * 3584 * 3072


def test_what_reads_images_is_in_memory_and_not_in_a_step(tmp_path: Path) -> None:
    """As transformers counts Qwen2.5-VL 7B: 676,550,144 parameters of 8,292,166,656."""
    seen = llms.find("qwen2.5-vl-7b")
    assert seen.parameters == llms.find("qwen2.5-7b").parameters == 8_292_166_656 - 676_550_144
    assert seen.tower == pytest.approx(676_550_144, rel=0.01)
    assert llms.stored_bytes(seen, Precision.INT4) - llms.weight_bytes(seen, Precision.INT4) == 2 * seen.tower
    path = tmp_path / "config.json"
    config = {**TINY, "model_type": "qwen3_vl_text"}
    vision = {"depth": 2, "hidden_size": 8, "intermediate_size": 16}
    stated = {"model_type": "qwen3_vl", "text_config": config, "vision_config": vision}
    path.write_text(json.dumps(stated))
    own = llms.find(str(path))
    assert (own.head_norm, own.tower) == ("head", 2 * 8 * (4 * 8 + 2 * 16))


def test_a_layer_of_qwen_keeps_a_state_whatever_its_number(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    config = {**llms.published()["qwen3.5-9b"]["config"], "model_type": "qwen3_5_text"}
    path.write_text(json.dumps({"model_type": "qwen3_5", "text_config": config}))
    own, known = llms.find(str(path)), llms.find("qwen3.5-9b")
    assert (own.mixers, own.parameters, own.query_gate) == (24, known.parameters, True)


def test_experts_behind_a_narrow_product_are_as_small_as_that() -> None:
    mixed = llms.find("nemotron-3-super")
    assert mixed.expert == 2 * 1024 * 2688
    assert mixed.expert_layers == 40


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


@pytest.mark.parametrize(
    ("stored", "bits"),
    [  # of the whole file: llama.cpp's tools/quantize/README.md; the last four by sizes in its --help
        ("q8_0", 8.5008), ("q6_k", 6.5633), ("q5_k_m", 5.7036), ("q5_k_s", 5.5704), ("q4_k_m", 4.8944),
        ("q4_k_s", 4.6672), ("iq4_nl", 4.6818), ("iq4_xs", 4.4597), ("q3_k_l", 4.2979), ("q3_k_m", 3.9960),
        ("q3_k_s", 3.6429), ("iq3_m", 3.7628), ("iq3_xxs", 3.2548), ("q2_k", 3.1593), ("iq2_m", 2.9294),
        ("q4_0", 4.642), ("q4_1", 5.110), ("q5_0", 5.577), ("q5_1", 6.046),
    ],
)  # fmt: skip
def test_every_type_of_gguf_has_its_mean_bits(stored: str, bits: float) -> None:
    model = llms.find("llama-3.1-8b")
    size = llms.weight_bytes(model, Precision(stored))
    assert 8 * size / model.parameters == pytest.approx(bits, rel=0.005)


def test_a_config_of_a_user(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(TINY))
    model = llms.find(f"hf:{path}")
    assert model.parameters == 2 * (64 * 64 * 2 + 2 * 64 * 32 + 3 * 64 * 128 + 2 * 64) + 64 + 256 * 64
    assert llms.find(f"hf:{tmp_path}").parameters == model.parameters


def test_a_config_without_end_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(TINY) + " " * 2**24)
    with pytest.raises(InputError, match="more than"):
        llms.find(str(path))


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"hidden_size": None}, "hidden_size"), ({"hidden_size": "64"}, "whole number"),
        ({"num_hidden_layers": -2}, "whole number"), ({"num_key_value_heads": 3}, "share"),
        ({"vocab_size": 10**12}, "whole number"), ({"num_attention_heads": 0}, "above 0"),
        ({"num_local_experts": 4, "num_experts_per_tok": 8}, "chosen"),
        ({"num_local_experts": 4, "num_experts_per_tok": 0}, "so many"),
        ({"num_local_experts": 4, "moe_intermediate_size": 0}, "so many"),
        ({"num_local_experts": 4, "first_k_dense_replace": 9}, "so many"),
        ({"num_kv_shared_layers": 9}, "so many"), ({"hidden_size": 66}, "channels"),
        ({"sliding_window": 8, "hybrid_layer_pattern": [0]}, "so many"),
        ({"vocab_size": 0}, "so many"), ({"vocab_size": None}, "vocab_size"),
        ({"model_type": "bert"}, "bert"),
        ({"kv_lora_rank": 8, "qk_nope_head_dim": 0, "v_head_dim": 0}, "so many"),
        ({"partial_rotary_factor": math.nan}, "number"), ({"partial_rotary_factor": "half"}, "number"),
        ({"routed_scaling_factor": -1}, "number"), ({"rope_theta": "x"}, "number"),
        ({"linear_attn_config": [1]}, "table"),
        ({"linear_attn_config": {"num_heads": 2}}, "head_dim"),
        ({"linear_attn_config": {"num_heads": 2, "full_attn_layers": 5}}, "list"),
    ],
)  # fmt: skip
def test_a_config_that_cannot_be_true_is_refused(change: dict[str, Any], word: str, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**TINY, **change}))
    with pytest.raises(InputError, match=word):
        llms.find(str(path))


def gguf(pairs: dict[str, int], tensors: list[str], kind: str = "llama", size: int = 64) -> bytes:
    def text(word: str) -> bytes:
        return struct.pack("<Q", len(word)) + word.encode()

    out = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs) + 1)
    out += text("general.architecture") + struct.pack("<I", 8) + text(kind)
    for key, value in pairs.items():
        out += text(f"{kind}.{key}") + struct.pack("<II", 4, value)
    for name in tensors:
        out += text(name) + struct.pack("<IQIQ", 1, size, 0, 0)
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


def test_a_gguf_file_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    names = [f"blk.{i}" for i in range(11)]
    counted = llms.find(_written(path, gguf(HEADER, names[:10]))).parameters  # too few to be all
    near, far = (round(counted * factor / 11) for factor in (1.02, 1.05))
    assert llms.find(_written(tmp_path / "near.gguf", gguf(HEADER, names, size=near))).parameters == counted
    with pytest.raises(InputError, match="holds"):
        llms.find(_written(tmp_path / "far.gguf", gguf(HEADER, names, size=far)))


def _written(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)


@pytest.mark.parametrize("newer", [False, True])
def test_latent_attention_in_a_gguf_file(newer: bool, tmp_path: Path) -> None:
    heads = {"key_length_mla": 192, "value_length_mla": 128, "key_length": 576, "value_length": 512}
    header = {
        "embedding_length": 7168, "block_count": 61, "attention.head_count": 128, "vocab_size": 129280,
        "attention.head_count_kv": 1 if newer else 128, "feed_forward_length": 18432, "expert_count": 256,
        "expert_used_count": 8, "expert_feed_forward_length": 2048, "expert_shared_count": 1,
        "leading_dense_block_count": 3, "attention.q_lora_rank": 1536, "attention.kv_lora_rank": 512,
        "rope.dimension_count": 64,
    }  # fmt: skip
    lengths = heads if newer else {"key_length": 192, "value_length": 128}
    header |= {f"attention.{key}": value for key, value in lengths.items()}
    path = _written(tmp_path / "v3.gguf", gguf(header, ["output.weight"], kind="deepseek2"))
    found, known = llms.find(path), llms.find("deepseek-v3")
    assert found.cache_values(100) == known.cache_values(100)
    assert found.parameters == pytest.approx(known.parameters, rel=1e-4)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"GGUF", b"GGUF" + b"\xff" * 64, gguf(HEADER, ["a"])[:90], b"PK\x03\x04",
        # The tensor's sides are one, and its name one letter: 2^31 of them are not read.
        gguf(HEADER, ["a"])[:-24] + struct.pack("<I", 2**31) + bytes(2**20),
        gguf(HEADER, []).replace(b"block_count\4", b"block_count\6"),
        gguf(HEADER | {"kv": 8}, []).replace(b"llama.kv\4", b"llama.kv\x08"),
    ],
)  # fmt: skip
def test_a_damaged_gguf_file_is_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(data)
    with pytest.raises(InputError):
        llms.find(str(path))


def test_a_name_of_many_words_takes_no_time(slowness: float) -> None:
    assert llms.known("llama-3.1-8b-instruct-hf-2507-fp8-awq-gguf")
    took_s = stopwatch()
    for text in ("8k " * 700, "a/" + "8k " * 700, "llama-3.1-8b" + "-us" * 700, "8b-" * 700):
        assert not llms.known(text)
        assert not llms.nearest(text)
    assert took_s() < 2 * slowness


@pytest.mark.parametrize(
    ("family", "name"),
    [
        ("mistral", "mistral-7b"), ("llama3", "llama-3.1-8b"), ("qwen3", "qwen3-8b"),
        ("mixtral", "mixtral-8x7b"), ("llama4", "llama-4-scout"), ("olmo2", "olmo-2-7b"),
        ("qwen3-coder", "qwen3-30b-a3b"), ("qwen 32b", "qwen3-32b"), ("Nemotron", "nemotron-nano-9b-v2"),
    ],
)  # fmt: skip
def test_a_family_is_its_usual_size_and_the_newest_of_it(family: str, name: str) -> None:
    assert llms.find(family).name == name
    assert f"taken as {name}" in llms.note(family)
    assert not llms.note(name)


@pytest.mark.parametrize(
    ("name", "precision"),
    [
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", "int4"),
        ("Qwen3-30B-A3B-GPTQ-Int8", "int8"),
        ("llama-3.1-8b-instruct-quantized.w8a8", "int8"),
        ("nvidia/Llama-3.1-8B-Instruct-NVFP4", "nvfp4"),
        ("amd/Llama-3.1-405B-Instruct-FP8-KV", "fp8"),
        ("unsloth/llama-3.1-8b-bnb-4bit", "nf4"),
        ("llama3.1:8b-instruct-q4_K_M", "q4_k_m"),
        ("./x/Llama-3.1-8B.IQ3_M.gguf", "iq3_m"),
        ("unsloth/gpt-oss-20b-BF16", "bf16"),
        ("bartowski/Llama-2-13B-GGUF", None),
        ("fp8-lab/llama-3.1-8b", None),
        ("awq", None),
    ],
)
def test_a_name_says_the_format_of_its_weights(name: str, precision: str | None) -> None:
    assert llms.named_format(name) == precision


def test_no_name_of_the_table_says_a_format() -> None:
    names = [alias for name, row in llms.published().items() for alias in (name, *row.get("aliases", ()))]
    assert [name for name in names if llms.named_format(name)] == []
