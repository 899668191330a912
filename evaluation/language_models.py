"""Score `gpuwise fit` on public rows: `python -m evaluation.language_models DATA_FOLDER [--rows]`.

DATA_FOLDER holds `llm_local_speed.csv`, `llm_finetune_memory.csv` and `train_throughput_llm.csv`, one
measurement a row. Speed: decoding in 4 bits on one or several of a card, training on one. Memory: peak of
fine-tuning and inference, and whether what ran out of memory is said to fit. A row is left out where its
model or card is not named beyond doubt, where it would need more operations a second than the card has, where
a computer on a board feeds the card (a Raspberry Pi launches kernels so slowly that a Radeon loses three
fifths of its speed), or where an engine's kernel for one sequence reads the weights again for each of
several. The project's own steps of one GPU (`results`) are scored beside them: memory, and the
speed of compiled ones.
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

from evaluation.predict import measured
from gpuwise.errors import GpuwiseError
from gpuwise.facts import llms
from gpuwise.model.judgement import Task
from gpuwise.model.precision import Precision
from gpuwise.model.result import grouped
from gpuwise.predictor.card import card
from gpuwise.predictor.fit import (
    FIXED_BYTES,
    SPREAD,
    Plan,
    fit,
    memory,
    plan_of,
    prompt_seconds,
    train_seconds,
)
from gpuwise.workloads.llm import Decoding, by_name

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
    "AMD AI Pro R9700": "radeon ai pro r9700", "A10G": "a10g", "H100": "h100-sxm5-80gb",
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
BOARD = re.compile(r"host: (Pi|HiFive)\b")
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
    return sha1(f"evening {row['model']}/{row['gpu']}".encode()).digest()[0] % 3 == 0


def _number(text: str, otherwise: int) -> int:
    return int(re.sub(r"\D", "", text) or otherwise)


def speeds(rows: list[Row]) -> Iterator[Scored]:
    """Decoding in 4 bits."""
    for row in rows:
        stored = next((kind for word, kind in FORMATS.items() if word in row["quantisation"]), None)
        if stored == "int4" and "llama.cpp" in row["engine"].casefold():
            stored = "q4_k_m"  # it runs no other 4 bits
        model, gpu = model_of(row["model"]), row["gpu_id"] or GPUS.get(row["gpu"], row["gpu"])
        batch = _number(row["batch"], 1)
        odd = BOARD.match(row["note"]) or (batch > 1 and "GEMV" in row["quantisation"])
        if "decode" not in row["mode"] or stored is None or model is None or odd:
            continue
        # The answer is half way done in the mean of its tokens.
        context = _number(row["prompt_tokens"], 0) + _number(row["output_tokens"], 512) // 2
        if "cache" in row["mode"]:
            context = context if "full" in row["mode"] else 64
        plan = Plan(model=llms.find(model), weights=Precision(stored), context=max(1, context),
                    batch=batch, gpus=_number(row["n_gpus"], 1),
                    dealt="exllama" in row["engine"].casefold())  # fmt: skip
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
            # Qwen's recipe keeps a copy in 32 bits, as DeepSpeed does.
            optimiser="adamw" if task != "full" else "paged" if torchtune else "adamw32" if peft else "adamw",
            chunked=torchtune,
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


def trainings(finetuned: list[Row], pretrained: list[Row]) -> Iterator[Scored]:
    """Tokens a second of training on one GPU in 16 bits, of rows that say how long sequences are."""
    for row in finetuned:
        task = next((task for word, task in TASKS if word in row["method"].casefold()), None)
        length, batch = _number(row["seq_len"], 0), _number(row["batch_per_gpu"], 0)
        seconds = float(row["step_s"] or 0) / _number(row["grad_accum"], 1)
        speed = float(row["tokens_per_s"] or (batch * length / seconds if seconds else 0))
        capped = "PEFT" in row["engine"]  # Lengths vary below a cap.
        if task in (None, "infer") or "(emb)" in row["method"] or capped or not (length and batch and speed):
            continue
        paged = task == "full" and "torchtune" in row["engine"]
        base = "bf16" if task != "qlora" else "int4" if "GPTQ" in row["quantisation"] else "nf4"
        yield from _trained(
            row, speed, task=cast("Task", task), weights=Precision(base), context=length, batch=batch,
            checkpoint=True, optimiser="paged" if paged else "adamw",
        )  # fmt: skip
    for row in pretrained:
        if row["precision"] == "bf16" and row["micro_batch"] and row["seq_len"]:
            yield from _trained({**row, "method": row["task"], "engine": row["framework"]},
                                float(row["tokens_per_s_per_gpu"]), task="full", context=int(row["seq_len"]),
                                batch=int(row["micro_batch"]))  # fmt: skip


def _trained(row: Row, speed: float, **plan: Any) -> Iterator[Scored]:
    name, gpu = model_of(row["model"]), row["gpu_id"] or GPUS.get(row["gpu"], row["gpu"])
    if name is None or row["n_gpus"] != "1":
        return
    asked = Plan(model=llms.find(name), **plan)
    try:
        found = card(gpu)
        tokens = asked.batch * asked.context
        predicted = tokens / train_seconds(
            asked, found
        )  # Whether or not it fits: some moved parts to the host.
    except GpuwiseError:
        return
    # Forward and backward of what is frozen.
    if 4.0 * asked.model.active * speed > found.peak("bf16"):
        return
    below, above = SPREAD[asked.task]
    yield Scored(
        name=f"{row['model']}, {row['gpu']}, {row['method']}, {asked.batch} x {asked.context}",
        kind=row["engine"].split(",")[0], measured=speed, predicted=predicted,
        held=1 / below <= speed / predicted <= above, unseen=_unseen(row),
    )  # fmt: skip


def own(folder: Path) -> Iterator[tuple[Scored, Scored | None]]:
    """The project's own steps: their peaks of memory and, of compiled ones, their tokens a second."""
    for row in measured.own(sorted(folder.glob("h[12]00/*.json"))):
        name, _, precision, how, *_ = row.cell.split(":")
        found = by_name(name)
        # In fp32, as `pretrain` is, nothing is planned here.
        if found is None or precision in ("fp32", "tf32") or not row.memory or "pretrain" in name:
            continue
        work = found.build
        assert isinstance(work, Decoding)
        plan = plan_of(work, Precision(precision), row.batch, compiled=how == "compiled")
        needed = sum(size for part, size in memory(plan) if part != "driver and libraries")
        named = {"name": f"{row.cell}, {row.batch}, {row.gpu}", "kind": f"{work.step} {how}", "unseen": False}
        peak, speed = Scored(measured=row.memory, predicted=needed, held=True, **named), None
        answer = fit(plan, row.gpu).tokens_per_s
        if how == "compiled" and answer:
            value, low, high = answer.value, answer.low, answer.high
            if work.step == "prefill":
                value = work.tokens / prompt_seconds(plan, card(row.gpu))
                low, high = value / 1.3, value * 1.3
            held = low <= row.measured <= high
            speed = Scored(measured=row.measured, predicted=value, held=held, **named)
        yield peak, speed


def _table(title: str, rows: list[Scored], every: bool) -> None:
    click.echo(f"{title}: rows, mean and median error, where 95 % are, share held")
    groups = {"all": rows, "unseen third": [row for row in rows if row.unseen]}
    groups |= grouped((row.kind, row) for row in rows)
    for name, some in groups.items():
        errors = [row.error for row in some if row.measured]
        if errors:
            held = statistics.fmean(row.held for row in some)
            far = sorted(errors)[int(0.95 * len(errors))]
            spread = (
                f"{statistics.fmean(errors):6.1%} {statistics.median(errors):6.1%} {far:6.1%} {held:6.1%}"
            )
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
    _table(
        "training", list(trainings(read("llm_finetune_memory.csv"), read("train_throughput_llm.csv"))), every
    )
    steps = list(own(Path("results")))
    _table("own steps, memory", [peak for peak, _ in steps], every)
    _table("own steps, tokens a second", [speed for _, speed in steps if speed], every)
    for what, ran in (("false fits", False), ("false refusals", True)):
        some = [row for row in found if bool(row.measured) == ran]
        click.echo(f"  {what}: {sum(not row.held for row in some)} of {len(some)}")


if __name__ == "__main__":
    command()
