"""Scores `gpuwise fit` on public rows: memory of fine-tuning, and decoding on the GPU that people have.

    python -m evaluation.predict.fitting memory FILE.csv
    python -m evaluation.predict.fitting local FILE.csv

Every row goes through `predict.fit.fit`, the function that is shipped. Rows whose model or GPU is not known,
whose software is far from a plain step (other adapters, offloading, engines without fused 4-bit kernels), or
whose figure is beyond the memory's bandwidth are left out, and counted.
"""

from __future__ import annotations

import csv
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from gpuwise.errors import GpuwiseError
from gpuwise.facts import llms
from gpuwise.model.precision import Precision
from gpuwise.predict.card import card
from gpuwise.predict.fit import Plan, fit, memory

NAMES = {
    "llama 2 7b chat": "llama-2-7b", "llama2-7b": "llama-2-7b", "llama2 7b": "llama-2-7b",
    "llama 7b": "llama-2-7b", "vicuna 7b": "llama-2-7b", "vila-7b": "llama-2-7b", "llama 13b": "llama-2-13b",
    "llama 2 13b": "llama-2-13b", "vila-13b": "llama-2-13b", "koala 13b": "llama-2-13b",
    "llama 33b": "llama-33b", "wizardlm 33b": "llama-33b", "llama2 70b": "llama-2-70b",
    "llama2-70b": "llama-2-70b", "codellama 34b": "codellama-34b", "tinyllama 1b": "tinyllama-1.1b",
    "tinyllama 1.1b": "tinyllama-1.1b", "mistral 7b": "mistral-7b-v0.2", "nvila-8b": "qwen2.5-7b",
    "mistral 7b v0.1 instruct": "mistral-7b-v0.1", "mistral instruct 7b": "mistral-7b-v0.2",
    "nvila-2b": "qwen2.5-1.5b", "deepseek r1 14b": "qwen2.5-14b", "llama 3.2:3b": "llama-3.2-3b",
    "llama 2 7 b": "llama-2-7b", "llama 2 13 b": "llama-2-13b", "codellama 34 b": "codellama-34b",
    "llama 2 70 b": "llama-2-70b", "phi-1.5 1.3 b": "phi-1.5", "tiny-llama": "tinyllama-1.1b",
    "deepseek r1 1.5b": "qwen2.5-1.5b", "deepseek r1 8b": "llama-3.1-8b", "deepseek r1 32b": "qwen2.5-32b",
    "deepseek r1 70b": "llama-3.1-70b", "llama 3.1:70b": "llama-3.1-70b", "llama 3.2:1b": "llama-3.2-1b",
}  # fmt: skip
GPUS = {"a10g": "a10g", "a100": "a100-sxm4-80gb", "a100 80gb": "a100-sxm4-80gb", "jetson orin": ""}
# Engines with fused 4-bit kernels and without a framework's launches between them.
FUSED = ("exllama", "tinychat", "llama.cpp", "ollama", "mlc", "gpt-fast", "autoawq", "lmdeploy", "turbomind")


def model_of(written: str) -> str | None:
    """The model of the table that a row's name means."""
    plain = re.sub(r"\s*(q\d\S*|f16|4-bit gptq)$", "", written.casefold()).strip()
    try:
        return llms.find(NAMES.get(plain, plain.replace(" ", "-"))).name
    except GpuwiseError:
        return None


def gpu_of(row: dict[str, str]) -> str | None:
    """The catalog's GPU of a row."""
    written = row["gpu_id"] or GPUS.get(row["gpu"].casefold(), row["gpu"])
    try:
        return card(re.sub(r"^Nvidia\s+|^AMD\s+", "", written)).id
    except GpuwiseError:
        return None


def weights_of(words: str) -> Precision | None:
    """The format that a row's quantisation means."""
    text = words.casefold()
    for word, name in (
        ("nf4", "nf4"), ("q4", "q4_k_m"), ("gguf", "q4_k_m"), ("int4", "int4"), ("4-bit", "int4"),
        ("4.0 bpw", "int4"), ("awq", "int4"), ("bf16", "bf16"), ("bfloat16", "bf16"), ("fp16", "fp16"),
        ("none", "bf16"),
    ):  # fmt: skip
        if word in text:
            return Precision(name)
    return None


def local(rows: list[dict[str, str]]) -> Iterator[tuple[str, float, float]]:
    """(row, predicted, measured) tokens a second of batch 1 in 4 bits."""
    left: Counter[str] = Counter()
    for row in rows:
        weights, model, gpu = weights_of(row["quantisation"]), model_of(row["model"]), gpu_of(row)
        mode = row["mode"].startswith("decode")
        fused = any(name in row["engine"].casefold() for name in FUSED)
        if (
            not mode
            or row["batch"] != "1"
            or row["n_gpus"] != "1"
            or weights is None
            or weights.weight_bytes >= 1
        ):
            left["another question"] += 1
        elif not fused or "Pi " in row["note"] or "CM5" in row["note"]:
            left["engine or host"] += 1
        elif model is None or gpu is None:
            left[f"not known: {row['model'] if model is None else row['gpu']}"] += 1
        else:
            prompt, answer = (
                int(row[key] or 128) if row[key].isdigit() else 128
                for key in ("prompt_tokens", "output_tokens")
            )
            best = "best" in row["mode"]
            context = 128 if best else prompt + answer // 2 if answer else prompt
            plan = Plan(model=llms.find(model), weights=weights, context=max(context, 1))
            speed = fit(plan, gpu).tokens_per_s
            measured = float(row["tokens_per_s"])
            least = llms.weight_bytes(plan.model, weights) - plan.model.embedding * 2
            if speed is None:
                left["does not fit"] += 1
            elif measured * least > card(gpu).bytes_per_s:
                left["beyond the bandwidth"] += 1
            else:
                yield (
                    f"{gpu} {model} {row['engine']} {row['quantisation'][:20]} ctx {context}",
                    speed.value,
                    measured,
                )
    print("left out:", dict(left))


def tuning(rows: list[dict[str, str]]) -> Iterator[tuple[str, float, float, str, str]]:
    """(row, predicted, measured GB of one GPU, whether it failed, GPU)."""
    left: Counter[str] = Counter()
    for row in rows:
        method, engine = row["method"].casefold(), row["engine"].casefold()
        task = "full" if "full" in method else "qlora" if "qlora" in method or "q-lora" in method else "lora"
        task = "infer" if "inference" in method else task
        plain = (
            task == "infer"
            or ("lora" in method and "(emb)" not in method and "peft" not in engine)
            or "full" in method
        )
        model = model_of(row["model"])
        if row["engine"].startswith("PEFT"):
            plain, model = row["method"].startswith("lora/") and "dora" not in row["method"], "llama-3.2-3b"
        weights = weights_of(row["quantisation"] or "bf16")
        if "LitGPT 8641822" in row["engine"]:
            length = 1304
        else:
            length = int(row["seq_len"]) if row["seq_len"].isdigit() else 0
        if task == "infer":
            length = 512
        nvidia = "qwenlm" in row["source_repo"].casefold()
        plain = plain or (nvidia and task != "full" and "emb" not in method and "multi" not in method)
        if nvidia and (task == "full" or row["n_gpus"] != "1"):
            plain = False  # fp32 masters under ZeRO, memory of all GPUs together
        if row["n_gpus"] != "1" or not plain or model is None or weights is None or not length:
            left["another question"] += 1
            continue
        if task == "lora" and weights.weight_bytes < 1:
            task = "qlora"
        plan = Plan(
            model=llms.find(model), task=task, weights=weights, batch=int(row["batch_per_gpu"] or 1),
            context=length, checkpoint=nvidia or "torchtune" in engine, rank=64 if nvidia else 16,
        )  # fmt: skip
        size = sum(value for _, value in memory(plan)) / 1e9
        yield (
            f"{row['gpu']} {model} {task} {weights} b{plan.batch} s{length} {row['engine'][:16]}", size,
            float(row["memory_gb"] or "nan"), row["out_of_memory"], gpu_of(row) or "",
        )  # fmt: skip
    print("left out:", dict(left))


def summary(errors: list[float]) -> str:
    """Count, mean and median of the relative errors."""
    sizes = [abs(error) for error in errors]
    return f"{len(sizes)} rows: MAPE {sum(sizes) / len(sizes):.1%}, median {median(sizes):.1%}"


def main() -> None:
    """Print each row and the scores."""
    which, path = sys.argv[1:3]
    with Path(path).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if which == "local":
        errors = []
        for label, predicted, measured in local(rows):
            errors.append(predicted / measured - 1)
            print(f"{label:80} {predicted:8.1f} {measured:8.1f} {errors[-1]:+.0%}")
        print(summary(errors))
        return
    errors, false_fits, refused, verdicts = [], 0, 0, 0
    for label, predicted, measured, failed, gpu in tuning(rows):
        if failed == "1":
            fits = bool(gpu) and predicted * 1e9 <= 0.95 * card(gpu).memory_bytes
            false_fits, verdicts = false_fits + fits, verdicts + 1
            print(f"{label:80} {predicted:8.1f} out of memory{' FALSE FIT' if fits else ''}")
            continue
        errors.append(predicted / measured - 1)
        if gpu:
            verdicts += 1
            refused += predicted * 1e9 > 0.95 * card(gpu).memory_bytes
        print(f"{label:80} {predicted:8.1f} {measured:8.1f} {errors[-1]:+.0%}")
    print(f"{summary(errors)}; {verdicts} verdicts, false fits {false_fits}, fitting ones refused {refused}")


if __name__ == "__main__":
    main()
