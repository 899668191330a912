"""Score `gpuwise fit` on public rows: `python -m evaluation.language_models DATA_FOLDER [--rows]`.

DATA_FOLDER holds `llm_local_speed.csv` and `llm_finetune_memory.csv`, one measurement a row. Speed: decoding
in 4 bits on one or several of a card. Memory: peak of fine-tuning and inference, and whether what ran out of
memory is said to fit. A row is left out where its model or card is not named beyond doubt.
"""

from __future__ import annotations

import csv
import re
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path
from typing import Any, cast

import click

from gpuwise.errors import GpuwiseError
from gpuwise.facts import llms
from gpuwise.model.precision import Precision
from gpuwise.predict.fit import FIXED_BYTES, Plan, Task, fit

Row = dict[str, str]
# Names of shapes in the tables that are not those of a catalog entry.
MODELS = {
    "vicuna 7b": "llama-2-7b", "mistral 7b": "mistral-7b-v0.2", "tinyllama 1b": "tinyllama-1.1b",
    "tiny-llama": "tinyllama-1.1b", "llama 7b": "llama-2-7b", "llama 13b": "llama-2-13b",
    "koala 13b": "llama-2-13b", "wizardlm 33b": "llama-33b", "llama2 7b": "llama-2-7b",
    "llama2-7b": "llama-2-7b", "llama2-70b": "llama-2-70b", "llama-3-8b": "llama-3.1-8b",
    "vicuna-7b": "llama-2-7b", "deepseek r1 14b": "qwen2.5-14b", "mistral instruct 7b": "mistral-7b-v0.2",
    "llama 7b q4_0": "llama-2-7b", "llama 7b 4-bit gptq": "llama-2-7b", "phi-1.5 1.3 b": "phi-1.5",
    "phi-3-mini-4k-instruct": "phi-3-mini",
}  # fmt: skip
GPUS = {
    "A100": "a100-sxm4-80gb", "A100 80GB": "a100-sxm4-80gb", "A100 80GB (one)": "a100-sxm4-80gb",
    "A100 (PCIe, memory not stated)": "a100-pcie-80gb", "Nvidia RTX 3060": "rtx-3060-12gb",
    "RTX 3060 12GB": "rtx-3060-12gb", "Nvidia 4070": "rtx-4070", "AMD 7900 XT": "rx-7900-xt",
    "Nvidia RTX 4060 Ti": "rtx-4060-ti-16gb", "Jetson Orin": "jetson-agx-orin-64gb",
    "AMD AI Pro R9700": "radeon ai pro r9700", "A10G": "a10g",
}  # fmt: skip
FORMATS = {
    "NF4": "nf4",
    "AWQ": "int4",
    "GPTQ": "int4",
    "4-bit": "int4",
    "Q4": "q4_k_m",
    "Ollama/GGUF": "q4_k_m",
}
TASKS = (("inference", "infer"), ("q-lora", "qlora"), ("qlora", "qlora"), ("lora", "lora"), ("full", "full"))
# LitGPT reads Alpaca: the longest sample it meets within its steps.
ALPACA = 1300


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One row: what was measured and what `fit` says of it."""

    name: str
    kind: str  # Engine, or the way of training
    measured: float  # Tokens a second, or bytes; 0 = it ran out of memory.
    predicted: float
    held: bool  # Within the 80 % interval, or the verdict on what fits is right.
    unseen: bool  # By a hash of model and card a third of the rows, on which no constant was set.

    @property
    def error(self) -> float:
        return abs(self.predicted / self.measured - 1)


def model_of(text: str) -> str | None:
    """The name of a shape, None where the table means another one."""
    name = MODELS.get(text.casefold(), text.casefold())
    # "Llama 3.2:3b", "Qwen 2.5 14B Instruct", "Llama 2 13 B"
    name = re.sub(r"(?<=qwen) (?=\d)", "", name.replace(":", " ").replace(" instruct", ""))
    name = re.sub(r"\s+b\b", "b", name).replace(" ", "-")
    return name if llms.known(name) else None


def _unseen(row: Row) -> bool:
    return sha1(f"{row['model']}/{row['gpu']}".encode()).digest()[0] % 3 == 0


def _number(text: str, otherwise: int) -> int:
    return int(re.sub(r"\D", "", text) or otherwise)


def speeds(rows: list[Row]) -> Iterator[Scored]:
    """Decoding in 4 bits."""
    for row in rows:
        stored = next((kind for word, kind in FORMATS.items() if word in row["quantisation"]), None)
        model, gpu = model_of(row["model"]), row["gpu_id"] or GPUS.get(row["gpu"], row["gpu"])
        if "decode" not in row["mode"] or stored is None or model is None:
            continue
        # The answer is half way done in the mean of its tokens.
        context = _number(row["prompt_tokens"], 0) + _number(row["output_tokens"], 512) // 2
        if "cache" in row["mode"]:
            context = context if "full" in row["mode"] else 64
        plan = Plan(model=llms.find(model), weights=Precision(stored), context=max(1, context),
                    batch=_number(row["batch"], 1), gpus=_number(row["n_gpus"], 1))  # fmt: skip
        try:
            found = fit(plan, gpu).tokens_per_s
        except GpuwiseError:
            continue  # A GPU that is not in the catalog, or a name of several.
        if found is not None:
            measured = float(row["tokens_per_s"])
            yield Scored(
                name=f"{row['model']}, {row['gpu']}, {row['engine']}, batch {plan.batch}",
                kind=row["engine"],
                measured=measured, predicted=found.value, held=found.low <= measured <= found.high,
                unseen=_unseen(row),
            )  # fmt: skip


def memories(rows: list[Row]) -> Iterator[Scored]:
    """Peak of one GPU, and whether it fits."""
    for row in rows:
        task = next((task for word, task in TASKS if word in row["method"].casefold()), None)
        model, gpu = model_of(row["model"]), row["gpu_id"] or GPUS.get(row["gpu"], row["gpu"])
        several = int(row["n_gpus"] or 1)
        if task is None or model is None or "(emb)" in row["method"] or several > 1:
            continue
        torchtune, peft = "torchtune" in row["engine"], "peft" in row["engine"]
        if task in ("infer", "lora") and "nf4" in row["quantisation"]:
            task = "qlora" if task == "lora" else task
        stored = "bf16"
        if task == "qlora" or "nf4" in row["quantisation"]:
            stored = "int4" if "GPTQ" in row["quantisation"] else "nf4"
        plan = Plan(
            model=llms.find(model), task=cast("Task", task), weights=Precision(stored),
            context=min(_number(row["seq_len"], 0) if row["seq_len"].isdecimal() else ALPACA, 8192),
            batch=_number(row["batch_per_gpu"], 1), checkpoint=torchtune or peft,
            optimiser="paged" if torchtune and task == "full" else "adamw", chunked=torchtune,
        )  # fmt: skip
        try:
            found = fit(plan, gpu)
        except GpuwiseError:
            continue
        ran = row["out_of_memory"] != "1"
        if ran and not row["memory_gb"]:
            continue
        yield Scored(
            name=f"{row['model']}, {row['gpu']}, {row['method']}, {plan.batch} x {plan.context}",
            kind=task, measured=float(row["memory_gb"]) * 1e9 if ran else 0.0,
            predicted=found.needed_bytes - FIXED_BYTES,  # Allocators count no driver.
            held=found.fits == ran, unseen=_unseen(row),
        )  # fmt: skip


def _table(title: str, rows: list[Scored], every: bool) -> None:
    click.echo(f"{title}: rows, mean and median error, share held")
    groups: dict[str, list[Scored]] = {"all": rows, "unseen third": [row for row in rows if row.unseen]}
    for row in rows:
        groups.setdefault(row.kind, []).append(row)
    for name, some in groups.items():
        errors = [row.error for row in some if row.measured]
        if errors:
            held = statistics.fmean(row.held for row in some)
            spread = f"{statistics.fmean(errors):6.1%} {statistics.median(errors):6.1%} {held:6.1%}"
            click.echo(f"  {name:22} {len(some):4} {spread}")
    for row in rows if every else ():
        click.echo(f"    {row.measured:14.4g} {row.predicted:14.4g} {'' if row.held else '!'} {row.name}")


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--rows", "every", is_flag=True, help="Each row, with ! where the interval or verdict fails.")
def command(folder: Path, every: bool) -> None:
    """Score `gpuwise fit` on the two tables of FOLDER."""

    def read(name: str) -> list[Row]:
        with (folder / name).open(encoding="utf-8", newline="") as file:
            return [cast("dict[str, Any]", row) for row in csv.DictReader(file)]

    _table("decoding in 4 bits", list(speeds(read("llm_local_speed.csv"))), every)
    found = list(memories(read("llm_finetune_memory.csv")))
    _table("peak memory", found, every)
    for what, ran in (("false fits", False), ("false refusals", True)):
        some = [row for row in found if bool(row.measured) == ran]
        click.echo(f"  {what}: {sum(not row.held for row in some)} of {len(some)}")


if __name__ == "__main__":
    command()
