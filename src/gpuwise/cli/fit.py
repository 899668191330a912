"""`gpuwise fit`: does a language model fit, and how fast does it run?"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import click

from gpuwise.cli import options as shared
from gpuwise.cli import print as printer
from gpuwise.cli.predict import _ids
from gpuwise.errors import NoDataError
from gpuwise.jobs.fitting import FitRequest, fit_model
from gpuwise.model import units
from gpuwise.predict.fit import OPTIMISERS, TASKS, Task


def _counts(text: str, what: str) -> tuple[int, ...]:
    """`1,8,64`; a `k` counts 1024: `8k`."""
    found = []
    for part in units.parse_list(text.casefold()):
        kibi = part.endswith("k")
        found.append(units.parse_count(part.removesuffix("k"), what) * (1024 if kibi else 1))
    return tuple(found)


@click.command("fit", short_help="Does a language model fit, and how fast?")
@click.argument("model")
@click.option("--gpu", "gpus", default="", metavar="GPU,...",
              help="Names or filters of gpuwise gpus; all. [default: those here, or usual ones]")  # fmt: skip
@click.option("--for", "tasks", default="infer", show_default=True, metavar="TASK,...",
              help=f"{', '.join(TASKS)}: inference, all weights, adapters, adapters on 4 bits.")  # fmt: skip
@click.option("--weights", default="", metavar="FORMAT,...",
              help="bf16, fp8, int8, int4, mxfp4, nvfp4, nf4, q8_0, q5_k_m, q4_k_m. "
                   "[default: by task]")  # fmt: skip
@click.option("--cache", default="bf16", show_default=True, help="Keys and values: bf16, fp8, int8.")
@click.option("--context", default="8k", show_default=True, metavar="N,...",
              help="Tokens of a sequence; 8k is 8,192.")  # fmt: skip
@click.option(
    "--batch", default="1", show_default=True, metavar="N,...", help="Sequences at a time on each GPU."
)
@click.option("--gpus", "count", type=click.IntRange(1, 8), default=1, show_default=True,
              help="GPUs of one machine: tensor-parallel in inference, FSDP in training.")  # fmt: skip
@click.option("--checkpoint", type=click.Choice(["on", "off"]), default="on", show_default=True,
              help="Training computes activations again instead of keeping them.")  # fmt: skip
@click.option("--optimiser", type=click.Choice(OPTIMISERS), default="adamw", show_default=True)
@click.option("--rank", type=click.IntRange(1, 1024), default=16, show_default=True, help="Of adapters.")
@shared.output("Write to FILE; the suffix picks the format: .json, .csv, .md, or the chart as .svg, .png.")
@shared.json_option
def command(model: str, output: Path | None, as_json: bool, **options: Any) -> None:
    """Does MODEL fit, and how fast: memory by part, tokens a second with an 80 % interval, the time to the
    first token, over formats, contexts and batches.

    MODEL is a name (llama-3.1-8b, qwen3-30b-a3b, gpt-oss-20b), hf:./config.json of any other, or a GGUF file.

    \b
      gpuwise fit llama-3.1-70b --gpu rtx-4090,h100-sxm
      gpuwise fit llama-3.1-8b --for qlora,lora --gpu 24GB --context 2k
      gpuwise fit gpt-oss-20b --weights mxfp4 --gpu rtx-5090 --context 8k,32k --batch 1,16
      gpuwise fit qwen3-235b-a22b --weights fp8 --gpu h200-sxm --gpus 4
    """
    printer.check_output(output, (*printer.SUFFIXES, *printer.DRAWINGS))
    answer = fit_model(FitRequest(
        model=model, gpus=_ids(options["gpus"]) if options["gpus"] else (),
        tasks=cast("tuple[Task, ...]", units.parse_list(options["tasks"].casefold())),
        weights=units.parse_list(options["weights"].casefold()), cache=options["cache"].casefold(),
        contexts=_counts(options["context"], "a context"), batches=_counts(options["batch"], "a batch"),
        count=options["count"], checkpoint=options["checkpoint"] == "on", optimiser=options["optimiser"],
        rank=options["rank"],
    ))  # fmt: skip
    if output is not None and output.suffix in printer.DRAWINGS:
        printer.draw(answer.to_chart(), output)
    else:
        printer.deliver(answer.table, answer.to_data, as_json=as_json, output=output)
    if answer.exit_status:
        trains = options["tasks"] != "infer"
        other = "--for qlora --context 1k" if trains else "--weights q4_k_m"
        raise NoDataError("nothing of this fits", hint=f"gpuwise fit {model} {other} --gpus 8")
