"""`gpuwise fit` from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuwise.cli.predict import MOST_ROWS
from gpuwise.workloads.llm import lighter

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


def test_precision_is_another_word_for_the_format_of_weights(gpuwise: Callable[..., Ran]) -> None:
    words = ("fit", "llama-3.1-8b", "--gpu", "rtx-4090", "--json")
    assert gpuwise(*words, "--precision", "int8")[1] == gpuwise(*words, "--weights", "int8")[1]
    assert gpuwise(*words, "--precision", "int8")[1] != gpuwise(*words, "--weights", "int4")[1]


def test_what_does_not_fit_says_on_how_many_it_would(gpuwise: Callable[..., Ran]) -> None:
    code, out, err = gpuwise("fit", "llama-3.1-70b", "--gpu", "h100-sxm", "--weights", "bf16", "--json")
    (row,) = json.loads(out)["rows"]
    assert (code, row["fits"], row["enough_gpus"]) == (5, False, 2)
    assert "nothing of this fits" in err
    assert "gpuwise fit llama-3.1-70b --weights bf16 --json --gpu h100-sxm --gpus 2\n" in err


def test_what_is_suggested_keeps_what_was_asked(gpuwise: Callable[..., Ran]) -> None:
    words = ("fit", "llama-3.1-8b", "--for=full", "--optimiser", "adamw8bit", "--gpu", "4090")
    assert (
        "gpuwise fit llama-3.1-8b --for=full --optimiser adamw8bit --gpu 4090 --gpus 4\n"
        in gpuwise(*words)[2]
    )
    words = ("fit", "llama-3.1-70b", "--gpu", "2x3060-12gb", "--weights", "int4", "--context", "8k")
    assert "--weights int4 --context 8k --gpu 3060-12gb --gpus 4\n" in gpuwise(*words)[2]
    words = ("predict", "resnet50", "--gpu", "t4", "--precision", "bf16", "--mode", "infer")
    assert "gpuwise predict resnet50 --gpu t4 --mode infer --precision fp16\n" in gpuwise(*words)[2]


@pytest.mark.parametrize(
    ("words", "counts"),
    [
        (("--gpu", "2x3090,4x4090"), [("rtx-3090", 2), ("rtx-4090", 4)]),
        (("--gpu", "2x3090,4090", "--gpus", "2,4"), None),
        (("--gpu", "3090,4090:8", "--gpus", "8"), [("rtx-3090", 8), ("rtx-4090", 8)]),
        (("--gpu", "3090", "--gpus", "2,4"), [("rtx-3090", 2), ("rtx-3090", 4)]),
    ],
)
def test_each_number_of_a_gpu_has_rows(
    words: tuple[str, ...], counts: list[tuple[str, int]] | None, gpuwise: Callable[..., Ran]
) -> None:
    code, out, _ = gpuwise("fit", "llama-3.1-70b", *words, "--weights", "int4", "--json")
    assert code == (2 if counts is None else 0)
    found = [(row["gpu_id"], row["count"]) for row in json.loads(out)["rows"]] if out else None
    assert found == counts


def test_a_machine_without_a_gpu_asks_the_usual_ones(gpuwise: Callable[..., Ran]) -> None:
    code, out, _ = gpuwise("fit", "llama-3.1-405b", "--weights", "bf16", "--json")
    rows = {row["gpu_id"]: row["enough_gpus"] for row in json.loads(out)["rows"]}
    assert code == 5
    assert rows["h200-sxm"] == 8
    assert {"h100-sxm5-80gb", "b200-sxm"} <= rows.keys()


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


def test_a_number_before_a_gpu_is_how_many_work_together(gpuwise: Callable[..., Ran]) -> None:
    for names in (("2x3090",), ("2x 3090", "--gpus", "2"), ("3090", "--gpus", "2")):
        code, out, _ = gpuwise("fit", "llama-3.1-8b", "--gpu", *names, "--weights", "bf16", "--json")
        assert (code, json.loads(out)["rows"][0]["count"]) == (0, 2)
    assert gpuwise("fit", "llama-3.1-8b", "--gpu", "2x3090", "--gpus", "4")[0] == 2


def test_a_chip_is_sold_with_several_sizes_of_memory(gpuwise: Callable[..., Ran]) -> None:
    asked = ("fit", "llama-3.1-70b", "--weights", "q4_k_m")
    assert "36, 48, 64, 128 GB" in gpuwise(*asked, "--gpu", "m4 max")[1]
    assert gpuwise(*asked, "--gpu", "m4 max", "--memory", "36GB")[0] == 5
    row = json.loads(gpuwise(*asked, "--gpu", "strix halo", "--memory", "128GB", "--json")[1])["rows"][0]
    assert (row["fits"], row["memory_bytes"]) == (True, 128 * 2**30)
    code, _, err = gpuwise(*asked, "--memory", "6GB")
    assert (code, "--gpu 6GB" in err, "rtx" in err) == (2, True, False)  # of no card that nobody named


def test_a_model_of_the_same_shape_is_named(gpuwise: Callable[..., Ran]) -> None:
    asked = ("--gpu", "h200-sxm", "--weights", "fp8")
    assert "llama-3.3-70b, in shape llama-3.1-70b" in gpuwise("fit", "llama-3.3-70b", *asked)[1]
    assert "in shape" not in gpuwise("fit", "meta-llama/Llama-3.1-70B-Instruct", *asked)[1]


def test_training_that_keeps_too_much_computes_it_again_as_fit_does(gpuwise: Callable[..., Ran]) -> None:
    asked = ("--gpu", "rtx-4090,h200-sxm,rtx-3060-12gb", "--batch", "1", "--json")
    code, out, _ = gpuwise("predict", "llm-8b-lora", *asked)
    found = {row["gpu_id"]: row for row in json.loads(out)["predictions"]}
    names = {gpu: row["config"]["workload"] for gpu, row in found.items()}
    assert (code, names["rtx-4090"], names["h200-sxm"]) == (0, "llm-8b-lora-checkpointed", "llm-8b-lora")
    assert found["rtx-4090"]["fits_probability"] > 0.9
    assert found["rtx-3060-12gb"]["refusal"]
    assert [lighter(name) for name in ("llm-8b-full-adamw8bit-8k", "llm-8b-decode", "resnet50")] == [
        "llm-8b-full-adamw8bit-checkpointed-8k", None, None,
    ]  # fmt: skip
    assert lighter("llm-8b-lora-checkpointed") is None


def test_of_each_gpu_the_formats_that_a_reader_needs(gpuwise: Callable[..., Ran]) -> None:
    words = ("fit", "llama-3.1-70b", "--gpu", "rtx-4090,h100-sxm")
    few, every = (gpuwise(*words, *more)[1].splitlines() for more in ((), ("--all",)))
    shown = [line.split()[:3] for line in few if " inference " in line and "largest" not in line]
    # One card of 24 GB holds it in no format; of 80 GB the fastest of each width, and what they do not hold.
    assert [(gpu, weights) for gpu, _, weights in shown] == [
        ("rtx-4090", "int4"),
        *(("h100-sxm5-80gb", weights) for weights in ("bf16", "fp8", "int4")),
    ]
    assert sum(" inference " in line and "largest" not in line for line in every) == 10


def test_a_size_alone_is_the_usual_model_of_it(gpuwise: Callable[..., Ran]) -> None:
    code, out, err = gpuwise("fit", "70b", "--gpu", "2x4090")
    assert code == 0
    assert "'70b' is taken as llama-3.1-70b" in err
    assert out.splitlines()[0].startswith("llama-3.1-70b:")
    # The parts of memory are those of a row that is shown, and so are the engines.
    assert "inference in int4" in out.partition("largest")[2]
    assert "llama.cpp" not in out


def test_contexts_beyond_the_model_s_own_are_left_out_alone(gpuwise: Callable[..., Ran]) -> None:
    words = ("fit", "qwen2.5-32b", "--gpu", "h200-sxm", "--weights", "int4", "--json")
    code, out, err = gpuwise(*words, "--context", "32k,64k")
    assert (code, {row["context"] for row in json.loads(out)["rows"]}) == (0, {32768})
    assert "32,768 tokens, not 65,536" in err
    assert gpuwise(*words, "--context", "64k")[0] == 2


def test_of_a_filter_the_fastest_are_shown(gpuwise: Callable[..., Ran], tmp_path: Path) -> None:
    _, out, _ = gpuwise("fit", "llama-3.1-8b", "--gpu", "24GB", "--weights", "int4")
    gpus = [line.split()[0] for line in out.splitlines() if " yes " in line]
    assert "rtx-4090" in gpus
    assert len(gpus) == MOST_ROWS
    gpuwise("fit", "llama-3.1-8b", "--gpu", "24GB", "--weights", "int4", "-o", str(tmp_path / "all.csv"))
    assert len((tmp_path / "all.csv").read_text("utf-8").splitlines()) > MOST_ROWS + 1


def test_several_optimisers_have_a_row_each(gpuwise: Callable[..., Ran]) -> None:
    words = ("fit", "llama-3.1-8b", "--gpu", "rtx-4090", "--for", "full,infer", "--weights", "bf16", "--json")
    rows = json.loads(gpuwise(*words, "--optimiser", "adamw,paged")[1])["rows"]
    assert [(row["task"], row["optimiser"], row["fits"]) for row in rows] == [
        ("full", "adamw", False), ("full", "paged", True), ("infer", "adamw", True),
    ]  # fmt: skip
    code, _, err = gpuwise("fit", "llama-3.1-8b", "--for", "full", "--optimiser", "adamw,lion")
    assert (code, "unknown optimiser 'lion'" in err) == (2, True)


def test_a_missing_file_is_said_as_by_every_verb(gpuwise: Callable[..., Ran], tmp_path: Path) -> None:
    code, _, err = gpuwise("fit", str(tmp_path / "none.gguf"))
    assert (code, "there is no such file" in err, "--" in err) == (2, True, False)


def test_speeds_point_to_those_of_a_server(gpuwise: Callable[..., Ran]) -> None:
    words = ("--gpu", "l40s", "--weights", "bf16")
    assert "gpuwise predict served:qwen3-8b" in gpuwise("fit", "qwen3-8b", *words)[1]
    assert "served:" not in gpuwise("fit", "qwen3-8b", "--gpu", "l40s", "--weights", "q4_k_m")[1]


@pytest.mark.parametrize(
    ("words", "follow"),
    [(("matmul",), "bench matmul"), (("resnet50", "--gpu", "l4"), "predict resnet50 --gpu l4")],
)
def test_what_is_no_language_model_is_told_a_verb_that_takes_it(
    gpuwise: Callable[..., Ran], words: tuple[str, ...], follow: str
) -> None:
    code, _, err = gpuwise("fit", *words)
    assert code == 2
    assert f"gpuwise {follow}\n" in err


def test_how_cards_are_joined_is_said_where_a_bridge_decides(gpuwise: Callable[..., Ran]) -> None:
    said = "".join(map(str, gpuwise("fit", "qwen3-30b-a3b", "--gpus", "2", "--gpu", "3090,4090,h100-sxm")))
    assert "2 x rtx-3090: joined by NVLink" in said
    assert "2 x rtx-4090: joined by PCIe 4.0 through host memory" in said
    assert "h100-sxm5-80gb: joined" not in said


def test_of_which_part_of_a_card_it_is_is_said(gpuwise: Callable[..., Ran]) -> None:
    _, said, _ = gpuwise("fit", "llama-3.2-3b", "--gpu", "mi250x,m60,b200,l4")
    assert "mi250x: one of its 2 dies" in said
    assert "m60: one of several GPUs of its board" in said
    assert "b200-sxm: one" not in said
    assert "l4: one" not in said
