"""Throughput tables against physics and logic."""

from __future__ import annotations

import pytest

from gpuwise.judge import audit


def kinds(text: str) -> set[str | None]:
    return {f.kind for f in audit.audit_text(text).findings if f.field == "throughput"}


def table(*rows: tuple[str, str, str, str]) -> str:
    head = "# RTX A6000\n| Network | 1 GPU | 2 GPUs | 4 GPUs |\n|---|---|---|---|\n"
    return head + "\n".join("| " + " | ".join(row) + " |" for row in rows)


def test_a_plausible_table_is_possible() -> None:
    assert kinds(table(("ResNet-50 FP16", "812.4", "1571.9", "3021.7"))) == {None}


def test_perfect_scaling_was_computed() -> None:
    assert "exactly linear" in kinds(table(("ResNet-50 FP16", "812.4", "1624.8", "3249.6")))


def test_more_than_perfect_scaling() -> None:
    assert "scaling over 100 %" in kinds(table(("ResNet-50 FP16", "812.4", "1950.3", "3021.7")))


def test_above_the_peak() -> None:
    assert "physics" in kinds("# T4\n| Network | 1 GPU |\n|---|---|\n| ResNet-50 FP16 | 98765.4 |")


def test_a_network_that_nobody_knows_is_left_out() -> None:
    assert kinds(table(("FrobNet", "1", "2", "4"))) == set()


def long(*rows: str, head: str = "GPU | Model | Precision | Images/s", title: str = "Training") -> str:
    rule = "|".join("---" for _ in head.split("|"))
    return f"# {title}\n\n| {head} |\n|{rule}|\n" + "\n".join(f"| {row} |" for row in rows)


def test_one_figure_a_row_with_its_gpu() -> None:
    assert "physics" in kinds(long("T4 | ResNet-50 | fp32 | 41,500"))
    assert kinds(long("T4 | ResNet-50 | fp32 | 130")) == {None}


def test_the_name_tells_how_many_gpus() -> None:
    rows = ("8x H100 SXM", "H100 SXM x8", "H100 SXM (8 GPUs)", "DGX H200")
    assert kinds(long(*(f"{name} | ResNet-50 | fp16 | 40,600" for name in rows))) == {None}
    assert "physics" in kinds(long("H100 SXM | ResNet-50 | fp16 | 48,600"))


def test_a_column_called_gpu_may_hold_counts() -> None:
    rows = ("1 | ResNet-50 | 812", "2 | ResNet-50 | 1,950")
    assert "scaling over 100 %" in kinds(long(*rows, head="GPU | Model | Images/s", title="RTX A6000"))


def test_short_sequences_need_less_work() -> None:
    head = "GPU | Model | Precision | Sequences/s"
    assert kinds(long("A100 SXM4 80GB | BERT-Large (seq 128) | fp16 | 430", head=head)) == {None}
    assert kinds(long("A100 SXM4 80GB | BERT-Large | fp16 | 430", head=head)) == {None}
    assert "physics" in kinds(long("A100 SXM4 80GB | BERT-Large (seq 384) | fp16 | 430", head=head))


def test_tokens_are_no_sequences() -> None:
    head = "GPU | Model | Precision | Throughput (tokens/s)"
    assert kinds(long("A100 SXM4 80GB | BERT-Large | fp16 | 55,000", head=head)) == {None}


def test_inference_runs_in_int8() -> None:
    text = long("A100 SXM4 80GB | ResNet-50 | int8 | 36,000", title="Inference")
    assert kinds(text) == {None}
    plain = "# Speed\n\nInference with TensorRT:\n\n| GPU | Model | Images/s |\n|---|---|---|\n| {} |"
    assert kinds(plain.format("A100 SXM4 80GB | ResNet-50 | 36,000")) == {None}
    assert "physics" in kinds(plain.format("T4 | ResNet-50 | 56,000"))


def test_points_for_thousands_of_images() -> None:
    rows = (("ResNet-50 FP16", "1.720", "3.310", "6.205"), ("ResNet-152 FP16", "702", "1.344", "2.690"))
    assert kinds(table(*rows)) == {None}


def models(caption: str, *rows: str) -> list[tuple[str, str]]:
    """(GPU, speed) of what is accused in a table of models and GPUs."""
    head = "\n\n| Model | Quant | File size | RTX 3090 | 2x RTX 4090 |\n|---|---|---|---|---|\n"
    found = audit.audit_text(caption + head + "\n".join(f"| {row} |" for row in rows)).findings
    assert {f.field for f in found} == {"throughput"}
    return [(f.gpu[-8:], f.stated) for f in found if f.verdict == "contradicts"]


# 936.2 and 2 x 1008 GB/s, over what a token reads: 9.36 GB are read 100 times a second, and 10 % are spare.
ONE = "Tokens per second, one request:"


def test_a_language_model_is_read_once_for_each_token() -> None:
    assert models(ONE, "Llama 8B | Q8_0 | 9.36 GB | 109.9 | 230") == []
    assert models(ONE, "Llama 8B | Q8_0 | 9.36 GB | 110.1 | 240") == [
        ("RTX 3090", "110.1"),
        ("RTX 4090", "240"),
    ]
    # Without a file size by its parameters and bits: 8 GB; without bits four.
    assert models(ONE, "Llama 8B | Q8_0 | | 127 | 276") == []
    assert models(ONE, "Llama 8B | Q8_0 | | 130 | 278") == [("RTX 3090", "130"), ("RTX 4090", "278")]
    assert models(ONE, "Llama 8B | | | 255 | 260") == []
    # What several requests get together is bound by arithmetic, and experts read a part.
    assert models("Tokens per second, batch size 32:", "Llama 8B | Q8_0 | 9.4 GB | 930 | 1900") == []
    assert models(ONE, "Mixtral 8x7B | Q4_0 | 26 GB | 70 | 99") == []
    # So may any of more than 80 B, but for those that are known not to.
    assert models(ONE, "Some 80B | Q4_0 | | 99 | 99") == [("RTX 3090", "99"), ("RTX 4090", "99")]
    assert models(ONE, "Some 81B | Q4_0 | | 99 | 99") == []
    assert models(ONE, "Llama 405B | Q4_0 | | 99 | 99") == [("RTX 3090", "99"), ("RTX 4090", "99")]


def test_what_does_not_fit_runs_at_the_pace_of_the_processor() -> None:
    # 24 of 48 GiB lie in the memory of the GPU: a quarter of a second for the rest.
    assert models(ONE, "Llama 70B | Q4_0 | 51.5 GB | 3.4 | 30") == []
    assert models(ONE, "Llama 70B | Q4_0 | 51.5 GB | 4.1 | 30") == [("RTX 3090", "4.1")]
    assert models(f"With CPU offload. {ONE}", "Llama 70B | Q4_0 | 51.5 GB | 4.1 | 30") == []


def test_the_text_above_names_the_model() -> None:
    text = "Distilled DeepSeek-R1 70B, 4-bit (40 GB of weights), one user\n\n"
    text += "| GPU | {} |\n|---|---|\n| A100 80GB | 74 |"
    verdicts = [
        [f.kind for f in audit.audit_text(text.format(u)).findings if f.kind] for u in ("tokens/s", "rank")
    ]
    assert verdicts == [[], []]
    text = text.replace("Distilled DeepSeek-R1", "DeepSeek-R1-Distill-Llama")
    verdicts = [
        [f.kind for f in audit.audit_text(text.format(u)).findings if f.kind] for u in ("tokens/s", "rank")
    ]
    assert verdicts == [["physics"], []]


def test_numbers_near_a_file_are_not_its_size() -> None:
    """Neither a benchmark's own number nor the memory of a card is what a token reads."""
    head = "| GPU | Llama 3.1 8B Q4_K_M | Llama 3.1 8B Q8_0 |\n|---|---|---|\n"
    for title in ("GGUF files (tg128, tokens/s), one request", "GGUF on cards of 24 GB, tokens/s, one user"):
        found = audit.audit_text(f"{title}\n\n{head}| RTX 3090 | 128 t/s | 84 t/s |\n").findings
        assert [f.kind for f in found if f.field == "throughput"] == [None, None]
        found = audit.audit_text(f"{title}\n\n{head}| RTX 3090 | 300 t/s | 150 t/s |\n").findings
        assert [f.kind for f in found if f.field == "throughput"] == ["physics", "physics"]


@pytest.mark.parametrize(
    ("title", "rate", "wrong"),
    [
        ("tok/s (8B Q4)", 70, False),  # 288 GB/s read 4 GB for each token 72 times
        ("tok/s (8B Q4)", 80, True),
        ("tok/s (8B, Q4 2024)", 80, False),  # a quarter of a year says nothing of requests
    ],
)
def test_a_format_of_local_engines_means_one_request(title: str, rate: int, wrong: bool) -> None:
    text = f"| GPU | Bandwidth | {title} |\n|---|---|---|\n| Tesla M40 24GB | 288 GB/s | {rate} |\n"
    found = [f.verdict for f in audit.audit_text(text, "a.md").findings if f.field == "throughput"]
    assert found == ["contradicts" if wrong else "cannot tell"]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        # 6 x 7e9 operations a token of 312 TFLOP/s: 7,430 tokens/s at most; adapters take 4.
        ("A single A100 80GB trains a 7B model at 9,500 tokens/s in BF16.", True),
        ("A single A100 80GB trains a 7B model at 6,900 tokens/s in BF16.", False),
        ("A single A100 80GB trains a 7B model with LoRA at 9,500 tokens/s in BF16.", False),
        ("A single A100 80GB trains a 7B model at 9,500 tokens/s in BF16 and FP8.", False),
        ("A single A100 80GB node trains a 7B model at 9,500 tokens/s in BF16.", False),
        ("A single A100 80GB trains a 7B model at batch size 1 at 3,000 tokens/s in BF16.", False),
        ("A reader got 90 tok/s of an 8B FP16 model on his RX 7900 XTX at batch 1.", True),
        ("A reader got 50 tok/s of an 8B FP16 model on his RX 7900 XTX at batch 1.", False),
        ("Eine RTX 3090 schafft mit Llama 3 8B in FP16 im Einzelstrom 90 Token/s.", True),
        ("An M2 Ultra (76 GPU cores) with 800 GB/s decodes Llama 3 8B in FP16 at 900 tok/s, batch 1.", True),
    ],
)
def test_bounds_of_one_gpu(text: str, wrong: bool) -> None:
    assert ("physics" in kinds(text)) == wrong


def test_a_file_is_of_one_format() -> None:
    head = "Llama 3 8B, batch 1; the Q4 file has 4.9 GB.\n\n| GPU | Q4 tok/s | F16 tok/s |\n|---|---|---|\n"
    text = head + "| A6000 | {} |\n"
    # 768 GB/s read 4.9 GB for each token 157 times, 16 GB 48 times.
    assert kinds(text.format("150 | 45")) == {None}
    assert kinds(text.format("150 | 60")) == {None, "physics"}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        # Speeds go on without their unit, and what they are of stands in the titles above.
        ("# Models, batch 1\n\nLlama 3.1 8B in FP16 (16 GB) runs on the RTX 4090 at 54 tokens/s, on the "
         "RTX 3090 at 46, and on the A10 it still makes 61.", ["61"]),
        ("# Models, batch 1\n\nLlama 3.1 8B in FP16 (16 GB) runs on the RTX 4090 at 54 tokens/s, on the "
         "RTX 3090 at 46, and on the A10 it still makes 31.", []),
        ("# Training images\n\n## T4\n\nResNet-50, mixed precision, images per second:\n\n"
         "The T4, which draws 70 W, comes to 4,150 images/s.", ["4,150 images/s"]),
        ("# Images\n\n## T4\n\nResNet-50, mixed precision, images per second:\n\n"
         "The T4, which draws 70 W, comes to 4,150 images/s.", []),
        # The form of a GPU before its name; the size of a file in brackets behind its format.
        ("# One user\n\nLlama 3 70B at 4 bits (42.5 GB): the PCIe version of the H100 reaches 62 tokens/s.",
         ["62 tokens/s"]),
        ("# One user\n\nLlama 3 70B at 4 bits (42.5 GB): the SXM version of the H100 reaches 62 tokens/s.",
         []),
    ],
)  # fmt: skip
def test_speeds_and_what_they_are_of(text: str, wrong: list[str]) -> None:
    found = audit.audit_text(text, "a.md").findings
    assert [f.stated for f in found if f.verdict == "contradicts"] == wrong


@pytest.mark.parametrize(
    "text",
    [
        "## RTX 4070 (12GB)\n\n| Model | Quant | Engine | tok/s |\n|---|---|---|---|\n"
        "| Gemma 9B | Q4_K_M | llama.cpp | ~{} |\n| Mistral 7B | Q8_0 | llama.cpp | ~{} |\n",
        "### RTX 4070\n\n| Model | Quant | Speed |\n|---|---|---|\n"
        "| Gemma 9B | Q4_K_M | {} t/s |\n| Mistral 7B | Q8_0 | {} t/s |\n",
        "## RTX 4060 Ti / RTX 4070\n\n| Model | Quant | Tokens/sec |\n|---|---|---|\n"
        "| Gemma 9B | Q4_K_M | {} |\n| Mistral 7B | Q8_0 | {} |\n",
        "Ollama, tokens per second\n\n| Model | Quant | RTX 4070 | RTX 3060 12GB |\n|---|---|---|---|\n"
        "| Gemma 9B | Q4_K_M | {} | 55 |\n| Mistral 7B | Q8_0 | {} | 38 |\n",
        "llama.cpp, tok/s\n\n| GPU | Gemma 9B Q4_K_M | Mistral 7B Q8_0 |\n|---|---|---|\n"
        "| RTX 4070 | {} | {} |\n| RTX 3060 12GB | 50 | 38 |\n",
        "## Gemma 9B Q4_K_M\n\n| GPU | VRAM | tok/s |\n|---|---|---|\n"
        "| RTX 4070 | 12 GB | {} |\n| RTX 4070 SUPER | 12 GB | {} |\n",
    ],
)  # fmt: skip
def test_tables_of_tokens_in_every_shape(text: str) -> None:
    """504 GB/s read 5.3 GB of a 9B model in Q4_K_M 95 times a second, 7 GB in Q8_0 72 times."""
    several = "/ RTX" in text  # products of two lines: nobody knows which of them ran
    for rates, wrong in (((75, 60), 0), ((150, 110), 0 if several else 2)):
        found = audit.audit_text(text.format(*rates), "a.md").findings
        assert {str(rate) for rate in rates} <= {f.stated.split()[0].strip("~") for f in found}
        assert sum(f.kind == "physics" for f in found) == wrong


def test_the_bound_of_each_format_of_local_engines() -> None:
    head = "## M2 Ultra (192GB)\n\n| Model | Quant | tok/s | Notes |\n|---|---|---|---|\n"
    rows = "| Llama 70B | {} | {} | |\n"
    for name, right, wrong in (("Q3_K_M", 30, 36), ("Q4_K_M", 19, 22), ("Q5_K_M", 16, 20), ("Q6_K", 15, 19)):
        assert kinds(head + rows.format(name, right)) == {None}
        assert kinds(head + rows.format(name, wrong)) == {"physics"}


def test_offloading_is_bound_by_the_fastest_memory_of_a_server() -> None:
    text = "## RTX 5080\n\n| Model | Quant | tok/s | Notes |\n|---|---|---|---|\n"
    text += "| Llama 70B | Q4_K_M | {} | {} |\n"
    # 17 GB at 960 GB/s and 24 GB at 1.2 TB/s: 26 times a second; at 100 GB/s four times.
    assert "physics" not in kinds(text.format(9, "with offloading"))
    assert "physics" in kinds(text.format(9, ""))
    assert "physics" in kinds(text.format(40, "with offloading"))


@pytest.mark.parametrize(
    "text",
    [
        "## RTX 4070\n\n| Model | Quant | Speed | Fits? |\n|---|---|---|---|\n"
        "| Gemma 9B | Q4_K_M | 50 t/s | {} |\n| Llama 70B | Q4_K_M | 2 t/s | {} |\n",
        "| GPU | Llama 8B Q4_K_M fits? | Llama 70B Q4_K_M fits? |\n|---|---|---|\n| RTX 4070 | {} | {} |\n",
    ],
)  # fmt: skip
def test_a_model_fits_a_memory_or_not(text: str) -> None:
    def verdicts(*answers: str) -> list[str]:
        found = audit.audit_text(text.format(*answers), "a.md").findings
        return [f.verdict for f in found if f.field == "fits in memory"]

    assert verdicts("Yes", "No") == ["agrees"] * 2
    assert verdicts("No", "Yes") == ["contradicts"] * 2


def test_who_says_that_a_model_fits() -> None:
    def kinds(text: str) -> set[str | None]:
        found = audit.audit_text(text, "a.md").findings
        return {f.kind for f in found if f.field == "fits in memory"}

    text = "| Model | RTX 3060 12GB | RTX 5090 |\n|---|---|---|\n| Qwen 14B Q4_K_M | {} | 90 t/s |\n"
    for cell in ("Can't fit", "Does not fit", "Won\u2019t fit (12GB)"):
        assert "physics" in kinds(text.format(cell))
    # Neither of another size of memory, nor of several cards, nor with help.
    for cell in ("Can't fit 8GB", "Fits", "Fits with offload", "OOM"):
        assert "physics" not in kinds(text.format(cell))
    large = text.replace("14B", "70B")
    assert "physics" in kinds(large.format("Fits easily"))
    assert "physics" not in kinds(large.format("Fits with offload"))
    assert "physics" not in kinds(large.replace("Q4_K_M", "").format("Fits"))


@pytest.mark.parametrize(
    ("who", "count"),
    [("an H100 serves", "on 1 GPU"), ("one L4 serves", "on 1 GPU"), ("the A100 serves", "on up to 8 GPUs")],
)
def test_how_many_gpus_a_sentence_speaks_of(who: str, count: str) -> None:
    text = f"With batch 32, {who} 900 tokens per second of Mistral 7B."
    assert [f.explanation.rpartition(", ")[2] for f in audit.audit_text(text).findings] == [count]
