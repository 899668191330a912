"""`gpuwise predict`: speed, memory, power and fit on GPUs that need not be here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gpuwise import store
from gpuwise.cli import options as shared
from gpuwise.cli import print as printer
from gpuwise.errors import InputError, NoDataError
from gpuwise.facts import catalog
from gpuwise.jobs.predicting import PredictRequest, predict, runs_in, sorted_by
from gpuwise.model import units
from gpuwise.model.result import Result
from gpuwise.show import predictions as report


@click.command("predict", short_help="Speed, memory and watts on GPUs that are not here.")
@click.argument("workload")
@click.option("--gpu", "gpus", default="all", show_default=True, metavar="GPU,...",
              help="Names or filters of gpuwise gpus: rtx-4090,h100-sxm, 24GB.., ada; all.")  # fmt: skip
@click.option("--mode", type=click.Choice(["train", "infer"]), help="[default: train where there is one]")
@click.option("--precision", help="fp32, tf32, fp16, bf16. [default: bf16 where the workload has it]")
@click.option("--batch", default="auto", show_default=True,
              help="Items a step on each GPU; auto: the best that fits.")  # fmt: skip
@click.option("--compile", "compiled", type=click.Choice(["on", "off"]), default="on", show_default=True)
@click.option("--recipe", type=shared.RecipeChoice(), default="stock", show_default=True,
              help="script: the benchmark article's public script. stock: torch's own kernels; tuned is "
              "predicted as stock.")  # fmt: skip
@click.option("--gpus", "count", type=click.IntRange(1), default=1, show_default=True,
              help="GPUs of one machine that work together.")  # fmt: skip
@click.option("--prompt", type=click.IntRange(1), default=1024, show_default=True,
              help="Tokens of a prompt, of a served model.")  # fmt: skip
@click.option("--answer", type=click.IntRange(1), default=1024, show_default=True,
              help="Tokens of an answer, of a served model.")  # fmt: skip
@click.option(
    "--calibrate", metavar="FILE|last", help="A result of one of these GPUs: its steps sharpen the rest."
)
@click.option(
    "--from", "source", metavar="FILE|last", help="A result of another GPU with this cell: go from there."
)
@click.option("--sort", type=click.Choice(report.SORTS), default="speed", show_default=True)
@shared.output_option
@shared.json_option
def command(
    workload: str, gpus: str, sort: str, output: Path | None, as_json: bool, **options: Any
) -> None:  # fmt: skip
    """Predict WORKLOAD on GPUs that need not be here: throughput with an 80 % interval, memory and whether
    it fits, watts, what bounds it, and what the prediction rests on.

    WORKLOAD is a name of `gpuwise workloads`, a file (./my_model.py), timm:NAME, torchvision:NAME or
    hf:CONFIG; or served:NAME, a language model behind an engine. Built-in workloads need neither a GPU nor
    torch; others are traced without data.

    \b
      gpuwise predict resnet50 --gpu rtx-4090,h100-sxm
      gpuwise predict bert-large --gpu 24GB.. --sort efficiency
      gpuwise predict llm-8b-decode --mode infer --gpu all --batch 16
      gpuwise predict served:llama-3.1-70b --gpu h100-sxm --gpus 4
    """
    printer.check_output(output)
    if workload.startswith("served:") and (options["calibrate"] or options["source"]):
        raise InputError("served models take no result", hint="leave out --calibrate and --from")
    answer = sorted_by(predict(PredictRequest(
        workload=workload, gpus=_ids(gpus), batch=units.parse_batch(options["batch"]), mode=options["mode"],
        precision=options["precision"], compile=options["compiled"] == "on", recipe=options["recipe"],
        count=options["count"], prompt=options["prompt"], answer=options["answer"],
        calibration=_result(options["calibrate"]), source=_result(options["source"]),
    )), sort)  # fmt: skip
    printer.deliver(answer.table, answer.to_data, as_json=as_json, output=output)
    # The one that is most likely to help: a precision that the GPU has, a smaller batch, another GPU.
    if answer.exit_status:
        found = answer.found
        several = f"none of {len(found)} GPUs can be predicted: " if len(found) > 1 else ""
        other = "--gpu all" if options["batch"] == "auto" else f"--gpu {gpus} --batch auto"
        if precision := runs_in(found[0]):
            other = f"--gpu {gpus} --precision {precision}"
        raise NoDataError(several + found[0].refusal, hint=f"gpuwise predict {workload} {other}")


def _result(reference: str | None) -> Result | None:
    return None if reference is None else store.load(store.find(reference))


def _ids(text: str) -> tuple[str, ...]:
    """Ids of the GPUs that names and filters mean; `all` for the catalog.

    Raises InputError with the nearest names where one means nothing.
    """
    words = units.parse_list(text)
    if not words:
        raise InputError("no GPU given", hint="--gpu all")
    if words == ("all",):
        return tuple(spec.id for spec in catalog.all_gpus())
    found: dict[str, None] = {}
    for word in words:
        try:
            found[catalog.find(word).id] = None
        except InputError:  # not the name of one: a filter
            several = catalog.select(word)
            if not several:
                raise
            found |= dict.fromkeys(spec.id for spec in several)
    return tuple(found)
