"""`gpuwise fit` from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Ran = tuple[int, str, str]


def test_a_table_and_a_document(gpuwise: Callable[..., Ran]) -> None:
    code, out, _ = gpuwise("fit", "llama-3.1-8b", "--gpu", "rtx-4090,rtx-3060-12gb", "--context", "8k,128k")
    assert code == 0
    assert "q4_k_m" in out
    code, out, _ = gpuwise("fit", "gpt-oss-20b", "--gpu", "rtx-5090", "--weights", "mxfp4", "--json")
    (row,) = json.loads(out)["rows"]
    assert code == 0
    assert row["fits"]
    assert row["needed_bytes"] == pytest.approx(sum(row["parts_bytes"].values()))


def test_what_does_not_fit_says_on_how_many_it_would(gpuwise: Callable[..., Ran]) -> None:
    code, out, err = gpuwise("fit", "llama-3.1-70b", "--gpu", "h100-sxm", "--weights", "bf16", "--json")
    (row,) = json.loads(out)["rows"]
    assert (code, row["fits"], row["enough_gpus"]) == (5, False, 2)
    assert "nothing of this fits" in err


def test_what_people_meet_first(gpuwise: Callable[..., Ran]) -> None:
    """The published format is among those tried; a laptop has one GPU; more than a machine has no speed."""
    code, out, _ = gpuwise("fit", "gpt-oss-20b", "--gpu", "rtx-4060-ti-16gb", "--json")
    assert (code, json.loads(out)["rows"][0]["weights"]) == (0, "mxfp4")
    _, out, _ = gpuwise("fit", "llama-3.1-70b", "--gpu", "rtx-3060-laptop", "--json")
    assert [row["enough_gpus"] for row in json.loads(out)["rows"]] == [None] * 5
    code, out, _ = gpuwise(
        "fit", "llama-3.1-405b", "--gpu", "h100-sxm", "--gpus", "16", "--weights", "bf16", "--json"
    )
    (row,) = json.loads(out)["rows"]
    assert (code, row["fits"], row["tokens_per_s"]) == (0, True, None)
    _, out, _ = gpuwise(
        "fit", "llama-3.1-8b", "--gpu", "rtx-3060-12gb,rtx-4090", "--weights", "fp8", "--json"
    )
    assert [row["widened_to_16_bits"] for row in json.loads(out)["rows"]] == [True, False]
    _, out, _ = gpuwise("fit", "llama-2-7b", "--for", "infer,qlora", "--gpu", "rtx-4090", "--json")
    assert {row["context"] for row in json.loads(out)["rows"]} == {4096, 2048}
    _, out, _ = gpuwise("fit", "gpt-oss-20b", "--gpu", "h200-sxm", "--context", "0.1m,1k", "--json")
    assert not out


@pytest.mark.parametrize(
    ("words", "next_"),
    [
        (("fit", "llama-3.1-8b", "--weights", "q4"), "q4_k_m"), (("fit", "lama-3.1-8b"), "llama-3.1-8b"),
        (("fit", "qwen3-32b", "--context", "128k"), "--context 40960"), (("fit", "model.gguf"), ".gguf"),
        (("bench", "lama-3.1-8b"), "llama-3.1-8b"), (("predict", "lama-3.1-8b-decode"), "llama-3.1-8b"),
    ],
)  # fmt: skip
def test_a_slip_is_answered_with_what_was_meant(
    words: tuple[str, ...], next_: str, gpuwise: Callable[..., Ran]
) -> None:
    code, _, err = gpuwise(*words)
    assert code == 2
    assert next_ in err


@pytest.mark.parametrize("name", ["gpt2", "gemma-2-9b"])
def test_methods_by_their_other_names(name: str, gpuwise: Callable[..., Ran]) -> None:
    words = ("fit", name, "--gpu", "h200-sxm", "--context", "1k", "--json")
    other, own = (json.loads(gpuwise(*words, "--for", task)[1]) for task in ("sft,finetune", "full"))
    assert other == own


def test_training_on_several(gpuwise: Callable[..., Ran], tmp_path: Path) -> None:
    file = tmp_path / "fit.csv"
    code, _, _ = gpuwise(
        "fit", "llama-3.1-8b", "--for", "full,lora,qlora", "--gpu", "h200-sxm", "--gpus", "2", "-o", str(file)
    )
    assert code == 0
    assert len(file.read_text().splitlines()) == 4


@pytest.mark.parametrize(
    "words",
    [
        ("llama-3.1-9b",), ("llama-3.1-8b", "--weights", "int3"), ("llama-3.1-8b", "--cache", "fp32"),
        ("llama-3.1-8b", "--context", "8x"), ("llama-3.1-8b", "--context", "1000k"),
        ("llama-3.1-8b", "--batch", "0"), ("llama-3.1-8b", "--for", "guess"), ("missing/config.json",),
        ("llama-3.1-8b", "--gpu", "rtx-9999"), ("llama-3.1-8b", "--for", "full", "--weights", "fp8"),
    ],
)  # fmt: skip
def test_bad_input_is_answered_in_words(words: tuple[str, ...], gpuwise: Callable[..., Ran]) -> None:
    code, out, err = gpuwise("fit", *words)
    assert code == 2
    assert not out
    assert "gpuwise:" in err
    assert "Traceback" not in err
